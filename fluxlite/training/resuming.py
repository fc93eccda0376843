"""A training in a file, so that it goes on as if it had never stopped: in mid-epoch too, and in another process.

The order of an epoch's batches is drawn again, from the state that the loader's generator had when the epoch began.
"""

import os
import re
from operator import length_hint
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import device_of
from ..devices.base import CPU
from ..devices.receipts import Seconds
from ..messages import say, warn
from ..optim.rules import rate_shares
from ..optim.update import Leaf
from ..saving import checkpoint
from ..saving.checkpoint import Loading, states_of
from ..saving.files import describe_parts
from ..tree.flat import Attribute, KeyPath
from ..tree.ties import is_array
from ..tree.walks import leaves, nodes
from ..writing import check_place
from .callbacks import Patience

_ORDER = "generator of data, at the epoch's start"
# What `save` writes of a run.
_FORM: dict[str, type] = {
    "epoch": int, "step": int, "batches": int, "optimizer": str, "losses": np.ndarray, "epoch_losses": np.ndarray,
    "finished": int, "reason": str, "seconds": float, "kind": str, "card": str,
}  # fmt: skip


class RunFile:
    """The file of a run. With several workers, worker 0 reads and writes it, and all go on from it."""

    def __init__(self, path: str | os.PathLike, run: Any) -> None:
        self.path = Path(os.path.abspath(path))  # from now on, no `chdir` moves it
        self.run = run
        self.is_writer = run.workers.worker == 0
        if self.is_writer:  # what can't be written is said now, and not after an epoch
            check_place(path)
        describe_parts(states_of({"model": run.model, "opt_state": run.opt_state}))
        rng = getattr(run.data, "rng", None)
        self.order: np.random.Generator | None = None
        if isinstance(rng, np.random.Generator):
            self.order = rng
        self.at_start = self.order  # the same, as it was when the epoch began: `Run` notes it
        self.batches = length_hint(run.data)  # of an epoch; 0 where nobody knows before they were counted

    def save(self) -> None:
        """Write all that the rest of the run depends on. If that fails, we say so, and the training goes on."""
        run, history = self.run, self.run.history
        values = dict(
            epoch=history.epochs, step=run.done, batches=self.batches, optimizer=_rules_in_words(run),
            losses=np.array(history.losses, np.float64), epoch_losses=np.array(history.epoch_losses, np.float64),
            finished=int(run.finished), reason=history.reason, seconds=float(history.seconds),
            kind=history.seconds.kind, card=history.seconds.card,
        )  # fmt: skip
        if self.is_writer:
            try:
                checkpoint.save(self.path, **self._parts(), callbacks=self._memories(), run=values)
            except Exception as error:  # a full disk, a folder that's gone, no memory
                trouble = getattr(error, "strerror", None) or str(error)
                text = f"{self.path.name} wasn't written: {trouble}. It's tried again after each epoch"
                warn(("checkpoint", self.path, trouble), text)  # once: a disk stays full for many epochs

    def _parts(self) -> dict[str, Any]:
        """What's in the file and may go into what's there: model, state, and generators, even those of devices."""
        parts = {"model": self.run.model, "opt_state": self.run.opt_state}
        if self.order is not None:
            parts[_ORDER] = self.at_start
        devices = {CPU}
        for x in leaves(self.run.model):
            if is_array(x):
                devices.add(device_of(x))
        for device in sorted(devices, key=str):
            parts[f"generator of {device}"] = device
        return parts

    def _memories(self) -> dict[str, Any]:
        remembering = [callback for callback in self.run.callbacks if isinstance(callback, Patience)]
        return {str(i): callback.memory for i, callback in enumerate(remembering)}

    def restore(self) -> bool:
        """Take over what is in the file, if there is one; False if nothing is left to do."""
        found = None
        if self.is_writer and self.path.exists():
            found = checkpoint.load(self.path)
        if self.run.workers.group is not None:
            found = self.run.workers.group.same(found)
        if found is None:
            return True
        then = self._check_found(found)
        self._take_over(found, then)
        run, history = self.run, self.run.history
        where = f"epoch {history.epochs}"
        if run.done:
            where = f"batch {run.done} of epoch {history.epochs + 1}"
        is_over = run.finished or history.epochs >= history.wanted
        if self.is_writer and is_over:
            why = ""
            if run.finished:
                why = f" ({history.reason})"
            say(f"{self.path.name} is from a run that is finished, after {where}{why}: nothing is left to do")
        elif self.is_writer:
            say(f"resuming {self.path.name} after {where}")
        return not is_over

    def _take_over(self, found: dict[str, Any], then: dict[str, Any]) -> None:
        """Put what was `found` in the file into the run, which was `then` so far."""
        loading = Loading(own=True)
        for name, target in self._parts().items():
            if name in found:  # yesterday's GPU may be gone, and its generator with it
                loading.add(KeyPath([Attribute(name)]), target, found[name])
        loading.finish()
        for i, memory in self._memories().items():
            before = found["callbacks"].get(i, {})
            if before.keys() == memory.keys():  # otherwise it's another callback's
                memory.update(before)
        run, history = self.run, self.run.history
        run.done = then["step"]
        run.finished = bool(then["finished"])
        history.losses[:] = then["losses"].tolist()
        history.epoch_losses[:] = then["epoch_losses"].tolist()
        history.steps = len(history.losses)
        history.seconds = Seconds(then["seconds"], then["kind"], then["card"])
        history.stopped = run.finished
        history.reason = ""
        if run.finished:
            history.reason = then["reason"]

    def _check_found(self, found: dict[str, Any]) -> dict[str, Any]:
        """What the file says of its run. Raises `ValueError` if it's of another one, or not `train`'s."""
        then: Any = found.get("run")
        trouble = _what_is_wrong(then, found)
        if trouble:
            raise ValueError(f"{self.path} wasn't written by train ({trouble}): load(path, model=model) reads it")
        self._check_same("data with a generator, data.rng", self.order is not None, _ORDER in found)
        if self.batches and then["batches"]:  # 0 where nobody knew
            self._check_same("batches an epoch", self.batches, then["batches"])
        self._check_same("rule", _rules_in_words(self.run), then["optimizer"])
        return then

    def _check_same(self, what: str, here: object, there: object) -> None:
        if here != there:
            raise ValueError(f"{self.path} is from another run, {what}: there it's {there}, here {here}")


def _what_is_wrong(then: Any, found: dict[str, Any]) -> str:
    """What a file lacks that `train` would have written, since `save` lets everyone write what they like."""
    if not isinstance(then, dict) or not {"model", "opt_state"} <= found.keys():
        return "it has no run, model and opt_state"
    for name, kind in _FORM.items():
        if type(then.get(name)) is not kind:
            return f"its run has no {name} of type {kind.__name__}"
    for name in ("losses", "epoch_losses"):
        if then[name].ndim != 1 or then[name].dtype != np.float64:
            return f"its {name} aren't a row of float64 numbers"
    most = then["batches"] or then["step"]
    if not 0 <= then["epoch"] == len(then["epoch_losses"]) or not 0 <= then["step"] <= most:
        return "its numbers of epochs and batches don't fit together"
    memories = found.get("callbacks")
    if not isinstance(memories, dict):
        return "it has no memories of callbacks"
    for memory in memories.values():
        if not isinstance(memory, dict) or type(memory.get("count")) is not int:
            return "a callback's memory has no count"
    return ""


def _rules_in_words(run: Any) -> str:
    """The rules. Where a schedule sets the rates, only how large they are compared with it."""
    share_of: dict[int, float] = {}  # by the id of a leaf
    if run.schedule is not None:
        for leaf, share in rate_shares(run.opt_state):
            if leaf.frozen:
                share = 1
            share_of[id(leaf)] = share
    rules = []
    for _, leaf in nodes(run.opt_state):
        if not isinstance(leaf, Leaf):
            continue
        rule = str(leaf.rule)
        if id(leaf) in share_of:
            share = share_of[id(leaf)]
            eta = "eta=scheduled"
            if share != 1:
                eta = f"eta={share} * scheduled"
            rule = re.sub(r"\beta=[^,)]*", eta, rule)
        rules.append(rule)
    return " and ".join(dict.fromkeys(rules))
