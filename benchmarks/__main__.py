"""Command line: `python -m benchmarks [name …] [--rounds N] [--strict]`; the names are those of `NAMES`."""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .harness import MISSED, Judgement, text_table

# In the order they run.
NAMES = (
    "rnn",
    "small_models",
    "pictures",
    "blocks",
    "recurrent",
    "parts",
    "distributed",
    "importing",
    "memory",
    "simulated",
)
LIBRARIES = ("numpy", "torch", "jax")
FEWEST_ROUNDS = 5


def header() -> str:
    """The machine and the libraries, since a figure means nothing without them."""
    versions = []
    for library in LIBRARIES:
        try:
            versions.append(f"{library} {version(library)}")
        except PackageNotFoundError:
            versions.append(f"{library} not installed")
    machine = f"{processor()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}"
    return f"{machine}, Python {platform.python_version()}\n{', '.join(versions)}\n"


def processor(listing: Path = Path("/proc/cpuinfo")) -> str:
    """Its name: Linux lists it in a file, and elsewhere Python knows it."""
    lines = listing.read_text(encoding="utf-8").splitlines() if listing.exists() else []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or "unknown processor"


def summary(judgements: list[Judgement]) -> str:
    lines = [["bar", "outcome", "figure"]]
    lines += [[one.text, one.outcome, one.figure] for one in judgements]
    return text_table(lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="fluxlite against its peers")
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(NAMES)}; all when left out")
    parser.add_argument("--rounds", type=int, default=FEWEST_ROUNDS, help="alternating rounds, at least 5")
    parser.add_argument("--strict", action="store_true", help="exit status 1 when a bar is not met")
    options = parser.parse_args(arguments)
    unknown = set(options.names) - set(NAMES)
    if unknown:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}: there are {', '.join(NAMES)}")
    if options.rounds < FEWEST_ROUNDS:
        parser.error(f"a median of fewer than {FEWEST_ROUNDS} rounds is not worth printing")
    print(header())
    judgements: list[Judgement] = []
    for name in options.names or NAMES:
        start = time.perf_counter()
        judgements += importlib.import_module(f"benchmarks.{name}").report(options.rounds)
        # Show the figures so far, in case a later benchmark takes long or fails.
        print(f"{name} took {time.perf_counter() - start:.0f} s\n", flush=True)
    print(summary(judgements))
    return int(options.strict and any(one.outcome in MISSED for one in judgements))


if __name__ == "__main__":
    sys.exit(main())
