"""Puzzles: a program that runs as it stands, what it asked of a simulated T4, your best so far, and par.

A puzzle is a function in a lesson's checks, with `@puzzle`. It tries a learner's function and returns the receipt, or
raises `NotRight`, as checks do. In the notebook, it's a cell with ``%%puzzle 05-1`` above it.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from fluxlite.devices.receipts import duration
from fluxlite.words import many

from . import exercises, progress
from .boxes import bars, face, fact, publish
from .exercises import NOT_YET, Exercise, Verdict
from .vocabulary import wrong_if

TIME = "simulated (NVIDIA T4)"
NEVER = float("inf")
# A program for the GPU reads a few numbers back; one that reads whole arrays computes with them on the host.
MOST_BYTES_BACK = 1_000


class Puzzle(NamedTuple):
    id: str
    attempt: Callable[..., Any]
    counts: str  # what par is about: launches, copies, waits or seconds
    par: float


def puzzle(id: str, counts: str, par: float) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Mark a function as puzzle `id`. It takes what the learner's cell defines under its parameter's name."""
    return lambda attempt: exercises.mark(attempt, Puzzle(id, attempt, counts, par))


def play(id: str, space: Mapping[str, Any]) -> None:
    """Try what the cell defined; show what it took, your best, and par. Raises `ValueError` for an unknown puzzle."""
    one, took = exercises.find(id, "puzzle", exercises.in_lesson(exercises.number_in(id), Puzzle)), {}
    (name,) = inspect.signature(one.attempt).parameters

    def attempt(answer: Any) -> str:
        seen = one.attempt(answer)
        back = seen.device_to_host
        words = "whole arrays came back to the host: a puzzle's program computes on the GPU"
        wrong_if(back.bytes > MOST_BYTES_BACK, words, f"{back.bytes:,} bytes back")
        took.update(figures(seen))
        return "the result is right"

    if name not in space:
        verdict = Verdict(id, NOT_YET, f"the cell has to define {name}")
    else:
        verdict = exercises.verdict_on(Exercise(id, "", attempt, ""), space[name])
    _show(one, verdict, took)


def _show(one: Puzzle, verdict: Verdict, took: dict[str, float]) -> None:
    """Keep a run if it's the best so far, and show it next to your best and par. `took` is empty if it's wrong."""
    kept = float(progress.read()["puzzles"].get(one.id, NEVER))
    now = took.get(one.counts, NEVER)
    if now < kept:
        progress.keep("puzzles", one.id, repr(now))
    also = []
    if took:
        word, message = _against_par(one, now)
        verdict = verdict._replace(word=word, message=message)
        also = [("also", ", ".join(in_words(kind, value) for kind, value in took.items() if kind != one.counts))]
    rows = [("this run", now), ("your best", min(now, kept)), ("par", one.par)]
    lines = [(label, value, in_words(one.counts, value)) for label, value in rows if value < NEVER]
    printed = verdict._replace(rows=(*verdict.rows, *((label, words) for label, _, words in lines), *also))
    joy = verdict.word in ("at par", "under par") and kept > max(now, one.par)
    publish(str(printed), face(*verdict, [bars(lines), *(fact(*row) for row in also)], joy))


def _against_par(one: Puzzle, now: float) -> tuple[str, str]:
    """How a right run did, in two or three words, and what's said to it."""
    if in_words(one.counts, now) == in_words(one.counts, one.par):
        return "at par", "the result is right: well played"
    if now < one.par:
        return "under par", "the result is right: well played"
    return "above par", "the result is right"


def figures(seen: Any) -> dict[str, float]:
    """What a receipt counts, in a puzzle's words."""
    copies = seen.host_to_device.count + seen.device_to_host.count
    return {"launches": seen.launches, "copies": copies, "waits": seen.synchronizations, "seconds": float(seen.seconds)}


def in_words(kind: str, value: float) -> str:
    """A figure with its unit.

    >>> in_words("launches", 2), in_words("copies", 1), in_words("seconds", 0.0026)
    ('2 launches', '1 copy', '2.6 ms simulated (NVIDIA T4)')
    """
    if kind == "seconds":
        return f"{duration(value)} {TIME}"
    return many(int(value), {"launches": "launch", "copies": "copy", "waits": "wait"}[kind], kind)
