"""What a device is: a place for arrays. Call it to move them there: ``device(model)``."""

import threading
import time
import weakref
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

from ..annotations import Array, DType, T
from ..array_kinds import ArrayKind, register
from ..arrays import add_at_on_the_host, device_of
from ..helping import Readable
from ..words import check_whole, explained, mover
from .moving import DEFAULT, moved
from .seeds import Seeding, seeding

HOST_TO_DEVICE = "host to device"
DEVICE_TO_HOST = "device to host"
DEVICE_TO_DEVICE = "device to device"
SYNCHRONIZE = "synchronize"

listeners: list[Callable[..., None]] = []  # open receipts hear of what real devices do; a simulated GPU has its own


def tell(device: "Device", kind: str, name: str, times: int = 1, nbytes: int = 0, explicit: bool = True) -> None:
    """Report to all listeners: `times` copies, `nbytes` in all, or that many waits."""
    for listener in list(listeners):
        listener(device, kind, name, times, nbytes, explicit)


class Memory(NamedTuple):
    """A device's memory in bytes. None stands for what the device can't tell."""

    used: int | None = None
    free: int | None = None
    peak: int | None = None
    capacity: int | None = None


class DeviceID(NamedTuple):
    """Which card this is, in its library's words: ``CuDevice(0): NVIDIA GeForce GTX 1650``."""

    kind: str
    number: int
    name: str

    def __repr__(self) -> str:
        return f"{self.kind}({self.number}): {self.name}"


class Device(metaclass=Readable):
    """A place where arrays live and are computed (Flux: ``AbstractDevice``). ``device(x)`` moves `x` there.

    Each kind of device writes `upload`, `download` and `new_generator`. Everything else follows.
    """

    backend = ""
    deviceID: DeviceID | None = None  # which card this is (Flux: ``device.deviceID``)
    kind_of_time = "measured"  # what its `clock` shows
    card = ""  # the card whose time that is, if it isn't real
    usual_dtypes: dict[np.dtype, np.dtype] = {}  # types that change on the way here, unless the caller asks for one
    _one_at_a_time = threading.Lock()

    def __init__(self, index: int = 0, name: str = "") -> None:
        check_whole("Device(index)", index)
        self.index = index
        self.name = name
        self._rng: Any = None
        self._seeded: Seeding | None = None  # the latest `fluxlite.seed` that its generator knows of

    @explained()
    def __call__(self, x: T, dtype: DType | None = DEFAULT) -> T:
        """`x`, an array, a container or a registered model, with its arrays on this device. `x` itself doesn't change.

        On the way to a GPU, float64 becomes float32, even in complex numbers. ``dtype=None`` keeps it;
        ``dtype=np.float16`` gives all floating-point arrays that type.
        """
        return moved(self, x, dtype)

    @explained()
    def receive(self, x: Array) -> Any:
        """The array `x`, from any device, here: `x` itself if it's here already, otherwise a copy."""
        source = device_of(x)
        if source == self:
            return x
        if type(source) is type(self) and source.backend == self.backend:
            return self.copy_from(source, x)
        return self.upload(source.download(x))

    def upload(self, x: np.ndarray) -> Array:
        """Copy a host array to this device."""
        raise NotImplementedError

    def download(self, x: Any) -> np.ndarray:
        """Copy an array of this device to the host."""
        raise NotImplementedError

    def new_generator(self, seed: int | None) -> Any:
        """A random number generator that draws arrays on this device; with None as seed, an unpredictable one."""
        raise NotImplementedError

    def copy_from(self, source: "Device", x: Any) -> Any:
        """Copy an array here from another device of the same kind."""
        return self.upload(source.download(x))

    def copy_in_pinned(self, x: np.ndarray) -> tuple[Array, Any]:
        """Copy a host array here, during computations if this device can; returns the copy and what to `wait_for`."""
        return self.upload(x), None

    def wait_for(self, time: Any) -> None:
        """Later computations on this device wait for a `copy_in_pinned`; the program doesn't."""

    def synchronize(self) -> None:
        """Wait until this device has finished all its work (CUDA.jl: ``synchronize``)."""

    def memory(self) -> Memory:
        """The device's memory in bytes: used, free, peak and total (CUDA.jl: ``CUDA.memory_status``)."""
        return Memory()

    def watch_peak(self) -> bool:
        """Start watching for the most memory in use, for `watched_peak`. False if this device can't tell."""
        return False

    def watched_peak(self) -> int:
        """The most bytes in use since the matching `watch_peak`. The two nest like brackets."""
        raise NotImplementedError

    def clock(self) -> float:
        """The time in seconds, as a program that uses this device sees it (`fluxlite.clock`)."""
        return time.perf_counter()

    def stopwatch(self) -> "Stopwatch":
        """A stopwatch that has just been started (CUDA.jl: ``CUDA.@elapsed``)."""
        return Stopwatch(self)

    @property
    def rng(self) -> Any:
        """This device's random number generator (CUDA.jl: ``CUDA.default_rng()``)."""
        with self._one_at_a_time:  # two threads would draw the same numbers
            if self._seeded is not seeding():
                self.seed(seeding().for_device(self.index))
        return self._rng

    def seed(self, seed: int | None) -> None:
        """Restart this device's generator with `seed` (CUDA.jl: ``CUDA.seed!``). `fluxlite.seed` is for all devices."""
        if seed is not None:
            check_whole("the seed of a device", seed)
        self._rng = self.new_generator(seed)
        self._seeded = seeding()

    def use(self) -> None:
        """Make this current in this thread, inside a ``with device:`` until its end (CUDA.jl: ``device!(i)``)."""
        entered = SETTINGS.entered(self.backend)
        if entered:
            entered.pop()
        entered.append(self)

    def __enter__(self) -> "Device":
        SETTINGS.entered(self.backend).append(self)
        return self

    def __exit__(self, *exc_info: Any) -> None:
        SETTINGS.entered(self.backend).pop()

    def move_code(self, exact: bool = False) -> str:
        if exact:
            return f"get_device({self.backend!r}, {self.index})"
        return mover(self)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and (self.backend, self.index) == (other.backend, other.index)

    def __hash__(self) -> int:
        return hash((self.backend, self.index))

    def __repr__(self) -> str:
        return f"{self.backend}:{self.index}"


class Stopwatch:
    """How long a device takes for what it's asked to do between the start and `stop`. Only `seconds` waits for it."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.start = device.clock()

    def stop(self) -> None:
        """What's asked for from now on doesn't count."""

    def seconds(self) -> float:
        self.device.synchronize()
        return self.device.clock() - self.start


class CPUDevice(Device):
    """The processor and the computer's memory (Flux: ``FluxCPUDevice``)."""

    backend = "CPU"

    def upload(self, x: np.ndarray) -> np.ndarray:
        return x

    download = upload

    def new_generator(self, seed: int | None) -> "np.random.Generator":
        return np.random.default_rng(seed)

    def __repr__(self) -> str:
        return "CPU"


CPU = CPUDevice(name="CPU")


def _device_of_host_array(x: np.ndarray) -> Device:
    return CPU


def _address_of_host_array(x: np.ndarray) -> int:
    return x.__array_interface__["data"][0]


register(
    np.ndarray,
    ArrayKind(
        device_of=_device_of_host_array,
        address=_address_of_host_array,
        add_at=add_at_on_the_host,
        can_freeze=True,
        is_plain=True,
    ),
)


class GPU(Device):
    """What all GPUs share: they're made for float32."""

    usual_dtypes = {np.dtype("float64"): np.dtype("float32"), np.dtype("complex128"): np.dtype("complex64")}
    kind_of_id = ""  # what its library calls a card
    id = property(lambda self: self.index)  # CuPy's names for a device's number: ``x.device.id``, ``int(x.device)``

    def __int__(self) -> int:
        return self.index

    @property
    def deviceID(self) -> DeviceID | None:  # type: ignore[override]
        if not self.name:
            return None
        return DeviceID(self.kind_of_id or type(self).__name__, self.index, self.name)

    @staticmethod
    def check(x: np.ndarray) -> None:
        """Refuse a host array of a type that GPUs lack: objects, text, dates, long doubles."""
        if x.dtype.char in "OSUTcVMmgG":
            kind = x.dtype.name
            if x.size:
                kind = type(x.flat[0]).__name__
            raise TypeError(f"a GPU holds numbers and booleans; this is an array of {kind} (dtype {x.dtype})")


class Change:
    """A new value of a `Setting`: for good, or until the end of its ``with`` block."""

    def __init__(self, setting: "Setting", value: Any) -> None:
        self._setting = setting
        self._entry = _Entry(value, self)
        setting.add(self._entry)

    def __enter__(self) -> Any:
        self._entry.is_block = True
        return self

    def __exit__(self, *exc_info: Any) -> None:
        self._setting.take_back(self._entry)


class _Entry:
    def __init__(self, value: Any, change: Change) -> None:
        self.value = value
        self.thread = threading.get_ident()
        self.is_block = False
        self._change = weakref.ref(change)

    def is_for_good(self) -> bool:
        """Whether no ``with`` block can take it back: nobody has what the call returned."""
        return not self.is_block and self._change() is None


class Setting:
    """A value for the whole program. What changed last counts, and each ``with`` block takes back its own change.

    Blocks of several threads overlap, and end in any order. When all have ended, the value is what it was before them.
    """

    def __init__(self) -> None:
        self._entries: list[_Entry] = []
        self._lock = threading.Lock()

    @property
    def value(self) -> Any:
        """None at first."""
        entries = self._entries  # once: another thread may put others in their place
        if not entries:
            return None
        return entries[-1].value

    def add(self, entry: _Entry) -> None:
        with self._lock:
            # Of several changes for good, one after the other, only the last can come back.
            pairs = zip(self._entries, self._entries[1:])
            needed = [one for one, above in pairs if not (one.is_for_good() and above.is_for_good())]
            self._entries = [*needed, *self._entries[-1:], entry]

    def take_back(self, entry: _Entry) -> None:
        """End a block, and with it what the same thread changed inside."""
        with self._lock:
            if entry not in self._entries:
                return
            place = self._entries.index(entry)
            later = self._entries[place + 1 :]
            inside = [one for one in later if one.thread == entry.thread and not one.is_block]
            self._entries = [one for one in self._entries if one is not entry and one not in inside]


class Settings:
    """All that a program said about GPUs, in `SETTINGS`. `choose` in `selection.py` says what counts more."""

    # The device of the `estimate` around this code. Other threads don't see it.
    estimated: ContextVar[Device | None] = ContextVar("estimated", default=None)
    simulating = Setting()
    pretending = Setting()
    scalar_reading = Setting()
    # The GPUs of `simulate_gpu`; None while it's off.
    simulated = property(lambda self: self.simulating.value)
    # What `pretend` says instead of this computer, the environment and the file.
    pretended = property(lambda self: self.pretending.value)
    scalar_reads = property(lambda self: self.scalar_reading.value)  # what `allowscalar` was called with
    require_gpu: Any = None  # the function of this name: `selection.py` puts it here when it's loaded
    _of_this_thread = threading.local()

    def simulation(self) -> list[Device] | None:
        """The simulated GPUs that are used instead of all others; None if there's no simulation."""
        estimated = self.estimated.get()
        if estimated is None:
            return self.simulated
        return [estimated]

    def entered(self, backend: str) -> list[Device]:
        """The devices made current by ``with device:`` and ``device.use()``. Each thread has its own, as in CUDA."""
        return vars(self._of_this_thread).setdefault(backend, [])


SETTINGS = Settings()


def current(found: list[Device]) -> Device | None:
    """The current one of these devices of one kind, otherwise the first. None if the list is empty."""
    if not found:
        return None
    entered = SETTINGS.entered(found[0].backend)
    if entered and any(device is entered[-1] for device in found):  # and not an equal one, of an earlier simulation
        return entered[-1]
    return found[0]


class Functional(NamedTuple):
    """True if `reason` is empty; prints as ``True`` or ``False: reason``. `installed`: whether its library is there."""

    reason: str = ""
    installed: bool = True

    def __bool__(self) -> bool:
        return not self.reason

    def __repr__(self) -> str:
        if self.reason:
            return f"False: {self.reason}"
        return "True"
