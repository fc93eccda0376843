"""Losses: one number that says how far a prediction is from the target. ``loss(prediction, target)``, as in Flux.

Both have the same shape, ``(N, classes)`` or whatever the model gives; a target that would only broadcast is an error,
since it is nearly always one axis too few. Classes may also be given by their numbers, of shape ``(N,)``. A target of a
wider type becomes one of the prediction's, and that is said once: Float64 targets would make the way back through a
Float32 model Float64. `agg` makes one number of the observations' losses: ``np.mean``, ``np.sum``.
"""

from .classes import (
    binary_focal_loss,
    binarycrossentropy,
    crossentropy,
    dice_coeff_loss,
    focal_loss,
    kldivergence,
    label_smoothing,
    logitbinarycrossentropy,
    logitcrossentropy,
    tversky_loss,
)  # fmt: skip
from .values import (
    hinge_loss,
    huber_loss,
    mae,
    mse,
    msle,
    poisson_loss,
    siamese_contrastive_loss,
    squared_hinge_loss,
)  # fmt: skip

__all__ = [
    "mae", "mse", "msle", "huber_loss", "poisson_loss", "hinge_loss", "squared_hinge_loss", "siamese_contrastive_loss",
    "crossentropy", "logitcrossentropy", "binarycrossentropy", "logitbinarycrossentropy", "kldivergence", "focal_loss",
    "binary_focal_loss", "dice_coeff_loss", "tversky_loss", "label_smoothing",
]  # fmt: skip
