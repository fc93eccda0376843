"""Lesson 04's waves, made by networks: one that was lucky, the learner's own, and a hundred more."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import fluxlite as fl
from fluxlite.words import many

from ..kit.exercises import NotDone
from ..scenes import Each, Knob, Part, Scene, drawing, label
from ..scenes.axes import Axis, across, curve, upward
from ..sine_wave import TIMES, run, train_by_hand
from .network import OUTPUT, WAVE

SIZES, SEEDS = (1, 2, 4, 6, 16), (1, 2, 3, 10, 14)
_AT, _UP = Axis(2, 18, 54, 620), Axis(-1.5, 1.5, 228, 28)


def continued() -> Scene:
    """The wave that a trained network makes from one point: each of its outputs is its next input.

    >>> continued().at(point="23")
    'The network is given 1 point of the wave, and makes 22 more, each less than 0.1 off.'
    """
    w1, w2, _ = train_by_hand(seed=14)
    return _from_one_point(run(WAVE[:40], w1, w2, own=True)[0])


def your_wave(continue_wave: Callable[..., Any], w1: Any, w2: Any) -> Scene | None:
    """The wave that the learner's own function makes from the same point, if it's ready."""
    try:
        return _from_one_point(fl.cpu(continue_wave(WAVE[0], 40, w1, w2)))
    except NotDone:
        print("Exercise 04.3 comes first: this picture shows the wave that your function makes.")
        return None


def _from_one_point(outputs: Any) -> Scene:
    values = np.ravel(outputs)
    made = [Part("circle", **OUTPUT, r=5, cx=_AT(t), cy=_UP(value), data_n=n)
            for n, (t, value) in enumerate(zip(TIMES[1:], values.clip(-1.5, 1.5)))]  # fmt: skip
    shown = Part("g", *made, only=Each((0, n - 1) for n in range(41)))
    title = "A wave: one point that a network is given, and those that it makes"
    off = np.ceil(10 * np.abs(values - WAVE[1:].ravel())) / 10
    given = "The network is given 1 point of the wave"
    said = [f"{given}, and makes {n} more, each less than {off[:n].max():g} off." for n in range(1, 41)]
    said.insert(0, f"{given}. Its first output is still to come.")
    knob = Knob("point", [str(n) for n in range(1, 42)], slider=True, ms=250)
    return Scene(drawing(640, 286, title, *_wave(), shown), [knob], said)


def _wave() -> Iterator[Part]:
    fine = np.linspace(2, 18, 81)
    yield from upward(_UP, 54, "sin t", at=(-1, 0, 1))
    yield from across(_AT, 228, "t (radians)")
    yield curve([_AT(t) for t in fine], [_UP(value) for value in np.sin(fine)], "rest")
    yield Part("path", class_="axis", d=f"M{_AT(10.2)} 34V228", stroke_dasharray="4 4")
    yield label(_AT(10.2) + 8, 24, "never seen →")
    yield label(_AT(10.2) - 8, 24, "trained on", "end")
    yield Part("circle", class_="host", r=6, cx=_AT(TIMES[0]), cy=_UP(WAVE[0].item()))  # the point that's given


def playground() -> Scene:
    """50 networks and their waves, all of them trained beforehand, which takes a few seconds."""
    kept = {"kept": True, "wiped at each step": False}
    fed = {"true values": False, "its own output": True}
    now = WAVE[:20].ravel()
    line = float(np.sum((np.append(now[0], 2 * now[1:] - now[:-1]) - WAVE[1:21].ravel()) ** 2) / 2)
    heights, ends, said = [], [], []
    for size, seed, memory in itertools.product(SIZES, SEEDS, kept):
        w1, w2, losses = train_by_hand(size, seed, kept[memory])
        end, side = f"The loss ends at {losses[-1]:.2g}", "above" if losses[-1] > line else "below"
        for source, own in fed.items():
            outputs = run(WAVE[:40], w1, w2, kept[memory], own)[0]
            off = np.mean(np.abs(outputs - WAVE[1:]))
            heights.append([_UP(value) for value in outputs.clip(-1.5, 1.5).ravel()])
            ends.append(end)
            said.append(f"Memory of {many(size, 'number')}, {memory}; seed {seed}. {end}, {side} the straight line's "
                        f"{line:.3g}. Fed with {source}, it's {off:.2g} off on average.")  # fmt: skip
    knobs = [
        Knob("memory size", [str(size) for size in SIZES]), Knob("seed", [str(seed) for seed in SEEDS]),
        Knob("memory", list(kept)), Knob("fed with", list(fed)),
    ]  # fmt: skip
    circles = [Part("circle", r=4.5) for _ in TIMES[1:]]
    picture = drawing(
        640, 310, "A trained network's output beside the wave", *_wave(), label(54, 302, Each(ends), "bold"),
        Part("g", *circles, **OUTPUT, xs=[_AT(t) for t in TIMES[1:]], ys=Each(heights)),
    )  # fmt: skip
    return Scene(picture, knobs, said, [SIZES.index(6), 0, 0, 1])
