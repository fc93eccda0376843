"""CuPy's `testing`: the arrays, the loops over types, and the classes with parameters that other projects use."""

import unittest
import warnings

import numpy as np
import pytest

import simgpu as cp
from simgpu import testing


def test_arrays_are_the_same_on_the_device_and_on_the_host():
    for make in testing.shaped_arange, testing.shaped_reverse_arange, testing.shaped_random:
        for dtype in "?bfeD":
            ours, numpys = make((2, 3), dtype=dtype), make((2, 3), np, dtype)
            assert isinstance(ours, cp.ndarray) and ours.dtype == numpys.dtype == dtype
            testing.assert_array_equal(ours, numpys)
    assert testing.shaped_arange((2, 2), cp, "i").tolist() == [[1, 2], [3, 4]]
    assert testing.shaped_arange((3,), cp, "?").tolist() == [False, True, False]
    assert testing.shaped_reverse_arange((2,), np, "F").tolist() == [2 + 2j, 1 + 1j]
    assert testing.shaped_linspace(-1, 1, (3,), cp, "B").tolist() == [0, 0, 1]
    assert testing.shaped_arange((2, 3), order="F").flags.f_contiguous
    wanted = np.random.RandomState(7).rand(2, 2) * 3
    testing.assert_array_equal(testing.shaped_random((2, 2), cp, "d", 3, 7), wanted)


def test_assertions_look_at_values_strides_and_lists():
    x = cp.arange(6.0).reshape(2, 3)
    testing.assert_array_equal(x, x.get(), strides_check=True)
    testing.assert_array_max_ulp(x, np.nextafter(x.get(), 9))
    testing.assert_array_list_equal([x, x], [x.get(), x])
    for wrong in (
        lambda: testing.assert_array_equal(x, x.copy("F"), strides_check=True),
        lambda: testing.assert_array_equal(x, x + 1),
        lambda: testing.assert_array_list_equal([x], [x, x]),
        lambda: testing.assert_array_list_equal([x], (x,)),
        lambda: testing.assert_array_max_ulp(x, x + 1e-9),
        lambda: testing.assert_array_almost_equal_nulp(x, x + 1e-9),
    ):
        with pytest.raises(AssertionError):
            wrong()


def test_a_warning_is_expected():
    with testing.assert_warns(FutureWarning):
        warnings.warn("soon", FutureWarning, stacklevel=1)
    with pytest.raises(AssertionError, match="FutureWarning not triggered"), testing.assert_warns(FutureWarning):
        warnings.warn("now", UserWarning, stacklevel=1)


@pytest.mark.parametrize(
    ("loop", "chars"),
    [
        (testing.for_all_dtypes(), "dfebhilqBHILQ?FD"),
        (testing.for_all_dtypes("dtype", True, True, True), "dfbhilqBHILQ"),
        (testing.for_float_dtypes(no_float16=True), "df"), (testing.for_int_dtypes(no_bool=True), "bhilqBHILQ"),
        (testing.for_signed_dtypes(), "bhilq"), (testing.for_unsigned_dtypes(), "BHILQ"),
        (testing.for_complex_dtypes(), "FD"), (testing.for_dtypes([np.int8, "f"]), "bf"),
    ],
)  # fmt: skip
def test_a_test_runs_with_each_type(loop, chars):
    seen = []

    @loop
    def check(dtype):
        seen.append(dtype)

    check()
    assert seen == [np.dtype(char).type for char in chars]


class TestTwice:
    @testing.for_CF_orders("order")
    @testing.for_dtypes("if", name="kind")
    def test_both(self, order, kind):
        """pytest finds no parameters here."""
        assert order in (None, "C", "F", "c", "f") and kind in (np.int32, np.float32)


def test_a_failing_type_is_named(capsys):
    @testing.for_dtypes("if")
    def check(dtype):
        assert dtype is np.int32

    with pytest.raises(AssertionError):
        check()
    assert "dtype is <class 'numpy.float32'>" in capsys.readouterr().out


seen: list[tuple] = []


@testing.parameterize(*testing.product({"b": [1, 2], "a": ["x"]}), {"a": "y", "b": len})
class TestParameters:
    def test_attributes(self):
        seen.append((self.a, self.b))


@testing.parameterize({"n": 3}, {"n": 4})
class Cases(unittest.TestCase):
    def test_attributes(self):
        seen.append(self.n)


def test_each_set_of_parameters_has_run():
    assert seen[:3] == [("x", 1), ("x", 2), ("y", len)] and sorted(seen[3:]) == [3, 4] and Cases is None


def test_what_a_test_needs():
    assert testing.installed("numpy>=1.20", "pytest") and not testing.installed("numpy<1")
    assert not testing.installed("no-such-package") and testing.numpy_satisfies(">=1")
    test = testing.with_requires("no-such-package>=2")(lambda: None)
    with pytest.raises(unittest.SkipTest, match="requires: no-such-package>=2"):
        test()


def test_what_is_lacking_says_so():
    with pytest.raises(NotImplementedError, match="cupy.testing.numpy_cupy_equal isn't simulated"):
        testing.numpy_cupy_equal  # noqa: B018
    assert "shaped_random" in dir(testing) and "numpy_cupy_equal" not in dir(testing)
