"""Steps of small models, where what is timed is the way from a model to its arrays and back.

"Bare arrays" is the same computation with the arrays given one by one: `withgradient` finds nothing to walk through
there. Beside it a list, an object and a `Chain` of the same arrays, PyTorch, and the optimizers' rules alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .harness import Bar, Benchmark, Contender, Judgement
from .harness import report as report_race

BATCH, RATE, LEAVES = 16, 1e-4, 100_000
TORCH = "2-8-1, Adam step, PyTorch eager"
ADAM_LOSS = 0.19286  # after the steps of SMALL; fluxlite and PyTorch agree
FEWEST_ROUNDS = 15  # short ones: what else runs on the machine disturbs some of them, and not their median
Result = tuple[Any, Any]  # what came out, and what should have


@dataclass(frozen=True)
class Shape:
    """Layers by their widths, tanh between them; how many steps are timed in one go."""

    name: str
    widths: tuple[int, ...]
    tanh_at_the_end: bool
    steps: int


LINEAR = Shape("two arrays", (2, 1), False, 400)
SMALL = Shape("2-8-1", (2, 8, 1), False, 200)
DEEP = Shape("100 layers of 8", (8,) * 101, True, 4)


def arrays_of(shape: Shape) -> list[np.ndarray]:
    """Weight and bias of each layer, the same at every call."""
    rng = np.random.default_rng(0)
    found: list[np.ndarray] = []
    for inputs, outputs in zip(shape.widths, shape.widths[1:]):
        found.append((rng.standard_normal((outputs, inputs)) / np.sqrt(inputs)).astype(np.float32))
        found.append(np.full(outputs, 0.1, np.float32))
    return found


def data_of(shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    x, y = (rng.standard_normal((BATCH, n)).astype(np.float32) for n in (shape.widths[0], shape.widths[-1]))
    return x, y


def outputs_of(shape: Shape, x: Any, arrays: Any) -> Any:
    for i in range(0, len(arrays), 2):
        x = x @ arrays[i].T + arrays[i + 1]
        x = np.tanh(x) if i + 2 < len(arrays) or shape.tanh_at_the_end else x
    return x


def model_of(shape: Shape, arrays: list[np.ndarray]) -> Any:
    import fluxlite as fl

    last = len(arrays) - 2
    activations = [(np.tanh,) if i < last or shape.tanh_at_the_end else () for i in range(0, len(arrays), 2)]
    return fl.Chain(*[fl.Dense.of(*arrays[2 * i : 2 * i + 2], *sigma) for i, sigma in enumerate(activations)])


class Affine:
    """A class of a user's own, with two arrays."""

    def __init__(self, weight: Any, bias: Any):
        self.weight, self.bias = weight, bias

    def __call__(self, x: Any) -> Any:
        return x @ self.weight.T + self.bias


# -- withgradient ----------------------------------------------------------------------------------


def first_slope(shape: Shape) -> float:
    """What the gradient of the first bias begins with: from the difference of two losses, in float64."""
    x, y = data_of(shape)
    losses = []
    for change in (1e-5, -1e-5):
        arrays = [array.astype(np.float64) for array in arrays_of(shape)]
        arrays[1][0] += change
        losses.append(np.mean((outputs_of(shape, x, arrays) - y) ** 2))
    return (losses[0] - losses[1]) / 2e-5


def gradients(shape: Shape, kind: str) -> Contender:
    """`withgradient` of one and the same loss, of the arrays in one or another form."""

    def make() -> Callable[[], Result]:
        import fluxlite as fl

        fl.functor(Affine)
        x, y = data_of(shape)
        arrays, expected = arrays_of(shape), first_slope(shape)
        arguments: dict[str, Callable[[], tuple]] = {
            "bare arrays": lambda: tuple(arrays),
            "a list": lambda: (arrays,),
            "an object": lambda: (Affine(*arrays),),
            "a Chain": lambda: (model_of(shape, arrays),),
        }
        predictions: dict[str, Callable] = {
            "bare arrays": lambda *arrays: outputs_of(shape, x, arrays),
            "a list": lambda arrays: outputs_of(shape, x, arrays),
        }
        first_bias: dict[str, Callable] = {
            "bare arrays": lambda grads: grads[1],
            "a list": lambda grads: grads[0][1],
            "an object": lambda grads: grads[0].bias,
            "a Chain": lambda grads: grads[0][0].bias,
        }
        given, predict = arguments[kind](), predictions.get(kind, lambda model: model(x))

        def run() -> Result:
            for _ in range(shape.steps):
                _, grads = fl.withgradient(lambda *given: np.mean((predict(*given) - y) ** 2), *given)
            return first_bias[kind](grads)[0], expected

        return run

    return Contender(f"{shape.name}, {kind}", make, shape.steps)


def many_leaves() -> Contender:
    """A list of so many arrays that all the time goes into walking through it."""

    def make() -> Callable[[], Result]:
        import fluxlite as fl

        arrays = [np.ones(1, np.float32) for _ in range(LEAVES)]

        def run() -> Result:
            _, (grads,) = fl.withgradient(lambda arrays: np.sum(arrays[-1] * 3), arrays)
            return (len(grads), grads[-1][0]), (LEAVES, 3)

        return run

    return Contender(f"a list of {LEAVES:,} arrays", make, LEAVES)


# -- Adam steps, and update ------------------------------------------------------------------------


def adam_steps() -> Callable[[], Result]:
    import fluxlite as fl

    x, y = data_of(SMALL)

    def run() -> Result:
        model = model_of(SMALL, arrays_of(SMALL))
        state = fl.setup(fl.Adam(0.01), model)
        for _ in range(SMALL.steps):
            loss, (grads,) = fl.withgradient(lambda model: np.mean((model(x) - y) ** 2), model)
            fl.update(state, model, grads)
            number = float(loss)
        return number, ADAM_LOSS

    return run


def adam_steps_torch() -> Callable[[], Result]:
    import torch

    x, y = map(torch.from_numpy, data_of(SMALL))

    def run() -> Result:
        model = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
        with torch.no_grad():
            for parameter, array in zip(model.parameters(), arrays_of(SMALL)):
                parameter.copy_(torch.from_numpy(array))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(SMALL.steps):
            optimizer.zero_grad()
            loss = torch.mean((model(x) - y) ** 2)
            loss.backward()
            optimizer.step()
            number = loss.item()
        return number, ADAM_LOSS

    return run


def updates(rule_name: str, by_rules_alone: bool) -> Contender:
    """`update` of the deep model by the same gradients again and again; or its rule, array by array."""
    steps = 10

    def make() -> Callable[[], Result]:
        import fluxlite as fl

        rule = getattr(fl, rule_name)(RATE)
        arrays, (x, y) = arrays_of(DEEP), data_of(DEEP)
        model = model_of(DEEP, arrays)
        state = fl.setup(rule, model)
        _, (grads,) = fl.withgradient(lambda model: np.mean((model(x) - y) ** 2), model)
        slopes = [g for layer in grads.layers for g in (layer.weight, layer.bias)]
        memories = [rule.init(array) for array in arrays]
        # The last bias has the largest slope. By Adam a slope that stays the same moves every number by the rate.
        step = RATE * (slopes[-1] if rule_name == "Descent" else np.sign(slopes[-1]))

        def run() -> Result:
            before = arrays[-1].copy()
            for _ in range(steps):
                if by_rules_alone:
                    for memory, array, g in zip(memories, arrays, slopes):
                        rule.apply(memory, array, g)
                else:
                    fl.update(state, model, grads)
            return before - arrays[-1], steps * step

        return run

    kind = "rules alone" if by_rules_alone else "update"
    return Contender(f"{DEEP.name}, {rule_name}, {kind}", make, steps)


# -- The race --------------------------------------------------------------------------------------


def check(result: object) -> str:
    got, expected = result  # type: ignore[misc]
    if np.shape(got) != np.shape(expected):
        return f"refused: shape {np.shape(got)}, not {np.shape(expected)}"
    return "" if np.allclose(got, expected, rtol=0.01, atol=1e-7) else f"refused: {got}, not {expected}"


# A contender, the bare one beside it, and how many times the bare one's time it may take.
BESIDE = (
    (gradients(LINEAR, "a list"), gradients(LINEAR, "bare arrays"), 1.25),
    (gradients(LINEAR, "an object"), gradients(LINEAR, "bare arrays"), 1.25),
    (gradients(SMALL, "a Chain"), gradients(SMALL, "bare arrays"), 1.4),
    (gradients(DEEP, "a Chain"), gradients(DEEP, "bare arrays"), 1.4),
    (Contender("2-8-1, Adam step", adam_steps, SMALL.steps), Contender(TORCH, adam_steps_torch, SMALL.steps), 0.75),
    (updates("Descent", False), updates("Descent", True), 1.5),
    (updates("Adam", False), updates("Adam", True), 1.5),
)
BENCHMARK = Benchmark(
    title="Steps of small models",
    # The two of a pair one after the other, each contender once; the long list last.
    contenders=(*{one.name: one for ours, bare, _ in BESIDE for one in (bare, ours)}.values(), many_leaves()),
    reference=TORCH,
    bars=(
        *(Bar(ours.name, limit, bare.name) for ours, bare, limit in BESIDE),
        Bar(many_leaves().name, 6.0, per="leaf"),
    ),
    check=check,
    steps=1,
)


def report(rounds: int) -> list[Judgement]:
    return report_race(__name__, max(rounds, FEWEST_ROUNDS))
