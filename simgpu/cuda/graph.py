"""CuPy's `cuda.graph`: work that's captured once and launched often, with one order (CUDA: ``cudaGraph_t``)."""

from typing import Any

from ..clocks import Node
from ..surface import getter, lister
from .capture import Capture, Note


class Graph:
    """What ``stream.end_capture()`` gives: the kernels between it and ``begin_capture()``, to be launched as one.

    A launch costs the host 5 µs, however many kernels there are, and each kernel takes the card 1.5 µs at least. Both
    are guesses, within what has been published: see ``preset("NVIDIA T4").figures``. Instantiating and uploading a
    graph take no time here.

    >>> import simgpu as cp
    >>> x = cp.arange(3.0)
    >>> stream = cp.cuda.Stream(non_blocking=True)
    >>> with stream:
    ...     stream.begin_capture()
    ...     y = cp.sqrt(x) + 1
    ...     graph = stream.end_capture()
    >>> x[...] = 4.0
    >>> graph.launch(stream)
    >>> y
    array([3., 3., 3.])  # Simulated:0
    """

    _device: Any
    _notes: list[Note]
    _nodes: list[Node]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            "currently this class cannot be initiated by the user and must be created via stream capture"
        )

    def launch(self, stream: Any = None) -> None:
        """Compute all of it once more, on the same memory, in `stream` or in the current one. The host goes on."""
        lanes = self._device.lanes
        earlier = lanes.stream
        number = earlier if stream is None else stream.ptr
        capture = lanes.captures.get(number)
        if capture is not None:  # it becomes a part of that graph
            capture.notes += self._notes
            capture.nodes += self._nodes
            return
        self._compute()
        if number == earlier:
            self._device.launch_graph(self._nodes)
            return
        lanes.enter(number)
        nodes, lanes.nodes = lanes.nodes, None
        try:
            self._device.launch_graph(self._nodes)
        finally:
            lanes.nodes = nodes
            lanes.enter(earlier)

    def _compute(self) -> None:
        """The values, whatever the current stream does meanwhile."""
        device = self._device
        lanes = device.lanes
        if device.instead is not None and lanes.follows is None:  # an estimate computes only shapes
            return
        before = device.instead, lanes.nodes, lanes.refuse, lanes.is_capturing
        device.instead = lanes.refuse = None
        lanes.nodes = []  # what kernels count here, the capture has counted
        lanes.is_capturing = False
        try:
            for note in self._notes:
                note.run()
        finally:
            device.instead, lanes.nodes, lanes.refuse, lanes.is_capturing = before

    def upload(self, stream: Any = None) -> None:
        """Bring it to the card before its first launch. Here, that takes no time."""

    def debug_dot_str(self, flags: int = 0) -> str:
        """The graph in DOT, the language of Graphviz: its kernels, one after the other. With `flags`, their times."""
        lines = ["digraph dot {"]
        names = [node.name.replace(" ", "_") for node in self._nodes for _ in range(node.times)]
        times = [node.each for node in self._nodes for _ in range(node.times)]
        for number, (name, time) in enumerate(zip(names, times)):
            label = f"cupy_{name}"
            if flags:
                label += f"\\n{time} ns"
            lines.append(f'"graph_node_{number}" [label="{label}"];')
        for number in range(1, len(names)):
            lines.append(f'"graph_node_{number - 1}" -> "graph_node_{number}";')
        return "\n".join([*lines, "}"])


def graph_of(capture: Capture) -> Graph:
    """What a capture becomes when it ends."""
    made = object.__new__(Graph)
    made._device = capture.device
    made._notes = capture.notes
    made._nodes = capture.nodes
    return made


__getattr__ = getter(__name__)
__dir__ = lister(__name__)
