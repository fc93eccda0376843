"""Lesson 01, arrays on a GPU: checks."""

import numpy as np

import fluxlite as fl
from fluxlite.messages import many

from ..kit.exercises import exercise
from ..kit.vocabulary import expect, explaining, must_return, normal, number, on_gpu, refuse, wrong_if


def _count(copies):
    return f"{many(copies.count, 'copy')}, {copies.bytes:,} bytes"


@exercise("01.1", "copies and bytes of a program", look_at="which lines say gpu, and which line looks at a value?")
def copies_of_a_program(to_gpu, to_gpu_bytes, back, back_bytes):
    refuse({
        "np.tanh(x @ w) + 1 copies nothing: x and w are there, and a number goes with the launch": to_gpu in (3, 4),
        "to print total, the host has to read it: that's a copy, even if nobody writes cpu": back == 0,
        "y stays on the GPU, and so does x @ w; only what you print comes back": back in (2, 3),
        "the number of copies isn't right": (to_gpu, back) != (2, 1),
        "x was float64, 8 bytes each; gpu makes it float32 before it travels": to_gpu_bytes == 10_000 * 8 + 10 * 4,
        "the copies are right; the bytes to the GPU aren't: add numbers × bytes of each": to_gpu_bytes != 40_040,
        "all right except for the bytes that come back: print shows one number, of float32": back_bytes != 4,
    }, f"to the GPU: copies {to_gpu}, bytes {to_gpu_bytes}; back: copies {back}, bytes {back_bytes}")  # fmt: skip
    return "2 copies to the GPU, 40,040 bytes: 10,000 numbers and 10, of 4 bytes each; 1 copy back, of one number"


@exercise("01.2", "a function that mixes host and device", look_at="fl.device_of(…) of each array in the line")
def standardize(standardize):
    values = np.arange(3000, dtype=np.float32).reshape(1000, 3)
    mean, spread = np.array([1.0, 2.0, 4.0]), np.array([2.0, 2.0, 8.0])
    mixed = {"another, of shape": "x is on the GPU, and what you combine it with is still on the host"}
    x = fl.gpu(values)
    with fl.receipt() as r, explaining(mixed, "mean and spread on the GPU, too"):
        result = standardize(x, mean, spread)
    must_return(result, "the function", "(x - mean) / spread must be returned")
    which = "the result" if r.launches else "x"
    words = f"{which} was copied back to the host: compute where the many numbers are, and move the few"
    wrong_if(r.device_to_host.count, words, f"{_count(r.device_to_host)} back", "no copies back")
    words = "the values aren't (x - mean) / spread"
    expect(result, (values - mean) / spread, words, shape=words, where="the result is on the host", atol=1e-4)
    words, there = f"{many(r.host_to_device.count, 'copy')} to the GPU in one call", _count(r.host_to_device)
    wrong_if(r.host_to_device.count > 2, words, there, "2 copies: mean once, and spread once")
    return f"{there} to the GPU, none back; the result is on the GPU"


@exercise("01.3", "one copy back instead of one per step", look_at="%%machine above the call: which line copies?")
def run(run):
    steps = 25
    now, W = normal(2, (8, 4), (4, 4))
    with fl.receipt() as r:
        sizes = run(*fl.gpu((now, W)), steps)
    wanted = []
    for _ in range(steps):
        now = np.tanh(now @ W)
        wanted.append(np.sum(now))
    must_return(sizes, "the function", f"{steps} numbers")
    refuse({
        "the numbers are still on the GPU": on_gpu(sizes),
        "the list holds arrays on the GPU": isinstance(sizes, (list, tuple)) and any(map(on_gpu, sizes)),
    }, "no copies back", "one copy back to the host, at the end")  # fmt: skip
    numbers, words = np.array([number(x, "a size") for x in sizes]), "the numbers aren't those of the program above"
    expect(numbers, np.array(wanted), words, shape="these aren't the numbers of all steps", atol=1e-3)
    back, copies = r.device_to_host, many(r.device_to_host.count, "copy")
    refuse({
        f"{r.launches} launches: it no longer runs on the GPU": (r.launches or 0) < 2 * steps,
        f"still {copies} back: a list of {steps} arrays is {steps} copies, whenever you move it":
            back.count == steps and not back.implicit,
        f"{copies} back: each float(…) is one, in the loop or after it": back.count > 1,
    }, _count(back), "1 copy: make one array of the numbers, on the GPU, and bring that home")  # fmt: skip
    return f"1 copy back instead of {steps}, and the host waits only once"
