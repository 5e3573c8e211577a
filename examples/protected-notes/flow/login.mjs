// What an application that uses the TypeScript client has to bring along to log its user in: where it keeps what it
// has got, and how it opens a browser. This one keeps it in memory, and the browser is a program.

import { StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';

const redirectUrl = 'http://127.0.0.1:1/callback'; // nobody listens: the browser tells where it was sent

export class Login {
    constructor(browser, { clientMetadataUrl } = {}) {
        this.browser = browser;
        this.clientMetadataUrl = clientMetadataUrl;
        this.asked = []; // for which scopes the user was asked
        this.kept = {};
    }

    redirectUrl = redirectUrl;
    clientMetadata = {
        client_name: 'protected-notes-flow',
        redirect_uris: [redirectUrl],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
        application_type: 'native',
    };

    clientInformation = () => this.kept.client;
    saveClientInformation = (client) => void (this.kept.client = client);
    tokens = () => this.kept.tokens;
    saveTokens = (tokens) => void (this.kept.tokens = tokens);
    codeVerifier = () => this.kept.verifier;
    saveCodeVerifier = (verifier) => void (this.kept.verifier = verifier);
    discoveryState = () => this.kept.discovery;
    saveDiscoveryState = (state) => void (this.kept.discovery = state);
    invalidateCredentials = (what) => {
        if (what === 'all' || what === 'client') delete this.kept.client;
        if (what === 'all' || what === 'tokens') delete this.kept.tokens;
    };

    async redirectToAuthorization(url) {
        this.asked.push(url.searchParams.get('scope'));
        this.callback = await this.browser.authorize(url, redirectUrl);
    }

    // Connects the client; its user logs in when the server asks for it. Returns the transport.
    async connect(client, url) {
        const transport = () => new StreamableHTTPClientTransport(new URL(url), { authProvider: this });
        const first = transport();
        try {
            await client.connect(first);
            return first;
        } catch (error) {
            if (!(error instanceof UnauthorizedError)) throw error;
        }
        await first.finishAuth(this.callback);
        const second = transport();
        await client.connect(second);
        return second;
    }

    // Does something with the connected client; its user is asked when the server wants more scopes.
    async permitted(transport, action) {
        try {
            return await action();
        } catch (error) {
            if (!(error instanceof UnauthorizedError)) throw error;
        }
        await transport.finishAuth(this.callback);
        return action();
    }
}
