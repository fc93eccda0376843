"""An Apple GPU. MLX also runs on the CPU, so you can try all of this on any computer, and the tests do."""

import functools
import weakref
from typing import Any

import mlx.core as mx
import numpy as np

from ..plugin import DEVICE_TO_HOST, GPU, HOST_TO_DEVICE, SYNCHRONIZE, CountedGenerator, Memory, ScalarReads, tell
from .array import MetalArray, mlx_dtype, numpy_dtype
from .functions import call_function, call_ufunc

# MLX is lazy: an array is a plan until we need its values. In a loop that reads nothing, plans would build on plans
# without end. So after this many new arrays, we start those still in use: the others never need computing.
_STARTED_TOGETHER = 256


class MetalDevice(ScalarReads, GPU):
    """An Apple GPU (Flux: ``FluxMetalDevice``). There's one, number 0. It has no float64, but MLX on the CPU does."""

    backend = "Metal"
    ufunc = call_ufunc  # this and the next are what NumPy asks of our arrays
    function = call_function

    def __init__(self, index: int = 0, name: str = "") -> None:
        super().__init__(index, name)
        self._waiting: list[weakref.ref] = []

    def upload(self, x: np.ndarray, explicit: bool = True) -> MetalArray:
        """A copy of a host array on this device. `explicit` means the program asked for it."""
        self.check(x)
        dtype = mlx_dtype(x.dtype)
        tell(self, HOST_TO_DEVICE, "copy", nbytes=x.nbytes, explicit=explicit)
        return self.new(mx.array(np.array(x, order="C"), dtype), np.empty_like(x, numpy_dtype(dtype)))

    def download(self, x: MetalArray, name: str = "copy", explicit: bool = True) -> np.ndarray:
        """A copy of `x` on the host, in its memory order. Waits for everything that computes `x`."""
        tell(self, DEVICE_TO_HOST, name, nbytes=x.nbytes, explicit=explicit)
        tell(self, SYNCHRONIZE, name, explicit=explicit)
        mx.eval(x.values)  # np.asarray would wait as well, but block Python's other threads meanwhile
        host = np.empty_like(x.layout)
        host[...] = np.asarray(x.values)
        return host

    def new(self, values: Any, layout: Any = None) -> MetalArray:
        result = MetalArray(values, self, layout)
        self.made(result)
        return result

    def made(self, x: MetalArray) -> None:
        """Note that `x` has new values, which MLX may not have started to compute."""
        self._waiting.append(weakref.ref(x))
        if len(self._waiting) >= _STARTED_TOGETHER:
            mx.async_eval(self._planned())

    def _planned(self) -> list:
        """Return the values still in use that MLX may not have computed, and forget them."""
        waiting = self._waiting
        self._waiting = []
        in_use = {id(x): x for x in (reference() for reference in waiting) if x is not None}
        return [x._values for x in in_use.values()]

    def synchronize(self) -> None:
        tell(self, SYNCHRONIZE, "synchronize")
        mx.eval(self._planned())
        mx.synchronize()

    def memory(self) -> Memory:
        """What MLX reports. The GPU shares the computer's memory, so how much is free is unknown."""
        capacity: Any = mx.device_info().get("memory_size")
        return Memory(mx.get_active_memory(), None, mx.get_peak_memory(), capacity)

    def new_generator(self, seed: int | None) -> "MetalGenerator":
        return MetalGenerator(self, seed)

    @staticmethod
    def unpickled(x: np.ndarray) -> MetalArray:
        return metal_device().upload(x)


@functools.cache
def metal_device() -> MetalDevice:
    return MetalDevice(0, str(mx.device_info().get("device_name", "")))


class MetalGenerator(CountedGenerator):
    """What we use of NumPy's `Generator`: draws numbers on the device, float32 by default."""

    def __init__(self, device: MetalDevice, seed: int | None = None) -> None:
        super().__init__(seed)
        self._device = device

    def random(self, size: Any = None, dtype: Any = np.float32) -> MetalArray:
        return self.uniform(0, 1, size, dtype)

    def standard_normal(self, size: Any = None, dtype: Any = np.float32) -> MetalArray:
        return self._drawn(mx.random.normal, size, dtype)

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Any = None, dtype: Any = np.float32) -> MetalArray:
        return self._drawn(mx.random.uniform, size, np.float32, low=low, high=high).astype(dtype)

    def integers(self, low: int, high: int | None = None, size: Any = None, dtype: Any = np.int64) -> MetalArray:
        if high is None:
            high = low
            low = 0
        return self._drawn(mx.random.randint, size, dtype, low=low, high=high)

    def _drawn(self, draw: Any, size: Any, dtype: Any, **limits: Any) -> MetalArray:
        if size is None:
            size = ()
        elif isinstance(size, int):
            size = (size,)
        key = mx.random.key(int(self._next().generate_state(1, np.uint64)[0]))
        return self._device.new(draw(shape=tuple(size), dtype=mlx_dtype(dtype), key=key, **limits))
