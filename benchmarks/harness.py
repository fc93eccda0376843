"""Race contenders in alternating rounds, in one process with one thread, and judge ratios of medians."""

from __future__ import annotations

import gc
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TypeVar

Result = TypeVar("Result")
Run = Callable[[], object]
ROOT = Path(__file__).resolve().parents[1]
TOLERANCE = 1.05  # on a busy machine, even two runs of the same library differ by more than this
MISSED = ("not met", "not measured")


@dataclass(frozen=True)
class Contender:
    """`make()` imports its library and returns the function to time, so a missing library costs one row."""

    name: str
    make: Callable[[], Callable[[], object]]
    steps: int = 0  # in one timed call, where they are not the benchmark's


@dataclass(frozen=True)
class Bar:
    contender: str
    at_most: float  # times the median of the reference
    reference: str = ""  # if it isn't the benchmark's
    per: str = ""  # what a step is, such as "leaf": then the bar is so many µs for each


@dataclass(frozen=True)
class Benchmark:
    title: str
    contenders: tuple[Contender, ...]
    reference: str
    bars: tuple[Bar, ...]
    check: Callable[[object], str]  # what's wrong with a result, "" if it's right
    steps: int  # per timed call, for the column of µs per step


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
    """Compare one figure with its bar. None means that the figure couldn't be taken."""
    if figure is None:
        return Judgement(text, "-", "not measured")
    met = "met" if figure <= limit else "met within 5%" if figure <= limit * TOLERANCE else "not met"
    return Judgement(text, form.format(figure), met)


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """Lower quartile, median, upper quartile."""
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def _attempt(row: Measured, call: Callable[[], Result]) -> Result | None:
    """The call's result. An error is stored in the row, so that the other contenders still run."""
    try:
        return call()
    except ModuleNotFoundError as error:
        row.trouble = f"{error.name} not installed"
    except Exception as error:  # a contender may fail in any way
        row.trouble = f"failed: {type(error).__name__}: {error}".splitlines()[0]
    return None


def race(benchmark: Benchmark, rounds: int, clock: Callable[[], float] = time.perf_counter) -> list[Measured]:
    """Time every contender once per round, A B C A B C …, after one untimed warm-up each.

    Every result is checked: a contender with a wrong result gets no time.
    """
    rows = [Measured(contender.name) for contender in benchmark.contenders]
    runs = []
    for row, contender in zip(rows, benchmark.contenders):
        run = _attempt(row, contender.make)
        runs.append(run)
        _timed(row, run, benchmark.check, clock)
        row.seconds.clear()
    # Hide all modules imported so far from the collector. Otherwise each contender's garbage collections would walk
    # through all its rivals' objects.
    gc.collect()
    gc.freeze()
    for _ in range(rounds):
        for row, run in zip(rows, runs):
            gc.collect()  # no contender pays for the previous one's garbage
            _timed(row, run, benchmark.check, clock)
    gc.unfreeze()
    return rows


def _timed(row: Measured, run: Run | None, check: Callable[[object], str], clock: Callable[[], float]) -> None:
    if row.trouble or run is None:
        return
    start = clock()
    result = _attempt(row, run)
    row.seconds.append(clock() - start)
    row.trouble = row.trouble or check(result)
    if row.trouble:
        row.seconds.clear()


def thread_settings(threads: int = 1) -> dict[str, str]:
    """The environment that limits each library to this many threads. It only works before the first import."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "NPROC")
    eigen = f"--xla_cpu_multi_thread_eigen={str(threads > 1).lower()}"
    return dict.fromkeys(names, str(threads)) | {"XLA_FLAGS": eigen, "JAX_PLATFORMS": "cpu"}


def worker(module: str, rounds: int) -> None:
    """Race `module.BENCHMARK` in this process. The figures are the last line of standard output."""
    rows = race(importlib.import_module(module).BENCHMARK, rounds)
    print(json.dumps([asdict(row) for row in rows]))


def measure(module: str, rounds: int) -> list[Measured]:
    """All contenders in one fresh process."""
    code = f"from benchmarks.harness import worker; worker({module!r}, {rounds})"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=os.environ | thread_settings(), stdout=subprocess.PIPE, text=True,
        check=True,
    )  # fmt: skip
    return [Measured(**row) for row in json.loads(done.stdout.splitlines()[-1])]


def ratios(rows: Sequence[Measured], reference: str) -> dict[str, float]:
    """Each contender's median over the reference's median. Empty if the reference has no time."""
    medians = {row.name: quartiles(row.seconds)[1] for row in rows if row.seconds}
    return {name: value / medians[reference] for name, value in medians.items() if reference in medians}


def report(module: str, rounds: int) -> list[Judgement]:
    """Measure one benchmark, print its table, and return how its bars were met."""
    benchmark: Benchmark = importlib.import_module(module).BENCHMARK
    return judged(benchmark, measure(module, rounds), rounds)


def judged(benchmark: Benchmark, rows: Sequence[Measured], rounds: int) -> list[Judgement]:
    judgements = [judge_bar(benchmark, bar, rows) for bar in benchmark.bars]
    first: dict[str, Judgement] = {}  # the table shows a contender's first bar
    for bar, judgement in zip(benchmark.bars, judgements):
        first.setdefault(bar.contender, judgement)
    print(f"{benchmark.title}: measured, 1 thread, {rounds} alternating rounds")
    print(race_table(benchmark, rows, first), end="\n\n")
    return judgements


def judge_bar(benchmark: Benchmark, bar: Bar, rows: Sequence[Measured]) -> Judgement:
    what = bar.contender
    if bar.per:
        found = next((row for row in rows if row.name == bar.contender and row.seconds), None)
        figure = found and step_of(benchmark, found)
        return judge(f"{what}: at most {bar.at_most:g} µs a {bar.per}", figure, bar.at_most, "{:.1f} µs")
    reference = bar.reference or benchmark.reference
    return judge(
        f"{what}: at most {bar.at_most:.2f}x {reference}", ratios(rows, reference).get(bar.contender), bar.at_most
    )


def step_of(benchmark: Benchmark, row: Measured) -> float:
    """The median µs of one of the contender's steps."""
    steps = next((one.steps for one in benchmark.contenders if one.name == row.name), 0)
    return quartiles(row.seconds)[1] / (steps or benchmark.steps) * 1e6


def race_table(benchmark: Benchmark, rows: Sequence[Measured], judged: dict[str, Judgement]) -> str:
    found = ratios(rows, benchmark.reference)
    lines = [["contender", "median ms", "quartiles", "µs/step", f"x {benchmark.reference}", "bar"]]
    for row in rows:
        if not row.seconds:
            lines.append([row.name, "-", row.trouble])
            continue
        low, middle, high = quartiles(row.seconds)
        bar = judged.get(row.name)
        lines.append([
            row.name, f"{middle * 1e3:.1f}", f"{low * 1e3:.1f} to {high * 1e3:.1f}",
            f"{step_of(benchmark, row):.1f}", f"{found[row.name]:.2f}" if row.name in found else "-",
            f"{bar.text.split(': ')[1]}: {bar.outcome} ({bar.figure})" if bar else "",
        ])  # fmt: skip
    return text_table(lines)


def text_table(lines: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their widest entry. The last entry of a short line may be longer."""
    columns = range(max(len(line) for line in lines))
    widths = [max((len(line[i]) for line in lines if i < len(line) - 1), default=0) for i in columns]
    padded = [[cell.ljust(width) for cell, width in zip(line, widths)] for line in lines]
    return "\n".join("  ".join(line).rstrip() for line in padded)
