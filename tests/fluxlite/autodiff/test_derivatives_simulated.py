"""Every rule of the table of derivatives on a simulated GPU: it needs no function and no keyword that CuPy lacks."""

import numpy as np
import pytest
import test_derivatives_elementwise
import test_derivatives_products
import test_derivatives_rarer
import test_derivatives_reductions
import test_derivatives_shaping
from gradcheck import Call, assert_close, parts_of
from hypothesis import assume, given
from hypothesis import strategies as st
from inside import plain
from operands import fewer_examples

import fluxlite as fl
from fluxlite.simulated import SimulatedArray

TABLE = (
    test_derivatives_elementwise.TABLE
    + test_derivatives_products.TABLE
    + test_derivatives_rarer.TABLE
    + test_derivatives_reductions.TABLE
    + test_derivatives_shaping.TABLE
)
COUNTS = (np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit, np.repeat, np.tile)


def there(x):
    return fl.gpu(x, dtype=None)


def with_the_rest(call):
    """The call with its indices and masks, which are no operands, on the GPU; counts stay on the host."""

    def placed(x):
        if isinstance(x, np.ndarray) and x.dtype.kind != "f" and call.function is np.repeat:
            return x.tolist()  # of a host's arrays, CuPy takes no counts
        if isinstance(x, np.ndarray) and x.dtype.kind != "f" and call.function not in COUNTS:
            return there(x)
        return type(x)(map(placed, x)) if type(x) in (list, tuple) else x

    return Call(call.function, *placed(call.args), **{name: placed(x) for name, x in call.kwargs.items()})


def loss(call):
    """The sum of the squares of all results."""
    return lambda *operands: sum(np.sum(part**2) for part in parts_of(call(*operands)) if plain(part).dtype.kind == "f")


@pytest.mark.parametrize("row", TABLE, ids=lambda row: getattr(row[0], "__name__", str(row[0])))
@fewer_examples
@given(st.data())
def test_rule(row, data):
    call = data.draw(row[1](row[0]))
    assume(call.function is row[0] or row[0] is not np.average)  # not with weights of its own, which are on the host
    wanted = fl.gradient(loss(call), *call.operands)
    with fl.simulate_gpu():
        gradients = fl.gradient(loss(with_the_rest(call)), *map(there, call.operands))
        for got, value in zip(gradients, wanted, strict=True):
            assert (type(got) is SimulatedArray) == (value is not None)
            if value is not None:
                assert_close(fl.cpu(got), value, 1e-9, "gradient")
