"""Race contenders in alternating rounds, in one process with one thread, and judge ratios of medians."""

from __future__ import annotations

import gc
import importlib
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

Run = Callable[[], tuple[Any, Any]]  # gives what came out, and what should have
ROOT = Path(__file__).resolve().parents[1]
TOLERANCE = 1.05  # on a busy machine, even two runs of the same library differ by more than this
MISSED = ("not met", "not measured")


@dataclass(frozen=True)
class Contender:
    """`make()` imports its library and returns what to time, so a missing library costs one row."""

    name: str
    make: Callable[[], Run]
    steps: int = 1  # in one timed run
    at_most: Mapping[str, float] = field(default_factory=dict)  # times the median of the contender with this name


@dataclass(frozen=True)
class Benchmark:
    title: str
    contenders: tuple[Contender, ...]
    rounds: int = 5  # at least; short runs need more: a disturbance spoils some of them, and not their median


@dataclass
class Measured:
    """The seconds of every round, or the reason why there are none."""

    name: str
    seconds: list[float] = field(default_factory=list)
    trouble: str = ""


@dataclass(frozen=True)
class Judgement:
    text: str
    figure: str
    outcome: str


def judge(text: str, figure: float | None, limit: float, form: str = "{:.2f}x") -> Judgement:
    """Compare one figure with its limit. None means that the figure couldn't be taken."""
    if figure is None:
        return Judgement(text, "-", "not measured")
    outcome = "not met"
    if figure <= limit:
        outcome = "met"
    elif figure <= limit * TOLERANCE:
        outcome = "met within 5%"
    return Judgement(text, form.format(figure), outcome)


# -- the race -----------------------------------------------------------------------------------------------------


def race(benchmark: Benchmark, rounds: int, clock: Callable[[], float] = time.perf_counter) -> list[Measured]:
    """Time every contender once per round, A B C A B C …, after one untimed warm-up each.

    Every result is checked: a contender with a wrong result gets no time.
    """
    rows = [Measured(contender.name) for contender in benchmark.contenders]
    runs = [_attempt(row, contender.make) for row, contender in zip(rows, benchmark.contenders)]
    for row, run in zip(rows, runs):
        _timed(row, run, clock)
        row.seconds.clear()
    # Hide all modules imported so far from the collector. Otherwise each contender's garbage collections would walk
    # through all its rivals' objects.
    gc.collect()
    gc.freeze()
    for _ in range(rounds):
        for row, run in zip(rows, runs):
            gc.collect()  # no contender pays for the previous one's garbage
            _timed(row, run, clock)
    gc.unfreeze()
    return rows


def _attempt(row: Measured, call: Callable[[], Any]) -> Any:
    """The call's result. An error is stored in the row, so that the other contenders still run."""
    try:
        return call()
    except ModuleNotFoundError as error:
        row.trouble = f"{error.name} not installed"
    except Exception as error:  # a contender may fail in any way
        row.trouble = f"failed: {type(error).__name__}: {error}".splitlines()[0]


def _timed(row: Measured, run: Run, clock: Callable[[], float]) -> None:
    if row.trouble:
        return
    start = clock()
    result = _attempt(row, run)
    row.seconds.append(clock() - start)
    row.trouble = row.trouble or refusal(*result)
    if row.trouble:
        row.seconds.clear()


def refusal(got: Any, expected: Any) -> str:
    """What's wrong with a result; empty if it's right. Rounding differs between libraries."""
    got = got.get() if hasattr(got, "get") else got  # from the simulated GPU
    right = np.shape(got) == np.shape(expected) and np.allclose(got, expected, rtol=0.01, atol=1e-6)
    return "" if right else f"refused: {got}, not {expected}".splitlines()[0]


def going_on(step: Callable, batches: Sequence[tuple], steps: int, expected: float | None) -> Run:
    """So many training steps, which go on from those of the run before; each step's loss is read.

    The first run, which isn't timed, has to end with the `expected` loss. None is for steps that draw random numbers.
    """
    wanted = expected

    def run() -> tuple[Any, Any]:
        nonlocal wanted
        for i in range(steps):
            loss = float(step(*batches[i % len(batches)]))
        if wanted is None:
            return np.isfinite(loss), True
        first = wanted
        wanted = None
        return loss, first

    return run


def thread_settings(threads: int = 1) -> dict[str, str]:
    """The environment that limits each library to this many threads. It only works before the first import."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "NPROC")
    eigen = f"--xla_cpu_multi_thread_eigen={str(threads > 1).lower()}"
    return dict.fromkeys(names, str(threads)) | {"XLA_FLAGS": eigen, "JAX_PLATFORMS": "cpu"}


def in_a_process(code: str, *arguments: str, threads: int = 1, **more: str) -> str:
    """The last line that a fresh Python prints, with `more` in its environment."""
    command, environment = [sys.executable, "-c", code, *arguments], os.environ | thread_settings(threads) | more
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.splitlines()[-1]


def worker(module: str, rounds: int) -> None:
    """Race `module.BENCHMARK` in this process, and print the figures."""
    rows = race(importlib.import_module(module).BENCHMARK, rounds)
    print(json.dumps([asdict(row) for row in rows]))


def report(module: str, rounds: int) -> list[Judgement]:
    """Measure one benchmark in a fresh process, print its table, and return how its limits were met."""
    benchmark: Benchmark = importlib.import_module(module).BENCHMARK
    rounds = max(rounds, benchmark.rounds)
    measured = in_a_process(f"from benchmarks.harness import worker; worker({module!r}, {rounds})")
    rows = [Measured(**row) for row in json.loads(measured)]
    print(f"{benchmark.title}: measured, 1 thread, {rounds} alternating rounds")
    print(race_table(benchmark, rows), end="\n\n")
    return [
        judge(f"{one.name}: at most {limit:.2f}x {other}", ratio(rows, one.name, other), limit)
        for one in benchmark.contenders
        for other, limit in one.at_most.items()
    ]


# -- what's printed -----------------------------------------------------------------------------------------------


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """Lower quartile, median, upper quartile."""
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def ratio(rows: Sequence[Measured], name: str, other: str) -> float | None:
    """The median of one contender over the other's; None if either has no time."""
    medians = {row.name: statistics.median(row.seconds) for row in rows if row.seconds}
    return medians[name] / medians[other] if {name, other} <= set(medians) else None


def race_table(benchmark: Benchmark, rows: Sequence[Measured]) -> str:
    lines = [["contender", "median ms", "quartiles", "µs/step", "beside others"]]
    for contender, row in zip(benchmark.contenders, rows):
        if not row.seconds:
            lines.append([row.name, "-", row.trouble])
            continue
        low, middle, high = quartiles(row.seconds)
        found = {other: ratio(rows, row.name, other) for other in contender.at_most}
        lines.append([
            row.name, f"{middle * 1e3:.1f}", f"{low * 1e3:.1f} to {high * 1e3:.1f}",
            f"{middle / contender.steps * 1e6:.1f}",
            ", ".join(f"{times:.2f}x {other}" for other, times in found.items() if times),
        ])  # fmt: skip
    return text_table(lines)


def text_table(lines: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their widest entry. The last entry of a short line may be longer."""
    columns = range(max(len(line) for line in lines))
    widths = [max((len(line[i]) for line in lines if i < len(line) - 1), default=0) for i in columns]
    padded = [[cell.ljust(width) for cell, width in zip(line, widths)] for line in lines]
    return "\n".join("  ".join(line).rstrip() for line in padded)


def processor(listing: Path = Path("/proc/cpuinfo")) -> str:
    """Its name: Linux lists it in a file, and elsewhere Python knows it."""
    lines = listing.read_text(encoding="utf-8").splitlines() if listing.exists() else []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()
