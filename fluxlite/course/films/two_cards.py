"""Lesson 11's two cards: when each of them works, and when it waits for the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from simgpu.events import LAUNCH
from simgpu.profile.counts import Counts

from ...jupyter.frames import Frames, frames
from ...pictures import BLUE, GREY, ORANGE, Picture, as_written, plots, show
from ...receipts import duration

MOMENTS = 9
_LOOKS: tuple[dict[str, Any], ...] = ({"edgecolor": BLUE}, {"edgecolor": ORANGE, "hatch": "///"})


class _Work(NamedTuple):
    """A launch: on which card, and when it begins and ends, in seconds since the first one of its receipt began."""

    card: str
    start: float
    end: float


def busy_at(receipts: Mapping[str, Counts], seconds: float) -> Picture:
    """When the cards work, up to `seconds` after the first work began: for each named receipt a lane for each card.

    Raises `ValueError` for a receipt without times, as on a real GPU.
    """
    return _drawn({name: _works(receipt) for name, receipt in receipts.items()}, _card(receipts), seconds)


def busy(receipts: Mapping[str, Counts]) -> Frames:
    """`busy_at` from the first work to the last, to leaf through or to play. It opens on the last moment."""
    works, card = {name: _works(receipt) for name, receipt in receipts.items()}, _card(receipts)
    last = max(map(_end, works.values()))
    moments = [last * number / MOMENTS for number in range(1, MOMENTS)] + [last]
    return frames([_drawn(works, card, m) for m in moments], [duration(m) for m in moments], "time", first=-1)


def _works(receipt: Counts) -> list[_Work]:
    found = [moment for moment in receipt.timeline() if moment.kind == LAUNCH]
    if not found or found[0].start is None:
        raise ValueError("the picture needs launches whose times are known: take the receipt of simulated GPUs")
    begin = min(float(moment.start or 0) for moment in found)
    return [_Work(str(m.device), float(m.start or 0) - begin, float(m.end or 0) - begin) for m in found]


def _card(receipts: Mapping[str, Counts]) -> str:
    return next(iter(receipts.values())).seconds.card


def _end(works: list[_Work]) -> float:
    return max(work.end for work in works)


def _drawn(ways: dict[str, list[_Work]], card: str, seconds: float) -> Picture:
    figure, grid = plots(len(ways), height=1.5 * len(ways) + 0.5, width=10, sharex=True, squeeze=False)
    for axes, (name, works) in zip(grid[:, 0], ways.items()):
        _lanes(axes, works, seconds)
        axes.set_title(as_written(name), loc="left", fontsize=13, weight="bold")
    last = max(map(_end, ways.values()))
    grid[-1, 0].set(xlabel=f"time, ms, simulated ({as_written(card)})", xlim=(0, last * 1.1e3))
    told = "; ".join(f"{name}: {_said(works, seconds)}" for name, works in ways.items())
    return show(figure, f"After {duration(seconds)}, simulated ({card}). {told}.")


def _lanes(axes: Any, works: list[_Work], seconds: float) -> None:
    cards = sorted({work.card for work in works})
    for work in works:
        row = cards.index(work.card)
        if work.start < seconds:
            width = (min(work.end, seconds) - work.start) * 1e3
            look = {"height": 0.6, "facecolor": "white", "linewidth": 1.5, **_LOOKS[row % 2]}
            axes.barh(row, width, left=work.start * 1e3, **look)
    done = min(_end(works), seconds)
    axes.axvline(done * 1e3, color=GREY, linewidth=1)
    if _end(works) <= seconds:
        axes.text(done * 1e3, (len(cards) - 1) / 2, f" done: {duration(done)}", ha="left", va="center")
    axes.set_yticks(range(len(cards)), cards)
    axes.set_ylim(len(cards) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)


def _said(works: list[_Work], seconds: float) -> str:
    """The share of the time in which each card has worked, up to `seconds` or until all is done."""
    until = min(seconds, _end(works))
    cards = sorted({work.card for work in works})
    shares = [sum(max(0.0, min(w.end, until) - w.start) for w in works if w.card == card) / until for card in cards]
    words = " and ".join(f"{card} {100 * share:.0f} %" for card, share in zip(cards, shares))
    return f"{'done in' if _end(works) <= seconds else 'in'} {duration(until)}; at work: {words}"
