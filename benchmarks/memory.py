"""What memory takes: growth over 1,000 calls, the peak of a training step beside PyTorch's, files, and receipts.

Nothing that a call makes may outlive it, so there's no growth.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from .harness import ROOT, Judgement, judge, text_table, thread_settings
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
        was_on = gc.isenabled()
        gc.disable()
        try:
            objects = len(gc.get_objects())
            traced = tracemalloc.get_traced_memory()[0]
            for _ in range(calls):
                function()
            cycles = _collect()
            more_traced = tracemalloc.get_traced_memory()[0] - traced
            return Growth(more_traced, len(gc.get_objects()) - objects, cycles)
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


# -- files ---------------------------------------------------------------------------------------------------------

GIGABYTE, ARRAYS = 1 << 30, 8
# A process of its own, since the most memory that a process ever had can't be forgotten everywhere.
_SAVER = """
import sys
import numpy as np
import fluxlite as fl
from benchmarks.memory import resident_bytes
path, what, size, arrays = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
fl.save(path + ".first", x=np.ones(3))  # imports what it needs
fl.load(path + ".first")
model = {f"w{i}": np.full(size // arrays // 4, what == "save", np.float32) for i in range(arrays)}
before = resident_bytes()
(fl.save if what == "save" else fl.load)(path, model)
print(resident_bytes(most=True) - before)
assert all(x.all() for x in model.values())
"""


def resident_bytes(most: bool = False) -> int | None:
    """The memory of this process, now or at most so far; None without /proc."""
    status, name = Path("/proc/self/status"), "VmHWM:" if most else "VmRSS:"
    return int(status.read_text().split(name)[1].split()[0]) * 1024 if status.exists() else None


def of_files(size: int = GIGABYTE) -> dict[str, float] | None:
    """How many bytes saving a model of this size takes, and loading into one, each divided by the size."""
    if resident_bytes(most=True) is None:
        return None
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for what in ("save", "load"):
            command = [sys.executable, "-c", _SAVER, f"{folder}/m", what, str(size), str(ARRAYS)]
            said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            found[what] = int(said) / size
    return found


def report_of_files() -> list[Judgement]:
    found = of_files() or {}
    print(f"A model of {GIGABYTE >> 20:,} MB in {ARRAYS} arrays: measured, what it takes beside the model")
    print(text_table([["", "of its size"], *([what, f"{share:.3f}"] for what, share in found.items())]), end="\n\n")
    largest = 1 / ARRAYS
    return [
        judge("save: at most the largest array, of a model's size", found.get("save"), largest, "{:.3f}"),
        judge("load into a model: at most 1.1 of its size", found.get("load"), 1.1, "{:.3f}"),
    ]


# -- a step's peak -------------------------------------------------------------------------------------------------

PEAKS = {"LeNet": 512, "LSTM": 256, "transformer block": 256}  # a step, and its batch
LAUNCHES = 100_000  # of the events after these, a receipt keeps only the number
_PEAK = "import sys; from benchmarks import memory; print(memory.peak(sys.argv[1], sys.argv[2] == 'torch'))"
_RECEIPT = "from benchmarks import memory; print(memory.of_receipt())"


def step_of(name: str, batch: int, torch: bool) -> Callable[[], object]:
    """One step as in the other benchmarks, of a batch of this size."""
    from . import blocks, pictures, recurrent

    if name == "LeNet":
        pictures.BATCH, pictures.STEPS = batch, 1
        return pictures.lenet_torch() if torch else pictures.lenet()
    if name == "LSTM":
        recurrent.COUNT = batch
        return recurrent.lstm_torch() if torch else recurrent.lstm_fluxlite()
    shape = replace(blocks.SMALL, sequences=batch, steps=1)
    return blocks.block_torch(shape) if torch else blocks.block(shape)


def peak(name: str, torch: bool) -> int:
    """How many bytes this process had at most during a step, beyond those before; it's to be a fresh one."""
    step_of(name, 2, torch)()  # imports what it needs
    step = step_of(name, PEAKS[name], torch)
    before = resident_bytes() or 0
    Path("/proc/self/clear_refs").write_text("5")  # now the most that it ever had is what it has
    step()
    return (resident_bytes(most=True) or 0) - before


def of_receipt() -> float:
    """The megabytes that a receipt of so many launches takes."""
    import fluxlite as fl

    fl.simulate_gpu()
    x = fl.gpu(np.ones(4, np.float32))
    with fl.receipt():
        x + x
    before = resident_bytes() or 0
    with fl.receipt() as kept:
        for _ in range(LAUNCHES):
            x + x
    assert kept
    return ((resident_bytes() or 0) - before) / 1e6


def _in_a_process(code: str, *arguments: str) -> float:
    command = [sys.executable, "-c", code, *arguments]
    environment = os.environ | thread_settings()
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout.splitlines()[-1])


def report_of_peaks() -> list[Judgement]:
    if resident_bytes(most=True) is None:
        return []
    lines, judgements = [["a step's peak", "MB", "PyTorch's"]], []
    for name in PEAKS:
        ours, theirs = (_in_a_process(_PEAK, name, library) / 1e6 for library in ("fluxlite", "torch"))
        lines.append([f"{name}, batch {PEAKS[name]}", f"{ours:.1f}", f"{theirs:.1f}"])
        judgements.append(judge(f"{name}, a step's peak: at most 1.3x PyTorch's", ours / theirs, 1.3))
    lines.append([f"a receipt of {LAUNCHES:,} launches or more", f"{_in_a_process(_RECEIPT):.0f}"])
    print("Peaks: measured, what a step takes beside what's there before")
    print(text_table(lines), end="\n\n")
    return judgements


def report(rounds: int) -> list[Judgement]:
    """These are counts, not times, so one round is enough, whatever `rounds` says."""
    measured = {name: growth(function) for name, function in cases().items()}
    lines = [["growth over 1,000 calls", "bytes", "objects", "left to the collector"]]
    judgements = []
    for name, grown in measured.items():
        lines.append([name, f"{grown.traced}", f"{grown.objects}", f"{grown.cycles}"])
        for figure, limit, what in ((grown.traced, MORE_BYTES, "bytes"), (grown.objects, MORE_OBJECTS, "objects")):
            judgements.append(judge(f"{name}: at most {limit:,} {what} more", figure, limit, "{:+,}"))
    print(f"Memory: measured, {CALLS:,} calls after {WARM_UP} to warm up")
    print(text_table(lines), end="\n\n")
    return judgements + report_of_files() + report_of_peaks()
