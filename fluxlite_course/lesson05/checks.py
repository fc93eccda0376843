"""Lesson 05, waiting for the GPU: checks."""

import numpy as np

import fluxlite as fl
from fluxlite.messages import many
from fluxlite.receipts import duration

from ..kit.exercises import brief, exercise
from ..kit.puzzles import puzzle
from ..kit.vocabulary import call, expect, normal, number, on_gpu, refuse, wrong_if


@puzzle("05-1", counts="seconds", par=3.36e-3)
def steps(steps):
    A, B = normal(6, (640, 640), (640, 640))
    x, W = fl.gpu(A), fl.gpu(B / 25)
    total, largest, h = 0.0, 0.0, A
    for _ in range(20):
        h = np.tanh(h @ (B / 25))
        total, largest = total + float(np.mean(h**2)), max(largest, float(np.max(h)))
    steps(-x, W)  # the first run takes longer
    fl.cuda.synchronize()
    found, r = call(steps, x, W)
    pair = isinstance(found, tuple) and len(found) == 2
    wrong_if(not pair, "steps returns two numbers, the sum of the sizes and the largest number", brief(found))
    wrong_if(any(map(on_gpu, found)), "they're still on the GPU: read them before you return them", brief(found))
    for name, got, wanted in zip(("the sum", "the largest number"), found, (total, largest)):
        expect(float(got), wanted, f"{name} isn't what it was", rtol=1e-3)
    return r


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
    calls: list[int] = []

    def stopwatch(A, B):
        def product():
            calls.append(1)
            return A @ B

        for _ in range(3):
            A @ B  # launched, but nothing waits
        return time_it(product)

    A = np.zeros((2048, 2048), np.float32)
    # Only the shapes: the time of such a product doesn't depend on its values.
    found = fl.estimate(stopwatch, A, A, like="NVIDIA T4", shapes_only=True).result
    right = fl.estimate(np.matmul, A, A, like="NVIDIA T4", shapes_only=True).seconds
    refuse({
        "time_it didn't run f: it's a function, and f() runs it": not calls,
        "time_it runs f() once: a second training step, say, would change the weights again": calls[1:],
    }, many(len(calls), "run"), "1 run")  # fmt: skip
    found = number(found, "what time_it returns")
    yours, names = duration(found), getattr(getattr(time_it, "__code__", None), "co_names", ())
    refuse({
        "that's this machine's time to simulate it; fl.clock() gives the device's":
            {"perf_counter", "time", "monotonic"} & set(names),
        "you timed the order, not the meal. Wait at the end, too": found < 0.1 * right,
        "three earlier products are in it. Wait before you first read the clock": abs(found - 4 * right) < 0.1 * right,
        "that's not the product's time, and fl.clock() gives seconds": abs(found - right) >= 0.02 * right,
    }, yours, str(right))  # fmt: skip
    return f"{yours} for the product, though three others were in the queue"
