"""The map of final losses: a pixel for each network, and the wave that it has learned."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import sine_wave
from ..scenes import Each, Knob, Part, Scene, drawing, label
from ..scenes.axes import Axis, across

_LEFT, _RIGHT, _TOP, _BOTTOM = 24, 344, 58, 258  # of the map
_WAVE = 376, 628  # from left to right
_EDGES = 10.0 ** np.linspace(-2.5, 0.5, 11)  # between two colours
_MARKS = (2, 5, 8)  # edges that have their number below
_MOST = 1.4  # of a wave's height
_FINE = 50  # in how many steps a wave's heights are stored: a thousand waves are many numbers


def map_of_losses(x: Any, y: Any, weights: Any, rates: Any, losses: Any) -> Scene:
    """A pixel for each network of `networks`: its rate across, its seed down. Click one, or drag, and see its wave.

    The arrays are those of a launch of ``training``, on the CPU: x and y (T,), the weights (N, 48), and the rates and
    the losses (N,).
    """
    across_rates = len(np.unique(rates))
    table = np.asarray(losses, np.float64).reshape(-1, across_rates)
    table = np.where(np.isfinite(table), table, np.nan)
    waves = predictions(x, weights)
    names = [f"{rate:.3g}" for rate in rates[:across_rates]]
    seeds = [str(number + 1) for number in range(len(table))]
    wide, high = (_RIGHT - _LEFT) / across_rates, (_BOTTOM - _TOP) / len(table)
    each = [(row, column) for column in range(across_rates) for row in range(len(table))]  # the seed turns fastest
    low = np.nanargmin(table) if np.isfinite(table).any() else 0
    best = tuple(map(int, np.unravel_index(low, table.shape)))
    said = [_said(table, best, at, names, seeds) for at in each]
    frame = [Part("rect", width=wide, height=high, fill="none", class_=look) for look in ("mark under", "mark")]
    down = Part("g", *frame, transform=Each(f"translate(0 {_TOP + high * row:.4g})" for row, _ in each))
    chosen = Part("g", down, transform=Each(f"translate({_LEFT + wide * column:.4g} 0)" for _, column in each))
    field = Part("rect", class_="field", x=_LEFT, y=_TOP, width=_RIGHT - _LEFT, height=_BOTTOM - _TOP)
    rate_axis = Axis(float(rates[0]), float(rates[across_rates - 1]), _LEFT + wide / 2, _RIGHT - wide / 2, log=True)
    picture = drawing(
        640, 372, f"{table.size:,} final losses, by learning rate and seed, and the wave of the network that's chosen",
        label(_LEFT, _TOP - 34, f"final loss of {table.size:,} networks", "bold"),
        label(_LEFT, _TOP - 12, "rows: seeds", "small"),
        Part("g", *_pixels(table, wide, high), chosen, field, data_drag="both"),
        *across(rate_axis, _BOTTOM + 6, "learning rate"), *_key(),
        *_wave(x, y, [waves[row * across_rates + column] for row, column in each]),
        label(_WAVE[0], _TOP - 34, Each(_loss(table[at]) for at in each), "bold"),
        label(_WAVE[0], _TOP - 12, _about(weights, across_rates), "small"),
    )  # fmt: skip
    knobs = [Knob("rate", names, slider=True), Knob("seed", seeds, slider=True)]
    places = [(_LEFT + wide * (column + 0.5), _TOP + high * (row + 0.5)) for row, column in each]
    return Scene(picture, knobs, said, first=best[::-1], along=places)


def predictions(x: Any, weights: Any) -> np.ndarray:
    """Each network's prediction of the next point (N, T), from the points x (T,), with its weights (N, 48).

    >>> predictions([1.0, 2.0], np.zeros((3, 48))).shape
    (3, 2)
    """
    w = np.asarray(weights, np.float32).reshape(len(weights), 8, 6)
    memory, found = np.zeros_like(w[:, 0]), []
    with np.errstate(all="ignore"):  # where the loss blew up
        for point in x:
            memory = np.tanh(point * w[:, 0] + np.einsum("nk,nkt->nt", memory, w[:, 1:7]))
            found.append((memory * w[:, 7]).sum(1))
    return np.stack(found, 1)


def _loss(loss: float) -> str:
    if np.isnan(loss):
        return "the loss blew up"
    return f"final loss {loss:.2g}"


def _said(table: np.ndarray, best: Any, at: Any, names: list[str], seeds: list[str]) -> str:
    words = f"Rate {names[at[1]]}, seed {seeds[at[0]]}: {_loss(table[at])}."
    if at == best:
        words += f" It's the smallest of all {table.size:,}."
    return words


def _about(weights: Any, across_rates: int) -> str:
    """What the line is. Before they're trained, all networks of a seed have the same weights."""
    rows = np.asarray(weights).reshape(-1, across_rates, 48)
    if across_rates > 1 and (rows == rows[:, :1]).all():
        return "line: before the training"
    return "line: its prediction"


def _pixels(table: np.ndarray, wide: float, high: float) -> Iterator[Part]:
    """Neighbours of one colour are one line, as thick as a row."""
    levels = np.where(np.isnan(table), len(_EDGES), np.digitize(table, _EDGES[1:-1]))
    for level in np.unique(levels):
        path = ""
        for row, there in enumerate(levels == level):
            steps = np.flatnonzero(np.diff(np.r_[0, there, 0]))
            for begin, end in zip(steps[::2], steps[1::2]):
                path += f"M{_LEFT + wide * begin:g} {_TOP + high * (row + 0.5):g}h{wide * (end - begin):g}"
        yield Part("path", d=path, fill="none", stroke_width=high, shape_rendering="crispEdges", **_look(int(level)))


def _look(level: int) -> dict[str, str]:
    if level == len(_EDGES):
        return {"class_": "blew"}
    return {"stroke": _colours()[level]}


def _colours() -> list[str]:
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return [to_hex(colormaps["viridis_r"](share)) for share in np.linspace(0, 1, len(_EDGES) - 1)]


def _key() -> Iterator[Part]:
    """The colours, with the losses between them."""
    wide, y = 22, _BOTTOM + 76
    for k, colour in enumerate(_colours()):
        yield Part("rect", x=_LEFT + wide * k, y=y, width=wide, height=12, fill=colour)
    for k in _MARKS:
        yield label(_LEFT + wide * k, y + 28, f"{_EDGES[k]:.2g}", "middle small")
    x = _LEFT + wide * len(_colours()) + 12
    yield Part("path", class_="blew", stroke_width=12, d=f"M{x} {y + 6}h{wide}")
    yield label(x + wide + 6, y + 11, "blew up", "small")


def _wave(x: Any, y: Any, waves: list[np.ndarray]) -> Iterator[Part]:
    """The points to predict, and each state's predictions as a line."""
    times = sine_wave.TIMES[1 : len(x) + 1]
    at = Axis(float(times[0]), float(times[-1]), *_WAVE)
    up, inside = Axis(-_MOST, _MOST, _BOTTOM, _TOP), Axis(-_MOST, _MOST, _FINE, 0)
    yield Part("path", class_="grid", d=f"M{_WAVE[0]} {up(0)}H{_WAVE[1]}")
    for time, height in zip(times, y):
        yield Part("circle", class_="ink", r=3, cx=at(float(time)), cy=up(float(height)))
    heights = [[round(inside(float(h))) for h in np.clip(np.nan_to_num(wave), -_MOST, _MOST)] for wave in waves]
    shown = Each(None if np.isfinite(wave).all() else "none" for wave in waves)
    line = Part("g", Part("polyline", class_="gpu line", vector_effect="non-scaling-stroke"),
                xs=[at(float(t)) for t in times], ys=Each(heights))  # fmt: skip
    yield Part("g", line, display=shown, transform=f"translate(0 {_TOP}) scale(1 {(_BOTTOM - _TOP) / _FINE:g})")
