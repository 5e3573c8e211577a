// What both TypeScript clients try. They differ in how they are called; `connected` is the same for both:
// { client, modern, notFound, wire, call(tool, args, options?), on(method, handler), listen(filter), task(tool, args, created?) }.
// `notFound` is the error code the client shows for a resource there is none of, `wire` what it has received. `task`
// calls a tool as a task and returns its states and what came of it; not every client has that.

import assert from 'node:assert/strict';

const WATCHED = 'test://watched-resource';

async function soon(condition, what) {
    for (let tries = 0; tries < 200; tries += 1) {
        if (condition()) return;
        await new Promise((done) => setTimeout(done, 10));
    }
    assert.fail(`${what()}: not within two seconds`);
}

const refused = (code, promise) => assert.rejects(promise, (error) => (assert.equal(error.code, code, `${error}`), true));

// Keeps every message a transport receives, as it came.
export function recorded(transport) {
    const wire = [];
    const { onmessage } = transport;
    transport.onmessage = (message, extra) => {
        wire.push(message);
        onmessage(message, extra);
    };
    return wire;
}

// The progress that a client has received.
const reported = (wire) =>
    wire.filter(({ method }) => method === 'notifications/progress').map(({ params }) => [params.progress, params.total]);

// What the clients say they can be asked, and what they answer. Of a form, only what has no default is filled in.
export const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const filled = {
    username: 'ada', email: 'ada@example.com', name: 'Ada', color: 'blue', ok: true, confirm: true, context: 'Rust',
    untitledSingle: 'option1', titledSingle: 'value2', legacyEnum: 'opt3', untitledMulti: ['option1', 'option2'], titledMulti: ['value3'],
};
export const answers = {
    'elicitation/create': ({ params }) => {
        if (params.mode === 'url') return { action: 'accept' };
        if (params.message === 'No?') return { action: 'decline' };
        const open = Object.entries(params.requestedSchema.properties).filter(([, schema]) => !('default' in schema));
        return { action: 'accept', content: Object.fromEntries(open.map(([name]) => [name, filled[name]])) };
    },
    'sampling/createMessage': ({ params }) => {
        const [{ content }] = params.messages;
        const { text } = Array.isArray(content) ? content[0] : content;
        return { role: 'assistant', model: 'parrot', stopReason: 'endTurn', content: { type: 'text', text: `"${text}", at most ${params.maxTokens}` } };
    },
    'roots/list': () => ({ roots: [{ uri: 'file:///work', name: 'work' }] }),
};

// Calls `change`, which gets a function that waits for the changes it is given.
async function changes({ client, modern, on, listen }, uri, lists, change) {
    const heard = [];
    on('notifications/resources/updated', ({ params }) => void heard.push(params.uri));
    on('notifications/tools/list_changed', () => void heard.push('tools'));
    on('notifications/prompts/list_changed', () => void heard.push('prompts'));
    const expect = async (name) => {
        await soon(() => heard.length > 0, () => name);
        assert.deepEqual(heard.splice(0), [name]);
    };
    if (!modern) {
        await client.subscribeResource({ uri });
        await change(expect);
        await client.unsubscribeResource({ uri });
        return;
    }
    const filter = { resourceSubscriptions: [uri], ...(lists && { toolsListChanged: true, promptsListChanged: true }) };
    const stream = await listen(filter);
    assert.deepEqual(stream.honoredFilter, filter);
    await change(expect);
    await stream.close();
}

export async function everything(connected) {
    const { client, modern, notFound, wire, call, on } = connected;
    assert.equal(client.getServerVersion().name, 'everything');
    assert.equal(client.getServerCapabilities().resources.subscribe, true);
    if (!modern) await client.ping();

    const { tools } = await client.listTools();
    const schema = tools.find((tool) => tool.name === 'json_schema_2020_12_tool').inputSchema;
    assert.equal(schema.$defs.address.$anchor, 'addressDef');
    assert.ok(schema.if && schema.then && schema.else && schema.allOf);

    const simple = await call('test_simple_text', {});
    assert.deepEqual(simple.content, [{ type: 'text', text: 'This is a simple text response for testing.' }]);
    const mixed = await call('test_multiple_content_types', {});
    assert.deepEqual(mixed.content.map((block) => block.type), ['text', 'image', 'resource']);
    assert.equal((await call('test_audio_content', {})).content[0].mimeType, 'audio/wav');
    const failed = await call('test_error_handling', {});
    assert.ok(failed.isError && failed.content[0].text.includes('intentionally'));
    const header = await call('test_custom_header', { value: 'Grüße, 世界 ' });
    assert.equal(header.content[0].text, 'Grüße, 世界 ', 'an argument that travels in a header');

    const progress = [];
    wire.length = 0;
    await call('test_tool_with_progress', {}, { onprogress: ({ progress: done, total }) => void progress.push([done, total]) });
    assert.deepEqual(reported(wire), [[0, 100], [50, 100], [100, 100]]);
    // Of those that come together with the answer, onprogress may hear nothing (see `notes`).
    assert.deepEqual(progress, [[0, 100], [50, 100], [100, 100]].slice(0, progress.length));

    const logs = [];
    on('notifications/message', ({ params }) => void logs.push(params.data));
    if (!modern) await client.setLoggingLevel('debug');
    await call('test_tool_with_logging', {}, {}, modern && { 'io.modelcontextprotocol/logLevel': 'debug' });
    await soon(() => logs.length === 3, () => `three log messages, heard ${logs}`);

    const { resources } = await client.listResources();
    assert.ok(resources.some(({ uri }) => uri === WATCHED));
    const { resourceTemplates } = await client.listResourceTemplates();
    assert.equal(resourceTemplates[0].uriTemplate, 'test://template/{id}/data');
    const [text] = (await client.readResource({ uri: 'test://static-text' })).contents;
    assert.equal(text.text, 'This is the content of the static text resource.');
    const [binary] = (await client.readResource({ uri: 'test://static-binary' })).contents;
    assert.ok(binary.blob.startsWith('iVBORw0KGgo'));
    const [data] = (await client.readResource({ uri: 'test://template/123/data' })).contents;
    assert.equal(JSON.parse(data.text).id, '123');

    const { prompts } = await client.listPrompts();
    assert.ok(prompts.some(({ name }) => name === 'test_prompt_with_arguments'));
    const both = { name: 'test_prompt_with_arguments', arguments: { arg1: 'one', arg2: 'two' } };
    assert.equal((await client.getPrompt(both)).messages[0].content.text, "Prompt with arguments: arg1='one', arg2='two'");
    assert.equal((await client.getPrompt({ name: 'test_prompt_with_image' })).messages[0].content.type, 'image');
    const ref = { type: 'ref/prompt', name: 'test_prompt_with_arguments' };
    const { completion } = await client.complete({ ref, argument: { name: 'arg1', value: 'test' } });
    assert.deepEqual(completion.values, ['testValue1', 'testValue2']);

    await changes(connected, WATCHED, true, async (expect) => {
        await call('test_trigger_resource_update', {});
        await expect(WATCHED);
        for (const list of ['tool', 'prompt']) {
            await call(`test_trigger_${list}_change`, {});
            await expect(`${list}s`);
            await call(`test_trigger_${list}_change`, {});
            await expect(`${list}s`);
        }
    });

    await refused(notFound, client.readResource({ uri: 'test://nowhere' }));
    await refused(-32602, call('no_such_tool', {}));
    await refused(-32602, client.getPrompt({ name: 'test_prompt_with_arguments', arguments: { arg1: 'one' } }));
    await refused(-32602, client.listTools({ cursor: 'no such cursor' }));

    // The tools have changed, so the client has forgotten which argument travels in a header: over HTTP it is
    // refused, lists the tools again, and repeats the call.
    assert.equal((await call('test_custom_header', { value: 'again' })).content[0].text, 'again');

    await asking(connected);
    if (connected.task) await tasks(connected);

    // many at once, each with its own answer
    const numbers = Array.from({ length: 50 }, (_, n) => String(n));
    const results = await Promise.all(numbers.map((value) => call('test_custom_header', { value })));
    assert.deepEqual(results.map(({ content }) => content[0].text), numbers);
}

// Whether by requests in a session or by rounds without one, the answers come to the same.
async function asking({ client, call }) {
    const said = async (name, args = {}) => {
        const { content, isError } = await call(name, args);
        assert.ok(!isError, `${name}: ${content[0].text}`);
        return content[0].text;
    };
    assert.equal(await said('test_elicitation', { message: 'Who?' }), 'User response: accept, {"username":"ada","email":"ada@example.com"}');
    assert.equal(await said('test_elicitation', { message: 'No?' }), 'User response: decline');
    const profile = '{"name":"John Doe","age":30,"score":95.5,"status":"active","verified":true}';
    assert.equal(await said('test_elicitation_sep1034_defaults'), `Elicitation completed: ${profile}`);
    const choices = '{"untitledSingle":"option1","titledSingle":"value2","legacyEnum":"opt3","untitledMulti":["option1","option2"],"titledMulti":["value3"]}';
    assert.equal(await said('test_elicitation_sep1330_enums'), `Elicitation completed: ${choices}`);
    assert.equal(await said('test_elicitation_url'), 'signed in');
    assert.equal(await said('test_sampling', { prompt: 'Hello?' }), 'LLM response: "Hello?", at most 100');
    assert.match(await said('test_missing_capability'), /capital of France/);
    assert.equal(await said('test_input_required_result_list_roots'), 'You work in work');
    assert.equal(await said('test_input_required_result_request_state'), 'state-ok');
    assert.equal(await said('test_input_required_result_multiple_inputs'), '"Say hello", at most 50 Ada, in work');
    assert.equal(await said('test_input_required_result_multi_round'), 'Ada likes blue');
    const { messages } = await client.getPrompt({ name: 'test_input_required_result_prompt' });
    assert.equal(messages[0].content.text, 'Use the following context: Rust');
}

async function tasks({ task, cancel }) {
    const slow = await task('slow_compute', { seconds: 0.05, label: 'sum' });
    assert.deepEqual([slow.states[0], slow.states.at(-1)], ['working', 'completed']);
    assert.equal(slow.result.content[0].text, 'sum is done after 0.05 s');
    const asked = await task('confirm_delete', { filename: 'a.txt' });
    assert.ok(asked.states.includes('input_required'), asked.states);
    assert.equal(asked.result.content[0].text, 'a.txt is deleted');
    assert.equal((await task('multi_input', {})).result.content[0].text, 'Ada: yes');
    assert.equal((await task('test_tool_with_task', {})).result.content[0].text, 'Hello, Ada!');
    for (const failing of ['failing_job', 'protocol_error_job']) assert.equal((await task(failing, {})).states.at(-1), 'failed');
    const cancelled = await task('slow_compute', { seconds: 60 }, cancel);
    assert.equal(cancelled.states.at(-1), 'cancelled');
}

export async function notes(connected) {
    const { client, modern, notFound, wire, call } = connected;
    assert.match(client.getInstructions(), /Search before you create/);
    const { tools } = await client.listTools();
    assert.equal(Boolean(tools.find(({ name }) => name === 'search').outputSchema), modern);
    await changes(connected, 'notes://index', false, async (expect) => {
        const created = await call('create', { title: 'Crème', text: 'Milk. 🦀', tags: ['food'] });
        assert.equal(created.content[0].text, 'created note 1, to be read at note://1');
        await expect('notes://index');
    });
    await call('create', { title: 'Creek', text: 'Water.' });
    const found = await call('search', { query: 'milk' });
    const hits = modern ? found.structuredContent : JSON.parse(found.content[0].text);
    assert.deepEqual(hits.map(({ id }) => id), [1]);

    const [note] = (await client.readResource({ uri: 'note://1' })).contents;
    assert.deepEqual([note.text, note.mimeType], ['# Crème\n\nMilk. 🦀', 'text/markdown']);
    const complete = async (ref, name, value) => (await client.complete({ ref, argument: { name, value } })).completion.values;
    assert.deepEqual(await complete({ type: 'ref/prompt', name: 'review' }, 'title', 'cr'), ['Creek', 'Crème']);
    assert.deepEqual(await complete({ type: 'ref/resource', uri: 'note://{id}' }, 'id', '2'), ['2']);
    const review = await client.getPrompt({ name: 'review', arguments: { title: 'Crème', focus: 'facts' } });
    assert.equal(review.messages[1].content.resource.uri, 'note://1');

    // These clients forget who wanted progress when they see the answer, and hand on notifications a moment
    // after they see them: of those that come together with the answer, onprogress may hear nothing.
    wire.length = 0;
    await call('reindex', {}, { onprogress: () => {} });
    const progress = reported(wire);
    assert.deepEqual(progress, [[0, 2], [2, 2]]);
    assert.ok(wire.at(-1).result, 'then the answer');

    const gone = await call('delete', { id: 9 });
    assert.ok(gone.isError && gone.content[0].text.includes('there is no note 9'));
    const wrong = await call('delete', { id: 'one' });
    assert.ok(wrong.isError && wrong.content[0].text.includes('`id`'), JSON.stringify(wrong));
    await refused(notFound, client.readResource({ uri: 'note://9' }));
    await refused(-32602, client.getPrompt({ name: 'review', arguments: { title: 'None' } }));
}

// Tries all servers, each with a connection of its own.
export async function all(title, eras, connect) {
    const [program, notebook, url] = process.argv.slice(2);
    console.log(title);
    for (const era of eras) {
        for (const [name, server, trial] of [
            ['everything, stdio', { command: program, args: ['--stdio'] }, everything],
            ['everything, http', { url: new URL(url) }, everything],
            ['notes, stdio', { command: notebook, args: ['--db', ':memory:'] }, notes],
        ]) {
            const connected = await connect(server, era);
            const errors = [];
            connected.client.onerror = (error) => {
                if (!/progress notification for an unknown token/.test(error)) errors.push(error);
            };
            const late = setTimeout(() => (console.log(`  late: ${name}, ${era}`), process.exit(1)), 60_000);
            await trial(connected);
            clearTimeout(late);
            assert.deepEqual(errors, [], `${name}, ${era}: messages the client did not understand`);
            await connected.client.close();
            console.log(`  passed: ${name}, ${era}`);
        }
    }
}
