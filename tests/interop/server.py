"""A server we did not write the framework of, for `cargo mcp`: `server.py stdio`, `server.py streamable-http PORT`, `server.py sse PORT`."""

import sys

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from pydantic import BaseModel

server = MCPServer("python-notes", version="1.0.0")


@server.tool()
def add(a: int, b: int = 1) -> int:
    """Add two integers."""
    return a + b


class Confirm(BaseModel):
    sure: bool


@server.tool()
async def delete(number: int, ctx: Context) -> str:
    """Delete a note, after asking."""
    answer = await ctx.elicit(f"Delete note {number}?", Confirm)
    return f"{answer.action} {answer.data.sure if answer.action == 'accept' else ''}".strip()


@server.tool()
async def count(to: int, ctx: Context) -> str:
    """Count, with progress."""
    for number in range(1, to + 1):
        await ctx.report_progress(number, to, f"at {number}")
    return "counted"


@server.tool()
def fail() -> str:
    """Always fails."""
    raise ValueError("out of paper")


@server.resource("note://{number}")
def note(number: str) -> str:
    """One note."""
    return f"note {number}"


@server.prompt()
def summary(style: str) -> str:
    """Ask for a summary."""
    return f"Summarise, {style}."


transport = sys.argv[1]
if transport == "stdio":
    server.run("stdio")
else:
    server.run(transport, host="127.0.0.1", port=int(sys.argv[2]))
