"""What CuPy lacks is refused by name, also where CuPy isn't installed to compare with (test_surface.py does that)."""

import numpy as np
import pytest

REFUSED = [
    ("np.insert does not exist", lambda x: np.insert(x, 0, 1)),
    ("np.block does not exist", lambda x: np.block([[x, x]])),
    ("np.linalg.multi_dot does not exist", lambda x: np.linalg.multi_dot([x, x, x])),
    ("np.lib.scimath.sqrt does not exist", lambda x: np.lib.scimath.sqrt(x)),
    ("np.spacing does not exist", lambda x: np.spacing(x)),
    ("takes no keyword 'subok'", lambda x: np.add(x, x, subok=False)),
    ("takes no keyword 'where'", lambda x: np.sum(x, where=np.ones((3, 3), bool))),
    ("takes no keyword 'initial'", lambda x: np.max(x, initial=0)),
    ("takes no keyword 'stable'", lambda x: np.sort(x, stable=True)),
    ("takes no keyword 'weights'", lambda x: np.quantile(x, 0.5, weights=np.ones(9), method="inverted_cdf")),
    ("takes no keyword 'out'", lambda x: np.fft.fft(x, out=x)),
    ("takes no keyword 'device'", lambda x: np.zeros_like(x, device="cpu")),
]


@pytest.mark.parametrize(("words", "call"), REFUSED)
def test_what_cupy_lacks(simulated, words, call):
    with pytest.raises(TypeError, match=f"{words} for arrays on a GPU"):
        call(simulated(np.arange(1.0, 10, dtype=np.float32).reshape(3, 3)))
