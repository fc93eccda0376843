"""A gradient's tape, made visible: what a tracked result depends on, how that grows line by line, and the way back.

There's no tape object. Each tracked result holds its own entry (`tracked.py`). We find the list by following the
operands of a result.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from fluxlite import TrackedArray
from fluxlite.autodiff.rules import RULES, Rule, name_of
from fluxlite.messages import many

from ..scenes.parts import Each, Part, drawing
from ..scenes.scene import Knob, Scene


class Entry(NamedTuple):
    """One entry: a result's number, the function that made it, and its operands (``#3`` is another entry)."""

    number: int
    function: str
    operands: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"#{self.number} {self.function}" + (f"({', '.join(self.operands)})" if self.operands else "")


class Entries(list):
    """Entries in order of their numbers. Prints one per line."""

    def __repr__(self) -> str:
        return "\n".join(map(str, self))


def entries(*results: TrackedArray) -> Entries:
    """The entries that `results` depend on, including their own, in order of their numbers.

    Raises `TypeError` for a result that isn't tracked.

    >>> w = fl.param(np.ones(2))
    >>> [(entry.function, len(entry.operands)) for entry in entries(np.tanh(w * 3.0))]
    [('param', 0), ('np.multiply', 2), ('np.tanh', 1)]
    """
    for result in results:
        if not isinstance(result, TrackedArray):
            raise TypeError(f"a tape has results that are tracked, got {type(result).__name__}")
    found: dict[int, TrackedArray] = {}
    waiting = list(results)
    while waiting:
        node = waiting.pop()
        if node.number not in found:
            found[node.number] = node
            waiting += [parent for _, parent in node.call[3]] if node.call else []
    names = {id(rule): name_of(function) for function, rule in RULES.items()}
    return Entries(_entry(found[number], names) for number in sorted(found))


def _entry(node: TrackedArray, names: dict[int, str]) -> Entry:
    if node.call is None:
        return Entry(node.number, "param" if node.level.number == 0 else "tracked from the start")
    rule, arguments, _, parents = node.call
    if rule is None:
        return Entry(node.number, "cleared by back")
    name = names.get(id(rule), "a rule that was replaced")
    return Entry(node.number, name, tuple(_operands(rule, arguments, parents)))


def _operands(rule: Rule, arguments: Any, parents: Any) -> Iterator[str]:
    """The operands as text. Tracked ones are shown by their numbers, which come in argument order."""
    tracked = [parent for _, parent in parents]
    for argument in arguments[0] if rule.sequence else arguments:
        value = tracked[0].value if tracked else None
        if tracked and (argument is value or type(value) is float and argument == value):
            yield f"#{tracked.pop(0).number}"
        else:
            yield "array" if getattr(argument, "shape", ()) else f"{argument!s:.8}"


def _short(entry: str) -> str:
    """So that it fits its box."""
    return entry.replace(" np.", " ").replace("array", "…")


# -- alive: it grows by an entry with each line, then `back` visits the entries from the top down ---------------------

_ROW, _BAR, _TOP, _RIGHT = 46, 36, 12, 244


class _State(NamedTuple):
    """After how many lines, and how many entries there are, and are new.

    Then which one `back` visits, what arrived where by then, and to which entries the visited one hands its gradient.
    """

    line: int
    entries: int
    new: int
    visited: int
    arrived: dict[int, str]
    sentence: str
    hands_to: tuple[int, ...] = ()


def tape(lines: Mapping[str, Any]) -> Scene:
    """The tape after each line of a program, and then `back` on its way through it, with the gradients that arrive.

    `lines` maps each line's text to the tracked result that it made, or to a tuple of them. The last result is the
    loss, a number. Entries are numbered from 1. Raises `ValueError` for a loss with axes, and `TypeError` for a result
    that isn't tracked.

    >>> w = fl.param(np.array([0.5, -1.0]))
    >>> loss = np.sum(w * 3.0)
    >>> tape({"w = param(…)": w, "loss = np.sum(w * 3)": loss}).sentences[-1]
    'back has come to the start: the gradient of #1 param is [3 3].'
    """
    made = [each if isinstance(each, tuple) else (each,) for each in lines.values()]
    loss = made[-1][-1]
    tapes = [entries(*sum(made[: number + 1], ())) for number in range(len(made))]
    if np.shape(loss.data):
        raise ValueError(f"the last line makes the loss, a number; got an array of shape {np.shape(loss.data)}")
    places = {str(entry.number): place for place, entry in enumerate(tapes[-1], 1)}
    texts = [_short(re.sub(r"#(\d+)", lambda number: f"#{places[number[1]]}", str(entry))) for entry in tapes[-1]]
    states = [*_growing(list(lines), tapes, texts), *_way_back(loss, tapes[-1], texts, len(lines))]
    labels = [f"after {line}" for line in lines]
    labels += [f"back is at #{s.visited + 1}" if s.visited >= 0 else "back is done" for s in states[len(lines) :]]
    picture = _drawing([*lines, "back(loss)"], texts, states)
    return Scene(picture, [Knob("step", labels, slider=True, ms=1500)], [state.sentence for state in states])


def _growing(lines: list[str], tapes: list[Entries], entries: list[str]) -> Iterator[_State]:
    before = 0
    for number, (line, there) in enumerate(zip(lines, tapes)):
        count = len(there)
        new = " and ".join(entries[before:count])
        said = f"After {line} the tape has {many(count, 'entry', 'entries')}. New on top: {new}."
        yield _State(number, count, count - before, -1, {}, said)
        before = count


def _way_back(loss: TrackedArray, there: Entries, entries: list[str], line: int) -> Iterator[_State]:
    """What `back` does, entry by entry, with the library's own pullbacks."""
    places = {entry.number: place for place, entry in enumerate(there)}
    nodes: dict[int, Any] = {places[loss.number]: loss}
    arrived: dict[int, Any] = {places[loss.number]: np.ones_like(loss.data)}
    while any(nodes[place].call for place in nodes):
        place = max(place for place in nodes if nodes[place].call)
        node = nodes.pop(place)
        rule, arguments, keywords, parents = node.call
        told, given = [], []
        for pullback, parent in parents:
            to, piece = places[parent.number], pullback(arrived[place], node.value, *arguments, **keywords)
            arrived[to] = arrived[to] + piece if to in arrived else piece
            nodes[to] = parent
            told.append(f"{_numbers(piece)} to #{to + 1}")
            given.append(to)
        said = f"back is at {entries[place]}. Its gradient is {_numbers(arrived[place])}. It hands {_and(told)}."
        yield _State(line, len(entries), 0, place, {n: _numbers(g) for n, g in arrived.items()}, said, tuple(given))
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


def _drawing(lines: list[str], entries: list[str], states: list[_State]) -> Part:
    bottom = _TOP + _ROW * max(len(entries), len(lines))
    program = []
    for number, line in enumerate(lines):
        look = Each("code bold" if s.line == number else "code later" if s.line < number else "code" for s in states)
        program.append(Part("text", text=line, class_=look, x=18, y=_TOP + _ROW * number + 24))
        here = Each(None if state.line == number else "none" for state in states)
        at = f"M4 {_TOP + _ROW * number + 12}l9 7l-9 7z"
        program.append(Part("path", fill="currentColor", d=at, display=here))
    boxes = [_box(n, entry, bottom - _ROW * (n + 1), states) for n, entry in enumerate(entries)]
    title = "A gradient's tape: the program's lines at the left, its entries at the right, the first at the bottom"
    given = Part("path", class_="host line", d=Each(_handed(state, bottom) for state in states))
    return drawing(640, bottom + 4, title, *program, given, *boxes)


def _handed(state: _State, bottom: int) -> str | None:
    """Arrows beside the boxes, from the entry that `back` visits to those that get a part of its gradient."""
    start, *ends = (bottom - _ROW * (n + 1) + _BAR / 2 for n in (state.visited, *state.hands_to))
    bends = [(y, _RIGHT - min(16 + (y - start) / 3, 60)) for y in ends]
    arrows = (f"M{_RIGHT} {start:g}C{x:g} {start:g} {x:g} {y:g} {_RIGHT - 3} {y:g}m-8-5l8 5l-8 5" for y, x in bends)
    return "".join(arrows) or None


def _box(number: int, entry: str, y: int, states: list[_State]) -> Part:
    looks = Each(
        "entry visited" if number == state.visited else
        "entry new" if state.entries - state.new <= number < state.entries else "entry"
        for state in states
    )  # fmt: skip
    there = Each(None if number < state.entries else "none" for state in states)
    gradient = Each(state.arrived.get(number, "") for state in states)
    inside = ["inside" if number == state.visited else "" for state in states]
    return Part("g",
                Part("rect", class_=looks, x=_RIGHT, y=y, width=640 - _RIGHT - 4, height=_BAR, rx=4),
                Part("text", text=entry, class_=Each(f"code {look}" for look in inside), x=_RIGHT + 10, y=y + 24),
                Part("text", text=gradient, class_=Each(f"code end bold {look}" for look in inside), x=626, y=y + 24),
                display=there)  # fmt: skip
