"""What part of a program asked of its devices: kernels launched, bytes copied, waits, memory, time.

    with receipt() as r:
        y = model(gpu(x))
    print(r)

Counts on a simulated GPU are exact and the same in every run, so an exercise can be checked with them. simgpu's
`profile/` counts and shows them; a real GPU tells less, and tells it here.
"""

from __future__ import annotations

from typing import Any

from simgpu.events import Event
from simgpu.profile import recording

from ..devices import events
from ..devices import of_gpus as of_gpus  # whose lines aren't the program's
from ..devices.selection import devices, gpu_device
from .timelines import Timeline


class Receipt(recording.Receipt):
    __doc__ = recording.Receipt.__doc__

    def __enter__(self) -> Receipt:
        super().__enter__()
        events.listeners.append(self._record_real)
        return self

    def __exit__(self, *exc_info: Any) -> None:
        events.listeners.remove(self._record_real)
        super().__exit__(*exc_info)

    def _record_real(self, *event: Any) -> None:
        self._record(Event(*event))

    def _devices(self) -> list[Any]:
        return devices()

    def _device(self) -> Any:
        return gpu_device()

    def plot(self, first: int = 0, count: int = 200, only_waits: bool = False) -> Any:
        """A picture of `count` events, starting with number `first`: what ran when, with one lane each.

        The lanes are the host, computing, copies in and copies out. ``only_waits=True`` shows `count` synchronizations
        instead, starting with number `first`, and leaves out the host's other steps between them. With more than about
        200 events, the picture shows how busy each lane is in each short interval. `fluxlite_course.draw.timeline` has
        buttons for all of this. Raises `ValueError` if a device doesn't report times, or if there are no such events.
        """
        return Timeline(self).picture(first, count, only_waits)


def receipt() -> Receipt:
    """A receipt for what happens in ``with receipt() as r:``. You can open several; each counts everything.

    >>> from fluxlite.devices import gpu, simulate_gpu
    >>> with simulate_gpu(like="H200"):
    ...     with receipt() as r:
    ...         x = gpu(np.ones((8, 8), np.float32))
    ...         total = float((x @ x).sum())
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
