"""Command line: `python -m benchmarks [name …] [--rounds N] [--strict]`; the names are those of `NAMES`."""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
import time
from importlib.metadata import PackageNotFoundError, version

from .harness import MISSED, Judgement, processor, report, text_table

NAMES = ("rnn", "small_models", "captured", "transformer", "importing", "memory", "simulated")  # in the order they run
FEWEST_ROUNDS = 5


def header() -> str:
    """The machine and the libraries, since a figure means nothing without them."""
    versions = []
    for library in ("numpy", "torch", "jax"):
        try:
            versions.append(f"{library} {version(library)}")
        except PackageNotFoundError:
            versions.append(f"{library} not installed")
    machine = f"{processor()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}"
    return f"{machine}, Python {platform.python_version()}\n{', '.join(versions)}\n"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="fluxlite against its peers")
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(NAMES)}; all when left out")
    parser.add_argument("--rounds", type=int, default=FEWEST_ROUNDS, help="alternating rounds, at least 5")
    parser.add_argument("--strict", action="store_true", help="exit status 1 when a limit is not met")
    options = parser.parse_args(arguments)
    unknown = set(options.names) - set(NAMES)
    if unknown:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}: there are {', '.join(NAMES)}")
    if options.rounds < FEWEST_ROUNDS:
        parser.error(f"a median of fewer than {FEWEST_ROUNDS} rounds is not worth printing")
    print(header())
    judgements: list[Judgement] = []
    for name in options.names or NAMES:
        start, module = time.perf_counter(), importlib.import_module(f"benchmarks.{name}")
        is_race = hasattr(module, "BENCHMARK")
        judgements += report(module.__name__, options.rounds) if is_race else module.report(options.rounds)
        # Show the figures so far, in case a later benchmark takes long or fails.
        print(f"{name} took {time.perf_counter() - start:.0f} s\n", flush=True)
    rows = [[one.text, one.outcome, one.figure] for one in judgements]
    print(text_table([["limit", "outcome", "figure"], *rows]))
    return int(options.strict and any(one.outcome in MISSED for one in judgements))


if __name__ == "__main__":
    sys.exit(main())
