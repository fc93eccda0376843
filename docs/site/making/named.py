"""What the theme leaves without a name, for readers who hear a page instead of seeing it."""

from __future__ import annotations

import re
from pathlib import Path

# The arrow beside an entry of the sidebar, which unfolds the pages below it.
_ARROW = re.compile(r"(<a [^>]*>)((?:(?!</a>).)*)(</a>\s*<details[^>]*>\s*<summary)(>)", re.DOTALL)


def with_names(page: str) -> str:
    """A page's HTML with a name for each arrow.

    >>> with_names('<a href="a">Examples</a><details><summary><i></i></summary>')
    '<a href="a">Examples</a><details><summary aria-label="Pages of Examples"><i></i></summary>'
    """

    def named(match: re.Match[str]) -> str:
        text = re.sub(r"<[^>]+>", "", match[2]).strip()
        return f'{match[1]}{match[2]}{match[3]} aria-label="Pages of {text}">'

    return _ARROW.sub(named, page)


def name_all(folder: Path) -> None:
    """Give names to what has none, in all pages of a site."""
    for path in folder.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        named = with_names(text)
        if named != text:
            path.write_text(named, encoding="utf-8")
