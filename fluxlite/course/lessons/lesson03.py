"""Lesson 03, your own model: checks."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

import fluxlite as fl

from ...messages import many
from ..exercises import NotRight, exercise
from ..expect import on_cpu, refuse, returned, wrong_if


@exercise("03.1", "a class whose arrays all move", look_at="explain(TwoHeads(…)): which box is shut?")
def two_heads(TwoHeads: Any) -> str:
    with fl.receipt() as built:
        model = TwoHeads(fl.Dense(4, 3), [fl.Dense(3, 2), fl.Dense(3, 1)], "two heads")
    words = f"building the model already made {many(built.host_to_device.count, 'copy')}"
    early = "__init__ moves its arrays", "the caller decides where the model lives"
    wrong_if(built.host_to_device.count, words, *early)
    with fl.receipt() as r:
        moved = fl.gpu(model)
    stayed = [path for path, array in _arrays(moved) if on_cpu(array)]
    words = f"{len(stayed)} of 6 arrays stayed on the CPU: {', '.join(stayed[:2])}{', …' if len(stayed) > 2 else ''}"
    wrong_if(stayed, words, f"{r.host_to_device.count} copies host → device", "6 copies")
    name = getattr(moved, "name", None)
    wrong_if(name != "two heads", "the model's name got lost on the way", name, "two heads")
    words = "the original was changed; a move gives a new model and leaves the old one where it is"
    wrong_if(not all(on_cpu(array) for _, array in _arrays(model)), words)
    return "6 of 6 arrays moved, the name is kept, and the original is untouched"


def _arrays(model: Any) -> list[tuple[str, Any]]:
    """A TwoHeads' arrays with their paths, however it's registered."""
    layers = [("body", model.body), *((f"heads[{i}]", head) for i, head in enumerate(model.heads))]
    return [(f"{path}.{name}", getattr(layer, name)) for path, layer in layers for name in ("weight", "bias")]


@dataclass
class _ActorCritic:
    actor: Any
    critic: Any


fl.functor(_ActorCritic)


@exercise("03.2", "fmap in five lines", look_at="functor(m): which two things does it give?")
def my_fmap(my_fmap: Any) -> str:
    seen: list[Any] = []

    def double(x: Any) -> Any:
        wrong_if(_fmap_is_calling(), "that calls fmap itself; write your own walk, with functor")
        seen.append(x)
        name = type(x).__name__.lstrip("_")
        whole = isinstance(x, (_ActorCritic, dict, list, tuple))
        wrong_if(whole, f"f was called with a whole {name}; call f for leaves only", f"f({name}(…))", "f(array)")
        return 2 * x if isinstance(x, np.ndarray) else x

    def tree(n: int = 1) -> Any:
        return _ActorCritic(n * np.ones((2, 2)), {"a": n * np.ones(2), "b": [n * np.ones(1), 3]})

    model, wanted = tree(), tree(2)
    result = returned(my_fmap(double, model), "my_fmap", "a new ActorCritic: return what rebuild gives")
    pairs = {"actor": (model.actor, tree().actor), "critic['a']": (model.critic["a"], tree().critic["a"])}
    for path, (now, was) in pairs.items():
        words = f"your my_fmap changed the model it was given: {path}"
        wrong_if(not np.array_equal(was, now), words, now.ravel(), was.ravel())
    kind = type(result).__name__
    words = "the result isn't an ActorCritic"
    wrong_if(not isinstance(result, _ActorCritic), words, kind, "an ActorCritic, made by rebuild")
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


@exercise(
    "03.3",
    "copies and bytes, predicted",
    look_at="the receipt of gpu((encoder, decoder)), and what gpu does to float64",
)
def copies_and_bytes(copies: Any, nbytes: Any) -> str:
    weight = np.ones((64, 32))
    encoder = {"weight": weight}
    decoder = {"weight": weight.T, "bias": np.zeros(32, np.int64)}
    with fl.receipt() as r:
        fl.gpu((encoder, decoder))
    paid = (r.host_to_device.count, r.host_to_device.bytes)
    if (copies, nbytes) == paid:
        return f"{paid[0]} copies, {paid[1]:,} bytes: 64·32 numbers of 4 bytes, 32 of 8"
    yours = f"{copies} copies, {nbytes} bytes"
    words = "encoder.weight and decoder.weight are one array, so it's copied once"
    wrong_if(copies == 3, words, yours, f"{paid[0]} copies")
    float64 = "the bytes are right for float64, but gpu makes float32 of it (and leaves integers)"
    int32 = "the bias holds integers of 8 bytes, and gpu leaves integers as they are"
    refuse({float64: nbytes == (64 * 32 + 32) * 8, int32: nbytes == (64 * 32 + 32) * 4}, yours)
    words = "the number of copies is right, the bytes are not"
    wrong_if(copies == paid[0], words, yours, "numbers × bytes for each, added")
    raise NotRight("neither number is right. Start with the copies: write down each array once", yours)


@exercise("03.4", "frozen, but not left behind", look_at="functor says what moves, trainable says what trains")
def agent(Agent: Any) -> str:
    model = fl.gpu(Agent(fl.Dense(3, 4, np.tanh), fl.Dense(4, 2)))
    x = fl.gpu(np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3))
    arrays = {f"{part}.{name}": getattr(getattr(model, part), name)
              for part in ("body", "head") for name in ("weight", "bias")}  # fmt: skip
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
    state = fl.setup(fl.Descent(0.1), model)
    grads = fl.gradient(lambda m: np.sum(m(x) ** 2), model)[0]
    fl.update(state, model, grads)
    changed = {part: not np.array_equal(was, fl.cpu(getattr(model, part).weight)) for part, was in before.items()}
    frozen = "it changed in one step", "not a bit changed: it's frozen"
    wrong_if(changed["body"], "body.weight was trained", *frozen)
    stuck = "it didn't change in one step", "changed by the step"
    wrong_if(not changed["head"], "head.weight was not trained", *stuck)
    return "all four arrays move, the head learns, the body stays the same"
