"""The simulated device: memory that can run out, a random generator, and work that takes time and is counted."""

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from . import dispatch, events, launches, records
from .arrays import SimulatedArray, array_in
from .clocks import COPY, DRAW, HOST, MEMSET, WAIT, Lanes, Node, Span, graph_in_words
from .events import emit, listeners
from .launches import ONE, Commands
from .memory import LACKING_DTYPES, Buffer, Memory, Pool, Stored, check_dtype, records_seen, root_of
from .meta import MetaArray, as_shape, reserve_zeros
from .places import IN_USE, Place, computing_card, current_card, estimating
from .presets import SAME_FOR_ALL, multiprocessor, preset
from .refusals import refusal

_STATE = 8 * 256 * 64  # bytes on each multiprocessor: CuPy starts a generator in each of 8 * 256 threads


class CountedGenerator:
    """What the generators of all GPUs have in common: a state of two numbers, the seed and the number of draws.

    A GPU's library doesn't give out the state of its generators, so a checkpoint couldn't hold it. Here each draw has
    a generator of its own, made from these two numbers. If you know them, you can repeat what comes next.
    """

    def __init__(self, seed: int | None = None) -> None:
        if seed is None:
            self._seed = np.random.SeedSequence().entropy
        else:
            self._seed = operator.index(seed)
        self._draws = 0
        np.random.SeedSequence(self._seed)  # raises ValueError for a negative one, here and not at the first draw

    @property
    def state(self) -> dict[str, int]:
        """The seed and the number of draws so far. If you assign them, the generator goes on from there.

        >>> generator = CountedGenerator(7)
        >>> generator.state
        {'seed': 7, 'draws': 0}
        """
        return {"seed": self._seed, "draws": self._draws}  # type: ignore[dict-item]

    @state.setter
    def state(self, state: dict[str, int]) -> None:
        known = isinstance(state, dict) and state.keys() == {"seed", "draws"}
        if not known or not all(type(number) is int and number >= 0 for number in state.values()):
            raise ValueError(f"the state of a GPU's generator is its seed and its number of draws, got {state!r}")
        self._seed, self._draws = state["seed"], state["draws"]

    def _next(self) -> np.random.SeedSequence:
        """The seed of the next draw's generator."""
        self._draws += 1
        return np.random.SeedSequence(self._seed, spawn_key=(self._draws,))


class SimulatedGenerator(CountedGenerator):
    """The counterpart of `cupy.random.Generator`: draws numbers on the device."""

    def __init__(self, device: Any, seed: int | None = None) -> None:
        super().__init__(seed)
        self._device = device

    def random(self, size: Any = None, dtype: Any = np.float64) -> Any:
        """Uniform in [0, 1)."""
        return self._draw("random", size, dtype, lambda numpys: numpys.random(size, dtype))

    def standard_normal(self, size: Any = None, dtype: Any = np.float64) -> Any:
        """Normal with mean 0 and deviation 1."""
        return self._draw("standard_normal", size, dtype, lambda numpys: numpys.standard_normal(size, dtype))

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Any = None, dtype: Any = np.float64) -> Any:
        """Uniform in [low, high)."""
        zeros = (low == 0) + (high == 0)
        # The draw in [0, 1), three kernels to stretch it between two arrays of float64, and another type if asked.
        commands = Commands(1 + 3 + (2 - zeros) + (np.dtype(dtype) != np.float64), memsets=zeros)
        return self._draw("uniform", size, dtype, lambda by: low + (high - low) * by.random(size, dtype), commands)

    def integers(self, low: int, high: int | None = None, size: Any = None, dtype: Any = np.int64) -> Any:
        """Whole numbers in [low, high), or [0, low). CuPy adds `low` to what it draws."""
        return self._draw("integers", size, dtype, lambda numpys: numpys.integers(low, high, size, dtype), Commands(2))

    def _draw(self, name: str, size: Any, dtype: Any, draw: Callable, commands: Commands = ONE) -> Any:
        """As CuPy does, start a generator for each draw, by a memset and a kernel."""
        device = self._device
        if device.lanes.is_capturing:
            device.lanes.refuse(DRAW)
        numpys = np.random.default_rng(self._next())
        values = (
            np.asarray(draw(numpys)) if device.instead is None else reserve_zeros(() if size is None else size, dtype)
        )
        device.memset("generator", _STATE * device.multiprocessors)
        device.issue(name, commands.and_kernels(1), values.nbytes, 8, 10 * values.size, values.dtype.char)
        return device.new(values)


class Card:
    """A GPU that isn't there: real values, computed on the CPU under its rules. A subclass adds a `Place`."""

    backend = "Simulated"
    kind_of_time = "simulated"
    index: int
    name: str
    instead: Callable[..., Any] | None = None  # computes in NumPy's place, called like ``compute(np.add, x, y)``
    cards: tuple[Any, ...] = ()  # all cards of this computer, if there are several: then one of them is the current one
    estimate: object = None  # the one that this device belongs to: only its receipts see this device

    def __init__(self, index: int = 0, like: Any = "NVIDIA T4", memory: int | None = None, host: Any = HOST) -> None:
        like = preset(like)
        super().__init__(index, f"simulated {like.name}")  # type: ignore[call-arg]
        self.settings = (like, memory)
        self.card, self.multiprocessors = like.name, like.multiprocessors
        self.pool = Pool(like.memory if memory is None else memory, f"{self!r} ({self.name})")
        self.host, self.lanes = host, Lanes(like, host)
        self._is_new = True

    def __repr__(self) -> str:
        return f"Simulated:{self.index}"

    def __eq__(self, other: object) -> bool:
        """Equal if number and card are the same. A device that's simulated later as another card isn't this one."""
        if self is other or type(other) is not type(self):
            return self is other
        return (self.index, self.settings[0]) == (other.index, other.settings[0])  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((self.backend, self.index))

    @property
    def mem_info(self) -> tuple[int, int]:
        """Free and total bytes. What's kept for new arrays isn't free."""
        return self.pool.capacity - self.pool.held, self.pool.capacity

    @property
    def attributes(self) -> dict[str, int]:
        """Figures of the card under CUDA's names, such as ``MaxThreadsPerBlock``: those that are known."""
        clock, architecture = multiprocessor(self.card)
        return {
            **SAME_FOR_ALL, "ClockRate": round(clock / 1e3), "MultiProcessorCount": self.multiprocessors,
            "MaxThreadsPerMultiProcessor": architecture["threads"],
        }  # fmt: skip

    @property
    def compute_capability(self) -> str:
        """``"75"`` for 7.5. For a card that isn't listed, we guess a T4's."""
        _, architecture = multiprocessor(self.card)
        return architecture["capability"]

    def upload(self, x: np.ndarray, explicit: bool = True) -> SimulatedArray:
        """A copy of a host array here, `explicit` if the program asked for it. The host doesn't wait for it."""
        result = self._copy_of(x)
        emit(self, events.HOST_TO_DEVICE, "copy", self.lanes.copy_in(x.nbytes), nbytes=x.nbytes, explicit=explicit)
        return result

    def copy_in_pinned(self, x: np.ndarray, is_pinned: bool = False) -> tuple[SimulatedArray, int]:
        """A copy of a host array through pinned memory, and when it will be there. The host doesn't wait for it.

        It starts after all earlier work, which may use the same memory. Later work runs at the same time, so call
        ``device.wait_for(time)`` before you use the copy (CUDA: ``cudaMemcpyAsync`` on its own stream,
        ``cudaStreamWaitEvent``). `is_pinned` says that `x` is in such memory already.
        """
        result = self._copy_of(x)
        span = self.lanes.copy_in(x.nbytes, is_pinned, ahead=True)
        emit(self, events.HOST_TO_DEVICE, "copy", span, nbytes=x.nbytes)
        return result, span.end

    def wait_for(self, time: int) -> None:
        """Later launches wait for the time that `copy_in_pinned` returned. The host doesn't wait."""
        self.lanes.wait_in(self.lanes.stream, time)

    def _copy_of(self, x: np.ndarray) -> SimulatedArray:
        if x.dtype.char == "V":
            check_dtype(x.dtype)
        elif x.dtype.char in LACKING_DTYPES:
            kind = type(x.flat[0]).__name__ if x.size else x.dtype.name
            raise TypeError(f"a GPU holds numbers and booleans; this is an array of {kind} (dtype {x.dtype})")
        self._begin()
        buffer = Buffer(self.pool, x.nbytes, None)  # first: a copy that doesn't fit shouldn't fill the host's memory
        dtype = x.dtype.newbyteorder("=")  # a card reads a number's last byte first, as nearly all computers do
        buffer.root = values = self.compute(np.array, x, dtype=dtype, order="K", subok=False)
        return array_in(values, self, buffer, None)

    def download(self, x: SimulatedArray, name: str = "copy", explicit: bool = True) -> np.ndarray:
        """A copy of `x` on the host, which waits until `x` is computed."""
        values: Any = self.compute(np.array, x.host_values, order="K", copy=True)
        self.wait(name, x.nbytes, explicit)
        if type(values) is MetaArray:
            return values.in_memory()
        return values

    def copy_from(self, source: Any, x: SimulatedArray) -> SimulatedArray:
        result = self._copy_of(x.host_values)
        self.count_copy_from(source, x.nbytes)
        return result

    def count_copy_from(self, source: Any, nbytes: int) -> None:
        """Record that memory was copied here from another card, as it is."""
        span = self.lanes.copy_from(source.lanes, nbytes)
        emit(self, events.DEVICE_TO_DEVICE, f"copy from {source!r}", span, nbytes=nbytes)

    def copy_within(self, x: SimulatedArray, order: Any = "K") -> SimulatedArray:
        """A copy of `x` on this device, by a kernel."""
        if records_seen:
            records.check_kernel(x.host_values.dtype)
        buffer = Buffer(self.pool, x.host_values.nbytes, None)
        buffer.root = values = self.compute(np.ndarray.copy, x.host_values, order)
        self.launch("copy", 2 * values.nbytes)
        return array_in(values, self, buffer, None)

    def check_room(self, shape: Any, dtype: Any) -> None:
        """Raises `OutOfMemoryError` if such an array doesn't fit, before this computer's memory is filled with it."""
        if isinstance(shape, (int, list, tuple)):
            self.pool.check_room(math.prod(as_shape(shape)) * np.dtype(dtype).itemsize)

    def new(self, values: np.ndarray) -> SimulatedArray:
        """Wrap values that were computed here."""
        if not isinstance(values, np.ndarray):  # NumPy returns a number where a GPU returns an array of shape ()
            values = np.asarray(values)
        root = values if values.base is None else root_of(values)
        return array_in(values, self, Buffer(self.pool, values.nbytes, root), None)

    def launch(self, name, nbytes, operations=0.0, kind="f", count=1, library=False, lasting=0, figures=None):
        """Record `count` kernels of the operation `name`, or one written by hand, `lasting` nanoseconds."""
        if self._is_new:
            self._begin()
        loaded, asked, went_on, start, end = self.lanes.launch(name, nbytes, operations, kind, count, library, lasting)
        if listeners:
            if loaded > asked:
                emit(self, events.FIRST_USE, name, Span(asked, loaded, asked, loaded))
            if self.lanes.nodes is None:
                emit(self, events.LAUNCH, name, Span(loaded, went_on, start, end), count, figures=figures)

    def launch_graph(self, nodes: list[Node]) -> None:
        """Record that the host launches all these with one order."""
        if self._is_new:
            self._begin()
        order, spans = self.lanes.launch_graph(nodes)
        if listeners:
            emit(self, events.GRAPH, graph_in_words(nodes), order)
            for node, span in zip(nodes, spans):
                emit(self, events.IN_GRAPH, node.name, span, node.times)

    def _begin(self) -> None:
        """Before anything else, the driver and cuBLAS start."""
        self._is_new = False
        if (span := self.lanes.start()) is not None:
            emit(self, events.FIRST_USE, "CUDA and cuBLAS", span)

    def launch_product(self, x: Any, y: Any, out: Any) -> None:
        """Record a matrix product, which may be too small to use all multiprocessors."""
        # For each element of the result, a product and a sum for each k.
        share = min(1.0, launches.tiles(x, y, out) / self.multiprocessors)
        work = 2.0 * out.size * x.shape[-1] / share if share else 0.0
        kind = "f" if out.ndim > 2 and out.dtype.char == "e" else out.dtype.char  # CuPy computes these in float32
        nbytes = x.nbytes + y.nbytes + out.nbytes
        self.issue("matmul", launches.launches_of_product(x, y), nbytes, nbytes, work, kind)

    def launch_function(self, name: str, arrays: list, made: list, args: Any, kwargs: dict, commands: Commands) -> None:
        """Record what the NumPy function `name` asks for, from its array arguments and its new results."""
        nbytes, work = launches.work_of(name, arrays, made, args, kwargs, self.multiprocessors)
        kind = (made or arrays)[0].dtype.char if made or arrays else "f"
        self.issue(name, commands, nbytes, made[0].nbytes if made else 0, work, kind)

    def issue(
        self, name: str, commands: Commands, nbytes: int, size: int, operations: float = 0.0, kind: str = "f"
    ) -> None:
        """Record a call's kernels, which share this work, and what else it asks for, with memory of this `size`."""
        if commands.kernels:
            self.launch(name, nbytes, operations, kind, commands.kernels, commands.library)
        if commands is not ONE:
            self.issue_others(name, commands, size)

    def issue_others(self, name: str, commands: Commands, nbytes: int) -> None:
        """Record what a call asks for besides kernels: `nbytes` set to zero or copied on the card, copies, waits."""
        for _ in range(commands.memsets):
            self.memset(name, nbytes)
        for _ in range(commands.copies):
            self.copy_on_card(nbytes)
        for size in commands.uploads:
            self.count_upload(name, size)
        for size in commands.reads:
            self.wait(name, size)

    def count_upload(self, name: str, nbytes: int) -> None:
        """Record that the host's numbers were copied there as a side effect."""
        emit(self, events.HOST_TO_DEVICE, name, self.lanes.copy_in(nbytes), nbytes=nbytes, explicit=False)

    def copy_on_card(self, nbytes: int) -> None:
        """Record that memory was copied on the card, as it is, without a kernel."""
        _, *span = self.lanes.launch(COPY, 2 * nbytes)
        if self.lanes.nodes is None:
            emit(self, events.DEVICE_TO_DEVICE, "copy", Span(*span), nbytes=nbytes)

    def memset(self, name: str, nbytes: int) -> None:
        """Record that memory was set to zero, which needs no kernel."""
        _, *span = self.lanes.launch(MEMSET, nbytes)
        if self.lanes.nodes is None:
            emit(self, events.MEMSET, name, Span(*span), nbytes=nbytes)

    def wait(self, name: str, nbytes: int, explicit: bool = False) -> None:
        """The program waits until `nbytes` on the device are computed and copied."""
        events.check_wait()
        span = self.lanes.copy_out(nbytes)
        emit(self, events.DEVICE_TO_HOST, name, span, nbytes=nbytes, explicit=explicit)
        emit(self, events.SYNCHRONIZE, name, Span(span.asked, span.start, span.asked, span.start), explicit=explicit)

    def synchronize(self) -> None:
        events.check_wait()
        for capture in list(self.lanes.captures.values()):
            capture.refuse(WAIT)
        if self.lanes.refuse is not None:
            self.lanes.refuse(WAIT)
        emit(self, events.SYNCHRONIZE, "synchronize", self.lanes.synchronize())

    def clock(self) -> float:
        return self.host.now / 1e9

    def begin(self) -> Any:
        """A call begins that computes with arrays of this card. Returns the card that computes: the current one."""
        if self.cards:
            return computing_card(self)
        return self

    def compute(self, function: Callable, *args: Any, **kwargs: Any) -> Any:
        """What NumPy computes, or only its shapes. Without warnings, since a GPU makes inf and NaN silently."""
        return (self.instead or dispatch.quiet.run)(function, *args, **kwargs)

    def memory(self) -> Any:
        pool = self.pool
        return Memory(pool.used, pool.capacity - pool.used, max(pool.peak, *pool.earlier_peaks, 0), pool.capacity)

    def watch_peak(self) -> bool:
        self.pool.earlier_peaks.append(self.pool.peak)
        self.pool.peak = self.pool.used
        return True

    def watched_peak(self) -> int:
        peak = self.pool.peak
        self.pool.peak = max(peak, self.pool.earlier_peaks.pop())
        return peak

    def new_generator(self, seed: int | None) -> SimulatedGenerator:
        return SimulatedGenerator(self, seed)


class Device(Card, Place):
    """A simulated GPU: ``device(x)`` copies an array there, and what you compute with it stays there.

    `like` is the card to imitate, by name or as a preset. `memory`, in bytes, replaces that card's.

    >>> device = Device()
    >>> device(np.ones(2, np.float32)) + 1
    array([2., 2.], dtype=float32)  # Simulated:0
    """

    in_use = property(lambda self: current)  # says where unpickled arrays go


def together(cards: list[Any]) -> list[Any]:
    """Put these cards into one computer. If there are several, one is the current one."""
    if len(cards) > 1:
        for card in cards:
            card.cards = tuple(cards)
    return cards


MOST = 1024  # simulated GPUs at once: no computer has more, and each takes memory and time
_devices: list[Device] = []


def devices(count: int = 0, like: Any = "NVIDIA T4", memory: int | None = None) -> list[Device]:
    """The simulated GPUs of this computer: one T4, until you ask for `count` of them, `like` a certain card.

    >>> [device.name for device in devices(2, "A100")]
    ['simulated A100', 'simulated A100']
    """
    if not 0 <= operator.index(count) <= MOST:
        raise ValueError(f"devices(count): the number of GPUs is at least 1 and at most {MOST:,}, got {count}")
    if count or not _devices:
        _devices[:] = together([Device(index, like, memory) for index in range(count or 1)])
    return _devices


simulating: list[Callable[[], Any]] = []  # each gives the device that another library simulates, or None


def current() -> Any:
    """The device in use: inside ``with device:`` that one, otherwise the first."""
    if (device := estimating.get()) is not None:
        return device
    for simulated in simulating:
        if (device := simulated()) is not None:
            return device
    return current_card(devices()[0])


IN_USE.insert(0, current)


def on_device(function: Any, x: Any) -> Any:
    """`x`, which `function` takes only as an array on a device. Raises `TypeError` for anything else."""
    if not isinstance(x, Stored):
        raise refusal(function, x, current(), alone=True)
    return x
