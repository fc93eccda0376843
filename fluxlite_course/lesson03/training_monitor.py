"""The training monitor: `train` in a thread of its own, its loss drawn as it falls, and a Stop button.

A button is dead while a cell computes, so the training has to run beside the cells. The plain call, which shows the
same, is ``history = train(…)``; ■ in the toolbar stops it; `loss_curve` draws its history.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from fluxlite import throttle, train
from fluxlite.messages import many
from fluxlite.receipts import Receipt, receipt
from fluxlite.training import History

from ..draw.pictures import BLUE, GREY, Picture, plots, show
from ..draw.widgets import Shown, ipywidgets, said

PAUSE = 0.5  # seconds from one drawing to the next
_MOST = 2000  # points of a line: more cannot be told apart


def loss_curve(history: History) -> tuple[dict[str, float], Picture]:
    """The losses of a training, which may still be going on: ``(numbers, picture)``.

    The numbers: complete ``epochs``, ``steps``, the ``first``, ``last`` and ``lowest`` loss, to three digits, and how
    often it ``rises`` from one step to the next. Raises `ValueError` if no loss has been read yet.

    >>> history = History(wanted=1, losses=[4.0, 1.0, 2.0], epoch_losses=[7 / 3], steps=3)
    >>> numbers, picture = loss_curve(history)
    >>> numbers
    {'epochs': 1, 'steps': 3, 'first': 4.0, 'last': 2.0, 'lowest': 1.0, 'rises': 1}
    >>> picture
    The loss of 3 steps: it begins at 4, ends at 2, and rises 1 time on the way; the lowest is 1, at step 2.
    """
    losses = list(history.losses)
    if not losses:
        raise ValueError("there is no loss to draw yet")
    lowest = min(losses)
    rises = sum(after > before for before, after in zip(losses, losses[1:]))
    numbers: dict[str, float] = {"epochs": history.epochs, "steps": len(losses)}
    numbers |= {name: float(f"{x:.3g}") for name, x in (("first", losses[0]), ("last", losses[-1]), ("lowest", lowest))}
    sentence = f"The loss of the first step is {lowest:.3g}."
    if len(losses) > 1:
        sentence = (
            f"The loss of {len(losses):,} steps: it begins at {losses[0]:.3g}, ends at {losses[-1]:.3g}, and rises "
            f"{many(rises, 'time')} on the way; the lowest is {lowest:.3g}, at step {losses.index(lowest) + 1:,}."
        )
    return numbers | {"rises": rises}, show(_figure(losses, list(history.epoch_losses)), sentence)


def _figure(losses: list[float], means: list[float]) -> Any:
    figure, axes = plots(height=3.2)
    every = -(-len(losses) // _MOST)
    steps = range(1, len(losses) + 1)
    mark = "o" if len(losses) == 1 else ""  # a line through one point can't be seen
    axes.plot(steps[::every], losses[::every], color=BLUE, lw=0.8, marker=mark, label="each step")
    if 1 < len(means) < len(losses):
        # An epoch's mean stands in its middle. A last epoch that is not complete has none.
        middles = [(i + 0.5) * (len(losses) // len(means)) + 0.5 for i in range(len(means))]
        axes.plot(middles, means, color="black", lw=2.5, label="mean of an epoch")
        axes.legend(fontsize=12, frameon=False)
    more = {"yscale": "log", "ylabel": "loss (log scale)"} if min(losses) > 0 else {"ylabel": "loss"}
    axes.set(xlabel="step", **more)
    axes.grid(color=GREY, alpha=0.2)
    return figure


def monitor(
    loss: Callable, model: Any, data: Iterable, opt_state: Any, epochs: int = 1, *, each_step: Any = None, **more: Any
) -> Monitor:
    """`train` with the same arguments, in a thread beside the cells, with a Stop button and a curve that grows.

    Shows itself as the result of a cell. ``monitor.result()`` waits for the end and gives the `History`;
    ``monitor.stop()`` does what the button does: the step is finished, and the model can be used. Where the model is
    still being trained by an earlier monitor, that one is stopped first.

    The launches that it shows are those of the whole program while it runs. Raises at once what `train` raises in
    its first step, and `ImportError` without ipywidgets.
    """
    work = functools.partial(train, loss, model, data, opt_state, epochs, **{"progress": False, **more})
    shown = Monitor(work, each_step)
    earlier = _running.get(id(model))
    if earlier is not None:
        print("This model was still being trained; that training is stopped, and a new one begins.")
        earlier.stop()
        earlier._ended.wait()
    return shown._start(id(model))


_running: dict[int, Monitor] = {}  # by the id of the model, which the thread keeps alive


class Monitor(Shown):
    """What `monitor` gives: a training that is going on, or has ended. `train` calls it after each step."""

    reason = "stopped by the button"

    def __init__(self, work: Callable[..., History], each_step: Any) -> None:
        w = ipywidgets("history = train(…), and then loss_curve(history),")
        self._button = w.Button(description="Stop", icon="stop", tooltip="finish this step, then stop")
        self._button.on_click(lambda button: self.stop())
        self._status, self._view = w.HTML(said("training …")), w.HTML()
        sentence = "A training monitor: a Stop button, and the loss as it falls, while the notebook's kernel runs."
        super().__init__(w.VBox([self._button, self._status, self._view]), f"<p>{sentence}</p>", sentence)
        self._work, self._each_step = work, each_step
        self._stopped = self._stepped = False
        self._seen: Receipt | None = None
        self._history: History | None = None
        self._error: BaseException | None = None
        self._begun = threading.Event()  # the first step has been made, or there will be none
        self._ended = threading.Event()
        self._draw = throttle(lambda history: self._show(history, self._text(history)), PAUSE)
        self._before = 0, time.perf_counter()

    def _start(self, key: int) -> Monitor:
        _running[key] = self
        try:
            threading.Thread(target=self._run, args=(key,), name="fluxlite monitor", daemon=True).start()
        except BaseException:  # there are no threads to be had: nothing runs
            _running.pop(key, None)
            raise
        self._begun.wait()
        if self._error is not None and not self._stepped:
            raise self._error
        return self

    def stop(self) -> None:
        """Stop after the step that is going on."""
        self._stopped = True

    def result(self) -> History:
        """Wait for the end; the history. Raises what stopped the training, if something did.

        While it waits the button is dead, as for any cell that runs; ■ in the toolbar does the same.
        """
        try:
            self._wait()
        except KeyboardInterrupt:
            self.reason = "interrupted"
            self.stop()
            self._wait()
        if self._error is not None:
            raise self._error
        assert self._history is not None
        return self._history

    def _wait(self) -> None:
        # In short pieces: on Windows a long wait cannot be interrupted. And not by joining the thread: Python before
        # 3.13 takes it for ended once a join was interrupted.
        while not self._ended.wait(0.2):
            pass

    # -- in the thread ---------------------------------------------------------------------------

    def _run(self, key: int) -> None:
        try:
            with receipt() as self._seen:
                self._history = self._work(each_step=self)
        except BaseException as error:  # raised again where the result is asked for
            self._error = error
        finally:
            _running.pop(key, None)
            try:
                self._button.disabled = True
                how = f"ended: {self._history!r}"
                if self._error is not None:
                    how = f"{type(self._error).__name__}: {self._error}"
                self._show(self._history or getattr(self._error, "history", None), said(how))
            finally:  # nobody is to wait for ever, only because a picture could not be drawn
                self._ended.set()
                self._begun.set()

    def __call__(self, history: History) -> bool:
        """Draw from time to time, and say whether to stop."""
        self._stepped = True
        self._begun.set()
        self._draw(history)
        if self._each_step is not None and self._each_step(history):
            name = getattr(self._each_step, "__name__", "each_step")
            self.reason = getattr(self._each_step, "reason", f"stopped by {name}")
            return True
        return self._stopped

    def _show(self, history: History | None, status: str) -> None:
        page = self._view.value
        if history is not None and history.losses:
            try:
                page = loss_curve(history)[1]._repr_html_()
            except Exception as error:  # that isn't a reason to stop a training
                page = said(f"There is no picture, for it cannot be drawn here: {error}")
        self._status.value, self._view.value = status, page  # only now: drawing takes its time, and both are to agree

    def _text(self, history: History) -> str:
        (steps, then), now = self._before, time.perf_counter()
        self._before = history.steps, now
        parts = [f"epoch {history.epochs + 1:,} of {history.wanted:,}", f"step {history.steps:,}"]
        if history.losses:
            parts.append(f"loss {history.losses[-1]:.4g}")
        if steps:
            parts.append(f"{(history.steps - steps) / (now - then):,.0f} steps per second, measured here")
        if self._seen is not None and self._seen.launches:
            parts.append(f"{self._seen.launches:,} launches")
        return "; ".join(parts)
