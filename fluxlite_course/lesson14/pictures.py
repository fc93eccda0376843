"""A gradient made visible: what a function computes, entry by entry, and the backward pass with its numbers."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from fluxlite import TrackedArray, param
from fluxlite.autodiff.rules import RULES, name_of
from simgpu.words import in_words

from ..draw import BLUE, ORANGE, Picture, plots, show
from ..kit.exercises import NotDone
from ..scenes import Knob, Scene
from ..scenes.graph import At, Node, graph


def tape(f: Callable[..., Any], **inputs: float) -> Scene | None:
    """What `f` computes, entry by entry, and then the backward pass, with the gradients that arrive.

    `inputs` are numbers, under the names of `f`'s parameters. If `f` computes with arrays or with a function that no
    gradient follows, or if its result depends on none of its inputs, a sentence says so in place of the picture.

    >>> tape(lambda w: w * w + w, w=3.0).sentences[-1]
    'Done: the gradient of w is 7.'
    """
    made = {name: param(np.asarray(value)) for name, value in inputs.items()}
    try:
        result = f(**made)
    except TypeError as error:
        if "would lose the gradient" not in str(error):  # the library's words for math.sin(w), float(w) and their kin
            raise
        print(f"No picture: {error}.")
        return None
    if not isinstance(result, TrackedArray):
        gives = "nothing: is there a return?" if result is None else f"{in_words(result)}, which depends on no input."
        print(f"No picture: the function gives {gives}")
        return None
    there = entries(result)
    if arrays := [node for node in there if np.shape(node.data)]:
        shape = np.shape(arrays[0].data)
        print(f"No picture: the function makes an array of shape {shape}, and a box has room for one number.")
        return None
    called = {id(rule): name_of(function).removeprefix("np.") for function, rule in RULES.items()}
    words = {node.number: name for name, node in made.items()}
    names = [f"#{n} {called[id(node.call[0])] if node.call else words[node.number]}" for n, node in enumerate(there, 1)]
    places = {node.number: n for n, node in enumerate(there)}
    operands = [[places[parent.number] for _, parent in node.call[3]] if node.call else [] for node in there]
    states = list(_states(there, names, operands))
    knob = Knob("step", [f"{n} of {len(states)}" for n in range(1, len(states) + 1)], slider=True, ms=1500)
    nodes = [Node(name, sorted(set(numbers))) for name, numbers in zip(names, operands)]
    return graph("A function's entries, and the gradients that come back", nodes, [knob], states)


def entries(result: TrackedArray) -> list[TrackedArray]:
    """All tracked results that `result` depends on, and itself, in order. Each holds its own entry; there's no tape."""
    found: dict[int, TrackedArray] = {}
    waiting = [result]
    while waiting:
        node = waiting.pop()
        if node.number not in found:
            found[node.number] = node
            waiting += [parent for _, parent in node.call[3]] if node.call else []
    return [found[number] for number in sorted(found)]


def _states(there: list[TrackedArray], names: list[str], operands: list[list[int]]) -> Iterator[At]:
    """The forward pass entry by entry, then what `back` does, with the library's own pullbacks."""
    values = {n: _short(node.data) for n, node in enumerate(there)}
    inputs = [n for n, node in enumerate(there) if not node.call]
    begin = _and([f"{names[n].split()[1]} = {values[n]}" for n in inputs])
    yield At(f"It begins with {begin}. Nothing has been computed yet.", {n: values[n] for n in inputs})
    for n, node in enumerate(there):
        if node.call:
            yield At(f"Forward pass: {names[n]} gives {values[n]}.", {to: values[to] for to in range(n + 1)}, visited=n)
    arrived: dict[int, Any] = {len(there) - 1: 1.0}
    for n, node in reversed(list(enumerate(there))):
        if not node.call:
            continue
        _, arguments, keywords, parents = node.call
        now, one = {to: _short(gradient) for to, gradient in arrived.items()}, np.ones_like(node.data)
        factors: dict[int, Any] = {}  # an operand that's used twice has the sum of two derivatives
        for (pullback, _), to in zip(parents, operands[n]):
            factors[to] = factors.get(to, 0) + pullback(one, node.value, *arguments, **keywords)
        pieces = {to: arrived[n] * factor for to, factor in factors.items()}
        hands = _and([f"{_short(piece)} to #{to + 1}" for to, piece in pieces.items()])
        said = f"Backward pass: back is at {names[n]}, whose gradient is {now[n]}. It hands {hands}."
        yield At(said, values, now, n, {to: _short(factor) for to, factor in factors.items()})
        for to, piece in pieces.items():
            arrived[to] = arrived.get(to, 0) + piece
    told = _and([f"{names[n].split()[1]} is {_short(arrived[n])}" for n in inputs])
    yield At(f"Done: the gradient of {told}.", values, {to: _short(gradient) for to, gradient in arrived.items()})


def _and(texts: list[str]) -> str:
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if texts[1:] else texts)


def _short(value: Any) -> str:
    return f"{round(float(value), 2) + 0:g}"


def wave(learn: Callable[[], tuple[Any, Any]]) -> Picture | None:
    """The wave's points, and a network's prediction of each: what `learn` gives, if it's ready."""
    try:
        targets, outputs = (np.ravel(values) for values in learn())
    except NotDone:
        print("Exercise 14.3 comes first: your back needs the rule of a product.")
        return None
    except TypeError as error:
        if "NoneType" not in str(error):
            raise
        print("Exercise 14.3 comes first: a rule gave None in place of a gradient. Does each have its return?")
        return None
    figure, axes = plots(height=3)
    axes.plot(targets, "o", color=BLUE, label="the wave")
    axes.plot(outputs, "o", mfc="none", mec=ORANGE, ms=12, mew=2, label="predicted")
    axes.set_xlabel("point")
    axes.legend()
    return show(figure, f"Twenty points and their predictions; the worst is {np.abs(outputs - targets).max():.2f} off.")
