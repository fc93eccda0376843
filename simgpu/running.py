"""A program or a test run with `import cupy` runs on a simulated GPU, and ends with its receipt."""

import argparse
import json
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from . import stand_in
from .device import devices
from .profile.recording import MOST_LINES, receipt

LIMITS = "implicit-copies, implicit-copies=2, waits, waits=3, or two of these with a comma"


def limits(text: str) -> dict[str, int]:
    """How many of what ``--fail-on implicit-copies,waits=2`` allows."""
    found = {}
    for part in text.split(","):
        name, _, most = part.partition("=")
        if name not in ("implicit-copies", "waits") or not (most or "0").isdecimal():
            raise argparse.ArgumentTypeError(f"takes {LIMITS}; got {part!r}")
        found[name] = int(most or 0)
    return found


class Run:
    """From now on, CuPy's names are ours. A receipt counts until `finish`, which writes the report into `said`."""

    def __init__(self, what: str, like: str | None, limits: dict[str, int]) -> None:
        self.what, self.limits, self.said = what, limits, ""
        self.devices = devices(1, like) if like else devices()
        stand_in.begin()
        self.receipt = receipt().__enter__()

    def finish(self, json_file: str | None = None) -> bool:
        """End it, with the figures as JSON in a file, or with ``""`` in `said`. Returns whether it kept the limits."""
        self.receipt.__exit__(None, None, None)
        figures = self._figures()
        over = {name: figures[name] for name, most in self.limits.items() if figures[name] > most}
        self.said = json.dumps(figures, indent=1) if json_file == "" else self._text(over)
        if json_file:
            Path(json_file).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
        return not over

    def _text(self, over: dict[str, int]) -> str:
        title = f"{self.what}, on a {self.devices[0].name}: values are NumPy's, times are a model's"
        rows = [title, repr(self.receipt)]
        for name, counted in (("implicit copies", "implicit"), ("waits", "waits")):
            costs = sorted(self.receipt.by_line(), key=lambda line: -getattr(line, counted))
            found = [f"{getattr(line, counted):>7,}  {line.line}" for line in costs if getattr(line, counted)]
            left = len(found) - MOST_LINES
            rows += [f"{name}, by line:"] * bool(found) + found[:MOST_LINES] + [f"{left:9,} more lines"] * (left > 0)
        rows += [f"FAILED: {count:,} {name}, {self.limits[name]:,} allowed" for name, count in over.items()]
        return "\n".join(rows)

    def _figures(self) -> dict[str, Any]:
        r, ways = self.receipt, ("host_to_device", "device_to_host", "device_to_device")
        copies = {way.replace("_", " "): vars(getattr(r, way)) for way in ways}
        lines = [
            {"file": line.place[0], "line": line.place[1], "launches": line.launches, "copies": line.copies,
             "implicit-copies": line.implicit, "waits": line.waits, "device seconds": line.seconds}
            for line in r.by_line()
        ]  # fmt: skip
        return {
            "program": self.what, "card": self.devices[0].card, "launches": r.launches, "launched": dict(r.launched),
            "memsets": r.memsets, "copies": copies, "waits": r.synchronizations, "first uses": r.first_uses,
            "implicit-copies": sum(way["implicit"] for way in copies.values()), "peak memory": r.peak_memory,
            "simulated seconds": float(r.simulated_seconds or 0), "lines": lines,
        }  # fmt: skip


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
    main.__file__, main.__builtins__ = str(path), __builtins__  # type: ignore[attr-defined]
    sys.modules["__main__"], sys.argv, sys.path[0] = main, [program, *args], str(path.parent)
    status = 0
    try:
        exec(compile(path.read_bytes(), path, "exec", dont_inherit=True), vars(main))
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if not isinstance(end.code, (int, type(None))):
            print(end.code, file=sys.stderr)
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
