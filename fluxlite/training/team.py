"""Who makes the steps of a training: one worker `Alone`, or several as a `Team`.

In a team, each takes its rows of every batch, and weighs its loss and its gradients by their share of the batch. So the
sums are those of the whole batch, whatever the number of workers, even for a last batch that can't be divided evenly.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from operator import length_hint
from typing import Any

from ..annotations import Tree
from ..data.loader import batches_of
from ..data.observations import numobs, part
from ..distributed.sums import DistributedDataContainer, in_buckets, sum_over_workers, take_from
from ..distributed.world import Group, WorkerFailed, WorkersDiffer, everyone, keep
from ..optim.update import steps_to_take, take_steps, update
from ..saving.checkpoint import generator_of


class Alone:
    """One worker, who sees every batch."""

    interrupts: Any  # the key of this training
    group = None  # no others
    worker = 0  # its number
    rows = 1  # it has some of each batch
    batches = staticmethod(batches_of)
    update = staticmethod(update)

    @property
    def pressed(self) -> bool:
        return self.interrupts.pressed

    def prepare(self, model: Tree, opt_state: Tree, data: Any, **settings: Any) -> None:
        """There's nobody to compare with."""

    def losses(self, values: list[float]) -> list[float]:
        return values

    def decide(self, *choice: Any) -> Any:
        return choice


class Team(AbstractContextManager):
    """One worker's part in a training, ``with Team() as workers:``. If one of them fails, so do all."""

    interrupts: Any

    def __init__(self) -> None:
        self.group = Group(everyone().comm)
        self.worker = self.group.rank
        self.rows = 1  # of this batch: this worker's,
        self.of = 1  # and all
        self.shares: list[float] = []  # this worker's of the latest batches, whose losses weren't read yet
        self.pressed = False  # anyone's key, before the latest step

    def __exit__(self, kind: Any, error: Any, found: Any) -> None:
        if error is None:
            self.group.comm.Free()
            return
        keep(self.group)
        if not isinstance(error, WorkerFailed) and not getattr(error, "is_of_all", False):
            self.group.tell(error)

    def prepare(self, model: Tree, opt_state: Tree, data: Any, **settings: Any) -> None:
        """Compare the settings with the others', and take worker 0's values."""
        if isinstance(getattr(data, "data", None), DistributedDataContainer):
            raise TypeError("train(…, distributed=True) takes the whole data, without DistributedDataContainer")
        settings["the number of batches"] = length_hint(data, -1)
        self.group.check_alike({name: str(value) for name, value in settings.items()})
        for x in (model, opt_state, generator_of(getattr(data, "rng", None))):
            take_from(self.group, x)
        self.buckets = in_buckets(opt_state, model)

    def batches(self, data: Any, skip: int) -> Iterator[Any]:
        """This worker's rows of each batch; None, and `rows` is 0, where it has none."""
        for batch in batches_of(data, skip):
            self.of = numobs(batch)
            first = self.worker * self.of // self.group.size
            last = (self.worker + 1) * self.of // self.group.size
            self.rows = last - first
            self.share = self.rows / max(self.of, 1)
            self.shares.append(self.share)
            if self.rows:
                yield part(batch, slice(first, last))
            else:
                yield None

    def update(self, opt_state: Tree, model: Tree, grads: Tree) -> None:
        """Take a step with the gradient of the whole batch. A worker without rows adds zeros to it."""
        steps = []
        if self.rows:
            steps = steps_to_take(opt_state, model, grads)
        numbers = self.interrupts.pressed, self.of, self.of**2
        steps, (pressed, rows, squares) = sum_over_workers(self.group, self.buckets, steps, self.share, *numbers)
        if rows**2 != squares * self.group.size:
            advice = f"here it's {self.of} rows: give all the same data"
            raise WorkersDiffer(f"the workers' batches differ in size; {advice}")
        self.pressed = pressed > 0
        take_steps(steps)

    def losses(self, values: list[float]) -> list[float]:
        shares = self.shares
        self.shares = []
        return self.group.total(*[value * share for value, share in zip(values, shares)])

    def decide(self, *choice: Any) -> Any:
        """A worker's choice that isn't to go on, if there is one: (whether or why to stop, …)."""
        return max(self.group.all(choice), key=lambda one: one[0])
