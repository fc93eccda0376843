"""A gradient made visible: what a function computes, entry by entry, and the backward pass with its numbers.

There's no tape object. Each tracked result holds its own entry (`tracked.py`). We find the list by following the
operands of a result.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from fluxlite import TrackedArray, param
from fluxlite.autodiff.rules import RULES, name_of

from ..draw.pictures import BLUE, ORANGE, Picture, plots, show
from ..kit.exercises import NotDone
from ..scenes import Each, Knob, Part, Scene, drawing, label


def entries(result: TrackedArray) -> list[TrackedArray]:
    """All tracked results that `result` depends on, and itself, in the order in which they were made."""
    found: dict[int, TrackedArray] = {}
    waiting = [result]
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
        return "param"
    rule, arguments, _, parents = node.call
    tracked, operands = [parent for _, parent in parents], []  # those that are tracked, in the arguments' order
    for argument in arguments[0] if rule.sequence else arguments:
        value = tracked[0].value if tracked else None
        if tracked and (argument is value or type(value) is float and argument == value):
            operands.append(places[tracked.pop(0).number])
        else:
            operands.append("array" if getattr(argument, "shape", ()) else f"{argument!s:.8}")
    return f"{names.get(id(rule), 'a rule that was replaced')}({', '.join(operands)})"


# -- forward entry by entry, then `back` from the last one ------------------------------------------------------------

_ROW, _BAR, _TOP, _LEFT = 42, 34, 30, 140


class _State(NamedTuple):
    """How many entries there are; at which one we are; arrows from where to where, what they carry; the gradients."""

    said: str
    shown: int
    here: int
    arrows: list[tuple[int, int]]
    pieces: dict[int, str]
    gradients: dict[int, str]


def tape(f: Callable[..., Any], **inputs: Any) -> Scene:
    """What `f` computes, entry by entry, and then the backward pass, with the gradients that arrive.

    `inputs` are numbers or arrays, under the names of `f`'s parameters. Raises `ValueError` if `f` doesn't give a
    number, and `TypeError` if its result depends on none of its inputs.

    >>> tape(lambda w: w * w + w, w=3.0).sentences[-1]
    'Done: the gradient of w is 7.'
    """
    made = {name: param(np.asarray(value)) for name, value in inputs.items()}
    loss = f(**made)
    there = entries(loss)
    if np.shape(loss.data):
        raise ValueError(f"the function gives a loss, a number; got an array of shape {np.shape(loss.data)}")
    names = {node.number: name for name, node in made.items()}
    texts = [
        text.replace("np.", "").replace("param", names.get(node.number, ""))
        for text, node in zip(written(there), there)
    ]
    states = [*_forward(there, texts), *_backward(there, texts)]
    starts = sum(node.call is None for node in there)
    labels = ["start", *(f"forward: #{n + 1}" for n in range(starts, len(there)))]
    labels += [f"backward: #{state.here + 1}" for state in states[len(labels) : -1]]
    values = [_numbers(node.data) for node in there]
    knob = Knob("step", [*labels, "done"], slider=True, ms=1500)
    return Scene(_drawing(texts, values, states), [knob], [state.said for state in states])


def _places(there: list[TrackedArray]) -> dict[int, int]:
    return {node.number: place for place, node in enumerate(there)}


def _forward(there: list[TrackedArray], texts: list[str]) -> Iterator[_State]:
    places = _places(there)
    inputs = [place for place, node in enumerate(there) if not node.call]
    yield _State(f"It begins with {_and([texts[n] for n in inputs])}.", len(inputs), -1, [], {}, {})
    for place, node in enumerate(there):
        if node.call:
            arrows = [(places[parent.number], place) for _, parent in node.call[3]]
            yield _State(f"{texts[place]} is {_numbers(node.data)}.", place + 1, place, arrows, {}, {})


def _backward(there: list[TrackedArray], texts: list[str]) -> Iterator[_State]:
    """What `back` does, entry by entry, with the library's own pullbacks."""
    places, arrived = _places(there), {len(there) - 1: np.ones_like(there[-1].data)}
    for place in range(len(there) - 1, -1, -1):
        node: Any = there[place]
        if not node.call or place not in arrived:
            continue
        rule, arguments, keywords, parents = node.call
        pieces: dict[int, list[str]] = {}
        for pullback, parent in parents:
            to, piece = places[parent.number], pullback(arrived[place], node.value, *arguments, **keywords)
            arrived[to] = arrived[to] + piece if to in arrived else piece
            pieces.setdefault(to, []).append(_numbers(piece))
        handed = {to: " and ".join(given) for to, given in pieces.items()}
        words = _and([f"{given} to #{to + 1}" for to, given in handed.items()])
        said = f"back is at {texts[place]}. Its gradient is {_numbers(arrived[place])}. It hands {words}."
        gradients = {n: _numbers(gradient) for n, gradient in arrived.items()}
        yield _State(said, len(there), place, [(place, to) for to in handed], handed, gradients)
    told = [f"{texts[n].split()[1]} is {gradients[n]}" for n in sorted(arrived) if not there[n].call]
    yield _State(f"Done: the gradient of {_and(told)}.", len(there), -1, [], {}, gradients)


def _and(texts: list[str]) -> str:
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if texts[1:] else texts)


def _numbers(gradient: Any) -> str:
    """Few digits: ``[0.29 0.18]``, or ``0.47``. A long array is its shape."""
    values = np.asarray(gradient)
    if values.size > 3 or values.ndim > 1:
        return "×".join(map(str, values.shape))
    texts = [f"{value:.2f}".rstrip("0").rstrip(".") for value in np.ravel(values).tolist()]
    return f"[{' '.join(texts)}]" if values.ndim else texts[0]


def _drawing(texts: list[str], values: list[str], states: list[_State]) -> Part:
    bottom = _TOP + _ROW * len(texts)
    arrows = Part("path", class_="host line", d=Each(_arrows(state) for state in states))
    heads = [label(490, 18, "value", "end"), label(626, 18, "gradient", "end bold")]
    rows = [_row(n, text, value, states) for n, (text, value) in enumerate(zip(texts, values))]
    said = label(4, bottom + 20, Each(state.said for state in states), "small wide")
    return drawing(
        640, bottom + 30, "A function's entries, and the gradients that come back", *heads, arrows, *rows, said
    )


def _middle(n: int) -> float:
    return _TOP + _ROW * n + _BAR / 2


def _arrows(state: _State) -> str | None:
    """At the left of the rows, from where a value or a gradient comes to where it's needed."""
    found = ""
    for source, target in state.arrows:
        start, end = _middle(source), _middle(target)
        x = _LEFT - min(20 + abs(end - start) / 3, 76)
        found += f"M{_LEFT} {start:g}C{x:g} {start:g} {x:g} {end:g} {_LEFT - 3} {end:g}m-8-5l8 5l-8 5"
    return found or None


def _row(n: int, text: str, value: str, states: list[_State]) -> Part:
    y = _middle(n) + 6
    inside = ["inside" if state.here == n else "" for state in states]
    looks = list(zip(inside, states))
    pieces = Each(state.pieces.get(n) and f"+ {state.pieces[n]}" for state in states)
    return Part(
        "g", Part("rect", class_=Each("entry visited" if look else "entry" for look in inside), x=_LEFT,
                  y=_middle(n) - _BAR / 2, width=640 - _LEFT - 4, height=_BAR, rx=4),
        label(_LEFT + 10, y, text, Each(f"code {look}" if n < state.shown else "code later" for look, state in looks)),
        label(490, y, Each(value if n < state.shown else "" for state in states),
              Each(f"code end {look}" for look in inside)),
        label(626, y, Each(state.gradients.get(n, "") for state in states),
              Each(f"code end bold {look}" for look in inside)),
        label(_LEFT - 64, y - 2, pieces, "end bold"),
    )  # fmt: skip


# -- what a network has learned of the wave ---------------------------------------------------------------------------


def wave(learn: Callable[[], tuple[Any, Any]]) -> Picture | None:
    """The wave's points, and a network's prediction of each: what `learn` gives, if it's ready."""
    try:
        targets, outputs = (np.ravel(values) for values in learn())
    except NotDone:
        print("Exercise 14.3 comes first: your back needs the rule of a product.")
        return None
    figure, axes = plots(height=3)
    axes.plot(targets, "o", color=BLUE, label="the wave")
    axes.plot(outputs, "o", mfc="none", mec=ORANGE, ms=12, mew=2, label="predicted")
    axes.set_xlabel("point")
    axes.legend()
    return show(figure, f"Twenty points and their predictions; the worst is {np.abs(outputs - targets).max():.2f} off.")
