"""What a device is: a place that arrays are moved to by calling it, ``device(model)``."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..arrays import device_of
from ..seeds import Seeding, seed_of_device, seeding
from .moving import DEFAULT, moved

_one_at_a_time = threading.Lock()


class Memory(NamedTuple):
    """A device's memory in bytes. What cannot be known there is None."""

    used: int | None
    free: int | None
    peak: int | None
    capacity: int | None


class DeviceID(NamedTuple):
    """Which card a device is, in the words of its library: ``CuDevice(0): NVIDIA GeForce GTX 1650``."""

    kind: str
    number: int
    name: str

    def __repr__(self) -> str:
        return f"{self.kind}({self.number}): {self.name}"


class Device:
    """A place where arrays live and are computed with (Flux: ``AbstractDevice``).

    ``device(x)`` gives `x` with all its arrays on the device. A device of each kind says how arrays come from the
    host and go back, in `upload` and `download`; everything else follows.

    >>> from fluxlite.devices import CPU
    >>> CPU({"W": np.zeros(2)})
    {'W': array([0., 0.])}
    """

    backend = ""
    # Of which kind a time is that was read on its `clock`, and of which card if it is not a real one's.
    kind_of_time, card = "measured", ""
    # Types that become others when arrays move here, unless the caller says which type he wants.
    usual_dtypes: dict[np.dtype, np.dtype] = {}

    def __init__(self, index: int = 0, name: str = "") -> None:
        self.index = index
        self.name = name
        self._rng: Any = None
        self._seeded: Seeding | None = None  # the latest `fluxlite.seed` that its generator knows of

    @property
    def deviceID(self) -> DeviceID | None:
        """Which card this is; None for the CPU, and for a GPU that cannot be used (Flux: ``device.deviceID``)."""
        return None

    def __call__(self, x: Any, dtype: Any = DEFAULT) -> Any:
        """`x`, an array, a container or a registered model, with its arrays on this device; `x` stays as it is.

        On the way to a GPU Float64 becomes Float32 and complex128 complex64; ``dtype=None`` keeps them, and
        ``dtype=np.float16`` gives all floating-point arrays that type. An array that is already as wanted is the
        same object. Raises `TypeError` for what cannot move, naming its path.
        """
        return moved(self, x, dtype)

    def receive(self, x: Any) -> Any:
        """The array `x` of any device, here: itself if it is here already, otherwise an explicit copy."""
        source = device_of(x)
        if source == self:
            return x
        if type(source) is type(self) and source.backend == self.backend:
            return self.copy_from(source, x)
        return self.upload(source.download(x))

    def upload(self, x: np.ndarray) -> Any:
        """A host array, here."""
        raise NotImplementedError

    def copy_in_pinned(self, x: np.ndarray) -> tuple[Any, Any]:
        """A host array, here, copied beside the computing if this device can do that; and for what to `wait_for`.

        A device that cannot has nothing to wait for: then the copy is there when this returns.
        """
        return self.upload(x), None

    def wait_for(self, time: Any) -> None:
        """What this device is asked to compute from now on waits for a `copy_in_pinned`; the program does not."""

    def download(self, x: Any) -> np.ndarray:
        """An array of this device, on the host."""
        raise NotImplementedError

    def copy_from(self, source: Device, x: Any) -> Any:
        """An array of another device of the same kind, here."""
        return self.upload(source.download(x))

    def synchronize(self) -> None:
        """Wait until everything that this device was asked to do is done (CUDA.jl: ``synchronize``)."""

    def memory(self) -> Memory:
        """Bytes used, free, used at most so far, and there in all (CUDA.jl: ``CUDA.memory_status``)."""
        return Memory(None, None, None, None)

    def watch_peak(self) -> bool:
        """From now on remember the most memory in use, for `watched_peak`; False if this device cannot tell."""
        return False

    def watched_peak(self) -> int:
        """The most bytes in use since the last `watch_peak` that was not asked for yet."""
        raise NotImplementedError

    def clock(self) -> float:
        """The host's time in seconds, as a program that uses this device reads it (`fluxlite.clock`)."""
        return time.perf_counter()

    @property
    def rng(self) -> Any:
        """This device's own generator of random numbers (CUDA.jl: ``CUDA.default_rng()``)."""
        now = seeding()
        if self._seeded is not now:
            with _one_at_a_time:  # two threads would draw the same numbers
                if self._seeded is not now:
                    self.seed(seed_of_device(now, self.index))
        return self._rng

    def seed(self, seed: int | None) -> None:
        """Start this device's generator anew from `seed` (CUDA.jl: ``CUDA.seed!``). `fluxlite.seed` is for all."""
        self._rng = self.new_generator(seed)
        self._seeded = seeding()

    def new_generator(self, seed: int | None) -> Any:
        """A generator of random numbers that makes them here; None as seed is one that nobody can foresee."""
        raise NotImplementedError

    def use(self) -> None:
        """Make this the current device of its kind, in this thread (CUDA.jl: ``device!(i)``).

        In a ``with device:`` block, until the block ends.
        """
        _stack(self.backend)[-1:] = [self]

    def __enter__(self) -> Device:
        _stack(self.backend).append(self)
        return self

    def __exit__(self, *exc_info: Any) -> None:
        _stack(self.backend).pop()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Device):
            return NotImplemented
        return type(other) is type(self) and (self.backend, self.index) == (other.backend, other.index)

    def __hash__(self) -> int:
        return hash((self.backend, self.index))

    def __repr__(self) -> str:
        return f"{self.backend}:{self.index}"


class DeviceList(list):
    """Devices of one kind; prints them below each other with their numbers. If empty, `reason` says why."""

    def __init__(self, devices: list[Device], reason: str = "") -> None:
        super().__init__(devices)
        self.reason = reason

    def __repr__(self) -> str:
        if not self:
            return f"0 devices: {self.reason}"
        lines = [f"{device.index}. {device.name}" for device in self]
        return "\n".join(["1 device:" if len(self) == 1 else f"{len(self)} devices:", *lines])


class GPU(Device):
    """What all GPUs have in common: they are made for Float32, and hold nothing but numbers and booleans."""

    # What the card is called by its library.
    kind_of_id = ""

    usual_dtypes = {np.dtype("float64"): np.dtype("float32"), np.dtype("complex128"): np.dtype("complex64")}

    @property
    def deviceID(self) -> DeviceID | None:
        return DeviceID(self.kind_of_id or type(self).__name__, self.index, self.name) if self.name else None

    @staticmethod
    def check(x: np.ndarray) -> None:
        """Raises `TypeError` for a host array of what a GPU has no type for: objects, text, dates, long doubles."""
        if x.dtype.kind in "OSUMm" or x.dtype.char in "gG" or x.dtype.type is np.void:
            kind = type(x.flat[0]).__name__ if x.size else x.dtype.name
            raise TypeError(f"a GPU holds numbers and booleans; this is an array of {kind} (dtype {x.dtype})")


class _Entered(threading.local):
    """The devices made current by ``with device:`` and ``device.use()``; each thread has its own, as in CUDA."""

    def __init__(self) -> None:
        self.stacks: dict[str, list[Device]] = {}


_entered = _Entered()


# Arrays that were pickled go to the GPU in use. They must not know `selection.py`, so it enters `require_gpu` here.
gpu_in_use: list[Callable[[], Device]] = []


def _stack(backend: str) -> list[Device]:
    return _entered.stacks.setdefault(backend, [])


def entered(backend: str) -> Device | None:
    """The device of this kind that ``with device:`` or ``device.use()`` made the current one, or None."""
    stack = _stack(backend)
    return stack[-1] if stack else None


def current(found: list[Device]) -> Device | None:
    """Of these devices of one kind the current one, otherwise the first; None if there are none."""
    if not found:
        return None
    wanted = entered(found[0].backend)
    return next((device for device in found if device is wanted), found[0])  # not one of an earlier simulation
