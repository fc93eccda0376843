"""Loaders whose batches arrive on a device: ``gpu(loader)`` and `CuIterator`.

The next batch is copied while the GPU computes with the current one. It comes from "pinned" memory, which the GPU can
read on its own. On the GPU, computations wait only for the batch that they need; the program waits for neither. A
device that can't do this copies as ``device(batch)`` does.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from ..arguments import explained, in_words
from ..arrays import device_of
from ..devices.base import CPU, Device
from ..devices.moving import DEFAULT, moved, send
from ..devices.selection import require_gpu
from ..tree.ties import is_array
from ..tree.walks import KeyPath, leaves


class MovedLoader:
    """`loader`, with each batch moved to `device` when its turn comes: this is ``gpu(loader)``.

    Each batch is ``device(batch, dtype)``, in the loader's order. When you get a batch, the copy of the next one has
    begun, and nothing here refers to yours: its memory is free as soon as you drop it.

    >>> from fluxlite.data import DataLoader
    >>> with fl.simulate_gpu():
    ...     loader = fl.gpu(DataLoader(np.ones((4, 2), np.float32), batchsize=2))
    ...     print(loader)
    ...     [fl.device_of(x) for x in loader]
    [ Info: Simulated:0, a simulated NVIDIA T4, stands in for a GPU.
    DataLoader(float32[4, 2], batchsize=2) => Simulated:0, batch by batch      # 2 batches of 4 observations
    [Simulated:0, Simulated:0]
    """

    def __init__(self, loader: Any, device: Device, dtype: Any = DEFAULT) -> None:
        self.loader, self.device, self.dtype = loader, device, dtype

    @property
    def rng(self) -> Any:
        """The loader's generator, which shuffles."""
        return self.loader.rng

    @rng.setter
    def rng(self, value: Any) -> None:
        self.loader.rng = value

    def __len__(self) -> int:
        return len(self.loader)

    def __iter__(self) -> Iterator[Any]:
        return self.batches()

    def batches(self, skip: int = 0, share: tuple[int, int] = (0, 1)) -> Iterator[Any]:
        """Begin an epoch, and skip its first `skip` batches without copying them. `share` is for a `DataLoader`."""
        if hasattr(self.loader, "batches"):
            return self._one_ahead(self.loader.batches(skip, share))
        return self._one_ahead(islice(self.loader, skip, None))

    def _one_ahead(self, batches: Iterator[Any]) -> Iterator[Any]:
        coming = self._send_next(batches)
        try:
            while coming is not None:
                present, coming = coming, None if coming.error else self._send_next(batches)
                yield present.arrived()
        finally:  # after a break, a copy that's still running keeps its memory until it's done
            if coming is not None:
                coming.wait()

    def _send_next(self, batches: Iterator[Any]) -> "_Lane | None":
        """The next batch on its way, or an error to raise when its turn comes; None at the end."""
        lane = _Lane(self.device)
        try:
            lane.batch = self._moved(next(batches), lane)
        except StopIteration:
            return None
        except Exception as error:
            lane.error = error
        return lane

    def _moved(self, batch: Any, lane: Any) -> Any:
        return moved(lane, batch, self.dtype)

    def __repr__(self) -> str:
        loader, _, comment = repr(self.loader).partition("      # ")
        return f"{loader} => {self.device}, batch by batch{comment and f'      # {comment}'}"


class CuIterator(MovedLoader):
    """Copies every batch of `loader` to the GPU in use (CUDA.jl: ``CuIterator``).

    `loader` is a `DataLoader` or any other iterable of batches, a generator too. A batch is an array, or a tuple, named
    tuple, list or dict of arrays. Unlike with `gpu`, Float64 stays Float64; ``dtype=np.float32`` converts it.

    The next batch is copied while the GPU computes with this one (CUDA.jl copies a batch when you ask for it, and frees
    the one before by force). Here a batch's memory is free as soon as you drop it, so ``list(CuIterator(loader))`` is
    safe. Arrays that were on the GPU already aren't copied, and remain yours.

    Raises `RuntimeError` without a usable GPU, and `TypeError` for batches without arrays.

    >>> with fl.simulate_gpu():
    ...     for x, y in CuIterator((np.full(2, i), i) for i in range(2)):
    ...         print(repr(x), y)
    [ Info: Simulated:0, a simulated NVIDIA T4, stands in for a GPU.
    array([0, 0])  # Simulated:0 0
    array([1, 1])  # Simulated:0 1
    """

    @explained("a DataLoader or another iterable of batches")
    def __init__(self, loader: Iterable[Any], dtype: Any = None) -> None:
        if not hasattr(type(loader), "__iter__") and not is_array(loader):
            raise TypeError("this isn't iterable")
        super().__init__(loader, require_gpu(), dtype)

    def _moved(self, batch: Any, lane: Any) -> Any:
        result = super()._moved(batch, lane)
        if not any(map(is_array, leaves(result))):
            raise TypeError(f"CuIterator: a batch is an array, or holds arrays; got {in_words(batch)}")
        return result

    def __repr__(self) -> str:
        return f"CuIterator({super().__repr__()})"


class _Lane:
    """Stands for a device during one move, copies host arrays to it while it computes, and keeps the batch until then.

    `times` is when each copy will be there, in the device's own terms.
    """

    def __init__(self, device: Device) -> None:
        self.device, self.usual_dtypes = device, device.usual_dtypes
        self.times: list[Any] = []
        self.batch: Any = None
        self.error: Exception | None = None

    def receive(self, x: Any) -> Any:
        if self.device == CPU or device_of(x) != CPU:
            return self.device.receive(x)
        result, time = self.device.copy_in_pinned(x)
        self.times.append(time)
        return result

    def arrived(self) -> Any:
        """The batch, after making the device wait for it. This forgets the batch."""
        if self.error is not None:
            raise self.error
        self.wait()
        batch, self.batch = self.batch, None
        return batch

    def wait(self) -> None:
        for time in self.times:
            self.device.wait_for(time)

    def __eq__(self, other: object) -> bool:
        return self.device == other

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self.device)


def send_loader(x: Any, device: Any, dtype: Any, path: KeyPath) -> Any:
    """Implements ``device(loader)``: each batch moves only when its turn comes."""
    if path:
        raise TypeError(f"a {type(x).__name__}, at {path}, is moved by itself: gpu(train), or map(gpu, loaders)")
    if isinstance(x, MovedLoader) and x.device == device and x.dtype is dtype:
        return x
    return MovedLoader(x, device, dtype)


send.register(MovedLoader, send_loader)
