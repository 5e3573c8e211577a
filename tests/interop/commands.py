"""`cargo mcp` against servers we did not write: Python's `mcp` on stdio and HTTP, and the npm package `server-everything`.

Arguments: cargo-mcp, node, node_modules."""

import os
import signal
import socket
import subprocess
import sys
import time

cargo_mcp, node, modules = sys.argv[1:4]
here = os.path.dirname(os.path.abspath(__file__))
python = [sys.executable, "-B", os.path.join(here, "server.py")]
everything = [node, os.path.join(modules, "@modelcontextprotocol/server-everything/dist/index.js")]

failures = 0


def expect(title, arguments, output, code=0, err=None):
    """Runs a command; its output contains each of these texts."""
    global failures
    done = subprocess.run([cargo_mcp, "mcp", *arguments], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    wanted = [output] if isinstance(output, str) else output
    missing = [text for text in wanted if text not in done.stdout]
    if done.returncode != code or missing or (err and err not in done.stderr):
        failures += 1
        print(f"FAILED {title}: {' '.join(arguments)}\n  exit code {done.returncode}, expected {code}; missing {missing or err}")
        print(f"  stdout: {done.stdout}\n  stderr: {done.stderr[-2000:]}")
    else:
        print(f"ok     {title}: {arguments[0]}")


def try_python(title, target, before=()):
    """`before` are options, `target` is what follows the command's own arguments."""
    expect(title, ["inspect", *before, *target], ["python-notes 1.0.0", "add(a: integer, b?: integer = 1)"])
    expect(title, ["tools", "--json", *before, *target], '"inputSchema"')
    expect(title, ["call", "add", "a=2", "b=3", *before, *target], "5")
    expect(title, ["call", "count", "to=2", "--progress", *before, *target], "counted", err="[2/2] at 2")
    expect(title, ["call", "fail", *before, *target], "", code=1, err="fail")
    expect(title, ["call", "ad", *before, *target], "", code=2, err="did you mean `add`?")
    expect(title, ["read", "note://7", *before, *target], "note 7")
    expect(title, ["get", "summary", "style=short", *before, *target], "Summarise, short.")
    expect(title, ["lint", *before, *target], "no description", code=1)


def try_asking(title, target, before=()):
    expect(title, ["call", "delete", "number=3", "--answer", "sure=yes", *before, *target], "accept True")
    expect(title, ["call", "delete", "number=3", "--answer", "decline", *before, *target], "decline")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def serve(transport):
    port = free_port()
    process = subprocess.Popen([*python, transport, str(port)], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    for _ in range(300):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return process, port
        except OSError:
            time.sleep(0.1)
    sys.exit(f"server.py {transport} does not listen")


session = ["--revision", "2025-11-25"]
try_python("python, stdio", ["--", *python, "stdio"])
try_asking("python, stdio, 2025-11-25", ["--", *python, "stdio"], session)
for transport, path in [("streamable-http", "/mcp"), ("sse", "/sse")]:
    process, port = serve(transport)
    try:
        target = ["--url", f"http://127.0.0.1:{port}{path}"]
        try_python(f"python, {transport}", target)
        try_asking(f"python, {transport}, 2025-11-25", target, session)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()

title = "server-everything, stdio"
expect(title, ["inspect", "--", *everything], ["mcp-servers/everything", "echo(message: string)"])
expect(title, ["call", "echo", "message=hello there", "--", *everything], "Echo: hello there")
expect(title, ["call", "get-structured-content", "location=Chicago", "--", *everything], '"temperature"')
expect(title, ["call", "get-roots-list", "--", *everything], "current directory")
expect(title, ["call", "trigger-long-running-operation", "duration=1", "steps=2", "--progress", "--", *everything], "completed", err="[2/2]")
expect(title, ["prompts", "--", *everything], "args-prompt")
expect(title, ["call", "nothing", "--", *everything], "", code=2)

if failures:
    sys.exit(f"{failures} failed")
print("cargo mcp understands the servers")
