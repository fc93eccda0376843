"""Arguments that work, for every public name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

import fluxlite as fl
from fluxlite.devices import CPU


def rows() -> Any:
    return np.ones((2, 3), np.float32)


def chain() -> Any:
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
    "x": rows, "like": rows, "values": lambda: np.ones(2, np.float32), "prediction": lambda: np.full((2, 3), 1 / 3),
    "target": lambda: np.full((2, 3), 1 / 3), "model": chain, "models": lambda: fl.Dense(3, 2),
    "agg": lambda: np.mean, "data": lambda: (np.ones((6, 3), np.float32), np.ones((6, 1), np.float32)),
    "dtype": lambda: np.float32, "index": lambda: 1, "device": lambda: CPU, "axis": lambda: -1, "eps": lambda: 1e-6,
    "delta": lambda: 1.0, "margin": lambda: 1.0, "gamma": lambda: 2.0, "smooth": lambda: 1.0, "alpha": lambda: 0.5,
    "slope": lambda: 0.01, "lower": lambda: 0.1, "upper": lambda: 0.3, "threshold": lambda: 0.5,
    "rng": np.random.default_rng, "function": lambda: lambda x: x, "f": lambda: lambda *x: np.sum(x[0]),
    "fn": lambda: lambda x: x + 1, "rule": lambda: fl.Descent(), "args": rows, "others": rows,
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
    "path": lambda: "file", "cast": lambda: False, "source": lambda: fl.state(chain()),
    "filter": lambda: lambda x: True, "batchsize": lambda: 2, "shuffle": lambda: True, "partial": lambda: True,
    "k": lambda: 2, "collate": lambda: True, "parallel": lambda: False, "loader": lambda: [np.ones(3, np.float32)],
    "at": lambda: 0.5, "backend": lambda: "CPU", "idx": lambda: 0, "verbose": lambda: False, "part": lambda: None,
    "mode": lambda: "cpu", "allow": lambda: True, "count": lambda: 1, "memory": lambda: 2**20,
    "visible": lambda: False, "recorded": _recorded, "name": lambda: "mine",
    "shapes_only": lambda: False, "first_use": lambda: False, "value": lambda: 1.0, "kind": lambda: "measured",
    "card": lambda: "", "skip": lambda: 0, "words": lambda: "words", "traceback": lambda: False, "id": lambda: "02.1",
    "answers": lambda: (lambda a: a), "option": lambda: "a", "repeats": lambda: 2, "tree": chain, "seed": lambda: 1,
    "weight": lambda: np.ones((2, 3), np.float32), "state": lambda: None, "grads": lambda: None,
    "pullbacks": lambda: (lambda g, out, x: g), "beta": lambda: (0.9, 0.99), "ell": lambda: (0.5, 1.2),
    "couple": lambda: True, "centred": lambda: False, "progress": lambda: False, "check_every": lambda: 1,
    "each_step": lambda: None, "checkpoint": lambda: None, "resume": lambda: False, "overwrite": lambda: False,
    "distributed": lambda: False,
    "CUDA": lambda: 1, "AMDGPU": lambda: "not installed", "Metal": lambda: "not installed",
    "preference": lambda: None, "environment": lambda: None, "iterable": lambda: ("layers", 0),
    "default": lambda: "a", "children": lambda: None, "trainable": lambda: None, "made_for": lambda: None,
    "live": lambda: False, "targets": chain, "fields": lambda: 0.1, "add_into": lambda: None, "batch": lambda: 4,
    "copies": lambda: False, "kernel": lambda: (3, 3), "stride": lambda: 1, "pad": lambda: 0, "dilation": lambda: 1,
    "groups": lambda: 1, "outpad": lambda: 0, "out": lambda: (2, 2), "scale": lambda: 2, "sizes": lambda: (2, 3),
    "padbatch": lambda: False, "vocabulary": lambda: 5, "features": lambda: 2, "connection": lambda: np.add,
    "dims": lambda: None, "affine": lambda: True, "track_stats": lambda: True, "momentum": lambda: 0.1,
    "channels": lambda: 4, "nheads": lambda: 2, "dropout_prob": lambda: 0.1, "cell": lambda: fl.GRUCell(2, 3),
    "return_state": lambda: True, "layer": lambda: fl.GRU(2, 3), "sparsity": lambda: 0.5, "mean": lambda: 0.0,
    "std": lambda: 1.0, "max_norm": lambda: 1.0,
    "Wi": lambda: np.ones((12, 2), np.float32), "Wh": lambda: np.ones((12, 3), np.float32),
    "lo": lambda: -2.0, "hi": lambda: 2.0, "tied": lambda: True, "restore": lambda: True,
}  # fmt: skip

# Layers, and what they're called with: by default pictures of 3 features.
LAYERS: dict[str, Callable] = {
    "Conv": lambda x: fl.Conv((3, 3), 3, 2)(x),
    "ConvTranspose": lambda x: fl.ConvTranspose((3, 3), 3, 2)(x),
    "MaxPool": lambda x: fl.MaxPool((2, 2))(x),
    "MeanPool": lambda x: fl.MeanPool((2, 2))(x),
    "AdaptiveMaxPool": lambda x: fl.AdaptiveMaxPool((2, 2))(x),
    "GlobalMaxPool": lambda x: fl.GlobalMaxPool()(x),
    "GlobalMeanPool": lambda x: fl.GlobalMeanPool()(x),
    "Upsample": lambda x: fl.Upsample(scale=2)(x),
    "BatchNorm": lambda x: fl.trainmode(fl.BatchNorm(3))(x),
    "InstanceNorm": lambda x: fl.InstanceNorm(3)(x),
    "GroupNorm": lambda x: fl.GroupNorm(3, 1)(x),
    "LayerNorm": lambda x: fl.LayerNorm(3)(x),
    "Dropout": lambda x: fl.trainmode(fl.Dropout(0.5))(x),
    "Scale": lambda x: fl.Scale(3)(x),
    "SkipConnection": lambda x: fl.SkipConnection(fl.Dense(3, 3), np.add)(x),
    "Parallel": lambda x: fl.Parallel(np.add, fl.Dense(3, 2), fl.Dense(3, 2))(x),
    "PairwiseFusion": lambda x: fl.PairwiseFusion(np.add, fl.Dense(3, 3), fl.Dense(3, 3))(x),
    "Maxout": lambda x: fl.Maxout(fl.Dense(3, 2), fl.Dense(3, 2))(x),
    "MultiHeadAttention": lambda q, k, v, bias, mask: fl.MultiHeadAttention(8, nheads=2)(q, k, v, bias, mask=mask),
    "Embedding": lambda index: fl.Embedding(5, 2)(index),
    "RNN": lambda x, state: fl.RNN(3, 2)(x, state),
    "LSTM": lambda x, state: fl.LSTM(3, 2)(x, state),
    "GRU": lambda x: fl.GRU(3, 2)(x),
    "RNNCell": lambda x, state: fl.RNNCell(3, 2)(x, state),
    "LSTMCell": lambda x, state: fl.LSTMCell(3, 2)(x, state),
}

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
    "bench": {"f": lambda: lambda: 1}, "hessian": {"f": lambda: lambda x: np.sum(x * x)},
    "getobs": {"index": lambda: [0, 1]}, "check": {"id": lambda: "02.1"}, "guess": {"id": lambda: "02-A"},
    "answer": {"id": lambda: "02-A"}, "start": {"number": lambda: "02"}, "reset": {"number": lambda: "02"},
    "expect_error": {"kind": lambda: TypeError},
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
    "Upsample": {"mode": lambda: "nearest", "size": None},
    "LayerNorm": {"size": lambda: 3}, "MultiHeadAttention": {"dims": lambda: 8}, "Dropout": {"p": lambda: 0.5},
    "identity_init": {"shape": lambda: Several((3, 2))}, "nfan": {"shape": lambda: Several((3, 2))},
    "make_causal_mask": {"x": _sequence}, 
    **{f"{name}.__call__": {"x": _pictures} for name in LAYERS},
    **{f"{name}.__call__": {"x": _sequence, "state": lambda: np.ones(2)} for name in ("RNN", "GRU", "RNNCell")},
    **{f"{name}.__call__": {"x": _sequence, "state": lambda: (np.ones(2),) * 2} for name in ("LSTM", "LSTMCell")},
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
    "adjust": {"fields": lambda: 0.1, "eta": None}, "Gradient": {"fields": rows}, "Seconds": {"value": lambda: 1.0},
}  # fmt: skip


def fresh(target: Any) -> dict[str, Any]:
    """Arguments that work for a `Target`, made anew."""
    special = OTHERWISE.get(target.name) or OTHERWISE.get(target.name.rpartition(".")[2], {})
    given = {**GOOD, **special}
    made = {name: given[name]() for name in inspect.signature(target.function).parameters if given.get(name)}
    states = {"opt_state", "state"} & made.keys() - special.keys()
    if states:
        model = made.get("model") or chain()
        state = fl.setup(fl.Descent(), model)
        made.update(dict.fromkeys(states, state))
        if "grads" in made:
            made["grads"] = fl.gradient(lambda m: np.sum(m(rows())), model)[0]
    return made
