"""Lesson 10's scenes: the next letter, from cold to hot; an LSTM's step; and what's left of an input."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import fluxlite as fl

from ..scenes import Each, Knob, Part, Scene, drawing, label, rounded
from ..scenes.axes import Axis, across, upward
from ..scenes.parts import arrow
from .sequences import letters, scores_after, waves, write

HEATS = (0.1, 0.3, 0.5, 0.7, 1.0, 1.5, 2.5)
_SIGNS = {" ": "␣", "\n": "↵"}
_POWERS = {1: "all", 1e-3: "10⁻³", 1e-6: "10⁻⁶", 1e-9: "10⁻⁹", 1e-12: "10⁻¹²"}


def temperatures(model: Any, begin: str = "the ") -> Scene:
    """How likely each letter is to come after `begin`, and what `model` writes, with a slider for the temperature."""
    shares = np.array([fl.softmax(scores_after(model, begin or " ")[0] / heat) for heat in HEATS])
    pages = [write(model, begin, heat).splitlines() for heat in HEATS]
    rows = max(map(len, pages))
    texts = [label(24, 262 + 22 * row, Each(page[row] if row < len(page) else "" for page in pages), "code")
             for row in range(rows)]  # fmt: skip
    picture = drawing(
        640, 268 + 22 * rows, "A bar for each letter, how likely it comes next; below, what the network writes",
        label(24, 20, f"the next letter after {begin!r}", "bold"), *_bars(shares),
        label(24, 236, "and so it writes", "bold"), *texts,
    )  # fmt: skip
    best = shares.argmax(axis=1)
    said = [f"Temperature {heat:g}: after {begin!r}, {_SIGNS.get(letters()[i], letters()[i])} comes with "
            f"{100 * share[i]:.0f} %. It begins to write: {page[0]} …"
            for heat, share, i, page in zip(HEATS, shares, best, pages)]  # fmt: skip
    return Scene(picture, [Knob("temperature", [f"{heat:g}" for heat in HEATS], slider=True)], said, [3])


def _bars(shares: np.ndarray) -> Iterator[Part]:
    high, step = Axis(0, 1, 188, 36), 588 / len(letters())
    yield from upward(high, 44, "", (0, 0.5, 1))
    for number, letter in enumerate(letters()):
        tops = [high(share) for share in shares[:, number]]
        x = rounded([44 + step * number])[0]
        yield Part("rect", class_="host glide", x=x + 1, width=rounded([step - 2])[0], y=Each(tops),
                   height=Each(rounded(188 - top for top in tops)))  # fmt: skip
        yield label(rounded([x + step / 2])[0], 208, _SIGNS.get(letter, letter), "middle code")


def an_lstm_step() -> Scene:
    """What a step does to one number of an LSTM's memory: a gate keeps a part of it, another one lets a part in.

    >>> an_lstm_step().at(**{"input gate i": "1"})
    '0.5 of the memory 0.80 stays, and 1 of the new 0.60 is written: 1.00.'
    """
    memory, new, options = 0.8, 0.6, ("0", "0.5", "0.95", "1")
    states = [(float(f), float(i)) for f, i in itertools.product(options, options)]
    stays, written = ([gate[n] * value for gate in states] for n, value in enumerate((memory, new)))
    picture = drawing(
        640, 300, "One number of the memory: what stays of it in a step, and what's written to it",
        *_column(44, 124, "memory before", ([memory] * 16, "host")), *_gate(204, 84, "× f", [f for f, _ in states]),
        *_column(284, 124, "stays", (stays, "host")), arrow(376, 84, 484, 130, "rest"),
        *_column(44, 268, "new", ([new] * 16, "rest")), *_gate(204, 228, "× i", [i for _, i in states]),
        *_column(284, 268, "written", (written, "rest")), arrow(376, 228, 484, 182, "rest"),
        label(452, 163, "+", "big middle"), *_column(504, 208, "memory after", (stays, "host"), (written, "rest")),
    )  # fmt: skip
    said = [f"{f:g} of the memory {memory:.2f} stays, and {i:g} of the new {new:.2f} is written: {a + b:.2f}."
            for (f, i), a, b in zip(states, stays, written)]  # fmt: skip
    return Scene(picture, [Knob("forget gate f", options), Knob("input gate i", options)], said, [1, 1])


def _column(x: int, floor: int, name: str, *piled: tuple[Sequence[float], str]) -> Iterator[Part]:
    """Bars on top of each other, each with its values and its look; below, their name, and beside them, their sum."""
    yield Part("path", class_="axis", d=f"M{x - 8} {floor}h76")
    below = np.zeros(16)
    for values, look in piled:
        below = below + values  # 1 is as high as 80 points
        yield Part("rect", class_=f"{look} glide", x=x, y=Each(rounded(floor - 80 * below)), width=60, stroke="none",
                   height=Each(rounded(80 * value for value in values)))  # fmt: skip
    yield label(x + 30, floor + 18, name, "middle")
    yield label(x + 68, floor - 8, Each(f"{value:.2f}" for value in below), "small")


def _gate(x: int, y: int, name: str, values: Sequence[float]) -> Iterator[Part]:
    """An arrow through a gate: two doors, which leave an opening between them."""
    yield arrow(x - 62, y, x + 62, y, "rest")
    doors = Each(rounded(36 * (1 - value) for value in values))
    yield Part("rect", class_="ink glide", x=x - 6, y=y - 36, width=12, height=doors)
    yield Part("rect", class_="ink glide", x=x - 6, y=Each(y + 36 - door for door in doors), width=12, height=doors)
    yield label(x, y - 44, Each(f"{name} = {value:g}" for value in values), "middle bold")


def left_picture(forgets: Sequence[float] = (0, 1, 2, 3, 4)) -> Scene:
    """How much an input still changes an LSTM's output steps later, and what its forget gate alone would leave."""
    ago, right, up = np.arange(40), Axis(0, 39, 70, 625), Axis(1e-12, 10, 290, 60, log=True)
    keeps = [float(fl.sigmoid(np.float64(forget))) for forget in forgets]
    lefts = [_effect(forget) for forget in forgets]
    xs = Each([rounded(right(n) for n in range(40))] * len(forgets))
    said = [f"forget={f:g}: the gate keeps {keep:.2f} in each step" for f, keep in zip(forgets, keeps)]
    parts = ["nearly nothing" if left[-1] < 1e-6 else "all" if left[-1] >= 1 else f"{left[-1]:.1%}" for left in lefts]
    end = [f"39 steps later {part.replace('%', ' %')} is left of an input's effect" for part in parts]
    told = [f"{a}, and {b}." for a, b in zip(said, end)]
    picture = drawing(
        640, 350, "What's left of an input's effect, from the same step to 39 steps later",
        label(8, 18, Each(said), "bold"), label(8, 42, Each(end)), label(84, 262, "dashed: the gate alone"),
        *across(right, 290, "steps later", range(0, 40, 5)), *upward(up, 70, "", list(_POWERS), _POWERS.__getitem__),
        *(Part("g", Part("polyline", class_="line"), class_=look, xs=xs,
               ys=Each(rounded(up(y) for y in ys) for ys in each))
          for each, look in ((lefts, "host line"), ([keep**ago for keep in keeps], "rest line dashed"))),
    )  # fmt: skip
    return Scene(picture, [Knob("forget", [f"{forget:g}" for forget in forgets], slider=True)], told)


def _effect(forget: float) -> np.ndarray:
    """How much each of 40 inputs changes the last output, the last input first, in shares of its effect."""
    x, _ = waves(64, 35, np.random.default_rng(1))
    layer = fl.LSTM(2, 16, forget=forget, rng=np.random.default_rng(1))
    factors = np.random.default_rng(2).standard_normal(16).astype(np.float32)  # make one number of the output
    (g,) = fl.gradient(lambda x: np.sum(layer(x)[:, -1] * factors), x)
    effect = np.sqrt(np.mean(g**2, axis=(0, 2)))
    return effect[::-1] / effect[-1]
