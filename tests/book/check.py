#!/usr/bin/env python3
"""Follows the links of a built book: `check.py FOLDER`. Pages, pictures and anchors must exist; other sites are not asked."""
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.ids = [], set()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id":
                self.ids.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


# `print.html` has all pages in one, with anchors of its own; `404.html` is served at any path
pages = {path: Page(path) for path in Path(sys.argv[1]).resolve().glob("*.html") if path.name not in ("print.html", "404.html")}
followed, dead = 0, []
for path, page in pages.items():
    for link in page.links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        followed += 1
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        anchor = unquote(parts.fragment)
        if not target.is_file() or (anchor and target in pages and anchor not in pages[target].ids):
            dead.append(f"{path.name}: {link}")
print(f"{len(pages)} pages, {followed} links, {len(dead)} dead")
for link in dead:
    print(f"dead: {link}")
sys.exit(bool(dead) or len(pages) < 10)
