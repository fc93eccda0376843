"""Where CuPy's value isn't NumPy's: `DIFFERENT` of `simgpu/rules.py`, a test for each row."""

import numpy as np
import pytest
from inside import DIFFERENT

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
    assert cpu(getattr(np, name)(simulated(np.array([True, False])), -(2**70))).tolist() == COMPARED[name]


IN_FLOAT32 = ["linalg.eigh", "linalg.eigvalsh"]


REFUSED = {
    "lexsort": (NotImplementedError, lambda x: np.lexsort(np.zeros_like(x, shape=(2, 3, 4)))),
    "select": (ValueError, lambda x: np.select([x], [x])),
    "piecewise": (NotImplementedError, lambda x: np.piecewise(x, [x > 0], [abs])),
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


def test_each_row_of_the_table_is_here():
    tested = {name.removeprefix("x.").partition(" ")[0] for name in SUMS} - {"add.reduce", "add.accumulate"}
    tested |= {f"linalg.{name.partition(' ')[0]}" for name in UNCHECKED} | {
        "power",
        *COMPARED,
        *IN_FLOAT32,
        *REFUSED,
        *PLACES,
    }
    assert tested == {name for name in DIFFERENT if hasattr(np, name) or "." in name}


# -- what CuPy lacks is refused by name, also where CuPy isn't installed (test_surface.py compares) --------------------

LACKING = [
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


@pytest.mark.parametrize(("words", "call"), LACKING)
def test_what_cupy_lacks(simulated, words, call):
    with pytest.raises(TypeError, match=f"{words} for arrays on a GPU"):
        call(simulated(np.arange(1.0, 10, dtype=np.float32).reshape(3, 3)))
