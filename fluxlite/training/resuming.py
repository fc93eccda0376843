"""A training in a file, so that it goes on as if it had never stopped: in mid-epoch too, and in another process.

The order of an epoch's batches is drawn again, from the state that the loader's generator had when the epoch began.
"""

import os
import re
from operator import length_hint
from pathlib import Path
from typing import Any

import numpy as np

from .. import checkpoint
from ..arrays import device_of
from ..checkpoint import Loading, states_of
from ..devices.base import CPU
from ..files import described_parts
from ..messages import say, warn
from ..optimizers import shares
from ..receipts import Seconds
from ..tree.flat import Attribute, KeyPath
from ..tree.ties import is_array
from ..tree.walks import leaves, nodes
from ..updating import Leaf
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

    def __init__(self, path: Any, run: Any) -> None:
        self.path = Path(os.path.abspath(path))  # from now on, no `chdir` moves it
        self.run, self.is_writer = run, run.workers.worker == 0
        if self.is_writer:  # what can't be written is said now, and not after an epoch
            check_place(path)
        described_parts(states_of({"model": run.model, "opt_state": run.opt_state}))
        rng = getattr(run.data, "rng", None)
        self.order = rng if isinstance(rng, np.random.Generator) else None
        self.at_start = self.order  # the same, as it was when the epoch began: `Run` notes it
        self.batches = length_hint(run.data)  # of an epoch; 0 where nobody knows before they were counted

    def save(self) -> None:
        """Write all that the rest of the run depends on. If that fails, we say so, and the training goes on."""
        run, history = self.run, self.run.history
        values = dict(
            epoch=history.epochs, step=run.done, batches=self.batches, optimizer=_rules(run),
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
        devices = sorted({CPU, *(device_of(x) for x in leaves(self.run.model) if is_array(x))}, key=str)
        order = {} if self.order is None else {_ORDER: self.at_start}
        named = {f"generator of {device}": device for device in devices}
        return {"model": self.run.model, "opt_state": self.run.opt_state, **order, **named}

    def _memories(self) -> dict[str, Any]:
        remembering = [callback for callback in self.run.callbacks if isinstance(callback, Patience)]
        return {str(i): callback.memory for i, callback in enumerate(remembering)}

    def restore(self) -> bool:
        """Take over what is in the file, if there is one; False if nothing is left to do."""
        found = checkpoint.load(self.path) if self.is_writer and self.path.exists() else None
        found = found if self.run.workers.group is None else self.run.workers.group.same(found)
        if found is None:
            return True
        run, history, then = self.run, self.run.history, self._checked(found)
        loading = Loading(own=True)
        for name, target in self._parts().items():
            if name in found:  # yesterday's GPU may be gone, and its generator with it
                loading.add(KeyPath([Attribute(name)]), target, found[name])
        loading.finish()
        for i, memory in self._memories().items():
            before = found["callbacks"].get(i, {})
            memory.update(before if before.keys() == memory.keys() else {})  # of another callback: nothing
        run.done, run.finished = then["step"], bool(then["finished"])
        history.losses[:], history.epoch_losses[:] = then["losses"].tolist(), then["epoch_losses"].tolist()
        history.steps, history.seconds = len(history.losses), Seconds(then["seconds"], then["kind"], then["card"])
        history.stopped, history.reason = run.finished, then["reason"] if run.finished else ""
        is_over = run.finished or history.epochs >= history.wanted
        after = f"after {f'batch {run.done} of ' if run.done else ''}epoch {history.epochs + bool(run.done)}"
        why = f" ({history.reason})" if run.finished else ""
        over = f"{self.path.name} is from a run that is finished, {after}{why}: nothing is left to do"
        if self.is_writer:
            say(over if is_over else f"resuming {self.path.name} {after}")
        return not is_over

    def _checked(self, found: dict[str, Any]) -> dict[str, Any]:
        """What the file says of its run. Raises `ValueError` if it's of another one, or not `train`'s."""
        then: Any = found.get("run")
        trouble = _what_is_wrong(then, found)
        if trouble:
            raise ValueError(f"{self.path} wasn't written by train ({trouble}): load(path, model=model) reads it")
        ours, theirs = self.batches, then["batches"]
        for what, here, there in (
            ("data with a generator, data.rng", self.order is not None, _ORDER in found),
            ("batches an epoch", ours or theirs, theirs or ours),
            ("rule", _rules(self.run), then["optimizer"]),
        ):
            if here != there:
                raise ValueError(f"{self.path} is from another run, {what}: there it's {there}, here {here}")
        return then


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


def _rules(run: Any) -> str:
    """The rules in words. Where a schedule sets the rates, only how large they are compared with it."""
    beside = {} if run.schedule is None else {id(leaf): 1 if leaf.frozen else x for leaf, x in shares(run.opt_state)}
    rules = []
    for leaf in (node for _, node in nodes(run.opt_state) if isinstance(node, Leaf)):
        share = beside.get(id(leaf))
        eta = "eta=scheduled" if share == 1 else f"eta={share} * scheduled"
        rules.append(str(leaf.rule) if share is None else re.sub(r"\beta=[^,)]*", eta, str(leaf.rule)))
    return " and ".join(dict.fromkeys(rules))
