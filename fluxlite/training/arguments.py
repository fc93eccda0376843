"""What `train` was given, looked at before it begins: swapped, forgotten, empty, or not what it seems."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ..arguments import check_bool, check_whole
from ..optimizers import Leaf, Rule
from ..tree.ties import is_array
from ..tree.walks import nodes, trainables

_USAGE = "train(loss, model, data, opt_state, epochs), with opt_state = setup(rule, model)"
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, functools.partial)


def check_arguments(
    loss: Any, model: Any, data: Any, opt_state: Any, epochs: Any, callbacks: Any, each_step: Any, check_every: Any
) -> tuple[Callable, ...]:
    """Raises `TypeError` or `ValueError` for what cannot be trained with; gives the callbacks as a tuple."""
    given = dict(loss=loss, model=model, data=data, opt_state=opt_state)
    kinds = {name: _kind(x) for name, x in given.items() if name != "data"}
    # If all else is where it belongs, a long list of batches is not looked through.
    right = kinds["loss"] == "loss" and kinds["model"] in ("model", "data") and kinds["opt_state"] == "opt_state"
    usual = right and isinstance(data, Iterable) and not callable(data) and not isinstance(data, Mapping)
    kinds = {**dict.fromkeys(given, "data"), **kinds, "data": "data" if usual else _kind(data)}
    if isinstance(opt_state, Rule):
        raise TypeError(
            f"got the rule {opt_state} in place of its state: opt_state = setup({type(opt_state).__name__}(…), model), "
            "once, before train"
        )
    if hasattr(type(model), "withgradient"):
        raise TypeError(f"train takes the model itself, not params(model). Write {_USAGE}")
    _check_order(given, kinds)
    _check_state(model, opt_state)
    for name, number in (("epochs", epochs), ("check_every", check_every)):
        check_whole(name, number, 1)
    _check_data(data, epochs)
    if callable(callbacks) or not isinstance(callbacks, Iterable):
        raise TypeError(f"callbacks is a list of functions, got {callbacks!r}; for one write callbacks=[f]")
    callbacks = tuple(callbacks)
    for f in callbacks:
        _check_callback("callbacks=…: a callback", f)
    if each_step is not None:
        _check_callback("each_step", each_step)
    return callbacks


def _check_callback(name: str, f: Any) -> None:
    if not callable(f):
        hint = "; for a threading.Event: lambda history: event.is_set()" if hasattr(f, "is_set") else ""
        raise TypeError(f"{name} is a function of the history, got {type(f).__name__}{hint}")
    wrong = _misfit(f, "history")
    if wrong:
        raise TypeError(f"{name} is called with the history, lambda history: …; {wrong}")


def check_switches(progress: Any, checkpoint: Any, resume: Any, overwrite: Any) -> None:
    """Raises `TypeError` for switches that are none, or that don't go together."""
    check_bool("train(progress=…)", progress is not None and progress)
    check_bool("train(resume=…)", resume)
    check_bool("train(overwrite=…)", overwrite)
    if checkpoint is None and (resume or overwrite):
        what = "resume=True needs the file to go on from" if resume else "overwrite=True needs the file to replace"
        raise TypeError(f'{what}: checkpoint="run.safetensors"')
    if resume and overwrite:
        raise TypeError("resume=True goes on with the file, overwrite=True begins anew: take one of them")


def check_schedule(schedule: Any, opt_state: Any) -> None:
    """Raises `TypeError` for what gives no learning rate for the number of a step, or has no rate to set."""
    if schedule is None:
        return
    if not callable(schedule):
        raise TypeError(f"schedule is a function of the step's number, such as cosine(0.01, 1000), got {schedule!r}")
    wrong = _misfit(schedule, 0)
    if wrong:
        raise TypeError(f"schedule is called with the step's number, lambda step: …; {wrong}")
    rules = {repr(leaf.rule) for _, leaf in nodes(opt_state) if isinstance(leaf, Leaf)}
    if not any("eta=" in rule for rule in rules):
        raise TypeError(f"schedule sets a learning rate, and {', '.join(sorted(rules))} has none")


def _misfit(f: Callable, *arguments: Any) -> str:
    """Why `f` cannot be called with so many arguments; of a function that is not Python's nothing is known."""
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):
        return ""
    try:
        signature.bind(*arguments)
    except TypeError as error:
        return f"yours is {getattr(f, '__name__', 'an object with __call__')}{signature}: {error}"
    return ""


def _kind(x: Any) -> str:
    """Which argument this looks like."""
    if isinstance(x, Rule):
        return "rule"
    if isinstance(x, _FUNCTIONS):
        return "loss"
    if any(isinstance(node, Leaf) for _, node in nodes(x)):
        return "opt_state"
    is_object = callable(x) or isinstance(x, Mapping) or not isinstance(x, Iterable)
    return "model" if is_object and next(trainables(x), None) is not None else "data"


def _check_order(given: dict[str, Any], kinds: dict[str, str]) -> None:
    found = ", ".join(kinds.values())
    what = {name: f"a {type(x).__name__}" for name, x in given.items()}
    order = (
        f"; this was train({found}, …)"
        if set(kinds.values()) == set(kinds) and list(kinds.values()) != list(kinds)
        else ""
    )
    for name, kind in kinds.items():
        x = given[name]
        some_data = isinstance(x, Iterable) or kind == "data" and hasattr(type(x), "__getitem__")
        wrong = {
            # A model may be a function, or a list; a loss may be an object with parameters of its own.
            "loss": not callable(x) or kind == "opt_state" or bool(order) and kind != name,
            "model": kind in ("opt_state", "rule") or bool(order) and kind != name,
            "data": kind in ("opt_state", "rule", "loss") or not some_data,
            "opt_state": kind in ("rule", "loss", "model"),
        }[name]
        if wrong:
            raise TypeError(f"got {what[name]} in place of {_NAMES[name]}{order}. Write {_USAGE}")


_NAMES = {"loss": "the loss function", "model": "the model", "data": "the data", "opt_state": "the optimizer's state"}


def _check_state(model: Any, opt_state: Any) -> None:
    found = list(trainables(model))
    if not found:
        raise ValueError(
            f"there is nothing to train in this {type(model).__name__}: no floating-point array that a walk can reach; "
            "explain(model) shows what is in it"
        )
    for path, _ in found:
        if not path.has(opt_state) or not isinstance(path.get(opt_state), Leaf):
            raise ValueError(
                f"opt_state has nothing for {path or 'the model'}, it is not that of this model: "
                "opt_state = setup(rule, model)"
            )


def _check_data(data: Any, epochs: int) -> None:
    if isinstance(data, (str, bytes, Mapping)) or is_array(data) or not isinstance(data, Iterable):
        raise TypeError(
            f"data is a list of batches or a DataLoader, got a {type(data).__name__}: for one batch write [data], for "
            "several DataLoader(data, batchsize=32)"
        )
    if type(data) is tuple and len(data) > 1 and all(is_array(x) for x in data):
        raise TypeError(
            f"data is a list of batches, got a tuple of {len(data)} arrays: for one batch write [(x, y)], for several "
            "DataLoader((x, y), batchsize=32); batches that are single arrays go into a list"
        )
    if length(data) == 0:
        raise ValueError("data has no batches")
    if isinstance(data, Iterator) and epochs > 1:
        raise TypeError(
            f"data, a {type(data).__name__}, can be gone through once, and this is for {epochs} epochs: give a list, "
            "list(data), or a DataLoader"
        )


def length(data: Any) -> int | None:
    """The number of batches, None where nobody knows before they were counted."""
    try:
        return len(data)
    except TypeError:
        return None


def check_call(loss: Callable, model: Any, arguments: tuple, batch: Any) -> None:
    """Raises `TypeError` if `loss` does not take a batch like this."""
    wrong = _misfit(loss, model, *arguments)
    if not wrong:
        return
    what = f"{len(arguments)} parts" if arguments is batch else f"one thing, a {type(batch).__name__}"
    hint = ""
    if isinstance(batch, list):
        hint = "; a tuple is handed over in its parts"
    elif isinstance(batch, (dict, tuple)) and arguments is not batch and len(batch):
        part = f"[{next(iter(batch))!r}]" if isinstance(batch, dict) else f".{type(batch)._fields[0]}"  # type: ignore
        hint = f"; take its parts in the loss, as in lambda model, batch: … batch{part}"
    raise TypeError(f"the loss is called as loss(model, *batch), and this batch has {what}{hint}; {wrong}")
