"""Lesson 08, inside a GPU: checks."""

import numpy as np

from fluxlite.cuda import jit

from ..kit.exercises import NotRight, exercise
from ..kit.vocabulary import refuse, wrong_if


def _run(kernel, blocks, threads, x, right, what="", **why):
    """What a launch wrote, its figures, and what `jit.check` found. `why` says what each error means here."""
    given, launch = (x, np.zeros_like(right(x))), (blocks, threads)
    found = jit.check(kernel, right, [x.size], arguments=lambda n: given, launch=lambda n: launch, atol=1e-3)
    if error := found.error:
        kind = type(error).__name__
        meaning = what + why[kind] if kind in why else "that's no kernel that a GPU could run"
        advice = "" if kind in why else error.advice  # it's for any kernel
        raise NotRight(meaning, f"{error.where}\n{error.what}\n{advice}".strip())
    return list(found.arrays.values())[-1], found.figures, found


def _numbers(count):
    return np.random.default_rng(14).standard_normal(count, dtype=np.float32)


def _same(found):
    """Raises `NotRight` for the first element that differs, with the line that wrote it."""
    if not found:
        size = found.arrays[found.element.partition("[")[0]].size
        words = f"{found.count:,} of {size:,} numbers are wrong, {found.element} first of all"
        by = f"written in line {found.line}: {found.text}" if found.text else "no thread has written it"
        raise NotRight(words, f"{found.got:.4g}\n{by}", f"{found.wanted:.4g}")


def _score(what, figures, par):
    """As in golf: what the busiest thread reads and writes, below what's right about it."""
    score = ", ".join(f"{n:,} {name[:-1] if n == 1 else name}" for name, n in figures.busiest.items() if n)
    return f"{what}\n      {'your score':<11} {score}\n      {'par':<11} {par}"


@exercise("08.1", "a map", look_at="twice in section 2: one thread, one element")
def affine(affine):
    x = _numbers(1024)
    out, figures, found = _run(affine, 4, 256, x, lambda x: 3 * x + 1,
        DataRace="several threads write the same element. Each has one of its own: jit.grid(1) is its number",
        OutOfBounds="a thread leaves the array: there are 1,024 elements, and 1,024 threads, each with its own number",
    )  # fmt: skip
    refuse({
        "out is still all zeros: a kernel returns nothing, it writes into out": not out.any(),
        "only the first 256 are there: threadIdx.x counts from 0 in every block. jit.grid(1) counts on":
            found.element == "out[256]" and not out[256:].any(),
    })  # fmt: skip
    _same(found)
    return _score("each element by a thread of its own", figures, "1 read, 1 write")


@exercise("08.2", "a guard", look_at="section 3: if i < x.size")
def pairs(pairs):
    for size, blocks, threads in ((1000, 4, 256), (77, 1, 128), (1024, 4, 256)):
        x, what = _numbers(size), f"with {size:,} elements and {blocks * threads:,} threads, "
        out, figures, found = _run(pairs, blocks, threads, x, lambda x: x + np.append(x[1:], np.float32(0)), what,
            OutOfBounds="a thread goes past the end. Two things have to be guarded: i, and i + 1",
        )  # fmt: skip
        words = f"{what}the last element is wrong: it has no right neighbour, and stays as it is"
        wrong_if(found.element == f"out[{size - 1}]", words, f"out[{size - 1}] is {out[-1]:.4g}", f"{x[-1]:.4g}")
        _same(found)
    return _score("with 77, 1,000 and 1,024 elements", figures, "2 reads, 1 write")


@exercise("08.3", "neighbours read neighbours", look_at="what do lanes 0 and 1 of a warp read at the same moment?")
def eight_each(eight_each):
    for blocks, threads in ((8, 128), (2, 64)):
        x, step = _numbers(8 * blocks * threads), ": the step has to be the number of all threads"
        what = f"with {blocks} blocks of {threads} threads, "
        out, figures, found = _run(eight_each, blocks, threads, x, lambda x: 2 * x, what,
            OutOfBounds=f"a thread leaves the array{step}", DataRace=f"several threads write the same element{step}",
        )  # fmt: skip
        missing = int(np.sum(out == 0))
        wrong_if(missing, f"{what}{missing:,} of {x.size:,} elements of out were never written", expected="all")
        _same(found)
        words = f"the values are right, but only {figures.share:.0%} of what's fetched is used"
        wrong_if(figures.share < 0.99, f"{words}: in each round, neighbours should read side by side")
    return _score(f"{figures.share:.0%} of the sectors used", figures, "8 reads, 8 writes")


@exercise("08.4", "a sum by halves", look_at="between which two lines must everyone have finished?")
def block_sum(block_sum):
    x = _numbers(1024)
    _, figures, found = _run(block_sum, 4, 256, x, lambda x: x.reshape(4, 256).sum(1),
        DataRace="there's still a race: a thread reads what another may not have written yet",
        StuckBarrier="a barrier inside an if that only some threads enter: the others never come, and everyone waits",
    )  # fmt: skip
    _same(found)
    return _score("four sums, and no race", figures, "1 read, 1 write, 17 shared reads, 9 shared writes")
