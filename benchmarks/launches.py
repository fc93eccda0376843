"""What CuPy asks of a real GPU for each line of `launch_table.py`, next to what the table and the simulated GPU say.

CUPTI counts, the library that NVIDIA's profilers are made with: it calls us back at each call of CUDA. Launches of
cuBLAS and CUB count too. (As a captured graph they couldn't be counted: CuPy refuses to call cuBLAS during a capture.)
CUPTI comes with CUDA's toolkit, or by ``pip install nvidia-cuda-cupti-cu12``. Without it, NVIDIA's profiler counts for
a whole program: ``nsys profile --stats=true python program.py``.

This has not been run on a real GPU yet.
"""

from __future__ import annotations

import ctypes
import glob
import os
import site
from collections import Counter
from collections.abc import Callable
from types import TracebackType
from typing import Any

from fluxlite.devices.cupy.device import CUDADevice

from . import launch_table
from .harness import text_table
from .launch_table import ROWS

_DRIVER, _RUNTIME = 1, 2  # CUPTI's domains: calls of the driver, and of CUDA's runtime, which calls the driver
_WAYS = {1: "to card", 2: "to host", 3: "copies"}  # cudaMemcpyKind
Counts = tuple[int, int, int, int, int]  # as in a `Row`: kernels, memsets, copies on the card, to it, to the host


class _Call(ctypes.Structure):
    """The beginning of CUpti_CallbackData."""

    _fields_ = [("site", ctypes.c_int), ("name", ctypes.c_char_p), ("parameters", ctypes.c_void_p)]


class _Copy(ctypes.Structure):
    """The parameters of cudaMemcpyAsync."""

    _fields_ = [
        ("to", ctypes.c_void_p), ("source", ctypes.c_void_p), ("nbytes", ctypes.c_size_t), ("kind", ctypes.c_int)
    ]  # fmt: skip


_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.POINTER(_Call))


class Counted:
    """``with Counted(cupti) as counted:`` counts what's asked of CUDA inside, and `counts` then has the numbers."""

    def __init__(self, cupti: Any) -> None:
        self._cupti, self._found, self._depth = cupti, Counter[str](), 0
        self._subscriber, self._callback = ctypes.c_void_p(), _CALLBACK(self._called)

    def __enter__(self) -> Counted:
        self._check("cuptiSubscribe", ctypes.byref(self._subscriber), self._callback, None)
        for domain in (_DRIVER, _RUNTIME):
            self._check("cuptiEnableDomain", ctypes.c_uint32(1), self._subscriber, ctypes.c_int(domain))
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._check("cuptiUnsubscribe", self._subscriber)

    def _check(self, name: str, *arguments: Any) -> None:
        result = getattr(self._cupti, name)(*arguments)
        if result:
            raise RuntimeError(f"{name} answered {result}: a profiler may be running already, or may not be allowed to")

    def _called(self, user: Any, domain: int, number: int, call: Any) -> None:
        """CUPTI calls this before (site 0) and after each call. The runtime's own calls of the driver don't count."""
        entering = call.contents.site == 0
        if entering and (domain == _RUNTIME or not self._depth):
            what = self._what(call.contents)
            self._found[what] += bool(what)
        if domain == _RUNTIME:
            self._depth += 1 if entering else -1

    @staticmethod
    def _what(call: _Call) -> str:
        name = call.name.decode()
        if "Launch" in name and "Host" not in name:
            return "kernels"
        if "Memset" in name:
            return "memsets"
        if "Memcpy" not in name:
            return ""
        for part, way in (("HtoD", "to card"), ("DtoH", "to host"), ("DtoD", "copies")):
            if part in name:
                return way
        if not name.startswith("cudaMemcpyAsync"):
            return "copies"
        return _WAYS.get(ctypes.cast(call.parameters, ctypes.POINTER(_Copy)).contents.kind, "copies")

    @property
    def counts(self) -> Counts:
        found = self._found
        return found["kernels"], found["memsets"], found["copies"], found["to card"], found["to host"]


def cupti() -> Any:
    """CUPTI, from CUDA's toolkit or from a package. Raises `RuntimeError` if there's none."""
    folders = [*site.getsitepackages(), site.getusersitepackages()]
    found = [
        *(path for folder in folders for path in glob.glob(f"{folder}/nvidia/**/libcupti.so*", recursive=True)),
        *glob.glob(f"{os.environ.get('CUDA_PATH', '/usr/local/cuda')}/extras/CUPTI/lib64/libcupti.so*"),
        "libcupti.so",
    ]
    for path in found:
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    raise RuntimeError("CUPTI isn't installed: pip install nvidia-cuda-cupti-cu12 (or -cu13, as your CuPy)")


def counted(run: Callable[[], Any], device: Any, library: Any) -> Counts:
    """What ``run()`` asks of the device, after two times that load its kernels and reserve memory."""
    for _ in range(2):
        run()
    device.synchronize()
    with Counted(library) as found:
        run()
    return found.counts


def said(counts: Counts) -> str:
    """``4 m1 w1``: kernels; memsets (m), copies on the card (c), to it (u) and to the host (w) where there are any."""
    kernels, *others = counts
    return " ".join([str(kernels), *(f"{letter}{number}" for letter, number in zip("mcuw", others) if number)])


def report(device: Any) -> int:
    """Print the lines with what the table says and what was counted on an NVIDIA GPU, and how many differ.

    Raises `ValueError` for any other device, `RuntimeError` without CUPTI.
    """
    if not isinstance(device, CUDADevice):
        raise ValueError(f"{device!r} is no NVIDIA GPU: only there can launches be counted")
    library, differ, missing = cupti(), 0, 0
    lines = [["line", "table", "counted", ""]]
    with device:
        there = launch_table.on(device)
        for row in ROWS:
            expected = (row.kernels, row.memsets, row.copies, row.to_card, row.to_host)
            try:
                got = counted(lambda: launch_table.run(row.line, there), device, library)  # noqa: B023
            except Exception as error:  # other lines go on
                missing += 1
                why = f"not counted: {type(error).__name__}: {error}".splitlines()[0][:90]
                lines.append([row.line, said(expected), "-", why])
                continue
            differ += got != expected
            lines.append([row.line, said(expected), said(got), f"differs: {row.where}" if got != expected else ""])
    print(f"{text_table(lines)}\n{differ} of {len(ROWS)} differ, {missing} not counted")
    return 0
