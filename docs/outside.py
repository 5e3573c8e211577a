#!/usr/bin/env python3
"""A preprocessor of mdbook: links that lead out of the book, into the repository, work on a forge and not in HTML.

With MCP_REPOSITORY, such as https://github.com/OWNER/NAME, they lead there; without it their text is left."""
import json, os, re, sys

if sys.argv[1:2] == ["supports"]:
    sys.exit(0)

LINK = re.compile(r"\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(\.\./\.\./([^)]*)\)")
repository = os.environ.get("MCP_REPOSITORY", "").rstrip("/")


def inside(link):
    text, path = link.groups()
    return f"[{text}]({repository}/blob/HEAD/{path})" if repository else text


def turn(items):
    for chapter in (item["Chapter"] for item in items if "Chapter" in item):
        chapter["content"] = LINK.sub(inside, chapter["content"])
        turn(chapter["sub_items"])


_context, book = json.load(sys.stdin)
turn(book["items"])
json.dump(book, sys.stdout)
