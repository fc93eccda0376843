"""Where CuPy's value isn't NumPy's: `DIFFERENT` of `simgpu/values.py`, a test for each row."""

import numpy as np
import pytest
import rehearsal
from inside import DIFFERENT, arithmetic

import fluxlite as fl
from fluxlite.devices import cpu

ONES, NOISE = np.ones((4096, 2), np.float16), np.random.default_rng(1).random((4096, 2)).astype(np.float16)


def factors(x):
    """1 and 513/512, which float16 can hold."""
    return 1 + (x > 0.5).astype(x.dtype) / 512


# Each is computed for float16, and compared with float64. NumPy's own float16 misses each by far.
SUMS = {
    "sum": lambda x: np.sum(x, axis=0),
    "x.sum": lambda x: x.sum(axis=0),
    "sum to out": lambda x: np.sum(x, axis=0, out=np.zeros_like(x[0])),
    "sum as a type": lambda x: np.sum(x, axis=0, dtype=x.dtype.type),
    "add.reduce": lambda x: np.add.reduce(x),
    "add.accumulate": lambda x: np.add.accumulate(x, axis=0),
    "nansum": lambda x: np.nansum(x, axis=0),
    "nanmean": lambda x: np.nanmean(x, axis=0),
    "average": lambda x: np.average(x, axis=0, weights=x),
    "var": lambda x: np.var(x, axis=0),
    "x.var": lambda x: x.var(axis=0),
    "std": lambda x: np.std(x, axis=0, keepdims=True),
    "nanvar": lambda x: np.nanvar(x, axis=0),
    "nanstd": lambda x: np.nanstd(x, axis=0),
    "einsum": lambda x: np.einsum("ij->j", x),
    "einsum as a type": lambda x: np.einsum("ij->j", x, dtype=x.dtype),
    "cumsum": lambda x: np.cumsum(x, axis=0)[-1],
    "x.cumsum": lambda x: x.cumsum(axis=0)[-1],
    "nancumsum": lambda x: np.nancumsum(x, axis=0)[-1],
    "cumulative_sum": lambda x: np.cumulative_sum(x, axis=0)[-1],
    "trapezoid": lambda x: np.trapezoid(x, axis=0),
    "prod": lambda x: np.prod(factors(x), axis=0),
    "nanprod": lambda x: np.nanprod(factors(x), axis=0),
    "x.prod": lambda x: factors(x).prod(axis=0),
    "cumprod": lambda x: np.cumprod(factors(x), axis=0)[-1],
    "nancumprod": lambda x: np.nancumprod(factors(x), axis=0)[-1],
    "cumulative_prod": lambda x: np.cumulative_prod(factors(x), axis=0)[-1],
    "trace": lambda x: np.trace(np.broadcast_to(x, (4096, *x.shape))),
}

if not hasattr(np, "cumulative_sum"):  # since NumPy 2.1
    del SUMS["cumulative_sum"], SUMS["cumulative_prod"]


@pytest.mark.on("Simulated", "CUDA")
@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("h", [ONES, NOISE], ids=["ones", "noise"])
def test_float16_is_added_up_in_float32(name, h, device):
    found = SUMS[name](device(h))
    assert found.dtype == np.float16
    np.testing.assert_allclose(cpu(found), SUMS[name](h.astype(np.float64)), rtol=0.01)


def test_other_types_are_added_up_as_they_are(simulated):
    x = simulated(ONES)
    assert np.sum(x, axis=0, dtype=np.float32).dtype == np.einsum("ij->j", x, dtype=np.float32).dtype == np.float32
    view = np.einsum("ij->ji", x)
    assert view.base is x and np.sum(x, axis=0).base is None
    assert type(np.average(x, axis=0, returned=True)[1]) is type(x)


@pytest.mark.on("Simulated", "CUDA")
def test_a_bias_in_float16_gets_its_whole_gradient(device):
    """Added up in float16, it'd be 2048 for any larger batch."""
    x = device(np.ones((4096, 3), np.float16))
    dense = device(fl.Dense.of(np.ones((2, 3), np.float16), np.zeros(2, np.float16)))
    found = fl.gradient(lambda dense: np.sum(dense(x)[:, 0]) + np.sum(dense(x)[:, 1]), dense)[0]
    assert found.bias.dtype == np.float16 and cpu(found.bias).tolist() == [4096, 4096]


# -- floats that become integers, // and % -----------------------------------------------------------------------------

# PTX's cvt.rzi, to 32 or 64 bits; of those, an integer of 8 or 16 bits gets the lowest.
NUMBERS = [-1.5, 300.7, -3e9, 3e9, 1e19, np.inf, -np.inf, np.nan]
CAST = {
    "i1": [-1, 44, 0, -1, -1, -1, 0, 0], "u1": [0, 44, 0, 0, 255, 255, 0, 0],
    "i2": [-1, 300, 0, -1, -1, -1, 0, 0], "u2": [0, 300, 0, 24064, 65535, 65535, 0, 0],
    "i4": [-1, 300, -(2**31), 2**31 - 1, 2**31 - 1, 2**31 - 1, -(2**31), 0],
    "u4": [0, 300, 0, 3 * 10**9, 2**32 - 1, 2**32 - 1, 0, 0],
    "i8": [-1, 300, -3 * 10**9, 3 * 10**9, 2**63 - 1, 2**63 - 1, -(2**63), -(2**63)],
    "u8": [0, 300, 0, 3 * 10**9, 10**19, 2**64 - 1, 0, 2**63],
}  # fmt: skip


@pytest.mark.parametrize("to", CAST)
def test_a_float_that_an_integer_cannot_hold_becomes_the_nearest(to):
    found = arithmetic.cast(np.array(NUMBERS, np.float64), to)
    nan = {"i4": -(2**31), "u4": 2**31}.get(to, CAST[to][-1])  # of float64
    assert found.dtype == to and found.tolist() == [*CAST[to][:-1], nan]
    in_float32 = {"u8": 9999999980506447872}.get(to, CAST[to][4])
    found = arithmetic.cast(np.array(NUMBERS, np.float32), to)
    assert found.tolist() == [*CAST[to][:4], in_float32, *CAST[to][5:]]
    assert arithmetic.cast(np.array([-2, 7, np.nan], np.float16), to).tolist() == [
        arithmetic.cast(np.float32(x), to) for x in (-2, 7, np.nan)
    ]


# A rehearsal answers with NumPy's values for a card's kernels, and these aren't NumPy's.
of_kernels = pytest.mark.skipif(rehearsal.is_on(), reason="not rehearsed: the values of compiled kernels")
INF, NAN, LARGEST = np.inf, np.nan, 2**31 - 1
WRITTEN = {  # what's in an array of int32 after 3e9 was written to it
    "x[:] = y": lambda x, y: x.__setitem__(slice(None), y),
    "x[places] = y": lambda x, y: x.__setitem__([0, 1], y),
    "x[mask] = y": lambda x, y: x.__setitem__(x == 0, y),
    "x.flat": lambda x, y: x.flat.__setitem__(slice(None), y),
    "copyto": lambda x, y: np.copyto(x, y, casting="unsafe"),
    "put": lambda x, y: np.put(x, np.arange(2, like=x), y),
    "put in place": lambda x, y: x.put(np.arange(2, like=x), y),
    "place": lambda x, y: np.place(x, x == 0, y),
    "put_along_axis": lambda x, y: np.put_along_axis(x, np.array([0, 3], like=x), y, 0),  # 3 is 1 of 2
    "add": lambda x, y: np.add(y, 0.0, out=x, casting="unsafe"),
    "remainder": lambda x, y: np.remainder(y, 1e20, out=x, casting="unsafe"),
}
MADE = {  # what else makes an int32 of 3e9
    "astype": lambda y: y.astype(np.int32),
    "astype of NumPy": lambda y: np.astype(y, np.int32) if hasattr(np, "astype") else y.astype(np.int32),
    "full_like": lambda y: np.full_like(y, 3e9, dtype=np.int32),
    "array": lambda y: np.array(y, np.int32, like=y),
    "sum": lambda y: np.sum(y[:, None], axis=1, dtype=np.int32),
    "cumulative": lambda y: np.add.accumulate(y[None], axis=0, dtype=np.int32)[0],
    "concatenate": lambda y: np.concatenate([y[:1], y[1:]], dtype=np.int32, casting="unsafe"),
    "stack": lambda y: np.stack([y], dtype=np.int32, casting="unsafe")[0],
    "hstack": lambda y: np.hstack([y], dtype=np.int32, casting="unsafe"),
    "vstack": lambda y: np.vstack([y], dtype=np.int32, casting="unsafe")[0],
    "multiply": lambda y: np.multiply(y, 1, dtype=np.int32, casting="unsafe"),
    "mean": lambda y: np.mean(y[:, None], axis=1, dtype=np.int32),
}


@of_kernels
@pytest.mark.on("Simulated", "CUDA")
@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_written_into_integers_stays_in_their_range(name, device):
    x, y = device(np.zeros(2, np.int32)), device(np.full(2, 3e9), dtype=None)
    WRITTEN[name](x, y)
    assert cpu(x).tolist() == [LARGEST] * 2


@of_kernels
@pytest.mark.on("Simulated", "CUDA")
@pytest.mark.parametrize("name", MADE)
def test_integers_that_are_made_of_floats_stay_in_their_range(name, device):
    found = MADE[name](device(np.full(2, 3e9)))
    assert found.dtype == np.int32 and cpu(found).tolist() == [LARGEST] * 2


# -- formulas that aren't NumPy's --------------------------------------------------------------------------------------


def a(*values, dtype=np.float64):
    return np.array(values, dtype)


def whole(*values):
    return np.array(values, np.int64)


C = np.array([NAN + 2j, 1 + 1j])
FORMULAS = {  # a call, its operands, and a card's value
    "floor_divide": (np.floor_divide, [a(0.9, 1, -1, 5), a(0.1, 0.1, INF, INF)], [9, 10, -0.0, 0]),
    "floor_divide of integers": (np.floor_divide, [whole(7, -7, 7), whole(0, 2, -2)], [0, -4, -4]),
    "remainder": (np.remainder, [a(5, 5, -1), a(3, INF, INF)], [2, NAN, NAN]),
    # The product and the difference are rounded once.
    "remainder that cancels": (lambda x, y: np.remainder(x, y) * 2**54, [a(1), a(0.1)], [-1]),
    "remainder of float32": (np.remainder, [np.float32([1e9]), np.float32([np.pi])], [-33.533325]),
    "remainder of float16": (np.remainder, [a(5, 7.5, dtype=np.float16), a(3, 2, dtype=np.float16)], [2, 1.5]),
    "divmod": (lambda x, y: divmod(x, y)[0], [a(1.0), a(0.1)], [10]),
    "fmod": (np.fmod, [whole(2**53 + 1, 5, -5), whole(2, 0, 3)], [0, 0, -2]),  # 2**53 + 1 isn't a float64
    "reciprocal": (np.reciprocal, [whole(0, 1, -1, 2)], [0, 1, -1, 0]),
    "left_shift": (lambda x, y: x << y, [whole(3, 3, 3), whole(2, 64, 2**32 + 1)], [12, 0, 6]),
    "right_shift": (lambda x, y: x >> y, [whole(-8, -8, 8), whole(2, 64, 2**32 + 1)], [-2, -1, 4]),
    "ldexp": (np.ldexp, [a(1.5), whole(2**32 + 1)], [3]),
    "expm1": (np.expm1, [np.array([complex(INF, 0), complex(-INF, INF), 0.5])], [INF, -1, np.expm1(0.5)]),
    "log1p": (np.log1p, [np.array([1e-20 + 0j])], [0]),
    "log2": (np.log2, [np.array([8 + 0j])], [3]),
    "nextafter": (np.nextafter, [a(INF, 1, dtype=np.float16), a(0, 1, dtype=np.float16)], [NAN, 1]),
    "arange": (lambda x: np.arange(1, 3, 0.1, like=x)[10:12], [a(0)], 1 + a(10, 11) * 0.1),
    "arange of integers": (lambda x: np.arange(4, 1, -1.2, dtype=int, like=x), [a(0)], [4, 3, 2]),
    "linspace": (lambda x: np.linspace(x[0], x[1], 5, dtype=np.uint8), [a(-2, 2)], [0, 0, 0, 1, 2]),
    "logspace": (lambda x: np.logspace(x[0], x[1], 2, dtype=np.uint8), [a(0, 1)], [1, 10]),
    "angle": (np.angle, [a(1, -0.0, -1, NAN)], [0, 0, np.pi, np.pi]),
    "angle in degrees": (lambda x: np.angle(x, deg=True), [a(2, -2)], [0, 180]),
    "sinc": (np.sinc, [a(0, 1, 2, 0.5, NAN)], [1, 0, 0, 2 / np.pi, 1]),
    "clip": (np.clip, [a(1, 5, NAN), a(NAN, NAN, 0), a(2, 2, 2)], [1, 2, NAN]),
    "clip to a number": (lambda x: x.clip(NAN, 2.0), [a(1, 5)], [1, 2]),
    "round": (lambda x: np.round(x, 2), [a(2.675, dtype=np.float32)], [np.float32(2.67)]),
    "round to tens": (lambda x: np.round(x, -1), [whole(25, 35, -155, 123456789012345675)],
                      [20, 40, -160, 123456789012345680]),
    "around": (lambda x: np.around(x, 1), [a(0.25)], [0.2]),
    "unwrap": (lambda x: np.unwrap(x, period=0.1), [a(0, -0.95)], [0, -0.05]),
    "argsort": (np.argsort, [whole(1, 1, 0, 0)], [2, 3, 0, 1]),
    "argsort of many": (lambda x: np.argsort(x)[:3], [whole(*[1, 0] * 50)], [1, 3, 5]),
    "partition": (lambda x: np.partition(x, 2), [a(3, 5, 1, 4, 2)], [1, 2, 3, 4, 5]),
    "partition in place": (lambda x: x.partition(0) or x, [a(3, 5, 1, 4, 2)], [1, 2, 3, 4, 5]),
    "argpartition": (lambda x: np.argpartition(x, 0), [a(1, 1, 0, 0)], [2, 3, 0, 1]),
    "nanargmax": (lambda x: np.nanargmax(x, axis=1), [a([NAN, NAN], [1, 2], [NAN, -INF])], [-1, 1, 1]),
    "nanargmin": (lambda x: np.nanargmin(x, axis=1), [a([NAN, NAN], [1, 2], [NAN, INF])], [-1, 0, 1]),
    "searchsorted": (np.searchsorted, [a(1, 2, 3), a(2, NAN)], [1, 3]),
    "searchsorted without order": (np.searchsorted, [whole(1, 9, 2, 10), whole(2, 5)], [1, 1]),
    "digitize": (np.digitize, [a(2, 9), a(1, 3, 2)], [3, 3]),
    "intersect1d": (lambda x, y: np.intersect1d(x, y, assume_unique=True), [whole(3, 1, 2), whole(1, 3)], [3, 1]),
    "delete": (lambda x: np.delete(x, np.array([4, 0], like=x)), [a(7, 8, 9)], [9]),  # 4 is 1 of 3
    "nansum as integers": (lambda x: np.nansum(x, dtype=int), [a(1.5, NAN, 2.5)], 3),
    "nanprod as integers": (lambda x: np.nanprod(x, dtype=np.int32), [a(3.5, NAN)], 3),
    "nancumsum": (lambda x: np.nancumsum(x, dtype=int), [a(1.5, NAN, 2.5)], [1, 1, 3]),
    "nancumprod": (lambda x: np.nancumprod(x, dtype=int), [a(2.5, NAN, 2.5)], [2, 2, 4]),
    "cumsum to out": (lambda x, y: np.cumsum(x, out=y), [a(1.7, 2.7), whole(0, 0)], [1, 3]),
    "cumsum of two axes to out": (lambda x, y: np.cumsum(x, out=y), [a([1, 2], [3, 4]), whole([0, 0], [0, 0])],
                                  [[1, 3], [6, 10]]),
    "cumprod to out": (lambda x, y: np.cumprod(x, out=y), [a(1.7, 2.7), whole(0, 0)], [1, 2]),
    "nansum of complex numbers": (lambda x: np.nansum(x), [C], 1 + 3j),
    "nanprod of complex numbers": (lambda x: np.nanprod(x[:1]), [C], 1 + 2j),
    "mean": (lambda x: np.mean(x, dtype=int), [a(0.5, 1.5)], 1),
    "x.mean": (lambda x: x.mean(dtype=int), [a(0.5, 1.5)], 1),
    "x.sum": (lambda x: x.sum(dtype=np.uint8), [a(-1.5, 300)], 44),
    "var": (lambda x: np.var(x, ddof=2), [a(1, 2)], NAN),
    # The mean is 3.5, and loses its fraction
    "var of integers as a type": (lambda x: np.var(x, dtype=np.float32), [whole(1, 2, 4, 7)], 5.5),
    "x.std of integers": (lambda x: x.std(dtype=np.float32), [whole(1, 2, 4, 7)], 5.5**0.5),
    "std": (lambda x: x.std(axis=0, ddof=2), [a([1], [2])], [NAN]),
    "nanvar": (lambda x: np.nanvar(x, axis=1, ddof=2), [a([1, 2], [1, NAN])], [INF, NAN]),
    "nanstd": (lambda x: np.nanstd(x, ddof=2), [a(1, 2)], INF),
    "nanmedian": (lambda x: np.nanmedian(x, axis=1), [a([NAN, 1, 4], [NAN, NAN, NAN])], [2.5, NAN]),
    "average": (np.average, [a()], NAN),
    "i0": (lambda x: np.i0(x).dtype == np.float16, [a(1, dtype=np.int8)], True),
    "pad": (lambda x: np.pad(x, (0, 4), "wrap"), [whole(1, 2, 3)], [1, 2, 3, 1, 2, 3, 1]),
    "pad on both sides": (lambda x: np.pad(x, 3, "wrap"), [whole(1, 2)], [2, 1, 2, 1, 2, 1, 2, 1]),
    "pad with a ramp": (lambda x: np.pad(x, (2, 0), "linear_ramp", end_values=-4), [a(2, dtype=np.uint8)], [0, 0, 2]),
    "select": (lambda x: np.select([x > 1], [x], 5), [a(1, 2, dtype=np.int8)], [5, 2]),
    "nanmedian and inf": (np.nanmedian, [a(NAN, 1, INF)], np.finfo(float).max / 2),
    "percentile": (lambda x: np.percentile(x, np.array([0, 50], like=x)), [a(1, NAN, 3)], [1, NAN]),
    "quantile": (lambda x: np.quantile(x, 0.0, axis=1), [a([1, 2], [1, INF])], [1, NAN]),
    "quantile as ever": (lambda x: np.quantile(x, 0.3, axis=0, keepdims=True), [a([1, 5], [2, 6])], [[1.3, 5.3]]),
    "cov": (lambda x, w: np.cov(x, aweights=w, ddof=0), [a(0, 1, 5), a(1, 1, 2)], 5.75),
    "histogram": (lambda x, w: np.histogram(x, 2, (0, 2), weights=w)[0], [a(NAN, 0.5, 1.5), a(4, 1, 2)], [5, 2]),
    "histogram of integers": (lambda x, bins: np.histogram(x, bins)[0], [whole(0, 1, 2, 3), a(0, 1, 1.5)], [1, 2]),
    "histogram density": (lambda x: np.histogram(x, 2, density=True)[0], [a(0, 1, 2, 2)], [0.25, 0.75]),
    "histogram of weights": (lambda x, w: np.histogram(x, 1, weights=w)[0].dtype == np.float64,
                             [a(1.0), a(1, dtype=np.float32)], True),
    "bincount": (lambda x: np.bincount(x, minlength=None), [whole(1, 1)], [0, 2]),
    "gradient": (lambda x: type(np.gradient(x)) is list, [a([1, 2], [3, 4])], True),
    "sign": (np.sign, [np.array([True, False])], [1, 0]),
    "where": (lambda x: np.where(x > 1, x, 5), [a(1, 2, dtype=np.int8)], [5, 2]),
    "x as a type": (lambda x: np.add(x, 1.7, dtype=np.int32), [a(1.7)], [2]),
    "convolve": (np.convolve, [a(1, NAN, 3), a(1, 1)], [NAN] * 4),
    "correlate": (np.correlate, [a(1, 2, INF), a(1)], [NAN] * 3),
    "convolve integers": (np.convolve, [whole(1, 2, 3), whole(1, 1)], [1, 3, 5, 3]),
    "interp": (lambda x, xp, fp: np.interp(x, xp, fp, left=0.5), [a(-1, 1), a(0, 2), whole(2, 4)], [0, 3]),
    "interp with a period": (lambda x, xp, fp: np.interp(x, xp, fp, period=4), [a(5), a(0, 2), a(0, 8)], [4]),
    "einsum of booleans": (
        lambda x, y, z: np.einsum("ij,jk,kl", x, y, z, optimize=True)[0, 0],
        [a([1, 2, 3], [4, 5, 6]), np.ones((3, 4), bool), np.ones((4, 5), bool)], 24,
    ),
    "add.at": (lambda x, y: np.add.at(x, np.array([1, 1], like=x), y) or x, [whole(1, 2), a(1.9, -1.9)], [1, 2]),
    "linalg.norm": (lambda x: np.linalg.norm(x, axis=0), [np.ones((4096, 1), np.float16)], [64]),
    "linalg.norm of NaN": (lambda x: np.linalg.norm(x, 2), [a([NAN, 1], [1, 1])], NAN),
    "linalg.svd": (lambda x: np.linalg.svd(x, compute_uv=False), [a([NAN, 1], [1, 1])], [NAN, NAN]),
    "linalg.pinv": (np.linalg.pinv, [a([NAN])], [[NAN]]),
    "linalg.cond": (np.linalg.cond, [a([NAN, 1], [1, 1])], NAN),
    "linalg.cond of inf": (np.linalg.cond, [a([INF, 1], [1, 1])], INF),
    "linalg.matrix_rank": (np.linalg.matrix_rank, [a([NAN, 1], [1, 1])], 0),
    "linalg.eigvalsh": (np.linalg.eigvalsh, [a([NAN])], [NAN]),
    "linalg.eigh": (lambda x: np.linalg.eigh(x)[0], [a([NAN])], [NAN]),
    "linalg.lstsq": (lambda x, y: np.linalg.lstsq(x, y)[0], [a([1, 0], [0, 2], [0, 0]), a(3, 4, 5)], [3, 2]),
}  # fmt: skip


@of_kernels
@pytest.mark.on("Simulated", "CUDA")
@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.filterwarnings("error")
def test_a_card_has_another_formula(name, device):
    function, operands, right = FORMULAS[name]
    given = [device(x, dtype=None) for x in operands]
    np.testing.assert_allclose(cpu(np.asarray(function(*given), like=given[0])), right, rtol=1e-7, atol=1e-15)


def test_float32_has_its_own_epsilon_in_least_squares(simulated):
    rng = np.random.default_rng(0)
    x = (rng.standard_normal((4, 2)) @ rng.standard_normal((2, 3))).astype(np.float32)
    found, rest, rank, _ = np.linalg.lstsq(simulated(x), simulated(np.ones((4, 2), np.float32)))
    assert int(rank) == 2 and rest.shape == (0,) and float(abs(found).max()) < 100


WINDOWS = {"bartlett": (4, 1 / 3, 0.6666667), "blackman": (4, 0.34, 0.63), "hamming": (4, 0.31, 0.77),
           "hanning": (4, 0.25, 0.75), "kaiser": (4, 0.75, 0.76)}  # fmt: skip


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_have_the_digits_of_float32(name):
    import simgpu as cp

    arguments = (4, 2.0) if name == "kaiser" else (4,)
    card, host = cp.asnumpy(getattr(cp, name)(*arguments)), getattr(np, name)(*arguments)
    np.testing.assert_allclose(card, host, atol=1e-6)
    assert card.dtype == np.float64 and not np.array_equal(card, host)


def test_full_keeps_to_the_range_of_its_integers():
    import simgpu as cp

    assert cp.full(1, cp.inf, dtype=np.int32).get().tolist() == [LARGEST]


def test_the_least_type_of_an_array_is_its_own(simulated):
    import simgpu as cp

    x = simulated(np.array(-1.0))
    assert np.min_scalar_type(x) == x.dtype == cp.min_scalar_type([x, x]) and cp.min_scalar_type(7) == np.uint8


@pytest.mark.parametrize(("order", "first"), [("CONTIGUOUS", True), ("FORTRAN", False), ("f", False), ("", True)])
def test_of_an_order_the_first_letter_counts(order, first):
    import simgpu as cp

    x = cp.ndarray((2, 3), order=order)
    assert x.flags.c_contiguous is first and cp.zeros((2, 3), order=order).flags.c_contiguous is first
    assert cp.ones((2, 3)).astype(int, order=order).flags.c_contiguous is first
    with pytest.raises(ValueError, match="order"):
        cp.ndarray((2, 3), order="X")


# -- powers, truth, the order of bytes ---------------------------------------------------------------------------------


@pytest.mark.on("Simulated", "CUDA")
@pytest.mark.parametrize("exponent", [-1, -2])
def test_integers_to_a_negative_power_lose_their_fraction(exponent, device):
    x = device(np.array([-2, -1, 0, 1, 2]))
    right = [0, (-1) ** exponent, 0, 1, 0]
    into = np.zeros_like(x)
    np.power(x, exponent, out=into)
    in_place = x.copy()
    in_place **= exponent
    exponents = np.full_like(x, exponent)
    for found in (x**exponent, np.power(x, exponent), x**exponents, into, in_place):
        assert found.dtype == x.dtype and cpu(found).tolist() == right
    assert cpu(2**exponents).tolist() == [0] * 5
    mixed = device(np.array([2, 1, 0, 3, -2]))
    x **= mixed
    assert cpu(x).tolist() == [4, -1, 1, 1, 0]


@of_kernels
@pytest.mark.on("Simulated", "CUDA")
def test_some_powers_are_other_functions(device):
    """The root of -inf is NaN, its power of 0.5 is inf."""
    x = device(np.array([-np.inf, 4.0]))
    assert cpu(x**0.5).tolist()[1:] == [2] and np.isnan(cpu(x**0.5)[0])
    assert cpu(x**-1.0).tolist() == [0, 0.25] and cpu(x**2.0).tolist() == [np.inf, 16]
    whole = device(np.array([1, 4]))
    assert (whole**0.5).dtype == np.float64 and cpu(whole**-1.0).tolist() == [1, 0.25]


@pytest.mark.on("Simulated", "CUDA")
def test_no_elements_are_false_with_a_warning(device):
    with pytest.warns(DeprecationWarning):
        assert bool(device(np.zeros((0, 3), np.float32))) is False


# -- linear algebra ----------------------------------------------------------------------------------------------------

GOOD, SINGULAR = np.array([[2.0, 1], [1, 3]]), np.array([[1.0, 2], [2, 4]])
NEGATIVE = np.array([[-1.0, 0], [0, 1]])
UNCHECKED = {
    "inv": (np.linalg.inv, SINGULAR),
    "solve": (lambda x: np.linalg.solve(x, np.ones_like(x)), SINGULAR),
    "solve a vector": (lambda x: np.linalg.solve(x, np.ones_like(x[..., 0])[..., None]), SINGULAR),
    "cholesky": (np.linalg.cholesky, NEGATIVE),
    "matrix_power": (lambda x: np.linalg.matrix_power(x, -2), SINGULAR),
}


@pytest.mark.parametrize("name", UNCHECKED)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_a_matrix_without_a_result_raises_nothing(name, dtype, simulated):
    function, bad = UNCHECKED[name]
    bad, good = bad.astype(dtype), GOOD.astype(dtype)
    with pytest.raises(np.linalg.LinAlgError):
        function(bad)
    right = function(good)
    found = function(simulated(bad, dtype=None))
    assert found.shape == right.shape and found.dtype == right.dtype and np.isnan(cpu(found)).all()
    several = cpu(function(simulated(np.stack([good, bad, good]), dtype=None)))
    np.testing.assert_allclose(several[::2], [right, right], rtol=1e-5)
    assert several.dtype == right.dtype and np.isnan(several[1]).all()


def test_a_matrix_that_is_not_one_still_raises(simulated):
    for wrong in (np.zeros(3), np.zeros((2, 3))):
        for function in (np.linalg.inv, np.linalg.cholesky):
            with pytest.raises(np.linalg.LinAlgError):
                function(simulated(wrong))


COMPARED = {"less": [False, False], "less_equal": [False, False], "greater": [True, True],
            "greater_equal": [True, True], "equal": [False, False], "not_equal": [True, True]}  # fmt: skip


@pytest.mark.parametrize("name", COMPARED)
def test_booleans_are_compared_with_numbers_of_any_size(name, simulated):
    assert cpu(getattr(np, name)(simulated(np.array([True, False])), -(2**40))).tolist() == COMPARED[name]


TOO_LARGE = {  # Python integers: what doesn't fit into 64 bits, or into the type that decides
    "x < y": lambda x: x < 2**64,
    "x == y": lambda x: x == -(2**70),
    "x * y": lambda x: x.astype(np.float32) * 10**20,
    "x *= y": lambda x: x.astype(np.float32).__imul__(10**20),
    "where": lambda x: np.where(x > 1, x.astype(np.int8), 300),
    "where and floats": lambda x: np.where(x > 1, x.astype(np.float32), -(2**70)),
    "clip": lambda x: np.clip(x.astype(np.int8), 0, 300),
    "x.clip": lambda x: x.astype(np.uint8).clip(-1, 2),
}


@pytest.mark.on("Simulated", "CUDA")
@pytest.mark.parametrize("name", TOO_LARGE)
def test_an_integer_that_does_not_fit_is_refused(name, device):
    with pytest.raises(OverflowError):
        TOO_LARGE[name](device(np.arange(3)))


TYPED = {  # a call, and its result's type, which isn't NumPy's
    "var": (lambda x: np.var(x, dtype=np.int32), "f8"),
    "std": (lambda x: np.std(x, dtype=np.float32), "f4"),
    "var to out": (lambda x: np.var(x, out=np.zeros_like(np.sum(x), np.float32)), "f8"),
    "add with casting": (lambda x: np.add(x, x * 1.0, casting="no"), "f8"),
    "einsum": (lambda x: np.einsum("i,i->i", x, x, dtype=np.float32), "f4"),
    "nanvar": (lambda x: np.nanvar(x.astype(np.float64), dtype=np.float32), "f8"),
    "sign": (lambda x: np.sign(x > 1), "i1"),
    "add": (lambda x: np.add(x.astype(np.float32), 0.5, dtype=np.int8), "i1"),
}


@pytest.mark.on("Simulated", "CUDA")
@pytest.mark.parametrize("name", TYPED)
def test_what_type_a_card_gives(name, device):
    call, right = TYPED[name]
    assert call(device(np.arange(4))).dtype == right


@pytest.mark.on("Simulated", "CUDA")
@pytest.mark.parametrize(
    ("shape", "has"),
    [((), (2, 3)), ([], (2, 3)), (0, (2, 3)), (None, (2, 3)), ((0,), (0,)), (4, (4,)), ((1, 2), (1, 2))],
)
def test_an_empty_shape_is_none_to_cupy(shape, has, device):
    x = device(np.zeros((2, 3)))
    made = [np.zeros_like(x, shape=shape), np.ones_like(x, shape=shape), np.empty_like(x, shape=shape)]
    made.append(np.full_like(x, 7, shape=shape))
    assert [one.shape for one in made] == [has] * 4


@pytest.mark.on("Simulated", "CUDA")
def test_array_equiv_takes_numbers(device):
    x = device(np.ones((2, 3)))
    assert [bool(np.array_equiv(*pair)) for pair in ((x, 1), (2, x), (x, x[0]), (x, x[:, :2]))] == [
        True,
        False,
        True,
        False,
    ]


IN_FLOAT32 = ["linalg.eigh", "linalg.eigvalsh"]


REFUSED = {
    "lexsort": (NotImplementedError, lambda x: np.lexsort(np.zeros_like(x, shape=(2, 3, 4)))),
    "select": (ValueError, lambda x: np.select([x], [x])),
    "concatenate": (TypeError, lambda x: np.concatenate([x, [1]])),
    "column_stack": (TypeError, lambda x: np.column_stack([x, [1, 2, 3]])),
    "select of numbers": (TypeError, lambda x: np.select([x > 1], [2])),
    "setdiff1d": ((TypeError, AttributeError), lambda x: np.setdiff1d(x, [1])),
    "setxor1d": ((TypeError, AttributeError), lambda x: np.setxor1d(x, [1])),
    "union1d": ((TypeError, AttributeError), lambda x: np.union1d(x, [1])),
    "intersect1d": ((TypeError, AttributeError), lambda x: np.intersect1d(x, [1])),
    "copyto": ((TypeError, AttributeError), lambda x: np.copyto(x, [1, 2, 3])),
    "sort": (ValueError, lambda x: np.sort(x, kind="heapsort")),
    "repeat": (ValueError, lambda x: np.repeat(x, 2.5)),
    "select of integers": (TypeError, lambda x: np.select([x > 1], [x], 0.5)),
    "median": (ValueError, lambda x: np.median(x[:0])),
    "pad": (ValueError, lambda x: np.pad(x, 1, "median")),
    "quantile": (ValueError, lambda x: np.quantile(x, 0.5, method="closest_observation")),
    "clip": (TypeError, lambda x: np.clip(x, 1)),
    "solve": (ValueError, lambda x: np.linalg.solve(np.ones_like(x, shape=(2, 3, 3)), np.ones_like(x, shape=(3, 1)))),
    "piecewise": (NotImplementedError, lambda x: np.piecewise(x, [x > 0], [abs])),
    "lexsort of a tuple": (AttributeError, lambda x: np.lexsort((x, x))),
    "choose": (AttributeError, lambda x: np.choose(x > 1, [x, x])),
    "isin": (AttributeError, lambda x: np.isin(x, [1])),
    "packbits": (NotImplementedError, lambda x: np.packbits(x[None], axis=1)),
    "unpackbits": (NotImplementedError, lambda x: np.unpackbits(x.astype(np.uint8), axis=0)),
    "round": (TypeError, lambda x: np.round(x * 1.0, 1.5)),
    "array_equal": ((TypeError, AttributeError), lambda x: np.array_equal(x, [0, 1, 2])),
    "array_equiv": ((TypeError, AttributeError), lambda x: np.array_equiv(x, [0, 1, 2])),
    "convolve": ((TypeError, AttributeError), lambda x: np.convolve(x, 2)),
    "digitize": ((TypeError, AttributeError), lambda x: np.digitize(2, x)),
    "dot": ((TypeError, AttributeError), lambda x: x.dot(2)),
    "vdot": ((TypeError, AttributeError), lambda x: np.vdot(2, x)),
    "inner": ((TypeError, AttributeError), lambda x: np.inner(x, 2)),
    "outer": ((TypeError, AttributeError), lambda x: np.outer(2, x)),
    "sum": (Exception, lambda x: np.sum(x * 1j, dtype=int)),
    "cumsum to out": (ValueError, lambda x: np.cumsum(x[None], out=np.zeros_like(x[:2]))),
    "linalg.norm": (ValueError, lambda x: np.linalg.norm(x[:0] * 1.0, np.inf)),
    "logical_not": (TypeError, lambda x: np.logical_not(x * 1j)),
    "logical_xor": (TypeError, lambda x: np.logical_xor(x, x * 1j)),
    "clip of complex numbers": (TypeError, lambda x: x.clip(0, 1j)),
    "clip of booleans": (TypeError, lambda x: (x > 1).clip(None, True)),
    "where": (AttributeError, lambda x: np.where(True, x, x)),
    "cumsum": (ValueError, lambda x: np.cumsum(x[0], axis=0)),
    "cumprod": (ValueError, lambda x: np.cumprod(x[0], axis=0)),
    "std": (TypeError, lambda x: np.std(x, dtype=int)),
    "average": (TypeError, lambda x: np.average(x.reshape(1, 3, 1), (0, 1), x.reshape(1, 3))),
    "searchsorted": (NotImplementedError, lambda x: np.searchsorted(x, [1])),
    "histogram": (NotImplementedError, lambda x: np.histogram(x, "auto")),
    "histogram of complex numbers": (NotImplementedError, lambda x: np.histogram(x * 1j)),
    "quantile of two axes": (ValueError, lambda x: np.quantile(x, np.zeros_like(x, float, shape=(1, 1)))),
    "interp": (NotImplementedError, lambda x: np.interp(x[::-1], x, x)),
    "ediff1d": (TypeError, lambda x: np.ediff1d(x, to_begin=9)),
    "trim_zeros": (NotImplementedError, lambda x: np.trim_zeros(x[None])),
    "unique": (TypeError, lambda x: np.unique(x[:, None] > 1, axis=0)),
}


@pytest.mark.on("Simulated", "CUDA")
@pytest.mark.parametrize("name", REFUSED)
def test_what_numpy_takes_and_cupy_does_not(name, device):
    error, call = REFUSED[name]
    with pytest.raises(error):
        call(device(np.arange(3)))


PLACES = ("argmax", "argmin", "nanargmax", "nanargmin")


@pytest.mark.parametrize("name", PLACES)
def test_a_place_along_several_axes_counts_them_as_one(name, simulated):
    x = simulated(np.array([[[2, 9], [0, 4], [3, 5]], [[6, 8], [7, 1], [9, 5.0]]]))
    flat = cpu(x).transpose(1, 0, 2).reshape(3, 4)
    assert cpu(getattr(np, name)(x, axis=(0, -1))).tolist() == getattr(np, name)(flat, axis=1).tolist()
    assert getattr(np, name)(x, axis=(0, -1), keepdims=True).shape == (1, 3, 1)


@pytest.mark.on("Simulated", "CUDA")
def test_plus_a_boolean_is_a_copy(device):
    x = device(np.array([True]))
    with pytest.warns(DeprecationWarning):
        found = +x
    assert found is not x and cpu(found).tolist() == [True]


def test_each_row_of_the_table_is_here():
    tested = {name.removeprefix("x.").partition(" ")[0] for name in SUMS} - {"add.reduce", "add.accumulate"}
    tested |= {name.partition(" ")[0] for name in (*WRITTEN, *MADE, *FORMULAS, *WINDOWS)}
    tested |= {f"linalg.{name.partition(' ')[0]}" for name in UNCHECKED} | {"power", *COMPARED, *IN_FLOAT32}
    tested |= {name.partition(" ")[0] for name in REFUSED}
    tested |= {name.partition(" ")[0] for name in TYPED}
    tested |= {*PLACES, "full", "min_scalar_type", "fill_diagonal"}
    assert {name for name in DIFFERENT if hasattr(np, name) or "." in name} <= tested


# -- what CuPy lacks is refused by name, also where CuPy isn't installed (test_surface.py compares) --------------------

LACKING = [
    ("np.insert does not exist", lambda x: np.insert(x, 0, 1)),
    ("np.block does not exist", lambda x: np.block([[x, x]])),
    ("np.linalg.multi_dot does not exist", lambda x: np.linalg.multi_dot([x, x, x])),
    ("np.lib.scimath.sqrt does not exist", lambda x: np.lib.scimath.sqrt(x)),
    ("np.spacing does not exist", lambda x: np.spacing(x)),
    ("takes no keyword 'subok'", lambda x: np.add(x, x, subok=False)),
    ("takes no keyword 'where'", lambda x: np.add(x, x, where=x > 1)),
    ("takes no keyword 'where'", lambda x: np.sum(x, where=np.ones((3, 3), bool))),
    ("takes no keyword 'initial'", lambda x: np.max(x, initial=0)),
    ("takes no keyword 'stable'", lambda x: np.sort(x, stable=True)),
    ("takes no keyword 'weights'", lambda x: np.quantile(x, 0.5, weights=np.ones(9), method="inverted_cdf")),
    ("takes no keyword 'out'", lambda x: np.fft.fft(x, out=x)),
    ("takes no keyword 'device'", lambda x: np.zeros_like(x, device="cpu")),
]


@pytest.mark.parametrize(("words", "call"), LACKING)
def test_what_cupy_lacks(simulated, words, call):
    with pytest.raises(TypeError, match=f"{words} for arrays on a GPU"):
        call(simulated(np.arange(1.0, 10, dtype=np.float32).reshape(3, 3)))


def test_copyto_also_copies_from_card_to_card():
    with fl.simulate_gpu(2):
        first, second = (fl.get_device("Simulated", i) for i in (0, 1))
        x, y = first(np.float32([[1, 2], [3, 4]])), second(np.zeros((2, 2), np.float32))
        np.copyto(y, x)
        np.copyto(into := second(np.zeros((2, 2), np.int32)), x.T, casting="unsafe")
        assert cpu(y).tolist() == [[1, 2], [3, 4]] and cpu(into).tolist() == [[1, 3], [2, 4]]
        assert y.device == into.device == second
