"""A fused function on a simulated GPU: one launch, with the bytes of what goes in and what comes out.

For the host it's a launch as any other. With CuPy, our own Python takes some microseconds more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from simgpu.dispatch import quiet
from simgpu.launches import TEN_EACH
from simgpu.memory import Stored
from simgpu.rules import one_device, refusal

from .standin import NUMBERS, Trace


def launch(fused: Any, args: tuple) -> Any:
    """Call a fused function with arrays of a simulated GPU. Raises `TypeError` for host arrays.

    It takes no memory for what lies between. An argument that it writes to changes when nothing has been refused.
    """
    device: Any = None
    for x in args:
        if isinstance(x, Stored):
            device = one_device(device, x)
    for x in args:
        if not isinstance(x, (Stored, *NUMBERS, np.generic, type(None))):
            raise refusal(fused, x, device)
    trace = SimulatedTrace(fused, np.broadcast_shapes(*(np.shape(_plain(x)) for x in args)))
    trace.compute = device.instead or quiet.run
    given = {id(x): trace.argument(x, _plain(x)) for x in args if x is not None}
    device = device.begin()
    found, places = trace.outputs(result := fused.function(*[None if x is None else given[id(x)] for x in args]))
    arrays = {id(x): x for x in args if isinstance(x, Stored)}
    written = [x for key, x in arrays.items() if given[key].is_written]
    _check_apart(fused, written, list(arrays.values()))
    made = [device.new(_owned(trace, x)) for x in found]
    for x in written:
        if device.instead is None:
            x._values[...] = given[id(x)].values
    read = [x._values for x in arrays.values()]
    nbytes = sum(x.nbytes for x in read) + sum(x.nbytes for x in (*made, *written))
    kind = (made or list(arrays.values()))[0].dtype.char
    device.launch(fused.name, nbytes, trace.operations(), kind)
    return tuple([made[i] for i in places]) if isinstance(result, tuple) else made[0] if made else None


class SimulatedTrace(Trace):
    """Computes what the function asks for, call by call."""

    compute: Callable

    def operations(self) -> float:
        """As many as the calls would have one by one."""
        return math.prod(self.shape) * sum(10 if name in TEN_EACH else 1 for name in self.calls)


def _plain(x: Any) -> Any:
    return x._values if isinstance(x, Stored) else x


def _owned(trace: Any, x: Any) -> np.ndarray:
    """The values of a result, in memory of their own, row by row."""
    values = x.values
    if values.base is None and x.given is None and values.flags.c_contiguous:
        return values
    return trace.compute(np.ndarray.copy, values)


def _check_apart(fused: Any, written: list, arrays: list) -> None:
    """Raises `ValueError` if another argument shares memory with one that's written to: threads have no order."""
    for x in written:
        for y in arrays:
            if x is not y and np.may_share_memory(x._values, y._values):
                raise ValueError(
                    f"fuse, {fused.name}: it writes to an argument of shape {x.shape}, which shares memory with "
                    f"another one, of shape {y.shape}. On a GPU, nobody knows which is first. Copy one: y.copy()"
                )
