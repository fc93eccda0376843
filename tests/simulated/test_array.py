"""Methods of a simulated array that give what NumPy's give."""

import numpy as np
import pytest

from fluxlite.devices import cpu, gpu

X = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize("axes", [(), (None,), ((2, 0, 1),), (2, 0, 1), ([1, 2, 0],), (-1, 0, 1)], ids=str)
def test_transpose_takes_axes_in_all_forms(simulated, axes):
    x = gpu(X)
    y = x.transpose(*axes)
    assert y.base is x
    np.testing.assert_array_equal(cpu(y), X.transpose(*axes))


def test_transpose_of_one_axis(simulated):
    assert cpu(gpu(X[0, 0]).transpose(0)).tolist() == cpu(gpu(X[0, 0]).transpose()).tolist() == [0, 1, 2, 3]


def test_a_view_of_another_type_is_of_the_same_memory(simulated):
    x = gpu(X)
    bits, again = x.view(np.uint32), x.view()
    assert bits.dtype == np.uint32 and again.dtype == np.float32
    np.testing.assert_array_equal(cpu(bits), X.view(np.uint32))
    again[...] = 1
    assert cpu(x).min() == 1 and cpu(bits).min() == np.float32(1).view(np.uint32)
