"""`Team`: how several workers make the steps of one `train` together.

Each takes its rows of every batch, and weighs its loss and its gradients by their share of the batch. So the sums are
those of the whole batch, whatever the number of workers, also for a last batch that can't be divided evenly.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from operator import length_hint
from typing import Any

import numpy as np

from ..arrays import device_of, on_card_of
from ..autodiff.gradients import differentiated, withgradient
from ..checkpoint.states import generator_of, kept, resuming
from ..data.loader import DataLoader, MovedLoader, cut
from ..data.observations import numobs, part
from ..devices.base import CPU, Device
from ..optimizers.updating import checked_steps, take, update
from ..tree.ties import is_array
from ..tree.walks import Attribute, KeyPath, leaves, nodes, trainables
from .buckets import Buckets, add_up
from .own_loops import DistributedDataContainer, take_from
from .world import Group, WorkerFailed, join, keep, of_all


@contextmanager
def joined() -> Iterator["Team"]:
    """Train together with all other workers. If one of them fails, so do all."""
    group = join()
    team = Team(group)
    try:
        yield team
    except BaseException as error:
        keep(team)
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
        self.counts: list[float] = []  # how many workers have a gradient of each parameter
        self.has: list[bool] = []  # which gradients there are, as long as the others haven't heard of it
        self.flag = False  # whether anyone's key was pressed
        self.has_new_buffers = False

    def prepare(self, model: Any, opt_state: Any, data: Any, asks: bool, **settings: Any) -> None:
        """Compare with the others, take worker 0's values, and draw random numbers of one's own."""
        if isinstance(getattr(data, "data", None), DistributedDataContainer):
            raise TypeError("train(…, distributed=True) takes the whole data, without DistributedDataContainer")
        self.model, self.asks, self.order = model, asks, getattr(data, "rng", None)
        self.count = settings["the number of batches"] = length_hint(data, -1)
        self.group.check_alike({name: str(value) for name, value in settings.items()})
        take_from(self.group, model)
        take_from(self.group, opt_state)
        if isinstance(self.order, np.random.Generator):
            self.order.bit_generator.state = self.group.same(self.order.bit_generator.state)
        self.buckets, self.buffers = Buckets(self.group, opt_state, model), Buffers(self.group, model)
        self.part_ways()

    # -- one step --------------------------------------------------------------------------------

    def batches(self, data: Any, skip: int) -> Iterator[Any]:
        """This worker's rows of each batch; None, and `rows` is 0, where it has none."""
        for batch, rows, of in self._shares(data, skip):
            self.rows, self.of = rows, of
            if self.count < 0:  # nobody knows yet whether the others have another batch, too
                self._check_rows(self.group.total(*self.group.only_mine(of)))
            self.weights.append(self.rows / self.of if self.of else 0.0)
            yield batch
        if self.count < 0:
            self._check_rows(self.group.total(*self.group.only_mine(0)))

    def _shares(self, data: Any, skip: int) -> Iterator[tuple[Any, int, int]]:
        """For each batch: this worker's rows of it, or None; how many they are; how many the batch has."""
        loader, worker, workers = data, self.worker, self.group.size
        while isinstance(loader, MovedLoader):
            loader = loader.loader
        if isinstance(loader, DataLoader):  # it makes no other rows
            own = data.batches(skip, (worker, workers))
            for of in loader.sizes(skip):
                start, stop = cut(of, worker, workers)
                yield next(own) if stop > start else None, stop - start, of
            return
        for batch in data.batches(skip) if hasattr(data, "batches") else islice(data, skip, None):
            start, stop = cut(numobs(batch), worker, workers)
            yield part(batch, slice(start, stop)) if stop > start else None, stop - start, numobs(batch)

    def withgradient(self, loss: Callable, model: Any) -> Any:
        """The loss of this worker's rows, and the gradient, whose sum over all workers has then begun."""
        if self.group.size == 1:
            return withgradient(loss, model)
        self.buckets.weight = self.rows / self.of
        value, (grads,) = differentiated(loss, (model,), self.buckets.arrive)
        self.steps = checked_steps(self.buckets.state, model, grads)
        self.has = self.buckets.start(self.steps)
        return value, (grads,)

    def without_rows(self) -> None:
        """Nothing of this batch is for this worker: it only adds zeros."""
        self.steps = []
        self.has = self.buckets.start([])

    def _exchange(self, *losses: float) -> list[float]:
        """What all have to know of each other in a step, in one message; with it, the sums of losses."""
        mine = *losses, self.interrupts.pressed, self.buffers.have_changed(), *self.group.only_mine(self.of), *self.has
        sums = self.group.total(*mine)
        pressed, changed, *more = sums[len(losses) :]
        rows, self.counts, self.has = more[: self.group.size], more[self.group.size :], []
        self.flag, self.has_new_buffers = bool(pressed), bool(changed)
        self._check_rows(rows)
        return sums[: len(losses)]

    def _check_rows(self, rows: list[float]) -> None:
        if len(set(rows)) > 1:
            raise of_all(ValueError(f"the workers have batches of {rows} rows, in order: give all the same data"))

    def losses(self, values: list[float]) -> list[float]:
        """The losses of whole batches."""
        weights, self.weights = self.weights, []
        own = [value * weight if weight else 0.0 for value, weight in zip(values, weights)]
        if self.group.size == 1:
            return values
        return self._exchange(*own) if self.has else self.group.total(*own)

    def update(self, opt_state: Any, model: Any, grads: Any) -> None:
        """One step by the gradients of all."""
        if self.group.size == 1:
            update(opt_state, model, grads)
            return
        if self.has:  # the loss isn't looked at in every step
            self._exchange()
        take(list(self.buckets.finish(self.steps, self.counts)))
        if self.has_new_buffers:
            self.buffers.average(self.rows / self.of)

    # -- decisions -------------------------------------------------------------------------------

    def agree(self, wish: bool) -> tuple[bool, bool]:
        """Whether anyone's key was pressed, and whether anyone's `each_step` wants to stop."""
        if self.group.size == 1:
            return self.interrupts.pressed, wish
        if not self.asks:
            return self.flag, False
        pressed, wishes = self.group.total(self.interrupts.pressed, wish)
        return bool(pressed), bool(wishes)

    def decide(self, *choice: Any) -> Any:
        """The first worker's choice that isn't to go on: (whether to stop, …)."""
        choices = self.group.all(choice)
        return next((one for one in choices if one[0]), choices[0])

    def saved(self, text: str) -> None:
        """Worker 0 has written a checkpoint, or has not: "" says that it couldn't."""
        text = self.group.same(text)
        if text:
            self.group.checkpoint = f". The last checkpoint is {text}: resume=True goes on from there"

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
        for one, state in zip(self.generators(), self.group.same(self.states())):
            generator = generator_of(one)
            if generator is self.order:
                raise ValueError("the loader and the model draw from one generator: give the loader its own, rng=0")
            first = int.from_bytes(hashlib.sha256(repr(state).encode()).digest())
            seed = np.random.SeedSequence(first, spawn_key=(self.worker,))
            if self.worker and isinstance(one, Device):
                one.seed(int(seed.generate_state(1, np.uint64)[0]))
            elif self.worker:
                generator.bit_generator.state = type(generator.bit_generator)(seed).state


class Buffers:
    """A model's arrays that aren't trained, such as BatchNorm's mean. After a step they're the mean of all workers'.

    That's for arrays that a layer assigns, ``self.mean = …``, as it should inside a gradient. A step in which no worker
    has assigned any sends none. (PyTorch's DDP takes worker 0's.)
    """

    def __init__(self, group: Group, model: Any) -> None:
        self.group = group
        trained = {id(x) for _, x in trainables(model)}
        found = [(path, x) for path, x in nodes(model) if path and isinstance(path[-1], Attribute) and is_array(x)]
        kept = [path for path, x in found if x.dtype.kind == "f" and id(x) not in trained]
        self.places = [(KeyPath(path[:-1]).get(model), path[-1]) for path in kept]
        self.before = self._now()

    def _now(self) -> list[Any]:
        return [getattr(owner, name, None) for owner, name in self.places]

    def have_changed(self) -> bool:
        return any(now is not before for now, before in zip(self._now(), self.before))

    def average(self, weight: float) -> None:
        """Give all workers the mean, to which this one adds with this weight, its share of the rows."""
        self.before = self._now()
        for x in self.before:
            with on_card_of(x):
                x[...] = x * weight if weight else 0
            add_up(self.group, x)
