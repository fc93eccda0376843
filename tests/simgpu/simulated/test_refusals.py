"""What CuPy lacks is refused by name, also where CuPy isn't installed to compare with (test_surface.py does that)."""

import numpy as np
import pytest

from fluxlite.devices import gpu

X = np.arange(1.0, 10, dtype=np.float32).reshape(3, 3)
LACKING = {
    "insert": lambda x: np.insert(x, 0, 1),
    "block": lambda x: np.block([[x, x]]),
    "linalg.multi_dot": lambda x: np.linalg.multi_dot([x, x, x]),
    "nanquantile": lambda x: np.nanquantile(x, 0.5),
    "lib.scimath.sqrt": lambda x: np.lib.scimath.sqrt(x),
}


@pytest.mark.parametrize("name", LACKING)
def test_a_function_that_cupy_lacks(simulated, name):
    with pytest.raises(TypeError, match=rf"np\.{name} does not exist for arrays on a GPU"):
        LACKING[name](gpu(X))


@pytest.mark.parametrize(
    ("keyword", "call"),
    [
        ("where", lambda x: np.mean(x, where=np.ones((3, 3), bool))),
        ("weights", lambda x: np.quantile(x, 0.5, weights=np.ones(9), method="inverted_cdf")),
        ("stable", lambda x: np.sort(x, stable=True)),
    ],
)
def test_a_keyword_that_cupys_function_does_not_take(simulated, keyword, call):
    with pytest.raises(TypeError, match=f"takes no keyword '{keyword}' for arrays on a GPU"):
        call(gpu(X))
