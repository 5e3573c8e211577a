#!/usr/bin/env python3
"""A preprocessor of mdbook: links that lead out of the book, into the repository, work on a forge and not in HTML.

Pages of the crate's documentation lead to docs.rs. Two reference pages that it does not have become pages of the book. What is left
leads to MCP_REPOSITORY, such as https://github.com/OWNER/NAME; without it, its text is left."""
import json, os, posixpath, re, sys, tomllib
from pathlib import Path

if sys.argv[1:2] == ["supports"]:
    sys.exit(0)

ROOT = Path(__file__).resolve().parent.parent
DOCS = "mcp-runtime/docs/"
# Where the source of the crate includes them. A page that is not here stops the build.
API = {
    "asking.md": "struct.Context.html",
    "cli.md": "cli/index.html",
    "contract.md": "testing/macro.assert_contract.html",
    "derive_resource.md": "derive.Resource.html",
    "errors.md": "errors/index.html",
    "handlers.md": "attr.handlers.html",
    "prompt.md": "attr.prompt.html",
    "resource.md": "attr.resource.html",
    "tool.md": "attr.tool.html",
    "types.md": "attr.tool.html#argument-types",
}
ADDED = {"limits.md": "Limits", "abuse.md": "Hostile and broken clients"}

LINK = re.compile(r"\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(((?:\.\./|\w+\.md)[^)#]*)(#[^)]*)?\)")
repository = os.environ.get("MCP_REPOSITORY", "").rstrip("/")
version = ".".join(tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))["workspace"]["package"]["version"].split(".")[:2])


def destination(path, anchor):
    """Where a path of the repository leads from a page of the book; none if nowhere."""
    if path.startswith("docs/book/"):
        return path.removeprefix("docs/book/") + anchor
    if path.startswith(DOCS):
        name = path.removeprefix(DOCS)
        if name in ADDED:
            return name + anchor
        page = f"https://docs.rs/mcp-runtime/{version}/mcp_runtime/{API[name]}"
        return page.split("#")[0] + anchor if anchor else page
    return f"{repository}/blob/HEAD/{path}{anchor}" if repository else None


def turned(text, folder):
    def inside(link):
        shown, path, anchor = link.groups()
        to = destination(posixpath.normpath(posixpath.join(folder, path)), anchor or "")
        return f"[{shown}]({to})" if to else shown

    return LINK.sub(inside, text)


def turn(items):
    for chapter in (item["Chapter"] for item in items if "Chapter" in item):
        chapter["content"] = turned(chapter["content"], "docs/book")
        turn(chapter["sub_items"])


def added(name, title):
    text = turned((ROOT / DOCS / name).read_text("utf-8"), DOCS)
    page = {"name": title, "content": text, "path": name, "source_path": name}
    return {"Chapter": page | {"number": None, "sub_items": [], "parent_names": []}}


_context, book = json.load(sys.stdin)
turn(book["items"])
book["items"] += [added(name, title) for name, title in ADDED.items()]
json.dump(book, sys.stdout)
