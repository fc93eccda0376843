"""fluxlite: learn what a GPU does to a neural network.

The names of the Flux.jl GPU guide, in Python, on NumPy and CuPy. Much is only loaded when it's first used.

>>> import fluxlite as fl
>>> model = fl.Chain(fl.Dense(10, 5, np.tanh), fl.Dense(5, 2))
>>> model(np.ones(10, np.float32)).shape
(2,)
"""

# ruff: noqa: I001  (a table of contents, in reading order)
import ast
import functools
import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

from .tree.contract import children, functor, is_leaf, trainable
from .tree.flat import KeyPath
from .tree.walks import fcollect, fmap, fmap_with_path, fmapstructure, leaves, trainables
from .arrays import astype, device_of, getitem, move, primitive, scatter_add
from .autodiff.tracked import TrackedArray
from .autodiff.modes import testmode, trainmode
from .layers.basic import Chain, Dense
from .devices.base import Device
from .devices.selection import cpu, gpu, gpu_device, gpu_name, require_gpu, supported_devices
from .messages import notices, reset_notices
from .devices.seeds import seed

# What is loaded when it's first used: `__getattr__` below looks here. Type checkers and editors do so, too.
if TYPE_CHECKING:
    from . import amdgpu, cuda, distributed, metal
    from .layers.activations import (
        celu,
        elu,
        gelu,
        hardsigmoid,
        hardswish,
        hardtanh,
        leakyrelu,
        lisht,
        logcosh,
        logsigmoid,
        logsoftmax,
        mish,
        relu,
        relu6,
        rrelu,
        selu,
        sigmoid,
        sigmoid_fast,
        softmax,
        softplus,
        softshrink,
        softsign,
        swish,
        tanh,
        tanh_fast,
        tanhshrink,
        trelu,
        σ,
    )
    from .autodiff.derivatives import rule
    from .autodiff.gradients import Gradient, gradient, stop_gradient, withgradient
    from .autodiff.jacobians import hessian, jacobian
    from .autodiff.older_styles import back, param, params
    from .saving.checkpoint import load, loadmodel, save, state
    from .capturing import CaptureError, captured
    from .data import batch, CuIterator, DataLoader, getobs, kfolds, mapobs, numobs, shuffleobs, splitobs, unbatch
    from .data.onehots import onecold, onehot, onehotbatch
    from .devices.named import cu, functional, get_device, gpu_backend
    from .devices.pretending import pretend
    from .devices.scalars import allowscalar
    from .devices.simulated import calibrate, simulate_gpu
    from .layers.layer import glorot_uniform, Layer, layer, nfan
    from .layers.initializers import (
        glorot_normal,
        identity_init,
        kaiming_normal,
        kaiming_uniform,
        lecun_normal,
        ones32,
        orthogonal,
        rand32,
        randn32,
        sparse_init,
        truncated_normal,
        zeros32,
    )
    from .training.metrics import accuracy, confusion_matrix, normalise
    from .layers.losses import (
        binary_focal_loss,
        binarycrossentropy,
        crossentropy,
        dice_coeff_loss,
        focal_loss,
        hinge_loss,
        huber_loss,
        kldivergence,
        label_smoothing,
        logitbinarycrossentropy,
        logitcrossentropy,
        mae,
        mse,
        msle,
        poisson_loss,
        siamese_contrastive_loss,
        squared_hinge_loss,
        tversky_loss,
    )
    from .optim.rules import (
        AccumGrad,
        AdaBelief,
        AdaDelta,
        AdaGrad,
        Adam,
        AdaMax,
        AdamW,
        adjust,
        AMSGrad,
        clip_grad_norm,
        ClipGrad,
        ClipNorm,
        Descent,
        freeze,
        Lion,
        Momentum,
        NAdam,
        Nesterov,
        OAdam,
        OptimiserChain,
        RAdam,
        RMSProp,
        Rprop,
        SignDecay,
        thaw,
        WeightDecay,
    )
    from .optim.update import OptimiserRule, setup, update, updated
    from .layers.convolution import (
        AdaptiveMaxPool,
        AdaptiveMeanPool,
        Conv,
        ConvTranspose,
        CrossCor,
        DepthwiseConv,
        GlobalMaxPool,
        GlobalMeanPool,
        MaxPool,
        MeanPool,
        SamePad,
        Upsample,
    )
    from .layers.combine import (
        Embedding,
        flatten,
        make_causal_mask,
        Maxout,
        MultiHeadAttention,
        PairwiseFusion,
        Parallel,
        Scale,
        SkipConnection,
    )
    from .layers.precision import f16, f32, f64
    from .layers.normalization import BatchNorm, Dropout, GroupNorm, InstanceNorm, LayerNorm
    from .layers.recurrent import GRU, GRUCell, initialstates, LSTM, LSTMCell, Recurrence, RNN, RNNCell
    from .devices.receipts import clock, estimate, outputsize, receipt, Seconds
    from .reports import doctor, explain
    from .optim.schedules import cosine, exponential_decay, one_cycle, step_decay, warm_up
    from .training import early_stopping, patience, plateau, throttle, train
    from .tree.destructure import destructure

    GPU_BACKEND: str  # it may change at any time
else:

    @functools.cache
    def _modules() -> dict[str, str]:
        """{name: the module it comes from} of the imports in this file, and of these modules themselves."""
        nodes = ast.walk(ast.parse(__spec__.loader.get_source(__name__)))
        imports = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.level]
        found = {alias.name: node.module or alias.name for node in imports for alias in node.names}
        modules = {"simulated", *found.values()}
        rooms = {module.partition(".")[0] for module in modules}
        return {room: room for room in rooms} | found

    # Modules that 0.3 had at the top. These names work until 0.5.
    _MOVED = {
        "activations": "layers.activations",
        "checkpoint": "saving.checkpoint",
        "losses": "layers.losses",
        "metrics": "training.metrics",
        "optimizers": "optim.rules",
        "receipts": "devices.receipts",
        "schedules": "optim.schedules",
        "updating": "optim.update",
    }

    def __getattr__(name: str) -> Any:
        if name == "GPU_BACKEND":  # the preferred one, or if there's none, the one that was chosen
            selection = importlib.import_module(".devices.selection", __name__)
            return selection.wish()[0] or selection.choose().backend
        if name in _modules():
            module = importlib.import_module(f".{_modules()[name]}", __name__)
            globals()[name] = getattr(module, name, module)
            return globals()[name]
        if name in _MOVED:
            messages = importlib.import_module(".messages", __name__)
            text = f"fluxlite.{name} is fluxlite.{_MOVED[name]} now. Its old name works until 0.5."
            messages.notice(("moved", name), text)
            return importlib.import_module(f".{_MOVED[name]}", __name__)
        words = importlib.import_module(".coming_from", __name__)
        hint = f". {words.sentence(words.NAMES[name])}" if name in words.NAMES else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")

    def __dir__() -> list[str]:
        return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


# Linux's C library gives large pieces of freed memory back to the system, and each step asks for them again: a third of
# the time of a transformer's block. So we let it keep 256 MB of them, unless you've chosen otherwise.
if sys.platform == "linux" and "MALLOC_TRIM_THRESHOLD_" not in os.environ:
    try:
        import ctypes

        mallopt = getattr(ctypes.CDLL(None), "mallopt", lambda parameter, value: 0)  # musl has none
        mallopt(-3, 2**25)  # M_MMAP_THRESHOLD, the largest there is: pieces of up to 32 MB come from what's kept
        mallopt(-1, 2**28)  # M_TRIM_THRESHOLD: how much is kept
    except (ImportError, OSError):  # some Pythons are built without it
        pass

__version__ = "0.4.0"

__all__ = [
    # a model is a tree
    "functor",
    "children",
    "trainable",
    "is_leaf",
    "KeyPath",
    "fmap",
    "fmap_with_path",
    "fmapstructure",
    "fcollect",
    "leaves",
    "trainables",
    "destructure",
    # gradients
    "gradient",
    "withgradient",
    "stop_gradient",
    "Gradient",
    "jacobian",
    "hessian",
    "param",
    "back",
    "params",
    "TrackedArray",
    "rule",
    "primitive",
    "getitem",
    "scatter_add",
    "astype",
    "move",
    # layers and what they are made of
    "Layer",
    "layer",
    "Dense",
    "Chain",
    "seed",
    "glorot_uniform",
    "glorot_normal",
    "kaiming_uniform",
    "kaiming_normal",
    "truncated_normal",
    "lecun_normal",
    "orthogonal",
    "sparse_init",
    "identity_init",
    "zeros32",
    "ones32",
    "rand32",
    "randn32",
    "nfan",
    "Conv",
    "ConvTranspose",
    "CrossCor",
    "DepthwiseConv",
    "SamePad",
    "Upsample",
    "MaxPool",
    "MeanPool",
    "AdaptiveMaxPool",
    "AdaptiveMeanPool",
    "GlobalMaxPool",
    "GlobalMeanPool",
    "outputsize",
    "Scale",
    "Embedding",
    "Maxout",
    "SkipConnection",
    "Parallel",
    "PairwiseFusion",
    "flatten",
    "Dropout",
    "LayerNorm",
    "BatchNorm",
    "InstanceNorm",
    "GroupNorm",
    "trainmode",
    "testmode",
    "MultiHeadAttention",
    "make_causal_mask",
    "RNN",
    "LSTM",
    "GRU",
    "Recurrence",
    "RNNCell",
    "LSTMCell",
    "GRUCell",
    "initialstates",
    "celu",
    "elu",
    "gelu",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "leakyrelu",
    "lisht",
    "logcosh",
    "logsigmoid",
    "mish",
    "relu",
    "relu6",
    "rrelu",
    "selu",
    "sigmoid",
    "sigmoid_fast",
    "softplus",
    "softshrink",
    "softsign",
    "swish",
    "tanhshrink",
    "tanh_fast",
    "trelu",
    "σ",
    "tanh",
    "softmax",
    "logsoftmax",
    "mae",
    "mse",
    "msle",
    "huber_loss",
    "poisson_loss",
    "hinge_loss",
    "squared_hinge_loss",
    "siamese_contrastive_loss",
    "crossentropy",
    "logitcrossentropy",
    "binarycrossentropy",
    "logitbinarycrossentropy",
    "kldivergence",
    "focal_loss",
    "binary_focal_loss",
    "dice_coeff_loss",
    "tversky_loss",
    "label_smoothing",
    "accuracy",
    "confusion_matrix",
    "normalise",
    "f16",
    "f32",
    "f64",
    # training
    "setup",
    "update",
    "updated",
    "adjust",
    "freeze",
    "thaw",
    "Descent",
    "Momentum",
    "Nesterov",
    "Lion",
    "Rprop",
    "AdaGrad",
    "AdaDelta",
    "RMSProp",
    "Adam",
    "AdamW",
    "NAdam",
    "RAdam",
    "AdaMax",
    "OAdam",
    "AMSGrad",
    "AdaBelief",
    "OptimiserChain",
    "WeightDecay",
    "SignDecay",
    "ClipGrad",
    "ClipNorm",
    "AccumGrad",
    "OptimiserRule",
    "clip_grad_norm",
    "step_decay",
    "exponential_decay",
    "cosine",
    "warm_up",
    "one_cycle",
    "train",
    "throttle",
    "patience",
    "early_stopping",
    "plateau",
    "captured",
    "CaptureError",
    "distributed",
    "save",
    "load",
    "state",
    "loadmodel",
    # data
    "DataLoader",
    "CuIterator",
    "numobs",
    "getobs",
    "mapobs",
    "splitobs",
    "shuffleobs",
    "kfolds",
    "batch",
    "unbatch",
    "onehot",
    "onehotbatch",
    "onecold",
    # devices
    "gpu",
    "cpu",
    "cu",
    "Device",
    "get_device",
    "gpu_device",
    "device_of",
    "supported_devices",
    "functional",
    "gpu_backend",
    "GPU_BACKEND",
    "gpu_name",
    "require_gpu",
    "allowscalar",
    "cuda",
    "amdgpu",
    "metal",
    # a GPU that every computer has
    "simulate_gpu",
    "pretend",
    "calibrate",
    # what happens
    "receipt",
    "estimate",
    "clock",
    "Seconds",
    "explain",
    "doctor",
    "notices",
    "reset_notices",
]
