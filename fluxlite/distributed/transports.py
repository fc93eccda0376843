"""How a bucket gets from worker to worker: as it is, through NVIDIA's NCCL, or by a copy to the host.

MPI reads the host's memory. For an array of a GPU it's NCCL if every worker has a card of its own; otherwise MPI reads
the card's memory by itself, if it was built for that; otherwise the array is copied to the host and back.
"""

from __future__ import annotations

from typing import Any

from ..arrays import device_of
from ..devices.base import CPU
from ..messages import notice
from .group import Group


class Direct:
    """MPI adds up arrays where they are: those of the host, or a card's if MPI can read them."""

    def __init__(self, group: Group, device: Any) -> None:
        self.group, self.device = group, device

    def start(self, x: Any, op: str = "sum") -> tuple[Any, Any]:
        """Begin to add up the contiguous array `x`: a request, and where the sums will be."""
        self.device.synchronize()  # MPI doesn't know what the card still has to compute
        return self.group.start(x, op), x

    def finished(self, x: Any) -> Any:
        """The sums, on their device."""
        return x


class ByHost(Direct):
    """A copy to the host, the sum there, and a copy back."""

    def start(self, x: Any, op: str = "sum") -> tuple[Any, Any]:
        here = CPU.receive(x)
        return self.group.start(here, op), here

    def finished(self, x: Any) -> Any:
        return self.device.receive(x)


class Nccl(Direct):
    """NVIDIA's library adds up the arrays of several cards, over the fastest link between them."""

    def __init__(self, group: Group, device: Any) -> None:
        super().__init__(group, device)
        import cupy
        from cupy.cuda import nccl

        self.cupy, self.nccl = cupy, nccl
        first = nccl.get_unique_id() if group.rank == 0 else None
        with device:
            self.communicator = nccl.NcclCommunicator(group.size, group.same(first), group.rank)
            self.stream = cupy.cuda.Stream(non_blocking=True)

    def start(self, x: Any, op: str = "sum") -> tuple[Any, Any]:
        kinds = {"float32": self.nccl.NCCL_FLOAT32, "float64": self.nccl.NCCL_FLOAT64}
        with self.device:
            self.stream.wait_event(self.cupy.cuda.get_current_stream().record())  # what computes `x` comes first
            operation = getattr(self.nccl, f"NCCL_{op.upper()}")
            self.communicator.allReduce(x.data.ptr, x.data.ptr, x.size, kinds[x.dtype.name], operation, self.stream.ptr)
            return _Event(self.stream.record()), x

    def finished(self, x: Any) -> Any:
        with self.device:
            self.cupy.cuda.get_current_stream().wait_event(self.stream.record())
        return x


class _Event:
    """Something on a card that can be asked about like one of MPI's requests."""

    def __init__(self, event: Any) -> None:
        self.event = event

    def Test(self) -> bool:
        return bool(self.event.done)


def transport(group: Group, x: Any) -> Direct:
    """The best way for arrays like `x`. Every worker gets one of the same kind. NCCL wants a card for each."""
    device = device_of(x)
    if device == CPU or group.size == 1:
        return Direct(group, device)
    cards = group.all((group.name().split(" on ")[-1], device.backend, device.index))
    if device.backend == "CUDA" and all(kind == "CUDA" for _, kind, _ in cards):
        if len(set(cards)) == group.size and _has_nccl(group):
            return Nccl(group, device)
        if _reads_cards(group):
            return Direct(group, device)
    if group.rank == 0:
        notice(
            ("by the host", device.backend),
            f"gradients on {device} go to the other workers through the host: one copy there and one back, for each "
            "bucket.",
        )
    return ByHost(group, device)


def _has_nccl(group: Group) -> bool:
    """Whether NCCL is there, for all workers."""
    try:
        from cupy.cuda import nccl

        found = bool(nccl.available)
    except (ImportError, AttributeError):
        found = False
    return all(group.all(found))


def _reads_cards(group: Group) -> bool:
    """Whether this MPI reads the memory of NVIDIA's cards, as it says since MPI 4.1."""
    kinds = group.comm.Get_info().Get("mpi_memory_alloc_kinds") or ""
    return all(group.all("cuda" in kinds))
