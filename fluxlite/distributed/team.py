"""`Team`: how several workers make the steps of one `train` together.

Each takes its rows of every batch, and weighs its loss and its gradients by their share of the batch. So the sums are
those of the whole batch, whatever the number of workers, also for a last batch that can't be divided evenly.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..arrays import device_of
from ..autodiff.gradients import differentiated, withgradient
from ..checkpoint.states import generator_of, kept, resuming
from ..data.sharing import shares, signature
from ..devices.base import CPU, Device
from ..optimizers.updating import checked_steps, take, update
from ..tree.ties import is_array
from ..tree.walks import KeyPath, leaves, nodes
from .buckets import Buckets
from .buffers import Buffers
from .container import DistributedDataContainer
from .exchange import take_from
from .group import Group, WorkerFailed, keep, of_all
from .world import in_brief, join, register


@contextmanager
def joined() -> Iterator[Team]:
    """Train together with all other workers. If one of them fails, so do all."""
    group = join()
    register(error="", other="")
    team = Team(group)
    try:
        yield team
    except BaseException as error:
        keep(team)
        if not isinstance(error, WorkerFailed) and not getattr(error, "is_of_all", False):
            group.tell(f"ended the training: {in_brief(error)}")
            register(error=in_brief(error))
        raise
    group.comm.Free()


class Team:
    """One worker's part in a training."""

    interrupts: Any  # whose `pressed` says whether the interrupt key was

    def __init__(self, group: Group) -> None:
        self.group, self.worker = group, group.rank
        self.rows = self.of = 1  # of this batch: this worker's, and all
        self.weights: list[float] = []  # of the losses that weren't read yet
        self.flag = False  # whether anyone's key was pressed
        self.is_in_step = self.has_new_buffers = self.asks = False

    def prepare(self, model: Any, opt_state: Any, data: Any, asks: bool, **settings: Any) -> None:
        """Compare with the others, take worker 0's values, and draw random numbers of one's own.

        Raises `ValueError` on all workers if their data or settings differ.
        """
        if isinstance(getattr(data, "data", None), DistributedDataContainer):
            raise TypeError(
                "train(…, distributed=True) gives each worker its rows by itself: take the whole data, without "
                "DistributedDataContainer, which is for loops of your own"
            )
        self.asks = asks
        settings["the data"] = signature(data)
        self.group.check_alike({name: str(value) for name, value in settings.items()})
        take_from(self.group, model)
        take_from(self.group, opt_state)
        self.order = getattr(data, "rng", None)
        if isinstance(self.order, np.random.Generator):
            self.order.bit_generator.state = self.group.same(self.order.bit_generator.state)
        self.model = model
        self.buckets = Buckets(self.group, opt_state, model)
        self.buffers = Buffers(self.group, model)
        self.part_ways()

    # -- one step --------------------------------------------------------------------------------

    def batches(self, data: Any, skip: int) -> Iterator[Any]:
        """This worker's rows of each batch; None, and `rows` is 0, where it has none."""
        is_counted = signature(data) is None  # otherwise we know already that all have the same
        for batch, rows, of in shares(data, self.worker, self.group.size, skip):
            self.rows, self.of = rows, of
            if is_counted:
                self._check_rows(*self.group.total(self.of, self.of**2))
            self.weights.append(self.rows / self.of if self.of else 0.0)
            yield batch
        if is_counted:
            self.of = 0
            self._check_rows(*self.group.total(0, 0))

    def withgradient(self, loss: Callable, model: Any) -> Any:
        """The loss of this worker's rows, and the gradient, whose sum over all workers has then begun."""
        if self.group.size == 1:
            return withgradient(loss, model)
        self.buckets.weight = self.rows / self.of
        value, (grads,) = differentiated(loss, (model,), self.buckets.arrive)
        self.steps = checked_steps(self.buckets.state, model, grads)
        self.buckets.start(self.steps)
        self.is_in_step = True
        return value, (grads,)

    def without_rows(self) -> None:
        """Nothing of this batch is for this worker: it only adds zeros."""
        self.steps, self.is_in_step = [], True
        self.buckets.start([])

    def losses(self, values: list[float]) -> list[float]:
        """The losses of whole batches."""
        if not values or self.group.size == 1:
            return values
        weights, self.weights = self.weights, []
        own = [value * weight if weight else 0.0 for value, weight in zip(values, weights)]
        return self._exchange(*own) if self.is_in_step else self.group.total(*own)

    def _exchange(self, *losses: float) -> list[float]:
        """All small numbers of this step, in one message: the losses, and whether to stop after it."""
        facts = self.interrupts.pressed, self.of, self.of**2, self.buffers.have_changed()
        pressed, rows, squares, changed, *losses = self.buckets.exchange(*facts, *losses)  # type: ignore[assignment]
        self.flag, self.is_in_step, self.has_new_buffers = bool(pressed), False, bool(changed)
        self._check_rows(rows, squares)
        return list(losses)

    def update(self, opt_state: Any, model: Any, grads: Any) -> None:
        """One step by the gradients of all."""
        if self.group.size == 1:
            self.flag = self.interrupts.pressed
            update(opt_state, model, grads)
            return
        if self.is_in_step:  # the loss isn't looked at in every step
            self._exchange()
        take(self.buckets.finish(self.steps))
        if self.has_new_buffers:
            self.buffers.average(self.rows / self.of)

    def _check_rows(self, rows: float, squares: float) -> None:
        if rows * rows != squares * self.group.size:  # only equal numbers have the smallest sum of squares
            found = self.group.all(self.of)
            raise of_all(ValueError(f"the workers have batches of {found} rows, in order: give all the same data"))

    # -- decisions -------------------------------------------------------------------------------

    def agree(self, wish: bool) -> tuple[bool, bool]:
        """Whether anyone's key was pressed, and whether anyone's `each_step` wants to stop."""
        if not self.asks:
            return self.flag, False
        sums = self.group.total(self.interrupts.pressed, wish)
        return bool(sums[0]), bool(sums[1])

    def decide(self, *choice: Any) -> Any:
        """The first worker's choice that isn't to go on: (whether to stop, …)."""
        choices = self.group.all(choice)
        return next((one for one in choices if one[0]), choices[0])

    def saved(self, text: str) -> None:
        """Worker 0 has written a checkpoint, or has not: "" says that it couldn't."""
        text = self.group.same(text)
        if text:
            self.group.checkpoint = f". The last checkpoint is {text}: resume=True goes on from there"
            register(checkpoint=text)

    # -- random numbers --------------------------------------------------------------------------

    def generators(self) -> list[Any]:
        """Whatever draws random numbers in a step: devices, and generators that the model holds."""
        devices = {CPU, *(device_of(x) for x in leaves(self.model) if is_array(x))}
        held = [node for _, node in nodes(self.model) if generator_of(node) is not None and node not in devices]
        return [*sorted(devices, key=str), *held]

    def states(self) -> list[Any]:
        """The states of this worker's generators, for a checkpoint."""
        return [kept(KeyPath(), one) for one in self.generators()]

    def go_on_with(self, states: list[Any]) -> None:
        for one, state in zip(self.generators(), states, strict=True):
            resuming(KeyPath(), one, state)()

    def part_ways(self) -> None:
        """Let each worker draw numbers of its own, which follow from worker 0's: other rows, other Dropout."""
        for one in self.generators():
            generator = generator_of(one)
            if generator is self.order:
                raise ValueError(
                    "the data's order is drawn by the generator that also draws for the model. On several workers they "
                    "have to be two: DataLoader(…, rng=0)"
                )
            first = hashlib.sha256(repr(self.group.same(kept(KeyPath(), one))).encode()).digest()
            seed = np.random.SeedSequence(int.from_bytes(first), spawn_key=(self.worker,))
            if self.worker == 0:
                continue
            if isinstance(one, Device):
                one.seed(int(seed.generate_state(1, np.uint64)[0]))
            else:
                generator.bit_generator.state = type(generator.bit_generator)(seed).state
