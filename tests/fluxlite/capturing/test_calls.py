"""Each call in a captured step does what it does eagerly, however it's written: masks, `out`, parts of arguments."""

import copy

import numpy as np
import pytest
from two_worlds import as_bytes, stay, to_gpu

import fluxlite as fl

TWO = np.int64(2)
WIDE = np.arange(40, dtype=np.float32).reshape(5, 8)


def dense(i):
    return np.array([0.5 + i, 1.75, 2, 3.25 + i], np.float32)


def with_gaps(i):
    return (WIDE + i)[0, ::2]


def worlds(step, arguments=dense, place=stay, calls=6):
    """What the step gives and what its argument holds then, at each call: eagerly, and captured."""
    found = []
    for run in (step, fl.captured(step)):
        each = []
        for i in range(calls):
            x = place(arguments(i).copy() if arguments is dense else arguments(i))
            result = run(x)
            each.append((type(result), result.dtype, as_bytes([result, x])))
        found.append(each)
    return found


# -- a plain number that's put into an array, and where ----------------------------------------------------------------


def number_where(x):
    y = x * 2
    np.copyto(y, 9, where=y > 4)
    return y


def number_where_by_position(x):
    y = x * 2
    np.copyto(y, True, "unsafe", y > 4)
    return y


def rounded_down(x):
    y = np.floor(x * 2).astype(np.int64)
    np.copyto(y, 9.7, casting="unsafe")
    y[1:] = 2.9
    return y + np.full_like(x, -1.5, dtype=np.int64)


def filled_like(x):
    return np.full_like(x, 2.5, np.float64) + np.full_like(a=x, fill_value=3) + np.full_like(x, 1, None, "C", True, 4)


# -- NumPy's numbers, which compute otherwise than arrays -------------------------------------------------------------


def powers(x):
    total = x.sum() + 2.3
    by_ufunc = np.power(np.float32(0.9), x[0])
    return [
        by_ufunc,
        total**3,
        total**2,
        total**-0.5,
        np.float32(0.9) ** x[0],
        2**total,
        total ** x[0],
        x[0] ** 2,
        abs(x[1]),
    ]


def quotients(x):
    one, two = x[0] + 5, x[1] + 2
    return [one / two, one // two, one % two, 7 % two, one * two, 2 - one, one - two, one + 1, 3 / two]


def of_complex_numbers(x):
    z = (x + 1j * x[::-1]).astype(np.complex64)
    return [z[0] * z[1] + z[2], abs(z[0]), z[0] ** 2, z[1] / z[2], 2 * z[0], z[1] ** 0.5]


def adam_by_hand(x):
    t = x[0] + np.float32(4)
    return [x / (1 - 0.9**t), x / (1 - 0.999**t)]


@pytest.mark.parametrize("step", [powers, quotients, of_complex_numbers, adam_by_hand])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32])
def test_numbers_compute_as_numbers_to_the_last_bit(step, dtype):
    rng = np.random.default_rng(0)
    run = fl.captured(step)
    for i in range(30):
        x = (rng.random(4) * 3 + 1).astype(dtype)
        with np.errstate(all="ignore"):
            expected, found = step(x), run(x)
        assert [(type(y), y.tobytes()) for y in found] == [(type(y), y.tobytes()) for y in expected], i
    assert run.plans


@pytest.mark.parametrize("turned", [np.s_[::-1, ::-1], np.s_[:, ::-1], np.s_[::-1]])
def test_einsum_of_what_lies_backwards_adds_up_in_the_same_order(turned):
    def step(x):
        return np.einsum("ij,ij->i", x, x)

    run = fl.captured(step)
    x = np.random.default_rng(0).standard_normal((7, 33)).astype(np.float32)[turned]
    for _ in range(5):
        assert run(x).tobytes() == step(x).tobytes()


# -- where a result goes -----------------------------------------------------------------------------------------------


def sum_into(x):
    y = np.zeros_like(x, shape=(1,)).reshape(())  # to CuPy, an empty shape is none
    x.sum(0, None, y)
    return y


def sum_into_and_more(x):
    y = np.zeros_like(x, shape=(2, 1))
    np.sum(x.reshape(2, 2), 1, None, y, True)
    return y


def clip_into(x):
    y = x * 3
    np.clip(x, 1, 2, y)
    return y


def clip_as_a_method_into(x):
    y = x * 3
    y.clip(1, 2, out=y)
    return y


# -- parts of complex numbers ------------------------------------------------------------------------------------------


def real_and_imaginary_parts(x):
    y = x * (1 + 1j)
    y.real = x * 5
    y.imag *= 2
    return y


def parts_of_real_numbers(x):
    y = x * 2
    y.real *= 2
    y.real = y * 3
    return y


def sorted_by_axis(x):
    y = x * -2
    y.sort(axis=0)
    return y


# -- an argument of which a part is copied onto itself -----------------------------------------------------------------


def one_element(x):
    x[0] = x[1]
    return x * 1


def shifted(x):
    x[1:] = x[:-1]
    return x * 1


def reversed_in_place(x):
    x[...] = x[::-1]
    return x * 1


def copied_to_the_next(x):
    np.copyto(x[1:], x[:-1])
    return x * 1


def filled(x):
    x[...] = 3
    return x * 1


def reduced_by_ufuncs(x):
    return np.add.reduce(np.stack([x, x * 2]), axis=0) + np.multiply.reduce(x)


STEPS = [reduced_by_ufuncs, 
    number_where, number_where_by_position, rounded_down, filled_like, sum_into, sum_into_and_more, clip_into,
    clip_as_a_method_into, real_and_imaginary_parts, parts_of_real_numbers, sorted_by_axis,
    one_element, shifted, reversed_in_place, copied_to_the_next, filled,
]  # fmt: skip


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("arguments", [dense, with_gaps])
def test_a_call_is_what_it_is_eagerly(step, arguments):
    eager, captured = worlds(step, arguments)
    assert captured == eager


@pytest.mark.parametrize("step", STEPS)
def test_a_call_is_what_it_is_eagerly_on_a_device(step):
    with fl.simulate_gpu():
        eager, captured = worlds(step, place=to_gpu)
    assert captured == eager


@pytest.mark.parametrize(
    ("value", "error"), [(float("nan"), ValueError), (1j, TypeError), (300, OverflowError)], ids=["nan", "1j", "300"]
)
def test_a_number_that_an_array_refuses_is_refused(value, error):
    def step(x):
        y = np.zeros_like(x, dtype=np.uint8 if value != 1j else np.float32)
        y[...] = value
        return y

    for run in (step, fl.captured(step)):
        with pytest.raises(error):
            run(dense(0))


def test_a_text_of_numpys_is_a_text():
    def run(captured):
        step = lambda x, name: getattr(np, name)(x) * len(name)  # noqa: E731
        if captured:
            step = fl.captured(step)
        names = [np.str_(name) for name in ("sin", "sin", "sin", "tanh", "tanh", "tanh", "sin")]
        found = [step(dense(i), name).tobytes() for i, name in enumerate(names)]
        return found, len(step.plans) if captured else 2

    assert run(True) == run(False)


# -- refused, in words -------------------------------------------------------------------------------------------------


def set_shape(x):
    y = x * 2
    y.shape = (2, 2)
    return y


def set_flat(x):
    y = x * 2
    y.flat = 3
    return y


def parts_into(x):
    whole = np.zeros_like(x)
    return np.modf(x, out=(None, whole))[0] + whole


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (lambda x: copy.copy(x), "test_calls.py, line .*with copy.copy, of what the step computes .*x.copy()"),
        (lambda x: copy.deepcopy(x), "test_calls.py, line .*copy.deepcopy of what the step computes"),
        (lambda x, n=TWO: x.reshape(n, 2), "np.reshape with positions .*such as int"),
        (lambda x: x.put([0], 5), r"x.put can't .*np.put"),
        (set_flat, r"x.flat = … .*x\[...\] = …"),
        (set_shape, "x.shape = … .*x.reshape"),
        (lambda x: x.setflags(write=False), "x.setflags can't"),
        (parts_into, "np.modf into arrays that are given as out"),
    ],
)
def test_what_a_replay_cannot_do_is_refused_by_name(step, words):
    with pytest.raises(fl.CaptureError, match=words):
        fl.captured(step)(dense(0), *(step.__defaults__ or ()))


@pytest.mark.parametrize("read", [fl.cpu, lambda x: x.get()])
def test_a_copy_to_the_host_is_refused_by_name(read):
    with fl.simulate_gpu(), pytest.raises(fl.CaptureError, match=r"a copy to the host \(fl.cpu\(x\), x.get\(\)\)"):
        fl.captured(lambda x: read(x * 2))(to_gpu(dense(0)))


@pytest.mark.parametrize("function", [np.emath.sqrt, np.emath.log, np.roots])
@pytest.mark.parametrize("is_complex_first", [False, True])
def test_a_result_whose_type_depends_on_values_is_refused_in_a_replay(function, is_complex_first):
    with_complex, with_real = np.array([1.0, 0.0, 4.0]), np.array([1.0, 5.0, 4.0])
    if function is not np.roots:
        with_complex = -with_complex - 1
    first, second = with_real, with_complex
    if is_complex_first:
        first, second = with_complex, with_real
    run = fl.captured(lambda x: function(x))
    for _ in range(3):
        run(first)
    with pytest.raises(fl.CaptureError, match=r"a result has type \w+ now, and \w+ when") as caught:
        run(second)
    assert any("test_calls.py, line" in note for note in caught.value.__notes__)


def test_a_result_whose_shape_depends_on_values_is_named_while_it_is_recorded():
    run = fl.captured(lambda x: np.bincount(x))
    with pytest.raises(fl.CaptureError, match=r"the result of bincount has shape \(3,\) .*and shape \(4,\)"):
        for length in (5, 4, 3):
            run(np.array([0, 1, length - 1]))
