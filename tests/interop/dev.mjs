// `cargo mcp dev` with the official TypeScript client: `dev.mjs CARGO_MCP DIRECTORY`.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { installed } from './installed.mjs';

const [cargoMcp, directory] = process.argv.slice(2);
const source = `${directory}/src/main.rs`;
const FIRST = readFileSync(source, 'utf8');
const COUNT = '\n/// Counts.\n#[tool]\nfn count() -> u32 {\n    3\n}\n';
const TENTHS = 1_200;

function edition(version, more = '') {
    const text = FIRST.replace('    1\n', `    ${version}\n`).replace('// more\n', more);
    return more ? text.replace('[version]', '[version, count]') : text;
}

async function eventually(condition, what) {
    for (let tenth = 0; tenth < TENTHS; tenth++) {
        if (await condition()) return;
        await sleep(100);
    }
    assert.fail(`${what}: not in time`);
}

async function edits(client, heard) {
    const text = async (name) => {
        const { content, isError } = await client.callTool({ name, arguments: {} });
        return [isError ?? false, content[0].text];
    };
    assert.deepEqual(await text('version'), [false, '1']);
    const saved = performance.now();
    writeFileSync(source, edition(2, COUNT));
    await eventually(() => heard.splice(0).length > 0, 'list_changed');
    assert.deepEqual(await text('count'), [false, '3']);
    const took = performance.now() - saved;
    assert.ok((await client.listTools()).tools.some((tool) => tool.name === 'count'));

    writeFileSync(source, 'fn main() {\n    let count: u32 = "three";\n}\n');
    let said;
    await eventually(async () => {
        let failed;
        [failed, said] = await text('version');
        return failed;
    }, 'the failed build');
    assert.match(said, /mismatched types/);
    assert.deepEqual(await text('version'), [false, '2']);

    writeFileSync(source, edition(3));
    await eventually(() => heard.splice(0).length > 0, 'list_changed');
    assert.deepEqual(await text('version'), [false, '3']);
    return took / 1000;
}

// A transport, and what ends its server.
async function start(kind) {
    if (kind === 'stdio') {
        const options = { command: cargoMcp, args: ['mcp', 'dev', '--quiet'], cwd: directory, env: process.env };
        return [new StdioClientTransport({ ...options, stderr: 'ignore' }), async () => {}];
    }
    const args = ['mcp', 'dev', '--http', '127.0.0.1:0'];
    const child = spawn(cargoMcp, args, { cwd: directory, stdio: ['ignore', 'inherit', 'pipe'] });
    const url = await new Promise((resolve, reject) => {
        createInterface({ input: child.stderr }).on('line', (line) => {
            const found = / on (http:\S+) after /.exec(line);
            if (found) resolve(found[1]);
        });
        child.on('exit', () => reject(new Error('cargo mcp dev ended')));
    });
    const end = async () => {
        const exited = once(child, 'exit');
        child.kill('SIGTERM');
        assert.deepEqual(await exited, [0, null]);
    };
    return [new StreamableHTTPClientTransport(new URL(url)), end];
}

console.log(`${installed('@modelcontextprotocol/client')} (TypeScript)`);
try {
    for (const kind of ['stdio', 'http']) {
        for (const era of ['legacy', '2026-07-28']) {
            writeFileSync(source, FIRST);
            const mode = era === 'legacy' ? era : { pin: era };
            const client = new Client({ name: 'interop', version: '1' }, { versionNegotiation: { mode } });
            const heard = [];
            client.setNotificationHandler('notifications/tools/list_changed', () => void heard.push('tools'));
            const [transport, end] = await start(kind);
            await client.connect(transport);
            const stream = era === 'legacy' ? undefined : await client.listen({ toolsListChanged: true });
            const took = await edits(client, heard);
            await stream?.close();
            await client.close();
            await end();
            console.log(`  passed: ${kind}, ${era}: from save to callable ${took.toFixed(1)} s`);
        }
    }
} finally {
    writeFileSync(source, FIRST);
}
