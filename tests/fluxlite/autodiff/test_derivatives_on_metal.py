"""Every rule of the table of derivatives, computed by MLX, against the same rule computed by NumPy, in Float64."""

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
from inside import MetalArray, MetalDevice, lies_alike, plain
from operands import fewer_examples

import fluxlite as fl

pytest.importorskip("mlx.core")

device = MetalDevice()
TABLE = [
    (module.__name__.removeprefix("test_derivatives_"), *row)
    for module in (
        test_derivatives_elementwise,
        test_derivatives_products,
        test_derivatives_rarer,
        test_derivatives_reductions,
        test_derivatives_shaping,
    )
    for row in module.TABLE
]


def there(x):
    return device(x, dtype=None)


def here(x):
    return x


def with_the_rest(call, place):
    """The call with its indices and masks, which are no operands, where `place` puts them; not with counts."""
    has_counts = call.function.__name__ in ("split", "array_split", "hsplit", "vsplit", "dsplit", "repeat", "tile")

    def placed(x):
        if isinstance(x, np.ndarray) and x.dtype.kind != "f" and not has_counts:
            return place(x)
        return type(x)(map(placed, x)) if type(x) in (list, tuple) else x

    return Call(call.function, *placed(call.args), **{name: placed(x) for name, x in call.kwargs.items()})


def weighted_sum(f, place):
    """`f` followed by a sum with fixed weights, which `place` puts where the operands are."""

    def loss(*operands):
        rng = np.random.default_rng(5)
        results = [part for part in parts_of(f(*operands)) if plain(part).dtype.kind == "f"]
        return sum(np.sum(part * place(rng.uniform(0.5, 1.5, np.shape(plain(part))))) for part in results)

    return loss


# MLX has no such functions, or signs of its own for the vectors.
REFUSED = (
    np.bincount, np.convolve, np.histogram, np.unique,
    np.linalg.eigh, np.linalg.eigvalsh, np.linalg.pinv, np.linalg.svd, np.linalg.svdvals,
)  # fmt: skip


@pytest.mark.parametrize("row", [row for row in TABLE if row[1] in REFUSED], ids=lambda row: row[1].__name__)
@fewer_examples
@given(st.data())
def test_what_is_missing_is_refused_by_name(row, data):
    call = with_the_rest(data.draw(row[2](row[1])), there)
    with pytest.raises(TypeError, match=r"np\.[\w.]+ does not exist for arrays on Metal"):
        fl.gradient(weighted_sum(call, there), *map(there, call.operands))


def needs_singular_values(call):
    return call.args[1:2] in (("nuc",), (2,), (-2,)) and np.size(call.args[2]) == 2


def test_a_norm_that_needs_singular_values_is_refused_by_name():
    x = there(np.eye(3))
    for f in (lambda x: np.linalg.norm(x, "nuc"), lambda x: np.linalg.pinv(x)[0, 0], lambda x: np.linalg.norm(x, 2)):
        with pytest.raises(TypeError, match=r"np\.linalg\.(svd|pinv) does not exist for arrays on Metal"):
            fl.gradient(f, x)


ROWS = [row for row in TABLE if row[1] not in REFUSED]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}-{getattr(row[1], '__name__', row[1])}")
@fewer_examples
@given(st.data())
def test_rule(row, data):
    call = data.draw(row[2](row[1]))
    assume(call.function is row[1] or row[1] is not np.average)  # not with weights of its own, which are on the host
    assume(row[1] is not np.linalg.norm or not needs_singular_values(call))
    on_metal, operands = with_the_rest(call, there), call.operands
    for got, wanted in zip(parts_of(on_metal(*map(there, operands))), parts_of(call(*operands)), strict=True):
        assert type(got) is MetalArray and got.dtype == wanted.dtype
        assert_close(fl.cpu(got), wanted, 1e-6, "value")
    gradients = fl.gradient(weighted_sum(on_metal, there), *map(there, operands))
    for got, wanted in zip(gradients, fl.gradient(weighted_sum(call, here), *operands), strict=True):
        if wanted is None:
            assert got is None
            continue
        assert type(got) is MetalArray and (got.size == 0 or lies_alike(got, wanted))
        assert_close(fl.cpu(got), wanted, 1e-6, "gradient")
