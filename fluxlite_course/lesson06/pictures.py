"""Lesson 07's bars: times side by side, each in the look of its kind, and a program's phases one after the other."""

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

from fluxlite.receipts import Seconds, duration

from ..draw.pictures import BLUE, GREY, as_written, look, plots


def program_phases(*options: str) -> dict[str, Seconds]:
    """Run lesson 05's program, `fluxlite_course.sine_wave`, in a fresh process: the seconds of each of its phases.

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


def time_bars(times: Mapping[str, Seconds], log: bool = False, notes: Mapping[str, str] | None = None) -> Any:
    """A bar for each time, in the look of its kind, with its value and kind. `notes` adds words, for some or all bars.

    Raises `ValueError` without times.

    >>> times = {"asked for": fl.Seconds(2e-5, "simulated"), "waited for": fl.Seconds(3e-3, "simulated")}
    >>> figure = time_bars(times, log=True)
    """
    if not times:
        raise ValueError("time_bars takes at least one time, got none")
    figure, axes = plots(height=0.9 + 0.62 * len(times))
    least, most = min(map(float, times.values())), max(map(float, times.values()))
    for name, seconds in times.items():
        colour, at = look(seconds.kind)["color"], (float(seconds), as_written(name))
        hollow = {"color": "white", "edgecolor": colour, "linestyle": "--", "linewidth": 2}
        axes.barh(at[1], at[0], height=0.6, **(hollow if seconds.kind == "simulated" else {"color": colour}))
        said = f"{duration(seconds)} {seconds.kind}" + (f", {notes[name]}" if notes and name in notes else "")
        axes.annotate(as_written(said), at, (6, 0), textcoords="offset points", va="center", fontsize=12)
    axes.invert_yaxis()
    axes.set(xlim=(0, 1.45 * most), xlabel="time")
    if log:
        axes.set(xscale="log", xlim=(least / 3, most * max(30.0, (most / least) ** 0.9)))
        axes.set(xlabel="time, on a log scale: each bar says its value")
    axes.set_xticks([])
    axes.minorticks_off()
    axes.spines["bottom"].set_visible(False)
    return figure
