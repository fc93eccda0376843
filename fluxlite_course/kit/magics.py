"""``%device_time``: how long a line takes, waiting included, and what it asked of the GPU (CUDA.jl: ``@time``)."""

from __future__ import annotations

import ast
import time
import tracemalloc
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class

from fluxlite.devices import devices
from fluxlite.receipts import Receipt, Seconds, receipt

_MEMORY = "--memory"


@magics_class
class DeviceMagics(Magics):
    """The magics that `start`, or ``%load_ext fluxlite_course``, adds to a notebook."""

    @line_cell_magic
    def device_time(self, line: str, cell: str | None = None) -> Any:
        """Run a line or a cell once; print the time and what it asked of the GPU; return the last line's value.

        ``%device_time model(x)``, or ``%%device_time`` above a cell. It waits for the GPU before and after, so the time
        is that of the work, not only of requesting it. A single NVIDIA or AMD GPU tells the time itself, and ``asking``
        is the host's part of it. ``--memory`` measures the host's memory instead of the time, since tracing allocations
        makes Python several times slower.
        """
        option, _, rest = line.strip().partition(" ")
        traced = option == _MEMORY
        code = rest if traced else line
        if cell is not None and code.strip():
            raise UsageError(f"%%device_time takes its code from the lines below it, not {code.strip()!r}")
        shell: Any = self.shell
        run = _compiled(shell, code if cell is None else cell)
        return _reported(lambda: run(shell.user_ns), traced)


def _compiled(shell: Any, code: str) -> Any:
    """A function that runs `code`, as IPython understands it, in a namespace, and returns the last line's value."""
    source = shell.transform_cell(code)
    name = shell.compile.cache(source)  # lets an error show the line that it comes from
    tree = shell.transform_ast(shell.compile.ast_parse(source))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    first = shell.compile(tree, name, "exec")
    value = None if last is None else shell.compile(ast.Expression(last.value), name, "eval")

    def run(namespace: dict[str, Any]) -> Any:
        exec(first, namespace)
        return None if value is None else eval(value, namespace)

    return run


def _reported(run: Any, traced: bool) -> Any:
    gpus = devices()
    before = [gpu.memory().used or 0 for gpu in gpus]
    memory = _HostMemory() if traced else None
    _wait(gpus)
    try:
        with receipt() as seen:
            start, watches = time.perf_counter(), [gpu.stopwatch() for gpu in _real(gpus)]
            value = run()
            asked = time.perf_counter() - start
            for watch in watches:
                watch.stop()
        _wait(gpus)  # part of the time, but not of what the code asked for
        seconds = watches[0].seconds() if len(watches) == 1 else time.perf_counter() - start
        rows = {"time": _time(seconds, seen, traced), "host memory": _HINT if memory is None else memory.report()}
        if gpus and seen.simulated_seconds is None and not traced:
            rows["asking"] = f"{Seconds(asked, 'measured')} until the host had asked for everything"
    finally:
        if memory is not None:
            memory.close()
    for gpu, used in zip(gpus, before):
        rows[f"memory {gpu}"] = _more((gpu.memory().used or 0) - used)
    print("\n".join(f"{name:<17} {text}" for name, text in rows.items()))
    print(seen if gpus else f"{'GPU':<17} none in use")
    return value


def _real(gpus: list) -> list:
    return [gpu for gpu in gpus if gpu.kind_of_time == "measured"]


def _wait(gpus: list) -> None:
    for gpu in gpus:
        gpu.synchronize()


def _time(seconds: float, seen: Receipt, traced: bool) -> str:
    if seen.simulated_seconds is not None:
        return str(seen.seconds)
    return "not measured: tracing memory slows Python down" if traced else str(Seconds(seconds, "measured"))


_HINT = f"not traced: %device_time {_MEMORY} does, in place of the time"


def _more(nbytes: int) -> str:
    return f"{abs(nbytes):,} bytes {'less' if nbytes < 0 else 'more'} in use than before"


class _HostMemory:
    """What Python and NumPy allocate on the host from now on. It doesn't see earlier memory, even when it's freed."""

    def __init__(self) -> None:
        self.was_on = tracemalloc.is_tracing()
        tracemalloc.start()
        tracemalloc.reset_peak()
        self.before = tracemalloc.get_traced_memory()[0]

    def report(self) -> str:
        now, peak = tracemalloc.get_traced_memory()
        kept = max(now - self.before, 0)
        return f"{peak - self.before:,} bytes allocated at most at a time, {kept:,} of them kept"

    def close(self) -> None:
        if not self.was_on:
            tracemalloc.stop()
