"""Record how long this machine's CPU takes for a training step. Lesson 06 and its widget draw this as *recorded*.

    python -m benchmarks.record_cpu fluxlite_course/recorded/NAME.json [--threads 1] [--rounds 9] [--what waves]

With ``--what loop``, it's lesson 08's whole training as one loop in C, which takes a C compiler. With ``--what
program``, it's the phases of lesson 04's program, which lesson 06 starts: each round starts it once.

The record says on which processor, when and with what it was made; `fluxlite_course.crossing` reads it. It's a list of
measurements with all repeats, like the one for `fluxlite.calibrate`.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import fluxlite
from fluxlite_course import sine_wave
from fluxlite_course.crossing import BATCHES, SIZES, arrays
from fluxlite_course.lesson06.pictures import START
from fluxlite_course.lesson07.pictures import (
    DIGITS,
    RECORDED,
    REPLAYED,
    STEPS,
    WAVES,
    digits_step,
    points_of,
    replayed_epoch,
)
from fluxlite_course.lesson08.many_networks import one_loop

from .harness import in_a_process, processor
from .record import text

HOW = (
    "Seconds. Each repeat is the mean of as many runs as fill 2 ms, after one that does not count; "
    "the rounds go through all measurements, one repeat each. With one thread, a repeat during which another program "
    "took the processor was made again."
)
HOW_A_PROGRAM = (
    "Seconds of the processor, on which the program is alone. Each repeat is one start of the whole program, "
    "`python -m fluxlite_course.sine_wave`."
)
PRODUCT = 2048
# A thread's time on the clock equals its time on the processor, unless other programs used the processor too.
DISTURBED, TRIES = 1.05, 400
Case = dict[str, Any]


def cases(what: str) -> list[Case]:
    """What to measure: lesson 08's ``"loop"``, lesson 07's ``"waves"``, ``"replays"`` of them and ``"digits"``, or
    lesson 06's ``"sizes"``.

    Of the sizes, Float64 is measured only for one batch size.
    """

    def step(hidden: int, batch: int, dtype: str = "float32") -> Case:
        return {"what": "training step", "hidden": hidden, "batch": batch, "dtype": dtype}

    return {
        "loop": [{"what": "whole training", "language": "C", "hidden": 6, "batch": 1, "dtype": "float32"}],
        "digits": [{"what": "digits step", "batch": batch, "dtype": "float32"} for batch in DIGITS],
        "waves": [step(6, batch) for batch in WAVES],
        "replays": [{**step(6, batch), "what": "step of a replayed epoch"} for batch in REPLAYED],
        "sizes": [
            *(step(hidden, batch) for batch in BATCHES for hidden in SIZES),
            *(step(hidden, 1, "float64") for hidden in (6, *SIZES)),
            step(6, 1),
            {"what": "product", "n": PRODUCT, "dtype": "float32"},
        ],
    }[what]


def once(case: Case, alone: bool) -> float:
    """One repeat of a measurement. With `alone`, it's one that no other program disturbed."""
    run = ready(case)
    for _ in range(TRIES):
        start, used = time.perf_counter(), time.process_time()
        seconds = mean_time(run) / (STEPS if case["what"] == "step of a replayed epoch" else 1)
        passed, used = time.perf_counter() - start, time.process_time() - used
        if not alone or passed <= used * DISTURBED:
            return seconds
        time.sleep(0.05)
    raise SystemExit(f"this machine is too busy to record anything: {case}")


def ready(case: Case) -> Callable[[], Any]:
    """The function to time, which has run once already."""
    run: Callable[[], Any]
    if case["what"] == "whole training":
        run = functools.partial(one_loop, *sine_wave.problem())
    elif case["what"] == "digits step":
        train, taken = digits_step(case["batch"])
        run = functools.partial(train, *taken)
    elif case["what"] == "training step":
        run = training_step(case["hidden"], case["batch"], case["dtype"])
    elif case["what"] == "step of a replayed epoch":
        run = replayed_epoch(*filled(points_of(case["batch"])), rate=0.0)
        for _ in range(RECORDED):
            run()
    else:
        x = np.ones((case["n"], case["n"]), case["dtype"])
        run = functools.partial(np.matmul, x, x)
    run()
    return run


def filled(made: list[np.ndarray]) -> list[np.ndarray]:
    """These arrays, with random numbers in them."""
    random = np.random.default_rng(1)
    for array in made:
        array[...] = random.standard_normal(array.shape, np.float32) / np.sqrt(array.shape[-1])
    return made


def training_step(hidden: int, batch: int, dtype: Any) -> Callable[[], Any]:
    """A training step on the CPU."""
    x, y, memory, w1, w2 = filled(arrays(hidden, batch, dtype))
    # A rate of 0 takes the same work, and keeps the numbers.
    return functools.partial(sine_wave.training_step, x, y, memory, w1, w2, rate=0.0)


def mean_time(run: Callable[[], Any], at_least: float = 2e-3) -> float:
    """The mean time of enough runs to fill this many seconds, since one run is too short for the clock."""
    start, count, passed = time.perf_counter(), 0, 0.0
    while passed < at_least:
        run()
        count += 1
        passed = time.perf_counter() - start
    return passed / count


def measurements(rounds: int, alone: bool, what: str) -> list[Case]:
    """All cases with their repeats, rounded to four digits."""
    if what == "program":
        return program(rounds)
    found: list[Case] = [{**case, "repeats": []} for case in cases(what)]
    for _ in range(rounds):
        for case in found:
            case["repeats"].append(float(f"{once(case, alone):.4g}"))
    return found


def program(rounds: int) -> list[Case]:
    """The phases of the whole program, in order, after one run that doesn't count."""
    names = list(processor_phases())
    found: list[Case] = [{"what": "program", "phase": name, "dtype": "float32", "repeats": []} for name in names]
    for _ in range(rounds):
        for case, seconds in zip(found, processor_phases().values()):
            case["repeats"].append(float(f"{seconds:.4g}"))
    return found


def processor_phases() -> dict[str, float]:
    """Lesson 06's phases of a program, by the processor's clock: it stands still while other programs run."""
    code = "import time; time.perf_counter = time.process_time; from fluxlite_course.sine_wave import main; main([])"
    before = os.times()
    inside = json.loads(in_a_process(code))
    after = os.times()
    total = after.children_user + after.children_system - before.children_user - before.children_system
    return {START: total - sum(inside.values()), **inside}


def record(threads: int, rounds: int, what: str) -> dict[str, Any]:
    """The whole record, measured in a process of its own with this many threads."""
    asked = f"measurements({rounds}, {threads == 1}, {what!r})"
    found = in_a_process(f"import json, benchmarks.record_cpu as r; print(json.dumps(r.{asked}))", threads=threads)
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
        "how": HOW_A_PROGRAM if what == "program" else HOW,
        "measurements": json.loads(found),
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.record_cpu", description="record a CPU's times")
    parser.add_argument("file", type=Path, help="the JSON file to write")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--what", choices=("sizes", "waves", "replays", "digits", "loop", "program"), default="sizes")
    options = parser.parse_args(arguments)
    options.file.write_text(text(record(options.threads, options.rounds, options.what)), encoding="utf-8")
    print(f"wrote {options.file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
