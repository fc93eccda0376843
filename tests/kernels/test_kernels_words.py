"""More of what errors say: indices from the end, rows and columns, lists, and how a kernel is asked for its figures."""

import pytest
from test_kernels_advice import PART, I, kernel_of, launched  # noqa: F401
from test_kernels_run import escaped

from fluxlite.cuda import jit

pytestmark = pytest.mark.usefixtures("simulated")

OUTSIDE = [
    ("out[0] = x[-1]", "doesn't count from the end. Write x[x.size - 1]."),
    ("out[0] = z[0, -2]", "Write z[0, z.shape[1] - 2]."),
    (PART + "part[-1] = 0.0", "Write part[32 - 1]."),
    ("i = jit.grid(1)\nif i - 1 >= 0:\n    out[i] = x[i - 1]", "write i = int(jit.grid(1))"),
]


@pytest.mark.parametrize(("body", "words"), OUTSIDE)
def test_an_index_below_zero(body, words, kernel_of):  # noqa: F811
    with pytest.raises(jit.OutOfBounds, match=escaped(words)) as error:
        launched(kernel_of(body), 1, 32)
    assert "Guard" not in str(error.value)  # none would help, or it stands there


REFUSED = {
    "row = 1\nz[row * 8 + 2] = 0.0": "z has 2 axes: write z[row, 2]",
    "row = 1\nout[0] = z[2 + 8 * row]": "z has 2 axes: write z[row, 2]",
    "row = 1\nout[0] = z[2 + row * z.shape[1]]": "z has 2 axes: write z[row, 2]",
    "row = 1\nout[0] = x[0, row]": "x has 1 axis: write x[row]",
    "row = 1\nout[0] = x[row, 0]": "x has 1 axis: write x[row]",
}


@pytest.mark.parametrize("body", REFUSED)
def test_what_to_write_instead(body, kernel_of):  # noqa: F811
    with pytest.raises(jit.Refused, match=escaped(REFUSED[body])):
        launched(kernel_of(body), 1, 4)
