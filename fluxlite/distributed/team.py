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
from ..autodiff.gradients import differentiated
from ..checkpoint import generator_of, kept, resuming
from ..data.loader import DataLoader, MovedLoader, cut
from ..data.observations import numobs, part
from ..devices.base import CPU, Device
from ..optimizers.updating import checked_steps, take
from ..tree.ties import is_array
from ..tree.walks import Attribute, KeyPath, leaves, nodes, trainables
from .buckets import Buckets, add_up
from .own_loops import DistributedDataContainer, take_from
from .world import KEPT, Group, WorkerFailed, WorkersDiffer, join


@contextmanager
def joined() -> Iterator["Team"]:
    """Train together with all other workers. If one of them fails, so do all."""
    group = join()
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
        """Compare with the others, take worker 0's values, and draw random numbers of one's own."""
        if isinstance(getattr(data, "data", None), DistributedDataContainer):
            raise TypeError("train(…, distributed=True) takes the whole data, without DistributedDataContainer")
        self.model, self.asks, self.order = model, asks, getattr(data, "rng", None)
        settings["the number of batches"] = length_hint(data, -1)
        self.group.check_alike({name: str(value) for name, value in settings.items()})
        take_from(self.group, model)
        take_from(self.group, opt_state)
        if isinstance(self.order, np.random.Generator):
            self.order.bit_generator.state = self.group.same(self.order.bit_generator.state)
        self.buckets = Buckets(self.group, opt_state, model)
        trained = {id(x) for _, x in trainables(model)}
        floats = [path for path, x in nodes(model) if is_array(x) and x.dtype.kind == "f" and id(x) not in trained]
        paths = [path for path in floats if path and isinstance(path[-1], Attribute)]
        self.assigned = [(KeyPath(path[:-1]).get(model), path[-1]) for path in paths]  # such as BatchNorm's means
        self.before = self._buffers()
        self.part_ways()

    # -- one step --------------------------------------------------------------------------------

    def batches(self, data: Any, skip: int) -> Iterator[Any]:
        """This worker's rows of each batch; None, and `rows` is 0, where it has none."""
        loader = data
        while isinstance(loader, MovedLoader):
            loader = loader.loader
        if isinstance(loader, DataLoader):  # it makes no other rows
            own = data.batches(skip, (self.worker, self.group.size))
            for of in loader.sizes(skip):
                yield next(own) if self._has_rows(of) else None
            return
        for batch in data.batches(skip) if hasattr(data, "batches") else islice(data, skip, None):
            yield part(batch, slice(*self.cut)) if self._has_rows(numobs(batch)) else None

    def _has_rows(self, of: int) -> bool:
        self.of, self.cut = of, cut(of, self.worker, self.group.size)
        self.rows = self.cut[1] - self.cut[0]
        self.weights.append(self.rows / of if of else 0.0)
        return self.rows > 0

    def withgradient(self, loss: Callable, model: Any) -> Any:
        """The loss of this worker's rows, and the gradient, whose sum over all workers has then begun."""
        self.buckets.weight = self.weights[-1]
        value, (grads,) = differentiated(loss, (model,), self.buckets.arrive)
        self._begin(checked_steps(self.buckets.state, model, grads))
        return value, (grads,)

    def without_rows(self) -> None:
        """Nothing of this batch is for this worker: it only adds zeros."""
        self._begin([])

    def _begin(self, steps: list) -> None:
        """Begin the sums, and send what all have to know of each other in a step."""
        changed = any(x is not before for x, before in zip(self._buffers(), self.before))
        rows = self.group.only_mine(self.of)
        pressed, changes, *rows = self.buckets.start(steps, self.interrupts.pressed, changed, *rows)
        self.pressed, self.has_new_buffers = pressed > 0, changes > 0
        if len(set(rows)) > 1:
            raise WorkersDiffer(f"the workers have batches of {rows} rows, in order: give all the same data")

    def losses(self, values: list[float]) -> list[float]:
        """The losses of whole batches."""
        weights, self.weights = self.weights, []
        return self.group.total(*[value * weight if weight else 0.0 for value, weight in zip(values, weights)])

    def update(self, opt_state: Any, model: Any, grads: Any) -> None:
        """One step by the gradients of all. What layers assigned in it becomes the workers' mean, weighed by rows."""
        take(list(self.buckets.finish()))
        if self.has_new_buffers:
            self.before = self._buffers()
            for x in self.before:
                with on_card_of(x):
                    x[...] = x * (self.rows / self.of) if self.rows else 0
                add_up(self.group, x)

    def _buffers(self) -> list[Any]:
        return [getattr(owner, name, None) for owner, name in self.assigned]

    # -- decisions -------------------------------------------------------------------------------

    def agree(self, wish: bool) -> tuple[bool, bool]:
        """Whether anyone's key was pressed, and whether anyone's `each_step` wants to stop."""
        if not self.asks:
            return self.pressed, False
        pressed, wishes = self.group.total(self.interrupts.pressed, wish)
        return bool(pressed), bool(wishes)

    def decide(self, *choice: Any) -> Any:
        """The first worker's choice that isn't to go on: (whether to stop, …)."""
        return max(self.group.all(choice), key=lambda one: one[0])

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
