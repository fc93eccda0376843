"""Checks of derivatives: against finite differences, against NumPy, against PyTorch.

A `Call` is a function call with its arguments. Every floating-point array in them is an operand, and gets a gradient.
A check that fails raises an `AssertionError` that says why.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from inside import Level, Marked, call_numbers, plain, pull_back

from fluxlite import TrackedArray, gradient

STEP = 1e-5


class Call:
    """``function(*args, **kwargs)``, with replaceable floating-point arrays in the arguments.

    >>> call = Call(np.sum, np.array([[1.0, 2.0]]), axis=1)
    >>> call
    sum(array([[1., 2.]]), axis=1)
    >>> call.operands, call(np.array([[5.0, 5.0]]))
    ([array([[1., 2.]])], array([10.]))
    """

    def __init__(self, function: Callable, *args: Any, **kwargs: Any):
        self.function, self.args, self.kwargs = function, args, kwargs

    @property
    def operands(self) -> list[np.ndarray]:
        found: list[np.ndarray] = []
        _replaced((self.args, self.kwargs), lambda x: found.append(x))
        return found

    def __call__(self, *operands: Any) -> Any:
        rest = iter(operands)
        args, kwargs = _replaced((self.args, self.kwargs), lambda x: next(rest))
        return self.function(*args, **kwargs)

    def astype(self, dtype: Any) -> Call:
        args, kwargs = _replaced((self.args, self.kwargs), lambda x: x.astype(dtype))
        return Call(self.function, *args, **kwargs)

    def __repr__(self) -> str:
        arguments = [repr(x) for x in self.args] + [f"{name}={x!r}" for name, x in self.kwargs.items()]
        return f"{getattr(self.function, '__name__', self.function)}({', '.join(arguments)})"


def _replaced(x: Any, new: Callable) -> Any:
    if isinstance(x, np.ndarray) and x.dtype.kind == "f":
        return new(x)
    if type(x) in (list, tuple):
        return type(x)([_replaced(part, new) for part in x])
    if type(x) is dict:
        return {name: _replaced(part, new) for name, part in x.items()}
    return x


def parts_of(result: Any) -> tuple:
    """The arrays in a result, since some functions return several."""
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def weighted_sum(f: Callable) -> Callable:
    """`f` followed by a sum with fixed weights, all different, so that errors can't cancel."""

    def loss(*operands: Any) -> Any:
        rng = np.random.default_rng(5)
        total = 0.0
        for part in parts_of(f(*operands)):
            shape = np.shape(plain(part))
            weights = rng.uniform(0.5, 1.5, shape) * rng.choice([-1, 1], shape)
            total = total + np.sum(part * weights.astype(part.dtype))
        return total

    return loss


def floating(arrays: Any) -> list[int]:
    return [i for i, x in enumerate(arrays) if isinstance(x, np.ndarray) and x.dtype.kind == "f"]


def check_gradient(f: Callable, *arrays: Any, tolerance: float = 1e-6) -> None:
    """Compare the gradients of a weighted sum of ``f(*arrays)`` with central differences, and check their arrays."""
    loss = weighted_sum(f)
    gradients = gradient(loss, *arrays)
    chosen = floating(arrays)
    for i in chosen:
        check_kind(gradients[i], arrays[i], [*arrays, *(gradients[j] for j in chosen if j != i)])
        numeric = np.zeros(arrays[i].shape)
        for place in np.ndindex(arrays[i].shape):
            numeric[place] = (_moved(loss, arrays, i, place, STEP) - _moved(loss, arrays, i, place, -STEP)) / (2 * STEP)
        assert_close(gradients[i], numeric, tolerance, f"gradient of operand {i}")


def _moved(loss: Callable, arrays: Any, i: int, place: tuple, step: float) -> Any:
    x = arrays[i].copy()
    x[place] += step
    return loss(*arrays[:i], x, *arrays[i + 1 :])


def check_kind(g: Any, x: np.ndarray, others: Any) -> None:
    """A gradient is a new array like its operand: same shape and dtype, writable, sharing no memory."""
    assert type(g) is np.ndarray, f"the gradient is no array but {type(g).__name__}"
    assert g.shape == x.shape, f"gradient of shape {g.shape} for an operand of shape {x.shape}"
    assert g.dtype == x.dtype, f"gradient of dtype {g.dtype} for an operand of dtype {x.dtype}"
    assert g.flags.writeable, "the gradient is read-only"
    for other in others:
        assert not (isinstance(other, np.ndarray) and np.shares_memory(g, other)), "the gradient shares memory"


def check_second(f: Callable, *arrays: Any, tolerance: float = 1e-5) -> None:
    """Compare the gradient of the gradient, along one direction, with differences of the first gradient."""
    loss = weighted_sum(f)
    chosen = floating(arrays)
    rng = np.random.default_rng(7)
    directions = {i: rng.uniform(-1, 1, arrays[i].shape) for i in chosen}

    def slope(*operands: Any) -> Any:
        gradients = gradient(loss, *operands)
        return sum(np.sum(gradients[i] * directions[i]) for i in chosen)

    seconds = gradient(slope, *arrays)

    def differences(step: float) -> list:
        ahead, behind = (
            gradient(loss, *(np.asarray(x + h * directions[i]) if i in chosen else x for i, x in enumerate(arrays)))
            for h in (step, -step)
        )
        return [(ahead[i] - behind[i]) / (2 * step) for i in chosen]

    found = differences(STEP)
    exact = [np.zeros(arrays[i].shape) if seconds[i] is None else seconds[i] for i in chosen]  # None: it is linear
    if not all(np.allclose(x, y, tolerance, tolerance) for x, y in zip(exact, found)):
        # Of a steep function, differences are off by the square of the step: of two steps, that can be taken out.
        found = [(4 * x - y) / 3 for x, y in zip(found, differences(2 * STEP))]
    for i, second, numeric in zip(chosen, exact, found):
        assert_close(second, numeric, tolerance, f"second derivative, operand {i}")


def check_forward(f: Callable, *arrays: Any) -> None:
    """The value inside a gradient is NumPy's, with the same shape and dtype."""
    expected = parts_of(f(*arrays))
    seen: list[Any] = []

    def spy(*operands: Any) -> float:
        seen.extend(plain(part) for part in parts_of(f(*operands)))
        return 0.0

    gradient(spy, *arrays)
    assert len(seen) == len(expected), f"{len(seen)} results, NumPy gives {len(expected)}"
    for got, wanted in zip(seen, expected):
        assert np.shape(got) == np.shape(wanted), f"result of shape {np.shape(got)}, NumPy's is {np.shape(wanted)}"
        assert got.dtype == wanted.dtype, f"result of dtype {got.dtype}, NumPy's is {wanted.dtype}"
        tolerance = 1e-12 if wanted.dtype == np.float64 else 1e-5
        np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


def check_float32(f: Callable, *arrays: Any, tolerance: float = 1e-3) -> None:
    """With float32 operands, everything in the backward pass is float32, and the gradient is close to float64's."""
    singles = [x.astype(np.float32) if i in floating(arrays) else x for i, x in enumerate(arrays)]
    check_forward(f, *singles)
    loss = weighted_sum(f)
    exact = gradient(loss, *arrays)
    level = Level(next(call_numbers))
    try:
        tracked = [Marked(x, level).stand_in for x in singles]
        raw = pull_back(loss(*tracked), np.float32(1))
        for i in floating(arrays):
            assert raw[tracked[i]].dtype == np.float32, f"operand {i}: the rule gives {raw[tracked[i]].dtype}"
            assert_close(raw[tracked[i]], exact[i], tolerance, f"float32 gradient of operand {i}")
    finally:
        level.close()


def check_python_float(f: Callable, *arrays: Any) -> None:
    """Operands without axes may be Python numbers. Their gradients are then Python numbers, with the same values."""
    chosen = [i for i in floating(arrays) if arrays[i].shape == ()]
    if chosen:
        loss = weighted_sum(f)
        got = gradient(loss, *(float(x) if i in chosen else x for i, x in enumerate(arrays)))
        wanted = gradient(loss, *arrays)
        for i in chosen:
            assert type(got[i]) is float, f"the gradient of a Python number is a {type(got[i]).__name__}"
            assert_close(got[i], wanted[i], 1e-12, f"gradient of the Python number {i}")


def check_call(call: Call, tolerance: float = 1e-6, second: bool = True) -> None:
    """Everything that we ask of a rule."""
    operands = call.operands
    check_forward(call, *operands)
    check_gradient(call, *operands, tolerance=tolerance)
    check_float32(call, *operands)
    check_python_float(call, *operands)
    if second:
        check_second(call, *operands, tolerance=10 * tolerance)


def check_against_torch(f: Callable, f_torch: Callable, *arrays: Any, tolerance: float = 1e-10) -> None:
    """Compare values and gradients of `f` with those of `f_torch`. Skips the test if PyTorch isn't installed."""
    import pytest

    torch = pytest.importorskip("torch")
    tensors = [torch.tensor(np.ascontiguousarray(x)) for x in arrays]
    for i in floating(arrays):
        tensors[i].requires_grad_()
    wanted = f_torch(*tensors)
    assert_close(f(*arrays), wanted.detach().numpy(), tolerance, "value")
    weights = np.random.default_rng(5).uniform(0.5, 1.5, tuple(wanted.shape)).astype(arrays[0].dtype)
    (wanted * torch.tensor(weights)).sum().backward()
    gradients = gradient(lambda *operands: np.sum(f(*operands) * weights), *arrays)
    for i in floating(arrays):
        assert_close(gradients[i], tensors[i].grad.numpy(), tolerance, f"gradient of operand {i}")


def assert_close(got: Any, wanted: Any, tolerance: float, what: str) -> None:
    assert not isinstance(got, TrackedArray) and got is not None, f"{what}: got {got!r}"
    assert np.shape(got) == np.shape(wanted), f"{what}: shape {np.shape(got)}, not {np.shape(wanted)}"
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance, err_msg=what)


# -- bad arguments -------------------------------------------------------------------------------------------------


def spoiled(call: Call) -> list[Call]:
    """The call with one argument changed, in all ways that a typo may change it; most are wrong."""
    places = [(i, x) for i, x in enumerate(call.args)] + list(call.kwargs.items())
    found = [Call(call.function, *call.args[:-1], **call.kwargs), Call(call.function, *call.args, 1, **call.kwargs)]
    found += [Call(call.function, *call.args, **call.kwargs | {"axis": axis}) for axis in (7, -7, 1, (0, 0), 1.5, "x")]
    for place, x in places:
        for other in _others(x):
            args = [other if i == place else y for i, y in enumerate(call.args)]
            found.append(Call(call.function, *args, **call.kwargs | ({place: other} if type(place) is str else {})))
    return found


def _others(x: Any) -> list:
    """What could stand in the place of `x` by mistake."""
    if isinstance(x, np.ndarray):
        longer = np.repeat(x, 2, axis=-1) if x.ndim else x[None]
        return [longer, x[None], x.T.copy(), x[..., 0] if x.ndim and x.shape[-1] else longer]
    if type(x) in (list, tuple):
        spoiled_parts = [(i, other) for i, part in enumerate(x) for other in _others(part)]
        return [type(x)(), x + x[:1], x[:-1], *(type(x)([*x[:i], y, *x[i + 1 :]]) for i, y in spoiled_parts)]
    if type(x) is int:
        return [x + 7, x - 7, -1, 1.5, "x"]
    return ["x", 1.5] if type(x) is str else []


def outcome(f: Callable) -> Any:
    """What ``f()`` gives: its value, or what it raises."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return f()
        except Exception as error:
            return error


def check_same_refusal(call: Call) -> None:
    """Inside a gradient it raises what NumPy raises. What NumPy takes has NumPy's value, or is refused."""
    if not call.operands:  # the slip left none: nothing is tracked
        return
    wanted = outcome(lambda: call(*call.operands))
    seen: list[Any] = []

    def loss(*operands: Any) -> float:
        seen.extend(plain(part) for part in parts_of(call(*operands)))
        return 0.0

    got = outcome(lambda: gradient(loss, *call.operands))
    if isinstance(wanted, Exception):
        cure = (
            "Raise a ValueError for it in the function that stands for NumPy's in "
            "fluxlite/autodiff/derivatives/: NumPy's own words are then shown"
        )
        assert isinstance(got, Exception), f"{call}: NumPy raises {wanted!r}, the rule gives {seen}. {cure}"
        is_named = type(got) is TypeError and "doesn't know the keyword" in str(got)
        assert type(got) is type(wanted) or is_named, f"{call}: NumPy raises {wanted!r}, the rule {got!r}. {cure}"
    elif not isinstance(got, Exception):
        for part, value in zip(seen, parts_of(wanted), strict=True):
            assert_close(part, value, 1e-6, "value")
