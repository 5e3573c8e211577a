// An authorization server to try things out with: `issuer.mjs [PORT]`. Clients register themselves, and people log in with
// any name and any password. Everything is in memory, and gone with the process.

import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { pathToFileURL } from 'node:url';

import { Provider } from 'oidc-provider';

export const scopes = (process.env.SCOPES ?? 'notes:read notes:write').split(' ');

// Starts it on a port, which may be 0, and returns it with its URL. `seconds` is how long access tokens are valid,
// `audience` says what they are for, and `more` is other configuration of oidc-provider.
export async function startIssuer({ port = 0, seconds = 600, audience = (resource) => resource, ...more } = {}) {
    const server = createServer();
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${server.address().port}`;
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const { features, ...rest } = more;
    const provider = new Provider(url, {
        jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: randomUUID(), use: 'sig', alg: 'RS256' }] },
        cookies: { keys: [randomUUID()] },
        scopes: ['openid', 'offline_access', ...scopes],
        // Clients register with the scopes they begin with, and oidc-provider would never give them more.
        extraClientMetadata: { properties: ['more_scopes'], validator: (_ctx, _key, _value, client) => void delete client.scope },
        pkce: { required: () => true },
        features: {
            registration: { enabled: true },
            // access tokens for the resource that the client asks for: JWTs, with its URL as `aud`
            resourceIndicators: {
                enabled: true,
                getResourceServerInfo: (_ctx, resource) => ({
                    scope: scopes.join(' '),
                    audience: audience(resource),
                    accessTokenFormat: 'jwt',
                    accessTokenTTL: seconds,
                    jwt: { sign: { alg: 'RS256' } },
                }),
                useGrantedResource: () => true,
            },
            // pages to log in and to consent
            devInteractions: { enabled: true },
            ...features,
        },
        // without `offline_access`, too
        issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'),
        ...rest,
    });
    server.on('request', provider.callback());
    return { url, provider, server };
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
    const { url } = await startIssuer({ port: Number(process.argv[2] ?? 0) });
    console.error(`listening on ${url}`);
}
