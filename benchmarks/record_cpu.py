"""Record how long this machine's CPU takes for a training step. Lesson 06 and its widget draw this as *recorded*.

    python -m benchmarks.record_cpu fluxlite_course/recorded/NAME.json [--threads 1] [--rounds 9] [--what waves]

With ``--what loop``, it's lesson 08's whole training as one loop in C, which takes gcc.

The record says on which processor, when and with what it was made; `fluxlite_course.crossing` reads it. It's a list of
measurements with all repeats, like the one for `fluxlite.calibrate`.
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
import functools
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import fluxlite
from fluxlite_course import sine_wave
from fluxlite_course.crossing import BATCHES, SIZES, arrays
from fluxlite_course.lesson07.pictures import DIGITS, WAVES, digits_step

from .harness import ROOT, thread_settings

HOW = (
    "Seconds. Each repeat is the mean of as many runs as fill 2 ms, after one that does not count; "
    "the rounds go through all measurements, one repeat each. With one thread, a repeat during which another program "
    "took the processor was made again."
)
PRODUCT = 2048
# A thread's time on the clock equals its time on the processor, unless other programs used the processor too.
DISTURBED, TRIES = 1.05, 400
Case = dict[str, Any]


def cases(what: str) -> Iterator[Case]:
    """What to measure: lesson 08's ``"loop"``, lesson 07's ``"waves"`` and ``"digits"``, or lesson 06's ``"sizes"``.

    Of the sizes, Float64 is measured only for one batch size.
    """
    if what == "loop":
        yield {"what": "whole training", "language": "C", "hidden": 6, "batch": 1, "dtype": "float32"}
        return
    if what == "digits":
        for batch in DIGITS:
            yield {"what": "digits step", "batch": batch, "dtype": "float32"}
        return
    if what == "waves":
        for batch in WAVES:
            yield {"what": "training step", "hidden": 6, "batch": batch, "dtype": "float32"}
        return
    for batch in BATCHES:
        for hidden in SIZES:
            yield {"what": "training step", "hidden": hidden, "batch": batch, "dtype": "float32"}
    for hidden in (6, *SIZES):
        yield {"what": "training step", "hidden": hidden, "batch": 1, "dtype": "float64"}
    yield {"what": "training step", "hidden": 6, "batch": 1, "dtype": "float32"}
    yield {"what": "product", "n": PRODUCT, "dtype": "float32"}


def once(case: Case, alone: bool) -> float:
    """One repeat of a measurement. With `alone`, it's one that no other program disturbed."""
    run = ready(case)
    for _ in range(TRIES):
        start, used = time.perf_counter(), time.process_time()
        seconds = mean_time(run)
        passed, used = time.perf_counter() - start, time.process_time() - used
        if not alone or passed <= used * DISTURBED:
            return seconds
        time.sleep(0.05)
    raise SystemExit(f"this machine is too busy to record anything: {case}")


def ready(case: Case) -> Callable[[], Any]:
    """The function to time, which has run once already."""
    if case["what"] == "whole training":
        run = functools.partial(one_loop, *sine_wave.problem())
        run()
        return run
    if case["what"] == "digits step":
        train, taken = digits_step(case["batch"])
        run = functools.partial(train, *taken)
        run()
        return run
    if case["what"] == "training step":
        return prepared(case["hidden"], case["batch"], case["dtype"])
    x = np.ones((case["n"], case["n"]), case["dtype"])
    run = functools.partial(np.matmul, x, x)
    run()
    return run


def prepared(hidden: int, batch: int, dtype: Any) -> Callable[[], Any]:
    """A training step on the CPU as a function to time. It has run once already."""
    random = np.random.default_rng(1)
    x, y, memory, w1, w2 = made = arrays(hidden, batch, dtype)
    for array in made:
        array[...] = random.standard_normal(array.shape, np.float32) / np.sqrt(array.shape[-1])
    # A rate of 0 takes the same work, and keeps the numbers.
    run = functools.partial(sine_wave.training_step, x, y, memory, w1, w2, rate=0.0)
    run()
    return run


def mean_time(run: Callable[[], Any], at_least: float = 2e-3) -> float:
    """The mean time of enough runs to fill this many seconds, since one run is too short for the clock."""
    start, count, passed = time.perf_counter(), 0, 0.0
    while passed < at_least:
        run()
        count += 1
        passed = time.perf_counter() - start
    return passed / count


@functools.cache
def compiled() -> Callable[..., None]:
    """``training`` of one_loop.c, compiled here."""
    with tempfile.TemporaryDirectory() as folder:
        library = os.path.join(folder, "one_loop.so")
        source = str(Path(__file__).with_name("one_loop.c"))
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", source, "-o", library, "-lm"], check=True)
        training = ctypes.CDLL(library).training
    array = np.ctypeslib.ndpointer(np.float32, flags="C_CONTIGUOUS")
    training.argtypes, training.restype = [array] * 5 + [ctypes.c_int, ctypes.c_float], None
    return training


def one_loop(x: np.ndarray, y: np.ndarray, w1: np.ndarray, w2: np.ndarray) -> np.ndarray:
    """The losses of lesson 08's training, 200 epochs at a rate of 0.1, by one_loop.c. It leaves the weights alone."""
    losses = np.zeros(200, np.float32)
    compiled()(x, y, w1.copy(), w2.copy(), losses, 200, 0.1)
    return losses


def measurements(rounds: int, alone: bool, what: str) -> list[Case]:
    """All cases with their repeats, rounded to four digits."""
    found: list[Case] = [{**case, "repeats": []} for case in cases(what)]
    for _ in range(rounds):
        for case in found:
            case["repeats"].append(float(f"{once(case, alone):.4g}"))
    return found


def worker(rounds: int, alone: bool, what: str) -> None:
    """Measure in this process. The figures are the last line of standard output."""
    print(json.dumps(measurements(rounds, alone, what)))


def processor() -> str:
    """The processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next(
        (line.partition(": ")[2].strip() for line in lines if line.startswith("model name")), platform.machine()
    )


def record(threads: int, rounds: int, what: str) -> dict[str, Any]:
    """The whole record, measured in a process of its own with this many threads."""
    code = f"from benchmarks.record_cpu import worker; worker({rounds}, {threads == 1}, {what!r})"
    environment = os.environ | thread_settings(threads)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]  # type: ignore[call-overload, index]
    return {
        "cpu": processor(),
        "cores": os.cpu_count(),
        "threads": threads,
        "system": f"{platform.system()} {platform.machine()}",
        "date": datetime.date.today().isoformat(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "blas": f"{blas['name']} {blas['version']}",
        "fluxlite": fluxlite.__version__,
        "made_by": "python -m benchmarks.record_cpu",
        "how": HOW,
        "measurements": json.loads(done.stdout.splitlines()[-1]),
    }


def text(record: dict[str, Any]) -> str:
    """A record as JSON with one measurement per line."""
    head = json.dumps({name: value for name, value in record.items() if name != "measurements"}, indent=1)
    rows = ",\n".join(f"  {json.dumps(row)}" for row in record["measurements"])
    return head.removesuffix("\n}") + f',\n "measurements": [\n{rows}\n ]\n}}\n'


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.record_cpu", description="record a CPU's times")
    parser.add_argument("file", type=Path, help="the JSON file to write")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--what", choices=("sizes", "waves", "digits", "loop"), default="sizes")
    options = parser.parse_args(arguments)
    options.file.write_text(text(record(options.threads, options.rounds, options.what)), encoding="utf-8")
    print(f"wrote {options.file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
