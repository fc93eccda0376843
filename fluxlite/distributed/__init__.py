"""Training on several processes at once, on one machine or many: each worker takes a part of every batch, over MPI.

``train(…, distributed=True)`` is all that most programs need. For a loop of your own there's `DistributedOptimizer`.
Start such a program with ``python -m fluxlite.distributed -n 2 train.py``.
Flux: ``DistributedUtils``; PyTorch: ``torch.distributed`` and ``DistributedDataParallel``.
"""

from .sums import DistributedDataContainer, DistributedOptimizer, allreduce, broadcast, synchronize
from .world import WorkerFailed, initialize, local_rank, total_workers

__all__ = [
    "DistributedDataContainer", "DistributedOptimizer", "WorkerFailed", "allreduce", "broadcast", "initialize",
    "local_rank", "synchronize", "total_workers",
]  # fmt: skip
