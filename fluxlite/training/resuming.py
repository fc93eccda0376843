"""A training in a file, so that it goes on as if it had never stopped: in mid-epoch too, and in another process.

The file has the model, the optimizer's state, where in which epoch the run is, and all generators of random numbers.
The order of an epoch's batches is drawn again, from the state that the loader's generator had when the epoch began.
"""

import copy
import itertools
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .. import checkpoint
from ..arrays import device_of
from ..checkpoint.loading import Loading
from ..checkpoint.saving import what_is_written
from ..checkpoint.states import resuming
from ..devices.base import CPU
from ..messages import many, say
from ..optimizers import Leaf
from ..optimizers.states import shares
from ..receipts import Seconds
from ..tree.ties import is_array
from ..tree.walks import Attribute, KeyPath, leaves, nodes
from ..writing import check_place
from .callbacks import Patience

_AT_START, _NOW = "generator of data, at the epoch's start", "generator of data"


class RunFile:
    """The file of a run: `save` writes it, `restore` brings a run to where the file is.

    With a `team` of several workers, worker 0 reads and writes it, and all go on with what's in it.
    """

    def __init__(self, path: Any, run: Any, team: Any = None) -> None:
        self.path = Path(os.path.abspath(path))  # from now on, no `chdir` moves it
        self.run, self.team, self.is_writer = run, team, team is None or team.worker == 0
        if self.is_writer:  # what can't be written is said now, and not after an epoch
            check_place(os.path.realpath(path))
        what_is_written({"model": run.model, "opt_state": run.opt_state})
        rng = getattr(run.data, "rng", None)
        self.order: np.random.Generator | None = rng if isinstance(rng, np.random.Generator) else None
        self.at_start = self.order  # the same, as it was when the epoch began
        self.at_stop: Callable[[], None] | None = None  # brings it to where it was when the run stopped amid an epoch
        self.others = (0, 0)  # epochs and batches of the run that's in the file, which this one isn't to undercut
        self.trouble = ""  # why the last attempt to write failed

    def begin(self, make: Callable[[], Iterator]) -> Iterator:
        """The batches of an epoch, whose order is drawn now."""
        self.at_start = copy.deepcopy(self.order)
        batches, go_on, self.at_stop = make(), self.at_stop, None
        return batches if go_on is None else _then(batches, go_on)

    def save(self, batches: int | None, is_last: bool = False) -> None:
        """Write all that the rest of the run depends on; `batches` is how many the epoch had that has just ended.

        If that fails, says so: the training goes on, unless an error ends it: then this `is_last`, and of several
        workers perhaps only this one comes here.
        """
        team, done = None if is_last else self.team, (self.run.history.epochs, self.run.done)
        more = {"workers": team.group.all(team.states())[1:]} if team else {}
        if batches is not None:
            self.at_start = self.order
        if self.is_writer:
            before, self.trouble = self.trouble, f"it has {progress(*self.others)} of an earlier run, which is more"
            if done >= self.others:
                self.trouble = self._write(batches or length(self.run.data), more)
            if self.trouble not in ("", before):  # a disk stays full for many epochs
                text = f"{self.path.name} was not written: {self.trouble}. It's tried again after each epoch"
                say(text, "Warning")
        if team:
            team.saved("" if self.trouble else f"{self.path}, after {progress(*done)}")

    def _write(self, batches: int, more: dict[str, Any]) -> str:
        """Returns why it couldn't be written, or ''."""
        run, history = self.run, self.run.history
        values = dict(
            epoch=history.epochs, step=run.done, batches=batches, optimizer=_rules(run),
            losses=np.array(history.losses, np.float64), epoch_losses=np.array(history.epoch_losses, np.float64),
            finished=int(run.finished), reason=history.reason, seconds=float(history.seconds),
            kind=history.seconds.kind, card=history.seconds.card,
        )  # fmt: skip
        generators = {**({} if self.order is None else {_AT_START: self.at_start, _NOW: self.order}), **self._devices()}
        memories = {str(i): memory for i, memory in enumerate(self._memories())}
        state = {"model": run.model, "opt_state": run.opt_state, "callbacks": memories}
        try:
            checkpoint.save(self.path, **state, run=values, **generators, **more)
        except Exception as error:  # a full disk, a folder that's gone, no memory
            return getattr(error, "strerror", None) or str(error)
        self.others = (0, 0)
        return ""

    def _devices(self) -> dict[str, Any]:
        """Devices that draw random numbers, by the name that their generator has in the file."""
        devices = {CPU, *(device_of(x) for x in leaves(self.run.model) if is_array(x))}
        return {f"generator of {device}": device for device in sorted(devices, key=str)}

    def _memories(self) -> list[dict[str, Any]]:
        return [callback.memory for callback in self.run.callbacks if isinstance(callback, Patience)]

    def check_replaceable(self, overwrite: bool) -> None:
        """Raises `ValueError` if the file that's there is no run's, or has more of one than this run's first epoch."""
        if not self.is_writer or not self.path.exists():
            return
        try:
            then = checkpoint.load(self.path)["run"]
            others = int(then["epoch"]), int(then["step"])
        except (ValueError, TypeError, KeyError, IndexError):
            text = f"checkpoint: {self.path} is there, and is no checkpoint that train wrote; it stays"
            raise ValueError(text) from None
        if overwrite:
            return
        if others > (1, 0):
            what = f"{self.path} has {progress(*others)} of an earlier run"
            raise ValueError(f"checkpoint: {what}. resume=True goes on with it, overwrite=True replaces it")
        self.others = others

    def restore(self) -> bool:
        """Take over what is in the file, if there is one; False if nothing is left to do.

        Raises `ValueError` if it is that of another run, and then changes nothing.
        """
        found = checkpoint.load(self.path) if self.is_writer and self.path.exists() else None
        found = self.team.group.same(found) if self.team else found
        if found is None:
            return True
        run, history, then = self.run, self.run.history, self._checked(found)
        loading = Loading(own=True)
        targets = {"model": run.model, "opt_state": run.opt_state, **self._devices()}
        if self.order is not None:
            targets[_AT_START] = self.order
            go_on = resuming(KeyPath([Attribute(_NOW)]), self.order, found[_NOW])
            self.at_stop = go_on if then["step"] else None
        for name, target in targets.items():
            if name in found:  # yesterday's GPU may be gone, and its generator with it
                loading.add(KeyPath([Attribute(name)]), target, found[name])
        loading.finish()
        for i, memory in enumerate(self._memories()):
            before = found["callbacks"].get(str(i), {})
            memory.update(before if before.keys() == memory.keys() else {})  # of another callback: nothing
        run.done, run.finished = then["step"], bool(then["finished"])
        history.losses[:], history.epoch_losses[:] = then["losses"], then["epoch_losses"]
        history.steps, history.seconds = len(history.losses), then["seconds"]
        history.stopped, history.reason = run.finished, then["reason"] if run.finished else ""
        others = found.get("workers", [])  # the generators of all workers but the first
        if self.team and len(others) + 1 != self.team.group.size:
            self.team.part_ways()
        elif self.team and self.team.group.rank:
            self.team.go_on_with(others[self.team.group.rank - 1])
        is_over = run.finished or history.epochs >= history.wanted
        batch = f"batch {run.done} of " if run.done else ""
        text = f"resuming {self.path.name} after {batch}epoch {history.epochs + bool(run.done)}"
        if is_over:
            why = f"{history.epochs}{f' ({history.reason})' if run.finished else ''}"
            text = f"{self.path.name} is of a run that is finished, after epoch {why}: nothing is left to do"
        if self.is_writer:
            say(text)
        return not is_over

    def _checked(self, found: dict[str, Any]) -> dict[str, Any]:
        """What the file says of its run. Raises `ValueError` if `train` didn't write it, or for another run."""
        try:
            then = dict(found["run"])
            then |= {name: [float(x) for x in then[name]] for name in ("losses", "epoch_losses")}
            then["seconds"] = Seconds(then["seconds"], then["kind"], then["card"])
            theirs, rule, right = then["batches"], then["optimizer"], len(then["epoch_losses"]) == then["epoch"]
            right &= 0 <= then["step"] <= (theirs or then["step"]) and {"finished", "reason"} <= then.keys()
            right &= {"model", "opt_state"} <= found.keys() and {*map(type, found["callbacks"].values())} <= {dict}
        except (KeyError, TypeError, ValueError, AttributeError):
            right = False
        if not right:
            raise ValueError(f"{self.path} was not written by train: load(path, model=model) reads it")
        ours = length(self.run.data)
        for what, here, there in (
            ("data with a generator, data.rng", self.order is not None, _NOW in found),
            ("batches an epoch", ours or theirs, theirs or ours),
            ("rule", _rules(self.run), rule),
        ):
            if here != there:
                raise ValueError(f"{self.path} is of another run, {what}: there it's {there}, here {here}")
        return then


def _then(batches: Iterator, go_on: Callable[[], None]) -> Iterator:
    first = list(itertools.islice(batches, 1))  # none, if it was stopped after the epoch's last batch
    go_on()  # now the order is drawn again
    yield from first
    del first
    yield from batches


def length(data: Any) -> int:
    """The number of batches, 0 where nobody knows before they were counted."""
    try:
        return len(data)
    except TypeError:
        return 0


def progress(epochs: int, batches: int) -> str:
    """How far a run is, in words."""
    parts = [many(epochs, "epoch")] * bool(epochs) + [many(batches, "batch", "batches")] * bool(batches)
    return " and ".join(parts) or "no batch"


def _rules(run: Any) -> str:
    """The rules in words. Where a schedule sets the rates, only how large they are beside it."""
    beside = {} if run.schedule is None else {id(leaf): 1 if leaf.frozen else x for leaf, x in shares(run.opt_state)}
    rules = []
    for leaf in (node for _, node in nodes(run.opt_state) if isinstance(node, Leaf)):
        share = beside.get(id(leaf))
        eta = "eta=scheduled" if share == 1 else f"eta={share} * scheduled"
        rules.append(str(leaf.rule) if share is None else re.sub(r"\beta=[^,)]*", eta, str(leaf.rule)))
    return " and ".join(dict.fromkeys(rules))
