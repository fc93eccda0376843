"""A gradient's tape, made visible: what a tracked result depends on, how that grows line by line, and the way back.

There's no tape object. Each tracked result holds its own entry (`tracked.py`). We find the list by following the
operands of a result.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fluxlite import TrackedArray
from fluxlite.autodiff.rules import RULES, name_of
from fluxlite.messages import many

from ..scenes import Each, Knob, Part, Scene, drawing, label


def entries(*results: TrackedArray) -> list[TrackedArray]:
    """All tracked results that `results` depend on, and these themselves, in the order in which they were made."""
    found: dict[int, TrackedArray] = {}
    waiting = list(results)
    while waiting:
        node = waiting.pop()
        if not isinstance(node, TrackedArray):
            raise TypeError(f"a tape has results that are tracked, got {type(node).__name__}")
        if node.number not in found:
            found[node.number] = node
            waiting += [parent for _, parent in node.call[3]] if node.call else []
    return [found[number] for number in sorted(found)]


def written(tape: list[TrackedArray]) -> list[str]:
    """Each entry as text: its number, from 1, the function that made it, and its operands.

    >>> w = fl.param(np.ones(2))
    >>> written(entries(np.tanh(w * 3.0)))
    ['#1 param', '#2 np.multiply(#1, 3.0)', '#3 np.tanh(#2)']
    """
    places = {node.number: f"#{place}" for place, node in enumerate(tape, 1)}
    names = {id(rule): name_of(function) for function, rule in RULES.items()}
    return [f"{places[node.number]} {_call(node, places, names)}" for node in tape]


def _call(node: TrackedArray, places: dict[int, str], names: dict[int, str]) -> str:
    if node.call is None:
        return "param" if node.level.number == 0 else "tracked from the start"
    rule, arguments, _, parents = node.call
    if rule is None:
        return "cleared by back"
    tracked, operands = [parent for _, parent in parents], []  # those that are tracked, in the arguments' order
    for argument in arguments[0] if rule.sequence else arguments:
        value = tracked[0].value if tracked else None
        if tracked and (argument is value or type(value) is float and argument == value):
            operands.append(places[tracked.pop(0).number])
        else:
            operands.append("array" if getattr(argument, "shape", ()) else f"{argument!s:.8}")
    return f"{names.get(id(rule), 'a rule that was replaced')}({', '.join(operands)})"


# -- alive: it grows by an entry with each line, then `back` visits the entries from the top down ---------------------

_ROW, _BAR, _TOP, _RIGHT = 46, 36, 12, 244


class _State(NamedTuple):
    """After how many lines, with how many entries, some of them new; which one `back` visits, what has arrived where,
    and to which entries the visited one hands its gradient."""

    sentence: str
    line: int
    entries: int
    new: int = 0
    visited: int = -1
    arrived: dict[int, str] = {}
    hands_to: Sequence[int] = ()


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
    counts = [len(entries(*itertools.chain(*made[: number + 1]))) for number in range(len(made))]
    everything, loss = entries(*itertools.chain(*made)), made[-1][-1]
    if np.shape(loss.data):
        raise ValueError(f"the last line makes the loss, a number; got an array of shape {np.shape(loss.data)}")
    texts = [text.replace(" np.", " ").replace("array", "…") for text in written(everything)]  # to fit their boxes
    growing = []
    for number, (line, before, count) in enumerate(zip(lines, [0, *counts], counts)):
        new = " and ".join(texts[before:count])
        said = f"After {line} the tape has {many(count, 'entry', 'entries')}. New on top: {new}."
        growing.append(_State(said, number, count, count - before))
    back = list(_way_back(loss, everything, texts, len(lines)))
    labels = [*(f"after {line}" for line in lines), *(f"back is at #{at.visited + 1}" for at in back[:-1])]
    picture = _drawing([*lines, "back(loss)"], texts, growing + back)
    knob = Knob("step", [*labels, "back is done"], slider=True, ms=1500)
    return Scene(picture, [knob], [state.sentence for state in growing + back])


def _way_back(loss: TrackedArray, there: list[TrackedArray], texts: list[str], line: int) -> Iterator[_State]:
    """What `back` does, entry by entry, with the library's own pullbacks."""
    places = {node.number: place for place, node in enumerate(there)}
    arrived: dict[int, Any] = {places[loss.number]: np.ones_like(loss.data)}

    def state(said: str, visited: int = -1, hands_to: Sequence[int] = ()) -> _State:
        numbers = {n: _numbers(gradient) for n, gradient in arrived.items()}
        return _State(said, line, len(there), 0, visited, numbers, hands_to)

    for place in range(len(there) - 1, -1, -1):
        node: Any = there[place]
        if not node.call or place not in arrived:
            continue
        rule, arguments, keywords, parents = node.call
        told, given = [], []
        for pullback, parent in parents:
            to, piece = places[parent.number], pullback(arrived[place], node.value, *arguments, **keywords)
            arrived[to] = arrived[to] + piece if to in arrived else piece
            told.append(f"{_numbers(piece)} to #{to + 1}")
            given.append(to)
        said = f"back is at {texts[place]}. Its gradient is {_numbers(arrived[place])}. It hands {_and(told)}."
        yield state(said, place, given)
    told = [f"of {texts[n]} is {_numbers(arrived[n])}" for n in sorted(arrived) if not there[n].call]
    yield state(f"back has come to the start: the gradient {_and(told)}.")


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
        y = _TOP + _ROW * number
        look = Each("code bold" if s.line == number else "code later" if s.line < number else "code" for s in states)
        here = Each(None if state.line == number else "none" for state in states)
        program += [label(18, y + 24, line, look),
                    Part("path", fill="currentColor", d=f"M4 {y + 12}l9 7l-9 7z", display=here)]  # fmt: skip
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
    looks = ["visited" if number == state.visited else "new" if number >= state.entries - state.new else ""
             for state in states]  # fmt: skip
    inside = ["inside" if look == "visited" else "" for look in looks]
    return Part(
        "g", Part("rect", class_=Each(f"entry {look}" for look in looks), x=_RIGHT, y=y, width=640 - _RIGHT - 4,
                  height=_BAR, rx=4),
        label(_RIGHT + 10, y + 24, entry, Each(f"code {look}" for look in inside)),
        label(626, y + 24, Each(state.arrived.get(number, "") for state in states),
              Each(f"code end bold {look}" for look in inside)),
        display=Each(None if number < state.entries else "none" for state in states),
    )  # fmt: skip
