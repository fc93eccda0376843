"""Lesson 07, CPU against GPU: questions and checks."""

from __future__ import annotations

from typing import Any

import numpy as np

import fluxlite as fl
from simgpu.presets import preset

from ...receipts.seconds import duration
from ..crossing import SIZES, Crossover, crossover
from ..exercises import NotRight, exercise
from ..guesses import Question
from ..sine_wave import problem

QUESTIONS = {
    "07-A": Question(
        "a",
        a="starting, loading and drawing take most of it. They take as long for a small network as for a large one.",
        b="it's less: 4,000 steps with 48 numbers are done soon, while loading the libraries takes as long as ever.",
        c="that would be so if the process only trained. It also starts Python, loads libraries and draws.",
    ),
    "07-B": Question(
        "b",
        a="that was the author's guess. But there are only a few hundred bytes. What a copy costs is its beginning, "
        "and there are only 24 of them.",
        b="about 100,000 orders of 15 µs or more. The GPU works on each of them meanwhile.",
        c="there are about two million operations: the card does that many in less than a microsecond.",
    ),
    "07-C": Question(
        "a",
        a="a small part of 13.6 s. Where the rest went, two totals can't tell.",
        b="each launch would have to take several times as long as it does in our model.",
        c="each launch would have to take about ten times as long as it does in our model.",
    ),
    "07-D": Question(
        "c",
        a="that's about what's left when the copies count, too. Without a wait the clock sees none of it.",
        b="that's the ratio after a wait. Without a wait, the clock stops when the order is given.",
        c="the clock stopped when the order was given. It didn't wait for the product.",
    ),
    "07-E": Question(
        "b",
        a="half the bytes take half the time only where bytes are what takes the time: in large networks.",
        b="at 6 units a step is the cost of calling NumPy, and that's the same for numbers of 4 and of 8 bytes.",
        c="the hardware plays a part, too: at 2,048 units you can see it.",
    ),
    "07-F": Question(
        "c",
        a="at 8 the CPU is many times as fast: two dozen launches take longer than the whole step on a CPU.",
        b="at 64 the CPU's line is still nearly flat, and far below the launches.",
        c="from there on, the step takes longer on the CPU than the GPU's launches and copies.",
        d="the GPU's line stays flat for long, and the CPU's doesn't: they have to meet.",
    ),
}


def _number(given: Any, what: str) -> float:
    """A learner's number, however it's written. Raises `NotRight` if it isn't a number."""
    if isinstance(given, str):
        raise NotRight(f"{what} is text; write a number, without quotes", repr(given), "a number")
    try:
        return float(fl.cpu(given))
    except (TypeError, ValueError):
        raise NotRight(f"{what} isn't a number", repr(given), "a number") from None


def _near(value: float, wanted: float, by: float = 0.05) -> bool:
    return abs(value - wanted) <= by * wanted


# -- 07.1 -------------------------------------------------------------------------------------------------------------

LAUNCHES, COPIES, BYTES = 28 * 4_000, 24, 432


@exercise("07.1", "from a receipt to seconds", look_at="the five bars: which is the longest, and what runs meanwhile?")
def seconds_by_hand(seconds: Any) -> str:
    given, t4 = _number(seconds, "seconds"), preset("NVIDIA T4")
    launches, work = LAUNCHES * t4.launch, LAUNCHES * t4.floor
    copies = COPIES * t4.latency + BYTES / t4.pageable
    yours, expected = f"{given:.4g} s", "what the host needs for its orders, and for the copies"
    if _near(given, launches + copies):
        each = duration(t4.launch)
        return (
            f"{duration(launches + copies)}: {LAUNCHES:,} launches of {each}; the copies are {duration(copies)} of it"
        )
    if _near(given, 28 * t4.launch):
        raise NotRight("that is a single step; there are 4,000 of them", yours, expected)
    if 0 <= given <= 2 * copies:
        raise NotRight(f"you charged the copies, not the {LAUNCHES:,} launches", yours, expected)
    if _near(given, launches + work, 0.01) or _near(given, launches + work + copies, 0.01):
        word = f"{duration(launches + work)}: host and GPU work at the same time, so their times don't add up"
        raise NotRight(word, yours, "the longer of the two")
    if _near(given, work):
        raise NotRight("that's how long the GPU works; but the host takes longer to order it", yours, expected)
    if _near(given, LAUNCHES / 28 * t4.launch):
        raise NotRight("that is one launch for each step; there are 28", yours, expected)
    if _near(given, 26 * 4_000 * t4.launch):
        raise NotRight("that is 26 launches for each step, as with withgradient; here there are 28", yours, expected)
    if any(_near(given, launches * unit) for unit in (1e3, 1e6, 1e9)):
        raise NotRight("the digits are right, the unit isn't: give seconds", yours, "15 µs are 15e-6 seconds")
    raise NotRight("that's not what the receipt and the figures of the card give", yours, expected)


# -- 07.2 -------------------------------------------------------------------------------------------------------------

_SIDES = (2048, 1024)
_TOLERANCE = 0.02


@exercise("07.2", "a bench of your own", look_at="the traps of this section: which of them is still in it?")
def own_bench(bench: Any) -> str:
    x, smaller = (np.zeros((side, side), np.float32) for side in _SIDES)
    once, quick = (float(fl.estimate(np.matmul, a, a, shapes_only=True).seconds) for a in (x, smaller))
    given = _bench_of_product(bench, x, first_use=False)
    if not _near(given, once, _TOLERANCE):
        raise _wrong_bench(bench, given, once)
    other = _bench_of_product(bench, smaller, first_use=False)
    if not _near(other, quick, _TOLERANCE):
        words = f"right for a product of {_SIDES[0]} × {_SIDES[0]}, but not for one of {_SIDES[1]} × {_SIDES[1]}"
        raise NotRight(words, duration(other), f"{duration(quick)}: measure it, whatever f is")
    first = _bench_of_product(bench, x, first_use=True)
    if first > 2 * once:
        raise NotRight(
            f"{duration(first)} for the first product of a program: loading it is in your time",
            yours=duration(first),
            expected=f"{duration(once)}: one call before the clock starts, to warm up",
        )
    return f"{duration(once)} for the product, also after three others, and also for the first of its kind"


def _bench_of_product(bench: Any, x: np.ndarray, first_use: bool) -> float:
    """What a learner's `bench` reports for a product launched after three others. Only shapes are computed."""

    def run(x: Any) -> Any:
        device = fl.gpu_device()
        for _ in range(0 if first_use else 3):
            x @ x
        return bench(lambda: x @ x, device)

    given = fl.estimate(run, x, shapes_only=True, first_use=first_use).result
    if given is None:
        raise NotRight("your bench returns None", None, "the seconds: return what you have measured")
    if isinstance(given, (list, tuple)):
        raise NotRight("your bench returns several times", type(given).__name__, "one number, for example the median")
    return _number(getattr(given, "median", given), "what bench returns")


def _wrong_bench(bench: Any, given: float, once: float) -> NotRight:
    yours, expected = duration(given), f"{duration(once)} for the product"
    names = getattr(getattr(bench, "__code__", None), "co_names", ())
    if _near(given, preset("NVIDIA T4").library):
        return NotRight(
            f"{yours}: you timed the order, not the meal", yours, f"{expected}: wait before you stop the clock"
        )
    if given <= 0:
        return NotRight("no time has passed on your clock", yours, "fl.clock() read before and after f()")
    products = round(given / once)
    if _near(given, products * once, 0.02) and 2 <= products <= 5:
        word = f"{yours}: {products - 1} earlier products are in it"
        return NotRight(word, yours, f"{expected}: wait before you start the clock")
    if _near(given, once * 1e3) or _near(given, once * 1e6):
        return NotRight("the time is right, the unit isn't", f"{given:.3g}", f"seconds: {once:.3g}")
    if {"perf_counter", "time", "default_timer", "monotonic"} & set(names):
        return NotRight(
            "your clock is that of this machine, which only plays the GPU", yours, f"{expected}, by fl.clock()"
        )
    return NotRight("that's not the time of one product", yours, expected)


# -- 07.3 -------------------------------------------------------------------------------------------------------------

EPOCHS = 20  # for the run whose launches count; the one for the loss has 200
STEPS = 20 * EPOCHS
FEWEST, MOST = 25 * STEPS, 27 * STEPS  # launches: 26 per step, and one of these adds to the loss, wherever that's done


@exercise(
    "07.3", "a loop that waits too often", look_at="the receipt's line 'synchronizations', and what float(…) does"
)
def fewer_waits(train: Any) -> str:
    _losses(train(*problem()))
    e = fl.estimate(train, *problem(), EPOCHS, like="NVIDIA T4")
    launches, waits = e.receipt.launches or 0, e.receipt.synchronizations
    if launches == 0:
        raise NotRight("0 launches: it no longer runs on the GPU", "0 launches", f"about {MOST:,} in {EPOCHS} epochs")
    allowed = EPOCHS // 10 + 1
    if waits > allowed:
        often = "at every step" if waits >= STEPS else "in every epoch" if waits >= EPOCHS else "too often"
        raise NotRight(
            f"{waits} waits in {EPOCHS} epochs: something is read {often}",
            yours=f"{waits} waits",
            expected=f"at most {allowed}: the loss is reported in every tenth epoch",
        )
    if not FEWEST <= launches <= MOST:
        much = (
            "part of it no longer runs on the GPU" if launches < FEWEST else "something is computed that wasn't before"
        )
        raise NotRight(f"{launches:,} launches in {EPOCHS} epochs: {much}", f"{launches:,}", f"{FEWEST:,} to {MOST:,}")
    counted = f"{waits} wait{'' if waits == 1 else 's'}"
    return f"loss 0.0649 as before, {counted} in {EPOCHS} epochs instead of {STEPS}"


def _losses(history: Any) -> None:
    """Check that a history holds the losses of 200 epochs, one in ten."""
    if history is None or not hasattr(history, "__len__"):
        raise NotRight("train returns no list of losses", repr(history), "the history: 20 losses")
    if len(history) == 0:
        raise NotRight("the history is empty: no loss is reported any more", "0 losses", "20: every tenth epoch's")
    last = _number(history[-1], "the last loss")
    if len(history) != 20:
        raise NotRight(f"the history has {len(history)} losses", f"{len(history)}", "20: every tenth epoch's")
    if abs(last - 0.0649) > 0.0005:
        raise NotRight(f"the last loss is {last:.4f}", f"{last:.4f}", "0.0649, the sum over the epoch's 20 steps")


# -- 07.4 -------------------------------------------------------------------------------------------------------------

BATCH = 1024


@exercise(
    "07.4", "read off the crossing", look_at="crossover(1024, …): which copies and which wait does the program have?"
)
def read_off(size: Any, times: Any) -> str:
    given_size, given_times, right = _number(size, "size"), _number(times, "times"), crossover(BATCH)
    unwaited = crossover(BATCH, copies=False, wait=False)
    yours = f"{given_size:g}, {given_times:g} times"
    if given_times > 2 * right.faster[SIZES[-1]] and _near(given_times, unwaited.faster[SIZES[-1]]):
        raise NotRight(
            f"{given_times:,.0f} times: that's the time of the launches alone, nothing waited for the GPU",
            yours,
            "this program has to wait: the loss comes back",
        )
    if given_size != right.smallest:
        raise _wrong_size(given_size, given_times, yours, right)
    if not _near(given_times, right.faster[SIZES[-1]]):
        raise _wrong_times(given_times, yours, right)
    most = f"{right.faster[SIZES[-1]]:.0f} times as fast at {SIZES[-1]}"
    return f"from {right.smallest} on; {most}, in a comparison with a model"


def _wrong_size(size: float, times: float, yours: str, right: Crossover) -> NotRight:
    expected = "the first size of the table at which the GPU wins, and keeps winning"
    if right.crossing is not None and _near(size, right.crossing, 0.03):
        return NotRight("that's where the lines cross; we want a size of the table", yours, expected)
    others = [batch for batch in (1, 64) if size == crossover(batch).smallest]
    others = [batch for batch in others if _near(times, crossover(batch).faster[SIZES[-1]])] or others
    if others:
        return NotRight(f"that's with a batch of {' or '.join(map(str, others))}", yours, f"a batch of {BATCH}")
    if size in right.faster and right.faster[int(size)] <= 1:
        return NotRight(f"at {size:g} the CPU is still faster", yours, expected)
    return NotRight(
        "the GPU wins from a smaller size on" if size in SIZES else "the table has no such size",
        yours,
        expected,
    )


def _wrong_times(times: float, yours: str, right: Crossover) -> NotRight:
    expected = f"the CPU's time over the GPU's, at {SIZES[-1]}"
    if times and _near(1 / times, right.faster[SIZES[-1]]):
        return NotRight("the size is right; the ratio is upside down", yours, expected)
    if right.smallest and _near(times, right.faster[right.smallest]):
        return NotRight(f"the size is right; the ratio is the one at {right.smallest}", yours, expected)
    return NotRight("the size is right, the ratio isn't", yours, expected)
