// The official TypeScript SDK, version 1, which knows only sessions: `sdk.mjs EVERYTHING NOTES URL`.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as types from '@modelcontextprotocol/sdk/types.js';

import { installed } from './installed.mjs';
import { all, answers, capabilities, recorded } from './trials.mjs';

const notifications = {
    'notifications/message': types.LoggingMessageNotificationSchema,
    'notifications/prompts/list_changed': types.PromptListChangedNotificationSchema,
    'notifications/resources/updated': types.ResourceUpdatedNotificationSchema,
    'notifications/tools/list_changed': types.ToolListChangedNotificationSchema,
};
const requests = {
    'elicitation/create': types.ElicitRequestSchema,
    'sampling/createMessage': types.CreateMessageRequestSchema,
    'roots/list': types.ListRootsRequestSchema,
};

async function connect({ url, ...command }) {
    const client = new Client({ name: 'interop', version: '1' }, { capabilities });
    for (const [method, answer] of Object.entries(answers)) client.setRequestHandler(requests[method], answer);
    const transport = url ? new StreamableHTTPClientTransport(url) : new StdioClientTransport(command);
    await client.connect(transport);
    const task = async (name, args, created) => {
        const states = [];
        for await (const message of client.experimental.tasks.callToolStream({ name, arguments: args }, undefined, { task: { ttl: 60_000 } })) {
            if (message.type === 'taskCreated') await created?.(message.task);
            if (message.task) states.push(message.task.status);
            else return { states, ...message };
        }
    };
    return {
        client,
        task,
        cancel: ({ taskId }) => client.experimental.tasks.cancelTask(taskId),
        modern: false,
        notFound: -32002,
        wire: recorded(transport),
        call: (name, args, options) => client.callTool({ name, arguments: args }, undefined, options),
        on: (method, handler) => client.setNotificationHandler(notifications[method], handler),
    };
}

await all(`${installed('@modelcontextprotocol/sdk')} (TypeScript)`, ['legacy'], connect);
