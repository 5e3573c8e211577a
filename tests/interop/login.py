"""What an application that uses the Python client has to bring along to log its user in: where it keeps what it has got, and
how it opens a browser. This one keeps it in memory, and the browser is a program."""

import re
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urljoin, urlparse

import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

REDIRECT = "http://127.0.0.1:1/callback"  # nobody listens: the browser tells where it was sent


class Browser:
    """A person with a browser: follows redirects, keeps cookies, logs in and consents."""

    def __init__(self, name):
        self.name = name
        self.http = httpx2.AsyncClient(timeout=30)
        self.pages = []  # which forms were submitted

    async def authorize(self, url):
        """The parameters of the redirect back to the client."""
        response = await self.http.get(url)
        for _ in range(20):
            if location := response.headers.get("location"):
                url = urljoin(str(response.url), location)
                if url.startswith(REDIRECT):
                    return {name: values[0] for name, values in parse_qs(urlparse(url).query).items()}
                response = await self.http.get(url)
                continue
            assert response.status_code == 200, response.text
            action = re.search(r'<form[^>]*action="([^"]*)"', response.text)[1]
            prompt = re.search(r'name="prompt" value="([^"]*)"', response.text)[1]
            self.pages.append(prompt)
            login = {"login": self.name, "password": "any"} if prompt == "login" else {}
            response = await self.http.post(urljoin(str(response.url), action), data={"prompt": prompt, **login})
        raise AssertionError("no end of pages")


class Login:
    """The user of a client: an authentication for HTTP, which asks them when it has to."""

    def __init__(self, name, client_metadata_url=None):
        self.browser = Browser(name)
        self.client_metadata_url = client_metadata_url
        self.asked = []  # for which scopes the user was asked
        self.tokens = self.client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client_info):
        self.client = client_info

    async def _redirected(self, url):
        self.asked.append(parse_qs(urlparse(url).query)["scope"][0])
        self.callback = await self.browser.authorize(url)

    async def _called_back(self):
        said = self.callback.get
        return AuthorizationCodeResult(code=said("code", ""), state=said("state"), iss=said("iss"))

    @asynccontextmanager
    async def connected(self, url, mode):
        metadata = OAuthClientMetadata(
            client_name="interop", redirect_uris=[REDIRECT], token_endpoint_auth_method="none",
        )
        self.provider = OAuthClientProvider(
            url, metadata, self, self._redirected, self._called_back, client_metadata_url=self.client_metadata_url,
        )
        async with connected(url, mode, auth=self.provider) as client:
            yield client


@asynccontextmanager
async def connected(url, mode, **options):
    """A client whose HTTP requests have these options."""
    async with httpx2.AsyncClient(timeout=30, **options) as http:
        async with Client(streamable_http_client(url, http_client=http), mode=mode, read_timeout_seconds=20) as client:
            yield client
