"""Links: a page of the repository links to files; on the site the same link leads to the site's page."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

# Where the repository's files are on the site.
PAGES = {
    "README.md": "index.md",
    "notebooks/README.md": "lessons/index.md",
    "CONTRIBUTING.md": "contributing.md",
    "docs/adding.md": "adding.md",
    "docs/house.md": "how-it-works.md",
    "docs/testing.md": "testing.md",
    "tests/README.md": "writing-tests.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
    "notebooks/TEACHING.md": "teaching.md",
    "docs/hub/README.md": "hub.md",
    "notebooks/SIMULATED.md": "simulated.md",
    "notebooks/SOURCES.md": "sources.md",
    "notebooks/EXAMPLES.md": "guide-examples.md",
    "examples/README.md": "examples/index.md",
}

# Code is left alone: a block, or what is between backticks. The rest is a link.
_LINK = re.compile(r"(^```.*?^```$|`[^`\n]+`)|(\]\()([^)\s]+)\)", re.MULTILINE | re.DOTALL)


def page_of(path: str) -> str:
    """The site's page of a file in the repository.

    >>> page_of("notebooks/02-models-that-move.ipynb"), page_of("examples/xor.py"), page_of("README.md")
    ('lessons/02-models-that-move.ipynb', 'examples/xor.md', 'index.md')
    """
    if path in PAGES:
        return PAGES[path]
    if path.startswith("docs/site/pages/"):
        return path.removeprefix("docs/site/pages/")
    if re.fullmatch(r"notebooks/[\w-]+\.ipynb", path):
        return path.replace("notebooks/", "lessons/")
    if re.fullmatch(r"examples/\w+\.py", path):
        return path.replace(".py", ".md")
    raise ValueError(f"{path} has no page on the site. Give it one in PAGES of making/links.py, or link another")


def on_site(text: str, source: str, page: str) -> str:
    """The Markdown `text` of the file `source`, with its links made for the site's `page`.

    >>> on_site("[it](#here), [xor](xor.py)", "examples/README.md", "examples/index.md")
    '[it](#here), [xor](xor.md)'

    Raises `ValueError` for a link to a file that isn't there, or that has no page.
    """

    def moved(match: re.Match[str]) -> str:
        code, bracket, target = match.groups()
        if code or re.match(r"\w+:", target):
            return match[0]
        path, _, anchor = target.partition("#")
        anchor = f"#{slug(anchor)}" if anchor else ""
        if not path:
            return f"{bracket}{anchor})"
        file = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        if not (ROOT / file).exists():
            raise ValueError(f"{source} links to {target}, and there is no {file}")
        if not re.search(r"\.(md|ipynb|py)$", file):  # a picture: make.py copies it
            return f"{bracket}{posixpath.relpath(file, posixpath.dirname(page) or '.')})"
        return f"{bracket}{posixpath.relpath(page_of(file), posixpath.dirname(page) or '.')}{anchor})"

    return _LINK.sub(moved, text)


def slug(heading: str) -> str:
    """The anchor of a heading; JupyterLab's anchors, which the lessons and EXAMPLES.md have, become the same.

    >>> slug("Which card is current?"), slug("Which-card-is-current?"), slug("4. A lesson")
    ('which-card-is-current', 'which-card-is-current', '4-a-lesson')
    """
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def section(text: str, heading: str) -> str:
    """What's below a heading of a Markdown page, up to the next one of its level. A comma may follow, and more.

    >>> section("# A\\n## B, long\\none\\n### C\\ntwo\\n## D\\nthree", "B")
    'one\\n### C\\ntwo\\n'
    """
    begin = rf"^(#+) {re.escape(heading)}(?:,[^\n]*)?\n"
    found = re.search(rf"{begin}(.*?)(?=^#{{1,2}} |\Z)", text, re.MULTILINE | re.DOTALL)
    if found is None:
        raise ValueError(f"there is no heading {heading!r}")
    return found[2]
