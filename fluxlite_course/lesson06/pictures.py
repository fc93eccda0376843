"""Lesson 06's bars: times side by side, with a button that zooms in, and the phases of a program."""

import json
import math
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping

from fluxlite.receipts import Seconds, duration

from ..scenes import Each, Knob, Part, Scene, drawing, label, rounded

_LEFT, _RIGHT, _ROW = 6, 632, 56
_METRES = 0.16  # of screen: about as wide as the picture is there


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


def time_bars(times: Mapping[str, Seconds | float], blue: str = "", zoom: bool = False) -> Scene:
    """A bar for each time. Those whose name starts with `blue` are blue. A number is a time of the simulated T4.

    With `zoom`, a button makes all bars ten times as long, until the shortest one is there.

    >>> time_bars({"orders": 2.0, "bytes": 4e-4}, zoom=True).at(zoom="× 1,000")
    'orders: 2 s simulated. bytes: 400 µs simulated. Zoomed in 1,000 times: the longest bar is 160 m long.'
    """
    kept = {name: t if isinstance(t, Seconds) else Seconds(t, "simulated") for name, t in times.items()}
    most, least = max(map(float, kept.values())), min(map(float, kept.values()))
    zooms = [10**power for power in range(math.ceil(math.log10(most / least) - 1e-9))] if zoom else [1]
    bars = [part for row, name in enumerate(kept) for part in _bar(row, name, kept[name], blue, zooms, most)]
    bottom = _ROW * len(kept)
    said = " ".join(f"{name}: {duration(time)} {time.kind}." for name, time in kept.items())
    if not zoom:
        return Scene(drawing(640, bottom, "Times as bars", *bars), [], [said])
    lengths = [_METRES * zoom for zoom in zooms]
    reaches = ["", *(f"the longest bar is {f'{m / 1e3:,g} km' if m > 999 else f'{m:g} m'} long" for m in lengths[1:])]
    ruler = Part("path", class_="axis", d=f"M{_LEFT} {bottom + 4}v8H{_RIGHT}v-8")
    width = label(_LEFT, bottom + 34, Each(f"the whole width is {duration(most / zoom)}" for zoom in zooms))
    reach = label(_RIGHT, bottom + 34, Each(reaches), "bold end")
    picture = drawing(640, bottom + 42, "Times as bars", *bars, ruler, width, reach)
    sentences = [said, *(f"{said} Zoomed in {zoom:,} times: {words}." for zoom, words in zip(zooms[1:], reaches[1:]))]
    knob = Knob("zoom", [f"× {zoom:,}" for zoom in zooms], slider=True, ms=900, press="× 10")
    return Scene(picture, [knob], sentences)


def _bar(row: int, name: str, time: Seconds, blue: str, zooms: list[int], most: float) -> Iterator[Part]:
    """A bar and the words above it. What doesn't fit in goes on beyond the picture's edge, and says so."""
    y, others = row * _ROW, "gpu" if time.kind == "simulated" else "rest"
    look = "host" if blue and name.startswith(blue) else others
    shares = [float(time) / most * zoom for zoom in zooms]
    widths = Each(rounded(min(share, 1.2) * (_RIGHT - _LEFT) for share in shares))
    yield label(_LEFT, y + 20, name)
    yield label(_RIGHT, y + 20, f"{duration(time)} {time.kind}", f"{look} bold end")
    yield Part("rect", class_=f"{look} glide", x=_LEFT, y=y + 28, width=widths, height=22)
    yield label(_RIGHT - 6, y + 44, Each("goes on →" if share > 1 + 1e-9 else "" for share in shares), "inside end")
