"""Lesson 14, inside a GPU: questions and checks."""

from __future__ import annotations

from typing import Any

import numpy as np

import fluxlite as fl
from simgpu.jit.errors import KernelError

from ..exercises import NotRight, exercise
from ..guesses import Question

QUESTIONS = {
    "14-A": Question(
        "d",
        a="there are enough lanes, but a block stays on one multiprocessor, and that one has 64.",
        b="a warp gets its orders together, and a multiprocessor has lanes for two warps.",
        c="that's a CPU's way, and on a GPU each lane would lose: its clock is slower.",
        d="a block stays on one multiprocessor, and that has 64 lanes. To use more of the chip, use more blocks.",
    ),
    "14-B": Question(
        "c",
        a="nobody checks: that would cost time in each of a million reads.",
        b="they run as well as the others do. Nothing tells them that they're too many.",
        c="they read and write whatever lies behind the array: another array, perhaps.",
        d="a GPU doesn't count from the end or start again; that's NumPy's politeness.",
    ),
    "14-C": Question(
        "c",
        a="as many numbers are *used*. But memory comes in sectors, and you pay for all of what's in them.",
        b="look at the picture: how many numbers of a sector does a warp use down a column?",
        c="each number brings 7 others along that this warp doesn't use.",
        d="a row isn't a single sector: 32 numbers are 4 sectors of 32 bytes.",
    ),
    "14-D": Question(
        "b",
        a="a real GPU doesn't know that anything is wrong.",
        b="it depends on which warp came first, and that's different each time.",
        c="it would be, if every warp took the same time in each run. Nothing makes sure of that.",
        d="sometimes, and that's the worst of it: the test passes, and the program fails next week.",
    ),
    "14-E": Question(
        "a",
        a="it's one order, and everything it needs lies a few cycles away.",
        b="the arithmetic was never the cost. The host's orders were, and there's only one left.",
        c="slower than 2,560 lanes could be, yes. But they had nothing to do before, either.",
    ),
}


# -- what the checks have in common -----------------------------------------------------------------------------------

_PLAIN = {
    "OutOfBounds": "a thread reads or writes outside of an array",
    "DataRace": "a data race: two threads meet at one element, and nothing says which comes first",
    "StuckBarrier": "a barrier that some threads never reach: the others would wait forever",
    "NeverWritten": "a thread reads what no thread has written",
    "TooMuch": "that's more than a card has",
    "Endless": "a loop that doesn't end",
    "Refused": "that's no kernel that a GPU could run",
}


def _ran(kernel: Any, blocks: Any, threads: Any, arrays: tuple[Any, ...], **why: str) -> Any:
    """The figures of a launch. `why` says what each kind of error means in this exercise."""
    if not hasattr(kernel, "figures") or getattr(kernel, "device", False):
        what = getattr(kernel, "__name__", None) or type(kernel).__name__
        raise NotRight("that's no kernel: keep the line @jit.rawkernel() above the function", what)
    rounds, kernel.most_rounds = kernel.most_rounds, 10_000  # more than any exercise needs; an endless loop ends sooner
    try:
        kernel[blocks, threads](*arrays)
    except KernelError as error:
        kind, found = type(error).__name__, f"{error.where}\n{error.what}"
        if kind not in why:  # else that's this exercise's advice, and the error's own is for any kernel
            found = f"{found}\n{error.advice}".strip()
        raise NotRight(why.get(kind) or _PLAIN.get(kind, kind), found) from None
    finally:
        kernel.most_rounds = rounds
    return kernel.figures


def _numbers(*shape: int, seed: int = 14) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def _like(x: Any, *shape: int) -> Any:
    return fl.gpu(np.zeros(shape, np.float32)) if shape else fl.gpu(np.zeros_like(x))


def _same(out: Any, right: np.ndarray, name: str = "out") -> None:
    """Raises `NotRight` for the first element that differs."""
    found = fl.cpu(out)
    wrong = np.argwhere(~np.isclose(found, right, rtol=1e-4, atol=1e-3))
    if len(wrong):
        place = ", ".join(map(str, wrong[0]))
        first = tuple(wrong[0])
        raise NotRight(
            f"{len(wrong):,} of {right.size:,} numbers are wrong, {name}[{place}] first of all",
            f"{found[first]:.4g}",
            f"{right[first]:.4g}",
        )


def _busiest(figures: Any) -> str:
    return ", ".join(f"{n:,} {name[:-1] if n == 1 else name}" for name, n in figures.busiest.items() if n)


def _score(what: str, figures: Any, par: str) -> str:
    """As in golf: what the busiest thread reads and writes, below what's right about it."""
    rows = ("your score", _busiest(figures)), ("par", par)
    return "\n".join([what, *(f"      {name:<11} {text}" for name, text in rows)])


# -- 14.1 -------------------------------------------------------------------------------------------------------------


@exercise("14.1", "a map", look_at="twice in section 2: one thread, one element")
def affine(affine: Any) -> str:
    x = _numbers(1024)
    there, out, right = fl.gpu(x), _like(x), 3 * x + 1
    figures = _ran(
        affine, 4, 256, (there, out),
        DataRace="several threads write the same element. Each has one of its own: jit.grid(1) is its number",
        OutOfBounds="a thread leaves the array: there are 1,024 elements, and 1,024 threads, each with its own number",
    )  # fmt: skip
    found = fl.cpu(out)
    if not np.array_equal(fl.cpu(there), x):
        raise NotRight("x has changed: the results belong in out")
    if not found.any():
        raise NotRight("out is still all zeros: a kernel returns nothing, it writes into out")
    if np.allclose(found[:256], right[:256]) and not found[256:].any():
        raise NotRight(
            "only the first 256 are there: threadIdx.x counts from 0 in every block. jit.grid(1) counts on",
            "4 blocks wrote out[0] to out[255]",
        )
    _same(out, right)
    return _score("each element by a thread of its own", figures, "1 read, 1 write")


# -- 14.2 -------------------------------------------------------------------------------------------------------------


@exercise("14.2", "a guard", look_at="section 3: if i < x.size")
def pairs(pairs: Any) -> str:
    for size, blocks, threads in ((1000, 4, 256), (77, 1, 128), (1024, 4, 256)):
        x = _numbers(size)
        right = x.copy()
        right[:-1] += x[1:]
        there, out = fl.gpu(x), _like(x)
        what = f"with {size:,} elements and {blocks * threads:,} threads"
        figures = _ran(
            pairs, blocks, threads, (there, out),
            OutOfBounds=f"{what}, a thread goes past the end. Two things have to be guarded: i, and i + 1",
            DataRace=f"{what}, two threads write the same element, or read what another one writes",
        )  # fmt: skip
        found = fl.cpu(out)
        if np.allclose(found[:-1], right[:-1]) and not np.isclose(found[-1], right[-1]):
            raise NotRight(
                f"{what}, the last element is wrong: it has no right neighbour, and stays as it is",
                f"out[{size - 1}] is {found[-1]:.4g}",
                f"{right[-1]:.4g}",
            )
        if not found.any():
            raise NotRight(f"{what}, out is still all zeros")
        _same(out, right)
    return _score("with 77, 1,000 and 1,024 elements", figures, "2 reads, 1 write")


# -- 14.3 -------------------------------------------------------------------------------------------------------------


@exercise("14.3", "neighbours read neighbours", look_at="what do lanes 0 and 1 of a warp read at the same moment?")
def eight_each(eight_each: Any) -> str:
    for blocks, threads in ((8, 128), (2, 64)):
        x = _numbers(8 * blocks * threads)
        out = _like(x)
        what = f"with {blocks} blocks of {threads} threads"
        figures = _ran(
            eight_each, blocks, threads, (fl.gpu(x), out),
            OutOfBounds=f"{what}, a thread leaves the array: the step has to be the number of all threads",
            DataRace=f"{what}, several threads write the same element: the step has to be the number of all threads",
        )  # fmt: skip
        found = fl.cpu(out)
        missing = int(np.sum(found == 0))
        if missing:
            raise NotRight(f"{what}, {missing:,} of {x.size:,} elements of out were never written", expected="all")
        _same(out, 2 * x)
        busiest = max(figures.busiest["reads"], figures.busiest["writes"])
        if busiest > 8:
            raise NotRight(f"{what}, the work isn't shared: one thread handles {busiest:,} elements", expected="8 each")
        if figures.share < 0.99:
            line = min(figures.lines, key=lambda line: line.share)
            raise NotRight(
                f"the values are right, but only {figures.share:.0%} of what's fetched is used: in each round, "
                "neighbours should read side by side",
                f"{figures.sectors:,} sectors; {line.text}",
                f"{x.nbytes * 2 // 32:,} sectors, 100% used",
            )
    return _score(f"{figures.share:.0%} of the sectors used", figures, "8 reads, 8 writes")


# -- 14.4 -------------------------------------------------------------------------------------------------------------


@exercise("14.4", "a sum by halves", look_at="between which two lines must everyone have finished?")
def block_sum(block_sum: Any) -> str:
    x = _numbers(1024)
    out = _like(x, 4)
    figures = _ran(
        block_sum, 4, 256, (fl.gpu(x), out),
        DataRace="there's still a race: a thread reads what another may not have written yet",
        StuckBarrier="a barrier inside an if that only some threads enter: the others never come, and everyone waits",
        NeverWritten="a thread reads a place in shared memory that nobody has written",
    )  # fmt: skip
    right = x.reshape(4, 256).sum(1)
    if np.allclose(fl.cpu(out), x.reshape(4, 256)[:, 0]):
        raise NotRight("out has each block's first number: nothing was added to it")
    _same(out, right)
    if figures.atomics:
        raise NotRight(
            f"right sums, by {figures.atomics:,} atomics: the threads stand in a queue. Add by halves in shared memory",
            expected="0 atomics",
        )
    alone = max(figures.busiest["reads"], figures.busiest["shared reads"])
    if alone > 64:
        raise NotRight(
            f"right sums, but one thread reads {alone:,} numbers, and the others watch: add by halves",
            _busiest(figures),
            "17 shared reads",
        )
    return _score("four sums, and no race", figures, "1 read, 1 write, 17 shared reads, 9 shared writes")


# -- 14.5 -------------------------------------------------------------------------------------------------------------


@exercise("14.5", "a dot product with few atomics", look_at="section 6, and block_sum: one atomic for each block")
def dot(dot: Any) -> str:
    for size, blocks in ((2000, 8), (300, 2)):
        x, y = _numbers(size), _numbers(size, seed=15) + 1
        out = _like(x, 1)
        what = f"with {size:,} elements in {blocks} blocks of 256 threads"
        figures = _ran(
            dot, blocks, 256, (fl.gpu(x), fl.gpu(y), out),
            DataRace=f"{what}, a race: blocks never wait for each other, so only jit.atomic_add may add to out[0]",
            OutOfBounds=f"{what}, a thread leaves an array: x has {size:,} elements, and out has a single one",
            StuckBarrier=f"{what}, some threads never reach a barrier: keep it out of every if",
            NeverWritten=f"{what}, a thread without an element leaves its place in shared memory empty: it needs a 0",
        )  # fmt: skip
        found, right = float(fl.cpu(out)[0]), float(x @ y)
        if abs(found - right) > 1e-2:
            words = f"{what}, that's not the dot product"
            if abs(found - float(x.sum())) < 1e-2:
                words = f"{what}, that's the sum of x: y is missing"
            elif abs(found - float(x[:256] @ y[:256])) < 1e-2:
                words = f"{what}, that's the first block's share alone"
            elif abs(found - 256 * right) < 1:
                words = f"{what}, that's 256 times as large: only thread 0 adds its block's sum to out"
            raise NotRight(words, f"{found:.3f}", f"{right:.3f}")
        if figures.atomics > blocks:
            raise NotRight(
                f"the right number, with {figures.atomics:,} atomics: add up in each block first, then once for all",
                f"{figures.atomics:,} atomics",
                f"at most {blocks}, one for each block",
            )
        alone = max(figures.busiest["reads"], figures.busiest["shared reads"])
        if alone > 64:
            raise NotRight(
                f"the right number, but one thread reads {alone:,} numbers, and the others watch: add by halves",
                _busiest(figures),
                "17 shared reads",
            )
    ones = fl.gpu(np.ones(1 << 18, np.float32))
    many = _ran(dot, 1024, 256, (ones, ones, _like(ones, 1)))
    what = f"{many.atomics:,} atomics for {ones.size:,} products, {many.time.partition(',')[0]}"
    return _score(what, figures, "2 reads, 1 write, 17 shared reads, 9 shared writes")


# -- 14.6 -------------------------------------------------------------------------------------------------------------


@exercise("14.6", "a product by tiles", look_at="each tile: fetch, barrier, use, barrier")
def by_tiles(by_tiles: Any) -> str:
    for rows, inner, columns in ((64, 64, 64), (32, 48, 64)):
        a, b = _numbers(rows, inner), _numbers(inner, columns, seed=15)
        out = _like(a, rows, columns)
        what = f"a ({rows}, {inner}) by ({inner}, {columns}) product"
        figures = _ran(
            by_tiles, (columns // 16, rows // 16), (16, 16), (fl.gpu(a), fl.gpu(b), out),
            DataRace=f"{what} has a race: a tile is read before all of it is there, or overwritten while it's in use",
            OutOfBounds=f"{what}: a thread leaves an array. Rows and columns may be mixed up",
            NeverWritten=f"{what}: a thread reads a place of a tile that nobody has filled",
        )  # fmt: skip
        right = a @ b
        if inner > 16 and np.allclose(fl.cpu(out), a[:, :16] @ b[:16], rtol=1e-3, atol=1e-3):
            raise NotRight(f"{what}: that's the first tile's share. The others have to be added", expected="all tiles")
        _same(out, right)
        par = 2 * inner // 16
        if figures.busiest["reads"] > par:
            raise NotRight(
                f"{what} is right, but each thread reads {figures.busiest['reads']:,} numbers from the card's memory",
                f"{figures.busiest['reads']:,} reads",
                f"{par}: one of each tile of a, one of each tile of b",
            )
    reads = f"{par} reads, 1 write, {2 * inner} shared reads, {par} shared writes"
    return _score("both products, tile by tile", figures, reads)
