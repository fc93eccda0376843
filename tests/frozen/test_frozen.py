"""Today's fluxlite is what 0.3 was, but for what changed.toml lists."""

from pathlib import Path

import numpy as np
import pytest
from frozen import comparing, part_files
from frozen.comparing import differences, frozen, today, told, wrong_lines

import fluxlite as fl

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("part", comparing.PARTS)
def test_it_is_what_it_was(monkeypatch, part):
    monkeypatch.chdir(ROOT)
    found = differences(part, today(part))
    assert not found, told(found)


def test_what_is_listed_as_changed_is_different_and_has_a_reason():
    assert wrong_lines() == []


# -- what finds a difference, finds it ------------------------------------------------------------------------------

PLANTED = {
    "names": ("fluxlite.Dense", lambda text: text.replace("(", "(rng, ", 1)),
    "files": ("0.3/model.safetensors: load(path)", lambda texts: [*texts[:-1], texts[-1].replace("10.625", "10.626")]),
    "documents": ("S1-23", lambda text: text.replace("0.", "1.", 1)),
    "cards": ("NVIDIA T4, version 2", lambda texts: [text.replace("bandwidth 240", "bandwidth 250") for text in texts]),
}  # fmt: skip


@pytest.mark.parametrize("part", comparing.PARTS)
def test_a_planted_difference_is_found_and_its_line_printed(monkeypatch, part):
    monkeypatch.setattr(comparing, "changed", dict)
    key, plant = PLANTED[part]
    was = frozen(part)[key]
    now = plant(was)
    assert now != was
    (found,) = differences(part, {**frozen(part), key: now})
    assert (found.part, found.key, found.was, found.now) == (part, key, was, now)
    listed = comparing.tomllib.loads(comparing.as_toml([found]))
    assert listed == {part: {key: {"why": "", "now": now}}}
    assert f"[{part}]\n{found.line()}\n" in told([found])
    # Listed with a reason, it's none; then what was is one.
    listed[part][key]["why"] = "because"
    monkeypatch.setattr(comparing, "changed", lambda: listed)
    assert wrong_lines(listed) == []
    assert differences(part, {**frozen(part), key: now}) == []
    assert "take its line out" in str(*differences(part, frozen(part)))


@pytest.mark.parametrize("part", comparing.PARTS)
def test_what_was_frozen_is_no_difference(monkeypatch, part):
    monkeypatch.setattr(comparing, "changed", dict)
    assert differences(part, frozen(part)) == []


def test_what_is_gone_is_a_difference_and_what_is_new_is_none(monkeypatch):
    monkeypatch.setattr(comparing, "changed", dict)
    names = dict(frozen("names"))
    del names["fluxlite.Dense"]
    (found,) = differences("names", {**names, "fluxlite.new": "()"})
    assert (found.key, found.now) == ("fluxlite.Dense", "gone")


@pytest.mark.parametrize(
    ("key", "line", "words"),
    [
        ("fluxlite.Dense", {"why": "", "now": "(x)"}, "a reason"),
        ("fluxlite.Dense", {"why": "because", "now": frozen("names")["fluxlite.Dense"]}, "is as in 0.3"),
        ("fluxlite.Dense", {"why": "because", "now": "gone"}, "keep it, with a notice that names the new one"),
        ("fluxlite.Dens", {"why": "because", "now": "gone"}, "isn't frozen"),
    ],
)
def test_a_wrong_line_is_named(key, line, words):
    (wrong,) = wrong_lines({"names": {key: line}})
    assert wrong.startswith(f"names: {key} ") and words in wrong


def test_a_public_name_with_other_parameters_is_noticed(monkeypatch):
    monkeypatch.setattr(comparing, "changed", dict)
    before = differences("names", today("names"))
    monkeypatch.setattr(fl, "mse", lambda target, prediction, agg=np.mean: 0)
    after = differences("names", today("names"))
    (found,) = (one for one in after if one not in before)
    assert (found.key, found.now) == ("fluxlite.mse", "(target, prediction, agg=mean)")


def test_a_name_that_left_the_table_of_contents_is_still_answered_for(monkeypatch):
    """An old name stays until 0.5: `import *` no longer brings it, and whoever writes it gets it."""
    before = differences("names", today("names"))
    monkeypatch.setattr(fl, "__all__", [name for name in fl.__all__ if name != "mse"])
    assert differences("names", today("names")) == before


def test_a_method_that_lost_its_description_is_still_there(monkeypatch):
    before = differences("names", today("names"))
    monkeypatch.setattr(fl.KeyPath.get, "__doc__", None)
    assert differences("names", today("names")) == before


def test_every_version_that_saved_files_has_one_of_each_kind():
    kinds = [{path.name for path in folder.iterdir()} for folder in sorted(part_files.FILES.iterdir())]
    assert len(kinds) > 1 and all(names == kinds[0] for names in kinds)
