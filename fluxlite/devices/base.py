"""What a device is: a place for arrays. Call it to move them there: ``device(model)``."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..arguments import check_whole
from ..arrays import device_of
from ..errors import mover
from ..seeds import Seeding, seed_of_device, seeding
from .moving import DEFAULT, moved

_one_at_a_time = threading.Lock()


class Memory(NamedTuple):
    """A device's memory in bytes. None stands for what the device can't tell."""

    used: int | None
    free: int | None
    peak: int | None
    capacity: int | None


class DeviceID(NamedTuple):
    """Which card this is, in its library's words: ``CuDevice(0): NVIDIA GeForce GTX 1650``."""

    kind: str
    number: int
    name: str

    def __repr__(self) -> str:
        return f"{self.kind}({self.number}): {self.name}"


class Device:
    """A place where arrays live and are computed (Flux: ``AbstractDevice``).

    ``device(x)`` gives `x` with all its arrays on the device. Each kind of device says how to copy an array in,
    `upload`, and out, `download`. Everything else follows.

    >>> from fluxlite.devices import CPU
    >>> CPU({"W": np.zeros(2)})
    {'W': array([0., 0.])}
    """

    backend = ""
    # What kind of time its `clock` shows, and on which card, if it isn't a real one.
    kind_of_time, card = "measured", ""
    # Types that change when arrays move here, unless the caller asks for a type.
    usual_dtypes: dict[np.dtype, np.dtype] = {}

    def __init__(self, index: int = 0, name: str = "") -> None:
        check_whole("Device(index)", index)
        self.index = index
        self.name = name
        self._rng: Any = None
        self._seeded: Seeding | None = None  # the latest `fluxlite.seed` that its generator knows of

    @property
    def deviceID(self) -> DeviceID | None:
        """Which card this is. None for the CPU, and for a GPU that can't be used (Flux: ``device.deviceID``)."""
        return None

    def __call__(self, x: Any, dtype: Any = DEFAULT) -> Any:
        """`x`, an array, a container or a registered model, with its arrays on this device. `x` itself doesn't change.

        On the way to a GPU, Float64 becomes Float32 and complex128 becomes complex64. ``dtype=None`` keeps them;
        ``dtype=np.float16`` gives all floating-point arrays that type. An array that needs no change is the same object
        in the result. Raises `TypeError` for what can't move, with its path.
        """
        return moved(self, x, dtype)

    def receive(self, x: Any) -> Any:
        """The array `x`, from any device, here: `x` itself if it's here already, otherwise an explicit copy."""
        source = device_of(x)
        if source == self:
            return x
        if type(source) is type(self) and source.backend == self.backend:
            return self.copy_from(source, x)
        return self.upload(source.download(x))

    def upload(self, x: np.ndarray) -> Any:
        """Copy a host array to this device."""
        raise NotImplementedError

    def copy_in_pinned(self, x: np.ndarray) -> tuple[Any, Any]:
        """Copy a host array here, during computations if this device can; returns the copy and what to `wait_for`.

        A device that can't do both at once has nothing to wait for: its copy is finished when this returns.
        """
        return self.upload(x), None

    def wait_for(self, time: Any) -> None:
        """Later computations on this device wait for a `copy_in_pinned`. The program itself doesn't wait."""

    def download(self, x: Any) -> np.ndarray:
        """Copy an array of this device to the host."""
        raise NotImplementedError

    def copy_from(self, source: Device, x: Any) -> Any:
        """Copy an array here from another device of the same kind."""
        return self.upload(source.download(x))

    def synchronize(self) -> None:
        """Wait until this device has finished all its work (CUDA.jl: ``synchronize``)."""

    def memory(self) -> Memory:
        """The device's memory in bytes: used, free, peak and total (CUDA.jl: ``CUDA.memory_status``)."""
        return Memory(None, None, None, None)

    def watch_peak(self) -> bool:
        """Start watching for the most memory in use, for `watched_peak`. False if this device can't tell."""
        return False

    def watched_peak(self) -> int:
        """The most bytes in use since the matching `watch_peak`. The two nest like brackets."""
        raise NotImplementedError

    def clock(self) -> float:
        """The time in seconds, as a program that uses this device sees it (`fluxlite.clock`)."""
        return time.perf_counter()

    def stopwatch(self) -> Stopwatch:
        """A stopwatch that has just been started (CUDA.jl: ``CUDA.@elapsed``).

        >>> from fluxlite.devices import CPU
        >>> watch = CPU.stopwatch()
        >>> watch.stop()
        >>> watch.seconds() >= 0
        True
        """
        return Stopwatch(self)

    @property
    def rng(self) -> Any:
        """This device's random number generator (CUDA.jl: ``CUDA.default_rng()``)."""
        now = seeding()
        if self._seeded is not now:
            with _one_at_a_time:  # two threads would draw the same numbers
                if self._seeded is not now:
                    self.seed(seed_of_device(now, self.index))
        return self._rng

    def seed(self, seed: int | None) -> None:
        """Restart this device's generator with `seed` (CUDA.jl: ``CUDA.seed!``). `fluxlite.seed` is for all devices."""
        if seed is not None:
            check_whole("the seed of a device", seed)
        self._rng = self.new_generator(seed)
        self._seeded = seeding()

    def new_generator(self, seed: int | None) -> Any:
        """A random number generator that draws arrays on this device; with None as seed, an unpredictable one."""
        raise NotImplementedError

    def use(self) -> None:
        """Make this the current device of its kind, in this thread (CUDA.jl: ``device!(i)``).

        Inside a ``with device:`` block, it lasts until the block ends.
        """
        _stack(self.backend)[-1:] = [self]

    def __enter__(self) -> Device:
        _stack(self.backend).append(self)
        return self

    def __exit__(self, *exc_info: Any) -> None:
        _stack(self.backend).pop()

    def _mover(self, exact: bool = False) -> str:
        return f"get_device({self.backend!r}, {self.index})" if exact else mover(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Device):
            return NotImplemented
        return type(other) is type(self) and (self.backend, self.index) == (other.backend, other.index)

    def __hash__(self) -> int:
        return hash((self.backend, self.index))

    def __repr__(self) -> str:
        return f"{self.backend}:{self.index}"


class Stopwatch:
    """How long a device takes for what it's asked to do between the start and `stop`. Only `seconds` waits for it."""

    def __init__(self, device: Device) -> None:
        self.device, self.start = device, device.clock()

    def stop(self) -> None:
        """What's asked for from now on doesn't count."""

    def seconds(self) -> float:
        """The time until the device had done all this."""
        self.device.synchronize()
        return self.device.clock() - self.start


class DeviceList(list):
    """Devices of one kind, printed as a numbered list. If it's empty, `reason` says why."""

    def __init__(self, devices: list[Device], reason: str = "") -> None:
        super().__init__(devices)
        self.reason = reason

    def __repr__(self) -> str:
        if not self:
            return f"0 devices: {self.reason}"
        lines = [f"{device.index}. {device.name}" for device in self]
        return "\n".join(["1 device:" if len(self) == 1 else f"{len(self)} devices:", *lines])


# The characters of the types that GPUs lack: objects, text, raw bytes and records, dates, long doubles.
LACKING_DTYPES = frozenset("OSUTcVMmgG")


class GPU(Device):
    """What all GPUs share: they're made for Float32, and hold only numbers and booleans."""

    # What its library calls a card.
    kind_of_id = ""

    # CuPy's names for a device's number: ``x.device.id``, ``int(x.device)``.
    id = property(lambda self: self.index)

    def __int__(self) -> int:
        return self.index

    def _reads(self, name: str) -> None:
        """Called before `name` reads an array's values on the host, as a side effect."""
        for check in checks_of_reads:
            check(name, self)

    usual_dtypes = {np.dtype("float64"): np.dtype("float32"), np.dtype("complex128"): np.dtype("complex64")}

    @property
    def deviceID(self) -> DeviceID | None:
        return DeviceID(self.kind_of_id or type(self).__name__, self.index, self.name) if self.name else None

    @staticmethod
    def check(x: np.ndarray) -> None:
        """Raises `TypeError` for a host array of a type that GPUs lack: objects, text, dates, long doubles."""
        if x.dtype.char in LACKING_DTYPES:
            kind = type(x.flat[0]).__name__ if x.size else x.dtype.name
            raise TypeError(f"a GPU holds numbers and booleans; this is an array of {kind} (dtype {x.dtype})")


class _Entered(threading.local):
    """The devices made current by ``with device:`` and ``device.use()``. Each thread has its own, as in CUDA."""

    def __init__(self) -> None:
        self.stacks: dict[str, list[Device]] = {}


_entered = _Entered()


# What this file can't import registers here: `require_gpu` of `selection.py`, `scalar_read` of `scalars.py`, and the
# class of all GPUs' generators, when `simulated.py` is loaded.
gpu_in_use: list[Callable[[], Device]] = []
checks_of_reads: list[Callable[[str, Device], None]] = []
gpu_generators: list[type] = []


def _stack(backend: str) -> list[Device]:
    return _entered.stacks.setdefault(backend, [])


def entered(backend: str) -> Device | None:
    """The device of this kind that ``with device:`` or ``device.use()`` made current, or None."""
    stack = _stack(backend)
    return stack[-1] if stack else None


def current(found: list[Device]) -> Device | None:
    """The current one of these devices of one kind, otherwise the first. None if the list is empty."""
    if not found:
        return None
    wanted = entered(found[0].backend)
    return next((device for device in found if device is wanted), found[0])  # it may belong to an earlier simulation
