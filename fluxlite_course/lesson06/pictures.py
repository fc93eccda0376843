"""Lesson 06's bars: times side by side, with a zoom, and a program's phases one after the other."""

import json
import math
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any

from fluxlite.receipts import Seconds, duration

from ..draw.pictures import BLUE, GREY, plots
from ..scenes import Each, Knob, Part, Scene, drawing, label, rounded


def program_phases(*options: str) -> dict[str, Seconds]:
    """Run lesson 04's program, `fluxlite_course.sine_wave`, in a fresh process: the seconds of each of its phases.

    What the program can't see, the start of Python and its imports, is the first of them. ``"--gpu"`` is an option.
    """
    begin = time.perf_counter()
    command = [sys.executable, "-m", "fluxlite_course.sine_wave", *options]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    total, inside = time.perf_counter() - begin, json.loads(output.splitlines()[-1])
    phases = {"start Python, NumPy, fluxlite": total - sum(inside.values()), **inside}
    return {name: Seconds(seconds, "measured") for name, seconds in phases.items()}


def phases_figure(phases: Mapping[str, Seconds], blue: str) -> Any:
    """A program's phases, one after the other, with their times. Those whose name starts with `blue` are blue."""
    figure, axes = plots(height=3.2)
    begin = 0.0
    for name, seconds in phases.items():
        axes.barh(name, seconds, left=begin, color=BLUE if name.startswith(blue) else GREY)
        begin += float(seconds)
        axes.text(begin, name, f" {duration(seconds)}", va="center", fontsize=12)
    axes.invert_yaxis()
    kinds = ", ".join(sorted({seconds.kind for seconds in phases.values()}))
    axes.set(xlabel=f"seconds, {kinds}", xlim=(0, 1.1 * begin))
    return figure


def time_bars(times: Mapping[str, Seconds], notes: Mapping[str, str] | None = None) -> Scene:
    """A bar for each time, with its value and kind, and a knob that zooms in by ten until the shortest one is there.

    `notes` adds words, for some or all bars. Raises `ValueError` without times.

    >>> times = {"asked for": fl.Seconds(2e-5, "simulated"), "waited for": fl.Seconds(3e-3, "simulated")}
    >>> time_bars(times).at(zoom="× 100")
    'asked for: 20 µs simulated. waited for: 3 ms simulated. Zoomed in 100 times: 1 of 2 bars goes on beyond the ...'
    """
    if not times:
        raise ValueError("time_bars takes at least one time, got none")
    most, least = max(map(float, times.values())), min(map(float, times.values()))
    zooms = [10**power for power in range(1 + math.ceil(math.log10(most / least) - 1 - 1e-9))] or [1]
    said = {name: " ".join([duration(time), time.kind]) for name, time in times.items()}
    said |= {name: f"{said[name]}, {note}" for name, note in (notes or {}).items() if name in said}
    bars = [part for row, name in enumerate(times) for part in _bar(row, name, said[name], times[name], zooms, most)]
    bottom = _ROW * len(times) + 16
    width = Each(f"the whole width: {duration(most / zoom)}" for zoom in zooms)
    picture = drawing(
        640, bottom + 30, "Times as bars", *bars, Part("path", class_="axis", d=f"M{_LEFT} {bottom - 8}v8H632v-8"),
        label(320, bottom + 22, width, "middle"),
    )  # fmt: skip
    sentences = [
        " ".join([*(f"{name}: {words}." for name, words in said.items()), *_beyond(times, zoom, most / zoom)])
        for zoom in zooms
    ]
    knobs = [Knob("zoom", [f"× {zoom:,}" for zoom in zooms], slider=True, ms=1200)] if len(zooms) > 1 else []
    return Scene(picture, knobs, sentences)


_LEFT, _ROW = 6, 68
_LOOKS = {"measured": "host", "recorded": "host", "simulated": "gpu hollow dashed", "published": "rest"}


def _bar(row: int, name: str, said: str, time: Seconds, zooms: list[int], most: float) -> Iterator[Part]:
    """A bar and the words above it. What doesn't fit in goes on beyond the picture's edge, and says so."""
    y, look = row * _ROW, _LOOKS[time.kind]
    colour, hollow = look.split()[0], "hollow" in look
    shares = [float(time) / most * zoom for zoom in zooms]
    widths = Each(rounded(min(share, 1.2) * (632 - _LEFT) for share in shares))
    beyond = Each("goes on →" if share > 1 + 1e-9 else "" for share in shares)
    yield label(_LEFT, y + 20, name)
    yield label(632, y + 20, said, f"{colour} bold end")
    yield Part("rect", class_=f"{look} glide", x=_LEFT, y=y + 30, width=widths, height=28)
    yield label(626, y + 49, beyond, f"{colour} bold end" if hollow else "inside end")


def _beyond(times: Mapping[str, Seconds], zoom: int, width: float) -> list[str]:
    count = sum(float(time) > width * (1 + 1e-9) for time in times.values())
    goes = f"{count} of {len(times)} bars {'goes' if count == 1 else 'go'}"
    return [f"Zoomed in {zoom:,} times: {goes} on beyond the picture."] if zoom > 1 else []
