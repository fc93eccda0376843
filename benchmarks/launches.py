"""How many kernels a call launches: the simulated GPU's count, next to what CuPy does on a real one.

The real GPU's count comes from a CUDA graph: during a capture nothing runs, and each launched kernel becomes a node. A
call that must wait for the GPU can't be captured, and is shown with its error.

This has not been run on a real GPU yet.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import fluxlite as fl
from fluxlite.devices.cupy.device import CUDADevice

from .harness import text_table

Call = Callable[[Any, Any], Any]
# For each entry of the simulated GPU's table, `fluxlite.simulated.kernels.KERNELS`: a call with a square float32 array
# x, and integers i that are indices of its rows.
TABLE: dict[str, Call] = {
    "zeros_like": lambda x, i: np.zeros_like(x),
    "empty_like": lambda x, i: np.empty_like(x),
    "zeros": lambda x, i: np.zeros(5, like=x),
    "empty": lambda x, i: np.empty(5, like=x),
    "var": lambda x, i: np.var(x, axis=0),
    "std": lambda x, i: np.std(x, axis=0),
    "nanvar": lambda x, i: np.nanvar(x, axis=0),
    "nanstd": lambda x, i: np.nanstd(x, axis=0),
    "average": lambda x, i: np.average(x),
    "ptp": lambda x, i: np.ptp(x),
    "concatenate": lambda x, i: np.concatenate([x, x]),
    "stack": lambda x, i: np.stack([x] * 9),
    "vstack": lambda x, i: np.vstack([x, x]),
    "hstack": lambda x, i: np.hstack([x, x]),
    "dstack": lambda x, i: np.dstack([x, x]),
    "column_stack": lambda x, i: np.column_stack([x, x]),
    "take_along_axis": lambda x, i: np.take_along_axis(x, i[None, :], 0),
    "roll": lambda x, i: np.roll(x, 3),
    "pad": lambda x, i: np.pad(x, 1),
    "allclose": lambda x, i: np.allclose(x, x),
    "array_equal": lambda x, i: np.array_equal(x, x),
    "array_equiv": lambda x, i: np.array_equiv(x, x),
    "diff": lambda x, i: np.diff(x, axis=0),
    "tril": lambda x, i: np.tril(x),
    "triu": lambda x, i: np.triu(x),
    "nonzero": lambda x, i: np.nonzero(x),
    "flatnonzero": lambda x, i: np.flatnonzero(x),
    "argwhere": lambda x, i: np.argwhere(x),
    "unique": lambda x, i: np.unique(x),
    "count_nonzero": lambda x, i: np.count_nonzero(x),
    "outer": lambda x, i: np.outer(x[0], x[0]),
    "linalg.norm": lambda x, i: np.linalg.norm(x),
}
# Calls that lessons use a lot. Most launch one kernel, since the table has no entry for them.
OFTEN: dict[str, Call] = {
    "add": lambda x, i: x + x,
    "add a number": lambda x, i: x + 1,
    "tanh": lambda x, i: np.tanh(x),
    "matmul": lambda x, i: x @ x,
    "sum": lambda x, i: x.sum(),
    "sum of rows": lambda x, i: x.sum(axis=1),
    "mean": lambda x, i: x.mean(),
    "max": lambda x, i: x.max(axis=0),
    "argmax": lambda x, i: x.argmax(axis=1),
    "x > 0, where": lambda x, i: np.where(x > 0, x, 0),
    "copy": lambda x, i: x.copy(),
    "copy reordered": lambda x, i: x.T.copy("C"),
    "astype": lambda x, i: x.astype(np.float64),
    "transpose": lambda x, i: x.T,
    "x[i]": lambda x, i: x[i],
    "x[i, i]": lambda x, i: x[i, i],
    "x[x > 0]": lambda x, i: x[x > 0],
    "x[:, 0] = 1": lambda x, i: x.__setitem__((slice(None), 0), 1),
    "einsum": lambda x, i: np.einsum("ij,jk->ik", x, x),
}
CALLS = {**TABLE, **OFTEN}


def operands() -> tuple[np.ndarray, np.ndarray]:
    return np.random.default_rng(1).standard_normal((32, 32), np.float32), np.arange(32)


def expected(call: Call) -> int:
    """The simulated GPU's count of launches."""
    return int(fl.estimate(call, *operands(), like="NVIDIA T4").receipt.launches)


def captured(call: Call, x: Any, i: Any) -> int | str:
    """The kernels that CuPy launches for a call, or the error if it can't be captured."""
    import cupy

    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        try:
            for _ in range(2):  # loads kernels, and reserves memory of the right sizes for this stream
                call(x, i)
            stream.synchronize()
            graph = _graph(stream, lambda: call(x, i))
        except Exception as error:  # the error depends on which part of CUDA refused to wait; other calls go on
            return f"{type(error).__name__}: {error}".splitlines()[0][:90]
        return kernels_in(graph.debug_dot_str(cupy.cuda.runtime.cudaGraphDebugDotFlagsVerbose))


def _graph(stream: Any, run: Callable[[], Any]) -> Any:
    """What ``run()`` would launch. The capture always ends, so that the next call can start its own."""
    stream.begin_capture()
    try:
        run()
    except Exception:
        with contextlib.suppress(Exception):  # ending a failed capture raises
            stream.end_capture()
        raise
    return stream.end_capture()


# A kernel's node has this shape; in verbose output, each node starts with its kind instead.
_KERNEL = re.compile(r'shape="octagon"|label="\{\s*KERNEL\b')


def kernels_in(dot: str | bytes) -> int:
    """The number of kernel nodes in CUDA's text for a graph. Other nodes are copies and memsets."""
    return len(_KERNEL.findall(dot if isinstance(dot, str) else dot.decode(errors="replace")))


def rows(device: Any) -> Iterator[tuple[str, int, int | str]]:
    """For each call, what was expected and what was captured."""
    with device:
        x, i = (device.upload(array) for array in operands())
        for name, call in CALLS.items():
            yield name, expected(call), captured(call, x, i)


def table(found: list[tuple[str, int, int | str]]) -> str:
    """Expected and captured counts side by side, the differences, and a last line with totals."""
    lines = [["call", "expected", "captured", ""]]
    for name, wanted, got in found:
        if isinstance(got, str):
            lines.append([name, str(wanted), "-", f"not captured: {got}"])
        else:
            lines.append([name, str(wanted), str(got), "" if got == wanted else "differs"])
    differ, missing = sum(line[3] == "differs" for line in lines), sum(line[2] == "-" for line in lines)
    return f"{text_table(lines)}\n{differ} of {len(found)} differ, {missing} not captured"


def report(device: Any) -> int:
    """Print the table for an NVIDIA GPU. Raises `ValueError` for any other device."""
    if not isinstance(device, CUDADevice):
        raise ValueError(f"{device!r} is no NVIDIA GPU: only there can launches be captured")
    print(table(list(rows(device))))
    return 0
