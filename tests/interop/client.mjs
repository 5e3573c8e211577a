// The official TypeScript client, version 2: `client.mjs EVERYTHING NOTES URL`.

import assert from 'node:assert/strict';

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { installed } from './installed.mjs';
import { all, answers, capabilities, recorded } from './trials.mjs';

async function connect({ url, ...command }, era) {
    const mode = era === '2026-07-28' ? { pin: era } : era;
    const client = new Client({ name: 'interop', version: '1' }, { capabilities, versionNegotiation: { mode } });
    for (const [method, answer] of Object.entries(answers)) client.setRequestHandler(method, answer);
    const transport = url ? new StreamableHTTPClientTransport(url) : new StdioClientTransport(command);
    await client.connect(transport);
    const modern = era !== 'legacy';
    assert.equal(client.getNegotiatedProtocolVersion(), modern ? '2026-07-28' : '2025-11-25');
    return {
        client,
        modern,
        notFound: -32602, // also where the server says -32002
        wire: recorded(transport),
        call: (name, args, options, meta) => client.callTool({ name, arguments: args, ...(meta && { _meta: meta }) }, options),
        on: (method, handler) => client.setNotificationHandler(method, handler),
        listen: (filter) => client.listen(filter),
    };
}

await all(`${installed('@modelcontextprotocol/client')} (TypeScript)`, ['legacy', 'auto', '2026-07-28'], connect);
