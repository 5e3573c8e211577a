// The Inspector's command line, each time a process of its own: `inspector.mjs EVERYTHING NOTES URL`.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { installed } from './installed.mjs';

const [everything, notes, url] = process.argv.slice(2);
const inspector = fileURLToPath(new URL('clients/launcher/build/index.js', import.meta.resolve('@modelcontextprotocol/inspector/package.json')));
// where it keeps its settings: not where the user has theirs
const home = mkdtempSync(join(tmpdir(), 'inspector-'));

async function ask(server, era, ...options) {
    const args = [inspector, '--cli', ...server, '--protocol-era', era, '--format', 'json', '-q', ...options];
    const { stdout } = await promisify(execFile)(process.execPath, args, { env: { ...process.env, HOME: home }, timeout: 30_000 });
    return JSON.parse(stdout);
}

// A failed call is an answer, too, but the process that got it fails.
const fails = (promise, text) => assert.rejects(promise, ({ stdout, stderr }) => (assert.match(stdout + stderr, text), true));

async function tryEverything(server, era) {
    const said = (...options) => ask(server, era, ...options);
    const { tools } = (await said('--method', 'tools/list', '--strict')).result;
    assert.ok(tools.some(({ name }) => name === 'json_schema_2020_12_tool'));
    const call = (tool, ...options) => said('--method', 'tools/call', '--tool-name', tool, ...options);
    assert.equal((await call('test_simple_text')).result.content[0].text, 'This is a simple text response for testing.');
    assert.equal((await call('test_custom_header', '--tool-arg', 'value=Grüße')).result.content[0].text, 'Grüße');
    await fails(call('test_error_handling'), /intentionally/);
    const read = (uri) => said('--method', 'resources/read', '--uri', uri);
    assert.equal((await read('test://static-text')).result.contents[0].mimeType, 'text/plain');
    await fails(read('test://nowhere'), /Resource not found: test:\/\/nowhere/);
    assert.equal((await said('--method', 'resources/templates/list')).result.resourceTemplates.length, 1);
    const prompt = ['--prompt-name', 'test_prompt_with_arguments', '--prompt-args', 'arg1=one', 'arg2=two'];
    assert.match((await said('--method', 'prompts/get', ...prompt)).result.messages[0].content.text, /arg1='one', arg2='two'/);
}

async function tryNotes(server, era) {
    const call = (tool, args) => ask(server, era, '--method', 'tools/call', '--tool-name', tool, '--tool-args-json', JSON.stringify(args));
    const created = await call('create', { title: 'Crème', text: 'Milk.' });
    assert.equal(created.result.content[0].text, 'created note 1, to be read at note://1');
    const found = await call('search', { query: 'milk' });
    assert.equal(JSON.parse(found.result.content[0].text)[0].id, 1, 'the notes are in a file');
    const note = await ask(server, era, '--method', 'resources/read', '--uri', 'note://1');
    assert.equal(note.result.contents[0].text, '# Crème\n\nMilk.');
    await fails(call('delete', { id: 9 }), /there is no note 9/);
}

try {
    console.log(`${installed('@modelcontextprotocol/inspector')} (--cli)`);
    for (const era of ['legacy', 'auto', 'modern']) {
        for (const [name, server, trial] of [
            ['everything, stdio', [everything, '--stdio'], tryEverything],
            ['everything, http', [url], tryEverything],
            ['notes, stdio', [notes, '-e', `NOTES_DB=${join(home, `${era}.db`)}`], tryNotes],
        ]) {
            await trial(server, era);
            console.log(`  passed: ${name}, ${era}`);
        }
    }
} finally {
    rmSync(home, { recursive: true });
}
