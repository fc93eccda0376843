"""Operands for the tests of derivatives, drawn by Hypothesis: shapes, numbers, and memory layouts."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from gradcheck import Call
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

NUMPY_2_0 = np.__version__.startswith("2.0.")  # the oldest, whose clip wants a bound, and whose reshape a newshape
# Few examples, and the same ones in every run, so that a failure repeats. `nox -s examples` tries many others.
EXAMPLES = int(os.environ.get("FLUXLITE_EXAMPLES", "0"))
few_examples = settings(
    max_examples=EXAMPLES or 6, deadline=None, derandomize=not EXAMPLES, database=None, print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)  # fmt: skip
# On other devices we only look for functions and keywords that they lack.
fewer_examples = settings(few_examples, max_examples=EXAMPLES or 3)


# -- numbers: each domain draws numbers from a generator. No two are equal, so nothing is at a corner -----------

Domain = Callable[[np.random.Generator, tuple], np.ndarray]


def between(low: float, high: float) -> Domain:
    return lambda rng, shape: rng.uniform(low, high, shape)


any_number = between(-2, 2)
positive = between(0.3, 3)


def nonzero(rng: np.random.Generator, shape: tuple) -> np.ndarray:
    return rng.uniform(0.3, 2, shape) * rng.choice([-1, 1], shape)


# -- arrays ------------------------------------------------------------------------------------------------------


def laid_out(x: np.ndarray, layout: str) -> np.ndarray:
    """`x` in another memory order, or as a view with gaps between its elements."""
    if layout == "Fortran":
        return np.asarray(x, order="F")
    if layout == "gaps" and x.ndim:
        wide = np.full((*x.shape[:-1], 2 * x.shape[-1]), np.nan)
        wide[..., ::2] = x
        return wide[..., ::2]
    if layout == "backwards" and x.ndim:
        return x[::-1].copy()[::-1]
    return x


@st.composite
def arrays(draw: Any, shape: Any, domain: Domain = any_number, which: int = 0) -> np.ndarray:
    """An array of a given shape, or of a shape drawn from a strategy. Each `which` has different numbers."""
    shape = draw(shape) if isinstance(shape, st.SearchStrategy) else shape
    rng = np.random.default_rng([draw(st.integers(0, 2**16)), which])
    return laid_out(np.asarray(domain(rng, shape)), draw(st.sampled_from(["C", "Fortran", "gaps", "backwards"])))


def shapes(least: int = 0, most: int = 3, min_side: int = 0, max_side: int = 3) -> Any:
    """Shapes of `least` to `most` axes."""
    return hnp.array_shapes(min_dims=least, max_dims=most, min_side=min_side, max_side=max_side)


def axis_of(shape: tuple) -> Any:
    return st.integers(-len(shape), len(shape) - 1)


# -- calls: a strategy for each kind of function ---------------------------------------------------------------------

Calls = Callable[[Callable], Any]


def one_of(*kinds: Calls) -> Calls:
    """Calls of one of these kinds."""
    return lambda function: st.one_of(*(kind(function) for kind in kinds))


def elementwise(*domains: Domain) -> Calls:
    """Calls with one operand per domain, whose shapes broadcast."""

    def calls(function: Callable) -> Any:
        @st.composite
        def draw_call(draw: Any) -> Call:
            if len(domains) == 1:
                return Call(function, draw(arrays(shapes(), domains[0])))
            n = len(domains)
            together = draw(hnp.mutually_broadcastable_shapes(num_shapes=n, max_dims=3, min_side=0, max_side=3))
            shapes_and_domains = zip(together.input_shapes, domains)
            return Call(function, *(draw(arrays(s, domain, i)) for i, (s, domain) in enumerate(shapes_and_domains)))

        return draw_call()

    return calls


def calls(build: Callable) -> Calls:
    """Calls made by ``build(draw, function)``: the general case."""

    def of(function: Callable) -> Any:
        return st.composite(lambda draw: build(draw, function))()

    return of


def table_ids(table: list) -> list[str]:
    return [getattr(row[0], "__name__", str(row[0])) for row in table]
