"""What a gradient is computed with can't change before the way back: it is read-only."""

import numpy as np
import pytest
from inside import untracked_leaf

import fluxlite as fl
from fluxlite import functor


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
