"""What a gradient is computed with can't change before the backward pass: it's read-only."""

import traceback

import numpy as np
import pytest
from inside import plain

import fluxlite as fl
from fluxlite import functor

# -- what a gradient was computed with, and the use that makes it read-only
USES = {
    "an operand": (np.ones(2), lambda x, c: x * c),
    "in a product": (np.ones((2, 2)), lambda x, c: x @ c.T),  # records a view of it
    "indices": (np.array([0, 0]), lambda x, c: x[c]),
    "indices in a tuple": (np.array([0, 0]), lambda x, c: x[..., c]),
    "a keyword": (np.array([0, 0]), lambda x, c: np.take_along_axis(x, indices=c, axis=0)),
}


@pytest.mark.parametrize("use", USES)
def test_what_was_computed_with_cannot_be_changed(use):
    """Or the gradient would be wrong, without a word."""
    c, compute = USES[use]
    before = c.copy()

    def f(x):
        y = compute(x, c)
        c[0] = 1 + c[0]
        return np.sum(y)

    with pytest.raises(ValueError, match="read-only") as error:
        fl.gradient(f, np.ones(2))
    here = [frame for frame in traceback.extract_tb(error.value.__traceback__) if frame.filename == __file__]
    assert here[-1].line == "c[0] = 1 + c[0]" and np.array_equal(c, before)
    c[0] = 0  # afterwards it can be changed


def test_an_argument_and_a_result_cannot_be_changed_either():
    w = np.ones(2)
    with pytest.raises(ValueError, match="read-only"):
        fl.gradient(lambda m: (np.sum(m * m), w.fill(5))[0], w)
    with pytest.raises(ValueError, match="read-only"):
        fl.gradient(lambda x: (np.sum(x * 2), (x * 2).data.fill(7))[0], w)
    assert w.tolist() == [1, 1]


class Units(np.ndarray):
    """A subclass that computes in a way of its own."""

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        raise AssertionError("was asked")


OTHERS = {
    "matrix": lambda: np.matrix([[1.0, 2.0], [3.0, 4.0]]),
    "MaskedArray": lambda: np.ma.array(np.ones((2, 2)), mask=np.eye(2)),
    "Units": lambda: np.ones((2, 2)).view(Units),
}


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize("kind", OTHERS)
def test_a_class_that_computes_otherwise_is_refused_by_name(kind):
    """`x * matrix` is a product of matrices in NumPy, and wasn't inside a gradient."""
    other = OTHERS[kind]()
    words = f"a {kind} computes in a way of its own, and can't be differentiated: .* np.asarray"
    for f in (lambda x: np.sum(np.multiply(x, other)), lambda x: np.sum(np.matmul(x, other))):
        with pytest.raises(TypeError, match=words):
            fl.gradient(f, np.ones((2, 2)))
    with pytest.raises(TypeError, match=words + r"\(x\)\n\['layers'\]\[0\] of gradient"):
        fl.gradient(lambda m: np.sum(m["layers"][0]), {"layers": [other]})


# -- what to do instead --------------------------------------------------------------------------------------------


@functor(trainable=("w",))
class Layer:
    def __init__(self):
        self.w, self.c = np.ones(2), np.zeros(2)


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.c.fill(1.0),
        lambda m: m.c.__iadd__(1.0),
        lambda m: np.copyto(m.c, 1.0),
        lambda m: plain(m.w).__setitem__(0, 1.0),
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


# -- read-only while it runs -------------------------------------------------------------------------------


def test_recorded_arrays_are_read_only_inside_and_writable_afterwards():
    x, c, i, unused = np.ones(3), np.ones(3), np.array([0, 1]), np.ones(3)
    states = []

    def f(x):
        loss = (x * c)[i].sum()
        states.extend(a.flags.writeable for a in (x.data, c, i, unused))
        return loss

    fl.gradient(f, x)
    assert states == [False, False, False, True]
    assert all(a.flags.writeable for a in (x, c, i, unused))


@pytest.mark.parametrize("order", [(0, 1), (1, 0), (0, 1, 0, 1)])
def test_views_and_what_they_view_are_both_released(order):
    base = np.ones((3, 3))
    view = base[1:]
    arrays = (base, view)

    def f(x):
        return sum((x * arrays[k]).sum() for k in order)

    fl.gradient(f, np.ones(3))
    assert base.flags.writeable and view.flags.writeable
