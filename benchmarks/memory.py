"""Does memory grow over 1,000 calls? Nothing that a call makes may outlive it."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .harness import Judgement, judge, text_table
from .sine_wave import problem

CALLS, WARM_UP = 1_000, 100
# The smallest Python object has 16 bytes: a call that leaks one adds at least 16 KB in 1,000 calls.
MORE_BYTES = 16_000
# One leaked object per ten calls. Less is a cache that's still filling.
MORE_OBJECTS = CALLS // 10


@dataclass(frozen=True)
class Growth:
    traced: int  # bytes that Python and NumPy have allocated and not freed, according to tracemalloc
    objects: int  # objects that the garbage collector tracks
    resident: int | None  # the process's bytes, for information only: an allocator may keep freed pages
    cycles: int  # unreachable objects that only the collector freed; on a GPU they'd hold memory until then


def resident_bytes() -> int | None:
    """VmRSS of this process, or None without /proc."""
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    return int(status.read_text().split("VmRSS:")[1].split()[0]) * 1024


def _collect() -> int:
    """Collect garbage, and empty the interpreter's own cache of attribute names, which isn't ours.

    NumPy's `array.flags.writeable = …` looks up "setflags" with a new string each time, and that cache holds up to
    4,096 of them. So it grows for many thousand calls, and then stops.
    """
    collected = gc.collect()
    # Its name since Python 3.13, which deprecates the older one
    clear = getattr(sys, "_clear_internal_caches", None) or sys._clear_type_cache
    clear()
    return collected


def growth(function: Callable[[], object], calls: int = CALLS, warm_up: int = WARM_UP) -> Growth:
    """How much more memory is in use after this many calls, beyond what the warm-up calls filled.

    The collector is off meanwhile, so that we can count what's left to it.
    """
    tracemalloc.start()  # before the warm-up, whose memory a later call may free
    try:
        for _ in range(warm_up):
            function()
        _collect()
        was_on = gc.isenabled()
        gc.disable()
        try:
            resident, objects = resident_bytes(), len(gc.get_objects())
            traced = tracemalloc.get_traced_memory()[0]
            for _ in range(calls):
                function()
            more_resident = None if resident is None else (resident_bytes() or 0) - resident
            cycles = _collect()
            more_traced = tracemalloc.get_traced_memory()[0] - traced
            return Growth(more_traced, len(gc.get_objects()) - objects, more_resident, cycles)
        finally:
            if was_on:
                gc.enable()
    finally:
        tracemalloc.stop()


def cases() -> dict[str, Callable[[], object]]:
    """One step of the RNN in each of fluxlite's styles. Each case is a function without arguments."""
    import fluxlite as fl

    x, y, w1, w2 = problem()
    xh = np.concatenate([x[:1], np.zeros((1, 6), np.float32)], axis=1)

    def loss(w1, w2):
        return np.sum((np.tanh(xh @ w1) @ w2 - y[:1]) ** 2) / 2

    p1, p2 = fl.param(w1.copy()), fl.param(w2.copy())

    def forward_and_back():
        fl.back(loss(p1, p2))
        p1.grad[...] = 0
        p2.grad[...] = 0

    return {
        "gradient(loss, w1, w2)": lambda: fl.gradient(loss, w1, w2),
        "forward with params, never back": lambda: loss(p1, p2),
        "forward with params and back": forward_and_back,
    }


def report(rounds: int) -> list[Judgement]:
    """These are counts, not times, so one round is enough, whatever `rounds` says."""
    measured = {name: growth(function) for name, function in cases().items()}
    lines = [["growth over 1,000 calls", "bytes", "objects", "left to the collector", "resident KB (info)"]]
    judgements = []
    for name, grown in measured.items():
        resident = "unknown" if grown.resident is None else f"{grown.resident / 1e3:.0f}"
        lines.append([name, f"{grown.traced}", f"{grown.objects}", f"{grown.cycles}", resident])
        for figure, limit, what in (
            (grown.traced, MORE_BYTES, "bytes"),
            (grown.objects, MORE_OBJECTS, "objects"),
        ):
            judgements.append(judge(f"{name}: at most {limit:,} {what} more", figure, limit, "{:+,}"))
    print(f"Memory: measured, {CALLS:,} calls after {WARM_UP} to warm up")
    print(text_table(lines), end="\n\n")
    return judgements
