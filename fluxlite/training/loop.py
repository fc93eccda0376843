"""`train`: the loop over epochs and batches, and what it remembers of it.

A step is three lines, in `_Run.step`: the gradient, a look at the loss, the update. The rest of this file is about
stopping well. Checking the arguments is in `arguments.py`, going on where a run stopped in `resuming.py`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arguments import check_bool, explained
from ..arrays import device_of, on_card_of
from ..devices.base import CPU
from ..errors import LayerError, other_device
from ..messages import many
from ..optimizers.states import follow
from ..optimizers.updating import without_gradient
from ..receipts import Seconds, clock, clocked
from ..tree.ties import is_array
from ..tree.walks import leaves
from ..unreached import say_what_is_not_trained
from .alone import Alone
from .arguments import check_arguments, check_call, check_schedule, check_switches, length
from .bar import Bar
from .callbacks import Patience
from .interrupts import Interrupts
from .resuming import Run, RunFile


@dataclass(repr=False, eq=False)
class History:
    """What `train` gives: the loss of every step, and why it ended.

    `losses` has the loss of each step, `epoch_losses` the mean of these for each complete epoch (every batch counts
    the same, a last one that is smaller too). `stopped` says whether it ended before all epochs were done, `reason`
    why: ``"interrupted"``, ``"early stopping"``, …; `steps` counts the updates. `seconds` is the time from the start
    until the last loss was read, on `fluxlite.clock`: measured, or simulated. A resumed run has the whole of all.
    """

    wanted: int  # epochs
    losses: list[float] = field(default_factory=list)
    epoch_losses: list[float] = field(default_factory=list)
    steps: int = 0
    stopped: bool = False
    reason: str = ""
    seconds: Seconds = field(default_factory=lambda: clocked(0.0))

    @property
    def epochs(self) -> int:
        """How many epochs are complete."""
        return len(self.epoch_losses)

    def __repr__(self) -> str:
        epochs = f"{self.epochs} of {many(self.wanted, 'epoch')}" if self.stopped else many(self.epochs, "epoch")
        parts = [epochs, many(self.steps, "step")]
        ends = self.epoch_losses if self.epochs > 1 else self.losses
        parts += [f"loss {ends[0]:.3g} -> {ends[-1]:.3g}"] if ends else []
        parts += [self.reason] if self.stopped else []
        return f"History({', '.join(parts)}, {self.seconds})"


@explained()
def train(
    loss: Callable,
    model: Any,
    data: Iterable,
    opt_state: Any,
    epochs: int = 1,
    *,
    callbacks: Iterable[Callable] = (),
    each_step: Callable | None = None,
    progress: bool | None = None,
    check_every: int = 1,
    schedule: Callable[[int], float] | None = None,
    checkpoint: Any = None,
    resume: bool = False,
    overwrite: bool = False,
    distributed: bool = False,
) -> History:
    """Train `model` in place, `epochs` times through `data`, and give the `History` (Flux: ``train!``).

    For each batch: the gradient of ``loss(model, *batch)`` if the batch is a tuple, of ``loss(model, batch)`` if it is
    anything else; then ``update(opt_state, model, gradient)``. `loss` may give ``(loss, extra, …)``. `data` is a
    `DataLoader`, a list of batches, or whatever else can be gone through `epochs` times.

    ``history.losses`` has the loss of each step, ``history.epoch_losses`` the mean of each epoch; ``history.epochs``
    and ``history.steps`` count.

    ``callbacks``: functions of the history, called after each epoch; if one gives something true, training stops
    there. ``each_step`` is the same after each step: ``lambda history: button.is_set()``. The interrupt key, ■ in a
    notebook, lets the step be finished, and then gives the history; pressed again, it raises `KeyboardInterrupt` at
    once. In other threads than the main one there is no such key. A KeyboardInterrupt that the loss raises stays one.

    ``progress``: a bar, always or never; None shows one after a second, if there's a screen. For notebooks with
    compared outputs: False. ``check_every=20`` looks at the losses every 20 steps only: on a GPU each look waits for
    it. A loss that is no number is then found later; what it says of the batch stays right.

    ``schedule=cosine(0.01, 1000)``, or any function of the step's number, sets the learning rate before each step. It's
    for the parameters with the largest rate: those that `adjust` gave a tenth of it get a tenth of the schedule's.
    Steps are counted from 0 over all epochs, and a run that goes on counts on.

    ``checkpoint="run.safetensors"`` saves after each epoch and when stopped. With ``resume=True`` the run goes on from
    there, in another process too, as if it had never stopped, to `epochs` in all; without such a file it starts anew.
    Generators of random numbers are part of it if they are the data's (``data.rng``), the CPU's or the model's
    device's; one that a loss holds by itself is not. Batches are made before their step: if `mapobs` or `collate` draws
    random numbers for them, a run goes on exactly from an epoch's end; after resuming in mid-epoch, they differ.

    ``distributed=True`` trains on all workers of `fluxlite.distributed`, each with the same data and settings. Model
    and state are worker 0's. Each takes its rows of every batch: loss and gradients are the whole batch's, if the loss
    is a mean over rows, as fluxlite's are. `BatchNorm` normalizes each worker's rows by themselves; its running
    means are averaged. Worker 0 writes the checkpoint, and any number of workers can go on from it.

    If a checkpoint can't be written, perhaps because the disk is full, it says so, trains on, and tries again after the
    next epoch. It never replaces a file that's no checkpoint, and one with more of a run than this one's first epoch
    only with ``overwrite=True``. If a callback raises, its epoch is in the checkpoint; after each_step, its step is.
    Every error that ends the training has the `History` so far: ``error.history``.

    Raises `FloatingPointError`, with the ``history``, at a loss that is infinite or no number, naming batch and epoch
    counted from 1; with ``check_every=1`` before the model is changed by it (Flux: ``DomainError``). `TypeError` and
    `ValueError` for arguments that cannot be trained with. `fluxlite.distributed.WorkerFailed` if another one failed.

    >>> model = {"w": np.zeros(1)}
    >>> batches = [(np.array([1.0]), np.array([2.0])), (np.array([2.0]), np.array([4.0]))]
    >>> loss = lambda m, x, y: np.sum((m["w"] * x - y) ** 2)
    >>> train(loss, model, batches, fl.setup(fl.Descent(0.1), model), epochs=3)
    History(3 epochs, 6 steps, loss 7.12 -> 0.00467, ... measured)
    >>> model["w"].round(2)
    array([1.99])
    """
    check_bool("train(distributed=…)", distributed)
    with _workers(distributed) as workers:
        callbacks = check_arguments(loss, model, data, opt_state, epochs, callbacks, each_step, check_every)
        check_schedule(schedule, opt_state)
        check_switches(progress, checkpoint, resume, overwrite)
        say_what_is_not_trained(model)
        run = Run(model, data, opt_state, callbacks, History(int(epochs)), schedule)
        file = _file(checkpoint, run, workers, each_step is not None, int(check_every), resume)
        if file is not None and not resume:
            file.check_replaceable(overwrite)
        elif file is not None and not file.restore():
            return run.history
        batches = length(data)
        total = None if batches is None else batches * run.history.wanted
        shown = progress if workers.worker == 0 else False
        with _told(run.history, file), Interrupts() as interrupts, Bar(shown, total) as bar:
            bar.skip(run.history.steps)
            _Loop(loss, run, file, each_step, int(check_every), interrupts, bar, workers).go()
        return run.history


def _workers(distributed: bool) -> AbstractContextManager[Any]:
    """Who makes the steps: this program alone, or with others."""
    if not distributed:
        return nullcontext(Alone())
    from ..distributed.team import joined  # only here: most programs don't need it

    return joined()


def _file(checkpoint: Any, run: Run, workers: Any, asks: bool, check_every: int, resume: bool) -> RunFile | None:
    """The file of this run, if it has one. Several workers compare first what they were given."""
    if isinstance(workers, Alone):
        return None if checkpoint is None else RunFile(checkpoint, run)
    from .together import SharedRunFile

    settings = {"epochs": run.history.wanted, "check_every": check_every, "callbacks": len(run.callbacks)}
    settings |= {"checkpoint": checkpoint is not None, "resume": bool(resume), "each_step": asks}
    workers.prepare(run.model, run.opt_state, run.data, asks, **settings)
    return None if checkpoint is None else SharedRunFile(checkpoint, run, workers)


@contextmanager
def _told(history: History, file: RunFile | None) -> Iterator[None]:
    """However the training ends: an error has the history, and a file that isn't of the end is named."""
    try:
        yield
    except BaseException as error:
        if not history.stopped:
            history.stopped, history.reason = True, f"stopped by {type(error).__name__}"
        with suppress(AttributeError, TypeError):  # an error that takes no attributes
            error.history = history  # type: ignore[attr-defined]
        raise
    finally:
        if file is not None:
            file.say_what_is_missing()


class _Loop:
    """Goes through the epochs of a run, step by step."""

    def __init__(
        self,
        loss: Callable,
        run: Run,
        file: RunFile | None,
        each_step: Callable | None,
        check_every: int,
        interrupts: Interrupts,
        bar: Bar,
        workers: Any,
    ) -> None:
        self.loss, self.run, self.file, self.each_step, self.check_every = loss, run, file, each_step, check_every
        self.model, self.history, self.bar = run.model, run.history, bar
        self.workers = workers  # `Alone`, or a `Team`
        workers.interrupts = interrupts
        self.wish = ""  # why each_step wants to stop
        self.pending: list[Any] = []  # losses that were not looked at yet

    def go(self) -> None:
        history = self.history
        self.before, self.start, self.clock = history.seconds, clock(), clocked(0.0)
        while history.epochs < history.wanted and not history.stopped and not self.has_to_stop():
            self.epoch()

    def take_time(self) -> None:
        new = clocked(clock() - self.start)
        if (new.kind, new.card) != (self.clock.kind, self.clock.card):
            return  # the simulated GPU came or went meanwhile: what was read before counts
        same = (self.before.kind, self.before.card) == (new.kind, new.card)
        self.history.seconds = self.before + new if same else new  # the times of two clocks have no sum

    def epoch(self) -> None:
        """One epoch, or what an earlier run left of it; its end, unless it has to stop before."""
        skipped = self.run.done
        make = functools.partial(self.workers.batches, self.run.data, skipped)
        batches: Any = make() if self.file is None else self.file.begin(make)
        # An iterator of one's own stays open; one that was made here ends its threads.
        with closing(batches) if hasattr(batches, "close") and batches is not self.run.data else nullcontext():
            for batch in batches:
                if self.has_to_stop():
                    self.look()
                    self.save()
                    return
                self.step(batch)
        if self.run.done == skipped and skipped != length(self.run.data):
            raise ValueError(
                f"data has no batches{'' if self.history.epochs + skipped == 0 else ' left'} in epoch "
                f"{self.history.epochs + 1}: give a DataLoader, or a list of batches, which can be gone through again"
            )
        self.end_epoch()

    def gradient(self, batch: Any) -> tuple[Any, Any]:
        """The loss of a batch, and the gradient."""
        if self.workers.rows == 0:  # others have some of this batch
            return 0.0, self.workers.without_rows()
        arguments = batch if isinstance(batch, tuple) and not hasattr(batch, "_fields") else (batch,)
        if self.run.done == 0:
            check_call(self.loss, self.model, arguments, batch)
        try:
            value, (grads,) = self.workers.withgradient(lambda model: self.loss(model, *arguments), self.model)
        except Exception as error:
            why = _why(error, self.model, arguments)
            (why or error).add_note(f"in batch {self.run.done + 1} of epoch {self.history.epochs + 1} of train")
            if why is None:
                raise
            raise why from error
        if self.history.steps == 0 and (nothing := without_gradient(self.model, grads)):
            raise ValueError(nothing)
        return value[0] if isinstance(value, tuple) else value, grads

    def step(self, batch: Any) -> None:
        value, grads = self.gradient(batch)
        self.pending.append(value)
        if len(self.pending) == self.check_every:
            self.look()
        if self.run.schedule is not None:
            follow(self.run.opt_state, self.run.schedule(self.history.steps))
        self.workers.update(self.run.opt_state, self.model, grads)
        self.run.done += 1
        self.history.steps += 1
        losses = self.history.losses
        self.bar.step(f"epoch {self.history.epochs + 1}/{self.history.wanted}", losses[-1] if losses else None)
        try:
            if self.each_step is not None and wants_to_stop(self.each_step, self.history):
                self.wish = _reason(self.each_step, "each_step")
        except BaseException:
            if isinstance(self.workers, Alone):
                self.look()
            if not self.pending:
                self.save(is_last=True)
            raise

    def look(self) -> None:
        """Read the losses that are waiting, at once; the first that is not finite ends the training."""
        pending, self.pending = self.pending, []
        history, values = self.history, self.workers.losses(_numbers(pending))
        self.take_time()
        for value in values:
            if not math.isfinite(value):
                raise self.not_finite(value)
            history.losses.append(value)

    def not_finite(self, value: float) -> FloatingPointError:
        history = self.history
        used = history.steps - len(history.losses)  # updates that were made with this loss, and since
        batch = len(history.losses) + self.run.done - history.steps + 1
        history.stopped, history.reason = True, f"the loss is {value} in batch {batch} of epoch {history.epochs + 1}"
        error = NotFinite(
            f"{history.reason}. "
            + (
                f"Found after {many(used, 'update')} by it and the batches since, which the model has now; "
                "check_every=1 finds it before."
                if used
                else "No update was made with it: the model is as it was before this batch."
            )
            + " What helps most often: a smaller learning rate, as in setup(Adam(1e-4), model); a loss of scores, "
            "such as logitcrossentropy, instead of log(softmax(x)); no nan in the data."
        )
        return error

    def end_epoch(self) -> None:
        self.look()
        history = self.history
        self.bar.expect(self.run.done * history.wanted)
        history.epoch_losses.append(float(np.mean(history.losses[-self.run.done :])))
        batches, self.run.done = self.run.done, 0
        try:
            self.ask_callbacks()
        except BaseException:
            self.save(batches, is_last=True)
            raise
        self.save(batches)  # after the callbacks: they too may draw random numbers, and remember something

    def ask_callbacks(self) -> None:
        history, finished = self.history, False
        for callback in self.run.callbacks:  # all of them, so that each sees every epoch
            if wants_to_stop(callback, history) and history.epochs < history.wanted and not history.stopped:
                history.stopped, history.reason = True, _reason(callback, "a callback")
                finished = isinstance(callback, Patience)
        if self.run.callbacks:
            choice = self.workers.decide(history.stopped, history.reason, finished)
            history.stopped, history.reason, self.run.finished = choice

    def has_to_stop(self) -> bool:
        """Asked before each step, so that one that has begun is always finished."""
        pressed, wish = self.workers.agree(bool(self.wish))
        reason = "interrupted" if pressed else self.wish or "stopped by each_step" if wish else ""
        if reason:
            self.history.stopped, self.history.reason = True, reason
        return bool(reason)

    def save(self, batches: int | None = None, is_last: bool = False) -> None:
        if self.file is not None:
            self.file.save(batches, is_last)


class NotFinite(FloatingPointError):
    """A loss is infinite or no number; ``error.history`` is what was trained until then."""

    history: History
    is_of_all = True  # several workers see the same loss


def wants_to_stop(callback: Callable, history: History) -> bool:
    """Whether `callback` gives something true. Raises `TypeError` for measurements, which aren't meant as an answer."""
    answer = callback(history)
    if isinstance(answer, (Mapping, list, tuple, str, float, np.floating)):
        name = getattr(callback, "__name__", type(callback).__name__)
        raise TypeError(
            f"a callback gives True to stop the training, or nothing; {name} gave a {type(answer).__name__}. To keep "
            "what it measured, append it to a list of yours"
        )
    return bool(answer)


def _numbers(losses: list[Any]) -> list[float]:
    """The values of these losses; those on a device are read together, with one wait, by name: not forbidden."""
    remote = [is_array(x) and device_of(x) != CPU for x in losses]
    if not any(remote):
        return [float(x) for x in losses]
    if len(losses) == 1:
        return [float(CPU.receive(losses[0]))]
    if not all(remote):
        return [_numbers([x])[0] for x in losses]
    with on_card_of(losses[0]):
        return [float(x) for x in CPU.receive(np.stack(losses))]


def _why(error: Exception, model: Any, arguments: Any) -> Exception | None:
    """The error with the path in the model, if its arrays are not where those of the batch are."""
    if isinstance(error, LayerError) or not isinstance(error, (TypeError, ValueError)):
        return None
    found = (other_device(model, x) for x in leaves(arguments) if is_array(x))
    return next((why for why in found if why is not None), None)


def _reason(function: Any, otherwise: str) -> str:
    name = getattr(function, "__name__", otherwise)
    return getattr(function, "reason", "") or f"stopped by {otherwise if name == '<lambda>' else name}"
