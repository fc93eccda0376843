"""Lesson 05, waiting for the GPU: checks."""

import time

import numpy as np

import fluxlite as fl
from fluxlite.devices.receipts import duration
from fluxlite.words import many

from ..kit.exercises import brief, exercise
from ..kit.puzzles import puzzle
from ..kit.vocabulary import expect, function, listed, must_return, normal, number, on_gpu, refuse
from ..kit.watching import calls_of, unchanged


@puzzle("05-1", counts="seconds", par=3.36e-3)
def steps(steps):
    function(steps, "steps")
    x, W = normal(None, (131_072, 8), (8, 8))  # never the same, so that no run can use an earlier one's numbers
    _run(steps, x[:40, :5], W[:5, :5] / 3)  # the first run takes longer; and these aren't the notebook's matrices
    fl.cuda.synchronize()
    return _run(steps, x, W / 3)


def _run(steps, x, W):
    """The receipt of a run. Raises `NotRight` if the two numbers aren't right, or not on the host."""
    there = fl.gpu((x, W))
    with unchanged("steps", x=there[0], W=there[1]), fl.receipt() as r:
        found = steps(*there)
        pair = listed(found)
        is_read = pair is not None and not any(map(on_gpu, pair))
        numbers = [number(got, "what steps returns") for got in pair] if is_read else []
    two = "steps returns two numbers, the sum of the sizes and the largest number"
    refuse({
        two: pair is None or len(pair) != 2,
        "they're still on the GPU: read them before you return them": not is_read,
    }, brief(found), "two numbers on the host")  # fmt: skip
    total, largest, h = 0.0, 0.0, x
    for _ in range(20):
        h = np.tanh(h @ W)
        total, largest = total + float(np.mean(h**2)), max(largest, float(np.max(h)))
    for name, got, wanted in zip(("the sum", "the largest number"), numbers, (total, largest)):
        expect(got, wanted, f"{name} isn't what it was", rtol=2e-4 + _slip(x))  # float16's are farther off
    return r


def _slip(x):
    """How far off NumPy's own vdot is. Without a BLAS, as in a browser, it adds a million numbers in a row."""
    x = x.astype(np.float32).ravel()
    return 2 * abs(float(np.vdot(x, x)) / float(np.sum(np.square(x, dtype=np.float64))) - 1)


@exercise("05.1", "hidden waits, counted", look_at="the table in section 2: who has to know a number?")
def waits(waits):
    waits = number(waits, "waits")
    expect(waits, 5, "rows and comparisons don't wait, only what has to know a number: an if, and two more lines", {
        "how often does the if run? And after its loop two more lines have to know a number": 3,
        "one is missing: three times the if, and what else has to know a number? There are two more": 4,
        "one too many: the host knows len(h) and h.shape, and h[0] and h[:3] stay on the GPU": 6,
    }, yours=f"{waits:g}", expected="")  # fmt: skip
    return "5 waits: the if for each of three rows, the f-string with the mean in it, and cpu"


@exercise("05.2", "a stopwatch", look_at="section 3: wait, clock, run, wait, clock")
def time_it(time_it):
    function(time_it, "time_it")
    yours = _timed(time_it, 2048, products=1)
    # Matrices of this size, multiplied twice: no formula for a product knows this time.
    _timed(time_it, 1536, products=2)
    return f"{yours} for the product, though three others were in the queue"


def _timed(time_it, n, products):
    """What a learner's stopwatch shows for products of n x n matrices, in words. Raises `NotRight` if it's wrong."""
    calls: list[int] = []

    def multiply(A, B):
        for _ in range(products):
            A = A @ B
        return A

    def stopwatch(A, B):
        def product():
            calls.append(1)
            return multiply(A, B)

        for _ in range(3):
            A @ B  # launched, but nothing waits
        with calls_of(*_CLOCKS) as clocks:
            return time_it(product), clocks

    def ordering(A, B):
        begin = fl.clock()
        multiply(A, B)
        return fl.clock() - begin

    def estimated(program):
        # Only the shapes: the time of such a product doesn't depend on its values.
        return fl.estimate(program, A, A, like="NVIDIA T4", shapes_only=True)

    A = np.zeros((n, n), np.float32)
    found, clocks = estimated(stopwatch).result
    right, ordered = estimated(multiply).seconds, estimated(ordering).result
    earlier = 3 * estimated(np.matmul).seconds
    copied = estimated(lambda A, B: fl.cpu(multiply(A, B))).seconds
    name = f"{'the product' if products == 1 else 'two products'}, with matrices of {n:,} × {n:,}"
    refuse({
        "time_it didn't run f: it's a function, and f() runs it": not calls,
        "time_it runs f() once: a second training step, say, would change the weights again": calls[1:],
    }, many(len(calls), "run"), "1 run")  # fmt: skip
    found = number(must_return(found, "time_it", "seconds"), "what time_it returns")
    if _near(found, right, 0.02):
        return duration(found)
    refuse({
        "less than nothing: subtract the first reading from the second": found < 0,
        "you timed the order, not the meal. Wait at the end, too": _near(found, ordered, 0.02),
        "three earlier products are in it. Wait before you first read the clock": _near(found, earlier + right, 0.1),
        "the copy of the result is in it: cpu(…) copies, too; fl.cuda.synchronize() only waits":
            _near(found, copied, 0.02) or _near(found, copied + earlier, 0.02),
        "that's the product's time, but in another unit: fl.clock() gives seconds":
            _near(found, 1e3 * right, 0.02) or _near(found, 1e6 * right, 0.02),
        "that's this machine's time to simulate it; fl.clock() gives the device's": clocks,
        f"that's not the time of {name}": True,
    }, duration(found), str(right))  # fmt: skip


_CLOCKS = (time.perf_counter, time.perf_counter_ns, time.time, time.time_ns, time.monotonic, time.monotonic_ns,
           time.process_time, time.process_time_ns)  # fmt: skip


def _near(found, wanted, by):
    return abs(found - wanted) < by * wanted
