"""A program or a test run with `import cupy` runs on a simulated GPU, and ends with its receipt."""

import argparse
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from . import stand_in, surface
from .device import devices
from .profile.recording import receipt
from .report import COUNTED, MISSING, Rules, figures_of, json_of, read_baseline

LIMITS = "implicit-copies, implicit-copies=2, waits, waits=3, missing, or several of these with commas"


def limits(text: str) -> dict[str, int]:
    """How many of what ``--fail-on implicit-copies,waits=2`` allows."""
    found = {}
    for part in text.split(","):
        name, _, most = part.partition("=")
        if name not in (*COUNTED, MISSING) or not (most or "0").isdecimal():
            raise argparse.ArgumentTypeError(f"takes {LIMITS}; got {part!r}")
        found[name] = int(most or 0)
    return found


def paths(text: str) -> tuple[str, ...]:
    """The paths of ``--only src/,tools/``."""
    return tuple(part.strip().removeprefix("./") for part in text.split(",") if part.strip())


def baseline(text: str) -> frozenset[str]:
    """The lines of the file that ``--baseline`` names."""
    try:
        return read_baseline(Path(text))
    except (OSError, ValueError) as error:
        raise argparse.ArgumentTypeError(str(error)) from error


class Run:
    """From now on, CuPy's names are ours. A receipt counts until `finish`, which gives the figures.

    `root` is the project's folder: paths are shown from there, and what's inside is the project's own.
    """

    def __init__(self, what: str, like: str | None, root: Path) -> None:
        self.what, self.root = what, root
        self.devices = devices(1, like) if like else devices()
        stand_in.begin()
        self.receipt = receipt().__enter__()
        self.unused: list[dict[str, str]] = []  # tests that would have gone to the GPU, and why they didn't

    def finish(self) -> dict[str, Any]:
        """End it. Returns the figures."""
        self.receipt.__exit__(None, None, None)
        figures = figures_of(self.what, self.devices[0].card, self.receipt, surface.requests or {}, self.root)
        figures["unused"] = self.unused
        return figures


def add_options(add: Callable, prefix: str = "--") -> None:
    """The options that a program's command and pytest's have in common, by argparse's or pytest's function."""
    add(f"{prefix}fail-on", metavar="WHAT", type=limits, default={}, help=LIMITS)
    add(f"{prefix}only", metavar="PATHS", type=paths, default=(), help="count only lines in these paths: src/,tools/")
    add(f"{prefix}baseline", metavar="FILE", type=baseline, default=frozenset(), help="lines that may copy and wait")
    add(f"{prefix}write-baseline", metavar="FILE", help="write such a file: all that this run did is allowed")


def rules_of(options: Any, prefix: str = "") -> Rules:
    """What the options allow."""
    limits, only, baseline = (getattr(options, f"{prefix}{name}") for name in ("fail_on", "only", "baseline"))
    return Rules(limits, only, baseline)


def write_json(figures: dict, file: str) -> None:
    Path(file).write_text(json_of(figures) + "\n", encoding="utf-8")


def simulated_time(host: Any) -> ModuleType:
    """Python's `time`, with the time of a simulated GPU's host. It moves by what's asked of the GPU."""
    found, begin = ModuleType("time"), time.time_ns()
    vars(found).update(vars(time))
    for name in ("time", "perf_counter", "monotonic", "process_time"):
        setattr(found, name, lambda: (begin + host.now) / 1e9)
        setattr(found, f"{name}_ns", lambda: begin + host.now)
    return found


def run_program(program: str, args: Sequence[str]) -> int:
    """Run a file as Python does, with its own `__main__`, arguments, folder and traceback. Returns its exit status."""
    path = Path(program).absolute()
    main = ModuleType("__main__")
    main.__file__ = str(path)
    main.__builtins__ = __builtins__  # type: ignore[attr-defined]
    sys.modules["__main__"] = main
    sys.argv = [program, *args]
    sys.path[0] = str(path.parent)
    status = 0
    try:
        exec(compile(path.read_bytes(), path, "exec", dont_inherit=True), vars(main))
    except SystemExit as end:
        if isinstance(end.code, int):
            status = end.code
        elif end.code is not None:  # sys.exit("why")
            print(end.code, file=sys.stderr)
            status = 1
    except BaseException as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
            trace = trace.tb_next
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        status = 130 if isinstance(error, KeyboardInterrupt) else 1
    for thread in threading.enumerate():  # Python waits for them, too
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    return status
