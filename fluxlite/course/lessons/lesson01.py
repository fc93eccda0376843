"""Lesson 01, arrays on a GPU: checks."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

import fluxlite as fl

from ...messages import put_aside
from ..exercises import NotRight, exercise


def _on_host(x: Any) -> bool:
    return isinstance(x, np.ndarray)


def _on_device(x: Any) -> bool:
    return hasattr(x, "dtype") and not isinstance(x, (np.ndarray, np.generic))


def _host(x: Any) -> Any:
    """The values on the host. None for anything that isn't numbers."""
    try:
        return np.asarray(fl.cpu(x), np.float64)
    except (TypeError, ValueError):
        return None


def _count(copies: Any) -> str:
    return f"{copies.count:,} {'copy' if copies.count == 1 else 'copies'}, {copies.bytes:,} bytes"


# -- 01.1 -------------------------------------------------------------------------------------------------------------


def program() -> None:
    """The program of exercise 01.1."""
    x = fl.cu(np.ones((1000, 10)))
    w = fl.cu(np.ones(10, np.float32))
    y = np.tanh(x @ w) + 1
    total = np.sum(y)
    print(total)


@exercise("01.1", "copies and bytes of a program", look_at="which lines say cu, and which line looks at a value?")
def copies_of_a_program(there: Any, there_bytes: Any, back: Any, back_bytes: Any) -> str:
    with fl.receipt() as r, put_aside():
        program()
    expected = (r.host_to_device.count, r.host_to_device.bytes, r.device_to_host.count, r.device_to_host.bytes)
    given = (there, there_bytes, back, back_bytes)
    if given == expected:
        return "2 copies there, 40,040 bytes: 10,000 numbers and 10, of 4 bytes each; 1 copy back, of one number"
    yours = f"to the GPU: copies {there}, bytes {there_bytes}; back: copies {back}, bytes {back_bytes}"
    if any(isinstance(one, str) for one in given):
        raise NotRight("an answer is text; write numbers, without quotes", yours, "four numbers")
    if (there, back) != (expected[0], expected[2]):
        raise NotRight(_wrong_count(there, back), yours)
    if there_bytes == 1000 * 10 * 8 + 10 * 4:
        raise NotRight("x was float64, 8 bytes each; cu converts it to float32 before it travels", yours)
    if there_bytes == 1010 * 8:
        raise NotRight("an array travels whole: x has 1,000 × 10 numbers", yours)
    if there_bytes != expected[1]:
        raise NotRight("the copies are right; the bytes to the GPU are not", yours, "numbers × bytes for each, added")
    if back_bytes == 8:
        raise NotRight("the sum of float32 numbers is float32: 4 bytes", yours)
    if back_bytes == 4000:
        raise NotRight("y has 1,000 numbers, but only its sum is printed", yours)
    raise NotRight("all right except for the bytes that come back", yours, "print shows one number: total")


def _wrong_count(there: Any, back: Any) -> str:
    if there == 3 or there == 4:
        return "np.tanh(x @ w) + 1 copies nothing: x and w are there, and a number goes with the launch"
    if there == 10010:
        return "an array travels as a whole: it's one copy, no matter how many numbers it has"
    if back == 0:
        return "to print total, the host has to read it: that's a copy, even without cpu"
    if back in (2, 3):
        return "y stays on the GPU, and so does x @ w; only what you print comes back"
    return "the number of copies isn't right"


# -- 01.2 -------------------------------------------------------------------------------------------------------------


@exercise("01.2", "a function that mixes host and device", look_at="fl.device_of(…) of each array in the line")
def standardize(standardize: Any) -> str:
    values = np.arange(3000, dtype=np.float32).reshape(1000, 3)
    mean, spread = np.array([1.0, 2.0, 4.0]), np.array([2.0, 2.0, 8.0])
    x = fl.cu(values)
    with fl.receipt() as r:
        try:
            result = standardize(x, mean, spread)
        except TypeError as error:
            if str(error).startswith("dtype=") and "got an array" in str(error):
                raise NotRight("cu takes one thing: cu(a) and cu(b), or cu((a, b))", "cu(a, b)", "a tuple") from None
            found = re.search(r"another, of shape .* is on CPU", str(error))
            if found is None:
                raise
            raise NotRight(
                "x is on the GPU, and an array that you combine it with is still on the host",
                yours=f"{str(error).partition(';')[0]}",
                expected="mean and spread on the GPU, too",
            ) from None
    _came_back(r, result)
    _where_and_what(result, (values - mean) / spread)
    if r.host_to_device.count > 2:
        raise NotRight(
            f"{r.host_to_device.count:,} copies to the GPU in one call",
            yours=_count(r.host_to_device),
            expected="2 copies: mean once, and spread once",
        )
    return f"{_count(r.host_to_device)} to the GPU, none back; the result is on the GPU"


def _came_back(r: Any, result: Any) -> None:
    if result is None:
        raise NotRight("the function returned None", expected="(x - mean) / spread must be returned")
    if r.device_to_host.bytes >= 12_000:
        end = "the result was" if r.launches else "x was"
        raise NotRight(
            f"{end} copied back to the host",
            yours=f"{_count(r.device_to_host)} back",
            expected="no copies back: compute where the many numbers are, and move the few",
        )
    if r.device_to_host.count:
        raise NotRight("something was read back to the host", f"{_count(r.device_to_host)} back", "no copies back")


def _where_and_what(result: Any, expected: Any) -> None:
    if _on_host(result):
        raise NotRight("the result is on the host", "an array on the CPU", "an array on the GPU, where x is")
    got = _host(result)
    if got is None or got.shape != expected.shape or not np.allclose(got, expected, atol=1e-4):
        raise NotRight("the values aren't (x - mean) / spread", _shown(result))
    if result.dtype != np.float32:
        raise NotRight(
            "the values are right, but the result is float64: a GPU computes much slower with it",
            yours=f"{result.dtype}",
            expected="float32: cu converts mean and spread on their way",
        )


def _shown(x: Any) -> str:
    shape = getattr(x, "shape", None)
    return type(x).__name__ if shape is None else f"an array of shape {shape}"


# -- 01.3 -------------------------------------------------------------------------------------------------------------


@exercise("01.3", "predict, for one vector and for a batch", look_at="the shapes of x, W.T and b, in that order")
def predict_any(predict_any: Any) -> str:
    rng = np.random.default_rng(0)
    W, b, batch = (rng.standard_normal(shape).astype(np.float32) for shape in ((4, 4), (4,), (4, 4)))
    args = fl.cu((W, b, batch))
    wanted = batch @ W.T + b
    one = _called(predict_any, (args[0], args[1], args[2][0]), "one vector")
    _compare(one, wanted[0], "one vector")
    result = _called(predict_any, args, "4 observations of 4 features")
    if _same(result, batch.T @ W.T + b) or _same(result, W @ batch + b):
        raise NotRight(
            "right for one vector; for a square batch it mixes the observations, without any error",
            yours=f"row 0 of the batch gives {_digits(fl.cpu(result)[0])}",
            expected=f"{_digits(wanted[0])}, the same as for this observation alone",
        )
    _compare(result, wanted, "4 observations of 4 features")
    rng = np.random.default_rng(1)
    W, b, batch = (rng.standard_normal(shape).astype(np.float32) for shape in ((2, 5), (2,), (100, 5)))
    with fl.receipt() as r:
        result = _called(predict_any, fl.cu((W, b, batch)), "100 observations of 5 features")
    _compare(result, batch @ W.T + b, "100 observations of 5 features")
    if (r.launches or 0) > 10:
        raise NotRight(
            f"{r.launches:,} launches for 100 observations",
            yours="each observation by itself",
            expected="2 launches: one product for the whole batch, one sum",
        )
    if r.device_to_host.count:
        raise NotRight("it computes on the host", f"{_count(r.device_to_host)} back", "no copies back")
    return "one vector, a square batch, and 100 observations at once"


def _called(predict: Any, args: Any, what: str) -> Any:
    W, b, x = args
    try:
        result = predict(W, b, x)
    except ValueError as error:
        raise NotRight(
            f"for {what} it raises an error: the shapes don't fit",
            yours=f"W {W.shape}, b {b.shape}, x {x.shape}: {error}",
            expected=f"a result of shape {(*x.shape[:-1], len(b))}",
        ) from None
    if result is None:
        raise NotRight("predict_any returned None", expected="the prediction must be returned")
    return result


def _compare(result: Any, expected: Any, what: str) -> None:
    got = _host(result)
    if got is None or got.shape != expected.shape:
        raise NotRight(f"for {what} the result has the wrong shape", _shown(result), f"shape {expected.shape}")
    if not np.allclose(got, expected, atol=1e-4):
        raise NotRight(f"for {what} the values are wrong", _digits(got.ravel()[:4]), _digits(expected.ravel()[:4]))
    if _on_host(result):
        raise NotRight("the result is on the host", "an array on the CPU", "an array on the GPU, where W, b and x are")


def _same(result: Any, other: Any) -> bool:
    got = _host(result)
    return got is not None and got.shape == other.shape and np.allclose(got, other, atol=1e-4)


def _digits(values: Any) -> str:
    return np.array2string(np.asarray(values), precision=3)


# -- 01.4 -------------------------------------------------------------------------------------------------------------


@exercise("01.4", "one copy back instead of one per step", look_at="boxes(r): which line copies?")
def run(run: Any) -> str:
    steps = 25
    rng = np.random.default_rng(2)
    x, W = (rng.standard_normal(shape).astype(np.float32) for shape in ((8, 4), (4, 4)))
    wanted, now = [], x
    for _ in range(steps):
        now = np.tanh(now @ W)
        wanted.append(np.sum(now))
    x_gpu, W_gpu = fl.cu((x, W))
    with fl.receipt() as r:
        sizes = run(x_gpu, W_gpu, steps)
    _sizes(sizes, np.array(wanted), steps)
    if (r.launches or 0) < 2 * steps:
        raise NotRight(f"{r.launches} launches: it no longer runs on the GPU", f"{_count(r.device_to_host)} back")
    back = r.device_to_host
    if back.count == steps and not back.implicit:
        raise NotRight(
            f"still {back.count} copies back: a list of {steps} arrays is {steps} copies, whenever you move it",
            yours=_count(back),
            expected="1 copy: first make one array of them, on the GPU",
        )
    if back.count > 1:
        raise NotRight(
            f"{back.count} copies back: each float(…) is one, in the loop or after it",
            yours=_count(back),
            expected="1 copy: make one array of the numbers, on the GPU, and bring that home",
        )
    return f"1 copy back instead of {steps}, and the host waits only once"


def _sizes(sizes: Any, wanted: Any, steps: int) -> None:
    if sizes is None:
        raise NotRight("the function returned None", expected=f"{steps} numbers")
    if _on_device(sizes):
        raise NotRight(
            "the numbers are still on the GPU", "an array on the GPU", "one copy back to the host, at the end"
        )
    if isinstance(sizes, (list, tuple)) and any(map(_on_device, sizes)):
        raise NotRight("the list holds arrays on the GPU", "nothing was copied back", "numbers on the host")
    got = _host(sizes)
    if got is None or got.shape != wanted.shape:
        raise NotRight(
            "these aren't the numbers of all steps",
            _shown(sizes) if got is None else f"{got.size} of them",
            f"{steps} numbers",
        )
    if not np.allclose(got, wanted, atol=1e-3):
        raise NotRight("the numbers aren't those of the program above", _digits(got[:4]), _digits(wanted[:4]))
