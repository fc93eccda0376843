"""Lesson 17's overlap: while the way back still computes, the link carries the gradients that are there already."""

from __future__ import annotations

from typing import Any

from ...jupyter.frames import Frames, frames
from ...messages import many
from ...pictures import BLUE, GREY, ORANGE, Picture, as_written, plots, show
from ...receipts import duration
from ..exchange import Link, OneCard, SeveralCards, several_cards

BUCKETS = (1, 2, 4, 8, 16, 64, 256)


def hidden(one: OneCard, cards: int, link: str | Link, buckets: int) -> Picture:
    """One step of training on several cards: what each card does, and when the link is busy.

    `one` is what `one_card` estimated. Raises `ValueError` as `several_cards` does.
    """
    found = several_cards(one, cards, link, buckets)
    return _drawn(one, found, buckets, max(float(found.seconds), float(several_cards(one, cards, link).seconds)))


def hiding(one: OneCard, cards: int, link: str | Link) -> Frames:
    """`hidden` with a slider, from one bucket to 256."""
    steps = {buckets: several_cards(one, cards, link, buckets) for buckets in BUCKETS}
    longest = max(float(found.seconds) for found in steps.values())
    pictures = [_drawn(one, found, buckets, longest) for buckets, found in steps.items()]
    return frames(pictures, BUCKETS, "buckets", ms=1500)


def _drawn(one: OneCard, found: SeveralCards, buckets: int, longest: float) -> Picture:
    figure, axes = plots(height=2.8, width=10)
    forward, back, update = (float(part) * 1e3 for part in (one.forward, one.back, one.update))
    whole = float(found.seconds) * 1e3
    for begin, width, colour, name in (
        (0.0, forward, GREY, "forward"), (forward, back, BLUE, "way back"), (whole - update, update, GREY, "update"),
    ):  # fmt: skip
        axes.barh(0, width, left=begin, height=0.6, facecolor="white", edgecolor=colour, linewidth=2)
        if width > 0.07 * longest * 1e3:
            axes.text(begin + width / 2, 0, name, ha="center", va="center", fontsize=11)
    for begin, end in found.on_the_link:
        look = {"facecolor": "white", "edgecolor": ORANGE, "linewidth": 2 if buckets <= 16 else 0.5}
        axes.barh(1, (end - begin) * 1e3, left=begin * 1e3, height=0.6, hatch="///" if buckets <= 16 else None, **look)
    axes.axvline(whole, color=GREY, linewidth=1)
    axes.text(whole, 0.5, f" done: {duration(found.seconds)}", va="center")
    axes.set_yticks([0, 1], ["each card", as_written(found.link)])
    axes.set(ylim=(1.6, -0.6), xlim=(0, longest * 1.17e3), xlabel=f"ms, simulated ({_where(found)})")
    axes.tick_params(axis="y", length=0)
    return show(figure, _said(found, buckets))


def _where(found: SeveralCards) -> Any:
    return as_written(found.seconds.card)


def _said(found: SeveralCards, buckets: int) -> str:
    waits = f"each card waits for {duration(found.visible)}" if found.visible else "no card waits"
    return f"The gradients travel in {many(buckets, 'bucket')}. The step takes {found.seconds}, and {waits}."
