"""What CuPy takes from the host and what it refuses there: axes, shapes, shifts, and numbers beside an array of a GPU.

The table was made by calling CuPy. With `-m cuda` it's compared with CuPy again.
"""

import re

import numpy as np
import pytest

import simgpu as cp
from fluxlite import cpu

X, V, M = np.arange(24.0).reshape(2, 3, 4), np.arange(6.0), np.array([[4.0, 1, 0], [1, 3, 1], [0, 1, 2]])
A = np.array

# Calls with something of the host, and the same with plain numbers.
TAKEN = {
    # several axes: a tuple, a list or an array; and one: a number, or an array of shape ()
    "sum": (lambda x, v, m: np.sum(x, axis=A([0, 2])), lambda x, v, m: np.sum(x, axis=(0, 2))),
    "max list": (lambda x, v, m: x.max(axis=[0, 2]), lambda x, v, m: np.max(x, axis=(0, 2))),
    "mean of one": (lambda x, v, m: np.mean(x, axis=A([1])), lambda x, v, m: np.mean(x, axis=(1,))),
    "count_nonzero": (lambda x, v, m: np.count_nonzero(x, A([0, 1])), lambda x, v, m: np.count_nonzero(x, (0, 1))),
    "median": (lambda x, v, m: np.median(x, axis=A([0, 1])), lambda x, v, m: np.median(x, axis=(0, 1))),
    "var": (lambda x, v, m: np.var(x, axis=A(1), ddof=A(1)), lambda x, v, m: np.var(x, axis=1, ddof=1)),
    "flip": (lambda x, v, m: np.flip(x, (A(0), np.int8(1))), lambda x, v, m: np.flip(x, (0, 1))),
    "squeeze": (lambda x, v, m: x[:1].squeeze(A(0)), lambda x, v, m: x[:1].squeeze(0)),
    "cumsum": (lambda x, v, m: np.cumsum(x, axis=A(1)), lambda x, v, m: np.cumsum(x, axis=1)),
    "stack": (lambda x, v, m: np.stack([x, x], axis=A(1)), lambda x, v, m: np.stack([x, x], axis=1)),
    "add.reduce": (lambda x, v, m: np.add.reduce(x, axis=A(1)[None]), lambda x, v, m: np.add.reduce(x, axis=1)),
    "moveaxis": (lambda x, v, m: np.moveaxis(x, A([0, 1]), A([2, 0])), lambda x, v, m: np.moveaxis(x, (0, 1), (2, 0))),
    "transpose by a range": (lambda x, v, m: np.transpose(x, range(2, -1, -1)), lambda x, v, m: x.T),
    "transpose": (lambda x, v, m: x.transpose(A([2, 0, 1])), lambda x, v, m: x.transpose(2, 0, 1)),
    "tensordot": (
        lambda x, v, m: np.tensordot(m, m, (A([0]), np.int64(1))), lambda x, v, m: np.tensordot(m, m, ([0], [1])),
    ),
    "rot90": (lambda x, v, m: np.rot90(x, A(1), A([0, 1])), lambda x, v, m: np.rot90(x, 1, (0, 1))),
    "fftn": (lambda x, v, m: np.fft.fftn(x, axes=A([0, 2])), lambda x, v, m: np.fft.fftn(x, axes=(0, 2))),
    "rfft2": (
        lambda x, v, m: np.fft.rfft2(x, s=A([4, 2]), axes=A([0, 1])),
        lambda x, v, m: np.fft.rfft2(x, s=(4, 2), axes=(0, 1)),
    ),
    "fft": (lambda x, v, m: np.fft.fft(v, n=A(4)), lambda x, v, m: np.fft.fft(v, n=4)),
    "fftshift": (lambda x, v, m: np.fft.fftshift(x, axes=A([0, 2])), lambda x, v, m: np.fft.fftshift(x, axes=(0, 2))),
    # shapes, shifts, widths, sections, places
    "reshape": (lambda x, v, m: x.reshape(A([4, 6])), lambda x, v, m: x.reshape(4, 6)),
    "zeros_like": (
        lambda x, v, m: np.zeros_like(x, shape=(A(2), np.int64(3))), lambda x, v, m: np.zeros_like(x, shape=(2, 3)),
    ),
    "broadcast_to": (lambda x, v, m: np.broadcast_to(v, A([2, 6])), lambda x, v, m: np.broadcast_to(v, (2, 6))),
    "roll": (lambda x, v, m: np.roll(x, A([1, 2]), axis=A([0, 2])), lambda x, v, m: np.roll(x, (1, 2), axis=(0, 2))),
    "roll by one": (lambda x, v, m: np.roll(x, A(1)), lambda x, v, m: np.roll(x, 1)),
    "tile": (lambda x, v, m: np.tile(v, A([2, 1])), lambda x, v, m: np.tile(v, (2, 1))),
    "repeat": (lambda x, v, m: np.repeat(v, np.int8(2)), lambda x, v, m: np.repeat(v, 2)),
    "pad": (
        lambda x, v, m: np.pad(m, A([[1, 0], [2, 1]]), constant_values=A(7)),
        lambda x, v, m: np.pad(m, ((1, 0), (2, 1)), constant_values=7),
    ),
    "split": (lambda x, v, m: np.split(v, A([2, 3]))[1], lambda x, v, m: np.split(v, (2, 3))[1]),
    "partition": (lambda x, v, m: np.partition(v, A([1, 3])), lambda x, v, m: np.partition(v, (1, 3))),
    "round": (lambda x, v, m: np.round(m, np.int64(1)), lambda x, v, m: np.round(m, 1)),
    "unravel_index": (
        lambda x, v, m: np.unravel_index(v.astype(int), A([4, 6]))[0],
        lambda x, v, m: np.unravel_index(v.astype(int), (4, 6))[0],
    ),
    "bincount": (
        lambda x, v, m: np.bincount(v.astype(int), minlength=A(9)),
        lambda x, v, m: np.bincount(v.astype(int), minlength=9),
    ),
    "full_like": (lambda x, v, m: np.full_like(x, A([2.0])), lambda x, v, m: np.full_like(x, 2.0)),
    "diff": (lambda x, v, m: np.diff(v, A(2), prepend=A(1.0)), lambda x, v, m: np.diff(v, 2, prepend=1.0)),
    # numbers that are copied to the device, and counted as such
    "diff of more": (lambda x, v, m: np.diff(v, prepend=[1.0]), lambda x, v, m: np.diff(v, prepend=1.0)),
    "append": (lambda x, v, m: np.append(v, A([1.0])), lambda x, v, m: np.append(v, 1.0)),
    "isclose": (lambda x, v, m: np.isclose(m, M), lambda x, v, m: np.isclose(m, m)),
    "average": (lambda x, v, m: np.average(v, weights=V.tolist()), lambda x, v, m: np.average(v, weights=v)),
    "delete": (lambda x, v, m: np.delete(v, A([0, 1])), lambda x, v, m: np.delete(v, slice(2))),
    "compress": (lambda x, v, m: v.compress(A([True, False])), lambda x, v, m: v[:1]),
    "gradient": (lambda x, v, m: np.gradient(v, V * 2), lambda x, v, m: np.gradient(v, 2.0)),
    "einsum": (lambda x, v, m: np.einsum("ij,j", m, M[0]), lambda x, v, m: np.einsum("ij,j", m, m[0])),
    "einsum of lists": (lambda x, v, m: np.einsum(x, A([0, 1, 2]), A([2])), lambda x, v, m: np.einsum("ijk->k", x)),
    "histogram": (lambda x, v, m: np.histogram(v, A([0.0, 3, 6]))[0], lambda x, v, m: np.histogram(v, 2, (0, 6))[0]),
}  # fmt: skip


@pytest.mark.on("Simulated", "CUDA")
@pytest.mark.parametrize("name", TAKEN)
def test_what_is_taken_from_the_host(name, device):
    given, plain = TAKEN[name]
    arrays = [device(x) for x in (X, V, M)]
    try:
        np.testing.assert_allclose(cpu(given(*arrays)), cpu(plain(*arrays)), rtol=1e-6)
    except ImportError as error:  # in a rehearsal
        pytest.skip(f"not rehearsed: {error}")


# What CuPy refuses: the host's, where it takes arrays of a GPU, or a GPU's, where it takes numbers of the host.
REFUSED = {
    "sum: axis takes a whole number, or several": (TypeError, lambda x, v, m: np.sum(x, axis=A(0))),
    "sum: axis takes": (TypeError, lambda x, v, m: np.sum(x, axis=v[0].astype(int))),
    "var: axis takes a whole number, or a tuple": (TypeError, lambda x, v, m: np.var(x, axis=[0, 1])),
    "cumsum: axis takes a whole number, got an array of int64, shape (2,)": (
        TypeError, lambda x, v, m: np.cumsum(x, axis=A([0, 1])),
    ),
    "stack: axis takes": (TypeError, lambda x, v, m: np.stack([x, x], axis=A(0.0))),
    "partition: kth takes an int": (TypeError, lambda x, v, m: np.partition(v, np.int64(1))),
    "rot90: axes takes whole numbers in": (TypeError, lambda x, v, m: np.rot90(x, axes=A(1))),
    "roll: axis takes": (TypeError, lambda x, v, m: np.roll(x, 1, axis=A(1))),
    "repeat: repeats takes": (TypeError, lambda x, v, m: np.repeat(v, A(2))),
    "tile: reps takes whole numbers of the host": (TypeError, lambda x, v, m: np.tile(v, v.astype(int))),
    "pad: pad_width takes numbers of the host": (TypeError, lambda x, v, m: np.pad(v, v[:1].astype(int))),
    "linalg.matrix_power: n takes an int": (TypeError, lambda x, v, m: np.linalg.matrix_power(m, np.int64(2))),
    "zeros_like: shape takes": (ValueError, lambda x, v, m: np.zeros_like(x, shape=A([2, 3]))),
    "full_like: fill_value takes a number": (ValueError, lambda x, v, m: np.full_like(v, V)),
    "searchsorted: v takes an array of a GPU": (NotImplementedError, lambda x, v, m: np.searchsorted(v, V)),
    "dot: b takes an array of a GPU": (TypeError, lambda x, v, m: np.dot(v, 2.0 * A(1.0)[()])),
    "where: unsupported type list": (TypeError, lambda x, v, m: np.where(v > 1, [1.0] * 6, v)),
    "clip: unsupported type list": (TypeError, lambda x, v, m: np.clip(v, [1.0] * 6, None)),
    "inner: unsupported type list": (AttributeError, lambda x, v, m: np.inner(v, [1.0] * 6)),
    "take_along_axis: indices takes whole numbers": (IndexError, lambda x, v, m: np.take_along_axis(v, v, 0)),
}  # fmt: skip


@pytest.mark.on("Simulated", "CUDA")
@pytest.mark.parametrize("words", REFUSED)
def test_what_is_refused(words, device):
    error, call = REFUSED[words]
    with pytest.raises(error, match=re.escape(words) if device.backend == "Simulated" else None):
        call(*(device(x) for x in (X, V, M)))


MADE = {
    "zeros": (lambda: cp.zeros(A([2, 3])), (2, 3)), "empty": (lambda: cp.empty((A(2), np.int8(3))), (2, 3)),
    "full": (lambda: cp.full(A(4), A([2.5])), (4,)), "eye": (lambda: cp.eye(A(2), k=np.int64(1)), (2, 2)),
    "arange": (lambda: cp.arange(A(3)), (3,)), "indices": (lambda: cp.indices(A([2, 3])), (2, 2, 3)),
    "linspace": (lambda: cp.linspace(A([0.0, 1.0]), [2.0, 3.0], A(4)), (4, 2)),
    "fftshift": (lambda: cp.fft.fftshift(A([1.0, 2.0])), (2,)), "ndarray": (lambda: cp.ndarray(A([2, 3])), (2, 3)),
    "append": (lambda: cp.append([1.0], A([2.0])), (2,)),
}  # fmt: skip


@pytest.mark.parametrize("name", MADE)
def test_new_arrays_from_what_the_host_has(name):
    call, shape = MADE[name]
    made = call()
    assert isinstance(made, cp.ndarray) and made.shape == shape


def test_a_message_about_one_array_names_one():
    with pytest.raises(TypeError, match=r"^fft: unsupported host array of float64, shape \(6,\); it takes arrays on"):
        cp.fft.fft(V)
    with pytest.raises(TypeError, match=r"^sin: unsupported host array"):
        cp.sin(V)


def test_numbers_of_the_host_that_are_copied_count_as_implicit_copies():
    v = cp.asarray(V)
    with cp.receipt() as r:
        np.append(v, A([1.0, 2.0]))
    assert r.host_to_device.implicit == 1
