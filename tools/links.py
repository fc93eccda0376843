"""Where the project is published, and every address that follows from it: the one place of links.

    python tools/links.py release v0.4.0-lessons    may a package be made of this tag? Exits with 1 and says why not

[tool.fluxlite] in pyproject.toml names the repository. As long as it names none, nothing here gives an address, and
nothing that we make leads or fetches from anywhere. This file needs no package: the build reads it too.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

ROOT = Path(__file__).resolve().parents[1]
FIRST = "00-start-here.ipynb"
LEARNER = "notebooks/learner"
HUB = "https://YOUR-HUB/hub/user-redirect/git-pull"
# A link or a picture whose address is a path in this repository.
RELATIVE = re.compile(r"(!?)(\[(?:[^][]|\[[^]]*\])*\])\((?!https?:|#|mailto:)([^)]+)\)")


class Place(NamedTuple):
    """Where the project is published."""

    repository: str  # on GitHub, such as "name/fluxlite"
    opened: str  # the tag that the links open
    archive: str  # the address of what the first cell installs, with the hash by which pip recognizes it


def version(root: Path = ROOT) -> str:
    """The version, without importing the library: where a package is built, there's no NumPy."""
    text = (root / "fluxlite" / "__init__.py").read_text(encoding="utf-8")
    return re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE)[0]


def settings(root: Path = ROOT) -> dict[str, str]:
    """``[tool.fluxlite]`` of pyproject.toml."""
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["fluxlite"]


def published(said: dict[str, str], number: str = version()) -> Place | None:
    """What ``[tool.fluxlite]`` of pyproject.toml says; None if no repository is named.

    Raises `ValueError` if the archive's hash is missing: then anyone who takes over the repository could run code on
    the learners' computers.
    """
    repository, tag = said.get("repository", ""), said["tag"].format(version=number)
    if not repository:
        return None
    archive, sha256 = f"https://github.com/{repository}/archive/{tag}.zip", said.get("sha256", "")
    if not re.fullmatch("[0-9a-f]{64}", sha256):
        raise ValueError(f"[tool.fluxlite] needs sha256, the 64 digits of sha256sum for {archive}; got {sha256!r}")
    return Place(repository, said["lessons"].format(version=number), f"{archive}#sha256={sha256}")


PLACE = published(settings())
# Where the lessons run in a browser's own Python, as `make lite` makes them; empty as long as it's nowhere.
BROWSER = settings().get("browser", "")


# -- addresses ------------------------------------------------------------------------------------------------------


def on_github(path: str, place: Place) -> str:
    """The address that shows a file or a folder of the repository."""
    return f"https://github.com/{place.repository}/blob/{place.opened}/{path}"


def raw(path: str, place: Place) -> str:
    """The address of a file's own bytes, such as a picture's."""
    return f"https://github.com/{place.repository}/raw/{place.opened}/{path}"


def on_colab(name: str, place: Place) -> str:
    """The address that opens a learner's notebook on Colab."""
    return f"https://colab.research.google.com/github/{place.repository}/blob/{place.opened}/{LEARNER}/{name}"


def on_kaggle(name: str, place: Place) -> str:
    """The address that opens a learner's notebook on Kaggle."""
    return f"https://kaggle.com/kernels/welcome?src={on_github(f'{LEARNER}/{name}', place)}"


def on_binder(name: str, place: Place) -> str:
    """The address that opens a learner's notebook in JupyterLab on Binder, among all the others."""
    path = quote(f"lab/tree/{LEARNER}/{name}", safe="")
    return f"https://mybinder.org/v2/gh/{place.repository}/{place.opened}?urlpath={path}"


def in_browser(name: str, browser: str = BROWSER) -> str:
    """The address that runs a learner's notebook in a browser's own Python; empty where there's none."""
    if not browser:
        return ""
    return f"{browser.rstrip('/')}/notebooks/index.html?path={name}"


def on_hub(place: Place | None) -> str:
    """The address by which nbgitpuller brings a class's branch to a JupyterHub, into a folder with the same name."""
    address = f"https://github.com/{place.repository}" if place else "https://YOUR-SERVER/YOUR-REPOSITORY"
    return _pulled(address, f"{LEARNER}/{FIRST}")


def on_hub_from(repository: str, path: str) -> str:
    """The same for a repository of your own, which has a file at this path."""
    return _pulled(f"https://YOUR-SERVER/{repository}", path)


def _pulled(address: str, path: str) -> str:
    opened = quote(f"lab/tree/{address.rpartition('/')[2]}/{path}", safe="")
    return f"{HUB}?repo={quote(address, safe='')}&branch=YOUR-BRANCH&urlpath={opened}"


def for_package_index(place: Place | None = PLACE) -> dict[str, str]:
    """The links that a package index shows beside the project; none until it's published."""
    if place is None:
        return {}
    return {
        "Source": f"https://github.com/{place.repository}",
        "Changelog": on_github("CHANGELOG.md", place),
        "Lessons": on_github(LEARNER, place).replace("/blob/", "/tree/"),
        "Issues": f"https://github.com/{place.repository}/issues",
    }


def long_description(place: Place | None = PLACE, root: Path = ROOT) -> str:
    """README.md for a package index, which has none of our files: paths become addresses, once there are any."""
    page = (root / "README.md").read_text(encoding="utf-8")
    if place is None:
        return page
    return RELATIVE.sub(lambda m: f"{m[1]}{m[2]}({(raw if m[1] else on_github)(m[3], place)})", page)


# -- a release ------------------------------------------------------------------------------------------------------


def not_to_be_released(tag: str, root: Path = ROOT) -> str:
    """Why no package may be made of this tag; empty if one may."""
    said, now = settings(root), version(root)
    try:
        place = published(said, now)
    except ValueError as error:
        return str(error)
    if place is None:
        return "[tool.fluxlite] of pyproject.toml names no repository, so the package would lead nowhere"
    if tag != place.opened:
        return f"a package is made of the tag {place.opened}, which has the links in it; this is {tag or 'no tag'}"
    if f"\n## {now} (" not in (root / "CHANGELOG.md").read_text(encoding="utf-8"):
        return f"CHANGELOG.md has no heading '## {now} (…)'"
    if f"\n## {now} (unreleased)" in (root / "CHANGELOG.md").read_text(encoding="utf-8"):
        return f"CHANGELOG.md says that {now} is unreleased: put the date there"
    return ""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Say whether a package may be made of a tag; exit with 1 if not.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    release = commands.add_parser("release", help="may a package be made of this tag?")
    release.add_argument("tag", nargs="?", default="", help="such as v0.4.0-lessons")
    why = not_to_be_released(parser.parse_args(arguments).tag)
    print(why or f"fluxlite {version()} may be released")
    return 1 if why else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
