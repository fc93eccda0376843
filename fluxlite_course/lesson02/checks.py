"""Checks of notebooks 02, models and fmap, and 03, your own model."""

from dataclasses import dataclass

import numpy as np

import fluxlite as fl
from fluxlite.messages import many, put_aside

from ..kit.exercises import NotRight, exercise
from ..kit.vocabulary import called, expect, explained, normal, on_cpu, quiet, refuse, returned, same, wrong_if


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
    copies, idle = r.host_to_device.count, r.launches == 0
    refuse({
        "the caller's model was changed; gpu gives you a new model, so leave the old one alone":
            not on_cpu(model[0].weight),
        "the GPU was never asked for anything": idle and copies == 0,
        "one array was moved, but nothing was computed there: first move model and x, then call": idle and copies == 1,
        "copies were made and dropped: gpu(model) gives a new model, so give it a name and use it": idle,
        "predict returned None": y is None,
        "it runs on the GPU, but the result is still there": not isinstance(y, np.ndarray),
        "the numbers are not those of model(x)": not same(y, wanted),
        "it runs on the GPU, but a line makes copies that nobody keeps": copies > 5,
    }, f"copies to the GPU: {copies}, launches there: {r.launches}; {type(y).__name__}",
       "5 copies, and some launches; ndarray")  # fmt: skip
    return f"5 copies to the GPU (4 arrays of the model, and x), {r.launches} launches there, 1 copy back"


@exercise("02.2", "half precision with fmap", look_at="section 6: zeros, a function of one leaf")
def half(half):
    made = fl.Chain(fl.Dense(3, 4, np.tanh, rng=np.random.default_rng(2)), fl.Dense(4, 2), fl.softmax)
    tree = {"model": made, "classes": np.arange(3), "table": made[0].weight.T, "scale": np.ones(2)}  # float64
    before = {path: array.copy() for path, array in _arrays(tree).items()}
    words = "your function of a leaf was given a function, such as np.tanh, and treated it like an array"
    with explained(dict.fromkeys(("ufunc", "'function'", "NoneType"), words), "it comes back as it is"):
        short = half(tree)
    for path, array in _arrays(tree).items():
        changed = array.dtype != before[path].dtype or not np.array_equal(array, before[path])
        wrong_if(changed, f"half changed the model that it was given: {path}", array.dtype, before[path].dtype)
    returned(short, "half", "the new model, which fmap builds: return it")
    built = isinstance(short, dict) and isinstance(short.get("model"), fl.Chain)
    wrong_if(not built, "the result is not built like the model", type(short).__name__, "what fmap gives")
    arrays = _arrays(short)
    kinds = {path: getattr(array, "dtype", None) for path, array in arrays.items()}
    long = [path for path, kind in kinds.items() if path != "classes" and kind != np.float16]
    first = "".join(f"{path} is {kinds[path]}" for path in long[:1])
    bent, last = short["model"][0].activation, short["model"][2]
    refuse({
        "your function of a leaf returns nothing where there's nothing to shorten":
            any(array is None for array in arrays.values()),
        "an array of integers was changed": kinds["classes"] != tree["classes"].dtype,
        'only float32 was converted, but float64 is a floating-point type, too: ask for dtype.kind == "f"':
            long == ["scale"],
        f"{len(long)} of {len(kinds) - 1} floating-point arrays are not float16: {first}": long,
        "the functions of the model are not what they were": bent is not np.tanh or last is not fl.softmax,
        "table and model.layers[0].weight were one array and are two now: let one fmap do it all":
            not np.shares_memory(short["table"], short["model"][0].weight),
    }, ", ".join(f"{path} is {kind}" for path, kind in kinds.items()), "float16, but for classes")  # fmt: skip
    short, r = called(half, fl.gpu(made))
    moved = _arrays({"model": short}).values()
    quiet(r, "a model on the GPU was brought back to the CPU", next(iter(moved)))
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
    count, size = r.host_to_device.count, r.host_to_device.bytes
    refuse({
        "an array in two places is copied once: look at layer and at x": copies in (6, 7),
        "x[:10] is not all of x, so it is no tie: it travels by itself": copies == 3,
        "arrays are copied, not layers; a Dense has two": copies == 2,
        "the copies are right, but a float32 has 4 bytes": copies == count and nbytes in (size * 2, size // 4),
        "neither number is right. Start with the copies: write down each array once": copies != count,
        "the copies are right, the bytes are not: add numbers × 4 for each array": nbytes != size,
    }, f"{copies} copies, {nbytes} bytes")  # fmt: skip
    return f"{count} copies, {size:,} bytes: weight 256, bias 32, x 3,200, its first ten rows once more 320"


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
    wrong_if(not same(forward(fl.Chain(first, np.abs), x), np.abs(bent)), words, expected="x = layer(x)")
    _compare(forward(fl.Chain(first, last), x[0]), bent[0] @ last.weight.T)
    y, r = called(forward, *fl.gpu((fl.Chain(first, last), x)))
    quiet(r, "on the GPU, your function brings something back to the CPU", y)
    return f"as the model does it: one layer, three, a single observation, and on the GPU ({r.launches} launches)"


def _compare(y, wanted, slips=None):
    words = "not what the model gives"
    expect(y, wanted, words, slips, name="forward", gives="return x, after the loop", shape=words)


# -- 03, your own model ------------------------------------------------------------------------------------------------


@exercise("03.1", "a class whose arrays all move", look_at="explain(TwoHeads(…)): which box is shut?")
def two_heads(TwoHeads):
    model, r = called(TwoHeads, fl.Dense(4, 3), [fl.Dense(3, 2), fl.Dense(3, 1)], "two heads")
    words = f"building the model already made {many(r.host_to_device.count, 'copy')}"
    wrong_if(r.host_to_device.count, words, "__init__ moves its arrays", "the caller decides where the model lives")
    moved, r = called(fl.gpu, model)
    stayed = [path for path, array in _two_heads_arrays(moved).items() if on_cpu(array)]
    refuse({
        f"{len(stayed)} of 6 arrays stayed on the CPU: {', '.join(stayed[:2])}{', …' if stayed[2:] else ''}": stayed,
        "the model's name got lost on the way": getattr(moved, "name", None) != "two heads",
        "the original was changed; a move gives a new model and leaves the old one where it is":
            not all(map(on_cpu, _two_heads_arrays(model).values())),
    }, f"{many(r.host_to_device.count, 'copy')} host → device", "6 copies")  # fmt: skip
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
        seen.append(x)
        name = type(x).__name__.lstrip("_")
        whole = isinstance(x, (_ActorCritic, dict, list, tuple))
        wrong_if(whole, f"f was called with a whole {name}; call f for leaves only", f"f({name}(…))", "f(array)")
        return 2 * x if isinstance(x, np.ndarray) else x

    def tree(n=1):
        return _ActorCritic(n * np.ones((2, 2)), {"a": n * np.ones(2), "b": [n * np.ones(1), 3]})

    def arrays(made):
        return {"actor": made.actor, "critic['a']": made.critic["a"], "critic['b'][0]": made.critic["b"][0]}

    model = tree()
    result = returned(my_fmap(double, model), "my_fmap", "a new ActorCritic: return what rebuild gives")
    for (path, now), was in zip(arrays(model).items(), arrays(tree()).values()):
        words = f"your my_fmap changed the model it was given: {path}"
        wrong_if(not np.array_equal(was, now), words, now.ravel(), was.ravel())
    itself = my_fmap is fl.fmap or "fmap" in getattr(getattr(my_fmap, "__code__", None), "co_names", ())
    wrong_if(itself, "that calls fmap itself; write your own walk, with functor")
    kind, built = type(result).__name__, isinstance(result, _ActorCritic)
    wrong_if(not built, "the result isn't an ActorCritic", kind, "an ActorCritic, made by rebuild")
    wrong_if(not isinstance(result.critic, dict), "critic was a dict", type(result.critic).__name__, "dict")
    found = arrays(result) | {"a bare array": my_fmap(double, np.ones(3))}
    for (path, got), right in zip(found.items(), [*arrays(tree(2)).values(), 2 * np.ones(3)]):
        doubled = isinstance(got, np.ndarray) and np.array_equal(got, right)
        wrong_if(not doubled, f"{path} is not what fmap makes of it", f"{got!r}", f"{right!r}")
    return "it does what fmap does: a nested model, a dict, a list and a bare array"


@exercise("03.3", "copies and bytes, predicted", "the receipt of gpu((encoder, decoder)), and what gpu does to float64")
def copies_of_two_heads(copies, nbytes):
    weight = np.ones((64, 32))
    _, r = called(fl.gpu, ({"weight": weight}, {"weight": weight.T, "bias": np.zeros(32, np.int64)}))
    count, size, numbers = r.host_to_device.count, r.host_to_device.bytes, 64 * 32 + 32
    refuse({
        "encoder.weight and decoder.weight are one array, so it's copied once": copies == 3,
        "the bytes are right for float64, but gpu makes float32 of it (and leaves integers)": nbytes == numbers * 8,
        "the bias holds integers of 8 bytes, and gpu leaves integers as they are": nbytes == numbers * 4,
        "neither number is right. Start with the copies: write down each array once": copies != count,
        "the number of copies is right, the bytes are not: add numbers × bytes for each": nbytes != size,
    }, f"{copies} copies, {nbytes} bytes")  # fmt: skip
    return f"{count} copies, {size:,} bytes: 64·32 numbers of 4 bytes, 32 of 8"


@exercise("03.4", "frozen, but not left behind", look_at="functor says what moves, trainable says what trains")
def agent(Agent):
    model = fl.gpu(Agent(fl.Dense(3, 4, np.tanh), fl.Dense(4, 2)))
    x = fl.gpu(np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3))
    arrays = _of_layers({"body": model.body, "head": model.head})
    stayed = ", ".join(path for path, array in arrays.items() if on_cpu(array))
    words = f"{stayed} stayed on the CPU, so the model can't compute: what isn't a child doesn't move"
    with fl.receipt() as r, explained({" is on ": words} if stayed else {}, "all four arrays on the device"):
        model(x)
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
