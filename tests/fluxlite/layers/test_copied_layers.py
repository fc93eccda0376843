"""What is ours can be copied: a layer's or loss's own source, in a file of yours, does what ours does, bit for bit."""

import ast
import importlib
import inspect
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType, SimpleNamespace

import layer_table
import numpy as np
import pytest
from inside import coming_from

import fluxlite as fl

# Where our layers are, wherever they are, and the losses.
_LAYERS = [one for name in fl.__all__ if inspect.isclass(one := getattr(fl, name)) and issubclass(one, fl.Layer)]
FILES = sorted({one.__module__.removeprefix("fluxlite.") for one in _LAYERS if one is not fl.Layer}) + ["layers.losses"]


@cache
def copies():
    """{name: our class or function, made again from its source, alone in a module of its own}."""
    found = {}
    for file in FILES:
        ours = importlib.import_module(f"fluxlite.{file}")
        source = Path(ours.__file__).read_text(encoding="utf-8")
        for node in ast.parse(source).body:
            name = node.targets[0].id if isinstance(node, ast.Assign) else getattr(node, "name", None)
            if name in fl.__all__:
                mine = ModuleType(f"my_{name.lower()}")
                vars(mine).update({key: value for key, value in vars(ours).items() if not key.startswith("__")})
                exec(compile(ast.Module([node], []), f"{name}.py", "exec"), vars(mine))
                found[name] = getattr(mine, name)
    return found


def mine():
    return SimpleNamespace(**{name: getattr(fl, name) for name in ("relu", "flatten")} | copies())


def test_all_layers_and_losses_are_copied():
    classes = {name for name in fl.__all__ if inspect.isclass(x := getattr(fl, name)) and issubclass(x, fl.Layer)}
    assert classes - {"Layer"} <= set(copies()) and len(copies()) > len(classes) + 15
    for name in classes - {"Layer"}:
        assert copies()[name] is not getattr(fl, name) and copies()[name].__module__ == f"my_{name.lower()}"


def made(make, library):
    """The layer that a row of the table makes, of this `library`'s parts."""
    parts = {"np": np, "fl": library, "scored": lambda: library.Dense(2, 2)}
    fl.seed(5)
    return FunctionType(make.__code__, parts)()


def size(y):
    return sum(np.sum(part**2) for part in fl.leaves(y))


def whole(tree):
    return [x.tolist() if hasattr(x, "tolist") else x for x in fl.leaves(tree) if not callable(x)]


def history(layer, x):
    """All that can be seen of a layer: its text, its parts, a step of training, what modes and devices make of it."""
    seen = [repr(layer), [str(path) for path, _ in fl.trainables(layer)], sorted(fl.functor(layer)[0])]
    state = fl.setup(fl.Adam(0.01), layer)
    for mode in True, False, None:
        fl.trainmode(layer, mode)
        fl.seed(3)
        loss, gradients = fl.withgradient(lambda m, x: size(m(x)), layer, x)
        if gradients[0] is not None:
            fl.update(state, layer, gradients[0])
        seen += [float(loss), whole(gradients), whole(layer)]
    return [*seen, whole(layer(x))]


def failures(layer, x):
    """What is said of wrong inputs, and of names from other libraries."""
    found = []
    for wrong in "x", None, x[..., None], x[..., :1], x.astype(bool), np.float32(1), x.astype(np.float64):
        try:
            found.append(whole(layer(wrong)))
        except Exception as error:
            found.append([type(error), str(error), *getattr(error, "__notes__", ())])
    try:
        layer.parameters()
    except AttributeError as error:
        found.append(str(error))
    return found, fl.notices()


def an_input(name, shape):
    if name == "Embedding":
        return np.array([3, 0, 3])
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("name", [name for name in layer_table.LAYERS if name != "flatten"])
def test_a_copy_of_a_layer_does_the_same_bit_for_bit(name, simulated, tmp_path):
    make, shape = layer_table.LAYERS[name]
    x, found = an_input(name, shape), []
    for library in fl, mine():
        layer = made(make, library)
        there, xs = simulated(layer), simulated(x)
        with fl.receipt() as r:
            seen = [history(there, xs)]
        seen.append(r.launches)
        seen += [history(layer, x), failures(layer, x)]
        fl.save(tmp_path / "model.safetensors", model=layer)
        seen.append((tmp_path / "model.safetensors").read_bytes())
        fl.reset_notices()
        found.append(seen)
    for ours, copied in zip(*found):
        assert copied == ours


COMPARING = ("loss", "entropy", "divergence", "mae", "mse", "msle")
LOSSES = [name for name in copies() if name.endswith(COMPARING)]


@pytest.mark.parametrize("name", LOSSES)
def test_a_copy_of_a_loss_does_the_same_bit_for_bit(name):
    scores, rows = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]], np.float32), np.eye(3, dtype=np.float64)[[0, 2]]
    found = []
    for loss in getattr(fl, name), copies()[name]:
        seen = [loss.__doc__, str(inspect.signature(loss))]
        for wrong in rows, rows.T, np.array([0, 2]), np.array([0, 9]), 2 * rows, "x", 1:
            try:
                seen.append([whole(x) for x in fl.withgradient(lambda x: loss(x, wrong), scores)])  # noqa: B023
                seen.append(whole(loss(scores.astype(np.float16), wrong)))
            except Exception as error:
                seen.append([type(error), str(error), *getattr(error, "__notes__", ())])
        found.append([*seen, fl.notices()])
        fl.reset_notices()
    assert found[0] == found[1] and any(isinstance(x[0], list) for x in found[0][2:] if x)


# -- written by you ----------------------------------------------------------------------------------------------


@fl.layer(trainable=("weight",))
class Scaled(fl.Layer):
    weight: np.ndarray
    mean: np.ndarray
    active = None

    def __init__(self, features):
        self.weight, self.mean = np.ones(features, np.float32), np.zeros(features, np.float32)
        self.times = features

    @classmethod
    def of(cls, weight):
        layer = object.__new__(cls)
        layer.weight, layer.mean, layer.times = weight, np.zeros_like(weight), len(weight)
        return layer

    def __call__(self, inputs, other=None):
        x = self._converted(inputs, self.weight)
        return x * self.weight if other is None else x * self.weight @ other

    def _arguments_text(self):
        return str(len(self.weight))


def test_a_layer_of_yours_is_a_layer_as_ours_are():
    layer = Scaled(2)
    assert repr(fl.Chain(layer)).split("\n")[1] == "  Scaled(2),      # 2 parameters, plus 2 not trained"
    assert list(fl.functor(layer)[0]) == ["weight", "mean"] and [str(p) for p, _ in fl.trainables(layer)] == ["weight"]
    assert layer(inputs=np.ones((1, 2), np.float32)).tolist() == [[1, 1]] and layer.active is None
    for call, note in [
        (lambda: Scaled("x"), "in Scaled(features='x')"),
        (lambda: Scaled.of(3), "in Scaled.of(weight=3)"),
        (lambda: layer(np.ones(2, np.float32), "x"), "in Scaled(2), called with an array of float32, shape (2,), 'x'"),
        (lambda: layer(), "in Scaled(2), called with nothing"),
    ]:  # fmt: skip
        with pytest.raises((TypeError, ValueError)) as caught:
            call()
        assert caught.value.__notes__ == [note]
    with pytest.raises(TypeError, match=r"Scaled\(2\) takes floating-point numbers, got int64; convert them"):
        layer(np.ones(2, np.int64))


def test_the_names_that_a_layer_of_yours_had_in_0_3_work_until_0_5():
    @fl.layer
    class Older(fl.Dense):
        def _sizes(self):
            return f"older {super()._sizes()}"

        def _options(self):
            return f"{super()._options()}, old"

        def _why(self, x):
            return super()._why(x) or ValueError("as we said")

    @fl.layer
    class Newer(Older):
        def _arguments_text(self):
            return f"newer {super()._arguments_text()}"

    assert [line.split(",")[0] for line in fl.notices()] == ["[ Info: _sizes", "[ Info: _options", "[ Info: _why"]
    assert fl.notices()[2] == "[ Info: _why, as in Older, is _explain_error now. Its old name works until 0.5."
    assert repr(Older(2, 3, np.tanh)).startswith("Older(older 2 => 3, tanh, old)")
    assert repr(Newer(2, 3)).startswith("Newer(newer older 2 => 3, old)")
    with pytest.raises(ValueError, match=r"Older\(older 2 => 3\) takes an input of shape \(2,\) or \(N, 2\)"):
        Older(2, 3)(np.ones(4, np.float32))


def test_a_plain_class_stays_as_it_is_and_no_other_class_becomes_a_layer():
    class Plain(fl.Layer):
        def __init__(self):
            self.weight = np.ones(2)

    assert not list(fl.trainables(Plain())) and fl.is_leaf(Plain())
    for wrong in object, 3, np.tanh, fl.functor:
        with pytest.raises(TypeError, match="^@layer stands above a class derived from Layer, got"):
            fl.layer(wrong)
        with pytest.raises(TypeError, match="^@layer stands above a class derived from Layer, got"):
            fl.layer(children=())(wrong)


def test_every_name_of_another_library_is_answered_by_every_layer():
    names = [name for name in vars(fl.Layer.__mro__[1]) if not name.startswith("_")]
    assert sorted(names) == sorted(coming_from.OF_A_MODEL)
