"""Lesson 03's pictures: a ball that rolls down a bowl, and the graph of the bowl with both passes through it."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from fluxlite.words import many

from ..scenes import Each, Knob, Part, Scene, drawing, label
from ..scenes.axes import Axis, across, curve, upward
from ..scenes.graph import At, Node, graph

STEPS, START, BOTTOM = 10, 1.0, 2.0
RATES = (0.01, 0.02, 0.05, 0.08, 0.1, 0.11, 0.115, 0.15, 0.2)
REACH = 2.2  # how far from the bottom the picture goes


def path(rate: float) -> np.ndarray:
    """Where the ball is before each of ten steps and after the last, on the bowl (3w - 6)², from w = 1: 11 numbers.

    >>> path(0.05)[:2]
    array([1. , 1.9])
    """
    # The gradient is 18 (w - 2), so each step multiplies the distance from the bottom by 1 - 18 · rate.
    return BOTTOM + (START - BOTTOM) * (1 - 18 * rate) ** np.arange(STEPS + 1)


def balls() -> Scene:
    """The ball's way on the bowl of lesson 03's loss, (3w - 6)², for nine learning rates, step by step.

    >>> balls()
    Learning rate 0.01, 0 steps: w is 1, the loss 9, the slope -18.
    """
    xs, ys = Axis(BOTTOM - REACH, BOTTOM + REACH, 60, 620), Axis(0, float(_loss(BOTTOM + REACH)), 262, 34)
    states = [(number, step) for number in range(len(RATES)) for step in range(STEPS + 1)]
    # Outside the picture, a ball stays at its upper edge.
    ways = [path(rate).clip(BOTTOM - 1.1 * REACH, BOTTOM + 1.1 * REACH) for rate in RATES]
    places = [[(xs(w), ys(float(_loss(w)))) for w in way.tolist()] for way in ways]
    steps = [
        Part("g", Part("path", class_="line dots", d=f"M{x1} {y1}L{x2} {y2}"),
             Part("circle", class_="hollow", cx=x1, cy=y1, r=7), class_="host", data_n=number * STEPS + step)
        for number, way in enumerate(places) for step, ((x1, y1), (x2, y2)) in enumerate(zip(way, way[1:]))
    ]  # fmt: skip
    seen = Each((number * STEPS, number * STEPS + step - 1) for number, step in states)
    now = [places[number][step] for number, step in states]
    ball = Part("circle", class_="host glide", cx=Each(x for x, _ in now), cy=Each(y for _, y in now), r=12)
    bowl = np.linspace(xs.low, xs.high, 41)
    line = curve([xs(w) for w in bowl], [ys(float(loss)) for loss in _loss(bowl)], "rest")
    weights = [path(RATES[number])[step] for number, step in states]
    tangent = Part("path", class_="axis", d=Each(_tangent(xs, ys, w) for w in weights))
    losses = [float(_loss(w)) for w in weights]
    picture = drawing(
        640, 322, "A ball on a bowl: the loss by the weight w",
        *across(xs, 262, "w"), *upward(ys, 60, "loss"), line, tangent,
        Part("g", *steps, only=seen), ball,
        label(340, 26, Each(f"loss {_number(loss)}" for loss in losses), "bold big middle"),
        label(340, 50, Each(f"slope {_slope_words(w)}" for w in weights), "middle"),
    )  # fmt: skip
    knobs = [
        Knob("learning rate", [f"{rate:g}" for rate in RATES], slider=True),
        Knob("steps", [str(step) for step in range(STEPS + 1)], slider=True, ms=500),
    ]
    return Scene(picture, knobs, [_sentence(RATES[number], step) for number, step in states], [0, 0])


def _loss(w: np.ndarray | float) -> np.ndarray:
    return (np.asarray(w) * 3 - 6) ** 2


def _slope(w: float) -> float:
    return 18 * (w - BOTTOM)


def _slope_words(w: float) -> str:
    """The slope where the ball is, with three digits."""
    return _short(float(f"{_slope(w):.3g}"))


def _tangent(xs: Axis, ys: Axis, w: float) -> str:
    """The path of the slope's line where the ball is; none if that's outside the picture."""
    if abs(w - BOTTOM) > REACH:
        return "M0 0"
    ends = [(xs(at), ys(float(_loss(w)) + _slope(w) * (at - w))) for at in (w - 0.5, w + 0.5)]
    return "M" + "L".join(f"{x:.5g} {y:.5g}" for x, y in ends)


def _number(loss: float) -> str:
    return "below 0.0001" if loss < 1e-4 else f"{loss:.2g}" if loss < 100 else f"{loss:,.0f}"


def _sentence(rate: float, step: int) -> str:
    way = path(rate)
    first, last = float(_loss(way[0])), float(_loss(way[step]))
    if step < STEPS:
        there = f"w is {way[step]:.3g}, the loss {_number(last)}, the slope {_slope_words(way[step])}"
        return f"Learning rate {rate:g}, {many(step, 'step')}: {there}."
    if last > first:
        how = "each step jumps over the bottom, and farther up."
    elif way[1] > BOTTOM + 1e-9:
        how = "each step jumps over the bottom, but not as far up."
    elif last > 1e-3:
        how = "small steps, and the ball is still on its way."
    else:
        how = "the ball reaches the bottom."
    return f"Learning rate {rate:g}: {how} After {STEPS} steps the loss is {_number(last)}; it was {first:.0f}."


def passes(f: Callable[..., Any], tracked: type, at: tuple[float, ...] = (0.0, 1.0, 1.9, 3.0)) -> Scene:
    """What `f` does with a tracked number, as a graph: the forward pass, then the backward pass, for several `w`.

    A tracked number has `value`, `how` it was made, and `made_from`: pairs of an earlier one and the derivative. If `f`
    takes more than one, the first is `w`, and the others are 0: ``passes(lambda w, v: (w * 3 + v * 2) ** 2, Tracked)``.
    """
    first, *others = inspect.signature(f).parameters
    runs = [_history(f(tracked(w, first), *(tracked(0.0, name) for name in others))) for w in at]
    nodes = [Node(node.how, [runs[0].index(earlier) for earlier, _ in node.made_from]) for node in runs[0]]
    steps = [f"{number} of {2 * len(nodes)}" for number in range(1, 2 * len(nodes) + 1)]
    knobs = [Knob(first, [f"{w:g}" for w in at]), Knob("step", steps, slider=True, ms=1200)]
    title = "The loss as a graph: values go from left to right, gradients from right to left"
    return graph(title, nodes, knobs, [state for run in runs for state in _both(run)], [1, 0])


def _history(result: Any) -> list[Any]:
    """A tracked number, and before it everything that it was made from, in order."""
    found: list[Any] = []
    for earlier, _ in result.made_from:
        found += [node for node in _history(earlier) if node not in found]
    return [*found, result]


def _both(nodes: list[Any]) -> Iterator[At]:
    values = [_short(node.value) for node in nodes]
    for number, node in enumerate(nodes):
        said = f"Forward pass: {node.how} gives {values[number]}."
        yield At(said, dict(enumerate(values[: number + 1])), visited=number)
    gradients, there = {len(nodes) - 1: 1.0}, dict(enumerate(values))
    for number in range(len(nodes) - 1, -1, -1):
        hands = {nodes.index(earlier): derivative for earlier, derivative in nodes[number].made_from}
        now = {n: _short(gradient) for n, gradient in gradients.items()}
        goes = "".join(f" It goes on to {nodes[to].how}, times {_short(by)}." for to, by in hands.items())
        said = f"Backward pass: the gradient of {nodes[number].how} is {now[number]}.{goes}"
        yield At(said, there, now, number, {to: _short(by) for to, by in hands.items()})
        for to, derivative in hands.items():
            gradients[to] = gradients.get(to, 0) + gradients[number] * derivative


def _short(value: float) -> str:
    return f"{round(float(value), 4) + 0:g}"
