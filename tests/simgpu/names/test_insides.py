"""What other projects take from inside CuPy: `cupy._core` and `cupy._util`."""

import numpy as np
import pytest

import simgpu as cp
from simgpu import _core, _util
from simgpu._core import internal
from simgpu._core._routines_indexing import _ndarray_argwhere
from simgpu._core._scalar import get_typename
from simgpu.words import Missing


def test_they_are_the_same_as_cupys_public_names():
    assert _core.ElementwiseKernel is cp.ElementwiseKernel and _core.ReductionKernel is cp.ReductionKernel
    assert _core.RawKernel is cp.RawKernel and _core.ndarray is _core.core.ndarray is cp.ndarray
    assert _core.array is cp.array and _core.add is cp.add and _core._kernel.ufunc is cp.ufunc
    assert _util.memoize is cp.memoize and issubclass(_util.PerformanceWarning, RuntimeWarning)


@pytest.mark.parametrize("module", [_core, _core.core, internal, _util])
def test_what_is_lacking_says_that_we_lack_it(module):
    with pytest.raises(Missing, match=r"cupy\._.*\.foo isn't simulated: only some names of that module are"):
        module.foo  # noqa: B018
    assert not hasattr(module, "foo") and not hasattr(module, "__foo__")


def test_axes():
    assert internal._normalize_axis_index(-1, 3) == 2
    assert internal._normalize_axis_indices(None, 3) == (0, 1, 2)
    assert internal._normalize_axis_indices(-2, 3) == (1,)
    assert internal._normalize_axis_indices((2, -3), 3) == (0, 2)
    assert internal._normalize_axis_indices((2, -3), 3, sort_axes=False) == (2, 0)
    with pytest.raises(cp.exceptions.AxisError):
        internal._normalize_axis_index(3, 3)
    with pytest.raises(ValueError, match="duplicate value in 'axis'"):
        internal._normalize_axis_indices((0, -3), 3)


def test_sizes():
    assert internal.prod([2, 3, 4]) == 24 and internal.prod(()) == 1
    assert [internal.clp2(n) for n in (0, 1, 2, 3, 8, 9)] == [0, 1, 2, 4, 8, 16]


def test_elementwise_copy_changes_the_type_and_stays_on_the_device():
    x, out = cp.arange(6.0).reshape(2, 3) + 0.5, cp.zeros((2, 3), "int16")
    with cp.receipt() as r:
        found = _core.elementwise_copy(x, out)
    assert found is out and out.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert r.launches == 1 and r.synchronizations == 0


def test_argwhere():
    assert _ndarray_argwhere(cp.array([[0, 1], [2, 0]])).tolist() == [[0, 1], [1, 0]]


def test_what_c_calls_a_type():
    declared: set = set()
    names = [get_typename(np.dtype(char), declared) for char in "?bHlQefD"]
    assert names == [
        "bool", "signed char", "unsigned short", "long long", "unsigned long long", "float16", "float",
        "thrust::complex<double>",
    ]  # fmt: skip
    assert declared == {'#include "cupy/float16.cuh"'}
    with pytest.raises(TypeError, match="None"):
        get_typename(None)
    with pytest.raises(ValueError, match="Unsupported dtype"):
        get_typename("U3")


def test_warnings_and_checks():
    with pytest.warns(FutureWarning, match="foo.bar is experimental"):
        _util.experimental("foo.bar")
    _util.check_array(cp.zeros(2), arg_name="x")
    with pytest.raises(TypeError, match="'x' must be a cupy.ndarray object, not .*numpy.ndarray"):
        _util.check_array(np.zeros(2), arg_name="x")
