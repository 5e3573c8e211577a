// Serves the pages, starts the server and the browser, and waits for what the pages report: `drive.mjs BROWSED`.

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { build } from 'rolldown';

const [browsed] = process.argv.slice(2);
const here = fileURLToPath(new URL('.', import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), 'browser-'));

/// How long a browser may take to start and run a page, beside other builds.
const PATIENCE = 120_000;

// The client and what it imports, in one file, as pages have it.
await build({
    input: join(here, 'client.mjs'),
    output: { file: join(scratch, 'client.mjs'), format: 'esm' },
    platform: 'browser',
    logLevel: 'silent',
});
const files = {
    '/': ['text/html', join(here, 'page.html')],
    '/page.mjs': ['text/javascript', join(here, 'page.mjs')],
    '/client.mjs': ['text/javascript', join(scratch, 'client.mjs')],
};

// An origin with the page: its address, and what the page reports.
function origin() {
    let told;
    const report = new Promise((resolve) => (told = resolve));
    const server = createServer((request, response) => {
        if (request.method === 'POST') {
            const parts = [];
            request.on('data', (part) => parts.push(part));
            request.on('end', () => (response.end(), told(JSON.parse(Buffer.concat(parts)))));
            return;
        }
        const [type, path] = files[new URL(request.url, 'http://page').pathname] ?? [];
        if (path) response.writeHead(200, { 'content-type': type }).end(readFileSync(path));
        else response.writeHead(404).end();
    });
    return new Promise((resolve) => {
        server.listen(0, '127.0.0.1', () => resolve({ url: `http://127.0.0.1:${server.address().port}`, report, server }));
    });
}

const children = [];
const start = (command, args, options) => (children.push(spawn(command, args, options)), children.at(-1));

// Opens a page in a browser of its own, and returns what it reports.
async function visit({ url, report }, query) {
    const profile = mkdtempSync(join(scratch, 'profile-'));
    const flags = ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run', '--disable-background-networking'];
    const log = [];
    const browser = start('chromium', [...flags, '--enable-logging=stderr', `--user-data-dir=${profile}`, `${url}/?${query}`], {
        stdio: ['ignore', 'ignore', 'pipe'],
        // a process group, of the browser and all that it starts
        detached: true,
    });
    const ended = new Promise((resolve) => browser.once('exit', resolve));
    browser.stderr.on('data', (text) => log.push(text));
    const late = new Promise((_, reject) => setTimeout(() => reject(new Error(`the page reports nothing:\n${log.join('')}`)), PATIENCE).unref());
    try {
        return await Promise.race([report, late]);
    } finally {
        process.kill(-browser.pid, 'SIGKILL');
        await ended;
    }
}

let failed = 0;
try {
    const [allowed, refused] = [await origin(), await origin()];
    const server = start(browsed, [allowed.url], { stdio: ['pipe', 'pipe', 'inherit'] });
    const [line] = await new Promise((resolve) => createInterface(server.stdout).once('line', (...line) => resolve(line)));
    const [open, closed] = line.split(' ').map((address) => `http://${address}`);
    const query = new URLSearchParams({ open, closed });
    for (const [name, site, part] of [['allowed origin', allowed, 'allowed'], ['refused origin', refused, 'refused']]) {
        query.set('part', part);
        const { done, failures } = await visit(site, query);
        console.log(`${name}: ${done.join(', ')}`);
        for (const failure of failures) console.log(`${name}: FAILED ${failure}`);
        if (done.length === 0) console.log(`${name}: FAILED: nothing was tried`);
        failed += failures.length + (done.length === 0);
        site.server.close();
        site.server.closeAllConnections();
    }
} catch (error) {
    console.log(error);
    failed += 1;
} finally {
    for (const child of children) child.kill();
    try {
        rmSync(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
    } catch (error) {
        // A program that the browser has detached still writes there.
        console.log(`${scratch} is left behind: ${error.code}`);
    }
}
console.log(failed ? `${failed} failed` : 'pages read what they may');
process.exit(failed ? 1 : 0);
