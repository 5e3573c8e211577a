// The TypeScript client logs in, with oidc-provider as authorization server: `auth.mjs SITES FAILURES DOCUMENTATION`. SITES
// is what auth_site.mjs has written, FAILURES what the client says of each that is wrong. The documentation has these texts.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';

import { Browser } from './browser.mjs';
import { installed } from './installed.mjs';
import { Login } from './login.mjs';

const [sites, failures, documentation] = process.argv.slice(2).map((path) => readFileSync(path, 'utf8'));
const site = JSON.parse(sites);
const expected = JSON.parse(failures);

const clientOf = (era) => {
    const mode = era === '2026-07-28' ? { pin: era } : era;
    return new Client({ name: 'interop', version: '1' }, { versionNegotiation: { mode } });
};
const revision = (era) => (era === 'legacy' ? '2025-11-25' : '2026-07-28');
const text = ({ content }) => content[0].text;

// A user who is logged in.
async function loggedIn(name, url, era, options) {
    const login = new Login(new Browser(name), options);
    const client = clientOf(era);
    const transport = await login.connect(client, url);
    assert.equal(client.getNegotiatedProtocolVersion(), revision(era));
    const call = (tool, args = {}) => login.permitted(transport, () => client.callTool({ name: tool, arguments: args }));
    return { login, client, call };
}

// What the user was asked for, in any order.
const asked = ({ login }) => login.asked.map((scope) => scope.split(' ').sort().join(' '));

async function users(era) {
    const alice = await loggedIn(`alice-ts-${era}`, site.good, era);
    assert.deepEqual(asked(alice), ['notes:read offline_access'], 'as the 401 says');
    assert.deepEqual(alice.login.browser.pages, ['login', 'consent']);
    assert.ok(alice.login.kept.client.client_id, 'registered');
    assert.equal(text(await alice.call('list_notes')), '[]');
    const tools = async () => (await alice.client.listTools()).tools.map(({ name }) => name);
    assert.deepEqual(await tools(), ['list_notes', 'read_note']);

    // step-up: a 403, the user consents to more, and the call is repeated
    assert.match(text(await alice.call('write_note', { id: 'a', text: 'of alice' })), /^wrote note a/);
    assert.deepEqual(asked(alice), ['notes:read offline_access', 'notes:read notes:write offline_access']);
    assert.deepEqual(alice.login.browser.pages, ['login', 'consent', 'consent']);
    assert.equal(text(await alice.call('list_notes')), '[{"id":"a","text":"of alice"}]');
    assert.equal((await alice.client.readResource({ uri: 'note://a' })).contents[0].text, 'of alice');

    const bob = await loggedIn(`bob-ts-${era}`, site.good, era);
    assert.equal(text(await bob.call('list_notes')), '[]');
    const hidden = await bob.call('read_note', { id: 'a' });
    assert.ok(hidden.isError && text(hidden).includes('you have no note `a`'));
    await assert.rejects(bob.client.readResource({ uri: 'note://a' }));
    const { messages } = await bob.client.getPrompt({ name: 'summary' });
    assert.ok(!messages[0].content.text.includes('of alice'));
    assert.match(text(await bob.call('write_note', { id: 'a', text: 'of bob' })), /^wrote/);
    assert.equal(text(await alice.call('read_note', { id: 'a' })), 'of alice');
    assert.match(text(await bob.call('delete_note', { id: 'a' })), /^deleted/);
    assert.equal(text(await alice.call('read_note', { id: 'a' })), 'of alice');

    await renewal(alice);
    await alice.client.close();
    await bob.client.close();
}

// An access token that the server does not accept is refreshed; if that fails, the user is asked again.
async function renewal({ login, call }) {
    const times = login.asked.length;
    login.kept.tokens = { ...login.kept.tokens, access_token: 'garbage' };
    assert.match(text(await call('list_notes')), /of alice/);
    assert.notEqual(login.kept.tokens.access_token, 'garbage');
    assert.equal(login.asked.length, times, 'refreshed, and nobody was asked');
    login.kept.tokens = { ...login.kept.tokens, access_token: 'garbage', refresh_token: 'garbage' };
    assert.match(text(await call('list_notes')), /of alice/);
    assert.equal(login.asked.length, times + 1);
}

// A client that is known by the URL of its document, and does not register.
async function knownByUrl(era) {
    const clientMetadataUrl = 'https://client.example.com/typescript.json';
    const carol = await loggedIn(`carol-ts-${era}`, site.known_by_url, era, { clientMetadataUrl });
    assert.equal(carol.login.kept.client.client_id, clientMetadataUrl);
    assert.match(text(await carol.call('write_note', { id: 'a', text: 'of carol' })), /^wrote/);
    await carol.client.close();
}

// What fails, in this way.
async function fails(name, era, action) {
    let wanted = expected[name].typescript;
    if (!Array.isArray(wanted)) wanted = wanted[revision(era)];
    const [kind, part] = wanted;
    const error = await action().then(() => assert.fail(`${name}, ${era}: it works`), (error) => error);
    assert.deepEqual([error.constructor.name, error.message.includes(part)], [kind, true], `${name}, ${era}: ${error.stack}`);
}

async function failing(era) {
    for (const name of Object.keys(expected)) {
        // One that cannot log in does not come to the second line.
        const use = async () => {
            const { call, client } = await loggedIn('dave', site[name], era);
            await call('write_note', { id: 'a', text: '' }).finally(() => client.close());
        };
        if (site[name]) await fails(name, era, use);
    }
    // without a login: a token in the configuration of the client
    const fixed = async (token) => {
        const client = clientOf(era);
        const requestInit = { headers: { Authorization: `Bearer ${token}` } };
        await client.connect(new StreamableHTTPClientTransport(new URL(site.good), { requestInit }));
        return client;
    };
    await fails('fixed_wrong_token', era, () => fixed('garbage'));
    const { login, client } = await loggedIn('dave', site.good, era);
    await client.close();
    const write = { name: 'write_note', arguments: { id: 'a', text: '' } };
    const reader = await fixed(login.kept.tokens.access_token);
    assert.equal(text(await reader.callTool({ name: 'list_notes' })), '[]');
    await fails('fixed_token_without_scope', era, () => reader.callTool(write));
    await reader.close();
    // with one, but the application wants to ask the user itself
    const patient = clientOf(era);
    const options = { authProvider: login, onInsufficientScope: 'throw' };
    await patient.connect(new StreamableHTTPClientTransport(new URL(site.good), options));
    await fails('fixed_token_without_scope', era, () => patient.callTool(write));
    await patient.close();
}

// The table of the documentation has what the clients say.
const table = documentation.split('## When a client does not connect')[1];
for (const [name, clients] of Object.entries(expected)) {
    for (const said of Object.values(clients).filter(Boolean)) {
        for (const [kind, part] of Array.isArray(said) ? [said] : Object.values(said)) {
            assert.ok(table.includes(`\`${kind}\``), `docs/book/authorization.md lacks ${kind} (${name})`);
            assert.ok(table.includes(part), `docs/book/authorization.md lacks "${part}" (${name})`);
        }
    }
}

console.log(`${installed('@modelcontextprotocol/client')} (TypeScript), ${installed('oidc-provider')}`);
const late = setTimeout(() => (console.log('  late'), process.exit(1)), 120_000);
for (const era of ['legacy', 'auto', '2026-07-28']) {
    for (const [name, trial] of Object.entries({ 'two users, step-up, refresh': users, 'known by a URL': knownByUrl, 'what fails': failing })) {
        await trial(era).catch((error) => {
            if (error instanceof UnauthorizedError) error.message += ': the client would have to ask its user';
            throw error;
        });
        console.log(`  passed: ${name}, ${era}`);
    }
}
clearTimeout(late);
