"""CONTRIBUTING.md names what is there."""

import re
from pathlib import Path

import numpy as np
import pytest

import fluxlite as fl
from fluxlite.simulated.surface import LACKING

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`([\w/.*-]+(?:\.py|\.md|\.csv|\.toml|/))`", PAGE)))
FILES = [name for name in NAMED if "NN" not in name and "NAME" not in name]  # those are the reader's own
FOLDERS = ("", "fluxlite", "fluxlite/devices", "fluxlite/layers", "fluxlite/derivatives", "fluxlite/course/lessons",
           "tests/devices")  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_every_file_that_it_names_is_there(name):
    assert any(list((ROOT / folder).glob(name.rstrip("/"))) for folder in FOLDERS)


def test_every_test_that_it_names_is_there():
    tests = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    for name in ("test_slopes_at_corners", "round_calls", "check_gradient"):
        assert name in PAGE and f"def {name}(" in tests


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
