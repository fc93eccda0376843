"""Today's fluxlite is what 0.2.0 was, but for what changed.toml lists.

The lessons' replies and the programs in examples/ are compared where their own tests run: `from_tests.py`.
"""

import contextlib
import os
import types
from pathlib import Path

import numpy as np
import pytest
from frozen import comparing, from_tests, part_documents, part_files, part_names, part_receipts
from frozen.comparing import difference, differences, frozen, told, wrong_lines

import fluxlite as fl

ROOT = Path(__file__).parents[2]
# These take a second each, the others minutes: nox -s frozen compares them all.
LESSONS = ["02", "03", "13"]
if os.environ.get("FLUXLITE_FROZEN") == "all":
    LESSONS = sorted({key[:2] for key in frozen("receipts")})


def compare(part, today, whole=True):
    found = differences(part, today, whole)
    assert not found, told(found)


@pytest.mark.parametrize("part", [part_names, part_files, part_documents], ids=lambda part: part.__name__)
def test_it_is_what_it_was(monkeypatch, part):
    monkeypatch.chdir(ROOT)
    compare(part.__name__.removeprefix("frozen.part_"), part.entries())


@pytest.mark.parametrize("number", LESSONS)
def test_lessons_ask_a_gpu_for_what_they_asked(monkeypatch, number):
    monkeypatch.chdir(ROOT)
    today = part_receipts.entries(number)
    gone = {key: comparing.GONE for key in frozen("receipts") if key.startswith(f"{number} ")}
    compare("receipts", gone | today, whole=False)


def test_what_is_listed_as_changed_is_different_and_has_a_reason():
    assert wrong_lines() == []


# -- what finds a difference, finds it ------------------------------------------------------------------------------

PLANTED = {
    "names": ("fluxlite.Dense", lambda text: text.replace("(", "(rng, ", 1)),
    "receipts": ('00 on_gpu = fl.estimate(train, w1, w2, x, y, like="NVIDIA T4") · estimate 1',
                 lambda text: text.replace("104000 launches", "104001 launches")),
    "files": ("model.safetensors: load(path)", lambda texts: [*texts[:-1], texts[-1].replace("10.625", "10.626")]),
    "documents": ("S1-23", lambda text: text.replace("0.", "1.", 1)),
    "examples": ("test_it_learns[mlp-CPU]", lambda texts: [texts[0].replace("loss 2.0", "loss 2.3")]),
    "replies": ("00 test_a_wrong_answer_is_not_right_and_told_why[00.1-answers-those of one point]",
                lambda texts: [texts[0].replace("20 points", "21 points")]),
}  # fmt: skip


@pytest.mark.parametrize("part", comparing.PARTS)
def test_a_planted_difference_is_found_and_its_line_printed(monkeypatch, part):
    monkeypatch.setattr(comparing, "changed", dict)
    key, plant = PLANTED[part]
    was = frozen(part)[key]
    now = plant(was)
    assert now != was
    one = difference(part, key, now) if part in comparing.SEEN_BY_TESTS else None
    (found,) = [one] if one else differences(part, {**frozen(part), key: now})
    assert (found.part, found.key, found.was, found.now) == (part, key, was, now)
    listed = comparing.tomllib.loads(comparing.as_toml([found]))
    assert listed == {part: {key: {"why": "", "now": now}}}
    assert f"[{part}]\n{found.line()}\n" in told([found])
    # Listed with a reason, it's none; then what was is one.
    listed[part][key]["why"] = "because"
    monkeypatch.setattr(comparing, "changed", lambda: listed)
    assert wrong_lines(listed) == []
    if one:
        assert difference(part, key, now) is None and "take its line out" in str(difference(part, key, was))
    else:
        assert differences(part, {**frozen(part), key: now}) == []
        assert "take its line out" in str(*differences(part, frozen(part)))


@pytest.mark.parametrize("part", comparing.PARTS)
def test_what_was_frozen_is_no_difference(monkeypatch, part):
    monkeypatch.setattr(comparing, "changed", dict)
    assert differences(part, frozen(part)) == []
    if part in comparing.SEEN_BY_TESTS:
        assert not any(difference(part, comparing.without_number(key), seen) for key, seen in frozen(part).items())


def test_what_is_gone_is_a_difference_and_what_is_new_is_none(monkeypatch):
    monkeypatch.setattr(comparing, "changed", dict)
    names = dict(frozen("names"))
    del names["fluxlite.Dense"]
    (found,) = differences("names", {**names, "fluxlite.new": "()"})
    assert (found.key, found.now) == ("fluxlite.Dense", "gone")
    assert differences("names", {"fluxlite.Dense": "gone"}, whole=False) == [found]


@pytest.mark.parametrize(
    ("key", "line", "words"),
    [
        ("fluxlite.Dense", {"why": "", "now": "(x)"}, "a reason"),
        ("fluxlite.Dense", {"why": "because", "now": frozen("names")["fluxlite.Dense"]}, "is as in 0.2.0"),
        ("fluxlite.Dens", {"why": "because", "now": "gone"}, "isn't frozen"),
    ],
)
def test_a_wrong_line_is_named(key, line, words):
    (wrong,) = wrong_lines({"names": {key: line}})
    assert wrong.startswith(f"names: {key} ") and words in wrong


def run_with(replies):
    """The plugin around a test of lesson 06 whose checks reply so."""
    left = iter(replies)
    names = {"judge": lambda id, answer: next(left)}
    item = types.SimpleNamespace(name="test_one_wait_is_one_wait", path=Path("elsewhere/test_lesson06.py"))
    item.function = types.SimpleNamespace(__globals__=names)
    around = from_tests.pytest_runtest_call(item)
    next(around)
    for _ in replies:
        names["judge"]("06.1", 1)
    with contextlib.suppress(StopIteration):
        around.send(None)


def test_another_reply_fails_a_test_and_so_do_fewer_and_more(monkeypatch):
    monkeypatch.setattr(comparing, "changed", dict)
    was = frozen("replies")["06 test_one_wait_is_one_wait"]
    assert len(was) == 2
    run_with(was)
    run_with([reply.replace(" not right ", "  not right       ") for reply in was])
    for now in (was[:1], [*was, was[0]], [was[0], was[1].replace("not right", "right")]):
        with pytest.raises(pytest.fail.Exception, match="replies: 06 test_one_wait_is_one_wait") as error:
            run_with(now)
        assert '"06 test_one_wait_is_one_wait" = { why = "", now = [' in str(error.value)
    run_with(["17.9  right       of a new exercise"])  # another lesson's test with this name, which 0.2.0 didn't have


def test_a_lesson_to_which_nothing_listens_is_named():
    # Its function isn't called judge any more.
    item = types.SimpleNamespace(name="test_right_answers", path=Path("course/lesson00/test_checks.py"))
    with pytest.raises(pytest.fail.Exception, match="nothing listens to the checks in lesson00/test_checks.py"):
        next(from_tests.pytest_runtest_call(item))


def test_a_public_name_with_other_parameters_is_noticed(monkeypatch):
    monkeypatch.setattr(comparing, "changed", dict)
    today = part_names.entries()
    monkeypatch.setattr(fl, "mse", lambda target, prediction, agg=np.mean: 0)
    before, after = (differences("names", entries) for entries in (today, part_names.entries()))
    (found,) = (one for one in after if one not in before)
    assert (found.key, found.now) == ("fluxlite.mse", "(target, prediction, agg=mean)")
