"""Arguments that work, for every public name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from layer_table import LAYERS

import fluxlite as fl
from fluxlite.devices import CPU


def rows() -> Any:
    return np.ones((2, 3), np.float32)


def chain() -> Any:
    return fl.Chain(fl.Dense(3, 4, np.tanh), fl.Dense(4, 1))


class Several(tuple):
    """Several values for ``*layers`` and the like; one may stand alone."""


def _sequence() -> Any:
    return np.ones((5, 2), np.float32)


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


# What has a default has a good argument already.
GOOD: dict[str, Callable[[], Any]] = {
    "x": rows, "values": lambda: np.ones(2, np.float32), "prediction": lambda: np.full((2, 3), 1 / 3),
    "target": lambda: np.full((2, 3), 1 / 3), "model": chain, "models": lambda: fl.Dense(3, 2), "tree": chain,
    "data": lambda: (np.ones((6, 3), np.float32), np.ones((6, 1), np.float32)), "dtype": lambda: np.float32,
    "index": lambda: 1, "device": lambda: CPU, "alpha": lambda: 0.5, "function": lambda: lambda x: x,
    "f": lambda: lambda *x: np.sum(x[0]), "fn": lambda: lambda x: x + 1, "args": rows, "loss": lambda: _loss,
    "opt_state": lambda: None, "state": lambda: None, "grads": lambda: None, "observations": lambda: [1, 2],
    "label": lambda: "a", "labels": lambda: ["a", "b"], "y": lambda: np.eye(2, dtype=np.float32), "eta": lambda: 0.1,
    "n": lambda: 2, "rules": lambda: fl.Adam(), "every": lambda: 2, "factor": lambda: 0.5, "steps": lambda: 5,
    "after": lambda: fl.cosine(0.1, 10), "inputs": lambda: 3, "outputs": lambda: 2, "shape": lambda: 3,
    "layers": lambda: fl.Dense(3, 2), "number": lambda: 3, "seconds": lambda: 1.0, "predicate": lambda: bool,
    "wait": lambda: 2, "delay": lambda: 2, "width": lambda: 2, "path": lambda: "file", "skip": lambda: 0,
    "source": lambda: fl.state(chain()), "loader": lambda: [np.ones(3, np.float32)], "recorded": _recorded,
    "value": lambda: 1.0, "kind": lambda: "measured", "seed": lambda: 1, "weight": lambda: np.ones((2, 3), np.float32),
    "pullbacks": lambda: (lambda g, out, x: g), "targets": chain, "kernel": lambda: (3, 3), "groups": lambda: 1,
    "out": lambda: (2, 2), "sizes": lambda: (2, 3), "vocabulary": lambda: 5, "features": lambda: 2,
    "connection": lambda: np.add, "channels": lambda: 4, "cell": lambda: fl.GRUCell(2, 3),
    "layer": lambda: fl.GRU(2, 3), "sparsity": lambda: 0.5, "max_norm": lambda: 1.0,
    "Wi": lambda: np.ones((12, 2), np.float32), "Wh": lambda: np.ones((12, 3), np.float32),
}  # fmt: skip

# Of some functions a parameter means something else.
OTHERWISE: dict[str, dict[str, Callable[[], Any]]] = {
    "label_smoothing": {"axis": lambda: -1}, "getitem": {"index": lambda: 1},
    "clip_grad_norm": {"grads": rows}, "Rprop": {"gamma": lambda: (1e-6, 50.0)}, "tversky_loss": {"beta": lambda: 0.7},
    "calibrate": {"like": lambda: "NVIDIA T4"}, "simulate_gpu": {"like": lambda: "A100"},
    "estimate": {"like": lambda: "A100"}, "rule": {"function": lambda: cube},
    "primitive": {"function": lambda: lambda x: x}, "hinge_loss": {"target": rows},
    "squared_hinge_loss": {"target": rows}, "early_stopping": {"f": lambda: lambda h: 1.0},
    "plateau": {"f": lambda: lambda h: 1.0}, "back": {"loss": lambda: np.sum(fl.param(np.ones(2)) * 2)},
    "param": {"x": lambda: np.ones(2)}, "functor": {"x": lambda: type("Own", (), {})},
    "trainable": {"x": lambda: fl.Dense(3, 2)}, "device_of": {"x": rows}, "throttle": {"clock": lambda: lambda: 0.0},
    "train": {"data": lambda: [(rows(), np.ones((2, 1), np.float32))]}, "set_device": {"index": lambda: 0},
    "using": {"index": lambda: 0}, "sync": {"function": lambda: lambda: 1}, "time": {"function": lambda: lambda: 1},
    "time_range": {"message": lambda: "forward"},
    "hessian": {"f": lambda: lambda x: np.sum(x * x)}, "getobs": {"index": lambda: [0, 1]},
    "scatter_add": {"like": lambda: np.zeros(3, np.float32), "index": lambda: [0, 1]},
    "fmap_with_path": {
        "function": lambda: lambda path, *x: x[0], "x": chain, "others": chain,
        "exclude": lambda: lambda path, x: fl.is_leaf(x)},
    "functional": {"part": lambda: None}, "onehotbatch": {"data": lambda: ["a", "b"]},
    "mapobs": {"function": lambda: lambda x: x}, "unbatch": {"data": rows}, "gpu_backend": {"name": lambda: "CPU"},
    "Dense.of": {"bias": lambda: np.zeros(2, np.float32)}, "KeyPath.set": {"tree": lambda: {"a": [1]}},
    "setup": {"rule": lambda: fl.Adam()}, "fmap": {"function": lambda: lambda x, y: x, "x": chain, "others": chain},
    "orthogonal": {"shape": lambda: Several((3, 2))}, "sparse_init": {"shape": lambda: Several((3, 2))},
    "DepthwiseConv": {"outputs": lambda: 6}, "Scale": {"size": lambda: 3},
    "Upsample": {"scale": lambda: 2, "size": None},
    "LayerNorm": {"size": lambda: 3}, "MultiHeadAttention": {"dims": lambda: 8}, "Dropout": {"p": lambda: 0.5},
    "identity_init": {"shape": lambda: Several((3, 2))}, "nfan": {"shape": lambda: Several((3, 2))},
    "make_causal_mask": {"x": _sequence}, 
    **{f"{name}.__call__": {"x": lambda shape=shape: np.ones(shape, np.float32)}
       for name, (_, shape) in LAYERS.items() if name not in ("Chain", "Dense")},
    "RNN.__call__": {"x": _sequence, "state": lambda: np.ones(3)},
    "LSTM.__call__": {"x": _sequence, "state": lambda: (np.ones(3),) * 2},
    "MultiHeadAttention.__call__": {
        **dict.fromkeys("qkv", lambda: np.ones((2, 5, 2), np.float32)), "bias": lambda: np.ones((5, 5), np.float32),
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
    "adjust": {"fields": lambda: 0.1, "eta": None}, "Gradient": {"fields": rows}, "Seconds": {"value": lambda: 1.0},
}  # fmt: skip


def fresh(target: Any) -> dict[str, Any]:
    """Arguments that work for a `Target`, made anew."""
    special = OTHERWISE.get(target.name) or OTHERWISE.get(target.name.rpartition(".")[2], {})
    given = {**GOOD, **special}
    made = {}
    for name, parameter in inspect.signature(target.function).parameters.items():
        if given.get(name):
            made[name] = given[name]()
        elif name not in given and parameter.default is not parameter.empty:
            made[name] = parameter.default
    states = {"opt_state", "state"} & made.keys() - special.keys()
    if states:
        model = made.get("model") or chain()
        state = fl.setup(fl.Descent(), model)
        made.update(dict.fromkeys(states, state))
        if "grads" in made:
            made["grads"] = fl.gradient(lambda m: np.sum(m(rows())), model)[0]
    return made
