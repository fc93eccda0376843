"""`Team`: how several workers make the steps of one `train` together.

Each takes its rows of every batch, and weighs its loss and its gradients by their share of the batch. So the sums are
those of the whole batch, whatever the number of workers, also for a last batch that can't be divided evenly.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import length_hint
from typing import Any

import numpy as np

from ..autodiff.gradients import withgradient
from ..data.loader import batches_of
from ..data.observations import numobs, part
from ..updating import Step, checked_steps, take_steps
from .sums import Buckets, DistributedDataContainer, take_from
from .world import KEPT, Group, WorkerFailed, WorkersDiffer, everyone


@contextmanager
def joined() -> Iterator["Team"]:
    """Train together with all other workers. If one of them fails, so do all."""
    group = everyone().copy()
    team = Team(group)
    try:
        yield team
    except BaseException as error:
        KEPT.append(team)
        if not isinstance(error, WorkerFailed) and not getattr(error, "is_of_all", False):
            group.tell(error)
        raise
    group.comm.Free()


class Team:
    """One worker's part in a training."""

    interrupts: Any  # whose `pressed` says whether the interrupt key was

    def __init__(self, group: Group) -> None:
        self.group, self.worker = group, group.rank
        self.rows = self.of = 1  # of this batch: this worker's, and all
        self.weights: list[float] = []  # of the losses that weren't read yet
        self.pressed = False  # anyone's key

    def prepare(self, model: Any, opt_state: Any, data: Any, asks: bool, **settings: Any) -> None:
        """Compare the settings with the others', and take worker 0's values."""
        if isinstance(getattr(data, "data", None), DistributedDataContainer):
            raise TypeError("train(…, distributed=True) takes the whole data, without DistributedDataContainer")
        settings["the number of batches"] = length_hint(data, -1)
        self.group.check_alike({name: str(value) for name, value in settings.items()})
        take_from(self.group, model)
        take_from(self.group, opt_state)
        if isinstance(order := getattr(data, "rng", None), np.random.Generator):
            order.bit_generator.state = self.group.same(order.bit_generator.state)
        self.asks, self.buckets = asks, Buckets(self.group, opt_state, model)

    def batches(self, data: Any, skip: int) -> Iterator[Any]:
        """This worker's rows of each batch; None, and `rows` is 0, where it has none."""
        for batch in batches_of(data, skip):
            self.of = numobs(batch)
            first, last = [worker * self.of // self.group.size for worker in (self.worker, self.worker + 1)]
            self.rows = last - first
            self.weights.append(self.rows / max(self.of, 1))
            yield part(batch, slice(first, last)) if self.rows else None

    def withgradient(self, loss: Callable, model: Any) -> Any:
        """The loss of this worker's rows, and the gradient, whose sum over all workers has then begun."""
        value, (grads,) = withgradient(loss, model)
        self._begin(checked_steps(self.buckets.state, model, grads))
        return value, (grads,)

    def without_rows(self) -> None:
        """Nothing of this batch is for this worker: it only adds zeros."""
        self._begin([])

    def _begin(self, steps: list[Step]) -> None:
        """Begin the sums, and send what all have to know of each other in a step."""
        sums = self.buckets.start(steps, self.weights[-1], self.interrupts.pressed, self.of, self.of**2)
        self.pressed = sums[0] > 0
        if sums[1] ** 2 != sums[2] * self.group.size:
            raise WorkersDiffer(
                f"the workers' batches differ in size; here it's {self.of} rows: give all the same data"
            )

    def update(self, opt_state: Any, model: Any, grads: Any) -> None:
        take_steps(self.buckets.finish())

    def losses(self, values: list[float]) -> list[float]:
        weights, self.weights = self.weights, []
        return self.group.total(*[value * weight if weight else 0.0 for value, weight in zip(values, weights)])

    def agree(self, wish: bool) -> tuple[bool, bool]:
        """Whether anyone's key was pressed, and whether anyone's `each_step` wants to stop."""
        if not self.asks:
            return self.pressed, False
        pressed, wishes = self.group.total(self.interrupts.pressed, wish)
        return bool(pressed), bool(wishes)

    def decide(self, *choice: Any) -> Any:
        """The first worker's choice that isn't to go on: (whether to stop, …)."""
        return max(self.group.all(choice), key=lambda one: one[0])
