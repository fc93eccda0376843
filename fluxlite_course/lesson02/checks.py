"""Lesson 02, models that move: checks."""

from dataclasses import dataclass
from typing import Any

import numpy as np

import fluxlite as fl
from fluxlite.words import many

from ..kit.exercises import NotRight, brief, exercise
from ..kit.vocabulary import call, explaining, function, must_return, on_cpu, on_gpu, refuse, same, wrong_if
from ..kit.watching import calls_of, look, unchanged

_MEANINGS = {  # what an error says -> what it means here
    "does not copy it to the host": "it runs on the GPU, but NumPy can't bring the result back; cpu(…) can",
    " is on ": "model and data are in two places: both have to move, and both results need a name",
}


@exercise("02.1", "a model that really runs on the GPU", look_at="section 3: the two traps")
def predict(predict):
    function(predict, "predict")
    r = _predicted(predict, 5)
    _predicted(predict, 2)
    to_gpu, back = r.host_to_device.count, r.device_to_host.count
    sent = f"{many(to_gpu, 'copy')} to the GPU"
    if to_gpu == 5:
        sent += " (4 arrays of the model, and x)"
    return f"{sent}, {r.launches} launches there, {many(back, 'copy')} back"


def _arrays_of(layers):
    return [array for layer in layers for array in (layer.weight, layer.bias)]


def _predicted(predict, observations):
    """The receipt of a prediction for so many observations. Raises `NotRight` unless it was made on the GPU."""
    rng = np.random.default_rng(observations)  # for both, so that the numbers in a reply are the same each time
    where, places, _ = look()
    model = fl.Chain(fl.Dense(4, 3, np.tanh, rng=rng), fl.Dense(3, 2, rng=rng), where)
    x = np.linspace(-1, 1, 4 * observations, dtype=np.float32).reshape(observations, 4)
    weights = [array.copy() for array in _arrays_of(model.layers[:2])]
    wanted = model(x)
    places.clear()
    with (
        unchanged("predict", x=x),
        fl.receipt() as r,
        explaining(_MEANINGS, "both on the GPU, and cpu(…) of the result"),
    ):
        y = predict(model, x)
    copies, back, idle = r.host_to_device.count, r.device_to_host.count, r.launches == 0
    here = _arrays_of(model.layers[:2])
    is_kept = all(map(on_cpu, here)) and all(map(same, here, weights))
    elsewhere = "GPU" not in places if places else not back
    refuse({
        "the caller's model was changed; gpu gives you a new model, so leave the old one alone": not is_kept,
        "nothing was computed at all: call the model with x": idle and not places,
        "the GPU was never asked for anything": idle and copies == 0,
        "copies came back before the GPU computed anything: the model ran on the CPU": idle and back,
        "copies were made and dropped: gpu(model) gives a new model, so give it a name and use it": idle,
        "predict returned None": y is None,
        "it runs on the GPU, but the result is still there": on_gpu(y),
        "the GPU was asked for something, but the model ran on the CPU": elsewhere,
        "the model ran on the GPU, and on the CPU as well: one line too many calls it": "CPU" in places,
        "the result isn't a NumPy array": not isinstance(y, np.ndarray),
        "the numbers aren't those of model(x)": isinstance(y, np.ndarray) and not same(y, wanted),
        "it runs on the GPU, but a line makes copies that nobody keeps": copies > 5,
    }, f"{many(copies, 'copy')} to the GPU, {r.launches} launches, {many(back, 'copy')} back; {type(y).__name__}",
       "5 copies to the GPU, launches, 1 copy back; ndarray")  # fmt: skip
    return r


@exercise("02.2", "a class whose arrays all move", look_at="explain(TwoHeads(…)): which box is shut?")
def two_heads(TwoHeads):
    if not callable(TwoHeads):
        raise NotRight("give the check the class TwoHeads, not an object", brief(TwoHeads), "a class")
    body, heads = fl.Dense(4, 3), [fl.Dense(3, 2), fl.Dense(3, 1)]
    made = TwoHeads(body, heads, "two heads")
    early = [path for path, array in _six_arrays(made).items() if not on_cpu(array)]
    words = "the arrays move while the object is made; leave __init__ as it was, so that gpu(…) moves them"
    wrong_if(early, words, ", ".join(early[:2]), "6 arrays on the CPU, until gpu moves them")
    moved, r = call(fl.gpu, made)
    arrays = _six_arrays(moved)
    stayed = [path for path, array in arrays.items() if not on_gpu(array)]
    words = f"{len(stayed)} of 6 arrays stayed on the CPU: {', '.join(stayed[:2])}{', …' if stayed[2:] else ''}"
    wrong_if(stayed, words, f"{many(r.host_to_device.count, 'copy')} host → device", "6 copies")
    given = _arrays_of([body, *heads])
    refuse({
        "the object itself was changed; gpu should give a new one": moved is made or not all(map(on_cpu, given)),
        "the arrays on the GPU don't have the numbers of those on the CPU": not all(map(same, arrays.values(), given)),
        "the name got lost on the way": getattr(moved, "name", None) != "two heads",
    }, brief(moved), "a new TwoHeads, with the same numbers and the same name")  # fmt: skip
    return "6 of 6 arrays moved"


def _six_arrays(made):
    """The arrays of a `TwoHeads`, by path. Raises `NotRight` if its fields aren't what `__init__` made them."""
    arrays: dict[str, Any] = {}
    try:
        for path, layer in (("body", made.body), ("heads[0]", made.heads[0]), ("heads[1]", made.heads[1])):
            arrays |= {f"{path}.weight": layer.weight, f"{path}.bias": layer.bias}
    except (AttributeError, TypeError, LookupError) as error:
        fields = "an object with the fields body, heads and name, as __init__ made it"
        raise NotRight(f"that isn't a body and two heads any more: {error}", brief(made), fields) from None
    return arrays


@fl.functor
@dataclass
class _ActorCritic:
    actor: object
    critic: object


@exercise("02.3", "fmap in five lines", look_at="functor(m): which two things does it give?")
def my_fmap(my_fmap):
    function(my_fmap, "my_fmap")
    seen = []

    def double(x):
        name = type(x).__name__.lstrip("_")
        whole = isinstance(x, (_ActorCritic, dict, list, tuple))
        wrong_if(whole, f"f was called with a whole {name}; call f for leaves only", f"f({name}(…))", "f(array)")
        seen.append(x)
        return 2 * x

    def tree(n=1):
        inner = _ActorCritic(n * np.ones(4), n * 5)
        return _ActorCritic(
            n * np.ones((2, 2)), {"a": n * np.ones(2), "b": [n * np.ones(1), n * 3], "c": (inner, n * 7)}
        )

    model = tree()
    with calls_of(fl.fmap, fl.fmap_with_path, fl.fmapstructure) as calls:
        result = my_fmap(double, model)
    must_return(result, "my_fmap", "a new ActorCritic: return what rebuild gives")
    kept = all(same(_leaf(path, model), _leaf(path, tree())) for path in _LEAVES)
    refuse({
        "your my_fmap changed the model it was given": not kept,
        f"that leaves the walk to {', '.join(calls)}; write your own, with functor": calls,
        "the result isn't an ActorCritic": not isinstance(result, _ActorCritic),
        "critic was a dict": not isinstance(getattr(result, "critic", None), dict),
    }, brief(result), "a new ActorCritic with a dict in it, made by rebuild")  # fmt: skip
    for path in _LEAVES:
        _as_fmap_does(path, _leaf(path, result), _leaf(path, tree(2)))
    refuse(
        {
            "critic['b'] was a list": type(result.critic["b"]) is not list,
            "critic['c'] was a tuple": type(result.critic["c"]) is not tuple,
        }
    )
    leaves = len(_LEAVES)
    wrong_if(len(seen) != leaves, f"f was called {many(len(seen), 'time')} for {leaves} leaves", None, "once for each")
    _as_fmap_does("a bare array", my_fmap(double, np.ones(3)), 2 * np.ones(3))
    _as_fmap_does("a bare number", my_fmap(double, 4), 8)
    return "it does what fmap does: a nested model, a dict, a list, a tuple, a bare array and a number"


_LEAVES = {  # of the model that `my_fmap` gets
    "actor": lambda model: model.actor,
    "critic['a']": lambda model: model.critic["a"],
    "critic['b'][0]": lambda model: model.critic["b"][0],
    "critic['b'][1]": lambda model: model.critic["b"][1],
    "critic['c'][0].actor": lambda model: model.critic["c"][0].actor,
    "critic['c'][0].critic": lambda model: model.critic["c"][0].critic,
    "critic['c'][1]": lambda model: model.critic["c"][1],
}


def _leaf(path, model):
    """The leaf at this path, or words that say that there's nothing."""
    try:
        return _LEAVES[path](model)
    except (AttributeError, TypeError, LookupError):
        return "nothing at all"


def _as_fmap_does(path, got, wanted):
    wrong_if(not same(got, wanted), f"{path} isn't what fmap makes of it", f"{got!r}", f"{wanted!r}")
