"""A training in a file, so that it goes on as if it had never stopped: in mid-epoch too, and in another process.

What decides the rest of a run: the model, the optimizer's state, where in which epoch it is, the order of that epoch's
batches, and every generator of random numbers. The order is not written down: it is drawn again, from the state that
the loader's generator had when the epoch began.
"""

from __future__ import annotations

import copy
import itertools
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import device_of
from ..devices.base import CPU
from ..messages import formatted, say
from ..optimizers import Leaf
from ..optimizers.states import shares
from ..receipts import Seconds
from ..tree.ties import is_array
from ..tree.walks import leaves, nodes
from ..writing import check_place
from .arguments import length
from .callbacks import Patience

# What a run in a file is made of.
_FORM: dict[str, type] = {
    "epoch": int, "step": int, "batches": int, "optimizer": str, "losses": np.ndarray, "epoch_losses": np.ndarray,
    "reason": str, "finished": int, "seconds": float, "kind": str, "card": str,
}  # fmt: skip
_AT_START, _NOW = "generator of data, at the epoch's start", "generator of data"


@dataclass(eq=False)
class Run:
    """What is trained, with what, and how far it is: what `train` goes on with, and what a file of it holds."""

    model: Any
    data: Any
    opt_state: Any
    callbacks: tuple[Callable, ...]
    history: Any
    schedule: Callable[[int], float] | None = None  # sets the learning rate
    done: int = 0  # batches of this epoch
    finished: bool = False  # stopped by a callback that says when it is enough: there is nothing to go on with


class RunFile:
    """The file of a run: `save` writes it, `restore` brings a run to where the file is."""

    def __init__(self, path: Any, run: Run) -> None:
        self.path, self.run = _checked(path), run
        rng = getattr(run.data, "rng", None)
        self.order: np.random.Generator | None = rng if isinstance(rng, np.random.Generator) else None
        self.at_start = self.order  # the same, as it was when the epoch began
        self.at_stop: Any = None  # and its state when the run was stopped amid an epoch
        self.others = (0, 0)  # epochs and batches of the run that's in the file, which this one isn't to undercut
        self.trouble = ""  # why the last attempt to write failed
        _check_content(model=run.model, opt_state=run.opt_state)

    # -- writing ---------------------------------------------------------------------------------

    def begin(self, batches: Callable[[], Iterator]) -> Iterator:
        """The batches of an epoch, whose order is drawn now."""
        self.at_start = copy.deepcopy(self.order)
        state, self.at_stop = self.at_stop, None
        return batches() if state is None else self._then(batches(), state)

    def _then(self, batches: Iterator, state: Any) -> Iterator:
        """Once the order is drawn again, the generator is as it was when the run was stopped."""
        first = list(itertools.islice(batches, 1))  # none, if it was stopped after the epoch's last batch
        _set_state(self.order, state)
        yield from first
        del first
        yield from batches

    def save(self, batches: int | None, is_last: bool = False) -> None:
        """Write all that the rest of the run depends on; `batches` is how many the epoch had that has just ended.

        If that fails, says so: the training goes on, unless an error ends it: then this `is_last`.
        """
        if (self.run.history.epochs, self.run.done) < self.others:
            self._fail(f"it has {progress(*self.others)} of an earlier run, which is more")
            return
        if batches is not None:
            self.at_start = self.order
        try:
            self._write(batches)
        except Exception as error:  # a full disk, a folder that's gone, no memory
            self._fail(getattr(error, "strerror", None) or str(error))
            return
        if self.trouble:
            done = progress(self.run.history.epochs, self.run.done)
            say(formatted("Info", f"{self.path.name} could be written again: it has {done}"))
        self.trouble, self.others = "", (0, 0)

    def _fail(self, why: str) -> None:
        if why != self.trouble:  # a disk stays full for many epochs
            say(formatted("Warning", f"{self.path.name} was not written: {why}. It's tried again after each epoch"))
        self.trouble = why

    def say_what_is_missing(self) -> None:
        """At the end: that the file isn't of this end."""
        if self.trouble:
            text = f"{self.path.name} does not have the end of this training: {self.trouble}\n"
            say(formatted("Warning", text + 'The model has it: save("elsewhere.safetensors", model)'))

    def _write(self, batches: int | None) -> None:
        from ..checkpoint import save

        run, history = self.run, self.run.history
        memories = {str(i): memory for i, memory in enumerate(_memories(run.callbacks))}
        save(
            self.path,
            model=run.model,
            opt_state=run.opt_state,
            callbacks=memories,
            run={
                "epoch": history.epochs,
                "step": run.done,
                "batches": (length(run.data) or 0) if batches is None else batches,  # 0: not known
                "optimizer": _rules(run),
                "losses": np.array(history.losses, np.float64),
                "epoch_losses": np.array(history.epoch_losses, np.float64),
                "reason": history.reason,
                "finished": int(run.finished),
                "seconds": float(history.seconds),
                "kind": history.seconds.kind,
                "card": history.seconds.card,
            },
            **self._generators(self.at_start, self.order),
            **self.more(),
        )

    def more(self) -> dict[str, Any]:
        """What else is written. For several workers: `together.py`."""
        return {}

    def _generators(self, at_start: Any, now: Any) -> dict[str, Any]:
        """Whatever draws random numbers, by the name that it has in the file."""
        devices = {CPU, *(device_of(x) for x in leaves(self.run.model) if is_array(x))}
        found = {f"generator of {device}": device for device in sorted(devices, key=str)}
        return found if self.order is None else {_AT_START: at_start, _NOW: now, **found}

    # -- reading ---------------------------------------------------------------------------------

    def check_replaceable(self, overwrite: bool) -> None:
        """Raises `ValueError` if the file that's there is no run's, or has more of one than this run's first epoch."""
        if not self.path.exists():
            return
        from ..checkpoint import load

        try:
            then = load(self.path)["run"]
            self.others = int(then["epoch"]), int(then["step"])
        except (ValueError, TypeError, KeyError, IndexError):
            raise ValueError(
                f"checkpoint: {self.path} is there, and is no checkpoint that train wrote; it stays. Take another name"
            ) from None
        if overwrite:
            self.others = 0, 0
        if self.others > (1, 0):
            raise ValueError(
                f"checkpoint: {self.path} has {progress(*self.others)} of an earlier run. resume=True goes on with "
                "it, overwrite=True begins anew and replaces it"
            )

    def restore(self) -> bool:
        """Take over what is in the file, if there is one; False if nothing is left to do.

        Raises `ValueError` if it is that of another run, and then changes nothing.
        """
        if not self.path.exists():
            return True
        from ..checkpoint import load

        run, history = self.run, self.run.history
        found = load(self.path)
        self._check_form(found)
        then = found["run"]
        self._check(found)
        at_start, now = copy.deepcopy(self.order), copy.deepcopy(self.order)  # the loader's own is not touched yet
        generators = {name: x for name, x in self._generators(at_start, now).items() if name in found}
        del found["model"], found["opt_state"]  # they're read once more, into ours
        load(self.path, model=run.model, opt_state=run.opt_state, **generators)
        for i, memory in enumerate(_memories(run.callbacks)):
            before = found["callbacks"].get(str(i), {})
            memory.update(before if before.keys() == memory.keys() else {})  # of another callback: nothing
        if at_start is not None:
            _set_state(self.order, at_start.bit_generator.state)
            self.at_stop = now.bit_generator.state if then["step"] else None  # type: ignore[union-attr]
        run.done, run.finished = then["step"], bool(then["finished"])
        history.losses[:] = [float(x) for x in then["losses"]]
        history.epoch_losses[:] = [float(x) for x in then["epoch_losses"]]
        history.steps = len(history.losses)
        history.seconds = Seconds(then["seconds"], then["kind"], then["card"])
        if run.finished:
            history.stopped, history.reason = True, then["reason"]
        self.restored(found)
        return self._say()

    def restored(self, found: dict[str, Any]) -> None:
        """What else is read."""

    def _check_form(self, found: dict[str, Any]) -> None:
        """Raises `ValueError` unless the file has what `_write` writes: `save` lets everyone write what they like."""
        if "run" not in found:
            raise ValueError(f"{self.path} was not written by train: load(path, model=model) reads it")
        then = found["run"]
        for name, kind in _FORM.items():
            if not isinstance(then, dict) or type(then.get(name)) is not kind:
                raise ValueError(f"{self.path} was not written by train: its run has no {name} of type {kind.__name__}")
        numbers = [then["losses"], then["epoch_losses"]]
        right = all(x.ndim == 1 and x.dtype == np.float64 for x in numbers) and len(numbers[1]) == then["epoch"] >= 0
        memories = found.get("callbacks")
        right &= isinstance(memories, dict) and all(isinstance(x, dict) for x in memories.values())
        right &= 0 <= then["step"] <= (then["batches"] or then["step"]) and {"model", "opt_state"} <= found.keys()
        if not right:
            raise ValueError(f"{self.path} was not written by train: its parts do not fit together")

    def _check(self, found: Any) -> None:
        then = found["run"]
        if (_NOW in found) != (self.order is not None):
            without = "without" if self.order is None else "with"
            raise ValueError(f"{self.path} is of a run with other data: here it is {without} a generator, data.rng")
        batches, rules = length(self.run.data), _rules(self.run)
        if batches and then["batches"] and batches != then["batches"]:
            raise ValueError(f"{self.path} is of a run with {then['batches']} batches an epoch, data has {batches}")
        if rules != then["optimizer"]:
            raise ValueError(f"{self.path} is of a run with {then['optimizer']}, opt_state is of {rules}")

    def _say(self) -> bool:
        history, done = self.run.history, self.run.done
        name = self.path.name
        if self.run.finished or history.epochs >= history.wanted:
            why = f" ({history.reason})" if self.run.finished else ""
            text = f"{name} is of a run that is finished, after epoch {history.epochs}{why}: nothing is left to do"
        elif done:
            text = f"resuming {name} after batch {done} of epoch {history.epochs + 1}"
        else:
            text = f"resuming {name} after epoch {history.epochs}"
        say(formatted("Info", text))
        return not (self.run.finished or history.epochs >= history.wanted)


def _checked(path: Any) -> Path:
    """Raises where no file can be written: now, and not after an epoch. From then on, no `chdir` moves it."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f'checkpoint is the path of a file, such as "run.safetensors", got a {type(path).__name__}')
    check_place(os.path.realpath(path))
    return Path(os.path.abspath(path))


def _check_content(**values: Any) -> None:
    """Raises `TypeError` for what no file can hold: now, and not after an epoch."""
    from ..checkpoint.saving import what_is_written

    what_is_written(values)


def progress(epochs: int, batches: int) -> str:
    """How far a run is, in words."""
    parts = ["1 epoch" if epochs == 1 else f"{epochs} epochs"] if epochs else []
    parts += ["1 batch" if batches == 1 else f"{batches} batches"] if batches else []
    return " and ".join(parts) or "no batch"


def _set_state(generator: Any, state: Any) -> None:
    generator.bit_generator.state = state


def _memories(callbacks: tuple) -> list[dict[str, Any]]:
    return [callback.memory for callback in callbacks if isinstance(callback, Patience)]


def _rules(run: Run) -> str:
    """The rules in words. Where a schedule sets the rates, only how large they are beside it."""
    beside = {} if run.schedule is None else {id(leaf): 1 if leaf.frozen else x for leaf, x in shares(run.opt_state)}
    rules = []
    for leaf in (node for _, node in nodes(run.opt_state) if isinstance(node, Leaf)):
        share = beside.get(id(leaf))
        eta = "eta=scheduled" if share == 1 else f"eta={share} * scheduled"
        rules.append(str(leaf.rule) if share is None else re.sub(r"\beta=[^,)]*", eta, str(leaf.rule)))
    return " and ".join(dict.fromkeys(rules))
