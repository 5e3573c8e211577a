// The official TypeScript client in a page: it negotiates, lists, calls and is told of progress, in both eras.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

export async function converse(url, era, token) {
    const mode = era === '2026-07-28' ? { pin: era } : era;
    const client = new Client({ name: 'page', version: '1' }, { versionNegotiation: { mode } });
    const requestInit = token ? { headers: { Authorization: `Bearer ${token}` } } : {};
    const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit });
    await client.connect(transport);
    const version = client.getNegotiatedProtocolVersion();
    const { tools } = await client.listTools();
    const { content } = await client.callTool({ name: 'add', arguments: { a: 2, b: 3 } });
    const progress = [];
    const steps = await client.callTool({ name: 'steps', arguments: { n: 3 } }, { onprogress: (report) => progress.push(report.progress) });
    await transport.terminateSession?.();
    await client.close();
    return {
        version,
        tools: tools.map(({ name }) => name),
        sum: content[0].text,
        steps: steps.content[0].text,
        progress,
    };
}
