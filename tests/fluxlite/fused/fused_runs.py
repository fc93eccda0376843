"""For the tests of `fuse`: random arrays, and what a call launches, also in a rehearsal of CuPy."""

import sys

import numpy as np
import pytest

from fluxlite import receipt

BOTH = pytest.mark.on("Simulated", "CUDA")


def numbers(*shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def launched(function, *args):
    """What a call gives, and the names of its launches."""
    if "rehearsal" in sys.modules and any("cupy" in type(x).__module__ for x in args):
        import rehearsal

        rehearsal.log.clear()
        result = function(*args)
        return result, [entry[1] for entry in rehearsal.log if entry[0] == "launch"]
    with receipt() as r:
        result = function(*args)
    return result, list(r.launched.elements())
