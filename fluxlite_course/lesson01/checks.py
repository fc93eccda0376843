"""Lesson 01, arrays on a GPU: checks."""

import numpy as np

import fluxlite as fl
from fluxlite.words import many

from ..kit.exercises import brief, exercise
from ..kit.vocabulary import (
    expect,
    explaining,
    function,
    listed,
    must_return,
    normal,
    number,
    on_cpu,
    on_gpu,
    refuse,
    wrong_if,
)
from ..kit.watching import unchanged


def _count(copies):
    return f"{many(copies.count, 'copy')}, {copies.bytes:,} bytes"


@exercise("01.1", "copies and bytes of a program", look_at="which lines say gpu, and which line looks at a value?")
def copies_of_a_program(to_gpu, to_gpu_bytes, back, back_bytes):
    given = {"to_gpu": to_gpu, "to_gpu_bytes": to_gpu_bytes, "back": back, "back_bytes": back_bytes}
    to_gpu, to_gpu_bytes, back, back_bytes = (number(got, name) for name, got in given.items())
    swapped = (to_gpu, to_gpu_bytes, back, back_bytes) == (40_040, 2, 4, 1)
    refuse({
        "the numbers are right, but copies and bytes have changed places": swapped,
        "np.tanh(x @ w) + 1 copies nothing: x and w are there, and a number goes with the launch": to_gpu in (3, 4),
        "to print total, the host has to read it: that's a copy, even if nobody writes cpu": back == 0,
        "y stays on the GPU, and so does x @ w; only what you print comes back": back in (2, 3),
        "the number of copies isn't right": (to_gpu, back) != (2, 1),
        "x was float64, 8 bytes each; gpu makes it float32 before it travels":
            to_gpu_bytes in (10_000 * 8 + 10 * 4, 10_010 * 8),
        "that's how many numbers go to the GPU; how many bytes does each have?": to_gpu_bytes == 10_010,
        "the copies are right; the bytes to the GPU aren't: add numbers × bytes of each": to_gpu_bytes != 40_040,
        "all right except for the bytes that come back: print shows one number, of float32": back_bytes != 4,
    }, f"to the GPU: copies {to_gpu:g}, bytes {to_gpu_bytes:.8g}; "
       f"back: copies {back:g}, bytes {back_bytes:.8g}")  # fmt: skip
    return "2 copies to the GPU, 40,040 bytes: 10,000 numbers and 10, of 4 bytes each; 1 copy back, of one number"


@exercise("01.2", "a function that mixes host and device", look_at="fl.device_of(…) of each array in the line")
def standardize(standardize):
    function(standardize, "standardize")
    # Not the notebook's numbers, nor as many: its mean and spread are names that every function there can see.
    (values,) = normal(5, (1000, 3))
    there = _standardized(standardize, values, np.array([1.5, 2.0, -4.0]), np.array([2.0, 3.0, 8.0]))
    values, mean, spread = normal(4, (20, 5), (5,), (5,))
    _standardized(standardize, values, mean, 1 + spread**2)
    return f"{there} to the GPU, none back; the result is on the GPU"


def _standardized(standardize, values, mean, spread):
    """What was copied to the GPU, in words. Raises `NotRight` unless the result is right, and stayed there."""
    mixed = {"another, of shape": "of the two arrays that you combine, one is on the GPU, and one is still on the host"}
    x = fl.gpu(values)
    given = unchanged("standardize", x=x, mean=mean, spread=spread)
    with given, fl.receipt() as r, explaining(mixed, "mean and spread on the GPU, too"):
        result = standardize(x, mean, spread)
    must_return(result, "the function", "(x - mean) / spread must be returned")
    back = r.device_to_host
    is_result = on_cpu(result) and (r.launches, back.count) == (2, 1)
    refuse({
        "x was copied back to the host: compute where the many numbers are, and move the few":
            back.bytes >= x.nbytes and not r.launches,
        "the result was copied back to the host: leave it on the GPU": is_result,
        f"{_count(back)} came back to the host: compute where the many numbers are, and look at none of them":
            back.count,
    }, f"{_count(back)} back", "no copies back")  # fmt: skip
    words = "the values aren't (x - mean) / spread"
    slips = {
        "mean and spread are arguments: use those, not the mean and the spread of x":
            (values - values.mean(0)) / values.std(0),
        "the difference needs parentheses: as it is, only mean is divided by spread": values - mean / spread,
    }  # fmt: skip
    expect(result, (values - mean) / spread, words, slips, shape="the result isn't an array of the shape of x",
           where="the result is on the host", atol=1e-4)  # fmt: skip
    words, there = f"{many(r.host_to_device.count, 'copy')} to the GPU in one call", _count(r.host_to_device)
    refuse({words: r.host_to_device.count > 2}, there, "2 copies: mean once, and spread once")
    return there


@exercise("01.3", "one copy back instead of one per step", look_at="%%machine above the call: which line copies?")
def run(run):
    function(run, "run")
    for steps in (25, 6):
        _run_for(run, steps, *normal(steps, (64, 8), (8, 8)))
    return "1 copy back instead of one for each step, and the host waits only once"


def _run_for(run, steps, now, W):
    """Raises `NotRight` unless `run` gives the numbers of so many steps, with one copy and one wait."""
    W, x = W / 3, fl.gpu(now)
    with unchanged("run", x=x), fl.receipt() as r:
        found = run(x, fl.gpu(W), steps)
        sizes = listed(found)
    must_return(found, "the function", f"{steps} numbers")
    refuse({
        "the numbers are still on the GPU": on_gpu(found),
        "that isn't a list of numbers": sizes is None,
    }, brief(found), "a list or an array of numbers, on the host")  # fmt: skip
    facts = many(len(sizes), "number"), many(steps, "number")
    wrong_if(len(sizes) != steps, "these aren't the numbers of all steps", *facts)
    refuse({"the list holds arrays on the GPU": any(map(on_gpu, sizes))}, "no copies back",
           "one copy back to the host, at the end")  # fmt: skip
    wanted = []
    for _ in range(steps):
        now = np.tanh(now @ W)
        wanted.append(np.sum(now))
    numbers, words = np.array([number(x, "a size") for x in sizes]), "the numbers aren't those of the program above"
    expect(numbers, np.array(wanted), words, rtol=1e-4, atol=1e-3)
    back, copies = r.device_to_host, many(r.device_to_host.count, "copy")
    refuse({
        "0 launches: it no longer runs on the GPU": not r.launches,
        "no copy came back, so the numbers are from somewhere else": not back.count,
        f"with {steps} steps, still {copies} back: {steps} arrays are {steps} copies, one by one as well as in a list":
            back.count == steps and not back.implicit,
        f"{copies} back: each float(…) is one, in the loop or after it": back.count == steps,
        f"{copies} back: whatever makes the host look at a number is one": back.count > 1,
        f"{back.bytes:,} bytes back: only the {steps} numbers should come home": back.bytes > 8 * steps,
        f"the host waits {r.synchronizations} times; the copy waits by itself": r.synchronizations > 1,
    }, _count(back), "1 copy: make one array of the numbers, on the GPU, and bring that home")  # fmt: skip
