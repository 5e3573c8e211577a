// The TypeScript client logs two people in, and prints what happens: `tour.mjs URL`.

import assert from 'node:assert/strict';

import { Client } from '@modelcontextprotocol/client';

import { Browser } from './browser.mjs';
import { Login } from './login.mjs';

const [url] = process.argv.slice(2);
const say = (...words) => console.log(...words);

const refused = await fetch(url, { method: 'POST', body: '{}' });
say(`without a token: ${refused.status}`);
say(`  WWW-Authenticate: ${refused.headers.get('www-authenticate')}`);

async function login(name) {
    const browser = new Browser(name);
    const login = new Login(browser);
    const client = new Client({ name: 'protected-notes-flow', version: '1' }, { versionNegotiation: { mode: 'auto' } });
    const transport = await login.connect(client, url);
    say(`${name} is logged in, and asked for: ${login.asked}`);
    say(`  granted: ${login.kept.tokens.scope}; the client registered as ${login.kept.client.client_id.slice(0, 8)}…`);
    const call = async (tool, args = {}, expected = /./) => {
        const asked = login.asked.length;
        const result = await login.permitted(transport, () => client.callTool({ name: tool, arguments: args }));
        if (login.asked.length > asked) say(`  403: ${name} is asked for more: ${login.asked.at(-1)}`);
        say(`  ${tool} ${JSON.stringify(args)}: ${result.content[0].text}`);
        assert.match(result.content[0].text, expected);
    };
    return { call, tools: async () => (await client.listTools()).tools.map(({ name }) => name), close: () => client.close() };
}

const alice = await login('alice');
say(`  tools: ${(await alice.tools()).join(', ')}`);
await alice.call('list_notes');
await alice.call('write_note', { id: 'shopping', text: 'milk' });
say(`  tools: ${(await alice.tools()).join(', ')}`);
await alice.call('list_notes', {}, /milk/);

const bob = await login('bob');
await bob.call('list_notes', {}, /^\[\]$/);
await bob.call('read_note', { id: 'shopping' }, /you have no note/);

await alice.close();
await bob.close();
say('done');
