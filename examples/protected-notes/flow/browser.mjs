// A person with a browser, as a program: follows redirects, keeps cookies, logs in and consents.

import assert from 'node:assert/strict';

export class Browser {
    #cookies = new Map();

    constructor(name) {
        this.name = name;
        this.pages = []; // which forms were submitted
    }

    // Opens the page a client has sent its user to. Returns the parameters of the redirect back to the client, which is not
    // followed.
    async authorize(url, redirectUri) {
        let response = await this.#request(url);
        for (let step = 0; step < 20; step++) {
            const location = response.headers.get('location');
            if (location) {
                const next = new URL(location, response.url || url);
                if (next.href.startsWith(redirectUri)) return next.searchParams;
                response = await this.#request(next);
                continue;
            }
            const html = await response.text();
            assert.equal(response.status, 200, html.replace(/<style>[^]*?<\/style>|<[^>]*>|\s+/g, ' '));
            response = await this.#submit(html, response.url);
        }
        assert.fail('no end of pages');
    }

    // Fills the form of a page in.
    async #submit(html, base) {
        const action = /<form[^>]*action="([^"]*)"/.exec(html)?.[1];
        const prompt = /name="prompt" value="([^"]*)"/.exec(html)?.[1];
        assert.ok(action && prompt, `a form: ${html}`);
        this.pages.push(prompt);
        const login = prompt === 'login' ? { login: this.name, password: 'any' } : {};
        return this.#request(new URL(action, base), { method: 'POST', body: new URLSearchParams({ prompt, ...login }) });
    }

    async #request(url, init = {}) {
        const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
        const response = await fetch(url, { ...init, redirect: 'manual', headers: { cookie } });
        for (const line of response.headers.getSetCookie()) {
            const [, name, value] = /^([^=]*)=([^;]*)/.exec(line);
            if (value) this.#cookies.set(name, value);
            else this.#cookies.delete(name);
        }
        return response;
    }
}
