"""What `arguments.py` calls, and what it puts in the place of `good_arguments.py`."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from good_arguments import Several, chain, rows
from layer_table import LAYERS

import fluxlite as fl
from fluxlite.devices import CPU

FOLDER = "FLUXLITE_ARGUMENTS"  # the folder in which calls may write

# -- bad values, made anew for each call ----------------------------------------------------------------------------


class Thing:
    """An object of a learner's, that no function of ours knows."""


class Raises:
    """An object that raises whatever it's asked."""

    def __len__(self, *args: Any) -> int:
        raise ValueError("not today")

    __getitem__ = __call__ = __len__


def _cycle() -> list:
    cycle: list = [1.0]
    cycle.append(cycle)
    return cycle


def _deep() -> list:
    deep: list = [np.ones(2, np.float32)]
    for _ in range(5000):
        deep = [deep]
    return deep


LEFT_OUT = "left out"  # in place of a kind: an argument isn't given at all

BAD: dict[str, Callable[[], Any]] = {
    "None": lambda: None, "True": lambda: True, "...": lambda: ..., "type": lambda: int, "slice": lambda: slice(None),
    "0": lambda: 0, "-1": lambda: -1, "1.5": lambda: 1.5, "nan": lambda: float("nan"), "inf": lambda: float("inf"),
    "1e308": lambda: 1e308, "2**70": lambda: 2**70, "2**40": lambda: 2**40, "-2**70": lambda: -(2**70),
    "1j": lambda: 1j, "np.float32": lambda: np.float32(-3), "np.int64": lambda: np.int64(-3), "''": lambda: "",
    "text": lambda: "text", "long text": lambda: "ab\n" * 3000, "bytes": lambda: b"bytes", "()": lambda: (),
    "[]": lambda: [], "{}": lambda: {}, "set()": lambda: set(), "[1, 'a']": lambda: [1, "a"], "{1: 2}": lambda: {1: 2},
    "(None, None)": lambda: (None, None), "range": lambda: range(5), "generator": lambda: (i for i in range(3)),
    "object": Thing, "raises": Raises, "lambda": lambda: lambda: 0, "function of 1": lambda: lambda a: a,
    "module": lambda: fl.cuda, "cycle": _cycle, "deep": _deep, "error": lambda: ValueError("text"),
    "no elements": lambda: np.zeros((0, 3), np.float32), "shape ()": lambda: np.array(1.0),
    "shape (7, 5)": lambda: np.ones((7, 5), np.float32), "shape (2, 3, 4)": lambda: np.ones((2, 3, 4), np.float32),
    "array of nan": lambda: np.full((2, 3), np.nan, np.float32), "array of ints": lambda: np.array([[9, -9, 9]] * 2),
    "array of bool": lambda: np.array([True, False]), "array of text": lambda: np.array(["a", "b"]),
    "array of objects": lambda: np.array([None, Thing()], object), "complex array": lambda: np.ones((2, 3), complex),
    "array of 2**40": lambda: np.broadcast_to(np.float32(1), (2**20, 2**20)), "model": lambda: fl.Dense(3, 2),
    "device": lambda: CPU, "rule": lambda: fl.Adam(), "rng": np.random.default_rng,
    "opt_state": lambda: fl.setup(fl.Adam(), fl.Dense(3, 2)), "dtype": lambda: np.dtype("float16"),
}  # fmt: skip


# -- what is called -------------------------------------------------------------------------------------------------


class Target(NamedTuple):
    """A function, and what isn't bad for it: a kind, or a parameter with a kind."""

    name: str
    function: Any
    fine: tuple[Any, ...] = ()

    @property
    def needed(self) -> list[str]:
        """What can't be left out. A function of the fuzzer's own, such as a method, is always called in full."""
        own = getattr(self.function, "__module__", None) == __name__
        parameters = [] if own else inspect.signature(self.function).parameters.values()
        return [p.name for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD]

    @property
    def several(self) -> list[str]:
        """The one that takes any number, ``*layers``."""
        parameters = inspect.signature(self.function).parameters.values()
        return [p.name for p in parameters if p.kind is p.VAR_POSITIONAL]

    def call(self, arguments: dict[str, Any]) -> None:
        """Call it, and use what it gives: an iterator begins, a rule makes a step, a schedule gives a number."""
        positional, keywords, left_out = [], {}, False
        for p in inspect.signature(self.function).parameters.values():
            if p.name not in arguments:
                left_out = True
            elif p.kind is p.VAR_KEYWORD:
                keywords["eta" if self.name == "adjust" else "extra"] = arguments[p.name]
            elif p.kind is p.VAR_POSITIONAL and isinstance(arguments[p.name], Several):
                positional.extend(arguments[p.name])
            elif p.kind is p.KEYWORD_ONLY or left_out and p.kind is p.POSITIONAL_OR_KEYWORD:
                keywords[p.name] = arguments[p.name]
            else:
                positional.append(arguments[p.name])
        if self.name == "load":
            fl.save("file", model=chain(), extra=chain())
        with fl.simulate_gpu() if self.name in ON_A_GPU else contextlib.nullcontext():
            use(self.function(*positional, **keywords))


def use(result: Any) -> None:
    """What it was made for: much of what's wrong shows only then."""
    if isinstance(result, fl.optimizers.Rule):
        model = {"w": np.ones((2, 3), np.float32)}
        fl.update(fl.setup(result, model), model, {"w": np.ones((2, 3), np.float32)})
    elif isinstance(result, (Iterator, fl.DataLoader, fl.CuIterator)):
        list(itertools.islice(result, 3))
    elif isinstance(result, fl.Dense) and result.weight.shape == (2, 3):
        result(rows())
    elif isinstance(result, contextlib.AbstractContextManager) and type(result).__module__.startswith("fluxlite"):
        with result:
            pass
    elif type(result).__name__ in ("Schedule", "Patience"):
        result(3)
    # What these two hold prints itself.
    if type(result).__module__.startswith("fluxlite") and not isinstance(result, (fl.KeyPath, fl.Gradient)):
        repr(result)


ON_A_GPU = {"CuIterator", "cu", "cuda.device", "cuda.set_device", "cuda.using", "cuda.sync", "cuda.time"}
HUGE = "array of 2**40"  # NumPy looks at each of its numbers before it needs memory
FINE: dict[str, tuple[Any, ...]] = {
    "train": tuple(("epochs", kind) for kind in ("2**40", "2**70", "inf", "1e308")),  # an honest, long task
    # The function that's differentiated, np.sum, is the caller's. On a GPU, it's out of memory as it should be.
    **dict.fromkeys(("gradient", "withgradient", "jacobian", "hessian", "estimate", "KeyPath"), (HUGE,)),
    **dict.fromkeys(("gpu simulated", "cu", "softmax", "logsoftmax", "normalise", "batch", "unbatch"), (HUGE,)),
    **dict.fromkeys(("metal.device", "amdgpu.device", "cuda.device"), (("x", "None"),)),
}  # fmt: skip


def _names() -> Iterator[tuple[str, Any]]:
    """All public functions and classes, and the methods of classes that learners call."""
    yield from ((name, getattr(fl, name)) for name in fl.__all__)
    for module in ("cuda", "amdgpu", "metal"):
        room = getattr(fl, module)
        own = [name for name in dir(room) if name[0] != "_" and inspect.isfunction(getattr(room, name))]
        here = [name for name in own if getattr(room, name).__module__.startswith(f"fluxlite.{module}")]
        yield from ((f"{module}.{name}", getattr(room, name)) for name in here)
    yield from _methods()


ATTENTION = fl.MultiHeadAttention(2, nheads=1)
_OTHERWISE = ("Chain", "Dense", "DepthwiseConv", "Embedding", "MultiHeadAttention", "RNN", "LSTM", "flatten")


def _methods() -> Iterator[tuple[str, Any]]:
    data = (np.ones((6, 3), np.float32), np.ones((6, 1), np.float32))
    yield "DataLoader.batches", lambda skip: fl.DataLoader(data, batchsize=2).batches(skip)
    yield "Chain.__call__", lambda x: chain()(x)
    yield "Chain.__getitem__", lambda index: chain()[index]
    yield "Dense.__call__", lambda x: fl.Dense(3, 2)(x)
    yield "Dense.of", fl.Dense.of
    yield "Device.__call__", lambda x, dtype: CPU(x, dtype)
    yield "Device.receive", lambda x: CPU.receive(x)
    yield "Device.seed", lambda seed: CPU.seed(seed)
    yield "KeyPath.get", lambda tree: fl.KeyPath(("layers", 0)).get(tree)
    yield "KeyPath.has", lambda tree: fl.KeyPath(("layers", 0)).has(tree)
    yield "KeyPath.set", lambda tree, value: fl.KeyPath(("a", 0)).set(tree, value)
    yield "Gradient.__getitem__", lambda index: fl.Gradient(layers=(None, None))[index]
    yield "gpu simulated", _simulated
    yield "Embedding.__call__", lambda index: fl.Embedding(5, 2)(index)
    yield "MultiHeadAttention.__call__", lambda q, k, v, bias, mask: ATTENTION(q, k, v, bias, mask=mask)
    yield "RNN.__call__", lambda x, state: fl.RNN(2, 3)(x, state)
    yield "LSTM.__call__", lambda x, state: fl.LSTM(2, 3)(x, state)
    other = [(name, make) for name, (make, _) in LAYERS.items() if name not in _OTHERWISE]
    yield from ((f"{name}.__call__", _called(make)) for name, make in other)
    for name in ("Conv", "CrossCor", "ConvTranspose", "Scale", "Embedding", "RNNCell", "LSTMCell"):
        yield f"{name}.of", getattr(fl, name).of
    for rule in ("Momentum", "Adam", "ClipNorm", "AccumGrad"):
        made = getattr(fl, rule)(2) if rule == "AccumGrad" else getattr(fl, rule)()
        yield f"{rule} update", _updated(made)


def _called(make: Callable) -> Callable:
    return lambda x: fl.trainmode(make())(x)


def _updated(rule: Any) -> Callable:
    return lambda grads: fl.update(fl.setup(rule, {"w": rows()}), {"w": rows()}, grads)


def _simulated(x: Any, dtype: Any) -> Any:
    with fl.simulate_gpu(memory=2**24):
        return fl.gpu(x, dtype)


def reset() -> None:
    """As if nothing had been called."""
    fl.simulate_gpu(False)
    fl.allowscalar(True)
    fl.seed(None)
    fl.reset_notices()
    if os.environ.get(FOLDER) == str(Path.cwd()):  # nobody else's files
        for path in Path.cwd().iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()


# But for TrackedArray: gradient makes those, and their methods are NumPy's.
TARGETS = [
    Target(name, x, FINE.get(name, ()))
    for name, x in _names()
    if name != "TrackedArray" and callable(x) and inspect.signature(x).parameters
]
