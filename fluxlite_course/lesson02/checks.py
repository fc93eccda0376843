"""Lesson 02, models that move: checks."""

from dataclasses import dataclass

import numpy as np

import fluxlite as fl
from fluxlite.messages import many

from ..kit.exercises import exercise
from ..kit.vocabulary import call, explaining, must_return, on_cpu, refuse, same, wrong_if


@exercise("02.1", "a model that really runs on the GPU", look_at="section 3: the two traps")
def predict(predict):
    rng = np.random.default_rng(1)  # for both, so that the numbers in a reply are the same each time
    model = fl.Chain(fl.Dense(4, 3, np.tanh, rng=rng), fl.Dense(3, 2, rng=rng))
    x = np.linspace(-1, 1, 20, dtype=np.float32).reshape(5, 4)
    wanted = model(x)
    places = "model and data are in two places: both have to move, and both results need a name"
    with fl.receipt() as r, explaining({" is on ": places}, "both on the GPU"):
        y = predict(model, x)
    copies, idle = r.host_to_device.count, r.launches == 0
    refuse({
        "the caller's model was changed; gpu gives you a new model, so leave the old one alone":
            not on_cpu(model[0].weight),
        "the GPU was never asked for anything": idle and copies == 0,
        "copies were made and dropped: gpu(model) gives a new model, so give it a name and use it": idle,
        "predict returned None": y is None,
        "it runs on the GPU, but the result is still there": not isinstance(y, np.ndarray),
        "the numbers aren't those of model(x)": not same(y, wanted),
        "it runs on the GPU, but a line makes copies that nobody keeps": copies > 5,
    }, f"{copies} copies, {r.launches} launches; {type(y).__name__}", "5 copies, launches; ndarray")  # fmt: skip
    return f"5 copies to the GPU (4 arrays of the model, and x), {r.launches} launches there, 1 copy back"


@exercise("02.2", "a class whose arrays all move", look_at="explain(TwoHeads(…)): which box is shut?")
def two_heads(TwoHeads):
    moved, r = call(fl.gpu, TwoHeads(fl.Dense(4, 3), [fl.Dense(3, 2), fl.Dense(3, 1)], "two heads"))
    layers = {"body": moved.body, **{f"heads[{i}]": head for i, head in enumerate(moved.heads)}}
    stayed = [f"{path}.{name}" for path, layer in layers.items()
              for name in ("weight", "bias") if on_cpu(getattr(layer, name))]  # fmt: skip
    words = f"{len(stayed)} of 6 arrays stayed on the CPU: {', '.join(stayed[:2])}{', …' if stayed[2:] else ''}"
    wrong_if(stayed, words, f"{many(r.host_to_device.count, 'copy')} host → device", "6 copies")
    return "6 of 6 arrays moved"


@fl.functor
@dataclass
class _ActorCritic:
    actor: object
    critic: object


@exercise("02.3", "fmap in five lines", look_at="functor(m): which two things does it give?")
def my_fmap(my_fmap):
    def double(x):
        name = type(x).__name__.lstrip("_")
        whole = isinstance(x, (_ActorCritic, dict, list, tuple))
        wrong_if(whole, f"f was called with a whole {name}; call f for leaves only", f"f({name}(…))", "f(array)")
        return 2 * x if isinstance(x, np.ndarray) else x

    def tree(n=1):
        return _ActorCritic(n * np.ones((2, 2)), {"a": n * np.ones(2), "b": [n * np.ones(1), 3]})

    def arrays(made):
        return [made.actor, made.critic["a"], made.critic["b"][0]]

    model = tree()
    itself = my_fmap is fl.fmap or "fmap" in getattr(getattr(my_fmap, "__code__", None), "co_names", ())
    result = must_return(my_fmap(double, model), "my_fmap", "a new ActorCritic: return what rebuild gives")
    refuse({
        "your my_fmap changed the model it was given": not all(map(np.array_equal, arrays(model), arrays(tree()))),
        "that calls fmap itself; write your own walk, with functor": itself,
        "the result isn't an ActorCritic": not isinstance(result, _ActorCritic),
        "critic was a dict": not isinstance(getattr(result, "critic", None), dict),
    }, type(result).__name__, "a new ActorCritic with a dict in it, made by rebuild")  # fmt: skip
    found, wanted = [*arrays(result), my_fmap(double, np.ones(3))], [*arrays(tree(2)), 2 * np.ones(3)]
    for path, got, right in zip(("actor", "critic['a']", "critic['b'][0]", "a bare array"), found, wanted):
        wrong_if(not same(got, right), f"{path} isn't what fmap makes of it", f"{got!r}", f"{right!r}")
    return "it does what fmap does: a nested model, a dict, a list and a bare array"
