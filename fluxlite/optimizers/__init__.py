"""Optimizers: rules that change parameters by their gradients.

``state = setup(Adam(), model)`` makes what the rule needs to remember, a tree beside the model; then, for each step,
``update(state, model, grads)``. Flux: ``Flux.setup``, ``update!``; the rules are those of Optimisers.jl.
"""

from .base import Rule
from .combined import AccumGrad, ClipGrad, ClipNorm, OptimiserChain, SignDecay, WeightDecay, clip_grad_norm
from .rules import (
    AdaBelief, AdaDelta, AdaGrad, Adam, AdaMax, AdamW, AMSGrad, Descent, Lion, Momentum, NAdam, Nesterov, OAdam, RAdam,
    RMSProp, Rprop,
)  # fmt: skip
from .states import Leaf, State, adjust, freeze, setup, thaw
from .updating import update, updated

__all__ = [
    "setup", "update", "updated", "adjust", "freeze", "thaw", "Rule", "Leaf", "State",
    "Descent", "Momentum", "Nesterov", "Lion", "Rprop",
    "AdaGrad", "AdaDelta", "RMSProp", "Adam", "AdamW", "NAdam", "RAdam", "AdaMax", "OAdam", "AMSGrad", "AdaBelief",
    "OptimiserChain", "WeightDecay", "SignDecay", "ClipGrad", "ClipNorm", "AccumGrad", "clip_grad_norm",
]  # fmt: skip
