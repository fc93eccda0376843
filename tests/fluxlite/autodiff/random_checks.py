"""Gradients of random programs, compared with PyTorch's; without PyTorch, with finite differences.

    python tests/fluxlite/autodiff/random_checks.py 20000            so many programs, from seed 0
    python tests/fluxlite/autodiff/random_checks.py 100 5000         so many, from seed 5000
    nox -s random_programs -- 20000                         the same, in an environment with PyTorch

A program whose float32 gradients are far from its float64 ones, even in PyTorch, says nothing about ours: it is drawn
again, and counted.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from gradcheck import check_kind
from inside import put_aside
from random_programs import EXACT, MODELS, WRITTEN, Program, random_program, run, weights
from vocabulary import OPERATIONS

import fluxlite as fl
from fluxlite import TrackedArray

try:
    import torch
    import torch.nn.functional as F  # noqa: N812
except ImportError:
    torch = None  # type: ignore[assignment]

STEP = 1e-4
ROUGH = 2e-5  # how far off the float32 gradients of a program may be, in PyTorch


@dataclass
class Wanted:
    """What a program should give: its values, the gradient for each leaf, and the gradient of `slope`; its state."""

    values: list
    gradients: list
    seconds: list
    seen: Any = None
    tolerance: float = 1e-10


def distance(got: Any, wanted: Any) -> float:
    """How far two lists of arrays are apart, compared with how large each array is, but at least 1. None means 0."""
    pairs = zip(got, wanted, strict=True)
    return max((_apart(x, y) for x, y in pairs if x is not None or y is not None), default=0.0)


def _apart(x: Any, y: Any) -> float:
    x, y = (np.zeros(()) if part is None else np.asarray(part, float) for part in (x, y))
    if x.shape != y.shape and x.shape and y.shape:
        return float("inf")
    off = abs(x - y) / max(1.0, np.max(abs(y), initial=0))
    return float(np.max(np.where(np.isnan(off), np.inf, off), initial=0))


# -- PyTorch's opinion -----------------------------------------------------------------------------------------------


def by_torch(program: Program) -> Wanted | None:
    """None for a program that PyTorch itself can't compute well in float32."""
    with warnings.catch_warnings(action="ignore"):
        exact, rough = torch_run(program, torch.float64), torch_run(program, torch.float32)
    off = max(distance(rough.gradients, exact.gradients), distance(rough.seconds, exact.seconds))
    return exact if off < ROUGH else None


def torch_run(program: Program, dtype: Any) -> Wanted:
    leaves = [torch.tensor(leaf.values, dtype=dtype, requires_grad=True) for leaf in program.leaves]
    seen = torch.full(program.leaves[-2].values.shape[1:], 0.5, dtype=dtype) if program.model else None
    constant = torch.tensor(program.constant, dtype=dtype)
    loss, values, seen = run(program.torch_text(), torch_names(dtype) | {"c": constant})(*leaves, seen)
    gradients = torch_gradients(loss, leaves, create_graph=True)
    slope = sum(torch.sum(g * torch_weights(g.shape, dtype)) for g in gradients if g is not None)
    seconds = torch_gradients(slope, leaves)
    return Wanted(plain(values), plain(gradients), plain(seconds), plain([seen])[0])


def torch_gradients(loss: Any, leaves: list, create_graph: bool = False) -> Any:
    if not getattr(loss, "requires_grad", False):
        return [None] * len(leaves)
    return torch.autograd.grad(loss, leaves, create_graph=create_graph, allow_unused=True)


def plain(tensors: Any) -> list:
    """As NumPy's arrays. A gradient that PyTorch knows to be 0 has no memory that NumPy could read."""
    return [None if x is None or x._is_zerotensor() else x.detach().numpy() for x in tensors]


@functools.cache
def torch_weights(shape: tuple[int, ...], dtype: Any) -> Any:
    return torch.tensor(weights(tuple(shape)), dtype=dtype)


@functools.cache
def torch_names(dtype: Any) -> dict[str, Any]:
    """What PyTorch's texts use besides PyTorch."""

    def over(reduce: Callable, x: Any, axes: tuple, **keywords: Any) -> Any:
        if axes:
            return reduce(x, axes, **keywords)
        return x  # PyTorch takes no axes for all axes

    def inserted_half(x: Any, axis: int) -> Any:
        halves = torch.full_like(torch.narrow(x, axis, 0, 1), 0.5).detach()
        return torch.cat([torch.narrow(x, axis, 0, 1), halves, torch.narrow(x, axis, 1, x.shape[axis] - 1)], axis)

    return {
        "torch": torch,
        "F": F,
        "T": lambda x: torch.tensor(x, dtype=dtype),
        "weighted": lambda x: torch.sum(x * torch_weights(x.shape, dtype)),
        "definite": lambda x: x @ x.mT + torch.eye(x.shape[-2], dtype=dtype),
        "reversed_axes": lambda x: x.permute(tuple(range(x.ndim))[::-1]),
        "over": over,
        "inserted": lambda x, axis: torch.unsqueeze(x, axis),
        "inserted_half": inserted_half,
    }


# -- without PyTorch: finite differences -----------------------------------------------------------------------------


def by_differences(program: Program) -> Wanted | None:
    """None for a program whose differences depend on the size of the step."""
    f = program.compiled(EXACT)
    (gradients, seconds), (coarse, coarser) = (differences(f, program, step) for step in (STEP, 2 * STEP))
    if max(distance(coarse, gradients), distance(coarser, seconds)) > 1e-5:
        return None
    arguments = program.arguments(EXACT)
    _, values = f(*arguments)
    return Wanted(values, gradients, seconds, getattr(arguments[-1], "seen", None), tolerance=1e-4)


def differences(f: Callable, program: Program, step: float) -> tuple[list, list]:
    """Of the loss, for each element of each leaf; of our own gradients, in the direction of the weights."""
    shapes = [leaf.values.shape for leaf in program.leaves]

    def change(of: Callable, by: list) -> Any:
        ahead, behind = (of(*program.arguments(EXACT, [sign * step * x for x in by])) for sign in (1, -1))
        return ahead, behind

    gradients = [np.zeros(shape) for shape in shapes]
    for i, shape in enumerate(shapes):
        for place in np.ndindex(shape):
            by = [np.zeros(other) for other in shapes]
            by[i][place] = 1
            (ahead, _), (behind, _) = change(f, by)
            gradients[i][place] = (ahead - behind) / (2 * step)
    ahead, behind = change(lambda *args: at_leaves(program, slopes(f, args)), [weights(shape) for shape in shapes])
    return gradients, [None if x is None else (x - y) / (2 * step) for x, y in zip(ahead, behind)]


# -- ours --------------------------------------------------------------------------------------------------------------


def at_leaves(program: Program, tree: Any) -> list:
    """The parts of a gradient, or of the arguments, that belong to the leaves."""
    space = dict(zip(program.names, tree))
    return [eval(leaf.place, space) for leaf in program.leaves]


def slopes(f: Callable, arguments: Any) -> Any:
    return fl.gradient(lambda *args: f(*args)[0], *arguments)


def by_gradient(program: Program, f: Callable, arguments: list) -> list:
    gradients = slopes(f, arguments)
    if program.model:
        again = [eval(place, {"model": gradients[-1]}) for place in MODELS[program.model].again]
        assert all(g is None or not g.size for g in again), "a tied parameter has its gradient at its first place"
    return at_leaves(program, gradients)


def by_withgradient(program: Program, f: Callable, arguments: list) -> list:
    """The values come out as NumPy gives them."""
    (_, values), gradients = fl.withgradient(f, *arguments)
    _, expected = f(*program.arguments(WRITTEN))
    for name, got, wanted in zip(program.values, values, expected, strict=True):
        assert type(got) in (np.ndarray, np.float32, np.float64), f"{name} came out as {type(got).__name__}"
        assert got.dtype == wanted.dtype, f"{name} is {got.dtype} in a gradient, {wanted.dtype} by itself"
        assert _apart(got, wanted) < 1e-5, f"{name} has another value in a gradient"
    return at_leaves(program, gradients)


def by_back(program: Program, f: Callable, arguments: list) -> list:
    """The older style of `param`."""
    tracked = [fl.param(x) for x in arguments]
    loss, _ = f(*tracked)
    if type(loss) is TrackedArray:  # perhaps no argument has a part in it
        fl.back(loss)
    return [x.grad for x in tracked]


def by_params(program: Program, f: Callable, arguments: list) -> list:
    """The implicit style, for a model that can be assigned to; what isn't in it is a constant."""
    holder = dict(zip(program.names, arguments))
    leaves = at_leaves(program, arguments)
    grads = fl.gradient(lambda: f(*holder.values())[0], fl.params(holder))
    others = by_gradient(program, f, program.arguments(WRITTEN))
    return [grads[x] if isinstance(x, np.ndarray) else other for x, other in zip(leaves, others)]


def second(program: Program, f: Callable, arguments: list) -> list:
    """The gradient of the first gradients' weighted sum."""

    def slope(*args: Any) -> Any:
        found = at_leaves(program, slopes(f, args))
        return sum(np.sum(g * weights(np.shape(g), getattr(g, "dtype", float))) for g in found if g is not None)

    return at_leaves(program, fl.gradient(slope, *arguments))


def second_by_back(program: Program, f: Callable, arguments: list) -> list:
    """A gradient inside, `param` and `back` outside."""
    tracked = [fl.param(x) for x in arguments]
    found = at_leaves(program, slopes(f, tracked))
    slope = sum(np.sum(g * weights(np.shape(g), getattr(g, "dtype", float))) for g in found if g is not None)
    if type(slope) is TrackedArray:
        fl.back(slope)
    return [x.grad for x in tracked]


def styles(program: Program) -> tuple[Callable, Callable]:
    """Ways to the first and the second gradients: every program has one, by its seed."""
    ways, second_ways = [by_gradient, by_withgradient], [second]
    if not program.model and all(isinstance(x, np.ndarray) for x in program.arguments()):
        ways.append(by_back)
        second_ways.append(second_by_back)
    elif program.model and program.model != "a tuple":
        ways.append(by_params)
    seed = program.seed[0]
    return ways[seed % len(ways)], second_ways[seed // 6 % len(second_ways)]


# -- compared ----------------------------------------------------------------------------------------------------------


class Wrong(AssertionError):
    """A gradient is wrong, or an error is raised, by a program that can be read here."""


REFERENCE = by_torch if torch else by_differences


def checked(seed: int, reference: Callable = REFERENCE) -> Program:
    """Check the program of a seed, and return it: the second number of its own seed says how often it was drawn again.

    Raises `Wrong`, with what the first wrong value needs of the program.
    """
    for again in itertools.count():
        program = random_program(seed, again)
        wanted, error = examined(program, reference)
        if wanted or error:
            break
    if error is None:
        return program
    for name in program.values:
        shorter = program.only(name)
        wanted, failed = examined(shorter, reference)
        if failed:
            program, error = shorter, failed
            break
    raise Wrong(f"{'' if wanted else 'the reference: '}{type(error).__name__}: {error}\n{program}") from error


def examined(program: Program, reference: Callable) -> tuple[Wanted | None, Exception | None]:
    """What the reference wants, and what goes wrong, there or here; nothing at all of a program that is ill."""
    try:
        wanted = reference(program)
    except Exception as error:
        return None, error
    return wanted, failure(program, wanted) if wanted else None


def failure(program: Program, wanted: Wanted) -> Exception | None:
    """What goes wrong with a program in fluxlite; where NumPy computes without a warning, a gradient does so too."""
    first, then = styles(program)
    try:
        with quiet():
            compare(program, wanted, WRITTEN, first, then)
            if program.mixes():
                compare(program, wanted, EXACT, by_gradient, second)
    except Exception as error:
        return error
    return None


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without notices; and what would warn raises."""
    silent = put_aside()
    with silent, np.errstate(all="raise", under="ignore"), warnings.catch_warnings(action="error"):
        yield


def compare(program: Program, wanted: Wanted, precisions: dict, first: Callable, then: Callable) -> None:
    is_exact = precisions is EXACT or not program.mixes()
    tolerance = wanted.tolerance if is_exact else 10 * ROUGH
    f, arguments = program.compiled(precisions), program.arguments(precisions)
    _, values = f(*program.arguments(precisions))
    off = distance(values, wanted.values)
    assert off < tolerance, f"NumPy and the reference are {off:.1e} apart: the vocabulary is wrong"
    gradients = first(program, f, arguments)
    check_kinds(program, gradients, at_leaves(program, arguments))
    check_seen(arguments, wanted, tolerance)
    again = program.arguments(precisions)
    seconds = then(program, f, again)
    check_seen(again, wanted, tolerance)
    for what, got, expected in (
        (first.__name__, gradients, wanted.gradients), (then.__name__, seconds, wanted.seconds),
    ):  # fmt: skip
        for leaf, g, right in zip(program.leaves, got, expected, strict=True):
            off = distance([g], [right])
            assert off < tolerance, f"{what}, {leaf.place}: off by {off:.1e}, got {g!r}, wanted {right!r}"


def check_kinds(program: Program, gradients: list, leaves: list) -> None:
    """Each gradient has its argument's type, shape, precision and memory order, and memory of its own."""
    for i, (g, x, leaf) in enumerate(zip(gradients, leaves, program.leaves)):
        if g is None:
            continue
        if isinstance(x, np.ndarray):
            others = [y for y in (*leaves, *gradients[:i]) if isinstance(y, np.ndarray)]
            check_kind(g, x, others)
            order, got = (np.squeeze(y).strides for y in (np.empty_like(x), g))
            assert got == order or not g.size, f"{leaf.place}: strides {got}, not {order}"
        else:
            assert type(g) is type(x), f"{leaf.place}: the gradient of a {type(x).__name__} is a {type(g).__name__}"


def check_seen(arguments: list, wanted: Wanted, tolerance: float) -> None:
    """What was assigned to the model is there afterwards, as plain values."""
    if hasattr(arguments[-1], "seen"):
        seen = arguments[-1].seen
        assert type(seen) in (np.ndarray, np.float32, np.float64), f"model.seen is a {type(seen).__name__}"
        assert seen.flags.writeable or not seen.ndim, "model.seen is read-only"
        off = distance([seen], [wanted.seen])
        assert off < tolerance, f"model.seen: off by {off:.1e}, got {seen!r}, wanted {wanted.seen!r}"


def main(count: int, start: int = 0) -> int:
    began, drawn_again, wrong, used = time.monotonic(), 0, 0, set()
    for seed in range(start, start + count):
        try:
            with put_aside():  # a layer gives a notice of types
                program = checked(seed)
            drawn_again += program.seed[1]
            used |= {step.entry for step in program.steps}
        except Wrong as error:
            wrong += 1
            print(f"{error}\n", flush=True)
    took, entries = time.monotonic() - began, {text for text, *_ in OPERATIONS}
    print(f"{count} programs from seed {start}, compared with {REFERENCE.__name__.removeprefix('by_')}: {wrong} wrong; "
          f"{drawn_again} were drawn again; {len(used & entries)} of {len(entries)} operations were used; "
          f"measured: {1000 * took / count:.1f} ms each")  # fmt: skip
    return wrong


if __name__ == "__main__":
    if torch:
        torch.set_num_threads(1)
    raise SystemExit(bool(main(*map(int, sys.argv[1:]))))
