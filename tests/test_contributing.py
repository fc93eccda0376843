"""CONTRIBUTING.md names what is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`([\w/.*-]+(?:\.py|\.md|\.csv|\.toml|/))`", PAGE)))
FILES = [name for name in NAMED if "NN" not in name and "NAME" not in name]  # those are the reader's own
# A name without a folder is of one that the same recipe names before it, or of the package.
FOLDERS = ("", "fluxlite", "fluxlite/autodiff/derivatives", "fluxlite/devices", "fluxlite/devices/metal",
           "fluxlite/layers", "fluxlite/course/lessons", "tests/devices")  # fmt: skip
# What the page says to be in a file: `choose` in `devices/choosing.py`.
INSIDE = sorted(set(re.findall(r"`(\w+)`\s+(?:in|of)\s+`([\w/.]+\.py)`", PAGE)))


def found(name: str) -> list[Path]:
    return [path for folder in FOLDERS for path in (ROOT / folder).glob(name.rstrip("/"))]


@pytest.mark.parametrize("name", FILES)
def test_every_file_that_it_names_is_there(name):
    assert found(name)


@pytest.mark.parametrize(("name", "file"), INSIDE)
def test_what_it_says_to_be_in_a_file_is_there(name, file):
    texts = [path.read_text(encoding="utf-8") for path in found(file)]
    assert any(re.search(rf"\b(?:def|class) {name}\b|^{name}\b.* = ", text, re.MULTILINE) for text in texts)


def test_the_page_answers_questions_and_names_files():
    assert INSIDE and FILES  # or nothing above would be looked for


def undefined(page: str) -> list[str]:
    """The names with a _ in them, such as `check_gradient`, that neither the library nor the tests define."""
    folders = [ROOT / "fluxlite", ROOT / "tests"]
    code = "\n".join(path.read_text(encoding="utf-8") for folder in folders for path in folder.rglob("*.py"))
    names = set(re.findall(r"`(\w*[a-z]\w*_\w+)`", page))
    return sorted(name for name in names if not re.search(rf"(?:def|class) {name}\b|\b{name}\b[^\n=]* = ", code))


def test_every_name_of_two_words_is_defined():
    assert undefined(PAGE) == []


def test_a_name_that_is_gone_is_noticed():
    gone = "_".join(["test", "that", "is", "gone"])  # not to be found here either
    assert undefined(f"`check_gradient` and `{gone}` show it") == [gone]
