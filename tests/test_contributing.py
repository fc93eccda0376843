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
           "fluxlite/layers", "fluxlite/course/lessons", "tests/devices")  # fmt: skip
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


def test_a_newcomers_questions_are_among_these():
    assert len(INSIDE) >= 20 and {("choose", "devices/choosing.py"), ("BACKENDS", "devices/backends.py")} <= set(INSIDE)


def test_every_test_that_it_names_is_there():
    tests = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    names = re.findall(r"`(test_\w+|round_calls|check_gradient)`", PAGE)
    assert len(names) >= 3 and [name for name in names if f"def {name}(" not in tests] == []


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
