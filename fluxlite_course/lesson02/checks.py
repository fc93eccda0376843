"""Checks of notebooks 02, models and fmap, and 03, your own model."""

import sys
from dataclasses import dataclass

import numpy as np

import fluxlite as fl
from fluxlite.messages import many, put_aside

from ..kit.exercises import NotRight, exercise
from ..kit.vocabulary import called, expect, normal, on_cpu, refuse, returned, same, wrong_if


@exercise("02.1", "a model that really runs on the GPU", look_at="section 3: the two traps")
def predict(predict):
    rng = np.random.default_rng(1)  # for both, so that the numbers in a reply are the same each time
    model = fl.Chain(fl.Dense(4, 3, np.tanh, rng=rng), fl.Dense(3, 2, rng=rng))
    x = np.linspace(-1, 1, 20, dtype=np.float32).reshape(5, 4)
    wanted = model(x)
    with fl.receipt() as r:
        try:
            y = predict(model, x)
        except fl.messages.DeviceError as error:
            came = ": x came along, the model did not" if r.host_to_device.count == 1 else ""
            words = f"model and data are in two places{came}"
            raise NotRight(words, f"the error says: {error}", "both on the GPU") from None
    copies = r.host_to_device.count
    words = "the caller's model was changed; gpu gives you a new model, so leave the old one alone"
    wrong_if(not on_cpu(model[0].weight), words)
    idle = r.launches == 0
    refuse({
        "the GPU was never asked for anything": idle and copies == 0,
        "one array was moved, but nothing was computed there: first move model and x, then call": idle and copies == 1,
        "copies were made and dropped: gpu(model) gives a new model, so give it a name and use it": idle,
    }, f"copies to the GPU: {copies}, launches there: 0", "5 copies, and some launches")  # fmt: skip
    returned(y, "predict", "the result, as a NumPy array")
    words = "it runs on the GPU, but the result is still there"
    wrong_if(not isinstance(y, np.ndarray), words, f"an array on {fl.device_of(y)}", "on CPU")
    wrong_if(not same(y, wanted), "the numbers are not those of model(x)", y, wanted)
    words = "it runs on the GPU, but a line makes copies that nobody keeps"
    wrong_if(copies > 5, words, f"{copies} copies to the GPU", "5 copies")
    return f"5 copies to the GPU (4 arrays of the model, and x), {r.launches} launches there, 1 copy back"


@exercise("02.2", "half precision with fmap", look_at="section 6: zeros, a function of one leaf")
def half(half):
    made = fl.Chain(fl.Dense(3, 4, np.tanh, rng=np.random.default_rng(2)), fl.Dense(4, 2), fl.softmax)
    tree = {"model": made, "classes": np.arange(3), "table": made[0].weight.T, "scale": np.ones(2)}  # float64
    before = {path: array.copy() for path, array in _arrays(tree).items()}
    try:
        short = half(tree)
    except (AttributeError, TypeError) as error:
        if not any(word in str(error) for word in ("ufunc", "'function'", "NoneType")):
            raise
        words = "your function of a leaf was given a function, such as np.tanh, and treated it like an array"
        unchanged = "a leaf that isn't an array comes back unchanged"
        raise NotRight(words, f"{type(error).__name__}: {error}", unchanged) from None
    for path, array in _arrays(tree).items():
        changed = array.dtype != before[path].dtype or not np.array_equal(array, before[path])
        wrong_if(changed, f"half changed the model that it was given: {path}", array.dtype, before[path].dtype)
    returned(short, "half", "the new model, which fmap builds: return it")
    built = isinstance(short, dict) and isinstance(short.get("model"), fl.Chain)
    wrong_if(not built, "the result is not built like the model", type(short).__name__, "what fmap gives")
    arrays = _arrays(short)
    lost = [f"{path} is None" for path, array in arrays.items() if array is None]
    words = "your function of a leaf returns nothing where there's nothing to shorten"
    wrong_if(lost, words, lost and lost[0], "return leaf, for every leaf that you leave as it is")
    kind = arrays["classes"].dtype
    wrong_if(kind.kind != "i", "an array of integers was changed", kind, "the same dtype as before")
    floats = [(path, array.dtype) for path, array in arrays.items() if array.dtype.kind == "f"]
    long = [f"{path} is {dtype}" for path, dtype in floats if dtype != np.float16]
    first = "".join(long[:1])
    refuse({
        'only float32 was converted, but float64 is a floating-point type, too: ask for dtype.kind == "f"':
            long == ["scale is float64"],
        f"{len(long)} of {len(floats)} floating-point arrays are not float16: {first}": long,
    }, first, "float16")  # fmt: skip
    first, last = short["model"][0].activation, short["model"][2]
    kept = first is np.tanh and last is fl.softmax
    wrong_if(not kept, "the functions of the model are not what they were", first, np.tanh)
    words = "table and model.layers[0].weight were one array and are two now: let one fmap do it all"
    wrong_if(not np.shares_memory(short["table"], short["model"][0].weight), words)
    short, r = called(half, fl.gpu(made))
    back, moved = r.device_to_host.count, _arrays({"model": short}).values()
    words, none = "a model on the GPU was brought back to the CPU", "none: astype computes where the array is"
    wrong_if(back or any(map(on_cpu, moved)), words, f"{back} copies back", none)
    words = "on the GPU the arrays stayed as they were. They aren't np.ndarrays, but each has a dtype: ask for that"
    wrong_if(any(array.dtype != np.float16 for array in moved), words, next(iter(moved)).dtype, "float16")
    return "every floating-point array is float16, on its own device; integers, functions and ties are kept"


def _arrays(tree):
    """The arrays of a tree by path, written as in the tree's own code."""
    layers = tree["model"].layers[:2] if isinstance(tree["model"], fl.Chain) else ()
    others = {name: tree[name] for name in ("classes", "table", "scale") if name in tree}
    return _of_layers({f"layers[{i}]": layer for i, layer in enumerate(layers)}) | others


def _of_layers(layers):
    return {f"{path}.{name}": getattr(layer, name) for path, layer in layers.items() for name in ("weight", "bias")}


@exercise("02.3", "copies and bytes, predicted", look_at="section 5: what counts as one array")
def copies_and_bytes(copies, nbytes):
    layer, x = fl.Dense(8, 8), np.ones((100, 8), np.float32)
    # Messages about this move, which concern x and a part of it, aren't for the learner.
    with fl.receipt() as r, put_aside():
        fl.gpu({"model": fl.Chain(layer, np.tanh, layer), "x": x, "once more": x, "the first ten": x[:10]})
    count, size = paid = (r.host_to_device.count, r.host_to_device.bytes)
    if (copies, nbytes) == paid:
        return f"{count} copies, {size:,} bytes: weight 256, bias 32, x 3,200, its first ten rows once more 320"
    yours = f"{copies} copies, {nbytes} bytes"
    refuse({
        "an array in two places is copied once: look at layer and at x": copies in (6, 7),
        "x[:10] is not all of x, so it is no tie: it travels by itself": copies == 3,
        "arrays are copied, not layers; a Dense has two": copies == 2,
        "the copies are right, but a float32 has 4 bytes": copies == count and nbytes in (size * 2, size // 4),
        "neither number is right. Start with the copies: write down each array once": copies != count,
    }, yours)  # fmt: skip
    raise NotRight("the copies are right, the bytes are not", yours, "numbers × 4 for each array, added")


@fl.functor
class _Sealed(fl.Dense):
    """A layer that refuses to be called, since the learner computes by hand."""

    def __call__(self, x):
        raise NotRight("a layer was called; this time, compute with its weight, bias and activation yourself")


@exercise("02.4", "a forward pass by hand", look_at="section 1: the layer, computed by hand")
def forward(forward):
    weight, last, x = normal(4, (3, 3), (2, 3), (3, 3))
    first, last = _Sealed.of(weight, np.ones(3, np.float32), np.tanh), _Sealed.of(last)
    h = x @ first.weight.T
    bent = np.tanh(h + first.bias)
    _compare(forward(fl.Chain(first), x), bent, {
        "the bias is missing": np.tanh(h),
        "the activation is missing": h + first.bias,
        "the activation comes last, after the bias": np.tanh(h) + first.bias,
        "weight.T, not weight: a row of weight belongs to an output": np.tanh(x @ first.weight + first.bias),
        "weight @ x takes the columns of x for observations, but they are the rows: x @ weight.T":
            np.tanh(first.weight @ x + first.bias),
        "x came out as it went in: nothing was computed": x,
    })  # fmt: skip
    _compare(forward(fl.Chain(first, last, fl.softmax), x), fl.softmax(bent @ last.weight.T))
    words = "a function in the Chain isn't always softmax: call the one that's there"
    case = "not the absolute values, for Chain(Dense(3, 3, np.tanh), np.abs)"
    wrong_if(not same(forward(fl.Chain(first, np.abs), x), np.abs(bent)), words, case, "x = layer(x)")
    _compare(forward(fl.Chain(first, last), x[0]), bent[0] @ last.weight.T)
    y, r = called(forward, *fl.gpu((fl.Chain(first, last), x)))
    back, words = r.device_to_host.count, "on the GPU, your function brings something back to the CPU"
    wrong_if(back or on_cpu(y), words, many(back, "copy"))
    return f"as the model does it: one layer, three, a single observation, and on the GPU ({r.launches} launches)"


def _compare(y, wanted, slips=None):
    words = "not what the model gives"
    if slips and np.shape(y) == wanted.shape:
        expect(y, wanted, words, slips, show=lambda y: y[0])
    returned(y, "forward", "return x, after the loop")
    expect(y, wanted, words, shape=words, show=lambda y: f"shape {np.shape(y)}: {y!r}")


# -- 03, your own model ------------------------------------------------------------------------------------------------


@exercise("03.1", "a class whose arrays all move", look_at="explain(TwoHeads(…)): which box is shut?")
def two_heads(TwoHeads):
    model, r = called(TwoHeads, fl.Dense(4, 3), [fl.Dense(3, 2), fl.Dense(3, 1)], "two heads")
    words = f"building the model already made {many(r.host_to_device.count, 'copy')}"
    early = "__init__ moves its arrays", "the caller decides where the model lives"
    wrong_if(r.host_to_device.count, words, *early)
    moved, r = called(fl.gpu, model)
    stayed = [path for path, array in _two_heads_arrays(moved).items() if on_cpu(array)]
    words = f"{len(stayed)} of 6 arrays stayed on the CPU: {', '.join(stayed[:2])}{', …' if len(stayed) > 2 else ''}"
    wrong_if(stayed, words, f"{r.host_to_device.count} copies host → device", "6 copies")
    name = getattr(moved, "name", None)
    wrong_if(name != "two heads", "the model's name got lost on the way", name, "two heads")
    words = "the original was changed; a move gives a new model and leaves the old one where it is"
    wrong_if(not all(map(on_cpu, _two_heads_arrays(model).values())), words)
    return "6 of 6 arrays moved, the name is kept, and the original is untouched"


def _two_heads_arrays(model):
    """A TwoHeads' arrays with their paths, however it's registered."""
    return _of_layers({"body": model.body, **{f"heads[{i}]": head for i, head in enumerate(model.heads)}})


@fl.functor
@dataclass
class _ActorCritic:
    actor: object
    critic: object


@exercise("03.2", "fmap in five lines", look_at="functor(m): which two things does it give?")
def my_fmap(my_fmap):
    seen: list = []

    def double(x):
        wrong_if(_fmap_is_calling(), "that calls fmap itself; write your own walk, with functor")
        seen.append(x)
        name = type(x).__name__.lstrip("_")
        whole = isinstance(x, (_ActorCritic, dict, list, tuple))
        wrong_if(whole, f"f was called with a whole {name}; call f for leaves only", f"f({name}(…))", "f(array)")
        return 2 * x if isinstance(x, np.ndarray) else x

    def tree(n=1):
        return _ActorCritic(n * np.ones((2, 2)), {"a": n * np.ones(2), "b": [n * np.ones(1), 3]})

    model, wanted = tree(), tree(2)
    result = returned(my_fmap(double, model), "my_fmap", "a new ActorCritic: return what rebuild gives")
    pairs = {"actor": (model.actor, tree().actor), "critic['a']": (model.critic["a"], tree().critic["a"])}
    for path, (now, was) in pairs.items():
        words = f"your my_fmap changed the model it was given: {path}"
        wrong_if(not np.array_equal(was, now), words, now.ravel(), was.ravel())
    model, kind = isinstance(result, _ActorCritic), type(result).__name__
    wrong_if(not model, "the result isn't an ActorCritic", kind, "an ActorCritic, made by rebuild")
    wrong_if(not isinstance(result.critic, dict), "critic was a dict", type(result.critic).__name__, "dict")
    for path, got, right in (
        ("actor", result.actor, wanted.actor),
        ("critic['a']", result.critic["a"], wanted.critic["a"]),
        ("critic['b'][0]", result.critic["b"][0], wanted.critic["b"][0]),
        ("a bare array", my_fmap(double, np.ones(3)), 2 * np.ones(3)),
    ):
        doubled = isinstance(got, np.ndarray) and np.array_equal(got, right)
        wrong_if(not doubled, f"{path} is not what fmap makes of it", f"{got!r}", f"{right!r}")
    calls = sum(isinstance(x, np.ndarray) for x in seen)
    wrong_if(calls < 4, "f was not called for every array", f"{len(seen)} calls", "one for each leaf")
    return "it does what fmap does: a nested model, a dict, a list and a bare array"


def _fmap_is_calling() -> bool:
    """Whether the library's own fmap called the function that asks."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_code is not fl.fmap.__code__:
        frame = frame.f_back  # type: ignore[assignment]
    return frame is not None


@exercise("03.3", "copies and bytes, predicted", "the receipt of gpu((encoder, decoder)), and what gpu does to float64")
def copies_of_two_heads(copies, nbytes):
    weight = np.ones((64, 32))
    _, r = called(fl.gpu, ({"weight": weight}, {"weight": weight.T, "bias": np.zeros(32, np.int64)}))
    paid = (r.host_to_device.count, r.host_to_device.bytes)
    if (copies, nbytes) == paid:
        return f"{paid[0]} copies, {paid[1]:,} bytes: 64·32 numbers of 4 bytes, 32 of 8"
    yours = f"{copies} copies, {nbytes} bytes"
    words = "encoder.weight and decoder.weight are one array, so it's copied once"
    wrong_if(copies == 3, words, yours, f"{paid[0]} copies")
    numbers = 64 * 32 + 32
    refuse({"the bytes are right for float64, but gpu makes float32 of it (and leaves integers)": nbytes == numbers * 8,
            "the bias holds integers of 8 bytes, and gpu leaves integers as they are": nbytes == numbers * 4},
           yours)  # fmt: skip
    words = "the number of copies is right, the bytes are not"
    wrong_if(copies == paid[0], words, yours, "numbers × bytes for each, added")
    raise NotRight("neither number is right. Start with the copies: write down each array once", yours)


@exercise("03.4", "frozen, but not left behind", look_at="functor says what moves, trainable says what trains")
def agent(Agent):
    model = fl.gpu(Agent(fl.Dense(3, 4, np.tanh), fl.Dense(4, 2)))
    x = fl.gpu(np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3))
    arrays = _of_layers({"body": model.body, "head": model.head})
    stayed = ", ".join(path for path, array in arrays.items() if on_cpu(array))
    with fl.receipt() as r:
        try:
            model(x)
        except TypeError:
            words = f"{stayed} stayed on the CPU, so the model can't compute"
            wrong_if(stayed, words, "what isn't a child doesn't move", "all four arrays on the device")
            raise
    back = r.device_to_host.count
    words = f"{back} hidden copies back to the CPU in one call of the model; part of it ran there"
    wrong_if(back, words, f"{back} copies device → host", "0 copies: the model moves once, before it is used")
    wrong_if(stayed, f"{stayed} stayed on the CPU", expected="all four arrays on the device")
    before = {part: fl.cpu(getattr(model, part).weight).copy() for part in ("body", "head")}
    fl.update(fl.setup(fl.Descent(0.1), model), model, fl.gradient(lambda m: np.sum(m(x) ** 2), model)[0])
    changed = {part: not np.array_equal(was, fl.cpu(getattr(model, part).weight)) for part, was in before.items()}
    wrong_if(changed["body"], "body.weight was trained", "it changed in one step", "not a bit changed: it's frozen")
    wrong_if(not changed["head"], "head.weight was not trained", "it didn't change in one step", "changed by the step")
    return "all four arrays move, the head learns, the body stays the same"
