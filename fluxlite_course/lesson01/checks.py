"""Lesson 01, arrays on a GPU: checks."""

import numpy as np

import fluxlite as fl
from fluxlite.messages import many, put_aside

from ..kit.exercises import NotRight, exercise
from ..kit.vocabulary import described, expect, explained, normal, number, on_gpu, quiet, refuse, returned, wrong_if


def _count(copies):
    return f"{many(copies.count, 'copy')}, {copies.bytes:,} bytes"


def program() -> None:
    """The program of exercise 01.1."""
    x = fl.cu(np.ones((1000, 10)))
    w = fl.cu(np.ones(10, np.float32))
    y = np.tanh(x @ w) + 1
    total = np.sum(y)
    print(total)


@exercise("01.1", "copies and bytes of a program", look_at="which lines say cu, and which line looks at a value?")
def copies_of_a_program(there, there_bytes, back, back_bytes):
    with fl.receipt() as r, put_aside():
        program()
    right = (r.host_to_device.count, r.host_to_device.bytes, r.device_to_host.count, r.device_to_host.bytes)
    refuse({
        "an answer is text; write numbers, without quotes": str in map(type, (there, there_bytes, back, back_bytes)),
        "np.tanh(x @ w) + 1 copies nothing: x and w are there, and a number goes with the launch": there in (3, 4),
        "an array travels as a whole: it's one copy, no matter how many numbers it has": there == 10010,
        "to print total, the host has to read it: that's a copy, even without cpu": back == 0,
        "y stays on the GPU, and so does x @ w; only what you print comes back": back in (2, 3),
        "the number of copies isn't right": (there, back) != right[::2],
        "x was float64, 8 bytes each; cu converts it to float32 before it travels": there_bytes == 10_000 * 8 + 10 * 4,
        "an array travels whole: x has 1,000 × 10 numbers": there_bytes == 1010 * 8,
        "the copies are right; the bytes to the GPU are not: add numbers × bytes of each": there_bytes != right[1],
        "the sum of float32 numbers is float32: 4 bytes": back_bytes == 8,
        "y has 1,000 numbers, but only its sum is printed": back_bytes == 4000,
        "all right except for the bytes that come back: print shows one number, total": back_bytes != right[3],
    }, f"to the GPU: copies {there}, bytes {there_bytes}; back: copies {back}, bytes {back_bytes}")  # fmt: skip
    return "2 copies there, 40,040 bytes: 10,000 numbers and 10, of 4 bytes each; 1 copy back, of one number"


@exercise("01.2", "a function that mixes host and device", look_at="fl.device_of(…) of each array in the line")
def standardize(standardize):
    values = np.arange(3000, dtype=np.float32).reshape(1000, 3)
    mean, spread = np.array([1.0, 2.0, 4.0]), np.array([2.0, 2.0, 8.0])
    mixed = {
        "dtype=an array": "cu takes one thing: cu(a) and cu(b), or cu((a, b))",
        "another, of shape": "x is on the GPU, and an array that you combine it with is still on the host",
    }
    x = fl.cu(values)
    with fl.receipt() as r, explained(mixed, "mean and spread on the GPU, too"):
        result = standardize(x, mean, spread)
    returned(result, "the function", "(x - mean) / spread must be returned")
    end, way = "the result was" if r.launches else "x was", "compute where the many numbers are, and move the few"
    all_of_it = f"{end} copied back to the host: {way}"
    quiet(r, all_of_it if r.device_to_host.bytes >= 12_000 else "something was read back to the host")
    words = "the values aren't (x - mean) / spread"
    expect(result, (values - mean) / spread, words, shape=words, where="the result is on the host", atol=1e-4)
    slow = "the values are right, but the result is float64: a GPU computes much slower with it"
    wrong_if(result.dtype != np.float32, slow, result.dtype, "float32: cu converts mean and spread on their way")
    words, there = f"{many(r.host_to_device.count, 'copy')} to the GPU in one call", _count(r.host_to_device)
    wrong_if(r.host_to_device.count > 2, words, there, "2 copies: mean once, and spread once")
    return f"{there} to the GPU, none back; the result is on the GPU"


@exercise("01.3", "predict, for one vector and for a batch", look_at="the shapes of x, W.T and b, in that order")
def predict_any(predict_any):
    W, b, batch = normal(0, (4, 4), (4,), (4, 4))
    _predicted(predict_any, W, b, batch[0], "one vector")
    _predicted(predict_any, W, b, batch, "4 observations of 4 features")
    W, b, batch = normal(1, (2, 5), (2,), (100, 5))
    r = _predicted(predict_any, W, b, batch, "100 observations of 5 features")
    wrong_if(r.launches > 10, f"{r.launches:,} launches for 100 observations: each by itself", expected="2 launches")
    quiet(r, "it computes on the host")
    return "one vector, a square batch, and 100 observations at once"


def _predicted(predict, W, b, x, what):
    """The receipt of a prediction on the GPU, if that's right."""
    wanted = x @ W.T + b
    with fl.receipt() as r:
        try:
            result = predict(*fl.cu((W, b, x)))
        except ValueError as error:
            yours = f"W {W.shape}, b {b.shape}, x {x.shape}: {error}"
            words = f"for {what} it raises an error: the shapes don't fit"
            raise NotRight(words, yours, f"a result of shape {wanted.shape}") from None
    returned(result, "predict_any", "the prediction must be returned")
    mixed = "right for one vector; for a square batch it mixes the observations, without any error"
    slips = {mixed: x.T @ W.T + b, f"{mixed}, by W @ x": W @ x + b} if x.shape == W.shape else {}
    expect(result, wanted, f"for {what} the values are wrong", slips, atol=1e-4, where="the result is on the host",
           shape=f"for {what} the result has the wrong shape")  # fmt: skip
    return r


@exercise("01.4", "one copy back instead of one per step", look_at="%%machine above the call: which line copies?")
def run(run):
    steps = 25
    now, W = normal(2, (8, 4), (4, 4))
    x_gpu, W_gpu = fl.cu((now, W))
    wanted = []
    for _ in range(steps):
        now = np.tanh(now @ W)
        wanted.append(np.sum(now))
    with fl.receipt() as r:
        sizes = run(x_gpu, W_gpu, steps)
    returned(sizes, "the function", f"{steps} numbers")
    end = "one copy back to the host, at the end"
    wrong_if(on_gpu(sizes), "the numbers are still on the GPU", "an array on the GPU", end)
    remote = isinstance(sizes, (list, tuple)) and any(map(on_gpu, sizes))
    wrong_if(remote, "the list holds arrays on the GPU", "nothing was copied back", end)
    numbers = np.asarray(sizes, object)  # whatever is in a list
    yours = f"{numbers.size} of them" if numbers.ndim else described(sizes)
    wrong_if(numbers.shape != (steps,), "these aren't the numbers of all steps", yours, f"{steps} numbers")
    numbers = np.array([number(x, "a size") for x in numbers])
    expect(numbers, np.array(wanted), "the numbers aren't those of the program above", atol=1e-3)
    back, copies = r.device_to_host, many(r.device_to_host.count, "copy")
    refuse({
        f"{r.launches} launches: it no longer runs on the GPU": (r.launches or 0) < 2 * steps,
        f"still {copies} back: a list of {steps} arrays is {steps} copies, whenever you move it":
            back.count == steps and not back.implicit,
        f"{copies} back: each float(…) is one, in the loop or after it": back.count > 1,
    }, _count(back), "1 copy: make one array of the numbers, on the GPU, and bring that home")  # fmt: skip
    return f"1 copy back instead of {steps}, and the host waits only once"
