"""`cargo mcp dev` with the official Python client: `dev.py CARGO_MCP DIRECTORY`."""

import asyncio
import importlib.metadata
import os
import pathlib
import sys
import time
from contextlib import asynccontextmanager

import mcp_types as types
from mcp import Client, StdioServerParameters

cargo_mcp, directory = sys.argv[1:]
source = pathlib.Path(directory, "src/main.rs")
FIRST = source.read_text()
COUNT = "\n/// Counts.\n#[tool]\nfn count() -> u32 {\n    3\n}\n"
PATIENCE = 120


def edition(version, more=""):
    text = FIRST.replace("    1\n", f"    {version}\n").replace("// more\n", more)
    return text.replace("[version]", "[version, count]") if more else text


class Heard:
    def __init__(self):
        self.changed = asyncio.Queue()

    async def message(self, message):
        if isinstance(message, types.ToolListChangedNotification):
            self.changed.put_nowait(message)
        elif isinstance(message, Exception):
            raise message


@asynccontextmanager
async def server(transport):
    if transport == "stdio":
        yield StdioServerParameters(command=cargo_mcp, args=["mcp", "dev", "--quiet"], cwd=directory, env=dict(os.environ))
        return
    process = await asyncio.create_subprocess_exec(
        cargo_mcp, "mcp", "dev", "--http", "127.0.0.1:0", cwd=directory, stderr=asyncio.subprocess.PIPE
    )
    try:
        line = ""
        while "Serving" not in line:
            line = (await asyncio.wait_for(process.stderr.readline(), PATIENCE)).decode()
            assert line, "cargo mcp dev ended"
        drain = asyncio.create_task(process.stderr.read())
        yield line.split(" on ")[1].split(" after ")[0]
        process.terminate()
        assert await process.wait() == 0
        await drain
    finally:
        if process.returncode is None:
            process.kill()


async def text(client, tool):
    result = await client.call_tool(tool, {})
    return result.is_error, result.content[0].text


async def edits(client, changed):
    """`changed` waits for a change of the tools."""
    assert await text(client, "version") == (False, "1")
    saved = time.monotonic()
    source.write_text(edition(2, COUNT))
    await asyncio.wait_for(changed(), PATIENCE)
    assert await text(client, "count") == (False, "3")
    took = time.monotonic() - saved
    assert "count" in [tool.name for tool in (await client.list_tools()).tools]

    source.write_text("fn main() {\n    let count: u32 = \"three\";\n}\n")
    for _ in range(PATIENCE * 10):
        failed, said = await text(client, "version")
        if failed:
            break
        await asyncio.sleep(0.1)
    assert failed and "mismatched types" in said, said
    assert await text(client, "version") == (False, "2")

    source.write_text(edition(3))
    await asyncio.wait_for(changed(), PATIENCE)
    assert await text(client, "version") == (False, "3")
    return took


async def attempt(transport, mode):
    source.write_text(FIRST)
    heard = Heard()
    async with server(transport) as target:
        async with Client(target, mode=mode, read_timeout_seconds=PATIENCE, message_handler=heard.message) as client:
            if mode == "legacy":
                took = await edits(client, heard.changed.get)
            else:
                async with client.listen(tools_list_changed=True) as stream:
                    took = await edits(client, lambda: anext(stream))
    print(f"  passed: {transport}, {mode}: from save to callable {took:.1f} s")


async def main():
    print(f"mcp {importlib.metadata.version('mcp')} (Python)")
    try:
        for transport in ["stdio", "http"]:
            for mode in ["legacy", "2026-07-28"]:
                await attempt(transport, mode)
    finally:
        source.write_text(FIRST)


asyncio.run(main())
