"""Every method of a GPU's array, with every keyword, gives what NumPy's gives. The names and the order are CuPy's."""

import inspect
import re

import numpy as np
import pytest
from inside import word_set
from operands import NUMPY_2_0

from fluxlite.devices import cpu
from fluxlite.simulated import SimulatedArray

F = np.array([[3.0, -1.0, 2.0], [0.5, 4.0, -2.0]], np.float32)
V = np.array([0.5, 1.5, 1.5, 4.0], np.float32)
T = np.array([2, 1, 2, 1, 0], np.int32)
PLACES = np.array([[1, 0], [2, 1]], np.int32)
SQUARE = np.array([[3, 9, 1], [7, 2, 8], [4, 6, 5]], np.float32)
B = np.arange(48, dtype=np.float32).reshape(2, 2, 3, 4)
Z = np.array([1 + 2j, 3 - 1j], np.complex64)
CHOICES = np.arange(12.0, dtype=np.float32).reshape(3, 2, 2)
OUT = object()  # an array of the result's shape and type
KEPT = dict(axis=1, out=OUT, keepdims=True)
SUMMED = dict(axis=1, dtype=np.float64, out=OUT, keepdims=True)


def place(name):
    def find(x, axis=None, out=None, dtype=None, keepdims=False):
        return getattr(np, name)(x, axis, keepdims=keepdims).astype(np.int64 if dtype is None else dtype)

    return find


# method: an array, all its arguments in CuPy's order with values that aren't the defaults, and what NumPy would give
# where its method is another or gone
METHODS = {
    "all": (F > 0, KEPT), "any": (F > 3, KEPT), "max": (F, KEPT), "min": (F, KEPT), "ptp": (F, KEPT, np.ptp),
    "sum": (F, SUMMED), "prod": (F, SUMMED), "mean": (F, SUMMED),
    "std": (F, dict(axis=1, dtype=np.float64, out=OUT, ddof=1, keepdims=True)),
    "var": (F, dict(axis=1, dtype=np.float64, out=OUT, ddof=1, keepdims=True)),
    "argmax": (F, dict(axis=1, out=OUT, dtype=np.int32, keepdims=True), place("argmax")),
    "argmin": (F, dict(axis=1, out=OUT, dtype=np.int32, keepdims=True), place("argmin")),
    "argsort": (T, dict(axis=0, kind="stable")), "byteswap": (T, dict(inplace=True)),
    "argpartition": (SQUARE, dict(kth=(0, 1, 2), axis=0)),  # all of them: then there is one answer
    # Without the sorter, too, it's in order: otherwise the places are those where a card's search ends.
    "searchsorted": (np.float32([1, 1, 3, 3]), dict(v=V[:3], side="right", sorter=np.array([1, 0, 3, 2]))),
    "cumsum": (F, dict(axis=1, dtype=np.float64, out=OUT)), "cumprod": (F, dict(axis=1, dtype=np.float64, out=OUT)),
    "clip": (F, dict(min=0, max=2, out=OUT)), "round": (F / 8, dict(decimals=1, out=OUT)),
    "dot": (F, dict(b=F.T.copy(), out=OUT)),
    "trace": (B, dict(offset=1, axis1=2, axis2=3, dtype=np.float64, out=OUT)),
    "take": (F, dict(indices=np.array([1, 0]), axis=1, out=OUT)),
    "choose": (PLACES, dict(choices=CHOICES, out=OUT, mode="wrap"), lambda x, choices, mode="raise": np.choose(
        x, choices, mode=mode)),
    "compress": (F, dict(condition=[True, False], axis=0, out=OUT)),
    "repeat": (F, dict(repeats=2, axis=1)), "nonzero": (F > 0, {}),
    "put": (F, dict(indices=np.array([1, -1]), values=np.array([7, 8], np.float32), mode="clip")),
    "fill": (F, dict(value=3), lambda x, value: np.full_like(x, value)), "sort": (F, dict(axis=0, kind="stable")),
    "partition": (F, dict(kth=(0, 1), axis=0)),
    "astype": (F, dict(dtype=np.int32, order="F", casting=None, subok=None, copy=False), lambda x, dtype, order="K",
               casting=None, subok=None, copy=True: x.astype(dtype, order, copy=copy)),
    "copy": (F, dict(order="F")), "flatten": (F, dict(order="F")), "ravel": (F, dict(order="F")),
    "view": (F, dict(dtype=np.int32)), "squeeze": (F[:, None], dict(axis=1)),
    "swapaxes": (B, dict(axis1=0, axis2=2), np.swapaxes), "diagonal": (B, dict(offset=1, axis1=2, axis2=3)),
    "conj": (Z, {}), "conjugate": (Z, {}), "tobytes": (F.T, dict(order="F")), "tolist": (F, {}), "item": (V[:1], {}),
}  # fmt: skip
# Tests below.
TOLD_BELOW = word_set("dump dumps get reduced_view reshape scatter_add scatter_max scatter_min set tofile transpose")
ATTRIBUTES = word_set("T base device dtype flags flat imag itemsize mT nbytes ndim real shape size strides")
# What CuPy has and the simulation doesn't, and why.
LEFT_OUT = {
    "cstruct data mdspan toDlpack": "the address of memory that no kernel of another library could read",
}


def on(device, value):
    return device(value, dtype=None) if isinstance(value, np.ndarray) else value


def right(method, x, given):
    function = METHODS[method][2] if len(METHODS[method]) == 3 else getattr(np.ndarray, method)
    result = function(x, **{name: value for name, value in given.items() if value is not OUT})
    return x if result is None else result


def one_call(device, method, given, by_name):
    """Compare a call on the device with NumPy's."""
    if device.backend == "CUDA" and method in FAIL_IN_CUPY and "out" in given:
        pytest.skip(f"CuPy 14.2 fails with {method}(out=…)")
    host = METHODS[method][0].copy("A")
    x, expected = on(device, host), right(method, host, given)
    given = {name: on(device, value) for name, value in given.items()}
    if "out" in given:
        given["out"] = on(device, np.zeros_like(expected))
    result = getattr(x, method)(**given) if by_name else getattr(x, method)(*given.values())
    assert given.get("out") is None or result is given["out"]
    result = x if result is None else result
    if isinstance(expected, np.ndarray):
        assert result.dtype == expected.dtype and result.shape == expected.shape
    for one, other in zip(*[r if isinstance(r, tuple) else (r,) for r in (result, expected)], strict=True):
        if not hasattr(other, "shape"):
            assert one == other
        else:
            np.testing.assert_allclose(cpu(one), other, rtol=1e-6)


# There CuPy 14.2 takes `out` for `dtype`, or all of it for a row: _routines_statistics.pyx:54, _routines_math.pyx:719.
FAIL_IN_CUPY = ("min", "ptp", "cumsum", "cumprod")


@pytest.mark.on("Simulated", "CUDA")
@pytest.mark.parametrize("method", METHODS)
def test_with_all_arguments(device, method):
    for by_name in (True, False):
        one_call(device, method, METHODS[method][1], by_name)


def with_one_keyword():
    for method, (_, given, *_) in METHODS.items():
        parameters = inspect.signature(getattr(SimulatedArray, method)).parameters.values()
        needed = {p.name for p in parameters if p.default is p.empty}
        for name in [None, *(name for name in given if name not in needed)]:
            if not (NUMPY_2_0 and method == "clip" and name in (None, "out")):
                yield method, {key: value for key, value in given.items() if key in needed or key == name}


@pytest.mark.on("Simulated", "CUDA")
@pytest.mark.parametrize(
    ("method", "given"), list(with_one_keyword()), ids=lambda x: x if type(x) is str else ",".join(x)
)
def test_with_at_most_one_keyword(device, method, given):
    one_call(device, method, given, by_name=True)


def test_every_method_of_cupys_is_here_or_left_out_for_a_reason():
    ours = {name for name in dir(SimulatedArray) if name[0] != "_"}
    assert ours == {*METHODS, *TOLD_BELOW, *ATTRIBUTES}
    cupy = pytest.importorskip("cupy")
    theirs = {name for name in dir(cupy.ndarray) if name[0] != "_"}
    assert theirs - ours == word_set(" ".join(LEFT_OUT)) and ours <= theirs


# CuPy knows subclasses of its arrays, and sums have no other default there than here.
OTHERWISE = {"view": "dtype=None, type=None", "prod": "axis=None, dtype=None, out=None, keepdims=None"}


@pytest.mark.parametrize("method", sorted({*METHODS, *TOLD_BELOW}))
def test_the_parameters_are_cupys(method):
    parameters = list(inspect.signature(getattr(SimulatedArray, method)).parameters.values())[1:]
    assert method not in METHODS or [p.name for p in parameters] == list(METHODS[method][1])
    cupy = pytest.importorskip("cupy")
    theirs = re.search(r"\(self(?:, )?(.*?)\)(?: ->|$)", getattr(cupy.ndarray, method).__doc__.split("\n")[0])[1]
    ours = ", ".join(str(p.replace(annotation=p.empty)) for p in parameters)
    assert theirs == OTHERWISE.get(method) or ours == re.sub(r"\b(int|Py_ssize_t|_ndarray_base) (?=\w)", "", theirs)


# -- what only the arguments make, or the host -----------------------------------------------------


@pytest.mark.on("Simulated", "CUDA")
def test_flat_reads_as_numpys(device):
    for read in (
        lambda flat: flat[0], lambda flat: flat[-1], lambda flat: flat[np.int64(4)], lambda flat: flat[1:5:2],
        lambda flat: flat[...], lambda flat: flat[::-1], lambda flat: list(flat)[3], lambda flat: flat.copy(),
        lambda flat: next(flat), lambda flat: flat.base,
    ):  # fmt: skip
        for x in (F, F.T):
            np.testing.assert_array_equal(cpu(read(on(device, x).flat)), read(x.flat))
    assert len(on(device, F).flat) == 6


def test_errors_name_the_method_the_device_and_what_to_take(simulated):
    x = on(simulated, F)
    for name in ("sum", "argmax", "cumsum"):
        with pytest.raises(TypeError, match=rf"^SimulatedArray\.{name}\(\) got .* 'dim'"):
            getattr(x, name)(dim=0)
    with pytest.raises(TypeError, match=r"takes a NumPy array of .*, got an array of .*, on Simulated:0"):
        x.get(out=x)
    with pytest.raises(ValueError, match=r"dtype\('O'\)\. Take a number's type, such as np\.float64.*cpu\(x\)"):
        x.astype(object)


@pytest.mark.on("Simulated", "CUDA")
@pytest.mark.parametrize("name", ["add", "max", "min"])
def test_scatter_is_ufunc_at_at_any_index(device, name):
    at = {"add": np.add.at, "max": np.maximum.at, "min": np.minimum.at}[name]
    for index in (np.array([1, 0, 1]), (np.array([1, 1]), slice(None, 2)), 0):
        host, x = F.copy(), on(device, F)
        placed = tuple(on(device, part) for part in index) if type(index) is tuple else on(device, index)
        with pytest.warns(DeprecationWarning, match=r"\.at"):
            getattr(x, f"scatter_{name}")(placed, 2.5)
        at(host, index, np.float32(2.5))
        np.testing.assert_array_equal(cpu(x), host)


@pytest.mark.on("Simulated", "CUDA")
def test_put_wraps_around_if_nothing_else_is_asked_for(device):
    x = on(device, np.zeros(5, np.float32))
    x.put([1, 8], [7, 8])
    assert cpu(x).tolist() == [0, 7, 0, 8, 0]
    np.put(x, [9, 2], [5, 6])
    assert cpu(x).tolist() == [0, 7, 6, 8, 5]
    with pytest.raises(IndexError):
        x.put([9], 1, "raise")


@pytest.mark.on("Simulated", "CUDA")
@pytest.mark.parametrize(
    ("error", "program"),
    [
        (NotImplementedError, lambda x: x[:, ::2].sort()), (NotImplementedError, lambda x: x.T.sort()),
        (NotImplementedError, lambda x: x.T.partition(1)), (ValueError, lambda x: x[0, 0].copy().sort()),
        (ValueError, lambda x: x.sort(kind="quicksort")), (ValueError, lambda x: x.argsort(kind="quicksort")),
        (TypeError, lambda x: x.astype(int, casting="safe")), (TypeError, lambda x: x.astype(int, subok=True)),
        (TypeError, lambda x: np.put(F.copy(), x.argmax(), 1)), (TypeError, lambda x: x.item(0)),
        (TypeError, lambda x: x.repeat(np.array([1, 2]), 0)),
        (TypeError, lambda x: np.repeat(x, np.array([1, 2]), axis=0)),
        (ValueError, lambda x: x[:1].choose(x, mode="no")),
    ],
)  # fmt: skip
def test_what_cupy_refuses_too(device, error, program):
    with pytest.raises(error):
        program(on(device, F))
