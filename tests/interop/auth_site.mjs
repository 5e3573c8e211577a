// Authorization servers and `protected-notes` servers for the clients of auth.mjs and auth.py, right and wrong ones:
// `auth_site.mjs PROTECTED_NOTES FILE`. Writes their URLs by name to the file, as JSON, and runs until it is ended.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { renameSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { createInterface } from 'node:readline';

import { startIssuer } from './issuer.mjs';

const [program, file] = process.argv.slice(2);
const servers = [];
process.on('exit', () => servers.forEach((server) => server.kill()));
process.on('SIGTERM', () => process.exit());

async function freePort() {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address();
    server.close();
    await once(server, 'close');
    return port;
}

// Starts a server that calls itself `resource(origin)`, and returns where it is.
async function serve(issuer, resource = (origin) => `${origin}/mcp`) {
    for (let attempt = 0; attempt < 5; attempt++) {
        const port = await freePort(); // which another process may take first
        const origin = `http://127.0.0.1:${port}`;
        const environment = { ...process.env, ISSUER: issuer, RESOURCE: resource(origin) };
        const child = spawn(program, ['http', `127.0.0.1:${port}`], { env: environment, stdio: ['ignore', 'ignore', 'pipe'] });
        servers.push(child);
        const lines = createInterface(child.stderr);
        lines.on('line', (line) => console.error(`${port}: ${line}`));
        const listening = new Promise((resolve) => lines.on('line', (line) => line.startsWith('listening on') && resolve(true)));
        if (await Promise.race([listening, once(child, 'exit').then(() => false)])) {
            return `${origin}/mcp`;
        }
    }
    throw new Error('the server does not start');
}

// A server behind a proxy that answers some requests itself: with what `own` returns, if anything.
async function serveBehind(issuer, own) {
    let target;
    const proxy = createServer((incoming, outgoing) => {
        const status = own(incoming);
        if (status) return void outgoing.writeHead(status).end();
        const { method, headers, url: path } = incoming;
        const passed = request({ host: '127.0.0.1', port: target.port, method, headers, path }, (answer) => {
            outgoing.writeHead(answer.statusCode, answer.headers);
            answer.pipe(outgoing);
        });
        passed.on('error', () => outgoing.destroy());
        incoming.pipe(passed);
    }).listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    const url = `http://127.0.0.1:${proxy.address().port}/mcp`;
    target = new URL(await serve(issuer, () => url));
    return url;
}

// An authorization server that answers 500 where `broken` says so.
async function brokenIssuer(broken) {
    const issuer = await startIssuer();
    const [answer] = issuer.server.listeners('request');
    issuer.server.removeAllListeners('request');
    issuer.server.on('request', (incoming, outgoing) => {
        if (broken(incoming.url)) outgoing.writeHead(500).end();
        else answer(incoming, outgoing);
    });
    return issuer.url;
}

// The documents of clients that are known by their URL. oidc-provider fetches them from here; nothing else has a URL that
// begins with https.
const documents = new Map();
for (const name of ['typescript', 'python']) {
    const id = `https://client.example.com/${name}.json`;
    documents.set(id, {
        client_id: id,
        client_name: name,
        redirect_uris: ['http://127.0.0.1:1/callback'],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
        application_type: 'native',
    });
}
async function fetchDocument(url) {
    const document = documents.get(String(url));
    assert.ok(document, `${url} is no client`);
    return Response.json(document);
}

const nobody = `http://127.0.0.1:${await freePort()}`;
const [good, brief, known, elsewhere, keyless, reluctant, narrow] = await Promise.all([
    startIssuer(),
    startIssuer({ seconds: 1 }),
    startIssuer({
        fetch: fetchDocument,
        features: { clientIdMetadataDocument: { enabled: true, ack: 'draft-02' }, registration: { enabled: false } },
    }),
    startIssuer({ audience: () => 'https://another.example.com/mcp' }),
    brokenIssuer((path) => path.startsWith('/jwks')),
    startIssuer({ features: { registration: { enabled: false } } }),
    startIssuer({ extraClientMetadata: { properties: [] } }), // which is to say: clients keep the scopes they register with
]);

const sites = {
    good: serve(good.url),
    brief: serve(brief.url),
    known_by_url: serve(known.url),
    // and what goes wrong
    trailing_slash: serve(good.url, (origin) => `${origin}/mcp/`),
    another_path: serve(good.url, (origin) => `${origin}/notes`),
    wrong_audience: serve(elsewhere.url),
    no_keys: serve(keyless),
    issuer_down: serve(nobody),
    no_registration: serve(reluctant.url),
    registered_scopes: serve(narrow.url),
    document_404: serveBehind(good.url, ({ url }) => url.startsWith('/.well-known/') && 404),
};
const entries = Object.entries(sites).map(async ([name, url]) => [name, await url]);
writeFileSync(`${file}.new`, JSON.stringify(Object.fromEntries(await Promise.all(entries))));
renameSync(`${file}.new`, file);
