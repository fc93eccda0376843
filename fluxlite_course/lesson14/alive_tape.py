"""A gradient's tape, alive: it grows by an entry with each line, then `back` visits the entries from the top down."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from fluxlite import TrackedArray
from fluxlite.messages import many

from ..draw.alive.scene import Each, Part, drawing
from ..draw.alive.showing import Alive, Knob
from .tape import Tape, tape

_ROW, _BAR, _TOP, _RIGHT = 46, 36, 12, 244
_BACK = "back(loss)"


class _State(NamedTuple):
    """After how many lines, how many entries there are, how many are new, which one `back` visits, and what arrived."""

    line: int
    entries: int
    new: int
    visited: int
    arrived: dict[int, str]
    sentence: str


def alive_tape(lines: Mapping[str, Any]) -> Alive:
    """The tape after each line of a program, and then `back` on its way through it, with the gradients that arrive.

    `lines` maps each line's text to the tracked result that it made, or to a tuple of them, as for `growing_tape`. The
    last result is the loss, a number. Entries are numbered from 1. Raises `ValueError` for a loss with axes, and
    `TypeError` for a result that isn't tracked.

    >>> w = fl.param(np.array([0.5, -1.0]))
    >>> loss = np.sum(w * 3.0)
    >>> alive_tape({"w = param(…)": w, "loss = np.sum(w * 3)": loss}).sentences[-1]
    'back has come to the start: the gradient of #1 param is [3 3].'
    """
    made = [each if isinstance(each, tuple) else (each,) for each in lines.values()]
    loss = made[-1][-1]
    tapes = [tape(*sum(made[: number + 1], ())) for number in range(len(made))]
    if np.shape(loss.data):
        raise ValueError(f"the last line makes the loss, a number; got an array of shape {np.shape(loss.data)}")
    names = {f"#{entry.number}": f"#{place}" for place, entry in enumerate(tapes[-1], 1)}
    entries = [_named(str(entry), names) for entry in tapes[-1]]
    states = [*_growing(list(lines), tapes, entries), *_way_back(loss, tapes[-1], entries, len(lines))]
    labels = [f"after {line}" for line in lines] + [
        f"back is at #{state.visited + 1}" if state.visited >= 0 else "back is done" for state in states[len(lines) :]
    ]
    picture = _drawing([*lines, _BACK], entries, states)
    return Alive(picture, [Knob("step", labels, slider=True, ms=1500)], [state.sentence for state in states])


def _named(entry: str, names: Mapping[str, str]) -> str:
    """An entry with its numbers from 1, and short enough for its box."""
    for old, new in sorted(names.items(), key=lambda pair: -len(pair[0])):
        entry = entry.replace(old, f"\0{new[1:]}")
    return entry.replace("\0", "#").replace(" np.", " ").replace("array", "…")


# -- the states -----------------------------------------------------------------------------------------------------


def _growing(lines: list[str], tapes: list[Tape], entries: list[str]) -> Iterator[_State]:
    before = 0
    for number, (line, there) in enumerate(zip(lines, tapes)):
        count = len(there)
        new = " and ".join(entries[before:count])
        said = f"After {line} the tape has {many(count, 'entry', 'entries')}. New on top: {new}."
        yield _State(number, count, count - before, -1, {}, said)
        before = count


def _way_back(loss: TrackedArray, there: Tape, entries: list[str], line: int) -> Iterator[_State]:
    """What `back` does, entry by entry, with the library's own pullbacks."""
    places = {entry.number: place for place, entry in enumerate(there)}
    nodes: dict[int, Any] = {places[loss.number]: loss}
    arrived: dict[int, Any] = {places[loss.number]: np.ones_like(loss.data)}
    while any(nodes[place].call for place in nodes):
        place = max(place for place in nodes if nodes[place].call)
        node = nodes.pop(place)
        rule, arguments, keywords, parents = node.call
        told = []
        for pullback, parent in parents:
            to, piece = places[parent.number], pullback(arrived[place], node.value, *arguments, **keywords)
            arrived[to] = arrived[to] + piece if to in arrived else piece
            nodes[to] = parent
            told.append(f"{_numbers(piece)} to #{to + 1}")
        said = f"back is at {entries[place]}. Its gradient is {_numbers(arrived[place])}. It hands {_and(told)}."
        yield _State(line, len(entries), 0, place, {n: _numbers(g) for n, g in arrived.items()}, said)
    told = [f"of {entries[place]} is {_numbers(arrived[place])}" for place in sorted(nodes)]
    said = f"back has come to the start: the gradient {_and(told)}."
    yield _State(line, len(entries), 0, -1, {n: _numbers(g) for n, g in arrived.items()}, said)


def _and(texts: list[str]) -> str:
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if texts[1:] else texts)


def _numbers(gradient: Any) -> str:
    """Few digits: ``[0.29 0.18]``, or ``0.47``. A long array is its shape."""
    values = np.asarray(gradient)
    if values.size > 3 or values.ndim > 1:
        return "×".join(map(str, values.shape))
    texts = [f"{value:.2f}".rstrip("0").rstrip(".") for value in np.ravel(values).tolist()]
    return f"[{' '.join(texts)}]" if values.ndim else texts[0]


# -- the picture ----------------------------------------------------------------------------------------------------


def _drawing(lines: list[str], entries: list[str], states: list[_State]) -> Part:
    bottom = _TOP + _ROW * max(len(entries), len(lines))
    program = []
    for number, line in enumerate(lines):
        look = Each("code bold" if s.line == number else "code later" if s.line < number else "code" for s in states)
        program.append(Part("text", text=line, class_=look, x=18, y=_TOP + _ROW * number + 24))
        here = Each(None if state.line == number else "none" for state in states)
        at = f"M4 {_TOP + _ROW * number + 12}l9 7l-9 7z"
        program.append(Part("path", fill="currentColor", d=at, display=here))
    boxes: list[Part] = []
    for number, entry in enumerate(entries):
        y = bottom - _ROW * (number + 1)
        boxes += _entry(number, entry, y, states)
    title = "A gradient's tape: the program's lines at the left, its entries at the right, the first at the bottom"
    return drawing(640, bottom + 4, title, *program, *boxes)


def _entry(number: int, entry: str, y: int, states: list[_State]) -> Iterator[Part]:
    looks = Each(
        "entry visited" if number == state.visited else
        "entry new" if state.entries - state.new <= number < state.entries else "entry"
        for state in states
    )  # fmt: skip
    there = Each(None if number < state.entries else "none" for state in states)
    gradient = Each(state.arrived.get(number, "") for state in states)
    yield Part("g",
               Part("rect", class_=looks, x=_RIGHT, y=y, width=640 - _RIGHT - 4, height=_BAR, rx=4),
               Part("text", text=entry, class_="code", x=_RIGHT + 10, y=y + 24),
               Part("text", text=gradient, class_="code end bold", x=626, y=y + 24), display=there)  # fmt: skip
