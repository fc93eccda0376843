"""`simgpu.fuse`: a function is one launch, and computes what it computes without."""

import numpy as np
import pytest

import simgpu as cp


@pytest.fixture
def x():
    return cp.asarray(np.arange(1.0, 7).reshape(2, 3))


def each(x, y):
    return cp.where(x > y, cp.sqrt(x) * 2, y).astype(np.float32)


def both(x, y):
    return x + y, x[:, :1] * y


def normed(x, y):
    z = cp.exp(x - y)
    return z / z.sum(axis=1, keepdims=True)


def in_place(x, y):
    x += y
    x[...] = x * x


@pytest.mark.parametrize(("function", "written"), [(each, 24), (both, 48 + 48), (normed, 48), (in_place, 48)])
def test_one_launch_that_reads_arguments_and_writes_results(x, function, written):
    y = cp.asarray(np.array([3.0, 1.0, 2.0]))
    plain_x, asked = x.copy(), []
    wanted = function(plain_x, y)
    x.device.launch, fused = lambda *given: asked.append(given), cp.fuse(kernel_name="one")(function)
    try:
        made = fused(x, y)
    finally:
        del x.device.launch
    for found, expected in zip(*[z if type(z) is tuple else (z,) for z in (made, wanted)]):
        if expected is not None:
            np.testing.assert_array_equal(found.get(), expected.get())
            assert found.dtype == expected.dtype and found.device is x.device
    np.testing.assert_array_equal(x.get(), plain_x.get())
    ((name, nbytes, operations, _),) = asked
    assert (name, nbytes) == ("one", x.nbytes + y.nbytes + written) and operations >= 12


def test_what_is_between_takes_no_memory(x):
    with cp.receipt() as r:
        y = cp.fuse(lambda x: ((x + 1) * 2 - x) / 3)(x)
    assert r.launches == 1 and r.peak_memory - x.device.pool.used <= 0 and y.device.pool is x.device.pool


def test_numbers_and_nothing_are_arguments_and_functions_may_call_others(x):
    @cp.fuse
    def scaled(x, a, nothing):
        return x * cp.sqrt(a)

    @cp.fuse()
    def twice(x, a):
        return scaled(scaled(x, a, None), np.float64(a), None)

    with cp.receipt() as r:
        y = twice(x, 4)
    np.testing.assert_allclose(y.get(), x.get() * 4)
    assert dict(r.launched) == {"twice": 1}
    assert twice.__name__ == "twice" and scaled(3.0, 4, None) is not None


def test_without_arrays_it_is_a_plain_call():
    with cp.receipt() as r:
        assert cp.fuse(lambda a, b: (a if a > b else b, "text"))(2, 3) == (3, "text")
    assert r.launches == 0


def test_arguments_in_the_same_memory(x):
    def shifted(a, b):
        a += b
        a += b

    plain = x.copy()
    shifted(plain[0], plain[0, ::-1])
    cp.fuse(shifted)(x[0], x[0, ::-1])
    np.testing.assert_array_equal(x.get(), plain.get())


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x: x if x.sum() > 3 else -x, "Cannot convert to Python scalar"),
        (lambda x: x if x > 3 else -x, "Cannot convert to Python scalar"),
        (lambda x: x * float(x[0, 0]), "Cannot convert"), (lambda x: x * cp.asarray([1.0, 2, 3]), "Cannot convert"),
        (lambda x: x @ x.T, "matmul can't be part"), (lambda x: cp.sort(x), "sort can't be part"),
        (lambda x: x[cp.argmax(x)], "argmax can't be part"), (lambda x: 3, "the result is int"),
    ],
)  # fmt: skip
def test_what_cannot_be_one_launch_raises_and_changes_nothing(x, function, text):
    before = x.get()

    def changed(x):
        x += 1
        return function(x)

    with cp.receipt() as r, pytest.raises(TypeError, match=text):
        cp.fuse(changed)(x)
    assert r.launches == 0
    np.testing.assert_array_equal(x.get(), before)


def test_other_arguments_and_arrays_from_outside_are_refused(x):
    with pytest.raises(TypeError, match="Invalid argument type for 'f': <class 'list'>"):
        cp.fuse(kernel_name="f")(lambda x, y: x)(x, [1.0])
    with pytest.raises(ValueError, match="arrays of two devices") as error:
        cp.fuse(lambda y: y + x)(x[0])
    assert "must be one of its arguments" in error.value.__notes__[0]


def test_an_estimate_from_shapes_alone():
    seconds = cp.estimate(cp.fuse(lambda x: x * 2 + 1), np.ones((100, 100)), shapes_only=True)
    assert seconds.receipt.launches == 1


def test_a_result_of_numbers_alone_has_the_shape_of_the_arrays(x):
    made = cp.fuse(lambda a, n: (-n, a))(x, np.float32(3))[0]
    assert made.shape == x.shape and made.dtype == np.float32 and (made == -3).all()
    with pytest.raises(TypeError, match="the result is int"):
        cp.fuse(lambda a: 3)(x)
