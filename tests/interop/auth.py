"""The Python client logs in, with oidc-provider as authorization server: `auth.py SITES FAILURES`. SITES is what auth_site.mjs
has written, FAILURES what the client says of each that is wrong."""

import asyncio
import importlib.metadata
import json
import logging
import sys
from contextlib import asynccontextmanager
from pathlib import Path

from mcp import MCPError

from login import Login, connected

site, expected = (json.loads(Path(path).read_text()) for path in sys.argv[1:])
# It logs every error that it raises.
logging.getLogger("mcp").setLevel(logging.CRITICAL)


def text(result):
    return result.content[0].text


def asked(login):
    """What the user was asked for, in any order."""
    return [" ".join(sorted(scope.split())) for scope in login.asked]


@asynccontextmanager
async def logged_in(name, url, mode, **options):
    login = Login(name, **options)
    async with login.connected(url, mode) as client:
        await client.list_tools()
        assert client.protocol_version == ("2025-11-25" if mode == "legacy" else "2026-07-28"), client.protocol_version
        yield login, client


async def try_users(mode):
    async with logged_in(f"alice-py-{mode}", site["good"], mode) as (login, alice):
        assert asked(login) == ["notes:read offline_access"], "as the 401 says"
        assert login.browser.pages == ["login", "consent"], login.browser.pages
        assert login.client.client_id, "registered"
        assert text(await alice.call_tool("list_notes")) == "[]"
        assert [tool.name for tool in (await alice.list_tools()).tools] == ["list_notes", "read_note"]

        # step-up: a 403, the user consents to more, and the call is repeated
        assert text(await alice.call_tool("write_note", {"id": "a", "text": "of alice"})).startswith("wrote note a")
        assert asked(login) == ["notes:read offline_access", "notes:read notes:write offline_access"], login.asked
        assert login.browser.pages == ["login", "consent", "consent"], login.browser.pages
        assert text(await alice.call_tool("list_notes")) == '[{"id":"a","text":"of alice"}]'
        assert (await alice.read_resource("note://a")).contents[0].text == "of alice"

        async with logged_in(f"bob-py-{mode}", site["good"], mode) as (_, bob):
            assert text(await bob.call_tool("list_notes")) == "[]"
            hidden = await bob.call_tool("read_note", {"id": "a"})
            assert hidden.is_error and "you have no note `a`" in text(hidden), hidden
            try:
                raise AssertionError(await bob.read_resource("note://a"))
            except MCPError:
                pass
            assert "of alice" not in (await bob.get_prompt("summary")).messages[0].content.text
            assert text(await bob.call_tool("write_note", {"id": "a", "text": "of bob"})).startswith("wrote")
            assert text(await alice.call_tool("read_note", {"id": "a"})) == "of alice"
            assert text(await bob.call_tool("delete_note", {"id": "a"})).startswith("deleted")
        assert text(await alice.call_tool("read_note", {"id": "a"})) == "of alice"

        # a token that the server does not accept: the user is asked again
        times = len(login.asked)
        login.provider.context.current_tokens.access_token = "garbage"
        assert "of alice" in text(await alice.call_tool("list_notes"))
        assert len(login.asked) == times + 1, login.asked


async def try_refresh(mode):
    """Tokens are valid for a second; the client sees that they are over, and refreshes them."""
    async with logged_in(f"erin-py-{mode}", site["brief"], mode) as (login, client):
        before = login.tokens
        await asyncio.sleep(1.5)
        assert text(await client.call_tool("list_notes")) == "[]"
        assert login.tokens.access_token != before.access_token and before.refresh_token
        assert len(login.asked) == 1, "nobody was asked"


async def try_known_by_url(mode):
    """A client that is known by the URL of its document, and does not register."""
    url = "https://client.example.com/python.json"
    async with logged_in(f"carol-py-{mode}", site["known_by_url"], mode, client_metadata_url=url) as (login, client):
        assert login.client.client_id == url
        assert text(await client.call_tool("write_note", {"id": "a", "text": "of carol"})).startswith("wrote")


def causes(error):
    """What groups of exceptions consist of."""
    if isinstance(error, BaseExceptionGroup):
        return [cause for inner in error.exceptions for cause in causes(inner)]
    return [error]


async def fails(name, mode, action):
    kind, part = expected[name]["python"]
    try:
        await action()
    except Exception as error:
        said = [(type(cause).__name__, str(cause)) for cause in causes(error)]
        assert any(kind == its_kind and part in its_text for its_kind, its_text in said), (name, mode, said)
    else:
        raise AssertionError(f"{name}, {mode}: it works")


async def try_failing(mode):
    write = {"id": "a", "text": ""}

    async def log_in(name):
        async with logged_in("dave", site[name], mode) as (_, client):
            await client.call_tool("write_note", write)

    async def call_with(token, tool, arguments):
        async with connected(site["good"], mode, headers={"Authorization": f"Bearer {token}"}) as client:
            return await client.call_tool(tool, arguments)

    for name, clients in expected.items():
        if name in site and clients["python"]:
            await fails(name, mode, lambda: log_in(name))
    await log_in("trailing_slash")  # which this client does not mind
    await fails("fixed_wrong_token", mode, lambda: call_with("garbage", "list_notes", {}))
    async with logged_in("dave", site["good"], mode) as (login, _):
        token = login.tokens.access_token
    assert text(await call_with(token, "list_notes", {})) == "[]"
    await fails("fixed_token_without_scope", mode, lambda: call_with(token, "write_note", write))


async def main():
    modules = Path(__file__).parents[1] / "third_party/.cache/node_modules"
    provider = json.loads((modules / "oidc-provider/package.json").read_text())["version"]
    print(f"mcp {importlib.metadata.version('mcp')} (Python), oidc-provider {provider}")
    for mode in ["legacy", "auto", "2026-07-28"]:
        for name, trial in [
            ("two users, step-up", try_users), ("refresh", try_refresh), ("known by a URL", try_known_by_url),
            ("what fails", try_failing),
        ]:
            await asyncio.wait_for(trial(mode), 60)
            print(f"  passed: {name}, {mode}", flush=True)


asyncio.run(main())
