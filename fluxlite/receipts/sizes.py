"""`outputsize`: the shape of what a model gives, from shapes alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from simgpu.presets import preset
from simgpu.shapes import untouched

from ..arguments import check_bool, check_callable, in_words
from ..devices import simulation
from ..devices.moving import type_of_numbers
from .estimates import EstimatedDevice

_ENDLESS = preset("H200")._replace(memory=2**62)


def outputsize(model: Callable, *sizes: tuple[int, ...], padbatch: bool = False, dtype: Any = np.float32) -> Any:
    """The shape of ``model(x)`` for an `x` of this shape, without computing it (Flux: ``outputsize``).

    For a model of several inputs, give several shapes; several results have a tuple of shapes. ``padbatch=True`` puts
    an axis for the observations in front of each shape, of length 1. `dtype` is that of the inputs.

    The model runs on a simulated GPU that knows only shapes, so a large one takes neither time nor memory for its
    values; your model, your devices and open receipts don't notice. What needs values sees zeros. Raises what the
    model raises for such an input, with the layer's place, and `TypeError` for a shape that is no tuple.

    >>> model = fl.Chain(fl.Conv((5, 5), 1, 6, fl.relu), fl.MaxPool((2, 2)), fl.Conv((5, 5), 6, 16))
    >>> outputsize(model, (64, 28, 28, 1)), outputsize(model, (28, 28, 1), padbatch=True)
    ((64, 8, 8, 16), (1, 8, 8, 16))
    """
    check_callable("outputsize(model)", model)
    check_bool("outputsize(padbatch=…)", padbatch)
    dtype = type_of_numbers(dtype)
    for size in sizes or (None,):
        if not isinstance(size, (tuple, list)) or not all(isinstance(n, (int, np.integer)) for n in size):
            what = "outputsize(model, *sizes) takes the shape of the input, such as (1, 28, 28, 1)"
            raise TypeError(f"{what}, got {in_words(size) if sizes else 'none'}")
    device = EstimatedDevice(_ENDLESS, shapes_only=True)
    before = simulation.estimating.set(device)
    try:
        there = device(model, dtype=None)
        batch = (1,) if padbatch else ()
        result = there(*(device.new(untouched((*batch, *size), dtype)) for size in sizes))
    finally:
        simulation.estimating.reset(before)
    return tuple(part.shape for part in result) if isinstance(result, (tuple, list)) else result.shape
