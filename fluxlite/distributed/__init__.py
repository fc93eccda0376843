"""Training on several processes at once, on one machine or many: each worker takes a part of every batch, over MPI.

Most programs only need ``train(…, distributed=True)``; for a loop of your own there's `DistributedOptimizer`. Start
them with ``python -m fluxlite.distributed -n 2 train.py`` (Flux: ``DistributedUtils``; PyTorch: ``torch.distributed``).
"""

from .sums import DistributedDataContainer, DistributedOptimizer, allreduce, broadcast, synchronize
from .world import WorkerFailed, initialize, local_rank, total_workers

__all__ = [
    "DistributedDataContainer", "DistributedOptimizer", "WorkerFailed", "allreduce", "broadcast", "initialize",
    "local_rank", "synchronize", "total_workers",
]  # fmt: skip
