"""Lesson 06, waiting for the GPU: checks."""

from __future__ import annotations

from typing import Any

import numpy as np

import fluxlite as fl

from ...messages import put_aside
from ...receipts.seconds import duration
from ..exercises import NotRight, exercise, shown

# -- 06.1 ---------------------------------------------------------------------------------------------------------


def _program(x: Any, W: Any) -> Any:
    """The lesson's program, whose waits the learner counts."""
    h = np.tanh(x @ W)
    first = h[0]
    for row in h[:3]:
        if np.any(row > first + 0.5):
            row[...] = 0
    print(h.shape, len(h), f"{np.mean(h):.3f}")
    return fl.cpu(h)


@exercise("06.1", "hidden waits, counted", look_at="the table in section 3: who has to know a number?")
def waits(waits: Any) -> str:
    x = fl.gpu(np.linspace(-1, 1, 32, dtype=np.float32).reshape(8, 4))
    with fl.receipt() as r, put_aside():
        _program(x, fl.gpu(np.ones((4, 4), np.float32)))
    right = r.synchronizations
    if waits == right:
        return f"{right} waits: the if for each of three rows, the text with the mean in it, and cpu"
    for number, message in {
        0: "something has to wait: at the end the numbers are on the host",
        1: "cpu waits; but the if has to know something, too, and so does the text",
        2: "the if waits, too: it has to know which way to go",
        3: "how often does the if run? And after its loop two more lines have to know a number",
        4: "one is missing: three times the if, and what else has to know a number? There are two more",
        6: "one too many: the host knows len(h) and h.shape, and h[0] and h[:3] stay on the GPU",
    }.items():
        if waits == number:
            raise NotRight(message, yours=f"{number} wait{'' if number == 1 else 's'}")
    if isinstance(waits, (int, np.integer)):
        raise NotRight("too many: neither rows nor comparisons wait, only what has to know a number", f"{waits} waits")
    raise NotRight("that's not a number of waits", repr(waits), "a whole number below 10")


# -- 06.2 ---------------------------------------------------------------------------------------------------------


@exercise("06.2", "a stopwatch", look_at="section 4: wait, clock, run, wait, clock")
def time_it(time_it: Any) -> str:
    calls: list[int] = []

    def stopwatch(A: Any, B: Any) -> tuple[Any, float]:
        def product() -> Any:
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
    if not calls:
        raise NotRight("time_it didn't run f: it's a function, and f() runs it", expected=expected)
    if len(calls) > 1:
        raise NotRight(
            "time_it runs f() once: a second step of a training, say, would change the weights again",
            f"{len(calls)} runs",
            "1 run",
        )
    if isinstance(found, bool) or not isinstance(found, (int, float, np.integer, np.floating)):
        raise NotRight("time_it returns the seconds, a number", shown(found), expected)
    found = float(found)
    if abs(found - right) < 0.02 * right:
        return f"{duration(found)} for the product, though three others were in the queue"
    _wrong_time(time_it, found, right, expected)
    raise AssertionError("unreachable")


def _wrong_time(time_it: Any, found: float, right: float, expected: str) -> None:
    names = getattr(getattr(time_it, "__code__", None), "co_names", ())
    if {"perf_counter", "time", "monotonic", "process_time", "timeit"} & set(names):
        raise NotRight("that's this machine's time to simulate it; fl.clock() gives the device's", duration(found))
    if found < 0:
        raise NotRight("a negative time: the second reading minus the first", duration(found), expected)
    if abs(found / 1000 - right) < 0.02 * right or abs(found / 1e6 - right) < 0.02 * right:
        raise NotRight("the number is right, but fl.clock() gives seconds", f"{found:.4g}", f"{right:.4g}")
    if found < 0.1 * right:
        raise NotRight(
            f"{duration(found)}: you timed the order, not the meal. Wait at the end, too", duration(found), expected
        )
    if abs(found - 4 * right) < 0.1 * right:
        raise NotRight(
            f"{duration(found)}: three earlier products are in it. Wait before you first read the clock",
            duration(found),
            expected,
        )
    raise NotRight("that's not the product's time", duration(found), expected)


# -- 06.3 ---------------------------------------------------------------------------------------------------------


def _task() -> tuple[Any, list[tuple[Any, Any]]]:
    """A model and forty batches on the simulated device."""
    random = np.random.default_rng(6)

    def numbers(*shape: int) -> Any:
        return random.standard_normal(shape, dtype=np.float32)

    model = fl.Chain(fl.Dense.of(numbers(8, 4), numbers(8), np.tanh), fl.Dense.of(numbers(1, 8), None))
    sizes = [5] * 39 + [2]  # the last batch is smaller: a mean of the batches' shares isn't the share of all answers
    return fl.gpu(model), [fl.gpu((numbers(n, 4), numbers(n, 1))) for n in sizes]


def _evaluated(model: Any, batches: list[tuple[Any, Any]]) -> tuple[float, float]:
    outs = [(fl.cpu(model(x)), fl.cpu(y)) for x, y in batches]
    right = sum(int(np.sum((out > 0) == (y > 0))) for out, y in outs)
    return right / sum(len(y) for _, y in outs), max(float(fl.mse(out, y)) for out, y in outs)


@exercise("06.3", "the hidden waits of a loop", look_at="r.by_line() of a receipt around evaluate(model, batches)")
def evaluate(evaluate: Any) -> str:
    model, batches = _task()
    share, worst = _evaluated(model, batches)
    model(batches[0][0])
    with fl.receipt() as r:
        found = evaluate(model, batches)
    expected = f"({share:.3f}, {worst:.3f})"
    if not isinstance(found, tuple) or len(found) != 2:
        raise NotRight("evaluate returns two numbers, the share of right answers and the largest loss", shown(found))
    for name, number in zip(("the share of right answers", "the largest loss"), found):
        if fl.device_of(number) not in (None, fl.get_device("CPU")):
            raise NotRight(
                f"{name} is still on the GPU: read it once, after the loop",
                f"an array on {fl.device_of(number)}",
                "a number",
            )
    of_batches = sum(_evaluated(model, [batch])[0] for batch in batches) / len(batches)
    _same_numbers(tuple(map(float, found)), (share, worst), of_batches, expected)
    _few_waits(r)
    return f"the same two numbers with {'1 wait' if r.synchronizations == 1 else f'{r.synchronizations} waits'}, not 81"


def _same_numbers(found: tuple[float, ...], wanted: tuple[float, float], of_batches: float, expected: str) -> None:
    yours = f"({found[0]:.3f}, {found[1]:.3f})"
    if abs(found[0] - of_batches) < 1e-6:
        raise NotRight(
            "that's the mean of the batches' shares; the last batch is smaller, and counts less", yours, expected
        )
    if abs(found[0] - wanted[0]) > 1e-6:
        raise NotRight("the share of right answers has changed", yours, expected)
    if abs(found[1] - wanted[1]) > 1e-5 * wanted[1]:
        raise NotRight("that's not the largest loss of all 40 batches", yours, expected)


def _few_waits(r: Any) -> None:
    if r.launches < 40 * 4:
        raise NotRight(
            f"{r.launches} launches: it no longer runs on the GPU", f"{r.device_to_host.count} copies to the CPU"
        )
    if r.synchronizations <= 2:
        return
    yours = f"{r.synchronizations} waits"
    costly = [costs for costs in r.by_line() if costs.waits > 2]
    if costly and "cpu(" in costly[0].line:
        raise NotRight(
            f"{yours}: a list of 40 arrays comes back in 40 copies, with 40 waits; make it one array with np.stack",
            costly[0].line,
            "2 waits at most",
        )
    where = costly[0].line if costly else yours
    raise NotRight(f"{yours}: you still read a number for each batch", where, "2 waits at most")


# -- 06.4 ---------------------------------------------------------------------------------------------------------


@exercise("06.4", "a decision without a wait", look_at="np.minimum and np.where choose on the GPU")
def clip(clip: Any) -> str:
    random = np.random.default_rng(6)
    direction = random.standard_normal((3, 4)).astype(np.float32)
    direction /= np.linalg.norm(direction)
    waited = 0
    for length, largest in ((4.0, 1.0), (0.5, 1.0), (5.0, 2.0)):
        g = fl.gpu(direction * np.float32(length))
        with fl.receipt() as r:
            found = clip(g, largest)
        waited += r.synchronizations
        _clipped(found, direction, length, largest)
    if waited:
        raise NotRight(
            f"{waited} waits for three gradients: something in there still has to know a number",
            r.by_line()[0].line if r.by_line() else None,
            "0 waits",
            "r.by_line() of a receipt around clip(g, 1.0)",
        )
    return "long gradients are shortened, short ones kept, and the host never waits"


def _clipped(found: Any, direction: np.ndarray, length: float, largest: float) -> None:
    case = f"clip of a gradient of length {length:g} to at most {largest:g}"
    if found is None or getattr(found, "shape", None) != direction.shape:
        raise NotRight(f"{case} gives an array of the gradient's shape", shown(found), "shape (3, 4)")
    if fl.device_of(found) == fl.get_device("CPU"):
        raise NotRight(f"{case} is on the CPU; it stays on the GPU, where the weights are")
    values = fl.cpu(found)
    now, right = float(np.linalg.norm(values)), min(length, largest)
    if not abs(now - right) < 1e-4:
        why = "a short gradient should stay as it is" if length <= largest else "a long gradient should get shorter"
        raise NotRight(f"{case}: {why}", f"length {now:.4g}", f"length {right:g}")
    if not np.allclose(values, direction * right, atol=1e-5):
        raise NotRight(f"{case}: its direction has changed; multiply all of it by the same number")
