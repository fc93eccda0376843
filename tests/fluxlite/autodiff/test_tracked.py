"""Programs that would make a gradient wrong, or lose it, without a word: each raises where it is written."""

import copy
import math
import pickle
import traceback

import numpy as np
import pytest

import fluxlite
from fluxlite import gradient


def slope(f, x):
    return gradient(f, x)[0]


# -- programs that would make a gradient wrong without a word ---------------------------------------------


def raising_line(error):
    """The text of the line in this file that raised."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == __file__]
    return frames[-1].line


def test_adding_in_place_to_an_array_that_was_used_raises_there():
    """Without it: 9 in place of 6."""
    h = np.array([1.0])

    def f(x):
        nonlocal h
        out = 0.0
        for _ in range(3):
            out = out + (x * h).sum()
            h += 1
        return out

    with pytest.raises(ValueError, match="read-only") as error:
        gradient(f, np.ones(1))
    assert raising_line(error.value) == "h += 1" and h.tolist() == [1] and h.flags.writeable


def test_overwriting_a_parameter_raises_there():
    """Without it: 10 in place of 2."""
    w = np.array([1.0])

    def f(m):
        loss = (m * m).sum()
        w[:] = 5
        return loss

    with pytest.raises(ValueError, match="read-only") as error:
        gradient(f, w)
    assert raising_line(error.value) == "w[:] = 5" and w.tolist() == [1]


def test_what_is_viewed_cannot_be_changed_either():
    """Without it: ``x @ W.T`` records the view, and a change of W goes through."""
    W, x = np.ones((2, 2)), np.ones(2)

    def f(x):
        y = x @ W.T
        W[:] = 0
        return y.sum()

    with pytest.raises(ValueError, match="read-only") as error:
        gradient(f, x)
    assert raising_line(error.value) == "W[:] = 0" and W.flags.writeable
    W[:] = 0


def test_results_cannot_be_changed():
    def f(x):
        y = x * 2
        y.data[0] = 7
        return (y * y).sum()

    with pytest.raises(ValueError, match="read-only"):
        gradient(f, np.ones(2))


@pytest.mark.parametrize(
    "change",
    [
        lambda i, use: (use(i), i.__setitem__(0, 2)),
        lambda i, use: (use((i,)), i.__setitem__(0, 2)),
        lambda i, use: (use((Ellipsis, i)), i.__setitem__(0, 2)),
    ],
)
def test_index_arrays_are_read_only_too(change):
    index = np.array([0, 0])
    with pytest.raises(ValueError, match="read-only"):
        gradient(lambda x: (change(index, lambda i: x[i]), x.sum())[1], np.ones(3))
    assert index.tolist() == [0, 0] and index.flags.writeable


def test_arrays_given_by_keyword_are_read_only_too():
    index = np.array([[0, 0]])

    def f(x):
        y = np.take_along_axis(x, indices=index, axis=1)
        index[0, 0] = 1
        return y.sum()

    with pytest.raises(ValueError, match="read-only"):
        gradient(f, np.ones((1, 3)))


def test_lists_may_change_afterwards():
    """They cannot be made read-only: what they held is kept."""

    def f(x):
        index, rows, factors, parts = [0, 0], [[0, 1], [1, 1]], [1.0, 2.0, 3.0], [x, [4.0, 5.0, 6.0]]
        y = x[index].sum() + x[rows].sum() + (x * factors).sum() + (np.stack(parts) * 10).sum()
        index[0], rows[0][0], factors[0], parts[1][0] = 2, 2, 100.0, 100.0
        parts[0] = 0
        return y

    assert gradient(f, np.ones(3))[0].tolist() == [2 + 1 + 1 + 10, 3 + 2 + 10, 3 + 10]


def test_lists_beside_tracked_arrays():
    x = np.ones(2)
    assert gradient(lambda x: x @ [2.0, 3.0], x)[0].tolist() == [2, 3]
    assert gradient(lambda x: ([[2.0, 3.0]] @ x).sum(), x)[0].tolist() == [2, 3]
    assert gradient(lambda x: np.concatenate([x * 4, [1.0]]).sum(), x)[0].tolist() == [4, 4]


def test_storing_a_tracked_value_in_a_plain_array_raises_there():
    buffer, mask = np.zeros(3), np.array([True, False, True])

    def one(x):
        buffer[0] = x * 2
        return buffer.sum()

    def several(x):
        buffer[mask] = x * 2
        return buffer.sum()

    def filled(x):
        buffer.fill(x)
        return buffer.sum()

    for f in one, several, filled:
        with pytest.raises((TypeError, ValueError)) as error:
            gradient(f, 2.0)
        assert "buffer" in raising_line(error.value) and not buffer.any()
        said = str(error.value) + str(error.value.__cause__)
        assert "would lose the gradient" in said and ".data" in said


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda b, x: b.__iadd__(x), "writing a tracked result into an existing array"),
        (lambda b, x: b.__imul__(x), r"write x = x \+ y instead"),
        (lambda b, x: b.__itruediv__(x), "writing a tracked result"),
        (lambda b, x: np.add(b, x, out=b), "writing a tracked result"),
        (lambda b, x: np.add(x, 1, out=b), "writing a tracked result"),
        (lambda b, x: np.add.reduce(x, keepdims=True, out=b), "writing a tracked result"),
        (lambda b, x: np.sum(x, out=b), "the keyword 'out'"),
        (lambda b, x: np.add.at(b, [0], x), r"np\.add\.at has no derivative rule"),
        (lambda b, x: np.copyto(b, x), r"np\.copyto has no derivative rule"),
        (lambda b, x: np.put(b, [0], x), r"np\.put has no derivative rule"),
    ],
)
def test_changing_a_plain_array_by_a_tracked_one_raises_and_leaves_it(change, message):
    b = np.full(2, 3.0)
    with pytest.raises(TypeError, match=message):
        gradient(lambda x: (change(b, x), x.sum())[1], np.full(2, 2.0))
    assert b.tolist() == [3, 3]


LOSING = {
    "float": float,
    "int": int,
    "complex": complex,
    "index": lambda s: [1, 2][s],
    "range": range,
    "f-string": lambda s: f"{s}",
    "format": lambda s: f"{s:.2f}",
    "percent": lambda s: "%f" % s,  # noqa: UP031
    "item": lambda s: s.item(),
    "tolist": lambda s: s.tolist(),
    "asarray": np.asarray,
    "array": np.array,
    "array of a list": lambda s: np.array([s, s]),
    "mean of a list": lambda s: np.mean([s, s]),
    "max of a list": lambda s: np.max([s, 1.0]),
    "number type": np.float64,
    "math": math.exp,
    "pickle": pickle.dumps,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "full": lambda s: np.full(3, s),
    "normal": lambda s: np.random.default_rng(0).normal(s),
    "arange": np.arange,
    "vectorize": lambda s: np.vectorize(lambda a: a)(s),
    "setitem": lambda s: s.__setitem__(0, 1),
    "fromiter": lambda s: np.fromiter((s for _ in range(2)), float),
}


@pytest.mark.parametrize("name", LOSING)
def test_what_would_lose_the_gradient_raises_and_names_data(name):
    with pytest.raises((TypeError, ValueError)) as error:
        gradient(lambda s: (LOSING[name](s * 1.0), s)[1], 2.0)
    said = f"{error.value} {error.value.__cause__}"
    assert "would lose the gradient" in said and ".data" in said


def test_a_list_of_tracked_arrays_is_told_its_cure():
    with pytest.raises(TypeError, match=r"np\.mean\(np\.stack\(losses\)\)"):
        gradient(lambda x: np.mean([x, x * 2]), 2.0)
    assert gradient(lambda x: np.mean(np.stack([x, x * 2])), 2.0) == (1.5,)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.full_like(np.ones(2), x), lambda x: np.fft.fft(x), np.modf, np.frexp, np.i0, np.unwrap,
        lambda x: np.maximum.accumulate(x), lambda x: np.divmod.outer(x, x), lambda x: np.add.reduceat(x, [0]),
    ],
)  # fmt: skip
def test_functions_without_a_rule_say_so(call):
    with pytest.raises(TypeError, match=r"np\.\S+ has no derivative rule.*fluxlite.rule"):
        gradient(lambda x: call(x).sum(), np.ones(3))


MADE = [
    lambda x: np.zeros(3, like=x), lambda x: np.ones((2, 1), np.float32, like=x), lambda x: np.full(2, 0.5, like=x),
    lambda x: np.eye(2, 3, k=1, like=x), lambda x: np.identity(2, like=x), lambda x: np.arange(1, 4, like=x),
    lambda x: np.array([1, 2], dtype=np.float32, like=x), lambda x: np.asarray([1.5], like=x),
    lambda x: np.tri(3, like=x), lambda x: np.ascontiguousarray([[1.0]], like=x),
]  # fmt: skip


@pytest.mark.parametrize("gpu", [False, True])
@pytest.mark.parametrize("make", MADE)
def test_what_is_made_like_a_tracked_array_is_a_constant_where_it_is(make, gpu):
    """As ``K + noise * np.eye(n, like=K)``, or a mask of ``np.arange(n, like=x)``, inside a layer."""
    wanted, made = make(np.ones(1)), []

    def f(x):
        made.append(make(x))
        inner = gradient(lambda y: np.sum(made[-1] * y * x), x)[0]  # two levels: only the inner one's parent is y
        made.append(make(inner))
        return np.sum(made[0] * x) + np.sum(inner)

    with fluxlite.simulate_gpu(gpu):
        x = fluxlite.gpu(np.ones(1, np.float32)) if gpu else np.ones(1, np.float32)
        g = slope(f, x)
        assert np.isclose(float(g[0]), 2 * wanted.sum())
        for one in made:
            assert type(one) is type(x) and one.dtype == wanted.dtype
            np.testing.assert_array_equal(fluxlite.cpu(one), wanted)
        with pytest.raises(TypeError, match="would lose the gradient"):
            gradient(lambda x: np.array([x[0], x[0]], like=x).sum(), x)
        with pytest.raises(TypeError, match="would lose the gradient"):
            gradient(lambda x: np.full(3, np.sum(x), like=x).sum(), x)


def test_empty_is_made_where_a_tracked_array_is():
    with fluxlite.simulate_gpu():
        for x in (np.ones(1), fluxlite.gpu(np.ones(1, np.float32))):
            made = []
            gradient(lambda x, made=made: (made.append(np.empty((2, 3), like=x)), x.sum())[1], x)
            assert type(made[0]) is type(x) and made[0].shape == (2, 3)


@pytest.mark.parametrize("operator", ["+=", "-=", "*=", "/=", "//=", "%=", "**=", "@="])
def test_in_place_operators_on_a_tracked_array_raise_with_the_fix(operator):
    def f(x):
        exec(f"x {operator} 2", {}, {"x": x * 1})
        return x.sum()

    with pytest.raises(TypeError, match=r"write x = x \+ y"):
        gradient(f, np.ones(2))


def test_comparisons_are_plain_and_elementwise():
    seen = []

    def f(x):
        seen.extend([x == 2, x != 2, x < 2, x <= 2, x > 2, x >= 2, x < 2, np.ones(3) == x, 2 in x, 5 in x])
        return np.where(x > 1, x, 0).sum()

    assert gradient(f, np.array([1.0, 2.0, 3.0]))[0].tolist() == [0, 1, 1]
    assert [type(y) for y in seen[:8]] == [np.ndarray] * 8 and seen[8:] == [True, False]
    assert [y.tolist() for y in seen[:2]] == [[False, True, False], [True, False, True]]
    assert seen[6].tolist() == [True, False, False] and seen[7].tolist() == [True, False, False]


def test_branching_is_allowed():
    f = lambda x: x * 2 if x > 1 and bool(x) else -x  # noqa: E731
    assert gradient(f, 2.0) == (2.0,) and gradient(f, 0.5) == (-1.0,)
    with pytest.raises(ValueError, match="ambiguous"):
        gradient(lambda x: x.sum() if x else 0.0, np.ones(2))


def test_tracked_arrays_are_hashed_by_identity():
    seen = {}
    gradient(lambda x: (seen.update({x: 1, x * 1: 2}), x.sum())[1], np.ones(2))
    assert len(seen) == 2


def test_unpacking_and_iterating():
    assert gradient(lambda x: (lambda a, b: a * b)(*x), np.array([2.0, 3.0]))[0].tolist() == [3, 2]
    assert gradient(lambda x: sum(row[0] for row in x), np.ones((3, 2)))[0].tolist() == [[1, 0]] * 3
    with pytest.raises(TypeError):
        gradient(lambda x: sum(x), 2.0)


def test_str_and_repr_are_for_reading():
    said = []
    gradient(lambda x: (said.extend([repr(x), str(x), len(x), x.shape, x.dtype]), x.sum())[1], np.ones(2))
    assert said == ["tracked(array([1., 1.]))"] * 2 + [2, (2,), np.float64]


# -- read-only while it runs -------------------------------------------------------------------------------


def test_recorded_arrays_are_read_only_inside_and_writable_afterwards():
    x, c, i, unused = np.ones(3), np.ones(3), np.array([0, 1]), np.ones(3)
    states = []

    def f(x):
        loss = (x * c)[i].sum()
        states.extend(a.flags.writeable for a in (x.data, c, i, unused))
        return loss

    gradient(f, x)
    assert states == [False, False, False, True]
    assert all(a.flags.writeable for a in (x, c, i, unused))


def test_arrays_that_were_read_only_before_stay_so():
    c = np.ones(3)
    c.flags.writeable = False
    view = np.ones((3, 3))[0]
    view.flags.writeable = False
    gradient(lambda x: (x * c * view).sum(), np.ones(3))
    assert not c.flags.writeable and not view.flags.writeable and view.base.flags.writeable


@pytest.mark.parametrize("order", [(0, 1), (1, 0), (0, 1, 0, 1)])
def test_views_and_what_they_view_are_both_released(order):
    base = np.ones((3, 3))
    view = base[1:]
    arrays = (base, view)

    def f(x):
        return sum((x * arrays[k]).sum() for k in order)

    gradient(f, np.ones(3))
    assert base.flags.writeable and view.flags.writeable


@pytest.mark.parametrize("outside", [0, 1])
def test_nested_gradients_with_views(outside):
    base = np.ones((3, 3))
    view = base[1:]
    arrays = (base, view)

    def f(x):
        y = (x * arrays[outside]).sum()
        slope(lambda z: (z * arrays[1 - outside]).sum(), np.ones(3))
        assert not arrays[outside].flags.writeable, "still needed by the outer gradient"
        return y

    gradient(f, np.ones(3))
    assert base.flags.writeable and view.flags.writeable


def test_memory_of_others_is_left_as_it_was():
    """NumPy would not make these writable again."""
    arrays = [np.frombuffer(bytearray(24)), np.frombuffer(bytes(24)), np.frombuffer(bytearray(24))[1:]]
    torch = pytest.importorskip("torch")
    tensor = torch.ones(3, dtype=torch.float64)
    arrays += [tensor.numpy(), torch.ones(4, dtype=torch.float64).numpy()[1:], np.from_dlpack(tensor)]
    before = [array.flags.writeable for array in arrays]
    for array in arrays:
        gradient(lambda x, array=array: (x * array).sum(), np.ones(array.shape))
        gradient(lambda x: x.sum(), array)
    assert [array.flags.writeable for array in arrays] == before


def test_a_memory_mapped_file(tmp_path):
    data = np.memmap(tmp_path / "x", dtype=np.float64, mode="w+", shape=(3,))
    for array in data, np.asarray(data):
        assert gradient(lambda x, array=array: (x * array).sum(), np.ones(3))[0].tolist() == [0, 0, 0]
        assert array.flags.writeable


# -- kept after the call -----------------------------------------------------------------------------------


def test_a_tracked_array_that_was_kept_is_closed():
    kept = []
    gradient(lambda x: (kept.extend([x, x * 2]), x.sum())[1], np.ones(2))
    for x in kept:
        assert type(x.data) is np.ndarray
        uses = [
            lambda x: x + 1, lambda x: np.ones(2) * x, lambda x: x[0], lambda x: x.sum(), lambda x: x > 0,
            lambda x: list(x), lambda x: bool(x), lambda x: np.argmax(x), lambda x: -x, lambda x: np.stack([x, x]),
            lambda x: gradient(lambda y: (x * y).sum(), np.ones(2)),
        ]  # fmt: skip
        for use in uses:
            with pytest.raises(RuntimeError, match=r"return it from the function.*\.data"):
                use(x)


def test_an_inner_array_that_leaks_into_the_outer_function_is_closed():
    def outer(x):
        kept = []
        slope(lambda y: (kept.append(y * x), (y * x).sum())[1], np.ones(2))
        return (kept[0] * x).sum()

    with pytest.raises(RuntimeError, match="return it from the function"):
        gradient(outer, np.ones(2))


# -- arguments of rules ------------------------------------------------------------------------------------


def test_a_tracked_argument_without_a_derivative_is_named():
    with pytest.raises(TypeError, match="no derivative with respect to its argument condition"):
        gradient(lambda x: np.where(x, 1.0, 2.0).sum(), np.ones(2))
    with pytest.raises(TypeError, match="index"):
        gradient(lambda x: x[x].sum(), np.ones(2))
    with pytest.raises(TypeError, match="index or a count"):
        gradient(lambda n: np.sum(np.ones(3), axis=n), 0)


def test_unknown_keywords_raise_at_the_call():
    with pytest.raises(TypeError, match=r"np\.sum does not know the keyword 'out'"):
        gradient(lambda x: np.sum(x, out=np.zeros(())), np.ones(2))
    with pytest.raises(TypeError, match=r"np\.tanh does not know the keyword 'where'; it knows x"):
        gradient(lambda x: np.tanh(x, where=np.array([True, False])), np.ones(2))

    @fluxlite.primitive
    def cube(x):
        return x**3

    fluxlite.rule(cube, lambda g, out, x: 3 * g * x**2)
    with pytest.raises(TypeError, match="takes by position only x"):
        gradient(lambda x: cube(x, 2.0), 1.0)


@pytest.mark.parametrize("bad", [3, "f", None])
def test_a_function_is_needed(bad):
    with pytest.raises(TypeError, match=f"what is differentiated is a function.*, got: {type(bad).__name__}"):
        gradient(bad, np.ones(2))
