"""What is needed less often: every rule of fluxlite/autodiff/derivatives/rarer/."""

import numpy as np
from gradcheck import Call
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from operands import any_number, arrays, axis_of, calls, one_of, positive, shapes


def of(*of_shapes, domain=any_number, args=(), **keywords):
    """Calls with operands of these shapes, and the same further arguments every time."""

    @calls
    def draw_call(draw, function):
        operands = [draw(arrays(shape, domain, i)) for i, shape in enumerate(of_shapes)]
        return Call(function, *operands, *args, **keywords)

    return draw_call


def apart(rng, shape):
    """Numbers that are far apart: a small step doesn't change their order."""
    n = int(np.prod(shape))
    return (rng.permutation(n).reshape(shape) + rng.uniform(0.2, 0.4, shape)) / max(n, 1) * 3 - 1.5


@calls
def full_like_calls(draw, function):
    x, more = draw(arrays(shapes(0, 2))), draw(st.sampled_from([{}, {"shape": (2, 1)}]))
    return Call(lambda x: function(x, np.sum(x * x), **more), x)


@calls
def unique_calls(draw, function):
    return Call(function, draw(arrays(shapes(1, 2, 1), apart)))


@calls
def bincount_calls(draw, function):
    index = draw(hnp.arrays(int, st.integers(1, 5), elements=st.integers(0, 3)))
    return Call(function, index, draw(arrays(index.shape)), draw(st.sampled_from([0, 6])))


@calls
def histogram_calls(draw, function):
    index = np.random.default_rng(draw(st.integers(0, 9))).uniform(0, 3, 5).astype(int)
    more = draw(st.sampled_from([{}, {"range": (0, 1)}, {"bins": 3}, {"density": True, "bins": 2}]))
    weights = draw(arrays((5,), positive))
    return Call(lambda i, weights: function(i, weights=weights, **more)[0].astype(weights.dtype), index, weights)


@calls
def quantile_calls(draw, function):
    shape = draw(shapes(1, 3, 1, 3))
    axis = draw(st.one_of(st.none(), axis_of(shape), hnp.valid_tuple_axes(len(shape), min_size=1)))
    scale = 100 if function is np.percentile else 1
    q = draw(st.sampled_from([0, 0.41, 1, [0.15, 0.87], np.array([[0.33]])]))
    q = [scale * part for part in q] if isinstance(q, list) else scale * q
    x = draw(arrays(shape, apart))
    if draw(st.booleans()):
        return Call(function, x, 0.41)
    return Call(lambda x: function(x, q, axis, keepdims=True).astype(x.dtype), x)


@calls
def median_calls(draw, function):
    shape = draw(shapes(1, 3, 1, 3))
    axis = draw(st.one_of(st.none(), axis_of(shape), hnp.valid_tuple_axes(len(shape), min_size=1)))
    return Call(function, draw(arrays(shape, apart)), axis=axis, keepdims=draw(st.booleans()))


def nan_calls(*axes, least=0, **keywords):
    """The operand has no NaN; the array that the function sees has."""

    @calls
    def draw_call(draw, function):
        x, axis = draw(arrays((3, 4), apart)), draw(st.sampled_from(axes))
        mask = np.random.default_rng(draw(st.integers(0, 50))).random((3, 4)) < 0.4
        mask[:least, :least] = False
        more = {name: draw(st.sampled_from(values)) for name, values in keywords.items()}
        with_nan = lambda x, mask: function(np.where(mask, np.nan, x), axis=axis, **more)  # noqa: E731
        return Call(with_nan, x, mask) if draw(st.booleans()) else Call(function, x, axis=axis, **more)

    return draw_call


@calls
def cov_calls(draw, function):
    more = draw(st.sampled_from([{}, {"rowvar": False}]))
    if function is np.cov:
        more |= draw(st.sampled_from([{}, {"bias": True}, {"ddof": 0}]))
    x = draw(arrays(draw(st.sampled_from([(3, 4), (2, 3)])), any_number))
    return (
        Call(function, x, draw(arrays(x.shape, any_number, 1)), **more)
        if draw(st.booleans())
        else Call(function, x, **more)
    )


@calls
def linspace_calls(draw, function):
    together = draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=2, min_side=1, max_side=3))
    ends = [draw(arrays(shape, which=i)) for i, shape in enumerate(together.input_shapes)]
    axis = draw(st.sampled_from([0, -1]))
    return Call(function, *ends, draw(st.integers(0, 4)), draw(st.booleans()), axis=axis)


@calls
def interp_calls(draw, function):
    xp = np.array([-1.5, -0.4, 0.3, 1.1, 1.7])
    x = draw(arrays(shapes(0, 2), lambda rng, shape: rng.choice([-1.8, -1, 0.1, 0.7, 1.3, 1.9], shape)))
    more = draw(st.sampled_from([{}, {"left": 2.0, "right": -1.0}]))
    return Call(lambda x, xp, fp: function(x, xp, fp, **more).astype(x.dtype), x, xp, draw(arrays((5,))))


@calls
def convolve_calls(draw, function):
    n, m = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    mode = draw(st.sampled_from(["full", "same", "valid"]))
    return Call(function, draw(arrays((n,))), draw(arrays((m,), which=1)), mode=mode)


@calls
def trapezoid_calls(draw, function):
    shape = draw(shapes(1, 3, 1))
    axis = draw(axis_of(shape))
    x = draw(st.sampled_from([None, "row", "all"]))
    if x is None:
        return Call(function, draw(arrays(shape)), dx=0.5, axis=axis)
    x = draw(arrays((shape[axis],) if x == "row" else shape, which=1))
    return Call(function, draw(arrays(shape)), x, axis=axis)


@calls
def gradient_calls(draw, function):
    x, edge_order = draw(arrays((3, 4))), draw(st.sampled_from([1, 2]))
    given = draw(st.sampled_from([((), None), ((), 1), ((0.5,), 0), ((0.5, 2.0), None), ((2.0,), (0, 1))]))
    return Call(function, x, *given[0], axis=given[1], edge_order=edge_order)


@calls
def meshgrid_calls(draw, function):
    xs = [draw(arrays((n,), which=n)) for n in range(1, draw(st.integers(2, 4)))]
    return Call(function, *xs, sparse=draw(st.booleans()), indexing=draw(st.sampled_from(["xy", "ij"])))


@calls
def block_calls(draw, function):
    x, y, z = draw(arrays((2, 2))), draw(arrays((2, 1), which=1)), draw(arrays((3,), which=2))
    return Call(function, draw(st.sampled_from([[[x, y], [z]], [x, y], [[x], [x]], [z, z], x])))


@calls
def insert_calls(draw, function):
    x = draw(arrays((3, 4)))
    obj, shape, axis = draw(st.sampled_from([
        (1, (), None), (2, (4,), 0), (-1, (3,), 1), ([0, 2], (), 0), ([1, 1, 3], (3, 3), 1), (slice(0, 2), (2, 4), 0),
        ([5, 0], (2,), None), (1, (2, 4), 0), ([1], (1,), None),
    ]))  # fmt: skip
    return Call(function, x, obj, draw(arrays(shape, which=1)), axis)


@calls
def delete_calls(draw, function):
    obj, axis = draw(st.sampled_from([(1, None), ([0, 2], 0), (-1, 1), (slice(0, 2), 1), ([], 0)]))
    return Call(function, draw(arrays((3, 4))), obj, axis)


@calls
def compress_calls(draw, function):
    condition, axis = draw(
        st.sampled_from([([True, False, True], 0), ([False, True], -1), ([True, False, True], None)])
    )
    return Call(function, np.array(condition, dtype=bool), draw(arrays((3, 4))), axis)


@calls
def extract_calls(draw, function):
    x = draw(arrays(shapes(1, 2, 1)))
    mask = np.random.default_rng(0).random(x.shape) < 0.5
    return Call(function, mask, x)


@calls
def select_calls(draw, function):
    x, y = draw(arrays((2, 3))), draw(arrays((3,), which=1))
    masks = [np.random.default_rng(i).random((2, 3)) < 0.5 for i in range(2)]
    return Call(function, masks, [x, y], default=2.0)


@calls
def choose_calls(draw, function):
    index = np.random.default_rng(draw(st.integers(0, 9))).integers(0, 3, (2, 3))
    return Call(function, index, [draw(arrays(shape, which=i)) for i, shape in enumerate([(2, 3), (3,), ()])])


@calls
def piecewise_calls(draw, function):
    x = draw(arrays(shapes(1, 2), lambda rng, shape: rng.uniform(0.3, 2, shape) * rng.choice([-1, 1], shape)))
    conditions = lambda x: [x < 0, x > 0.2]  # noqa: E731
    functions = draw(st.sampled_from([[np.square, np.sqrt], [lambda x: -x, lambda x: x * x, 3.0], [1.0, np.exp]]))
    return Call(lambda x: function(x, conditions(x), functions), x)


@calls
def window_calls(draw, function):
    window, axis = draw(st.sampled_from([(2, 0), ((2, 3), None), ((2, 2), (0, 1)), ((1, 2), (1, 1)), (3, -1)]))
    return Call(function, draw(arrays((3, 4))), window, axis)


@calls
def cumulative_calls(draw, function):
    x = draw(arrays(shapes(1, 3)))
    axis = draw(axis_of(x.shape)) if x.ndim > 1 else draw(st.sampled_from([None, 0]))
    return Call(function, x, axis=axis, include_initial=draw(st.booleans()))


@calls
def cross_calls(draw, function):
    first, second, more = draw(st.sampled_from([
        ((3,), (3,), {}), ((2, 3), (3,), {}), ((3, 2), (3, 2), {"axis": 0}), ((4, 1, 3), (2, 3), {}),
        ((3, 2), (2, 3), {"axisa": 0, "axisc": 0}),
    ]))  # fmt: skip
    return Call(function, draw(arrays(first)), draw(arrays(second, which=1)), **more)


def symmetric(function, x):
    return function((x + np.swapaxes(x, -1, -2)) / 2)


@st.composite
def spread_out(draw, shape):
    """Matrices whose eigenvalues and singular values are far from each other."""
    x = draw(arrays(shape, lambda rng, shape: rng.uniform(-0.4, 0.4, shape)))
    rows, columns = shape[-2:]
    return x + np.eye(rows, columns) * np.arange(1, columns + 1) * 1.5


@calls
def symmetric_calls(draw, function):
    x = draw(spread_out(draw(st.sampled_from([(3, 3), (1, 1), (2, 2, 2)]))))
    return Call(lambda x: symmetric(function, x), x)


@calls
def svd_calls(draw, function):
    x = draw(spread_out(draw(st.sampled_from([(3, 3), (2, 3), (4, 2), (2, 2, 3), (1, 1)]))))
    return Call(function, x, full_matrices=False) if draw(st.booleans()) else Call(function, x, compute_uv=False)


@calls
def matrices_calls(draw, function):
    return Call(function, draw(spread_out(draw(st.sampled_from([(3, 3), (2, 3), (4, 2), (2, 2, 3), (1, 1)])))))


@calls
def power_calls(draw, function):
    return Call(function, draw(spread_out(draw(st.sampled_from([(3, 3), (2, 2, 2)])))), draw(st.integers(-2, 5)))


@calls
def multi_dot_calls(draw, function):
    chain = draw(st.sampled_from([[(2, 3), (3, 1), (1, 2)], [(3,), (3, 2)], [(2, 3), (3, 2), (2,)], [(3,), (3,)]]))
    return Call(function, [draw(arrays(shape, which=i)) for i, shape in enumerate(chain)])


@calls
def vector_norm_calls(draw, function):
    x = draw(arrays((2, 3, 2), positive))
    axis = draw(st.sampled_from([None, 0, -1, (0, 2), (2, 1)]))
    return Call(function, x, axis=axis, keepdims=draw(st.booleans()), ord=draw(st.sampled_from([2, 1, 3, np.inf])))


@calls
def matrix_norm_calls(draw, function):
    x = draw(spread_out((2, 3, 3)))
    axis = draw(st.sampled_from([(1, 2), (2, 1), (-1, -2)]))
    return Call(function, x, draw(st.sampled_from(["nuc", 2, -2, 1, -1, np.inf, -np.inf])), axis, draw(st.booleans()))


TABLE = [
    (np.full_like, full_like_calls),
    (np.unique, unique_calls),
    (np.bincount, bincount_calls),
    (np.histogram, histogram_calls),
    (np.quantile, quantile_calls),
    (np.percentile, quantile_calls),
    (np.median, median_calls),
    (np.nansum, nan_calls(None, 0, (0, 1), keepdims=[True, False])),
    (np.nanprod, nan_calls(None, 1)),
    (np.nancumsum, nan_calls(None, 1)),
    (np.nancumprod, nan_calls(None, 1)),
    (np.nanmean, nan_calls(None, (0, 1), keepdims=[True, False], least=2)),
    (np.nanvar, nan_calls(None, (0, 1), ddof=[0, 1], least=2)),
    (np.nanstd, nan_calls(None, (0, 1), keepdims=[True, False], least=2)),
    (np.nanmax, nan_calls(None, (0, 1), keepdims=[True, False], least=2)),
    (np.nanmin, nan_calls(None, (0, 1), least=2)),
    (np.cov, cov_calls),
    (np.corrcoef, cov_calls),
    (np.linspace, linspace_calls),
    (np.interp, interp_calls),
    (np.convolve, convolve_calls),
    (np.trapezoid, trapezoid_calls),
    (np.gradient, gradient_calls),
    (np.ediff1d, one_of(of((4,)), of((2, 2), (2,), (1,)), of((0,)))),
    (np.polyval, one_of(of((3,), (2, 2)), of((1,), ()), of((4,), args=(np.array([0.5, -1.0]),)))),
    (np.vander, one_of(of((3,)), of((3,), args=(2,)), of((2,), N=4, increasing=True), of((2,), args=(0,)))),
    (np.meshgrid, meshgrid_calls),
    (np.block, block_calls),
    (np.insert, insert_calls),
    (np.delete, delete_calls),
    (np.compress, compress_calls),
    (np.extract, extract_calls),
    (np.select, select_calls),
    (np.choose, choose_calls),
    (np.piecewise, piecewise_calls),
    (np.lib.stride_tricks.sliding_window_view, window_calls),
    (np.cross, cross_calls),
    (np.vecdot, one_of(of((3,), (3,)), of((2, 3), (3,)), of((2, 1, 3), (4, 3)))),
    (np.linalg.vecdot, one_of(of((3,), (3,)), of((2, 3), (3,)), of((3, 2), (3, 2), axis=0))),
    (np.linalg.eigvalsh, symmetric_calls),
    (np.linalg.eigh, symmetric_calls),
    (np.linalg.svd, svd_calls),
    (np.linalg.svdvals, matrices_calls),
    (np.linalg.pinv, matrices_calls),
    (np.linalg.matrix_power, power_calls),
    (np.linalg.multi_dot, multi_dot_calls),
    (np.linalg.vector_norm, vector_norm_calls),
    (np.linalg.norm, matrix_norm_calls),
]
if hasattr(np, "unstack"):  # since NumPy 2.1
    TABLE += [(np.unstack, one_of(of((2, 3)), of((2, 3), axis=-1), of((3,))))]
    TABLE += [(np.cumulative_sum, cumulative_calls), (np.cumulative_prod, cumulative_calls)]

# MLX has no such functions, signs of its own for the vectors, or no GPU for them.
NOT_ON_METAL = [
    np.bincount, np.convolve, np.histogram, np.unique, np.interp, np.compress, np.extract, np.linalg.eigh,
    np.linalg.eigvalsh, np.linalg.pinv, np.linalg.svd, np.linalg.svdvals,
]  # fmt: skip
