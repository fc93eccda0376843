"""What a program asks of its devices: `receipt` counts it, `estimate` and `clock` say how long it takes.

simgpu's `profile/` counts, shows and draws; a real GPU tells less, and tells it here.
"""

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from simgpu import lines
from simgpu.events import Event
from simgpu.profile import recording
from simgpu.profile.seconds import Seconds as Seconds
from simgpu.profile.seconds import duration as duration

from ..annotations import DType, Tree
from ..words import check_bool, check_callable, explained
from .base import CPU, SETTINGS, Device, listeners
from .selection import devices, gpu_device

if TYPE_CHECKING:
    from simgpu.profile.estimates import Estimate

lines.leave_out(sys.modules[__package__])  # our lines aren't the program's


class Receipt(recording.Receipt):
    __doc__ = recording.Receipt.__doc__
    _devices = staticmethod(devices)
    _device = staticmethod(gpu_device)

    def __enter__(self) -> "Receipt":
        super().__enter__()
        listeners.append(self._record_real)
        return self

    def __exit__(self, *exc_info: Any) -> None:
        listeners.remove(self._record_real)
        super().__exit__(*exc_info)

    def _record_real(self, *event: Any) -> None:
        self._record(Event(*event))


def receipt() -> Receipt:
    """A receipt for what happens in ``with receipt() as r:``. On a simulated GPU, it's the same in every run.

    >>> with fl.simulate_gpu(like="H200"), receipt() as r:
    ...     x = fl.gpu(np.ones((8, 8), np.float32))
    ...     total = float((x @ x).sum())
    [ Info: Simulated:0, a simulated H200, stands in for a GPU.
    >>> r
    launches          2: matmul 1, sum 1
    host to device    1 copy, 256 bytes: 1 explicit, 0 implicit
    device to host    1 copy, 4 bytes: 0 explicit, 1 implicit
    synchronizations  1
    first uses        3
    peak memory       1,536 bytes
    0.54 s simulated (H200); ... of this machine's time to simulate it
    """
    return Receipt()


def clock() -> float:
    """The time in seconds, virtual while a simulated GPU is in use (CUDA.jl: ``CUDA.@elapsed``).

    Read it after ``device.synchronize()``, both times. A launch takes the virtual host 15 µs, a product 20, a graph 5.
    """
    return (gpu_device() or CPU).clock()


def clocked(seconds: float) -> Seconds:
    """The time between two readings of `clock`: simulated while a simulated GPU is in use, otherwise measured."""
    device = gpu_device() or CPU
    return Seconds(seconds, device.kind_of_time, device.card)


@explained()
def estimate(
    fn: Callable, *args: Tree, like: Any = "NVIDIA T4", shapes_only: bool = False, first_use: bool = False
) -> "Estimate":
    """How long ``fn(*args)`` would take on the card `like`: ``estimate(np.matmul, x, x, like="H200").seconds``.

    It also has a ``.receipt`` and the ``.result``. `like` is a name or a preset. The arguments, arrays and models, are
    copied to a separate simulated GPU, the one in use inside `fn`. The time leaves out this copy and, but for
    ``first_use=True``, loading kernels at first use. ``shapes_only=True`` computes shapes and dtypes; all values are 0.
    """
    check_callable("estimate(fn, …): fn", fn)
    check_bool("shapes_only=…", shapes_only)
    check_bool("first_use=…", first_use)
    from .simulated import EstimatedDevice, estimate_on, preset

    device = EstimatedDevice(preset(like), shapes_only, first_use)
    return estimate_on(device, SETTINGS.estimated, Receipt, fn, args)


@contextlib.contextmanager
def shapes_only(cards: Iterable[Device]) -> Iterator[None]:
    """Inside, these simulated cards compute shapes and dtypes alone: the times are the same, and all values are 0.

    `estimate` does so on one card, with ``shapes_only=True``. A real card computes all the same.

    >>> with fl.simulate_gpu(2), receipt() as r:
    ...     x = fl.gpu(np.ones((2, 2), np.float32))
    ...     with shapes_only(devices()):
    ...         print(fl.cpu(x @ x))
    [ Info: Simulated:0 to Simulated:1, simulated NVIDIA T4, stand in for GPUs.
    [[0. 0.]
     [0. 0.]]
    >>> r.launches
    1
    """
    from simgpu.shapes import outcome

    simulated: list[Any] = [card for card in cards if card.backend == "Simulated"]
    before = [card.instead for card in simulated]
    for card in simulated:
        card.instead = outcome
    try:
        yield
    finally:
        for card, instead in zip(simulated, before):
            card.instead = instead


@explained()
def outputsize(model: Callable, *sizes: tuple[int, ...], padbatch: bool = False, dtype: DType = np.float32) -> tuple:
    """The shape of ``model(x)`` for an `x` of this shape, without computing it (Flux: ``outputsize``).

    Give a shape for each input; several results give a tuple. ``padbatch=True`` adds an axis of 1 in front.

    >>> outputsize(fl.Chain(fl.Conv((5, 5), 1, 6, fl.relu), fl.MaxPool((2, 2))), (28, 28, 1), padbatch=True)
    (1, 12, 12, 6)
    """
    check_callable("outputsize(model)", model)
    check_bool("outputsize(padbatch=…)", padbatch)
    from .simulated import EstimatedDevice, preset, reserve_zeros

    device = EstimatedDevice(preset("H200")._replace(memory=2**62), shapes_only=True)
    batch: tuple[int, ...] = ()
    if padbatch:
        batch = (1,)
    before = SETTINGS.estimated.set(device)
    try:
        there = device(model, dtype=None)
        inputs = [device.new(reserve_zeros((*batch, *size), np.dtype(dtype))) for size in sizes]
        result = there(*inputs)
    finally:
        SETTINGS.estimated.reset(before)
    if isinstance(result, (tuple, list)):
        return tuple(part.shape for part in result)
    return result.shape
