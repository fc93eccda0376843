"""What `nox -s mutations` needs: each file that it changes has tests, and what counts as equal has a reason."""

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "tests" / "mutations"
SETTINGS = tomllib.loads((FOLDER / "settings.toml").read_text(encoding="utf-8"))
EQUAL = tomllib.loads((FOLDER / "equal.toml").read_text(encoding="utf-8")).get("change", [])


@pytest.mark.parametrize("name", SETTINGS["tests"])
def test_the_files_that_are_changed_and_their_tests_are_there(name):
    assert (ROOT / name).exists()
    assert [test for test in SETTINGS["tests"][name] if not (ROOT / test).exists()] == []


@pytest.mark.parametrize("room", ["tree", "autodiff", "layers", "data", "checkpoint", "simulated"])
def test_the_rooms_that_everything_stands_on_are_changed(room):
    assert f"fluxlite/{room}" in SETTINGS["tests"]


def test_each_change_that_counts_as_equal_is_there_once_with_a_reason():
    changes = [(entry["file"], entry["was"], entry["becomes"]) for entry in EQUAL]
    assert len(changes) == len(set(changes))
    for entry in EQUAL:
        assert (ROOT / entry["file"]).exists() and entry["was"] != entry["becomes"]
        assert len(entry["why"].split()) > 3, f"say why {entry['becomes']!r} makes no difference"
