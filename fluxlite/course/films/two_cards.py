"""Lesson 11's two cards: when each of them works, and when it waits for the other."""

from __future__ import annotations

from typing import Any

from ...devices.events import LAUNCH
from ...jupyter.frames import Frames, frames
from ...pictures import BLUE, GREY, ORANGE, Picture, plots, show
from ...receipts.counts import Counts, Moment
from ...receipts.seconds import duration

MOMENTS = 9
_LOOKS: tuple[dict[str, Any], ...] = ({"edgecolor": BLUE}, {"edgecolor": ORANGE, "hatch": "///"})


def busy_at(receipt: Counts, seconds: float) -> Picture:
    """When the cards of a receipt have worked, up to `seconds` after the first work began: a lane for each card.

    Raises `ValueError` for a receipt without times, as on a real GPU.
    """
    works = _works(receipt)
    begin, end = _span(works)
    cards = sorted({str(moment.device) for moment in works})
    figure, axes = plots(height=1.2 + 0.6 * len(cards), width=10)
    for moment in works:
        row = cards.index(str(moment.device))
        left, right = _within(moment, begin, begin + seconds)
        if right > left:
            axes.barh(row, (right - left) * 1e6, left=(left - begin) * 1e6, height=0.6, facecolor="white",
                      linewidth=1.5, **_LOOKS[row % 2])  # fmt: skip
    axes.axvline(seconds * 1e6, color=GREY, linewidth=1)
    axes.set_yticks(range(len(cards)), cards)
    axes.set(xlabel=f"µs, simulated ({receipt.seconds.card})", xlim=(0, (end - begin) * 1.02e6))
    axes.set_ylim(len(cards) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    shares = (f"{card} has worked {100 * _busy(works, card, begin, seconds):.0f} % of it" for card in cards)
    return show(figure, f"{duration(seconds)} on {len(cards)} cards: {', '.join(shares)}.")


def _works(receipt: Counts) -> list[Moment]:
    found = [moment for moment in receipt.timeline() if moment.kind == LAUNCH]
    if not found or found[0].start is None:
        raise ValueError("the picture needs launches whose times are known: take the receipt of simulated GPUs")
    return found


def _span(works: list[Moment]) -> tuple[float, float]:
    return min(float(moment.start or 0) for moment in works), max(float(moment.end or 0) for moment in works)


def _within(moment: Moment, begin: float, end: float) -> tuple[float, float]:
    return max(float(moment.start or 0), begin), min(float(moment.end or 0), end)


def _busy(works: list[Moment], card: str, begin: float, seconds: float) -> float:
    """The share of the time until `seconds` in which this card works."""
    parts = [_within(moment, begin, begin + seconds) for moment in works if str(moment.device) == card]
    return sum(max(0.0, right - left) for left, right in parts) / seconds if seconds else 0.0


def busy(receipt: Counts) -> Frames:
    """`busy_at` from the first work to the last, to leaf through or to play."""
    begin, end = _span(_works(receipt))
    moments = [(end - begin) * (number + 1) / MOMENTS for number in range(MOMENTS)]
    return frames([busy_at(receipt, m) for m in moments], [duration(m) for m in moments], "time", first=-1)
