"""fluxlite: learn what a GPU does to a neural network.

The names of the Flux.jl GPU guide, in Python, on NumPy and CuPy. What `import fluxlite` does not need at once is
loaded when it is first used.

>>> import fluxlite as fl
>>> model = fl.Chain(fl.Dense(10, 5, np.tanh), fl.Dense(5, 2))
>>> model(np.ones(10, np.float32)).shape
(2,)
"""

# ruff: noqa: I001  (a table of contents, in reading order)
from __future__ import annotations

from typing import TYPE_CHECKING

# A model is a tree, and everything done to it is a walk
from .tree.contract import children, functor, is_leaf, trainable
from .tree.walks import KeyPath, fcollect, fmap, fmap_with_path, fmapstructure, leaves
from .tree.parameters import destructure, trainables

# Gradients
from .arrays import astype, getitem, move, primitive, scatter_add
from .autodiff.collecting import Gradient
from .autodiff.gradients import gradient, withgradient
from .autodiff.jacobians import hessian, jacobian
from .autodiff.older_styles import back, param, params
from .autodiff.tracked import TrackedArray

# Layers
from .layers.dense import Dense
from .layers.chain import Chain
from .activations import (
    celu, elu, gelu, hardsigmoid, hardswish, hardtanh, leakyrelu, lisht, logcosh, logsigmoid, logsoftmax, mish, relu,
    relu6, rrelu, selu, sigmoid, sigmoid_fast, softmax, softplus, softshrink, softsign, swish, tanh, tanh_fast,
    tanhshrink, trelu, σ,
)  # fmt: skip

# Devices: which arrays are whose. The libraries of a GPU are not imported before one is used.
from .devices.base import Device
from .devices.selection import cpu, cu, functional, gpu, gpu_device, gpu_name, require_gpu, simulate_gpu
from .devices.selection import get_device, gpu_backend, supported_devices, without_gpu
from .devices.places import device_of
from .messages import notices, reset_notices
from .seeds import seed

# What is loaded at first use stands twice: here for type checkers and editors, which then know it, and below.
if TYPE_CHECKING:
    from . import amdgpu, course, cuda, metal
    from .autodiff.own_rules import rule
    from .checkpoint import load, loadmodel, save, state
    from .data import CuIterator, DataLoader, batch, getobs, kfolds, mapobs, numobs, shuffleobs, splitobs, unbatch
    from .data.onehots import onecold, onehot, onehotbatch
    from .devices.scalars import allowscalar
    from .layers.cells import GRUCell, LSTMCell, RNNCell, initialstates
    from .layers.initializers import glorot_uniform
    from .layers.recurrent import GRU, LSTM, RNN, Recurrence
    from .losses import crossentropy, logitcrossentropy, mse
    from .optimizers import Adam, Descent, Momentum, setup, update, updated
    from .receipts.estimates import estimate
    from .receipts.recording import receipt
    from .receipts.seconds import Seconds, clock
    from .reports.diagnosis import doctor
    from .reports.explanation import explain
    from .simulated.calibration import calibrate
    from .simulated.pretending import pretend
    from .training import early_stopping, patience, plateau, throttle, train

    GPU_BACKEND: str  # what it is may change at any time
else:
    from .lazy import loaded_when_used

    __getattr__, __dir__ = loaded_when_used(
        __name__,
        {
            "autodiff.own_rules": "rule",
            "layers.cells": "RNNCell LSTMCell GRUCell initialstates",
            "layers.initializers": "glorot_uniform",
            "layers.recurrent": "RNN LSTM GRU Recurrence",
            "losses": "mse crossentropy logitcrossentropy",
            "optimizers": "setup update updated Descent Momentum Adam",
            "data": "DataLoader CuIterator mapobs splitobs shuffleobs kfolds batch unbatch numobs getobs",
            "data.onehots": "onehot onehotbatch onecold",
            "training": "train throttle patience early_stopping plateau",
            "checkpoint": "save load state loadmodel",
            "receipts.recording": "receipt",
            "receipts.seconds": "clock Seconds",
            "receipts.estimates": "estimate",
            "simulated.calibration": "calibrate",
            "simulated.pretending": "pretend",
            "reports.explanation": "explain",
            "reports.diagnosis": "doctor",
            "devices.scalars": "allowscalar",
        },
        modules="cuda amdgpu metal course",  # fl.cuda.devices(), without importing fluxlite.cuda first
        computed={"GPU_BACKEND": ("devices.choosing", "current_backend")},
    )

__version__ = "0.1.0"

__all__ = [
    # a model is a tree
    "functor", "children", "trainable", "is_leaf", "KeyPath",
    "fmap", "fmap_with_path", "fmapstructure", "fcollect", "leaves", "trainables", "destructure",
    # gradients
    "gradient", "withgradient", "Gradient", "jacobian", "hessian", "param", "back", "params", "TrackedArray",
    "rule", "primitive", "getitem", "scatter_add", "astype", "move",
    # layers and what they are made of
    "Dense", "Chain", "glorot_uniform", "seed",
    "RNN", "LSTM", "GRU", "Recurrence", "RNNCell", "LSTMCell", "GRUCell", "initialstates",
    "celu", "elu", "gelu", "hardsigmoid", "hardswish", "hardtanh", "leakyrelu", "lisht", "logcosh", "logsigmoid",
    "mish", "relu", "relu6", "rrelu", "selu", "sigmoid", "sigmoid_fast", "softplus", "softshrink", "softsign", "swish",
    "tanhshrink", "tanh_fast", "trelu", "σ", "tanh", "softmax", "logsoftmax",
    "mse", "crossentropy", "logitcrossentropy",
    # training
    "setup", "update", "updated", "Descent", "Momentum", "Adam",
    "train", "throttle", "patience", "early_stopping", "plateau",
    "save", "load", "state", "loadmodel",
    # data
    "DataLoader", "CuIterator", "numobs", "getobs", "mapobs", "splitobs", "shuffleobs", "kfolds", "batch", "unbatch",
    "onehot", "onehotbatch", "onecold",
    # devices
    "gpu", "cpu", "cu", "Device", "get_device", "gpu_device", "device_of", "supported_devices", "functional",
    "gpu_backend", "GPU_BACKEND", "gpu_name", "require_gpu", "without_gpu", "allowscalar",
    "cuda", "amdgpu", "metal",
    # a GPU that every computer has
    "simulate_gpu", "pretend", "calibrate",
    # what happens
    "receipt", "estimate", "clock", "Seconds", "explain", "doctor", "notices", "reset_notices",
    # learning
    "course",
]  # fmt: skip
