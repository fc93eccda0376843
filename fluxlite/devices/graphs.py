"""A graph of a simulated GPU: one order for all that it's asked for between `begin` and `end`.

A captured step's replay is such an order (`capturing/on_device.py`). The host takes the time of one launch, and the
device that of each kernel. On a real card, an adapter would capture the replay's calls once, through a handle of cuBLAS
of its own: CuPy refuses cuBLAS while a stream captures. Then it would launch that graph.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

_NUMBER = 8  # bytes


class Order:
    """One order to a simulated GPU, which can be given again and again."""

    def __init__(self, device: Any) -> None:
        self.device = device
        self._uploaded: tuple | None = None
        self._nodes: list[Any] | None = None

    @contextlib.contextmanager
    def refusing(self, refuse: Callable[[str], None]) -> Iterator[None]:
        """``refuse(what)`` for what can't be part of a graph, such as "a copy to the GPU"."""
        lanes = self.device.lanes
        before = lanes.refuse
        lanes.refuse = refuse
        try:
            with self.device:
                yield
        finally:
            lanes.refuse = before

    def upload(self, *numbers: Any) -> None:
        """Numbers that the host has computed go to the device in one copy, if they're others than before."""
        if numbers == self._uploaded:
            return
        self._uploaded = numbers
        self.device.count_upload("numbers", _NUMBER * len(numbers))

    def begin(self) -> None:
        """From now on, what's asked of the device is part of the order, and its values are there at once."""
        self._nodes = self.device.lanes.nodes = []

    def end(self) -> None:
        """Give the order."""
        nodes = self._nodes
        self.stop()
        if nodes:
            self.device.launch_graph(nodes)

    def stop(self) -> None:
        """Whatever happened, what's asked of the device now is an order of its own."""
        if self._nodes is not None:
            self.device.lanes.nodes = self._nodes = None
