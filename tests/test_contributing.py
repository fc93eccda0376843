"""What CONTRIBUTING.md names exists."""

import re
from pathlib import Path

import numpy as np
import pytest

import fluxlite as fl
from fluxlite.simulated.surface import LACKING

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`([\w/.*-]+(?:\.py|\.md|\.csv|\.toml|/))`", PAGE)))
FILES = [name for name in NAMED if "NN" not in name and "NAME" not in name]  # those are for the reader to write
# A name without a folder is in a folder that the same recipe names before, or in the package.
FOLDERS = ("", "fluxlite", "fluxlite/autodiff/derivatives", "fluxlite/devices", "fluxlite/devices/metal",
           "fluxlite/layers", "fluxlite/course/lessons", "tests/devices", "tests/frozen")  # fmt: skip
# What the page says about a file's contents: `choose` in `devices/choosing.py`.
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
    """The names with a _ in them, such as `check_gradient`, that neither the library nor the tests define or import."""
    folders = [ROOT / "fluxlite", ROOT / "tests"]
    code = "\n".join(path.read_text(encoding="utf-8") for folder in folders for path in folder.rglob("*.py"))
    names = set(re.findall(r"`(\w*[a-z]\w*_\w+)`", page))
    defined = r"(?:def|class) {0}\b|\b{0}\b[^\n=]* = |import [^\n]*\b{0}\b"
    return sorted(name for name in names if not re.search(defined.format(name), code))


def test_every_name_of_two_words_is_defined():
    assert undefined(PAGE) == []


def test_a_name_that_is_gone_is_noticed():
    gone = "_".join(["test", "that", "is", "gone"])  # not to be found here either
    assert undefined(f"`check_gradient` and `{gone}` show it") == [gone]


def test_its_example_of_a_function_without_a_rule_has_none():
    (name,) = re.findall(r"says that `np\.(\w+)` has no", PAGE)
    assert name not in LACKING and f"np.sum(np.{name}(x))" in PAGE
    with pytest.raises(TypeError, match=f"np.{name} has no derivative rule"):
        fl.gradient(lambda x: np.sum(getattr(np, name)(x)), np.ones(2))


def test_its_helpers_for_a_rule_are_there():
    rules = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "fluxlite").rglob("*.py"))
    for name in ("along", "checked"):
        assert f"`{name}`" in PAGE and f"def {name}(" in rules
    for name in ("kron", "block"):
        assert f"@composed(np.{name})" in PAGE and f"@composed(np.{name})" in rules
