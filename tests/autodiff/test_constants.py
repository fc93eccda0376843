"""What a gradient is computed with cannot change before the way back: it is read-only, or the change is found."""

import numpy as np
import pytest

import fluxlite as fl
from fluxlite.autodiff.tracked import untracked_leaf
from fluxlite.tree.contract import functor


class Named(np.ndarray):
    """A subclass that only adds to NumPy's arrays."""


class Units(np.ndarray):
    """A subclass that computes in a way of its own."""

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        raise AssertionError("was asked")


def memmap(folder):
    array = np.memmap(folder / "m", float, "w+", shape=2)
    array[:] = 1
    return array


MAKE = {
    "a subclass": lambda folder: np.ones(2).view(Named),
    "a subclass's base": lambda folder: np.ones(2).view(Named),
    "a memmap": memmap,
    "a view of a memmap": lambda folder: memmap(folder)[:2],
    "a plain view of a memmap": lambda folder: np.asarray(memmap(folder)),
    "a record's field": lambda folder: np.ones(2, [("a", float)]).view(np.recarray).a,
}


@pytest.mark.parametrize("kind", MAKE)
@pytest.mark.parametrize("as_argument", [False, True])
def test_subclasses_and_memmaps_are_read_only_too(kind, as_argument, tmp_path):
    c = MAKE[kind](tmp_path)

    def f(x, given):
        y = np.sum(x * (given if as_argument else c) * 2)
        (c.base if kind == "a subclass's base" else c)[:] = 9
        return y

    with pytest.raises(ValueError, match="read-only: an array that a gradient was computed with stays as it is"):
        fl.gradient(f, np.ones(2), c)
    assert c.flags.writeable
    c[:] = 3
    g = fl.gradient(lambda x: np.sum(x * c), np.ones(2))[0]
    assert type(g) is np.ndarray and g.tolist() == [3, 3]
    g = fl.gradient(lambda c: np.sum(c * c), c)[0]
    assert type(g) is np.ndarray and g.tolist() == [6, 6] and c.flags.writeable


OTHERS = {
    "np.matrix": lambda: np.matrix([[1.0, 2.0], [3.0, 4.0]]),
    "a MaskedArray": lambda: np.ma.array(np.ones((2, 2)), mask=np.eye(2)),
    "a Units": lambda: np.ones((2, 2)).view(Units),
}


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize("kind", OTHERS)
def test_a_class_that_computes_otherwise_is_refused_by_name(kind):
    """`x * matrix` is a product of matrices in NumPy, and was not inside a gradient."""
    other = OTHERS[kind]()
    words = f"is {kind}, which computes in a way of its own .* np.asarray"
    for f in (lambda x: np.sum(np.multiply(x, other)), lambda x: np.sum(np.matmul(x, other))):
        with pytest.raises(TypeError, match="an operand " + words):
            fl.gradient(f, np.ones((2, 2)))
    with pytest.raises(TypeError, match=r"\['layers'\]\[0\] " + words):
        fl.gradient(lambda m: np.sum(m["layers"][0]), {"layers": [other]})


# -- what to do instead --------------------------------------------------------------------------------------------


@functor(trainable=("w",))
class Layer:
    def __init__(self):
        self.w, self.c = np.ones(2), np.zeros(2)


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.c.__setitem__(0, 1.0),
        lambda m: m.c.fill(1.0),
        lambda m: m.c.__iadd__(1.0),
        lambda m: np.add(m.c, 1.0, out=m.c),
        lambda m: m.c.sort(),
        lambda m: np.copyto(m.c, 1.0),
        lambda m: untracked_leaf(m.w).__setitem__(0, 1.0),
    ],
)
@pytest.mark.parametrize("style", ["gradient", "params", "nested"])
def test_a_change_in_place_says_what_to_write_instead(change, style):
    model = Layer()

    def f(m):
        y = np.sum(m.w * m.c)
        change(m)
        return y

    with pytest.raises(ValueError, match="read-only") as error:
        if style == "gradient":
            fl.gradient(f, model)
        elif style == "params":
            fl.gradient(lambda: f(model), fl.params(model))
        else:
            fl.gradient(lambda m: np.sum(fl.gradient(f, m)[0].w), model)
    text = str(error.value)
    assert text.count("self.c = self.c + 1") == 1 and "parameters are changed by update, after gradient" in text
    model.c[:] = model.w  # and all is writable again


def test_another_ValueError_stays_as_it_is():
    def f(x):
        raise ValueError("mine")

    with pytest.raises(ValueError, match="^mine$"):
        fl.gradient(f, np.ones(2))


# -- param and back ------------------------------------------------------------------------------------------------


def changed(n, change, loss):
    w, c = fl.param(np.arange(1.0, n + 1)), np.arange(2.0, n + 2)
    y = loss(w, c)
    change(w, c)
    fl.back(y)
    return w.grad


CHANGES = {
    "a constant": lambda w, c: c.fill(9),
    "an element of it": lambda w, c: c.__setitem__(1, 9),
    "np.add.at": lambda w, c: np.add.at(c, [1], 9.0),
    "its order": lambda w, c: c[:].__setitem__(slice(None), c[::-1].copy()),
    "the data": lambda w, c: w.data.fill(9),
    "an element of the data": lambda w, c: w.data.__setitem__(0, 9),
}
LOSSES = {
    "a product": lambda w, c: np.sum(w * c * w),
    "a list": lambda w, c: np.sum(np.concatenate([w, c]) ** 2 * np.concatenate([c, w])),
    "views": lambda w, c: np.sum(w[::-1] * c[::-1] * w),
    "single precision": lambda w, c: np.sum(w * w.astype(np.float32) * c),
}


@pytest.mark.parametrize("n", [3, 5000, 100_001])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("loss", LOSSES)
def test_back_finds_what_was_changed(n, change, loss):
    with pytest.raises(RuntimeError, match="has been changed in place since.*: compute the loss again"):
        changed(n, CHANGES[change], LOSSES[loss])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n", [3, 100_001])
def test_back_goes_on_where_nothing_was_changed(n, loss):
    g = changed(n, lambda w, c: None, LOSSES[loss])
    w, c = np.arange(1.0, n + 1), np.arange(2.0, n + 2)
    expected = fl.gradient(lambda w: LOSSES[loss](w, c), w)[0]
    np.testing.assert_allclose(g, expected, rtol=1e-12)


def test_a_result_that_was_changed_is_found_too():
    w = fl.param(np.ones(3))
    y = np.exp(w)
    y.data[:] = 9
    with pytest.raises(RuntimeError, match="changed in place"):
        fl.back(np.sum(y))


def test_what_was_changed_afterwards_or_is_not_used_does_not_matter():
    w, c, other = fl.param(np.ones(3)), np.ones(3), np.ones(3)
    np.sum(w * other)
    for _ in range(3):
        loss = np.sum(w * c)
        other[:] = 5
        fl.back(loss)
        c += 1
        w.data -= 0.1 * w.grad
    assert w.grad.tolist() == [6, 6, 6]


def test_an_assigned_parameter_is_still_named_as_such():
    w = fl.param(np.ones(3))
    loss = np.sum(w * w)
    w.data -= 0.1
    with pytest.raises(RuntimeError, match="the data of a param was assigned after the loss was computed"):
        fl.back(loss)


@pytest.mark.on("Simulated", "Metal")
def test_on_a_gpu_back_works_as_before(device):
    w = fl.param(device(np.ones(3, np.float32)))
    fl.back(np.sum(w * w))
    assert fl.cpu(w.grad).tolist() == [2, 2, 2]
