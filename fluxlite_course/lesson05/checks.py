"""Lesson 05, waiting for the GPU: checks."""

import numpy as np

import fluxlite as fl
from fluxlite.messages import many
from fluxlite.receipts import duration

from ..kit.exercises import exercise, shown
from ..kit.puzzles import puzzle
from ..kit.vocabulary import called, expect, is_number, normal, on_gpu, refuse, wrong_if


@puzzle("05-1", counts="seconds", par=3.36e-3)
def steps(steps):
    A, B = normal(6, (640, 640), (640, 640))
    x, W = fl.gpu(A), fl.gpu(B / 25)
    total, largest, h = 0.0, 0.0, A
    for _ in range(20):
        h = np.tanh(h @ (B / 25))
        total, largest = total + float(np.mean(h**2)), max(largest, float(np.max(h)))
    steps(-x, W)  # once before
    fl.cuda.synchronize()
    found, r = called(steps, x, W)
    pair = isinstance(found, tuple) and len(found) == 2
    wrong_if(not pair, "steps returns two numbers, the sum of the sizes and the largest number", shown(found))
    for name, got, wanted in (("the sum", found[0], total), ("the largest number", found[1], largest)):
        wrong_if(on_gpu(got), f"{name} is still on the GPU: read it before you return it", shown(got), "a number")
        expect(float(got), wanted, f"{name} isn't what it was", rtol=1e-3)
    return r


@exercise("05.1", "hidden waits, counted", look_at="the table in section 2: who has to know a number?")
def waits(waits):
    whole = isinstance(waits, (int, np.integer))
    wrong_if(not whole, "that's not a number of waits", repr(waits), "a whole number below 10")
    many_more = "too many: neither rows nor comparisons wait, only what has to know a number"
    expect(waits, 5, many_more, {
        "something has to wait: at the end the numbers are on the host": 0,
        "cpu waits; but the if has to know something, too, and so does the f-string": 1,
        "how often does the if run? And after its loop two more lines have to know a number": 3,
        "one is missing: three times the if, and what else has to know a number? There are two more": 4,
        "one too many: the host knows len(h) and h.shape, and h[0] and h[:3] stay on the GPU": 6,
    }, yours=many(waits, "wait"), expected="")  # fmt: skip
    return "5 waits: the if for each of three rows, the f-string with the mean in it, and cpu"


@exercise("05.2", "a stopwatch", look_at="section 3: wait, clock, run, wait, clock")
def time_it(time_it):
    calls: list[int] = []

    def stopwatch(A, B):
        def product():
            calls.append(1)
            return A @ B

        for _ in range(3):
            A @ B  # launched, but nothing waits
        found = time_it(product)
        fl.cuda.synchronize()
        start = fl.clock()
        A @ B
        fl.cuda.synchronize()
        return found, fl.clock() - start

    A = np.zeros((2048, 2048), np.float32)
    # Only the shapes: the time of such a product doesn't depend on its values.
    found, right = fl.estimate(stopwatch, A, A, like="NVIDIA T4", shapes_only=True).result
    expected = f"{duration(right)} simulated (NVIDIA T4)"
    wrong_if(not calls, "time_it didn't run f: it's a function, and f() runs it", expected=expected)
    wrong_if(calls[1:], "time_it runs f() once: a second step of a training, say, would change the weights again")
    wrong_if(not is_number(found), "time_it returns the seconds, a number", shown(found), expected)
    yours, names = duration(float(found)), getattr(getattr(time_it, "__code__", None), "co_names", ())
    refuse({
        "that's this machine's time to simulate it; fl.clock() gives the device's":
            {"perf_counter", "time", "monotonic", "timeit"} & set(names),
        f"{yours}: you timed the order, not the meal. Wait at the end, too": found < 0.1 * right,
        f"{yours}: three earlier products are in it. Wait before you first read the clock":
            abs(found - 4 * right) < 0.1 * right,
        "that's not the product's time, and fl.clock() gives seconds":
            abs(found - right) >= 0.02 * right,
    }, yours, expected)  # fmt: skip
    return f"{yours} for the product, though three others were in the queue"
