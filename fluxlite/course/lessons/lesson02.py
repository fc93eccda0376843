"""Lesson 02, models and fmap: checks."""

from __future__ import annotations

from typing import Any

import numpy as np

import fluxlite as fl

from ...messages import put_aside
from ..exercises import NotRight, exercise

# -- 02.1 ---------------------------------------------------------------------------------------------------------


@exercise("02.1", "a model that really runs on the GPU", look_at="section 3: the two traps")
def predict(predict: Any) -> str:
    model = fl.Chain(fl.Dense(4, 3, np.tanh, rng=np.random.default_rng(1)), fl.Dense(3, 2))
    x = np.linspace(-1, 1, 20, dtype=np.float32).reshape(5, 4)
    wanted = model(x)
    with fl.receipt() as r:
        try:
            y = predict(model, x)
        except fl.errors.DeviceError as error:
            raise NotRight(
                "model and data are in two places" + (": x came along, the model did not" if _came(r, 1) else ""),
                yours=f"the error says: {error}",
                expected="both on the GPU",
            ) from None
    copies = r.host_to_device.count
    if fl.device_of(model[0].weight) != fl.get_device("CPU"):
        raise NotRight("the caller's model was changed; gpu gives you a new model, so leave the old one alone")
    if not r.launches:
        raise NotRight(*_idle(copies))
    if y is None:
        raise NotRight("predict returned None", None, "the result, as a NumPy array")
    if not isinstance(y, np.ndarray):
        raise NotRight("it runs on the GPU, but the result is still there", f"an array on {fl.device_of(y)}", "on CPU")
    if y.shape != wanted.shape or not np.allclose(y, wanted, atol=1e-5):
        raise NotRight("the numbers are not those of model(x)", y, wanted)
    if copies > 5:
        raise NotRight(
            "it runs on the GPU, but a line makes copies that nobody keeps", f"{copies} copies to the GPU", "5 copies"
        )
    return f"5 copies to the GPU (4 arrays of the model, and x), {r.launches} launches there, 1 copy back"


def _came(r: Any, copies: int) -> bool:
    return r.host_to_device.count == copies


def _idle(copies: int) -> tuple[str, str, str]:
    yours, expected = f"copies to the GPU: {copies}, launches there: 0", "5 copies, and some launches"
    if copies == 0:
        return "the GPU was never asked for anything", yours, expected
    if copies == 1:
        return "one array was moved, but nothing was computed there: first move model and x, then call", yours, expected
    return (
        "copies were made and dropped: gpu(model) gives a new model, so give it a name and use it",
        yours,
        expected,
    )


# -- 02.2 ---------------------------------------------------------------------------------------------------------


@exercise("02.2", "half precision with fmap", look_at="section 6: zeros, a function of one leaf")
def half(half: Any) -> str:
    made = fl.Chain(fl.Dense(3, 4, np.tanh, rng=np.random.default_rng(2)), fl.Dense(4, 2), fl.softmax)
    tree = {"model": made, "classes": np.arange(3), "table": made[0].weight.T, "scale": np.ones(2)}  # float64
    before = {path: array.copy() for path, array in _arrays(tree).items()}
    try:
        short = half(tree)
    except (AttributeError, TypeError) as error:
        if any(word in str(error) for word in ("ufunc", "'function'", "NoneType")):
            raise NotRight(
                "your function of a leaf was given a function, such as np.tanh, and treated it like an array",
                yours=f"{type(error).__name__}: {error}",
                expected="a leaf that isn't an array comes back unchanged",
            ) from None
        raise
    _check_kept(tree, before, short)
    _check_dtypes(_arrays(short))
    if short["model"][0].activation is not np.tanh or short["model"][2] is not fl.softmax:
        raise NotRight("the functions of the model are not what they were", short["model"][0].activation, np.tanh)
    if not np.shares_memory(short["table"], short["model"][0].weight):
        raise NotRight("table and model.layers[0].weight were one array and are two now: let one fmap do it all")
    with fl.receipt() as r:
        moved = _arrays({"model": half(fl.gpu(made))})
    if r.device_to_host.count or any(isinstance(array, np.ndarray) for array in moved.values()):
        raise NotRight(
            "a model on the GPU was brought back to the CPU",
            yours=f"{r.device_to_host.count} copies back",
            expected="none: astype computes where the array is",
        )
    if any(array.dtype != np.float16 for array in moved.values()):
        raise NotRight(
            "on the GPU the arrays stayed as they were. They aren't np.ndarrays, but each has a dtype: ask for that",
            yours=moved["layers[0].weight"].dtype,
            expected="float16",
        )
    return "every floating-point array is float16, on its own device; integers, functions and ties are kept"


def _arrays(tree: Any) -> dict[str, Any]:
    """The arrays of a tree by path, written as in the tree's own code."""
    layers = tree["model"].layers if isinstance(tree["model"], fl.Chain) else ()
    found = {f"{i}.{name}": getattr(layers[i], name) for i in range(min(2, len(layers))) for name in ("weight", "bias")}
    return {f"layers[{path[0]}]{path[1:]}": array for path, array in found.items()} | {
        name: tree[name] for name in ("classes", "table", "scale") if name in tree
    }


def _check_kept(tree: Any, before: dict[str, Any], short: Any) -> None:
    for path, array in _arrays(tree).items():
        if array.dtype != before[path].dtype or not np.array_equal(array, before[path]):
            raise NotRight(f"half changed the model that it was given: {path}", array.dtype, before[path].dtype)
    if short is None:
        raise NotRight("half returned None", None, "the new model, which fmap builds: return it")
    if not isinstance(short, dict) or not isinstance(short.get("model"), fl.Chain):
        raise NotRight("the result is not built like the model", type(short).__name__, "what fmap gives")


def _check_dtypes(arrays: dict[str, Any]) -> None:
    lost = [path for path, array in arrays.items() if array is None]
    if lost:
        raise NotRight(
            "your function of a leaf returns nothing where there's nothing to shorten",
            yours=f"{lost[0]} is None",
            expected="return leaf, for every leaf that you leave as it is",
        )
    if arrays["classes"].dtype.kind != "i":
        raise NotRight("an array of integers was changed", arrays["classes"].dtype, "the same dtype as before")
    floats = {path: array.dtype for path, array in arrays.items() if array.dtype.kind == "f"}
    long = [f"{path} is {dtype}" for path, dtype in floats.items() if dtype != np.float16]
    if len(long) == 1 and long[0] == "scale is float64":
        raise NotRight(
            'only float32 was converted, but float64 is a floating-point type, too: ask for dtype.kind == "f"',
            long[0],
            "float16",
        )
    if long:
        raise NotRight(
            f"{len(long)} of {len(floats)} floating-point arrays are not float16: {long[0]}", long[0], "float16"
        )


# -- 02.3 ---------------------------------------------------------------------------------------------------------


@exercise("02.3", "copies and bytes, predicted", look_at="section 5: what counts as one array")
def copies_and_bytes(copies: Any, nbytes: Any) -> str:
    layer, x = fl.Dense(8, 8), np.ones((100, 8), np.float32)
    # Messages about this move, which concern x and a part of it, aren't for the learner.
    with fl.receipt() as r, put_aside():
        fl.gpu({"model": fl.Chain(layer, np.tanh, layer), "x": x, "once more": x, "the first ten": x[:10]})
    paid = (r.host_to_device.count, r.host_to_device.bytes)
    if (copies, nbytes) == paid:
        return f"{paid[0]} copies, {paid[1]:,} bytes: weight 256, bias 32, x 3,200, its first ten rows once more 320"
    yours = f"{copies} copies, {nbytes} bytes"
    if copies in (6, 7):
        raise NotRight("an array in two places is copied once: look at layer and at x", yours)
    if copies == 3:
        raise NotRight("x[:10] is not all of x, so it is no tie: it travels by itself", yours)
    if copies == 2:
        raise NotRight("arrays are copied, not layers; a Dense has two", yours)
    if copies == paid[0] and nbytes in (paid[1] * 2, paid[1] // 4):
        raise NotRight("the copies are right, but a float32 has 4 bytes", yours)
    if copies == paid[0]:
        raise NotRight("the copies are right, the bytes are not", yours, "numbers × 4 for each array, added")
    raise NotRight("neither number is right. Start with the copies: write down each array once", yours)


# -- 02.4 ---------------------------------------------------------------------------------------------------------


class _Sealed(fl.Dense):
    """A layer that refuses to be called, since the learner computes by hand."""

    def __call__(self, x: Any) -> Any:
        raise NotRight("a layer was called; this time, compute with its weight, bias and activation yourself")


fl.functor(_Sealed)


@exercise("02.4", "a forward pass by hand", look_at="section 1: the layer, computed by hand")
def forward(forward: Any) -> str:
    rng = np.random.default_rng(4)
    first = _Sealed.of(rng.standard_normal((3, 3)).astype(np.float32), np.ones(3, np.float32), np.tanh)
    last = _Sealed.of(rng.standard_normal((2, 3)).astype(np.float32))
    x = rng.standard_normal((3, 3)).astype(np.float32)
    h = x @ first.weight.T
    bent = np.tanh(h + first.bias)
    _compare(forward(fl.Chain(first), x), bent, x, first, h)
    _compare(forward(fl.Chain(first, last, fl.softmax), x), fl.softmax(bent @ last.weight.T))
    other = forward(fl.Chain(first, np.abs), x)
    if np.shape(other) != bent.shape or not np.allclose(other, np.abs(bent), atol=1e-5):
        raise NotRight(
            "a function in the Chain isn't always softmax: call the one that's there",
            yours="not the absolute values, for Chain(Dense(3, 3, np.tanh), np.abs)",
            expected="x = layer(x)",
        )
    _compare(forward(fl.Chain(first, last), x[0]), bent[0] @ last.weight.T)
    model, moved = fl.gpu((fl.Chain(first, last), x))
    with fl.receipt() as r:
        y = forward(model, moved)
    if r.device_to_host.count or fl.device_of(y) == fl.get_device("CPU"):
        raise NotRight("on the GPU, your function brings something back to the CPU", f"{r.device_to_host.count} copies")
    return f"as the model does it: one layer, three, a single observation, and on the GPU ({r.launches} launches)"


def _compare(y: Any, wanted: Any, x: Any = None, layer: Any = None, h: Any = None) -> None:
    if y is None:
        raise NotRight("forward returned None", None, "return x, after the loop")
    if np.shape(y) == wanted.shape and np.allclose(y, wanted, atol=1e-5):
        return
    if layer is not None and np.shape(y) == wanted.shape:
        slips = {
            "the bias is missing": np.tanh(h),
            "the activation is missing": h + layer.bias,
            "the activation comes last, after the bias": np.tanh(h) + layer.bias,
            "weight.T, not weight: a row of weight belongs to an output": np.tanh(x @ layer.weight + layer.bias),
            "weight @ x takes the columns of x for observations, but they are the rows: x @ weight.T": np.tanh(
                layer.weight @ x + layer.bias
            ),
            "x came out as it went in: nothing was computed": x,
        }
        for words, slip in slips.items():
            if np.allclose(y, slip, atol=1e-5):
                raise NotRight(words, y[0], wanted[0])
    raise NotRight("not what the model gives", f"shape {np.shape(y)}: {y!r}", f"shape {wanted.shape}: {wanted!r}")
