"""Lesson 06, CPU against GPU: checks."""

import numpy as np

import fluxlite as fl
from fluxlite.messages import many
from fluxlite.receipts import duration
from simgpu import preset

from ..crossing import SIZES, crossover
from ..kit.exercises import exercise
from ..kit.vocabulary import number, refuse, wrong_if
from ..sine_wave import problem

LAUNCHES, COPIES, BYTES = 28 * 4_000, 24, 432


def _near(value, wanted, by=0.05):
    return abs(value - wanted) <= by * wanted


@exercise("06.1", "from a receipt to seconds", look_at="the five bars: which is the longest, and what runs meanwhile?")
def seconds_by_hand(seconds):
    given, t4 = number(seconds, "seconds"), preset("NVIDIA T4")
    launches, work = LAUNCHES * t4.launch, LAUNCHES * t4.floor
    copies = COPIES * t4.latency + BYTES / t4.pageable
    refuse({} if _near(given, launches + copies) else {
        f"{duration(launches + work)}: host and GPU work at the same time, so their times don't add up":
            any(_near(given, launches + work + more, 0.01) for more in (0, copies)),
        "that is a single step; there are 4,000 of them": _near(given, 28 * t4.launch),
        f"you charged the copies, not the {LAUNCHES:,} launches": 0 <= given <= 2 * copies,
        "that's how long the GPU works; but the host takes longer to order it": _near(given, work),
        "that is one launch for each step; there are 28": _near(given, 4_000 * t4.launch),
        "that is 26 launches for each step, as with withgradient; here there are 28":
            _near(given, 26 * 4_000 * t4.launch),
        "the digits are right, the unit isn't: give seconds":
            any(_near(given, launches * factor) for factor in (1e3, 1e6, 1e9)),
        "that's not what the receipt and the figures of the card give": True,
    }, f"{given:.4g} s", "what the host needs for its orders, and for the copies")  # fmt: skip
    what = f"{LAUNCHES:,} launches of {duration(t4.launch)}; the copies are {duration(copies)} of it"
    return f"{duration(launches + copies)}: {what}"


@exercise("06.2", "a bench of your own", look_at="the traps of this section: which of them is still in it?")
def own_bench(bench):
    x, smaller = (np.zeros((side, side), np.float32) for side in (2048, 1024))
    once, quick = (float(fl.estimate(np.matmul, a, a, shapes_only=True).seconds) for a in (x, smaller))
    given = _bench_of_product(bench, x, first_use=False)
    wrong, yours, products = not _near(given, once, 0.02), duration(given), round(given / once)
    names = getattr(getattr(bench, "__code__", None), "co_names", ())
    refuse({
        f"{yours}: you timed the order, not the meal. Wait before you stop the clock":
            wrong and _near(given, preset("NVIDIA T4").library),
        "no time has passed on your clock": given <= 0,
        f"{yours}: {products - 1} earlier products are in it. Wait before you start the clock":
            _near(given, products * once, 0.02) and 2 <= products <= 5,
        "the time is right, the unit isn't: give seconds": any(_near(given, once * factor) for factor in (1e3, 1e6)),
        "your clock is that of this machine, which only plays the GPU":
            wrong and {"perf_counter", "time", "default_timer", "monotonic"} & set(names),
        "that's not the time of one product": wrong,
    }, yours, f"{duration(once)} for the product, by fl.clock() before and after f()")  # fmt: skip
    other, first = _bench_of_product(bench, smaller, first_use=False), _bench_of_product(bench, x, first_use=True)
    refuse({
        "right for a product of 2048 × 2048, but not for one of 1024 × 1024": not _near(other, quick, 0.02),
        f"{duration(first)} for the first product of a program: loading it is in your time": first > 2 * once,
    }, f"{duration(other)} for the smaller one, {duration(first)} for the first",
       f"{duration(quick)} and {duration(once)}: measure it, whatever f is, after one call to warm up")  # fmt: skip
    return f"{duration(once)} for the product, also after three others, and also for the first of its kind"


def _bench_of_product(bench, x, first_use):
    """What a learner's `bench` reports for a product launched after three others. Only shapes are computed."""

    def run(x):
        for _ in range(0 if first_use else 3):
            x @ x
        return bench(lambda: x @ x, fl.gpu_device())

    given = fl.estimate(run, x, shapes_only=True, first_use=first_use).result
    refuse({
        "your bench returns None": given is None, "your bench returns several times": isinstance(given, (list, tuple)),
    }, type(given).__name__, "one number, the seconds, for example the median")  # fmt: skip
    return number(getattr(given, "median", given), "what bench returns")


@exercise("06.3", "a loop that waits too often", "the receipt's line 'synchronizations', and what float(…) does")
def fewer_waits(train):
    history = train(*problem())  # 200 epochs
    every = "20: every tenth epoch's. The last is 0.0649, the sum over the epoch's 20 steps"
    wrong_if(not hasattr(history, "__len__"), "train returns no list of losses", repr(history), every)
    last, count = number(history[-1], "the last loss") if len(history) else np.nan, len(history)
    refuse({
        "the history is empty: no loss is reported any more": count == 0,
        f"the history has {count} losses": count != 20,
        f"the last loss is {last:.4f}": abs(last - 0.0649) > 0.0005,
    }, f"{count} losses, the last is {last:.4f}", every)  # fmt: skip
    epochs, steps = 20, 20 * 20  # of the run whose launches count
    fewest, most = 25 * steps, 27 * steps  # 26 per step, and one of these adds to the loss, wherever that's done
    e = fl.estimate(train, *problem(), epochs, like="NVIDIA T4")
    launches, waits = e.receipt.launches or 0, e.receipt.synchronizations
    allowed, counted = epochs // 10 + 1, many(waits, "wait")
    often = "at every step" if waits >= steps else "in every epoch" if waits >= epochs else "too often"
    much = "part of it no longer runs on the GPU" if launches < fewest else "something is computed that wasn't before"
    refuse({
        "0 launches: it no longer runs on the GPU": launches == 0,
        f"{counted} in {epochs} epochs: something is read {often}": waits > allowed,
        f"{launches:,} launches in {epochs} epochs: {much}": not fewest <= launches <= most,
    }, f"{launches:,} launches, {counted}", f"{fewest:,} to {most:,} launches, at most {allowed} waits")  # fmt: skip
    return f"loss 0.0649 as before, {counted} in {epochs} epochs instead of {steps}"


@exercise("06.4", "read off the crossing", "crossover(1024, …): which copies and which wait does the program have?")
def read_off(size, times):
    size, times, right = number(size, "size"), number(times, "times"), crossover(1024)
    most, other_size, wrong = right.faster[SIZES[-1]], size != right.smallest, not _near(times, right.faster[SIZES[-1]])
    unwaited = times > 2 * most and _near(times, crossover(1024, copies=False, wait=False).faster[SIZES[-1]])
    others = [batch for batch in (1, 64) if size == crossover(batch).smallest]
    others = [batch for batch in others if _near(times, crossover(batch).faster[SIZES[-1]])] or others
    refuse({
        f"{times:,.0f} times: that's the time of the launches alone, nothing waited for the GPU": unwaited,
        "that's where the lines cross; we want a size of the table": other_size and _near(size, right.crossing, 0.03),
        f"that's with a batch of {' or '.join(map(str, others))}": other_size and others,
        f"at {size:g} the CPU is still faster": right.faster.get(size, 2) <= 1,
        "the GPU wins from a smaller size on": other_size and size in SIZES,
        "the table has no such size": other_size,
        "the size is right; the ratio is upside down": wrong and times and _near(1 / times, most),
        f"the size is right; the ratio is the one at {size:g}": wrong and _near(times, right.faster.get(size, most)),
        "the size is right, the ratio isn't": wrong,
    }, f"{size:g}, {times:g} times", "the first size of the table at which the GPU wins, and keeps winning; "
       f"the CPU's time over the GPU's, at {SIZES[-1]}")  # fmt: skip
    return f"from {right.smallest} on; {most:.0f} times as fast at {SIZES[-1]}, in a comparison with a model"
