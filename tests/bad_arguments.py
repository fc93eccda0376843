"""What `arguments.py` calls, with which arguments that work, and what it puts in their place."""

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

import fluxlite as fl
from fluxlite.devices import CPU, simulation

FOLDER = "FLUXLITE_ARGUMENTS"  # the folder in which calls may write

# -- bad values, made anew for each call ----------------------------------------------------------------------------


class Thing:
    """An object of a learner's, that no function of ours knows."""


class Raises:
    """An object that raises whatever it's asked."""

    def __len__(self) -> int:
        raise ValueError("this object has no length today")

    def __getitem__(self, index: Any) -> Any:
        raise ValueError("this object has no elements today")

    def __call__(self, *args: Any) -> Any:
        raise ValueError("this object can't be called today")


def _cycle() -> list:
    cycle: list = [1.0]
    cycle.append(cycle)
    return cycle


def _cycle_of_dicts() -> dict:
    cycle: dict = {"weight": np.ones(2, np.float32)}
    cycle["inside"] = cycle
    return cycle


def _deep() -> list:
    deep: list = [np.ones(2, np.float32)]
    for _ in range(5000):
        deep = [deep]
    return deep


def _ring() -> Thing:
    ring = Thing()
    ring.inside = [ring, np.ones(2)]  # type: ignore[attr-defined]
    return ring


BAD: dict[str, Callable[[], Any]] = {
    "None": lambda: None, "True": lambda: True, "...": lambda: ..., "type": lambda: int, "slice": lambda: slice(None),
    "0": lambda: 0, "-1": lambda: -1, "-7": lambda: -7, "1.5": lambda: 1.5, "nan": lambda: float("nan"),
    "inf": lambda: float("inf"), "-inf": lambda: float("-inf"), "1e308": lambda: 1e308, "2**70": lambda: 2**70,
    "2**40": lambda: 2**40, "-2**70": lambda: -(2**70), "1j": lambda: 1j, "np.float32": lambda: np.float32(-3),
    "np.int64": lambda: np.int64(-3), "''": lambda: "", "text": lambda: "text", "long text": lambda: "ab\n" * 3000,
    "bytes": lambda: b"bytes", "()": lambda: (), "[]": lambda: [], "{}": lambda: {}, "set()": lambda: set(),
    "{1, 2}": lambda: {1, 2}, "[1, 'a']": lambda: [1, "a"], "(None, None)": lambda: (None, None),
    "{1: 2}": lambda: {1: 2}, "range": lambda: range(5), "generator": lambda: (i for i in range(3)), "object": Thing,
    "object()": object, "raises": Raises, "lambda": lambda: lambda: 0, "print": lambda: print,
    "function of 1": lambda: lambda a: a, "module": lambda: fl.cuda, "ring": _ring, "cycle": _cycle,
    "cycle of dicts": _cycle_of_dicts, "deep": _deep, "error": lambda: ValueError("text"), "iter": lambda: iter([]),
    "no elements": lambda: np.zeros((0, 3), np.float32), "shape ()": lambda: np.array(1.0),
    "shape (7, 5)": lambda: np.ones((7, 5), np.float32), "shape (2, 3, 4)": lambda: np.ones((2, 3, 4), np.float32),
    "array of nan": lambda: np.full((2, 3), np.nan, np.float32), "array of ints": lambda: np.array([[9, -9, 9]] * 2),
    "array of bool": lambda: np.array([True, False]), "array of text": lambda: np.array(["a", "b"]),
    "array of objects": lambda: np.array([None, Thing()], object), "complex array": lambda: np.ones((2, 3), complex),
    "array of dates": lambda: np.array(["2020-01-01"], "M8[D]"), "records": lambda: np.zeros(2, "i4,f4"),
    "array of 2**40": lambda: np.broadcast_to(np.float32(1), (2**20, 2**20)), "matrix": lambda: np.ma.ones((2, 3)),
    "model": lambda: fl.Dense(3, 2), "device": lambda: CPU, "rule": lambda: fl.Adam(), "rng": np.random.default_rng,
    "opt_state": lambda: fl.setup(fl.Adam(), fl.Dense(3, 2)), "dtype": lambda: np.dtype("float16"),
}  # fmt: skip


# -- arguments that work, by the name of the parameter --------------------------------------------------------------


LEFT_OUT = "left out"  # in place of a kind: an argument isn't given at all


def _x() -> Any:
    return np.ones((2, 3), np.float32)


def _model() -> Any:
    return fl.Chain(fl.Dense(3, 4, np.tanh), fl.Dense(4, 1))


class Several(tuple):
    """Several values for ``*layers`` and the like; one may stand alone."""


def _pictures() -> Any:
    return np.ones((2, 8, 8, 3), np.float32)


def _sequence() -> Any:
    return np.ones((5, 3), np.float32)


def _weight() -> Any:
    return np.ones((3, 3, 2, 4), np.float32)


def _recorded() -> dict:
    copies = [{"what": "copy", "bytes": n, "pinned": False, "repeats": [1e-5 + n / 5e9]} for n in (10**3, 10**6)]
    return {"card": "mine", "measurements": copies}


def _loss(model: Any, x: Any, y: Any) -> Any:
    return fl.mse(model(x), y)


@fl.primitive
def cube(x: Any) -> Any:
    """A function of the learner's."""
    return x**3


GOOD: dict[str, Callable[[], Any]] = {
    "x": _x, "like": _x, "values": lambda: np.ones(2, np.float32), "prediction": lambda: np.full((2, 3), 1 / 3),
    "target": lambda: np.full((2, 3), 1 / 3), "model": _model, "models": lambda: fl.Dense(3, 2),
    "agg": lambda: np.mean, "data": lambda: (np.ones((6, 3), np.float32), np.ones((6, 1), np.float32)),
    "dtype": lambda: np.float32, "index": lambda: 1, "device": lambda: CPU, "axis": lambda: -1, "eps": lambda: 1e-6,
    "delta": lambda: 1.0, "margin": lambda: 1.0, "gamma": lambda: 2.0, "smooth": lambda: 1.0, "alpha": lambda: 0.5,
    "slope": lambda: 0.01, "lower": lambda: 0.1, "upper": lambda: 0.3, "threshold": lambda: 0.5,
    "rng": np.random.default_rng, "function": lambda: lambda x: x, "f": lambda: lambda *x: np.sum(x[0]),
    "fn": lambda: lambda x: x + 1, "rule": lambda: fl.Descent(), "args": _x, "others": _x,
    "exclude": lambda: fl.is_leaf, "prune": lambda: None, "cache": lambda: True, "loss": lambda: _loss,
    "opt_state": lambda: None, "epochs": lambda: 1, "callbacks": list, "observations": lambda: [1, 2],
    "label": lambda: "a", "labels": lambda: ["a", "b"], "y": lambda: np.eye(2, dtype=np.float32), "eta": lambda: 0.1,
    "rho": lambda: 0.9, "epsilon": lambda: 1e-8, "decay": lambda: 0.1, "omega": lambda: 1.0, "p": lambda: 2,
    "n": lambda: 2, "rules": lambda: fl.Adam(), "every": lambda: 2, "factor": lambda: 0.5, "steps": lambda: 5,
    "lowest": lambda: 0.0, "after": lambda: fl.cosine(0.1, 10), "up": lambda: 0.3, "start": lambda: 0.04,
    "end": lambda: 1e-5, "inputs": lambda: 3, "outputs": lambda: 2, "activation": lambda: np.tanh,
    "bias": lambda: True, "init": lambda: fl.glorot_uniform, "layers": lambda: fl.Dense(3, 2), "shape": lambda: 3,
    "gain": lambda: 1.0, "number": lambda: 3, "seconds": lambda: 1.0, "clock": lambda: fl.clock,
    "predicate": lambda: bool, "wait": lambda: 2, "delay": lambda: 2, "width": lambda: 2,
    "distance": lambda: lambda a, b: a - b, "min_dist": lambda: 0.0, "init_score": lambda: 1.0,
    "path": lambda: "file", "cast": lambda: False, "source": lambda: fl.state(_model()),
    "filter": lambda: lambda x: True, "batchsize": lambda: 2, "shuffle": lambda: True, "partial": lambda: True,
    "k": lambda: 2, "collate": lambda: True, "parallel": lambda: False, "loader": lambda: [np.ones(3, np.float32)],
    "at": lambda: 0.5, "backend": lambda: "CPU", "idx": lambda: 0, "verbose": lambda: False, "part": lambda: None,
    "mode": lambda: "cpu", "allow": lambda: True, "count": lambda: 1, "memory": lambda: 2**20,
    "deterministic": lambda: True, "visible": lambda: False, "recorded": _recorded, "name": lambda: "mine",
    "shapes_only": lambda: False, "first_use": lambda: False, "value": lambda: 1.0, "kind": lambda: "measured",
    "card": lambda: "", "skip": lambda: 0, "words": lambda: "words", "traceback": lambda: False, "id": lambda: "02.1",
    "answers": lambda: (lambda a: a), "option": lambda: "a", "repeats": lambda: 2, "tree": _model, "seed": lambda: 1,
    "weight": lambda: np.ones((2, 3), np.float32), "state": lambda: None, "grads": lambda: None,
    "pullbacks": lambda: (lambda g, out, x: g), "beta": lambda: (0.9, 0.99), "ell": lambda: (0.5, 1.2),
    "couple": lambda: True, "centred": lambda: False, "progress": lambda: False, "check_every": lambda: 1,
    "each_step": lambda: None, "checkpoint": lambda: None, "resume": lambda: False, "overwrite": lambda: False,
    "CUDA": lambda: 1, "AMDGPU": lambda: "not installed", "Metal": lambda: "not installed",
    "preference": lambda: None, "environment": lambda: None, "iterable": lambda: ("layers", 0),
    "default": lambda: "a", "children": lambda: None, "trainable": lambda: None, "made_for": lambda: None,
    "live": lambda: False, "targets": _model, "fields": lambda: 0.1, "add_into": lambda: None, "batch": lambda: 4,
    "copies": lambda: False, "kernel": lambda: (3, 3), "stride": lambda: 1, "pad": lambda: 0, "dilation": lambda: 1,
    "groups": lambda: 1, "outpad": lambda: 0, "out": lambda: (2, 2), "scale": lambda: 2, "sizes": lambda: (2, 3),
    "padbatch": lambda: False, "vocabulary": lambda: 5, "features": lambda: 2, "connection": lambda: np.add,
    "dims": lambda: None, "affine": lambda: True, "track_stats": lambda: True, "momentum": lambda: 0.1,
    "channels": lambda: 4, "nheads": lambda: 2, "dropout_prob": lambda: 0.1, "cell": lambda: fl.GRUCell(2, 3),
    "return_state": lambda: True, "layer": lambda: fl.GRU(2, 3), "sparsity": lambda: 0.5, "mean": lambda: 0.0,
    "std": lambda: 1.0, "Wi": lambda: np.ones((12, 2), np.float32), "Wh": lambda: np.ones((12, 3), np.float32), "lo": lambda: -2.0, "hi": lambda: 2.0, "tied": lambda: True, "restore": lambda: True,
}  # fmt: skip

# Layers, and what they're called with: by default pictures of 3 features.
LAYERS: dict[str, Callable] = {
    "Conv": lambda x: fl.Conv((3, 3), 3, 2)(x), "ConvTranspose": lambda x: fl.ConvTranspose((3, 3), 3, 2)(x),
    "MaxPool": lambda x: fl.MaxPool((2, 2))(x), "MeanPool": lambda x: fl.MeanPool((2, 2))(x),
    "AdaptiveMaxPool": lambda x: fl.AdaptiveMaxPool((2, 2))(x), "GlobalMaxPool": lambda x: fl.GlobalMaxPool()(x),
    "GlobalMeanPool": lambda x: fl.GlobalMeanPool()(x), "Upsample": lambda x: fl.Upsample(scale=2)(x),
    "BatchNorm": lambda x: fl.trainmode(fl.BatchNorm(3))(x), "InstanceNorm": lambda x: fl.InstanceNorm(3)(x),
    "GroupNorm": lambda x: fl.GroupNorm(3, 1)(x), "LayerNorm": lambda x: fl.LayerNorm(3)(x),
    "Dropout": lambda x: fl.trainmode(fl.Dropout(0.5))(x), "Scale": lambda x: fl.Scale(3)(x),
    "SkipConnection": lambda x: fl.SkipConnection(fl.Dense(3, 3), np.add)(x),
    "Parallel": lambda x: fl.Parallel(np.add, fl.Dense(3, 2), fl.Dense(3, 2))(x),
    "PairwiseFusion": lambda x: fl.PairwiseFusion(np.add, fl.Dense(3, 3), fl.Dense(3, 3))(x),
    "Maxout": lambda x: fl.Maxout(fl.Dense(3, 2), fl.Dense(3, 2))(x),
    "MultiHeadAttention": lambda q, k, v, bias, mask: fl.MultiHeadAttention(8, nheads=2)(q, k, v, bias, mask=mask),
    "Embedding": lambda index: fl.Embedding(5, 2)(index), "RNN": lambda x, state: fl.RNN(3, 2)(x, state),
    "LSTM": lambda x, state: fl.LSTM(3, 2)(x, state), "GRU": lambda x: fl.GRU(3, 2)(x),
    "RNNCell": lambda x, state: fl.RNNCell(3, 2)(x, state), "LSTMCell": lambda x, state: fl.LSTMCell(3, 2)(x, state),
}

# Of some functions a parameter means something else.
OTHERWISE: dict[str, dict[str, Callable[[], Any]]] = {
    "label_smoothing": {"axis": lambda: -1}, "getitem": {"index": lambda: 1},
    "Rprop": {"gamma": lambda: (1e-6, 50.0)}, "tversky_loss": {"beta": lambda: 0.7},
    "calibrate": {"like": lambda: "NVIDIA T4"}, "simulate_gpu": {"like": lambda: "A100"},
    "estimate": {"like": lambda: "A100"}, "rule": {"function": lambda: cube},
    "primitive": {"function": lambda: lambda x: x}, "hinge_loss": {"target": _x},
    "squared_hinge_loss": {"target": _x}, "early_stopping": {"f": lambda: lambda h: 1.0},
    "plateau": {"f": lambda: lambda h: 1.0}, "back": {"loss": lambda: np.sum(fl.param(np.ones(2)) * 2)},
    "param": {"x": lambda: np.ones(2)}, "functor": {"x": lambda: type("Own", (), {})},
    "trainable": {"x": lambda: fl.Dense(3, 2)}, "device_of": {"x": _x}, "throttle": {"clock": lambda: lambda: 0.0},
    "train": {"data": lambda: [(_x(), np.ones((2, 1), np.float32))]}, "set_device": {"index": lambda: 0},
    "using": {"index": lambda: 0}, "sync": {"function": lambda: lambda: 1}, "time": {"function": lambda: lambda: 1},
    "bench": {"f": lambda: lambda: 1}, "hessian": {"f": lambda: lambda x: np.sum(x * x)},
    "getobs": {"index": lambda: [0, 1]}, "check": {"id": lambda: "02.1"}, "guess": {"id": lambda: "02-A"},
    "answer": {"id": lambda: "02-A"}, "start": {"number": lambda: "02"}, "reset": {"number": lambda: "02"},
    "expect_error": {"kind": lambda: TypeError},
    "scatter_add": {"like": lambda: np.zeros(3, np.float32), "index": lambda: [0, 1]},
    "fmap_with_path": {
        "function": lambda: lambda path, *x: x[0], "x": _model, "others": _model,
        "exclude": lambda: lambda path, x: fl.is_leaf(x)},
    "functional": {"part": lambda: None}, "onehotbatch": {"data": lambda: ["a", "b"]},
    "mapobs": {"function": lambda: lambda x: x}, "unbatch": {"data": _x}, "gpu_backend": {"name": lambda: "CPU"},
    "Dense.of": {"bias": lambda: np.zeros(2, np.float32)}, "KeyPath.set": {"tree": lambda: {"a": [1]}},
    "setup": {"rule": lambda: fl.Adam()}, "fmap": {"function": lambda: lambda x, y: x, "x": _model, "others": _model},
    "orthogonal": {"shape": lambda: Several((3, 2))}, "sparse_init": {"shape": lambda: Several((3, 2))},
    "DepthwiseConv": {"outputs": lambda: 6}, "Scale": {"size": lambda: 3},
    "Upsample": {"mode": lambda: "nearest", "size": None},
    "LayerNorm": {"size": lambda: 3}, "MultiHeadAttention": {"dims": lambda: 8}, "Dropout": {"p": lambda: 0.5},
    "identity_init": {"shape": lambda: Several((3, 2))}, "nfan": {"shape": lambda: Several((3, 2))},
    "make_causal_mask": {"x": _sequence}, 
    **{f"{name}.__call__": {"x": _pictures} for name in LAYERS},
    **{f"{name}.__call__": {"x": _sequence, "state": lambda: np.ones(2)} for name in ("RNN", "GRU", "RNNCell")},
    **{f"{name}.__call__": {"x": _sequence, "state": lambda: (np.ones(2), np.ones(2))} for name in ("LSTM", "LSTMCell")},
    "MultiHeadAttention.__call__": {
        **dict.fromkeys("qkv", lambda: np.ones((2, 5, 8), np.float32)), "bias": lambda: np.ones((5, 5), np.float32),
        "mask": lambda: np.tril(np.ones((5, 5), bool))},
    **{name: {"weight": _weight, "bias": lambda: np.ones(4, np.float32), "groups": lambda: 2}
       for name in ("Conv.of", "CrossCor.of")},
    "ConvTranspose.of": {"weight": _weight, "bias": lambda: np.ones(2, np.float32)},
    "Scale.of": {"scale": lambda: np.ones(3), "bias": lambda: np.ones(3)},
    "RNNCell.of": {
        "Wi": lambda: np.ones((3, 2), np.float32), "Wh": lambda: np.eye(3, dtype=np.float32),
        "bias": lambda: np.ones(3, np.float32)},
    "LSTMCell.of": {"bias": lambda: np.ones(12, np.float32)},
    "trainmode": {"mode": lambda: True}, "testmode": {"mode": lambda: True},
    "adjust": {"fields": lambda: 0.1, "eta": None}, "Gradient": {"fields": _x}, "Seconds": {"value": lambda: 1.0},
}  # fmt: skip


# -- what is called -------------------------------------------------------------------------------------------------


class Target(NamedTuple):
    """A function, the parameters that keep their value, and what isn't bad: a kind, or a parameter with a kind."""

    name: str
    function: Any
    keep: tuple[str, ...] = ()
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
            fl.save("file", model=_model(), extra=_model())
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
        result(_x())
    elif isinstance(result, contextlib.AbstractContextManager) and type(result).__module__.startswith("fluxlite"):
        with result:
            pass
    elif type(result).__name__ in ("Schedule", "Patience"):
        result(3)
    # What these two hold prints itself.
    if type(result).__module__.startswith("fluxlite") and not isinstance(result, (fl.KeyPath, fl.Gradient)):
        repr(result)


ON_A_GPU = {"CuIterator", "cu", "cuda.device", "cuda.set_device", "cuda.using", "cuda.sync", "cuda.time"}
# Calls that were answered unclearly, hung, or took all memory.
KEPT: list[tuple[str, dict[str, str]]] = [
    ("simulate_gpu", {"count": "2**40"}), ("simulate_gpu", {"memory": "nan"}), ("rrelu", {"x": "None"}),
    ("mse", {"prediction": "cycle"}), ("scatter_add", {"index": "array of nan"}), ("KeyPath.get", {"tree": "text"}),
    ("Adam", {"epsilon": "deep"}), ("cuda.functional", {"part": "rule"}), ("train", {"epochs": "shape (2, 3, 4)"}),
    ("loadmodel", {"filter": "()"}), ("course.start", {"made_for": "array of nan"}), ("Dense", {"rng": "set()"}),
    ("Device.seed", {"seed": "text"}), ("fmap", {"cache": "array of text"}), ("estimate", {"shapes_only": "long text"}),
    ("batch", {"observations": "nan"}), ("get_device", {"backend": "{}"}), ("move", {"device": "None"}),
    ("calibrate", {"recorded": "..."}), ("Chain.__getitem__", {"index": "2**40"}), ("Dense.__call__", {"x": "deep"}),
    ("Seconds", {"kind": "array of nan"}), ("without_gpu", {"mode": "array of dates"}), ("cpu", {"dtype": "deep"}),
]  # fmt: skip
LONG = ("2**40", "2**70", "inf", "1e308")  # where so many of something is an honest, long task
KEEP: dict[str, tuple[str, ...]] = {
    "course.start": ("number",), "course.crossover": ("batch", "repeats"),
}  # fmt: skip
FINE: dict[str, tuple[Any, ...]] = {
    "train": tuple(("epochs", kind) for kind in LONG),
    "gpu simulated": (("x", "array of 2**40"),), "cu": (("x", "array of 2**40"),),  # out of memory, as it should be
    # NumPy looks at each of the numbers, one after the other, before it needs memory.
    "softmax": (("x", "array of 2**40"),), "logsoftmax": (("x", "array of 2**40"),), "normalise": (("x", "array of 2**40"),),
    "KeyPath": ("array of 2**40",),
    # The function that's differentiated, np.sum, is the caller's, and adds them all.
    **{name: ("array of 2**40",) for name in ("gradient", "withgradient", "jacobian", "hessian", "estimate")},
    "metal.device": (("x", "None"),), "amdgpu.device": (("x", "None"),), "cuda.device": (("x", "None"),),
    "course.bench": tuple(("repeats", kind) for kind in LONG),
}  # fmt: skip
# What a message calls an argument where it doesn't use the parameter's name: by function, or by parameter.
ALSO = {
    "grads": "gradient", "Chain.__call__": "input", "Dense.__call__": "input",
    "course.start": "lesson", "course.reset": "lesson", "course.check": "lesson", "course.guess": "lesson",
    "course.answer": "lesson",  # there is no lesson '99'
    "gpu_backend": "backend", "cuda.set_device": "device", "cuda.using": "device", "adjust": "eta",
    "save": "extra", "load": "extra",
    "hessian": "the loss", "jacobian": "jacobian is of arrays", "CuIterator": "a batch is", 
    **{f"{name}.__call__": r"(input|x\.astype)" for name in LAYERS},
    "path": "the path of the file", "data": "(no data|batch|has no len)",
    "amdgpu.functional": "part called", "cuda.functional": "part called",
    "metal.functional": "part called",
    # A function of what's bad gives no number, or isn't a function: the two speak of their arguments alike.
    "gradient": "the loss", "withgradient": "(the loss|gradient)", "early_stopping": "early stopping",
}  # fmt: skip
# What isn't called, and why.
NOT_CALLED = {
    "TrackedArray": "gradient makes them; their methods are NumPy's, and test_derivatives_arguments.py compares those",
    "course.crossover": "measures this machine for seconds; test_crossing.py has its arguments",
}


def _names() -> Iterator[tuple[str, Any]]:
    """All public functions and classes, and the methods of classes that learners call."""
    yield from ((name, getattr(fl, name)) for name in fl.__all__)
    for module in ("cuda", "amdgpu", "metal", "course"):
        room = getattr(fl, module)
        own = [name for name in dir(room) if name[0] != "_" and inspect.isfunction(getattr(room, name))]
        here = [name for name in own if getattr(room, name).__module__.startswith(f"fluxlite.{module}")]
        yield from ((f"{module}.{name}", getattr(room, name)) for name in here)
    yield from _methods()


def _methods() -> Iterator[tuple[str, Any]]:
    data = (np.ones((6, 3), np.float32), np.ones((6, 1), np.float32))
    yield "DataLoader.batches", lambda skip: fl.DataLoader(data, batchsize=2).batches(skip)
    yield "Chain.__call__", lambda x: _model()(x)
    yield "Chain.__getitem__", lambda index: _model()[index]
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
    yield from ((f"{name}.__call__", call) for name, call in LAYERS.items())
    for name in ("Conv", "CrossCor", "ConvTranspose", "Scale", "Embedding", "RNNCell", "LSTMCell"):
        yield f"{name}.of", getattr(fl, name).of
    for rule in ("Momentum", "Adam", "ClipNorm", "AccumGrad"):
        made = getattr(fl, rule)(2) if rule == "AccumGrad" else getattr(fl, rule)()
        yield f"{rule} updated", lambda grads, made=made: fl.update(fl.setup(made, {"w": _x()}), {"w": _x()}, grads)


def _simulated(x: Any, dtype: Any) -> Any:
    with fl.simulate_gpu(memory=2**24):
        return fl.gpu(x, dtype)


def fresh(target: Target) -> dict[str, Any]:
    """Arguments that work."""
    special = OTHERWISE.get(target.name) or OTHERWISE.get(target.name.rpartition(".")[2], {})
    names = inspect.signature(target.function).parameters
    given = {**GOOD, **special}
    made = {name: given[name]() for name in names if given.get(name)}
    states = {"opt_state", "state"} & made.keys() - special.keys()
    if states:
        model = made.get("model") or _model()
        state = fl.setup(fl.Descent(), model)
        made.update(dict.fromkeys(states, state))
        if "grads" in made:
            made["grads"] = fl.gradient(lambda m: np.sum(m(_x())), model)[0]
    return made


def callables(bad: dict[str, Any]) -> Iterator[Any]:
    """The functions and objects of the caller that can be called."""
    yield from (value for value in bad.values() if callable(value))


def reset() -> None:
    """As if nothing had been called."""
    simulation.off()
    fl.without_gpu("cpu")
    fl.allowscalar(True)
    fl.seed(None)
    fl.reset_notices()
    if os.environ.get(FOLDER) == str(Path.cwd()):  # nobody else's files
        for path in Path.cwd().iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _targets() -> list[Target]:
    found = []
    for name, x in _names():
        if name in NOT_CALLED or not callable(x):
            continue
        if inspect.signature(x).parameters:
            found.append(Target(name, x, KEEP.get(name, ()), FINE.get(name, ())))
    return found


TARGETS = _targets()
