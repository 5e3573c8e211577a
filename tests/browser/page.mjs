// What a page of an origin that is allowed can do, and what one of another origin cannot. The query names the servers.

const query = new URLSearchParams(location.search);
const [open, closed] = [`${query.get('open')}/mcp`, `${query.get('closed')}/mcp`];
const [done, failures] = [[], []];

function equal(actual, expected) {
    const [left, right] = [JSON.stringify(actual), JSON.stringify(expected)];
    if (left !== right) throw new Error(`${left} is not ${right}`);
}

async function attempt(name, body) {
    try {
        await body();
        done.push(name);
    } catch (error) {
        failures.push(`${name}: ${error?.stack ?? error}`);
    }
}

const JSON_HEADERS = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
const post = (url, body, headers = {}) =>
    fetch(url, { method: 'POST', headers: { ...JSON_HEADERS, ...headers }, body: JSON.stringify({ jsonrpc: '2.0', ...body }) });

// A request of 2026-07-28.
function modern(url, method, params, headers = {}) {
    const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} };
    const name = params.name ? { 'Mcp-Name': params.name } : {};
    const all = { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': method, ...name, ...headers };
    return post(url, { id: 1, method, params: { ...params, _meta: { ...meta, ...params._meta } } }, all);
}
const call = (url, name, args, headers, meta) => modern(url, 'tools/call', { name, arguments: args, _meta: meta }, headers);

// The messages of a stream, until `enough` says so.
async function events(response, enough = () => false) {
    equal(response.headers.get('content-type'), 'text/event-stream');
    const [messages, reader] = [[], response.body.pipeThrough(new TextDecoderStream()).getReader()];
    let [text, last] = ['', null];
    for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        text += value;
        for (let end; (end = text.indexOf('\n\n')) >= 0; text = text.slice(end + 2)) {
            const lines = text.slice(0, end).split('\n');
            const field = (name) => lines.find((line) => line.startsWith(`${name}:`))?.slice(name.length + 1).trim();
            last = field('id') ?? last;
            if (field('data')) messages.push(JSON.parse(field('data')));
        }
        if (enough(messages)) {
            await reader.cancel();
            break;
        }
    }
    return { messages, last };
}

async function allowed() {
    await attempt('list', async () => {
        const response = await modern(open, 'tools/list', {});
        const { result } = await response.json();
        equal(result.tools.some(({ name }) => name === 'add'), true);
        equal(response.headers.get('x-request-id') !== null, true);
    });
    await attempt('call', async () => {
        const response = await call(open, 'add', { a: 2, b: 3 });
        equal((await response.json()).result.content[0].text, '5');
    });
    await attempt('arguments in headers', async () => {
        const response = await call(open, 'place', { region: 'eu', tenant: 7 }, { 'Mcp-Param-Region': 'eu', 'Mcp-Param-Tenant-Id': '7' });
        equal((await response.json()).result.content[0].text, 'Some("eu") Some(7) None');
    });
    await attempt('stream', async () => {
        const { messages } = await events(await call(open, 'steps', { n: 3 }, {}, { progressToken: 1 }));
        equal(messages.filter(({ method }) => method === 'notifications/progress').map(({ params }) => params.progress), [1, 2, 3]);
        equal(messages.at(-1).result.content[0].text, '3 steps');
    });
    await attempt('session', async () => {
        const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'page', version: '1' } };
        const opened = await post(open, { id: 0, method: 'initialize', params });
        const session = opened.headers.get('mcp-session-id');
        equal(typeof session, 'string');
        const headers = { 'Mcp-Session-Id': session, 'MCP-Protocol-Version': '2025-11-25' };
        equal((await post(open, { method: 'notifications/initialized' }, headers)).status, 202);
        const streamed = await post(open, { id: 1, method: 'tools/call', params: { name: 'steps', arguments: { n: 3 }, _meta: { progressToken: 1 } } }, headers);
        // It is left, and taken up again where it was left.
        const { last } = await events(streamed, (messages) => messages.length > 0);
        equal(typeof last, 'string');
        const resumed = await fetch(open, { headers: { ...headers, Accept: 'text/event-stream', 'Last-Event-ID': last } });
        const { messages } = await events(resumed, (messages) => messages.some(({ result }) => result));
        equal(messages.find(({ result }) => result).result.content[0].text, '3 steps');
        // It should be 204. Once, in about 200 sessions, it was not 2xx, and nobody knows why. A browser that repeats the request
        // would explain a 404, which is all that is tolerated here: the session is gone then, too.
        const { status } = await fetch(open, { method: 'DELETE', headers });
        equal([204, 404].includes(status) || status, true);
        equal((await post(open, { id: 2, method: 'ping' }, headers)).status, 404);
    });
    await attempt('errors', async () => {
        equal((await post(open, { id: 1, method: 'ping' }, { 'Mcp-Session-Id': 'gone' })).status, 404);
        const wrong = await call(open, 'add', {}, { 'Mcp-Method': 'tools/list' });
        equal([wrong.status, (await wrong.json()).error.code], [400, -32020]);
    });
    await attempt('authorization', async () => {
        const challenged = await call(closed, 'add', { a: 2, b: 3 });
        equal(challenged.status, 401);
        equal(challenged.headers.get('www-authenticate').includes('resource_metadata='), true);
        const document = await fetch(new URL('/.well-known/oauth-protected-resource/mcp', closed), { headers: { 'MCP-Protocol-Version': '2025-11-25' } });
        equal((await document.json()).authorization_servers, ['https://auth.example.com']);
        const admitted = await call(closed, 'add', { a: 2, b: 3 }, { Authorization: 'Bearer alice' });
        equal((await admitted.json()).result.content[0].text, '5');
    });
    await attempt('legacy SSE', async () => {
        const source = new EventSource(new URL('/sse', open));
        const event = (type) => new Promise((resolve, reject) => {
            source.addEventListener(type, ({ data }) => resolve(data), { once: true });
            source.addEventListener('error', () => reject(new Error('the stream failed')), { once: true });
        });
        const address = new URL(await event('endpoint'), open);
        const answer = event('message');
        const params = { protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 'page', version: '1' } };
        equal((await post(address, { id: 0, method: 'initialize', params })).status, 202);
        equal(JSON.parse(await answer).result.protocolVersion, '2024-11-05');
        source.close();
    });
    const { converse } = await import('./client.mjs');
    for (const [era, version] of [['legacy', '2025-11-25'], ['2026-07-28', '2026-07-28']]) {
        await attempt(`TypeScript client ${version}`, async () => {
            const said = await converse(open, era);
            equal([said.version, said.sum, said.steps, said.progress], [version, '5', '3 steps', [1, 2, 3]]);
            equal(said.tools.includes('place'), true);
        });
    }
    await attempt('TypeScript client with a token', async () => {
        equal((await converse(closed, '2026-07-28', 'alice')).sum, '5');
    });
}

async function refused() {
    const fails = (name, send) => attempt(name, async () => {
        const response = await send().catch((error) => error);
        equal(response instanceof TypeError, true);
    });
    await fails('no call', () => call(open, 'add', { a: 2, b: 3 }));
    await fails('no request without preflight', () => fetch(open, { method: 'POST', body: '{}' }));
    await fails('no stream', () => fetch(open, { headers: { Accept: 'text/event-stream' } }));
    await fails('no challenge', () => call(closed, 'add', { a: 2, b: 3 }, { Authorization: 'Bearer alice' }));
    await attempt('no event source', () => new Promise((resolve, reject) => {
        const source = new EventSource(new URL('/sse', open));
        source.onerror = () => (source.close(), resolve());
        source.addEventListener('endpoint', () => reject(new Error('it was opened')));
    }));
}

await (query.get('part') === 'allowed' ? allowed() : refused()).catch((error) => failures.push(`${error?.stack ?? error}`));
await fetch('/report', { method: 'POST', body: JSON.stringify({ done, failures }) });
