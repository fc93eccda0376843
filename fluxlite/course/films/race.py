"""Lesson 00's race: one training step on the CPU and on the simulated GPU, an operation at a time."""

from __future__ import annotations

from typing import Any

from simgpu.profile.counts import Counts

from ...jupyter.frames import Frames, frames
from ...pictures import GREY, Picture, look, plots, show
from ...receipts import Seconds
from ..explore.running import alive_race
from .moments import launches
from .racing import MOMENTS, instants, reached


def race_at(receipt: Counts, cpu: Seconds, seconds: float) -> Picture:
    """The race after `seconds`: what the CPU and the GPU have done by then of one training step.

    `receipt` has the step's launches on a simulated GPU. `cpu` is how long the whole step takes on the CPU. Raises
    `ValueError` for a receipt without times, as on a real GPU.
    """
    orders = launches(receipt)
    begin, end = orders[0].asked, max(order.end for order in orders)
    on_cpu = reached(orders, float(cpu), seconds).on_cpu
    figure, axes = plots(height=2.7, width=10)
    colour = look("simulated")["color"]
    _lane(axes, 1, look(cpu.kind)["color"], len(orders), float(cpu), on_cpu)
    for order in orders:
        left, right = (order.start - begin) * 1e6, (order.end - begin) * 1e6
        full = order.end - begin <= seconds
        axes.barh(0, right - left, left=left, height=0.5, facecolor=colour if full else "white", edgecolor=colour)
    axes.axvline(seconds * 1e6, color="black", linewidth=1.5)
    card = receipt.seconds.card
    axes.set_yticks([0, 1], [f"GPU ({card}),\nsimulated", f"{cpu.card or 'this CPU'},\n{cpu.kind}"])
    axes.set(xlabel="µs since the start of the step", xlim=(0, max(end - begin, float(cpu)) * 1.03e6), ylim=(-0.5, 1.5))
    axes.tick_params(axis="y", length=0)
    return show(figure, reached(orders, float(cpu), seconds).sentence)


def _lane(axes: Any, row: int, colour: str, operations: int, seconds: float, done: int) -> None:
    """The CPU's lane. Nobody has timed its operations one by one, so each gets the same share of the step."""
    width = seconds * 1e6 / operations
    for number in range(operations):
        face = colour if number < done else "white"
        axes.barh(row, width, left=number * width, height=0.5, facecolor=face, edgecolor=GREY, linewidth=0.5)


def race(receipt: Counts, cpu: Seconds) -> Frames:
    """The race of `race_at` to leaf through, or to play.

    >>> r = fl.estimate(lambda x: np.tanh(x * 2) + 1, np.ones(4, np.float32)).receipt
    >>> film = race(r, fl.Seconds(6e-6, "measured"))
    >>> film.pictures[0]
    After 0 s: the CPU has done 0 of 3 operations. The host has ordered 0 launches, and the GPU has done 0 of them.
    """
    moments = instants(launches(receipt), float(cpu), MOMENTS)
    drawn = [race_at(receipt, cpu, moment) for moment in moments]
    film = frames(drawn, [f"{moment * 1e6:.0f} µs" for moment in moments], "time", ms=900)
    film.alive = lambda: alive_race(receipt, cpu, film.now)
    return film
