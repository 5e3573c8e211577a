"""Takes the pictures in docs/book/pictures: runs commands on a terminal of 80 columns and draws what a person sees.

Takes the Python package `rich`; run it from the root of the repository after `cargo build -p cargo-mcp -p notes -p booking`.
"""

import fcntl
import os
import pty
import re
import struct
import sys
import termios

from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI, TerminalTheme
from rich.text import Text

COLUMNS = 80
LIGHT = TerminalTheme(
    (255, 255, 255), (36, 41, 46),
    [(36, 41, 46), (179, 29, 40), (34, 134, 58), (176, 136, 0), (3, 102, 214), (111, 66, 193), (27, 124, 131), (106, 115, 125)],
    [(149, 157, 165), (179, 29, 40), (34, 134, 58), (176, 136, 0), (3, 102, 214), (111, 66, 193), (27, 124, 131), (36, 41, 46)],
)


target = os.environ.get("CARGO_TARGET_DIR", "target") + "/debug"
os.environ["PATH"] = f"{os.path.abspath(target)}:{os.environ['PATH']}"


def seen(command, answers=b"", home="/tmp/pictures-home"):
    """The output of a command on a terminal."""
    os.makedirs(home, exist_ok=True)
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
        environment = {"PATH": os.environ["PATH"], "TERM": "xterm-256color", "HOME": home, "LANG": "C.UTF-8"}
        os.execvpe(command[0], command, environment)
    answers = answers.splitlines(keepends=True)
    output = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            break
        if not piece:
            break
        output += piece
        # A person answers when asked.
        if answers and re.sub(rb"\x1b\[[0-9;]*m", b"", output).endswith(b": "):
            os.write(terminal, answers.pop(0))
    os.waitpid(child, 0)
    return output.decode().replace("\r\n", "\n").replace(os.path.abspath(target), "/home/you/mcp/target/debug")


def draw(name, theme, parts):
    console = Console(width=COLUMNS, record=True, file=open(os.devnull, "w"), force_terminal=True, color_system="standard")
    for line, output in parts:
        console.print(Text(f"$ {line}", style="bold"))
        # What a carriage return and an erased line leave.
        output = re.sub(r"[^\n]*\r\x1b\[2K", "", output)
        console.print(Text.from_ansi(output.rstrip("\n")))
    svg = console.export_svg(title=name, theme=theme)
    svg = re.sub(r"@font-face \{.*?\}\n", "", svg, flags=re.S).replace("Fira Code", "monospace")
    os.makedirs("docs/book/pictures", exist_ok=True)
    with open(f"docs/book/pictures/{name}.svg", "w") as file:
        file.write(svg)


notes = ["notes", "--db", ":memory:"]
commands = {
    "page": (DIMMED_MONOKAI, [("notes", seen(notes[:1] + ["--db", "/tmp/pictures-home/notes.db"]))]),
    "call": (LIGHT, [("booking call book name=Ada", seen(["booking", "call", "book", "name=Ada"], b"2\n2026-12-01\n1\nyes\nyes\nyes\n"))]),
    "install": (DIMMED_MONOKAI, [
        ("notes install --list", seen(notes + ["install", "--list"])),
        ("notes install zed --dry-run", seen(notes + ["install", "zed", "--dry-run"])),
    ]),
    "errors": (LIGHT, [
        ("notes call serach query=milk", seen(notes + ["call", "serach", "query=milk"])),
        ("notes call search limit=many", seen(notes + ["call", "search", "limit=many"])),
        ("notes call search limt=3", seen(notes + ["call", "search", "limt=3"])),
    ]),
}
for name, (theme, parts) in commands.items():
    draw(name, theme, parts)
print("drawn:", ", ".join(commands), file=sys.stderr)
