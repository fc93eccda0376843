"""Lesson 05, waiting for the GPU: checks."""

import numpy as np

import fluxlite as fl
from fluxlite.messages import many, put_aside
from fluxlite.receipts import duration

from ..kit.exercises import exercise, shown
from ..kit.puzzles import puzzle
from ..kit.vocabulary import called, described, expect, is_number, normal, on_cpu, on_gpu, refuse, same, wrong_if


def _program(x, W):
    """The lesson's program, whose waits the learner counts."""
    h = np.tanh(x @ W)
    first = h[0]
    for row in h[:3]:
        if np.any(row > first + 0.5):
            row[...] = 0
    print(h.shape, len(h), f"{np.mean(h):.3f}")
    return fl.cpu(h)


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


@exercise("05.1", "hidden waits, counted", look_at="the table in section 3: who has to know a number?")
def waits(waits):
    x = fl.gpu(np.linspace(-1, 1, 32, dtype=np.float32).reshape(8, 4))
    with fl.receipt() as r, put_aside():
        _program(x, fl.gpu(np.ones((4, 4), np.float32)))
    right = r.synchronizations
    whole = isinstance(waits, (int, np.integer))
    wrong_if(not whole, "that's not a number of waits", repr(waits), "a whole number below 10")
    many_more = "too many: neither rows nor comparisons wait, only what has to know a number"
    expect(waits, right, many_more, {
        "something has to wait: at the end the numbers are on the host": 0,
        "cpu waits; but the if has to know something, too, and so does the text": 1,
        "the if waits, too: it has to know which way to go": 2,
        "how often does the if run? And after its loop two more lines have to know a number": 3,
        "one is missing: three times the if, and what else has to know a number? There are two more": 4,
        "one too many: the host knows len(h) and h.shape, and h[0] and h[:3] stay on the GPU": 6,
    }, yours=many(waits, "wait"), expected="")  # fmt: skip
    return f"{right} waits: the if for each of three rows, the text with the mean in it, and cpu"


@exercise("05.2", "a stopwatch", look_at="section 4: wait, clock, run, wait, clock")
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
    found = float(found)
    wrong, yours = abs(found - right) >= 0.02 * right, duration(found)
    names = getattr(getattr(time_it, "__code__", None), "co_names", ())
    here = {"perf_counter", "time", "monotonic", "process_time", "timeit"} & set(names)
    refuse({
        "that's this machine's time to simulate it; fl.clock() gives the device's": wrong and here,
        "the number is right, but fl.clock() gives seconds":
            any(abs(found / factor - right) < 0.02 * right for factor in (1e3, 1e6)),
        "a negative time: the second reading minus the first": found < 0,
        f"{yours}: you timed the order, not the meal. Wait at the end, too": found < 0.1 * right,
        f"{yours}: three earlier products are in it. Wait before you first read the clock":
            abs(found - 4 * right) < 0.1 * right,
        "that's not the product's time": wrong,
    }, yours, expected)  # fmt: skip
    return f"{yours} for the product, though three others were in the queue"


def _task():
    """A model and forty batches on the simulated device."""
    draw, kind = np.random.default_rng(6).standard_normal, np.float32
    model = fl.Chain(fl.Dense.of(draw((8, 4), kind), draw(8, kind), np.tanh), fl.Dense.of(draw((1, 8), kind), None))
    sizes = [5] * 39 + [2]  # the last batch is smaller: a mean of the batches' shares isn't the share of all answers
    return fl.gpu(model), [fl.gpu((draw((n, 4), kind), draw((n, 1), kind))) for n in sizes]


def _evaluated(model, batches):
    outs = [(fl.cpu(model(x)), fl.cpu(y)) for x, y in batches]
    right = sum(int(np.sum((out > 0) == (y > 0))) for out, y in outs)
    return right / sum(len(y) for _, y in outs), max(float(fl.mse(out, y)) for out, y in outs)


@puzzle("05-2", counts="waits", par=2)
def evaluate_with_a_par(evaluate):
    _same_two_numbers(evaluate)  # once before
    return _same_two_numbers(evaluate)


@exercise("05.3", "the hidden waits of a loop", look_at="r.by_line() of a receipt around evaluate(model, batches)")
def evaluate(evaluate):
    r = _same_two_numbers(evaluate)
    waits = many(r.synchronizations, "wait")
    where = next((costs.line for costs in r.by_line() if costs.waits > 2), waits)
    each = f"{waits}: a list of 40 arrays comes back in 40 copies, with 40 waits; make it one array with np.stack"
    words = each if "cpu(" in where else f"{waits}: you still read a number for each batch"
    wrong_if(r.synchronizations > 2, words, where, "2 waits at most")
    return f"the same two numbers with {waits}, not 81"


def _same_two_numbers(evaluate):
    """The receipt of a learner's evaluate, if it returns what it should."""
    model, batches = _task()
    share, worst = _evaluated(model, batches)
    model(batches[0][0])
    found, r = called(evaluate, model, batches)
    pair = isinstance(found, tuple) and len(found) == 2
    wrong_if(not pair, "evaluate returns two numbers, the share of right answers and the largest loss", shown(found))
    for name, number in zip(("the share of right answers", "the largest loss"), found):
        wrong_if(on_gpu(number), f"{name} is still on the GPU: read it once, after the loop", described(number))
    found = tuple(map(float, found))
    of_batches = sum(_evaluated(model, [batch])[0] for batch in batches) / len(batches)
    refuse({
        "that's the mean of the batches' shares; the last batch is smaller, and counts less":
            abs(found[0] - of_batches) < 1e-6,
        "the share of right answers has changed": abs(found[0] - share) > 1e-6,
        "that's not the largest loss of all 40 batches": abs(found[1] - worst) > 1e-5 * worst,
        f"{r.launches} launches: it no longer runs on the GPU": r.launches < 40 * 4,
    }, f"({found[0]:.3f}, {found[1]:.3f})", f"({share:.3f}, {worst:.3f})")  # fmt: skip
    return r


@exercise("05.4", "a decision without a wait", look_at="np.minimum and np.where choose on the GPU")
def clip(clip):
    (direction,) = normal(6, (3, 4))
    direction /= np.linalg.norm(direction)
    waited = 0
    for length, largest in ((4.0, 1.0), (0.5, 1.0), (5.0, 2.0)):
        found, r = called(clip, fl.gpu(direction * np.float32(length)), largest)
        waited += r.synchronizations
        case, right = f"clip of a gradient of length {length:g} to at most {largest:g}", min(length, largest)
        now = float(np.linalg.norm(fl.cpu(found))) if hasattr(found, "shape") else np.nan
        why = "a short gradient should stay as it is" if length <= largest else "a long gradient should get shorter"
        refuse({
            f"{case} gives an array of the gradient's shape": getattr(found, "shape", None) != direction.shape,
            f"{case} is on the CPU; it stays on the GPU, where the weights are": on_cpu(found),
            f"{case}: {why}": not abs(now - right) < 1e-4,
            f"{case}: its direction has changed; multiply all of it by the same number":
                not same(found, direction * right),
        }, f"{described(found)}, length {now:.4g}", f"shape (3, 4), length {right:g}")  # fmt: skip
    words = f"{waited} waits for three gradients: something in there still has to know a number"
    line = next((costs.line for costs in r.by_line()), None)
    wrong_if(waited, words, line, "0 waits", "r.by_line() of a receipt around clip(g, 1.0)")
    return "long gradients are shortened, short ones kept, and the host never waits"
