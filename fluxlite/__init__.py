"""fluxlite: learn what a GPU does to a neural network.

The names of the Flux.jl GPU guide, in Python, on NumPy and CuPy. What `import fluxlite` does not need at once is
loaded when it is first used.

>>> import fluxlite as fl
>>> model = fl.Chain(fl.Dense(10, 5, np.tanh), fl.Dense(5, 2))
>>> model(np.ones(10, np.float32)).shape
(2,)
"""

# ruff: noqa: F401, I001  (a table of contents, in reading order)
from __future__ import annotations

from typing import Any

# A model is a tree, and everything done to it is a walk
from .tree.contract import children, functor, is_leaf, trainable
from .tree.walks import KeyPath, fcollect, fmap, fmap_with_path, fmapstructure, leaves
from .tree.parameters import destructure, trainables

# Gradients
from .arrays import astype, getitem, move, primitive, scatter_add
from .autodiff.gradients import Gradient, gradient, withgradient
from .autodiff.jacobians import hessian, jacobian
from .autodiff.older_styles import back, param, params
from .autodiff.tracked import TrackedArray

# Layers
from .layers.chain import Chain
from .layers.dense import Dense

# Devices: which arrays are whose. The libraries of a GPU are not imported before one is used.
from .devices.base import Device
from .devices.selection import cpu, cu, functional, gpu, gpu_device, gpu_name, require_gpu, simulate_gpu
from .devices.selection import get_device, gpu_backend, supported_devices, without_gpu
from .devices.places import device_of
from .messages import notices, reset_notices

__version__ = "0.1.0"

# Loaded at first use: the module in which each name is.
_LAZY = {
    "autodiff.own_rules": "rule",
    "activations": (
        "celu elu gelu hardsigmoid hardswish hardtanh leakyrelu lisht logcosh logsigmoid mish relu relu6 rrelu selu "
        "sigmoid sigmoid_fast softplus softshrink softsign swish tanhshrink tanh_fast trelu σ tanh softmax logsoftmax"
    ),
    "layers.initializers": "glorot_uniform",
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
    "reports.explanation": "explain",
    "reports.diagnosis": "doctor",
    "simulated.pretending": "pretend",
    "devices.scalars": "allowscalar",
}
_MODULE_OF = {name: module for module, names in _LAZY.items() for name in names.split()}


_MODULES = ("cuda", "amdgpu", "metal", "course")  # fl.cuda.devices(), without importing fluxlite.cuda first


def __getattr__(name: str) -> Any:
    import importlib

    if name == "GPU_BACKEND":  # what it is may change at any time, so it is not kept
        return importlib.import_module(".devices.choosing", __name__).current_backend()
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'fluxlite' has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_MODULE_OF[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF, *_MODULES, "GPU_BACKEND"} - {"annotations", "Any"})
