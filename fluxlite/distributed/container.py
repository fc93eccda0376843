"""`DistributedDataContainer`: this worker's part of the data."""

from __future__ import annotations

from typing import Any

from ..arguments import explained
from ..data.observations import Observations, numobs, part, pick, summary
from .world import everyone


class DistributedDataContainer(Observations):
    """The observations of `data` that are this worker's (Flux: ``DistributedDataContainer``).

    It's for a loop of your own, inside a `DataLoader`; `train` with ``distributed=True`` takes the whole data. Each
    of n workers has ``ceil(numobs(data) / n)`` neighbouring observations, the last perhaps fewer. Nothing is copied.

    Raises `ValueError` if a worker has none, and what `numobs` raises.

    >>> fl.getobs(fl.distributed.DistributedDataContainer(np.arange(4)), slice(2))
    array([0, 1])
    """

    @explained("data")
    def __init__(self, data: Any) -> None:
        count, group = numobs(data), everyone()
        size = -(-count // group.size)
        start, stop = group.rank * size, min((group.rank + 1) * size, count)
        if start >= stop:
            raise ValueError(
                f"DistributedDataContainer(data): {count} observations in parts of {size or 1} leave none for worker "
                f"{group.rank} of {group.size}"
            )
        self.data, self.count = part(data, slice(start, stop)), stop - start

    def pick(self, index):
        return pick(self.data, index)

    def __repr__(self) -> str:
        group = everyone()
        return f"DistributedDataContainer({summary(self.data)})      # worker {group.rank} of {group.size}"
