"""The rules for arrays on a device: what you can write, what raises, what the results are."""

import numpy as np
import pytest
from inside import lies_alike
from kinds import EVERYWHERE, GPUS, numbers

from fluxlite.devices import CPU, cpu


class Foreign:
    """An array type that no library knows, but that knows them, like tracked arrays."""

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return "foreign", ufunc.__name__, method

    def __array_function__(self, function, types, args, kwargs):
        return "foreign", function.__name__

    def __radd__(self, other):
        return "foreign", "radd"

    def __float__(self):
        raise TypeError("a foreign array is no number")


# -- arithmetic -----------------------------------------------------------------------------------


@pytest.mark.on(*GPUS)
@pytest.mark.parametrize(
    "mix",
    [
        lambda x, h: x + h, lambda x, h: h - x, lambda x, h: x @ h.T, lambda x, h: h @ x.T, lambda x, h: x == h,
        lambda x, h: np.maximum(x, h), lambda x, h: np.concatenate([h, x]), lambda x, h: np.stack([x, h]),
        lambda x, h: np.where(x > 2, x, h), lambda x, h: x.dot(h.T), lambda x, h: np.add(x, x, out=h),
        lambda x, h: np.add(h, h, out=x), lambda x, h: x + h.tolist(), lambda x, h: x + "text",
        lambda x, h: x + np.array(1.0), lambda x, h: x.__iadd__(h[0]), lambda x, h: x.__iadd__([1.0, 2.0, 3.0]),
    ],
)  # fmt: skip
def test_a_host_array_is_no_operand(device, mix):
    x = numbers(device)
    with pytest.raises(TypeError):
        mix(x, np.ones((2, 3), np.float32))
    assert cpu(x).sum() == 15


@pytest.mark.on("Simulated", "Metal")
@pytest.mark.parametrize(
    ("host", "named"),
    [
        (np.zeros(2), "np.zeros_like(a, shape=…)"), (0.1 * np.eye(2), "np.identity(n, like=a)"),
        (np.arange(2), "np.arange(n, like=a)"), (np.arange(2)[:, None], "np.arange(n, like=a)"),
        (np.ones(2), ""), (np.zeros(0), ""), (np.array([[2.0], [0.0]]), ""), (np.array(["a", "b"]), ""),
    ],
)  # fmt: skip
def test_what_you_make_on_the_host_can_be_made_elsewhere(device, host, named):
    """A state that a layer begins with, noise on a diagonal, a mask: CuPy's own error can't name the way out."""
    with pytest.raises(TypeError, match=r":0.*of shape .*on CPU; a GPU computes only with what.*gpu\(x\)") as caught:
        np.tanh(device(np.ones(2, np.float32))) * host
    said = str(caught.value)
    assert ("where the array a is" in said) == bool(named) and named in said


@pytest.mark.on(*EVERYWHERE)
def test_numbers_are_operands(device):
    """A Python number is weak; a NumPy number isn't."""
    x = numbers(device, (3,))
    for two in (2, 2.0, np.float32(2), np.int8(2), True + True):
        for result in (two * x, x * two, np.multiply(x, two)):
            assert type(result) is type(x) and result.dtype == np.float32 and cpu(result).tolist() == [0, 2, 4]
    assert (x * 2.5).dtype == np.float32 and (x * np.float64(2.5)).dtype == np.float64
    if device.backend != "Metal":
        assert cpu(x == None).tolist() == [False] * 3 and cpu(x != None).tolist() == [True] * 3  # noqa: E711
    if device is not CPU:  # a host array of shape () may be compared with, and infinity comes without a warning
        assert cpu(x < np.array(2.0)).tolist() == [True, True, False]
        assert cpu(np.array(1.0) == x).tolist() == [False, True, False]
        assert cpu(np.log(x[:2])).tolist() == [-np.inf, 0] and np.isnan(cpu(x[:1] / x[:1])).all()


@pytest.mark.on(*EVERYWHERE)
def test_operators_are_numpys(device):
    h = np.array([[3, -1], [2, 5]], np.int32)
    x = device(h)
    for result, right in [
        (x + x, h + h), (x - 1, h - 1), (1 - x, 1 - h), (x * x, h * h), (x / 2, h / 2), (1 / x, 1 / h),
        (x // 2, h // 2), (x % 2, h % 2), (7 % x, 7 % h), (x**2, h**2), (2 ** (x * x), 2 ** (h * h)),
        (-x, -h), (+x, +h), (abs(x), abs(h)), (~x, ~h), (x & 1, h & 1), (x | 1, h | 1), (x ^ 1, h ^ 1),
        (1 & x, 1 & h), (x << 1, h << 1), (x >> 1, h >> 1), (x < 2, h < 2), (x <= 2, h <= 2), (x > 2, h > 2),
        (x >= 2, h >= 2), (x == 2, h == 2), (x != 2, h != 2), (divmod(x, 2)[1], divmod(h, 2)[1]),
        *([] if device.backend == "Metal" else [(x @ x, h @ h)]),  # MLX multiplies no matrices of integers
    ]:  # fmt: skip
        assert type(result) is type(x)
        np.testing.assert_array_equal(cpu(result), right.astype(result.dtype))  # on Metal, float32 instead of float64


@pytest.mark.on(*EVERYWHERE)
def test_in_place_operators_write_to_all_views(device):
    x = numbers(device, (4,))
    view, same = x[1:3], x
    x += 1
    view *= 10
    x -= device(np.ones(4, np.float32))
    view /= 2
    assert same is x
    assert cpu(x).tolist() == [0, 9.5, 14.5, 3]


# -- other array types get a say -------------------------------------------------------------------


@pytest.mark.on(*GPUS)
def test_foreign_arrays_are_asked(device):
    class Refusing(Foreign):
        __array_ufunc__ = None

    x = numbers(device)
    assert x + Foreign() == ("foreign", "add", "__call__") == np.add(Foreign(), x)
    assert x @ Foreign() == ("foreign", "matmul", "__call__")
    assert (x == Foreign()) is not None
    assert np.concatenate([x, Foreign()]) == ("foreign", "concatenate")
    assert x + Refusing() == ("foreign", "radd")
    for index in (0, slice(None), (0, 1)):
        with pytest.raises(TypeError):
            x[index] = Foreign()
    with pytest.raises(TypeError):
        x += Foreign()


# -- copies to the host must be explicit -----------------------------------------------------------


@pytest.mark.on(*GPUS)
@pytest.mark.filterwarnings("ignore:__array__ implementation doesn't accept a copy")  # of CuPy's, before it raises
@pytest.mark.parametrize("convert", [np.asarray, lambda x: np.array([x, x]), np.random.permutation])
def test_numpy_does_not_take_it_to_the_host(device, convert):
    with pytest.raises(TypeError, match=r"cpu\(x\)" if device.backend == "Simulated" else None):
        convert(numbers(device))


@pytest.mark.on(*GPUS)
def test_a_device_number_is_no_index_of_a_list(device):
    with pytest.raises(TypeError):
        ["a", "b"][numbers(device).astype(np.int32)[0, 0]]


@pytest.mark.on(*EVERYWHERE)
def test_conversions_of_one_element(device):
    x = numbers(device)
    assert float(x[1, 2]) == 5.0 and int(x[1, 2]) == 5 and complex(x[0, 1]) == 1 and bool(x[0, 1])
    assert x[0, 1].item() == 1.0 and x.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert f"{x[1, 2]:.2f}" == "5.00"
    with pytest.raises(ValueError):
        bool(x)
    with pytest.raises(TypeError):
        hash(x)


@pytest.mark.on(*GPUS)
def test_print_shows_values(device):
    x = numbers(device, (2,))
    assert repr(x).startswith("array([0., 1.], dtype=float32)") and str(x) == "[0. 1.]"
    assert device.backend != "Simulated" or repr(x).endswith("  # Simulated:0")


# -- shapes, views, reductions ----------------------------------------------------------------------


@pytest.mark.on(*GPUS)
def test_views_know_the_array_they_show(device):
    x = numbers(device)
    assert x[0].base is x and x.T.base is x and x[0][1:].base is x and x.reshape(3, 2).base is x
    assert x.base is None and x.copy().base is None and x.T.reshape(-1).base is None
    element = x[1, 2]  # a view, too
    assert type(element) is type(x) and element.shape == ()
    element[()] = 7
    assert float(x[1, 2]) == 7
    for result in (x.sum(), np.sum(x), np.max(x), x.mean(), np.argmax(x), np.allclose(x, x)):
        assert type(result) is type(x) and result.shape == ()


@pytest.mark.on(*EVERYWHERE)
def test_memory_layout_is_numpys(device):
    h = np.zeros((3, 4, 1, 2), np.float32)
    x = device(h)
    for view in [
        lambda a: a[1:, ::2], lambda a: a[..., None, 0], lambda a: a[::-1, -1], lambda a: a.T, lambda a: a.T[0],
        lambda a: np.moveaxis(a, 0, 2), lambda a: np.swapaxes(a, 1, 3), lambda a: np.squeeze(a), np.matrix_transpose,
        lambda a: np.expand_dims(a, (0, 2)), lambda a: a.reshape(12, 2), lambda a: a[::2].reshape(2, 2, 2, 2),
        lambda a: a[:, :, 0].reshape(3, 1, 2, 2, 2), lambda a: np.broadcast_to(a, (5, 3, 4, 7, 2)),
        lambda a: np.flip(a, 1), lambda a: a.reshape(3, 8, order="F"),
    ]:  # fmt: skip
        there, here = view(x), view(h)
        for name in ("shape", "dtype", "ndim", "size", "nbytes"):
            assert getattr(there, name) == getattr(here, name)
        if np.shares_memory(here, h):
            assert lies_alike(there, here) and (device is CPU or there.base is x) and len(there) == len(here)
            assert there.flags.c_contiguous == here.flags.c_contiguous
        else:
            assert there.base is not x
    h = np.arange(6, dtype=np.float32).reshape(2, 3)
    for source in (h.T, np.asfortranarray(h), h[:, ::-1], h[:, ::2], h[:0], np.float32(3) * np.ones(())):
        there = device(source)
        assert there.shape == source.shape
        np.testing.assert_array_equal(cpu(there), source)
    assert device(h.T).strides == h.T.strides == cpu(device(h.T)).strides


@pytest.mark.on(*EVERYWHERE)
def test_iteration_yields_views(device):
    x = numbers(device)
    for row in x:
        row *= 2
    assert cpu(x).tolist() == [[0, 2, 4], [6, 8, 10]]
    with pytest.raises(TypeError):
        iter(x[0, 0])


@pytest.mark.on(*EVERYWHERE)
def test_arrays_made_from_arrays_are_on_the_device(device):
    x = numbers(device)
    for result, right in [
        (np.zeros_like(x, shape=(2,)), [0, 0]), (np.ones_like(x, shape=(2,), dtype=np.int32), [1, 1]),
        (np.full_like(x, 3, shape=(2,)), [3, 3]), (np.asarray([1, 2], like=x), [1, 2]), (np.arange(2, like=x), [0, 1]),
    ]:  # fmt: skip
        assert type(result) is type(x) and cpu(result).tolist() == right


@pytest.mark.on("CPU", "Simulated", "CUDA")
@pytest.mark.parametrize(
    "program",
    [
        lambda a, x: np.array([a, a * 2], like=x), lambda a, x: np.array([a[0, 0], a[1, 1]], like=x),
        lambda a, x: np.array([[a[0], a[1]], (a[1], a[0])], like=x), lambda a, x: np.asarray((a.T, a.T), like=x),
        lambda a, x: np.array([a, a > 1], like=x), lambda a, x: np.array([a, a], np.int32, order="F", like=x),
        lambda a, x: np.array([a[0]], ndmin=3, like=x), lambda a, x: np.array([a.sum()], dtype=float, like=x),
        lambda a, x: np.array(a, dtype=int, order="F", like=x), lambda a, x: np.array(a, ndmin=4, like=x),
        lambda a, x: np.array(a.T, like=x), lambda a, x: np.asarray(a, np.float64, "F", like=x),
        lambda a, x: np.asarray(a.T, copy=True, like=x), lambda a, x: np.ascontiguousarray(a.T, like=x),
        lambda a, x: np.ascontiguousarray(a[0, 0], like=x), lambda a, x: np.asarray([], like=x),
        lambda a, x: np.array([[1, 2], [3, 4]], float, order="F", ndmin=3, like=x), lambda a, x: np.array(2, like=x),
        lambda a, x: np.zeros((2, 3), order="F", like=x), lambda a, x: np.array(a.T, order="K", copy=None, like=x),
    ],
)  # fmt: skip
def test_an_array_like_another_is_what_numpy_makes(device, program):
    h = np.arange(6, dtype=np.float32).reshape(2, 3)
    x = device(h)
    result, right = program(x, x), program(h, h)
    assert type(result) is type(x) and result.dtype == right.dtype
    for name in ("c_contiguous", "f_contiguous"):
        assert getattr(result.flags, name) == getattr(right.flags, name)
    np.testing.assert_array_equal(cpu(result), right)


@pytest.mark.on(*EVERYWHERE)
def test_functions_and_methods_are_numpys(device):
    h = np.array([[3.0, -1.0, 2.0], [0.5, 4.0, -2.0]], np.float32)
    x = device(h)
    for f in [
        lambda a: np.concatenate([a, a], axis=1), lambda a: np.stack([a, a]), lambda a: np.split(a, 3, axis=1)[1],
        lambda a: np.moveaxis(a, 0, 1), lambda a: np.expand_dims(a, 0), lambda a: np.pad(a, 1), np.transpose,
        lambda a: np.clip(a, 0, 1), lambda a: np.where(a > 0, a, 0), lambda a: np.einsum("ij,kj->ik", a, a),
        lambda a: np.tensordot(a, a, axes=2), lambda a: np.take(a, [0, 2], axis=1), lambda a: np.sort(a, axis=1),
        lambda a: np.argsort(a, axis=1), lambda a: np.cumsum(a), lambda a: np.repeat(a, 2), lambda a: np.tile(a, 2),
        lambda a: np.flip(a, 1), lambda a: np.outer(a[0], a[1]), lambda a: np.linalg.norm(a), np.tanh, np.exp, np.sign,
        lambda a: a.sum(axis=0), lambda a: a.mean(axis=1, keepdims=True), lambda a: a.var(), lambda a: a.std(ddof=1),
        lambda a: a.max(axis=1), lambda a: a.min(), lambda a: a.argmax(axis=1), lambda a: a.argmin(),
        lambda a: a.prod(), lambda a: a.cumsum(axis=0), lambda a: a.reshape((-1,)), lambda a: a.ravel(),
        lambda a: a.T.reshape(-1), lambda a: a.transpose(1, 0), lambda a: a.swapaxes(0, 1),
        lambda a: a[None].squeeze(0), lambda a: a.astype(np.int32), lambda a: a.copy(), lambda a: a.dot(a.T),
        lambda a: a.clip(0, 1), lambda a: a.round(), lambda a: a.take(np.array([0, 1])), lambda a: a.repeat(2),
        lambda a: (a > 0).all(), lambda a: (a > 0).any(axis=0), lambda a: a.trace(),
        lambda a: a.diagonal(), lambda a: a.conj(),
        *([] if device.backend == "Metal" else [lambda a: np.linalg.inv(a @ a.T), lambda a: np.nonzero(a > 0)[1]]),
    ]:  # fmt: skip
        result = f(x)
        assert type(result) is type(x) or device is CPU
        np.testing.assert_allclose(cpu(result), f(h), rtol=1e-5)
        assert result.dtype == f(h).dtype


@pytest.mark.on("Simulated", "CUDA")
def test_an_arrays_device_tells_its_number_as_cupys_does(device):
    x = numbers(device)
    assert x.device.id == int(x.device) == device.id == 0
    with x.device:
        assert (x + 1).device.id == 0


@pytest.mark.on("CPU", "Simulated")
def test_a_read_only_array_cannot_be_changed(device):
    x = device(np.arange(3, dtype=np.float32))
    x.flags.writeable = False
    for change in (
        lambda: x.__iadd__(1), lambda: x.__setitem__(0, 5), lambda: x.fill(1), lambda: x.sort(), lambda: x[1:].fill(1),
        lambda: x.__setitem__([0, 1], device(np.ones(2, np.float32))), lambda: np.exp(x, out=x),
        lambda: np.copyto(x, x * 2),
    ):  # fmt: skip
        with pytest.raises(ValueError):
            change()
    assert cpu(x).tolist() == [0, 1, 2]
    x.flags.writeable = True
    x += 1
    assert cpu(x).tolist() == [1, 2, 3]
