"""What's asked of a finished site: every link leads somewhere, and no page loads anything from another computer."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Links lead away when they are clicked. These fetch something as soon as a page is opened.
_LOADS = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "audio": "src",
          "embed": "src", "object": "data"}  # fmt: skip
_FETCHED = {"stylesheet", "preload", "modulepreload", "icon", "preconnect", "dns-prefetch", "prefetch", "manifest"}


class Html(HTMLParser):
    """What a page links to, what it loads, and which anchors it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self._style = False
        self.feed(text)

    def handle_starttag(self, tag: str, given: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in given}
        self.anchors |= {values[name] for name in ("id", "name") if values.get(name)}
        self._style = tag == "style"
        if tag in _LOADS and _LOADS[tag] in values:
            self.loads.append(values[_LOADS[tag]])
        if tag == "link" and _FETCHED & set(values.get("rel", "").split()):
            self.loads.append(values.get("href", ""))
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        self.loads += in_css(values.get("style", ""))

    def handle_data(self, data: str) -> None:
        if self._style:
            self.loads += in_css(data)


def in_css(text: str) -> list[str]:
    """What a style sheet loads.

    >>> in_css('@import "a.css"; div { background: url(b.png) }')
    ['a.css', 'b.png']
    """
    return re.findall(r"""(?:@import\s+(?:url\()?|url\()\s*["']?([^"')\s]+)""", text)


def pages(folder: Path) -> dict[str, Html]:
    """The pages of a site, by their path in it."""
    found = sorted(folder.rglob("*.html"))
    return {path.relative_to(folder).as_posix(): Html(path.read_text(encoding="utf-8")) for path in found
            if not path.name.endswith("-macros.html")}  # fmt: skip


def dead_links(folder: Path, known: dict[str, Html]) -> list[str]:
    """Each link of a page that leads to no file, or to no anchor in it."""
    dead = set()
    for page, html in known.items():
        for link in {*html.links, *html.loads}:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = posixpath.normpath(posixpath.join(posixpath.dirname(page), unquote(parts.path)))
            target = page if not parts.path else target
            anchor = unquote(parts.fragment)
            if not (folder / target).is_file():
                dead.add(f"{page}: {link}")
            elif anchor and target in known and anchor not in known[target].anchors:
                dead.add(f"{page}: {link}, and {target} has no #{anchor}")
    return sorted(dead)


def from_elsewhere(folder: Path, known: dict[str, Html]) -> list[str]:
    """What pages and style sheets load from another computer."""
    loads = [(page, load) for page, html in known.items() for load in html.loads]
    for path in folder.rglob("*.css"):
        loads += [(path.relative_to(folder).as_posix(), load) for load in in_css(path.read_text(encoding="utf-8"))]
    return [f"{page}: {load}" for page, load in loads if urlsplit(load).netloc]


def complaints(folder: Path) -> Iterator[str]:
    """Everything that's wrong with a site."""
    known = pages(folder)
    yield from (f"leads nowhere: {link}" for link in dead_links(folder, known))
    yield from (f"from another computer: {load}" for load in from_elsewhere(folder, known))
