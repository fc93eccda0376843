"""What memory takes: growth over 1,000 calls, the peak of a training step beside PyTorch's, files, and receipts.

Nothing that a call makes may outlive it, so there's no growth.
"""

from __future__ import annotations

import gc
import sys
import tempfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from . import rnn, transformer
from .harness import Judgement, in_a_process, judge, text_table

CALLS, WARM_UP = 1_000, 100
# The smallest Python object has 16 bytes: a call that leaks one adds at least 16 KB in 1,000 calls.
MORE_BYTES = 16_000
# One leaked object per ten calls. Less is a cache that's still filling.
MORE_OBJECTS = CALLS // 10


class Growth(NamedTuple):
    traced: int  # bytes that Python and NumPy have allocated and not freed, according to tracemalloc
    objects: int  # objects that the garbage collector tracks
    cycles: int  # unreachable objects that only the collector freed; on a GPU they'd hold memory until then


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
        gc.disable()
        objects, traced = len(gc.get_objects()), tracemalloc.get_traced_memory()[0]
        for _ in range(calls):
            function()
        cycles = _collect()
        return Growth(tracemalloc.get_traced_memory()[0] - traced, len(gc.get_objects()) - objects, cycles)
    finally:
        gc.enable()
        tracemalloc.stop()


def cases() -> dict[str, Callable[[], object]]:
    """One step of the RNN in each of fluxlite's styles. Each case is a function without arguments."""
    import fluxlite as fl

    x, y, w1, w2 = rnn.problem()
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


def report_of_growth() -> list[Judgement]:
    lines, judgements = [["growth over 1,000 calls", "bytes", "objects", "left to the collector"]], []
    for name, function in cases().items():
        grown = growth(function)
        lines.append([name, *map(str, grown)])
        for figure, limit, what in ((grown.traced, MORE_BYTES, "bytes"), (grown.objects, MORE_OBJECTS, "objects")):
            judgements.append(judge(f"{name}: at most {limit:,} {what} more", figure, limit, "{:+,}"))
    print(f"Memory: measured, {CALLS:,} calls after {WARM_UP} to warm up")
    print(text_table(lines), end="\n\n")
    return judgements


# -- what a process had at most: each of these runs in one of its own, since that can't be forgotten everywhere ----

STATUS = Path("/proc/self/status")  # only Linux has it
GIGABYTE, ARRAYS = 1 << 30, 8
# A step: ours, PyTorch's, and its batch.
PEAKS = {
    "LSTM": (rnn.lstm, rnn.lstm_torch, 256),
    "transformer's block": (transformer.block, transformer.block_torch, 256),
}
LAUNCHES = 100_000  # of the events after these, a receipt keeps only the number


def resident(most: bool = False) -> int:
    """The bytes of this process, now or at most so far."""
    return int(STATUS.read_text().split("VmHWM:" if most else "VmRSS:")[1].split()[0]) * 1024


def of_file(what: str, path: str) -> float:
    """What saving a model of a gigabyte takes, or loading into one, as a part of its size."""
    import fluxlite as fl

    fl.save(f"{path}.first", x=np.ones(3))  # imports what it needs
    fl.load(f"{path}.first")
    model = {f"w{i}": np.full(GIGABYTE // ARRAYS // 4, what == "save", np.float32) for i in range(ARRAYS)}
    before = resident()
    (fl.save if what == "save" else fl.load)(path, model)
    assert all(x.all() for x in model.values())
    return (resident(most=True) - before) / GIGABYTE


def of_step(name: str, library: str) -> float:
    """How many megabytes a step takes at most, beyond those before."""
    make, batch = PEAKS[name][library == "torch"], PEAKS[name][2]
    make(2)()  # imports what it needs
    step = make(batch)
    before = resident()
    Path("/proc/self/clear_refs").write_text("5")  # now the most that it ever had is what it has
    step()
    return (resident(most=True) - before) / 1e6


def of_receipt() -> float:
    """The megabytes that a receipt of so many launches takes."""
    import fluxlite as fl

    fl.simulate_gpu()
    x = fl.gpu(np.ones(4, np.float32))
    with fl.receipt():
        x + x
    before = resident()
    with fl.receipt() as kept:
        for _ in range(LAUNCHES):
            x + x
    assert kept
    return (resident() - before) / 1e6


def apart(function: str, *arguments: str) -> float:
    """What a function of this module says in a process of its own."""
    return float(in_a_process(f"import sys; from benchmarks import memory; print(memory.{function}(*sys.argv[1:]))",
                              *arguments))  # fmt: skip


def report_of_peaks() -> list[Judgement]:
    lines, judgements = [["taken at most", "", "PyTorch's"]], []
    with tempfile.TemporaryDirectory() as folder:
        for what, limit in (("save", 1 / ARRAYS), ("load", 1.1)):
            share = apart("of_file", what, f"{folder}/m")
            lines.append([f"{what}, {GIGABYTE >> 20:,} MB in {ARRAYS} arrays", f"{share:.3f} of its size"])
            judgements.append(judge(f"{what}: at most {limit:g} of a model's size", share, limit, "{:.3f}"))
    for name, (*_, batch) in PEAKS.items():
        ours, theirs = (apart("of_step", name, library) for library in ("fluxlite", "torch"))
        lines.append([f"{name}, a step, batch {batch}", f"{ours:.1f} MB", f"{theirs:.1f} MB"])
        judgements.append(judge(f"{name}, a step's peak: at most 1.3x PyTorch's", ours / theirs, 1.3))
    lines.append([f"a receipt of {LAUNCHES:,} launches or more", f"{apart('of_receipt'):.0f} MB"])
    print("Peaks: measured, beside what's there before")
    print(text_table(lines), end="\n\n")
    return judgements


def report(rounds: int) -> list[Judgement]:
    """These are counts, not times, so one round is enough, whatever `rounds` says."""
    return report_of_growth() + (report_of_peaks() if STATUS.exists() else [])
