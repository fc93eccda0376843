"""Random programs, each from a seed; `random_checks.py` compares their gradients with other people's.

A seed decides everything: the arguments (arrays of both precisions, in many memory orders, numbers, models), and 5 to
25 lines drawn from `vocabulary.py`. What you read in a report is the very text that was run.
"""

from __future__ import annotations

import contextlib
import functools
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from vocabulary import DRAWN, OPERATIONS, apart, definite, distinct

import fluxlite as fl

# -- arguments -----------------------------------------------------------------------------------------------------


def every_second(x: np.ndarray) -> np.ndarray:
    larger = np.zeros([2 * n for n in x.shape], x.dtype)
    view = larger[(slice(None, None, 2),) * x.ndim]
    view[...] = x
    return view


LAYOUTS: dict[str, Callable] = {
    "": lambda x: x.copy(),
    "transposed": lambda x: x.T.copy().T,
    "every second of a larger one": every_second,
    "reversed": lambda x: np.flip(np.flip(x).copy()),
    "broadcast": lambda x: np.broadcast_to(x[:1].copy(), x.shape),
    "a NumPy scalar": lambda x: x[()],
    "a Python number": float,
}


@fl.functor(trainable=("weight", "bias"))
class Memory:
    """A model with state: what it has seen is assigned while the program runs."""

    def __init__(self, weight: Any, bias: Any):
        self.weight, self.bias, self.rate = weight, bias, 0.75
        self.seen = np.full_like(weight, 0.5, shape=weight.shape[1:])


@dataclass(frozen=True)
class Model:
    """How a model is made of a matrix and a vector, where they are in it, and where the matrix is once more."""

    make: Callable
    weight: str
    bias: str
    again: tuple[str, ...] = ()  # transposed
    operands: tuple[tuple[str, str], ...] = ()  # what else can be computed with, and how PyTorch says it
    operations: tuple[tuple[str, ...], ...] = ()


MODELS = {
    "a dict": Model(lambda w, b: {"w": w, "more": [b, "a name", 3]}, 'model["w"]', 'model["more"][0]'),
    "a list, tied": Model(
        lambda w, b: [w, {"b": b, "again": w.T}], "model[0]", 'model[1]["b"]', ('model[1]["again"]',),
    ),
    "a tuple": Model(lambda w, b: (b, {"w": [w]}), 'model[1]["w"][0]', "model[0]"),
    "with state": Model(
        Memory, "model.weight", "model.bias",
        operands=(("model.seen", "seen"), ("model.rate", "T(0.75)")),
        operations=(("model.seen = 0.5 * {s} + {x}", "seen = 0.5 * {s} + {x}"),
                    ("model.seen = model.rate * {x}", "seen = 0.75 * {x}")),
    ),
    "a Chain, tied": Model(
        lambda w, b: fl.Chain(fl.Dense.of(w, b.astype(w.dtype), np.tanh), fl.Dense.of(w.T)),
        "model[0].weight", "model[0].bias", ("model[1].weight",),
        operations=(("model({x})", "torch.tanh({x} @ w.T + b) @ w", "np.ndim(x) > 0"),),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Leaf:
    """Something to differentiate by: where it is, how PyTorch's text calls it, and how it lies in memory."""

    place: str
    name: str
    values: np.ndarray
    precision: str
    layout: str

    def made(self, precisions: dict[str, Any], moved: Any = None) -> Any:
        """The argument itself. If it's `moved` by steps, it differs along each axis, so it can't be broadcast."""
        layout = "" if moved is not None and self.layout == "broadcast" else self.layout
        values = self.values if moved is None else self.values + moved
        return LAYOUTS[layout](values.astype(precisions[self.precision]))

    def __str__(self) -> str:
        return f"{self.place}: {self.precision} {self.values.shape} {self.layout}"


# -- a program ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """One line: the name it assigns, its text, PyTorch's text, the names it reads, the entry of the vocabulary."""

    name: str
    text: str
    torch: str
    reads: frozenset[str]
    entry: str


WRITTEN = {"single": np.float32, "double": np.float64}
EXACT = {"single": np.float64, "double": np.float64}


@dataclass(frozen=True)
class Program:
    """A random program: its text, and what it is called with."""

    seed: tuple[int, ...]
    leaves: list[Leaf]
    model: str = ""
    constant: np.ndarray = field(default_factory=lambda: np.zeros(()))
    steps: list[Step] = field(default_factory=list)
    results: list[str] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        direct = [leaf.place for leaf in self.leaves if leaf.place.isidentifier()]
        return [*direct, "model"] if self.model else direct

    def arguments(self, precisions: dict[str, Any] = WRITTEN, moved: Any = None) -> list[Any]:
        made = [leaf.made(precisions, None if moved is None else moved[i]) for i, leaf in enumerate(self.leaves)]
        return [*made[:-2], MODELS[self.model].make(*made[-2:])] if self.model else made

    def text(self) -> str:
        lines = [f"{step.name} = {step.text}" if step.name.isidentifier() else step.text for step in self.steps]
        return self._function(self.names, lines, f"[{', '.join(self.values)}]")

    def torch_text(self) -> str:
        lines = [f"{step.name} = {step.torch}" if step.name.isidentifier() else step.torch for step in self.steps]
        head = [leaf.name for leaf in self.leaves] + ["seen"]
        return self._function(head, lines, f"[{', '.join(self.values)}], seen")

    @property
    def values(self) -> list[str]:
        return [step.name for step in self.steps if step.name.isidentifier()]

    def _function(self, names: list[str], lines: list[str], others: str) -> str:
        loss = " + ".join(f"weighted({name})" for name in self.results)
        body = [*lines, f"return {loss}, {others}"]
        return "\n    ".join([f"def program({', '.join(names)}):", *body])

    def __str__(self) -> str:
        about = [f"# model is {self.model}"] if self.model else []
        return "\n".join([f"# seed {self.seed}", *about, *(f"# {leaf}" for leaf in self.leaves), self.text()])

    def compiled(self, precisions: dict[str, Any] = WRITTEN) -> Callable:
        constant = LAYOUTS["transposed"](self.constant.astype(precisions["single"]))
        return run(self.text(), NAMES | precisions | {"c": constant})

    def mixes(self) -> bool:
        """Whether anything is computed in float32."""
        singles = any(leaf.precision == "single" for leaf in self.leaves)
        return singles or bool(self.model) or bool(re.search(r"\b(c|single)\b", self.text()))

    def only(self, name: str) -> Program:
        """The program with `name` as its one result, and without what that doesn't need."""
        needed, steps = {name}, []
        for step in reversed(self.steps):
            if step.name in needed or not step.name.isidentifier():
                needed |= step.reads
                steps.append(step)
        return replace(self, steps=steps[::-1], results=[name])


def run(text: str, names: dict[str, Any]) -> Any:
    space = dict(names)
    exec(compile(text, "a random program", "exec"), space)
    return space["program"]


@functools.cache
def weights(shape: tuple[int, ...], dtype: Any = np.float64) -> np.ndarray:
    """Weights for a sum, all different, so that errors can't cancel."""
    return (np.cos(np.arange(int(np.prod(shape)))) + 0.1).reshape(shape).astype(dtype)


def weighted(x: Any) -> Any:
    return np.sum(x * weights(x.shape, x.dtype))


NAMES = {"np": np, "fl": fl, "weighted": weighted, "definite": definite, "apart": apart, "distinct": distinct}

# -- drawn from a seed -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Operand:
    """A value that exists when the program has come this far, and what it's called."""

    text: str
    torch: str
    value: Any
    name: str  # of the step or the leaf
    tracked: bool = True


@dataclass(frozen=True)
class Operation:
    """An entry of the vocabulary, as functions of what is in braces."""

    text: str
    torch: str
    gaps: tuple[str, ...]
    compute: Callable
    holds: Callable

    @classmethod
    def of(cls, text: str, torch: str, condition: str = "True") -> Operation:
        gaps = tuple(dict.fromkeys(re.findall(r"{(\w+)}", text)))
        space = NAMES | WRITTEN | {"model": None}
        right = text.partition(" = ")[2] if text.startswith("model.") else text
        head = f"lambda model, {', '.join(gaps)}: "
        right = right.format(**{gap: gap for gap in gaps})
        return cls(text, torch, gaps, eval(head + right, space), eval(head + condition, space))


@functools.cache
def operations(model: str = "") -> list[Operation]:
    """All that a program can be made of; what a model can do comes often."""
    own = [Operation.of(*texts) for texts in MODELS[model].operations] if model else []
    return [Operation.of(*texts) for texts in OPERATIONS] if not model else [*operations(), *own * 12]


def random_program(*seed: int) -> Program:
    rng = np.random.default_rng(seed)
    lengths = [int(n) for n in rng.choice([1, 2, 3, 4], 2)]
    if rng.random() < 0.1:
        lengths.append(0)
    leaves = [random_leaf(rng, name, lengths) for name in "xyz"[: int(rng.integers(1, 4))]]
    if leaves[0].layout == "a Python number":
        leaves[0] = replace(leaves[0], layout="a NumPy scalar")
    model = str(rng.choice(list(MODELS))) if rng.random() < 0.4 else ""
    if model:
        shape = tuple(int(n) for n in rng.choice(lengths, 2))
        precision = "single" if rng.random() < 0.5 else "double"
        where = MODELS[model]
        leaves.append(array_leaf(rng, where.weight, "w", shape, precision))
        leaves.append(array_leaf(rng, where.bias, "b", shape[:1], precision if "Chain" in model else "double"))
    constant = rng.uniform(0.3, 1.5, [int(rng.choice(lengths)) for _ in range(int(rng.integers(1, 3)))])
    return with_steps(rng, Program(seed, leaves, model, constant.astype(np.float32).astype(float)))


def random_leaf(rng: np.random.Generator, name: str, lengths: list[int]) -> Leaf:
    precision = "single" if rng.random() < 0.5 else "double"
    if rng.random() < 0.2:
        layout = "a NumPy scalar" if rng.random() < 0.5 else "a Python number"
        precision = "double" if layout == "a Python number" else precision
        return Leaf(name, name, drawn_values(rng, ()), precision, layout)
    shape = tuple(int(n) for n in rng.choice(lengths, int(rng.choice([0, 1, 1, 2, 2, 2, 3]))))
    return array_leaf(rng, name, name, shape, precision)


def array_leaf(rng: np.random.Generator, place: str, name: str, shape: tuple[int, ...], precision: str) -> Leaf:
    layout = str(rng.choice(list(LAYOUTS)[:5])) if shape else ""
    values = drawn_values(rng, shape)
    return Leaf(place, name, np.broadcast_to(values[:1], shape) if layout == "broadcast" else values, precision, layout)


def drawn_values(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Often positive, so that roots and logarithms can be taken; the same in both precisions."""
    low = -1.5 if rng.random() < 0.5 else 0.3
    return np.asarray(rng.uniform(low, 1.8, shape)).astype(np.float32).astype(float)


SINGLE, DOUBLE = np.float32(0.5), np.float64(1.25)
NUMBERS = [("1.5", 1.5), ("-0.75", -0.75), ("2", 2), ("single(0.5)", SINGLE), ("double(1.25)", DOUBLE)]


def with_steps(rng: np.random.Generator, program: Program) -> Program:
    arguments = dict(zip(program.names, program.arguments()))
    space = arguments | {"c": program.constant.astype(np.float32)}
    pool = [Operand(leaf.place, leaf.name, eval(leaf.place, space), leaf.name) for leaf in program.leaves]
    pool.append(Operand("c", "c", space["c"], "c", tracked=False))
    if program.model:
        model = MODELS[program.model]
        pool += [Operand(text, "w.T", eval(text, space), "w") for text in model.again]
        pool += [Operand(text, torch, eval(text, space), torch, tracked=False) for text, torch in model.operands]
    steps: list[Step] = []
    length, tries = int(rng.integers(5, 26)), 0
    choices = operations(program.model)
    with np.errstate(all="raise", under="ignore"), warnings.catch_warnings(action="error"):
        while len(steps) < length and tries < 40 * length:
            tries += 1
            with contextlib.suppress(*NO_FIT):
                add_step(rng, choices[int(rng.integers(len(choices)))], pool, steps, arguments.get("model"))
    read = frozenset().union(*(step.reads for step in steps))
    values = [step.name for step in steps if step.name.isidentifier()]
    return replace(program, steps=steps, results=[name for name in values if name not in read])


# What NumPy raises where an operation can't take what was drawn.
NO_FIT = (ValueError, IndexError, TypeError, AttributeError, ArithmeticError, Warning, np.linalg.LinAlgError)


def add_step(rng: np.random.Generator, operation: Operation, pool: list, steps: list, model: Any) -> None:
    """One more step, if the operation takes what was drawn for it: NumPy decides, and the vocabulary."""
    chosen = {gap: drawn_operand(rng, gap, pool) for gap in operation.gaps if gap in "xys"}
    given = {gap: operand.value for gap, operand in chosen.items()}
    drawn = {gap: DRAWN[gap](rng, given["x"]) for gap in operation.gaps if gap not in "xys"}
    condition = operation.holds(model, **given, **drawn)
    if not (condition if isinstance(condition, bool) else np.all(condition)):
        return
    value = operation.compute(model, **given, **drawn)
    if not is_good(value):
        return
    texts = {gap: operand.text for gap, operand in chosen.items()} | drawn
    torch_texts = {gap: operand.torch for gap, operand in chosen.items()} | drawn
    reads = frozenset(operand.name for operand in chosen.values())
    is_state = operation.text.startswith("model.seen")
    name = "model.seen" if is_state else f"v{len(steps)}"
    filled = operation.text.format(**texts), operation.torch.format(**torch_texts)
    steps.append(Step(name, *filled, reads, operation.text))
    if is_state:
        pool[:] = [replace(x, value=value, tracked=True) if x.text == "model.seen" else x for x in pool]
    else:
        pool.append(Operand(name, name, value, name))


def drawn_operand(rng: np.random.Generator, gap: str, pool: list) -> Operand:
    """Mostly one of the last values; a number only where another operand is an array."""
    if gap == "s":
        return next(operand for operand in pool if operand.text == "model.seen")
    if gap != "x" and rng.random() < 0.15:
        text, value = NUMBERS[int(rng.integers(len(NUMBERS)))]
        return Operand(text, f"T({float(value)})", value, text)
    operand = pool[int(rng.integers(len(pool), size=2).max())]
    if gap == "x" and not (operand.tracked and hasattr(operand.value, "dtype")):
        raise ValueError("of a Python number alone Python makes a number")
    return operand


def is_good(value: Any) -> bool:
    """Whether it is worth going on with: floating-point numbers, not too many, not too large."""
    dtype = getattr(value, "dtype", None)
    if dtype not in (np.float32, np.float64) or value.size > 60 or value.ndim > 4:
        return False
    return bool(np.all(np.isfinite(value)) and np.all(abs(value) < 20))
