"""The rules for reading and writing at an index."""

import numpy as np
import pytest
from inside import add_at
from kinds import EVERYWHERE, GPUS, numbers

from fluxlite import scatter_add
from fluxlite.devices import cpu


@pytest.mark.on(*EVERYWHERE)
@pytest.mark.parametrize(
    "index",
    [0, -1, slice(None, None, 2), (0, 1), (Ellipsis, 0), (None, 1), (slice(None), None, -1), Ellipsis, np.int64(1)]
    + [
        [0, 1, 1],
        (0, [0, 2]),
        ((0, 1), slice(None)),
        (slice(None), [2, 0]),
        np.array([1, 0]),
        (np.array([0, 1]), np.array([2, 1])),
    ]
    + [np.array([True, False]), (slice(None), np.array([True, False, True])), (Ellipsis, np.array([[0], [2]]))],
)
def test_reading_gives_what_numpy_gives(device, index):
    h = np.arange(6, dtype=np.float32).reshape(2, 3)
    result = device(h)[index]
    assert result.shape == h[index].shape
    np.testing.assert_array_equal(cpu(result), h[index])


@pytest.mark.on(*EVERYWHERE)
@pytest.mark.parametrize("index", [2, -3, (0, 3), (slice(None), 5)])
def test_a_number_out_of_range_raises(device, index):
    with pytest.raises(IndexError):
        numbers(device)[index]
    with pytest.raises(IndexError):
        numbers(device)[index] = 1


@pytest.mark.on(*GPUS)
def test_an_array_out_of_range_wraps_around(device):
    x = numbers(device, (4,))
    far = device(np.array([0, 4, 5, -5]))
    assert cpu(x[far]).tolist() == [0, 0, 1, 3]
    assert cpu(np.take(x, far)).tolist() == [0, 0, 1, 3]
    assert cpu(numbers(device)[:, device(np.array([3]))]).tolist() == [[0], [3]]
    assert cpu(numbers(device)[..., device(np.array([4]))]).tolist() == [[1], [4]]
    assert cpu(np.take_along_axis(numbers(device), device(np.array([[3], [4]])), axis=1)).tolist() == [[0], [4]]
    x[device(np.array([6]))] = 20
    assert cpu(x).tolist() == [0, 1, 20, 3]


@pytest.mark.on(*GPUS)
def test_an_index_array_gives_a_copy_even_of_shape_0(device):
    x = numbers(device)
    picked = x[device(np.array(1))]
    picked += 100
    assert cpu(x).tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.on(*GPUS)
def test_a_host_array_cannot_be_written_to_a_slice(device):
    x = numbers(device, (4,))
    for values in (np.ones(2, np.float32), [1.0, 2.0], np.ones((1,), np.float32)):
        with pytest.raises(ValueError):
            x[2:4] = values
    assert cpu(x).tolist() == [0, 1, 2, 3]


@pytest.mark.on(*EVERYWHERE)
def test_numbers_and_device_arrays_can_be_written_anywhere(device):
    x = numbers(device, (4,))
    x[[0, 2]] = np.array([7.0, 8.0])  # a host's array at places
    x[device(np.array([True, True, True, False])) & (x < 2)] = 9
    assert cpu(x).tolist() == [7, 9, 8, 3]
    x[0] = 5
    x[1] = np.array(6.0)
    x[2:] = device(np.array([7, 8]))
    assert cpu(x).tolist() == [5, 6, 7, 8]
    x[0] += 1
    x[1:3] *= 2
    x[[3]] += 1
    assert cpu(x).tolist() == [6, 12, 14, 9]


@pytest.mark.on(*EVERYWHERE)
def test_an_index_that_occurs_twice_counts_twice_in_add_at(device):
    for index in (device(np.array([0, 2, 0])), [0, 2, 0], (slice(None), [0, 2, 0]), (0, [0, 2, 0])):
        like = numbers(device, (3,) if not isinstance(index, tuple) else (2, 3))
        values = np.ones_like(like[index])
        right = np.zeros(like.shape, np.float32)
        np.add.at(right, cpu(index), cpu(values))
        np.testing.assert_array_equal(cpu(scatter_add(like, index, values)), right)


@pytest.mark.on(*EVERYWHERE)
@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "int32", "uint8", "complex64"])
def test_add_at_for_all_types(device, dtype):
    total = device(np.array([1, -2, 3]).astype(dtype), dtype=None)
    add_at(total, device(np.array([1, 1])), device(np.array([5, 6]).astype(dtype), dtype=None))
    assert total.dtype == dtype
    assert cpu(total).tolist() == (np.array([1, -2, 3]).astype(dtype) + np.array([0, 11, 0]).astype(dtype)).tolist()
