"""`train`: the loop over epochs and batches, and what it remembers of it. Going on with a run is in `resuming.py`."""

import copy
import math
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from operator import length_hint
from typing import Any

import numpy as np

from ..annotations import Tree
from ..arrays import device_of, on_card_of
from ..autodiff.gradients import withgradient
from ..capturing.step import CapturedStep
from ..capturing.step import captured as make_captured
from ..devices.base import CPU
from ..devices.receipts import Seconds, clock, clocked
from ..distributed.world import everyone
from ..layers.layer import misplaced
from ..messages import in_notebook
from ..optim.rules import rate_shares, set_rates
from ..optim.update import update, why_no_gradient
from ..tree.ties import is_array
from ..tree.unreached import say_what_is_not_trained
from ..tree.walks import leaves, trainables
from ..words import check_bool, check_callable, check_whole, explained, in_words, many
from .callbacks import Patience
from .resuming import RunFile
from .team import Alone, Team


@dataclass(repr=False, eq=False)
class History:
    """What `train` gives: the loss of every step, the mean of each complete epoch's, and why it ended.

    `stopped` says whether that was before all epochs were done, `reason` why: ``"interrupted"``, ``"early stopping"``,
    …. `seconds` is the time until the last loss was read, on `fluxlite.clock`. A resumed run has its earlier parts too.
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

    def stop(self, reason: str) -> None:
        self.stopped = True
        self.reason = reason

    def __repr__(self) -> str:
        epochs = many(self.epochs, "epoch")
        if self.stopped:
            epochs = f"{self.epochs} of {many(self.wanted, 'epoch')}"
        parts = [epochs, many(self.steps, "step")]
        losses = self.losses
        if self.epochs > 1:
            losses = self.epoch_losses
        if losses:
            parts.append(f"loss {losses[0]:.3g} -> {losses[-1]:.3g}")
        if self.reason:
            parts.append(self.reason)
        parts.append(str(self.seconds))
        return f"History({', '.join(parts)})"


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
    checkpoint: str | os.PathLike | None = None,
    resume: bool = False,
    overwrite: bool = False,
    distributed: bool = False,
    captured: bool = False,
) -> History:
    """Train `model` in place, `epochs` times through `data`, and give the `History` (Flux: ``train!``).

    Each batch is a step: the gradient of ``loss(model, *batch)`` if the batch is a tuple, else of ``loss(model,
    batch)``; then ``update(opt_state, model, gradient)``. `loss` may give ``(loss, extra, …)``. The interrupt key, ■ in
    a notebook, lets the step finish, and gives the history; pressed again, it raises `KeyboardInterrupt`.

    - `callbacks`: functions of the history, called after each epoch; one that gives something true stops the training
    - `each_step`: the same after each step
    - `progress`: True for a bar, False for none; None shows one after a second, if there's a screen
    - `check_every`: 20 looks at the losses every 20 steps only; on a GPU each look waits for it
    - `schedule`: a function of the step's number, such as ``cosine(0.01, 1000)``, gives the learning rate. Parameters
      to which `adjust` gave a tenth of the largest rate get a tenth of it
    - `checkpoint`: a file, written after each epoch and when stopped
    - `resume`: go on from the checkpoint as if the run had never stopped, to `epochs` in all. Random numbers are part
      of it if the order, the CPU or the model's device draws them; those of `mapobs` and `collate`, between epochs only
    - `overwrite`: replace a file that's there
    - `distributed`: train on all workers of `fluxlite.distributed`, each with its rows of every batch. All give the
      same data and settings; model and state are worker 0's. The loss has to be a mean over rows, as fluxlite's are
    - `captured`: from the second step on, gradient and update are one recorded step (`fluxlite.captured`), which is
      quicker for small networks. The first replays also run as written, and have to come to the same numbers

    Raises `FloatingPointError` if a loss is infinite or NaN (Flux: ``DomainError``); with ``check_every=1``, and if it
    isn't `captured`, before it changes the model. Every error that ends the training has the ``error.history`` so far.

    >>> model = {"w": np.zeros(1)}
    >>> batches = [(np.array([1.0]), np.array([2.0])), (np.array([2.0]), np.array([4.0]))]
    >>> loss = lambda m, x, y: np.sum((m["w"] * x - y) ** 2)
    >>> train(loss, model, batches, fl.setup(fl.Descent(0.1), model), epochs=3)
    History(3 epochs, 6 steps, loss 7.12 -> 0.00467, ... measured)
    """
    callbacks = tuple(callbacks)
    _check_ways(distributed, captured)
    with _workers(distributed) as workers:
        _check_checkpoint(checkpoint, resume, overwrite)
        _check_functions(*callbacks, each_step, schedule)
        check_whole("epochs", epochs, 1)
        check_whole("check_every", check_every, 1)
        check_data(data)
        if not list(trainables(model)):
            raise ValueError(f"there is nothing to train in this {type(model).__name__}; see explain(model)")
        if schedule is not None and not rate_shares(opt_state):
            raise TypeError("train(schedule=…) sets a learning rate, and the rule has none")
        say_what_is_not_trained(model)
        history = History(int(epochs))
        run = Run(loss, model, data, opt_state, history, callbacks, each_step, int(check_every), schedule, workers)
        workers.prepare(
            model, opt_state, data, epochs=epochs, check_every=check_every, callbacks=len(callbacks), resume=resume,
            checkpoint=checkpoint is not None, each_step=each_step is not None,
        )  # fmt: skip
        if captured:
            run.captured = run.capture()
        if checkpoint is not None:
            run.file = RunFile(checkpoint, run)
            if run.file.is_writer and run.file.path.exists() and not (resume or overwrite):
                raise ValueError(f"{run.file.path} is there: resume=True goes on with it, overwrite=True replaces it")
            if resume and not run.file.restore():
                return history
        if workers.worker != 0:
            progress = False
        steps = length_hint(data) * history.wanted
        try:
            with Interrupts() as workers.interrupts, Bar(progress, steps or None, history.steps) as run.bar:
                run.go()
        except BaseException as error:
            if not history.stopped:
                history.stop(f"stopped by {type(error).__name__}")
            with suppress(AttributeError, TypeError):  # an error that takes no attributes
                error.history = history  # type: ignore[attr-defined]
            raise
        return history


def _workers(distributed: bool) -> AbstractContextManager[Any]:
    if distributed and everyone().size > 1:
        return Team()
    return nullcontext(Alone())


def _check_ways(distributed: bool, captured: bool) -> None:
    check_bool("train(distributed=…)", distributed)
    check_bool("train(captured=…)", captured)
    if captured and distributed:
        raise TypeError("train(captured=True) is for one process: other workers' gradients can't be recorded")


def _check_checkpoint(checkpoint: str | os.PathLike | None, resume: bool, overwrite: bool) -> None:
    is_without_file = checkpoint is None and (resume or overwrite)
    if is_without_file or (resume and overwrite):
        raise TypeError('resume=True goes on with the file of checkpoint="…", overwrite=True replaces it: take one')


def _check_functions(*functions: object) -> None:
    for function in functions:
        if function is not None:
            check_callable("each of train's callbacks, each_step=… or schedule=…", function)


def check_data(data: Any) -> None:
    """Raises `TypeError` for arrays, whose rows would be taken for batches."""
    if type(data) is tuple and len(data) > 1 and all(map(is_array, data)):
        got = f"a tuple of {len(data)} arrays"
    elif is_array(data) or isinstance(data, Mapping):
        got = in_words(data)
    else:
        return
    raise TypeError(
        f"data is a list of batches, got {got}: for one batch write [(x, y)], for several DataLoader((x, y), "
        "batchsize=32); batches that are single arrays go into a list"
    )


_CHECKED = 8  # up to this step, each replay is compared with the step as it's written


def _arguments(batch: Any) -> tuple:
    """What the loss gets after the model."""
    if isinstance(batch, tuple) and not hasattr(batch, "_fields"):
        return batch
    return (batch,)


@dataclass(eq=False)
class Run:
    """What is trained, with what, and how far it is. It goes through the epochs, step by step."""

    loss: Callable
    model: Any
    data: Any
    opt_state: Any
    history: History
    callbacks: tuple[Callable, ...]
    each_step: Callable | None
    check_every: int
    schedule: Callable[[int], float] | None
    workers: Any  # `Alone`, or a `Team`
    done: int = 0  # batches of this epoch
    whole: bool = True  # no step is half done
    finished: bool = False  # stopped by a callback that says when it's enough: there's nothing to go on with
    wish: str = ""  # why each_step wants to stop
    pending: list[Any] = field(default_factory=list)  # losses that weren't looked at yet
    file: RunFile | None = None
    bar: Any = None
    captured: CapturedStep | None = None  # gradient and update in one

    def capture(self) -> CapturedStep:
        """Gradient and update of one batch, as a step that's recorded and replayed."""
        loss, model, opt_state = self.loss, self.model, self.opt_state

        def step(*arguments: Any) -> Any:
            value, (grads,) = withgradient(lambda model: loss(model, *arguments), model)
            update(opt_state, model, grads)
            if isinstance(value, tuple):  # (loss, extra, …)
                return value[0]
            return value

        return make_captured(step, check=1)

    def go(self) -> None:
        self.start = clock()
        self.before = self.history.seconds
        try:
            while not self.is_over():
                self.epoch()
        except BaseException:
            if self.file is not None and self.whole:
                if self.workers.group is None:
                    self.look()
                if not self.pending:
                    self.file.save()
            raise

    def is_over(self) -> bool:
        history = self.history
        return history.epochs >= history.wanted or history.stopped or self.has_to_stop()

    def epoch(self) -> None:
        """One epoch, or what an earlier run left of it; its end, unless it has to stop before."""
        skipped = self.done
        if self.file is not None:
            self.file.at_start = copy.deepcopy(self.file.order)
        with closing(self.workers.batches(self.data, skipped)) as batches:  # a loader ends its threads
            for batch in batches:
                if self.has_to_stop():
                    self.look()
                    if self.file is not None:
                        self.file.save()
                    return
                self.step(batch)
        if self.done == skipped and (skipped == 0 or skipped != length_hint(self.data)):
            number = self.history.epochs + 1
            raise ValueError(f"data has no batches in epoch {number}: give a DataLoader, or a list of batches")
        self.end_epoch()

    def step(self, batch: Tree) -> None:
        history = self.history
        self.whole = False
        if self.captured is not None and history.steps > 0:
            self.replay(self.captured, batch)
        else:
            value, grads = self.gradient(batch)
            self.pending.append(value)
            if len(self.pending) == self.check_every:
                self.look()
            if self.schedule is not None:
                set_rates(self.opt_state, self.schedule(history.steps))
            self.workers.update(self.opt_state, self.model, grads)
            self.done += 1
            history.steps += 1
        self.whole = True
        latest = None
        if history.losses:
            latest = history.losses[-1]
        self.bar.step(f"epoch {history.epochs + 1}/{history.wanted}", latest)
        if self.each_step is not None:
            self.wish = _wish(self.each_step, history, "each_step")

    def replay(self, step: CapturedStep, batch: Any) -> None:
        """Gradient and update of this batch at once. Its loss is looked at afterwards."""
        history = self.history
        if self.schedule is not None:
            set_rates(self.opt_state, self.schedule(history.steps))
        if history.steps == _CHECKED:
            step.check = 0
        with self.noting_the_batch(_arguments(batch)):
            value = step(*_arguments(batch))
        self.done += 1
        history.steps += 1
        self.pending.append(value)
        if len(self.pending) == self.check_every:
            self.look()

    def gradient(self, batch: Tree) -> tuple[Any, Any]:
        if self.workers.rows == 0:  # others have some of this batch
            return 0.0, None
        arguments = _arguments(batch)
        with self.noting_the_batch(arguments):
            value, (grads,) = withgradient(lambda model: self.loss(model, *arguments), self.model)
        if self.history.steps == 0:
            nothing = why_no_gradient(self.model, grads)
            if nothing:
                raise ValueError(nothing)
        if isinstance(value, tuple):  # (loss, extra, …)
            value = value[0]
        return value, grads

    @contextmanager
    def noting_the_batch(self, arguments: tuple) -> Iterator[None]:
        """An error names the batch, or the array that's on another device."""
        try:
            yield
        except Exception as error:
            note = f"in batch {self.done + 1} of epoch {self.history.epochs + 1} of train"
            better = None
            if type(error) in (TypeError, ValueError):
                better = _first_misplaced(self.model, arguments)
            if better is None:
                error.add_note(note)
                raise error from None
            better.add_note(note)
            raise better from error

    def look(self) -> None:
        """Read the losses that are waiting, at once; the first that isn't finite ends the training."""
        losses = self.pending
        self.pending = []
        if len(losses) > 1 and all(is_array(x) and device_of(x) != CPU for x in losses):
            with on_card_of(losses[0]):
                losses = list(CPU.receive(np.stack(losses)))  # with one wait
        numbers = [_as_number(x) for x in losses]
        values = self.workers.losses(numbers)
        seconds = clocked(clock() - self.start)
        with suppress(TypeError):  # the simulated GPU came or went meanwhile: the times of two clocks have no sum
            self.history.seconds = self.before + seconds
        for value in values:
            if not math.isfinite(value):
                self.fail(value)
            self.history.losses.append(value)

    def fail(self, value: float) -> None:
        history = self.history
        self.whole = False
        used = history.steps - len(history.losses)  # updates that were made with this loss, and since
        history.stop(f"the loss is {value} in batch {self.done - used + 1} of epoch {history.epochs + 1}")
        found = "No update was made with it: the model is as it was before this batch."
        if used:
            at_once = "check_every=1 finds it at once"
            if self.captured is not None:  # a step's loss is there when its update is made, too
                at_once = "check_every=1 without captured=True finds it before the update"
            found = f"Found {many(used, 'update')} later: the model has changed since. {at_once}."
        raise NotFinite(
            f"{history.reason}. {found} What helps most often: a smaller learning rate, as in setup(Adam(1e-4), model);"
            " a loss of scores, such as logitcrossentropy, instead of log(softmax(x)); no nan in the data."
        )

    def end_epoch(self) -> None:
        self.look()
        history = self.history
        self.bar.total = self.bar.total or self.done * history.wanted
        history.epoch_losses.append(float(np.mean(history.losses[-self.done :])))
        if self.file is not None:
            self.file.at_start = self.file.order
            self.file.batches = self.done
        self.done = 0
        for callback in self.callbacks:  # all of them, so that each sees every epoch
            wish = _wish(callback, history, "a callback")
            if wish and history.epochs < history.wanted and not history.stopped:
                history.stop(wish)
                self.finished = isinstance(callback, Patience)
        if self.callbacks:
            choice = self.workers.decide(history.stopped, history.reason, self.finished)
            history.stopped, history.reason, self.finished = choice
        if self.file is not None:
            self.file.save()  # after the callbacks: they too may draw random numbers, and remember something

    def has_to_stop(self) -> bool:
        """Asked before each step, so that one that has begun is always finished."""
        if self.workers.pressed:
            self.history.stop("interrupted")
        elif self.each_step is not None:
            (why,) = self.workers.decide(self.wish)
            if why:
                self.history.stop(why)
        return self.history.stopped


def _first_misplaced(model: Tree, arguments: tuple) -> Exception | None:
    """After an error: where in the model an array isn't where those of the batch are."""
    for x in leaves(arguments):
        if is_array(x):
            error = misplaced(model, x)
            if error is not None:
                return error
    return None


def _as_number(loss: Any) -> float:
    if is_array(loss):
        loss = CPU.receive(loss)  # by name: not forbidden
    return float(loss)


class NotFinite(FloatingPointError):
    """A loss is infinite or NaN; ``error.history`` is what was trained until then."""

    history: History
    is_of_all = True  # several workers see the same loss


def _wish(function: Callable, history: History, otherwise: str) -> str:
    """Why `function` wants to stop, or ''. Raises `TypeError` for a measurement, which isn't meant as an answer."""
    answer = function(history)
    name = getattr(function, "__name__", otherwise)
    if isinstance(answer, (Mapping, list, tuple, str, float, np.floating)):
        raise TypeError(f"a callback gives True to stop the training, or nothing; {name} gave {in_words(answer)}")
    if not answer:
        return ""
    reason = getattr(function, "reason", "")
    if reason:
        return reason
    if name == "<lambda>":
        name = otherwise
    return f"stopped by {name}"


class Interrupts:
    """Makes Ctrl-C and the notebook's ■ polite: the first one only sets `pressed`, and the second raises.

    Where the signal is ignored, or not Python's to handle, and in other threads, everything stays as it is.
    """

    def __init__(self) -> None:
        self.pressed = False
        self._before: Any = None

    def __enter__(self) -> "Interrupts":
        before = signal.getsignal(signal.SIGINT)  # None, if the handler isn't Python's: it couldn't be put back
        if threading.current_thread() is threading.main_thread() and before not in (None, signal.SIG_IGN):
            self._before = before  # first: a signal may come between any two lines
            signal.signal(signal.SIGINT, self._press)
        return self

    def __exit__(self, *exc_info: Any) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _press(self, number: int, frame: Any) -> None:
        if self.pressed:
            self.__exit__()  # here too: the error may hit `__exit__` itself, before it did anything
            raise KeyboardInterrupt
        self.pressed = True


DELAY = 1.0  # seconds until a bar appears that nobody asked for


class Bar(AbstractContextManager):
    """tqdm's progress bar, or nothing at all. Shown is True, False, or None: where you can see it, after a while."""

    def __init__(self, shown: bool | None, total: int | None, done: int = 0) -> None:
        self.total = total
        self.done = done
        self._due = math.inf  # when it appears
        self._bar = None
        if not _is_hidden(shown):
            self._due = time.monotonic() + DELAY
            if shown:
                self._bar = _tqdm(total, done)

    def __exit__(self, *exc_info: Any) -> None:
        if self._bar is not None:
            self._bar.total = self._bar.n  # where steps are missing, tqdm's bar in a notebook would stay, in red
            self._bar.close()

    def step(self, epoch: str, loss: float | None) -> None:
        if self._bar is None and time.monotonic() >= self._due:
            self._bar = _tqdm(self.total, self.done)
        self.done += 1
        if self._bar is not None:
            self._bar.set_description_str(epoch, refresh=False)
            last = ""
            if loss is not None:
                last = f"loss {loss:.4g}"
            self._bar.set_postfix_str(last, refresh=False)
            self._bar.total = self.total
            self._bar.update()


def _is_hidden(shown: bool | None) -> bool:
    if shown is False or os.environ.get("TQDM_DISABLE", "0") not in ("", "0"):
        return True
    if shown is not None or in_notebook():
        return False
    isatty = getattr(sys.stderr, "isatty", None)
    return isatty is None or not isatty()


def _tqdm(total: int | None, done: int) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # no ipywidgets, or a new kind of bar, doesn't concern the training
        from tqdm.auto import tqdm

        return tqdm(total=total, initial=done, unit=" steps", leave=False, mininterval=0.25, dynamic_ncols=True)
