"""Loops that can't end are found soon, and no loop that ends is taken for one of them."""

import numpy as np
import pytest
from test_kernels_advice import PART, I, kernel_of, launched  # noqa: F401
from test_kernels_run import escaped

import fluxlite as fl
from fluxlite.cuda import jit

pytestmark = pytest.mark.usefixtures("simulated")

ENDLESS = [
    (PART + I + "part[t] = 0.0\nwhile i < x.size:\n    part[t] += x[i]",
     "`i` and `x.size` don't change in this loop: `while i < x.size` can't end.*Did you forget `i += …`?"),
    ("half = 16\nwhile half >= 0:\n    half = half // 2",
     "begins with the same numbers as an earlier one: `while half >= 0` can't end."),
    ("k = 0\nwhile k < 5:\n    k = (k + 1) % 3", "begins with the same numbers"),
    (I + "while True:\n    if i > 99:\n        break\n    s = x[0]", "`while True` ends by `break` alone"),
    ("while x[0] < 1.0:\n    s = 1.0", "what it tests: `while x[0] < 1.0`.*waits for another one's write may wait"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "words"), ENDLESS)
def test_a_loop_that_sees_the_same_numbers_again(body, words, kernel_of):  # noqa: F811
    kernel = kernel_of(body)
    kernel.most_rounds = 10**9  # so that no limit of rounds ends it
    with pytest.raises(jit.Endless, match=escaped(words)) as error:
        launched(kernel, 1, 32)
    assert ("waits for" in str(error.value)) == ("waits for" in words)


ENDING = [
    ("k = 0\nm = 0\nwhile m < 3:\n    k += 1\n    if k % 500 == 0:\n        m += 1\nout[0] = m", 3),
    ("k = 0\nwhile True:\n    k += 1\n    if k == 700:\n        break\nout[0] = k", 700),
    ("k = 0\na = 5\nb = 5\nwhile a < 9:\n    k += 1\n    a = b\n    b = k // 100\nout[0] = a", 9),
    ("out[0] = 0.0\nwhile out[0] < 400.0:\n    out[0] += 1", 400),
    ("s = 0.0\nout[0] = 0.0\nwhile s < 300.0:\n    s = jit.atomic_add(out, 0, 1.0)", 301),
    ("s = 0.0\nwhile s < 300.0:\n    s += x[1]\nout[0] = s", 300),
]


@pytest.mark.parametrize(("body", "last"), ENDING)
def test_a_loop_that_ends_late(body, last, kernel_of):  # noqa: F811
    out = fl.gpu(np.zeros(4, np.float32))
    x = fl.gpu(np.arange(4, dtype=np.float32))
    kernel_of(body)[1, 1](x, x, x, out)
    assert fl.cpu(out)[0] == last


def test_the_limit_of_rounds(kernel_of):  # noqa: F811
    kernel = kernel_of("k = 0\nwhile k >= 0:\n    k += 1")
    kernel.most_rounds = 2000
    with pytest.raises(jit.Endless, match="2,000 rounds, and 32 threads are still in") as error:
        launched(kernel, 1, 32)
    assert "waits" not in str(error.value)
    assert "100,000" in jit.Kernel.__doc__
