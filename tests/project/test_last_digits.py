"""What is compared doesn't depend on last digits: the rule for outputs, and the processor that finds who breaks it."""

import numpy as np
import pytest

from tools import last_digits
from tools.outputs import Output, alike

SAME = [
    ("loss 0.0649", "loss 0.0650"),
    ("99.9%", "100.0%"),
    ("[ 9.99  1.  ]", "[10.    1.  ]"),  # a column that got wider
    ("1,644.5 µs", "1,644.6 µs"),
    ("[-0.  0.5]", "[0.  0.5]"),
    ("1.25e-07", "1.24e-07"),
    ("3.5, 4.5.", "3.5, 4.6."),  # the dot ends a sentence
]
DIFFERENT = [
    ("loss 0.0649", "loss 0.0651"),
    ("loss 0.06492143", "loss 0.06492267"),
    ("loss 0.0649", "loss -0.0649"),
    ("12 launches", "13 launches"),
    ("v0.1.0", "v0.1.1"),
    ("layers[0].weight", "layers[1].weight"),
    ("[0.5 1.5]", "[0.5]"),
]


@pytest.mark.parametrize(("one", "other"), SAME + DIFFERENT)
def test_last_digits_and_the_width_of_columns_do_not_count_and_all_else_does(one, other):
    expected = (one, other) in SAME
    assert (Output(one) == Output(other)) is expected and alike(other, one) is expected


def test_a_product_has_other_digits_and_the_rest_has_not():
    x = np.random.default_rng(0).random((5, 5)).astype(np.float32)
    for function, differs in [(np.matmul, True), (np.tanh, True), (np.add, False), (np.sqrt, False)]:
        arguments = (x, x) if function.nin == 2 else (x,)
        result = last_digits.differently(lambda f, *a: f(*a))(function, *arguments)
        assert np.allclose(result, function(*arguments), rtol=1e-6)
        assert np.array_equal(result, function(*arguments)) is not differs
