"""Lesson 06's pictures: times as bars, with a button that zooms in, and the explorer of `crossover`."""

import itertools
import json
import math
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fluxlite.devices.receipts import Seconds, duration
from simgpu import PRESETS

from ..crossing import BATCHES, SIZES, axes_of, crossover, lines, record, recorded
from ..scenes import Each, Knob, Part, Scene, drawing, label, rounded

START = "start Python, NumPy, fluxlite"
COPIES = {"x, y in and the loss out": True, "none": False}
WAITS = {"waited for": True, "not waited for": False}
_UNWAITED = {True: "copying the loss back waits anyway", False: "orders only: the work isn't in it"}
_LEFT, _RIGHT, _ROW = 6, 632, 56
_METRES = 0.16  # of screen: about as wide as the picture is there


def program_phases(*options: str) -> dict[str, Seconds]:
    """Run lesson 04's program, `fluxlite_course.sine_wave`, in a fresh process: the seconds of each of its phases.

    The first one is what the program can't see: the start of Python, and its imports. ``"--gpu"`` is an option. Where
    no other program can be started, as in a browser, these are recorded times, of the program without options.
    """
    begin = time.perf_counter()
    command = [sys.executable, "-m", "fluxlite_course.sine_wave", *options]
    try:
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except OSError:
        return _recorded_phases()
    total, inside = time.perf_counter() - begin, json.loads(output.splitlines()[-1])
    phases = {START: total - sum(inside.values()), **inside}
    return {name: Seconds(seconds, "measured") for name, seconds in phases.items()}


def _recorded_phases() -> dict[str, Seconds]:
    names = [entry["phase"] for entry in record("xeon-program")["measurements"]]
    return {name: recorded("program", name="xeon-program", phase=name) for name in names}


def time_bars(times: Mapping[str, Seconds | float], blue: str = "", zoom: bool = False, in_turn: bool = False) -> Scene:
    """A bar for each time. Those whose name starts with `blue` are blue. A plain number is a time of the simulated T4.

    With `zoom`, a button makes all bars ten times as long, until you see the shortest one. With `in_turn`, each bar
    begins where the last one ended.

    >>> time_bars({"orders": 2.0, "bytes": 4e-4}, zoom=True).at(zoom="× 1,000")
    'orders: 2 s simulated. bytes: 400 µs simulated. Zoomed in 1,000 times: the longest bar is 160 m long.'
    """
    kept = {name: t if isinstance(t, Seconds) else Seconds(t, "simulated") for name, t in times.items()}
    seconds, bottom = list(map(float, kept.values())), _ROW * len(kept)
    begins = [0.0, *itertools.accumulate(seconds)] if in_turn else [0.0] * len(seconds)
    most = sum(seconds) if in_turn else max(seconds)
    zooms = [10**power for power in range(math.ceil(math.log10(most / min(seconds)) - 1e-9))] if zoom else [1]
    every = " ".join(f"{name}: {duration(took)} {took.kind}." for name, took in kept.items())
    said = _caption(kept, blue, in_turn) if len(kept) > 2 else every
    parts, sentences = list[Part](), [said]
    for row, (name, took) in enumerate(kept.items()):
        look = "gpu" if took.kind == "simulated" else "rest"
        if blue and name.startswith(blue):
            look = "host"
        parts += _bar(row * _ROW, name, took, look, begins[row] / most, [float(took) / most * by for by in zooms])
    if zoom or in_turn:
        parts.append(Part("path", class_="axis", d=f"M{_LEFT} {bottom + 4}v8H{_RIGHT}v-8"))
        parts.append(label(_LEFT, bottom + 34, Each(f"the whole width is {duration(most / by)}" for by in zooms)))
        bottom += 42
    reaches = [""]
    for by in zooms[1:]:
        metres = _METRES * by
        reaches.append(f"the longest bar is {f'{metres / 1e3:,g} km' if metres > 999 else f'{metres:g} m'} long")
        sentences.append(f"{said} Zoomed in {by:,} times: {reaches[-1]}.")
    parts.append(label(_RIGHT, bottom - 8, Each(reaches), "bold end"))
    knobs = [Knob("zoom", [f"× {by:,}" for by in zooms], slider=True, ms=900, press="× 10")] if zoom else []
    return Scene(drawing(640, bottom, f"Times as bars. {every}", *parts), knobs, sentences)


def _caption(times: Mapping[str, Seconds], blue: str, in_turn: bool) -> str:
    """What many bars come to: each says its own time, and so does the picture's name for a screen reader."""
    kind = next(iter(times.values())).kind
    if in_turn:
        total, share = sum(times.values()), sum(took for name, took in times.items() if name.startswith(blue))
        return f"In all: {duration(total)} {kind}. Blue, {blue}: {duration(share)}, {share / total:.0%}."
    longest, shortest = (choose(times, key=times.__getitem__) for choose in (max, min))
    return (
        f"The longest: {longest}, {duration(times[longest])} {times[longest].kind}. "
        f"The shortest: {shortest}, {duration(times[shortest])} {times[shortest].kind}."
    )


def _bar(y: float, name: str, time: Seconds, look: str, begin: float, shares: list[float]) -> Iterator[Part]:
    """A bar and the words above it. A bar that doesn't fit goes on beyond the picture's edge, and says so."""
    wide = _RIGHT - _LEFT
    (x,), widths = rounded([_LEFT + begin * wide]), rounded(min(share, 1.2) * wide for share in shares)
    yield label(_LEFT, y + 20, name)
    yield label(_RIGHT, y + 20, f"{duration(time)} {time.kind}", f"{look} bold end")
    yield Part("rect", class_=f"{look} glide", x=x, y=y + 28, width=Each(widths), height=22)
    yield label(_RIGHT - 6, y + 44, Each("goes on →" if share > 1 + 1e-9 else "" for share in shares), "inside end")


def crossover_explorer(batch: int = 64, cards: Sequence[str] = tuple(PRESETS)) -> Scene:
    """All settings of `crossover` for these `cards`. `batch` and the first card are shown first.

    >>> crossover_explorer(cards=["NVIDIA T4"]).at(batch="1")
    'One training step, batch 1, ... The lines cross at a hidden size of about 426. From 512 on the GPU wins; ...'
    """
    crossover(batch)  # raises with a better message than we would
    settings: Any = {"card": cards, "batch": BATCHES, "copies": COPIES, "the GPU": WAITS}
    chosen = itertools.product(*settings.values())
    found = [crossover(size, card, COPIES[copies], WAITS[waits]) for card, size, copies, waits in chosen]
    crossings = [each.crossing for each in found]
    xs = [crossing and axes_of(SIZES)[0](crossing) for crossing in crossings]
    unwaited = [_UNWAITED[each.settings["copies"]] * (not each.settings["wait"]) for each in found]
    picture = drawing(
        640, 396, "Time of one training step by hidden size, on a CPU and on a GPU, both axes logarithmic",
        Part("path", class_="axis", d=Each(x and f"M{x} 66V326" for x in xs)),
        label(Each(x and x + 8 for x in xs), 316,
              Each(crossing and f"they cross at {crossing:.0f}" for crossing in crossings)),
        *lines([each.cpu for each in found], [each.gpu for each in found], "hidden size",
               Each(f"{each.settings['card']}, simulated" for each in found)),
        label(622, 19, Each(unwaited), "wait bold end"),
    )  # fmt: skip
    knobs = [Knob(name, list(map(str, some))) for name, some in settings.items()]
    sentences = [f"{each.caption} {each.conclusion}" for each in found]
    return Scene(picture, knobs, sentences, [0, BATCHES.index(batch), 0, 0])
