"""Lesson 05's stopwatch, and programs one above the other on one axis: what the host does, and where the GPU idles."""

from collections.abc import Mapping
from typing import Any

import numpy as np

import fluxlite as fl
from fluxlite.devices.receipts import Seconds, duration
from fluxlite.words import many
from simgpu.profile import bars_of

from ..scenes import Part, Scene, drawing, label
from ..scenes.axes import Axis, across, bars

_ROW, _TOP = 94, 40


def since(begin: float) -> Seconds:
    """How long it's been since `begin`, a reading of `fl.clock()`, on the simulated T4."""
    return fl.Seconds(fl.clock() - begin, "simulated", "NVIDIA T4")


def matrix(n: int) -> Any:
    """A matrix of ones on a simulated T4, even if you have a GPU, so that all see the same times."""
    fl.simulate_gpu(like="NVIDIA T4")
    ones = fl.gpu(np.ones((n, n), np.float32))
    _ = ones @ ones  # the first product takes longer
    fl.cuda.synchronize()
    return ones


def schedules(programs: Mapping[str, Any]) -> Scene:
    """For each program's receipt two lanes: the host asks or waits, the GPU works or waits for orders.

    >>> r = fl.estimate(lambda x: float((x + x).sum()), np.ones(4, np.float32)).receipt
    >>> schedules({"a sum": r})
    a sum: 63 µs, 1 wait of the host; the GPU waits for orders for 44 µs.
    """
    axis = Axis(0, max(float(receipt.seconds) for receipt in programs.values()), 64, 620)
    said, parts, bottom = [], [], _TOP + _ROW * len(programs)
    for x, (words, look) in zip((64, 164, 264), (("asks", "host"), ("works", "gpu"), ("waits", "wait"))):
        parts += [Part("rect", class_=look, x=x, y=6, width=24, height=14), label(x + 30, 18, words, "small")]
    for top, (name, receipt) in zip(range(_TOP, bottom, _ROW), programs.items()):
        words = f"{name}: {duration(receipt.seconds)}, {many(receipt.synchronizations, 'wait')} of the host"
        spans = [bar for moment in receipt.timeline() for bar in bars_of(moment)]
        orders, waits, works = (
            [(bar.start, bar.end) for bar in spans if bar.look == look] for look in ("order", "wait", "work")
        )
        gaps = [(end, begin) for (_, end), (begin, _) in zip([(0.0, 0.0), *works], works) if begin > end]
        said.append(f"{words}; the GPU waits for orders for {duration(sum(b - a for a, b in gaps))}.")
        parts.append(label(64, top + 14, words, "bold"))
        parts += [label(56, top + y, lane, "end") for y, lane in ((40, "host"), (68, "GPU"))]
        for y, look, times in ((24, "host", orders), (24, "wait", waits), (52, "gpu", works), (52, "wait", gaps)):
            parts.append(Part("path", class_=look, style="stroke: none", d=bars(times, axis, top + y, 22, gap=0)))
    parts += across(axis, bottom, "ms, simulated (NVIDIA T4)", text=lambda seconds: f"{seconds * 1e3:g}")
    title = "Programs one above the other: the host and the GPU, a lane each"
    return Scene(drawing(640, bottom + 56, title, *parts), [], [" ".join(said)])
