"""What a model keeps from step to step without training it, such as BatchNorm's running mean."""

from __future__ import annotations

from typing import Any

from ..arrays import device_of, on_card_of
from ..tree.ties import is_array
from ..tree.walks import Attribute, KeyPath, nodes, trainables
from .buckets import Bucket, divided
from .group import Group
from .transports import transport


class Buffers:
    """A model's arrays that aren't trained. After a step they're the mean of all workers', weighted by their rows.

    That's for arrays that a layer assigns, ``self.mean = …``, as it should inside a gradient. A step in which no worker
    has assigned any sends none. (PyTorch's DDP takes worker 0's.)
    """

    def __init__(self, group: Group, model: Any) -> None:
        self.group = group
        trained = {id(x) for _, x in trainables(model)}
        self.paths = [
            path
            for path, x in nodes(model)
            if is_array(x) and x.dtype.kind == "f" and id(x) not in trained
            if path and isinstance(path[-1], Attribute)
        ]
        self.owners = [(KeyPath(path[:-1]).get(model), path[-1]) for path in self.paths]
        self.before = self._now()
        self.buckets: list[Bucket] = []

    def _now(self) -> list[Any]:
        return [getattr(owner, name, None) for owner, name in self.owners]

    def have_changed(self) -> bool:
        return any([now is not before for now, before in zip(self._now(), self.before)])

    def average(self, weight: float) -> None:
        """Give all workers the mean, to which this one adds with this weight."""
        if not self.buckets:
            parts = divided([(i, x) for i, x in enumerate(self.before)])
            self.buckets = [Bucket(part, transport(self.group, part[0][1])) for part in parts]
        now = self._now()
        for path, before, x in zip(self.paths, self.before, now):
            if not is_array(x) or x.shape != before.shape or device_of(x) != device_of(before):
                raise ValueError(
                    f"{path} isn't trained, so after each step it's the mean of all workers'. It was an array of shape "
                    f"{before.shape} on {device_of(before)}, and has become {getattr(x, 'shape', type(x).__name__)}"
                )
        for bucket in self.buckets:
            for slot in bucket.slots:
                bucket.fill(slot, now[slot.leaf] if weight else None, weight)
            bucket.start()
        for bucket in self.buckets:
            sums = bucket.sums()
            for slot in bucket.slots:
                with on_card_of(sums):
                    now[slot.leaf][...] = slot.of(sums)
        self.before = now
