"""A receipt as a picture: one lane each for the host, the computing, and the copies in and out."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from simgpu.profile import timelines
from simgpu.profile.seconds import duration
from simgpu.profile.timelines import LANES as LANES
from simgpu.profile.timelines import Bar
from simgpu.profile.timelines import bars_of as bars_of

# You can tell bars apart without colour, by their lane and pattern.
_LOOKS: dict[str, dict[str, Any]] = {
    "order": {"facecolor": "#f2c14e", "edgecolor": "#8a6508"},
    "load": {"facecolor": "#d9cbe8", "edgecolor": "#5b3a87", "hatch": "...."},
    "wait": {"facecolor": "white", "edgecolor": "#b3261e", "hatch": "////"},
    "work": {"facecolor": "#4f83c4", "edgecolor": "#1b3a63"},
}
_NAMES = {"order": "asks", "load": "first use", "wait": "waits", "work": "works"}
MOST_BARS = 400  # two for most events, the host's and the device's; with more, we draw shares
COLUMNS = 300


class Timeline(timelines.Timeline):
    """A receipt's events, drawn one window at a time."""

    def picture(self, first: int = 0, count: int = 200, only_waits: bool = False) -> Any:
        """The picture that `Receipt.plot` returns."""
        bars, span, sentence = self.seen(first, count, only_waits)
        from .. import pictures as display

        return display.show(_drawn(bars, span, self.receipt.seconds.card), sentence)


def _drawn(bars: list[Bar], span: tuple[float, float], card: str) -> Any:
    from ..pictures import as_written, plots

    begin, end = span
    factor, unit = (1e3, "ms") if end > 2e-3 else (1e6, "µs")
    figure, axes = plots(height=3.0)
    rows: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for bar in bars:
        rows[bar.lane, bar.look].append((bar.start * factor, bar.end * factor))
    if len(bars) > MOST_BARS:
        _as_shares(axes, rows, np.linspace(begin * factor, end * factor, COLUMNS + 1))
        column = duration((end - begin) / COLUMNS)
        axes.set_title(f"a bar's height: the share of each {column} that is spent so", loc="left", fontsize=12)
    else:
        _one_by_one(axes, rows, (end - begin) * factor)
    axes.set_ylim(0.8, len(LANES) + 1)
    axes.set_yticks([_height(lane) + 0.4 for lane in LANES], LANES)
    axes.set_xlabel(f"{unit} since the receipt was opened, simulated ({as_written(card)})")
    axes.ticklabel_format(axis="x", useOffset=False)
    for look, name in _NAMES.items():
        if any(bar.look == look for bar in bars):
            axes.broken_barh([], (0, 0), label=name, **_LOOKS[look])
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, fontsize=12)
    return figure


def _height(lane: str) -> int:
    return len(LANES) - LANES.index(lane)


def _one_by_one(axes: Any, rows: dict[tuple[str, str], list[tuple[float, float]]], length: float) -> None:
    least = length / 2000  # anything shorter would be invisible
    for (lane, look), spans in rows.items():
        widths = [(start, max(stop - start, least)) for start, stop in spans]
        axes.broken_barh(widths, (_height(lane), 0.8), linewidth=0.6, **_LOOKS[look])


def _as_shares(axes: Any, rows: dict[tuple[str, str], list[tuple[float, float]]], edges: np.ndarray) -> None:
    """Too many bars to tell apart: draw columns between these edges, as high as each interval's busy share."""
    below = {lane: np.full(len(edges), float(_height(lane))) for lane in LANES}
    for look in _LOOKS:  # the same order in all pictures, so that the host's parts are always stacked alike
        for lane in LANES:
            if (lane, look) in rows:
                shares = _shares(np.array(rows[lane, look]), edges)
                top = below[lane] + 0.8 * np.append(shares, shares[-1])
                axes.fill_between(edges, below[lane], top, step="post", linewidth=0.0, **_LOOKS[look])
                below[lane] = top


def _shares(spans: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """For each column, the share that these spans cover. The spans don't overlap."""
    starts, stops = spans[np.argsort(spans[:, 0])].T
    done = np.concatenate([[0.0], np.cumsum(stops - starts)])
    last = np.searchsorted(starts, edges, side="right") - 1  # for each edge, the last span that has begun
    inside = np.clip(edges - starts[last], 0.0, (stops - starts)[last])
    covered = np.where(last < 0, 0.0, done[np.maximum(last, 0)] + inside)
    return np.clip(np.diff(covered) / np.diff(edges), 0.0, 1.0)
