"""Lesson 08, inside a GPU: checks."""

import ast
import copy
import re

import numpy as np

import fluxlite as fl
from fluxlite.cuda import jit
from fluxlite.words import many

from ..kit.exercises import NotRight, brief, exercise
from ..kit.vocabulary import digits, refuse, same, wrong_if
from .many_networks import THREADS, networks


def _run(kernel, blocks, threads, x, right, what="", **why):
    """What a launch wrote, its figures, and what `jit.check` found. `why` says what each error means here."""
    _check_kernel(kernel)
    given, launch = (x, np.zeros_like(right(x))), (blocks, threads)
    found = jit.check(kernel, right, [x.size], arguments=lambda n: given, launch=lambda n: launch, atol=1e-3)
    if error := found.error:
        kind = type(error).__name__
        if kind == "OutOfBounds" and re.search("index (-|4,294,967)", error.what):
            kind = "BelowZero"
        meaning = what + why[kind] if kind in why else "that's no kernel that a GPU could run"
        advice = "" if kind in why else error.advice  # it's for any kernel
        raise NotRight(meaning, f"{error.where}\n{error.what}\n{advice}".strip())
    return list(found.arrays.values())[-1], found.figures, found


def _check_kernel(kernel, takes=("x", "out"), words="two arrays: x, and then out"):
    """Raises `NotRight` for what isn't a kernel with these parameters: as many, and the first and the last in place."""
    is_kernel = isinstance(kernel, jit.Kernel) and not kernel.device
    wrong_if(not is_kernel, "that's no kernel: a kernel is a function with @jit.rawkernel() in the line above it",
             brief(kernel))  # fmt: skip
    given = list(kernel.source.parameters)
    in_order = len(given) == len(takes) and given[0] != takes[-1] and given[-1] != takes[0]
    wrong_if(not in_order, f"the kernel takes {words}", f"({', '.join(given)})", f"({', '.join(takes)})")


def _numbers(count):
    return np.random.default_rng(14).standard_normal(count, dtype=np.float32)


def _same(found, what="", slips=()):
    """Raises `NotRight` for the first element that differs, with the line that wrote it.

    `slips` are values that `out` may have, each with the words that explain them.
    """
    if not found:
        array = found.element.partition("[")[0]
        size, out = found.arrays[array].size, list(found.arrays)[-1]
        are_wrong = "is wrong" if found.count == 1 else "are wrong"
        words = f"{what}{found.count:,} of {size:,} numbers {are_wrong}, {found.element} first of all"
        by = f"written in line {found.line}: {found.text}" if found.text else "no thread has written it"
        reasons = {slip: same(found.arrays[out], value, atol=1e-3) for slip, value in dict(slips).items()}
        refuse({
            f"{what}{array} has changed: read from it, and write into {out}": array != out,
            f"{what}{out} is still all zeros: a kernel returns nothing, it writes into {out}":
                not found.text and not found.arrays[out].any(),
            **{what + slip: fits for slip, fits in reasons.items()},
            words: True,
        }, f"{found.got:.4g}\n{by}", f"{found.wanted:.4g}")  # fmt: skip


def _score(what, figures, par):
    """As in golf: what the busiest thread does, and how often a block waits, below what's right about it."""
    counts = {**figures.busiest, "barriers": figures.barriers}
    parts = [f"{n:,} {name[:-1] if n == 1 else name}" for name, n in counts.items() if n]
    if figures.queue:
        parts.append(f"{many(figures.queue, 'atomic')} on one element")
    return f"{what}\n      {'your score':<11} {', '.join(parts)}\n      {'par':<11} {par}"


@exercise("08.1", "a map", look_at="twice in section 2: one thread, one element")
def affine(affine):
    x = _numbers(1024)
    for blocks, threads in ((4, 256), (16, 64)):
        what = f"with {blocks} blocks of {threads} threads, "
        out, figures, found = _run(affine, blocks, threads, x, lambda x: 3 * x + 1, what,
            DataRace="several threads write the same element. Each has one of its own: jit.grid(1) is its number",
            OutOfBounds="a thread leaves the array: there are 1,024 elements, and 1,024 threads, each with its own "
                        "number, jit.grid(1)",
            BelowZero="a thread leaves the array: there's no element before x[0]",
        )  # fmt: skip
        words = f"only the first {threads} are there: threadIdx.x counts from 0 in every block. jit.grid(1) counts on"
        wrong_if(found.element.endswith(f"[{threads}]") and not out[threads:].any(), what + words)
        _same(found, what, {"the + 1 is missing": 3 * x, "the factor 3 is missing": x + 1, "it's 3 x + 1": 3 * (x + 1)})
        most = figures.busiest["writes"]
        words = f"the values are right, but one thread writes {most:,} times: once is enough, with a thread for each"
        wrong_if(most > 1, words, many(most, "write"), "1 write")
    return _score("each element by a thread of its own", figures, "1 read, 1 write")


@exercise("08.2", "a guard", look_at="section 3: if i < x.size")
def pairs(pairs):
    def right(x):
        return x + np.append(x[1:], np.float32(0))

    for size, blocks, threads in ((1024, 4, 256), (1000, 4, 256), (77, 1, 128)):  # first all have an element
        x, what = _numbers(size), f"with {size:,} elements and {blocks * threads:,} threads, "
        out, figures, found = _run(pairs, blocks, threads, x, right, what,
            OutOfBounds="a thread goes past the end. Two things have to be guarded: i, and i + 1",
            BelowZero="a thread reads before the beginning. The neighbour is the one to the right: x[i + 1]",
            DataRace="several threads write the same element. Each has one of its own: jit.grid(1) is its number",
        )  # fmt: skip
        words = f"{what}the last element is wrong: it has no right neighbour, and stays as it is"
        wrong_if(found.element.endswith(f"[{size - 1}]"), words, f"out[{size - 1}] is {out[-1]:.4g}", f"{x[-1]:.4g}")
        is_left = same(out[1:-1], x[1:-1] + x[:-2], atol=1e-3)  # whatever the first and the last one are
        wrong_if(is_left, f"{what}the neighbour is the one to the right, x[i + 1]")
        _same(found, what, {
            "an element and its neighbour are added, so x[i] counts too": right(x) - x,
        })  # fmt: skip
        most = figures.busiest["writes"]
        words = (
            f"{what}the values are right, but one thread writes {most:,} times, and there's a thread for each element"
        )
        wrong_if(most > 2, words, many(most, "write"), "1 write")  # two may be an element and its neighbour, in turn
    return _score("with 77, 1,000 and 1,024 elements", figures, "2 reads, 1 write")


@exercise("08.3", "neighbours read neighbours", look_at="what do lanes 0 and 1 of a warp read at the same moment?")
def eight_each(eight_each):
    for blocks, threads in ((8, 128), (2, 64)):
        x, step = _numbers(8 * blocks * threads), ": the step has to be the number of all threads"
        what = f"with {blocks} blocks of {threads} threads, "
        out, figures, found = _run(eight_each, blocks, threads, x, lambda x: 2 * x, what,
            OutOfBounds=f"a thread leaves the array{step}", DataRace=f"several threads write the same element{step}",
            BelowZero="a thread leaves the array: there's no element before x[0]",
        )  # fmt: skip
        # It's in `written` if it was written in part.
        all_or_none = (0, x.size) if not found and not found.text else (x.size, x.size)
        written, _ = figures.written.get(list(found.arrays)[-1], all_or_none)
        missing = x.size - written
        wrong_if(missing, f"{what}{missing:,} of {x.size:,} elements of out were never written", expected="all")
        _same(found, what)
        most = figures.busiest["writes"]
        wrong_if(most > 8, f"{what}the values are right, but one thread writes {most:,} times: each does 8 elements")
        words = f"the values are right, but only {figures.share:.0%} of what's fetched is used"
        wrong_if(figures.share < 0.99, f"{words}: in each round, neighbours should read side by side")
    return _score(f"{figures.share:.0%} of the sectors used", figures, "8 reads, 8 writes")


@exercise("08.4", "a sum by halves", look_at="between which two lines must everyone have finished?")
def block_sum(block_sum):
    for blocks in (4, 3):
        x = _numbers(256 * blocks)
        _, figures, found = _run(block_sum, blocks, 256, x, lambda x: x.reshape(-1, 256).sum(1),
            DataRace="there's still a race: a thread reads what another may not have written yet",
            StuckBarrier="a barrier inside an if that only some threads enter: the others never come, and everyone "
                         "waits",
        )  # fmt: skip
        _same(found)
    _no_needless_barrier(block_sum, figures.barriers)
    par = "1 read, 1 write, 17 shared reads, 9 shared writes, 9 barriers"
    return _score("the sums of 4 and of 3 blocks, and no race", figures, par)


def _no_needless_barrier(kernel, barriers):
    """Raises `NotRight` if the sums stay right, without a race, when one of its lines with a barrier is left out."""
    x = _numbers(1024)
    given, launch = (x, np.zeros(4, np.float32)), (4, 256)
    for number, node in enumerate(_barriers(kernel.source.tree)):
        without = copy.copy(kernel)
        without.source = copy.copy(kernel.source)
        without.source.tree = copy.deepcopy(kernel.source.tree)
        without.source.programs = {}  # what it was translated to
        _barriers(without.source.tree)[number].value = ast.Constant(None)
        found = jit.check(without, lambda x: x.reshape(-1, 256).sum(1), [x.size], arguments=lambda n: given,
                          launch=lambda n: launch, atol=1e-3)  # fmt: skip
        line = kernel.source.first + node.lineno - 1
        is_needless = bool(found) and found.figures.barriers < barriers  # otherwise no thread has come to this line
        words = (
            f"the sums are right, but one barrier isn't needed: without line {line} they stay right, and nothing races"
        )
        wrong_if(is_needless, words, f"line {line}: {ast.unparse(node)}", "fewer barriers: each makes all threads wait")


def _barriers(tree):
    """The statements of a kernel that are barriers, in the order of its text."""
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.Expr)]
    found = [node for node in statements if re.match(r"(jit\.)?syncthreads\(", ast.unparse(node))]
    return sorted(found, key=lambda node: node.lineno)


_TAKES = ("x", "y", "weights", "rates", "losses", "epochs")


def _meaning_of(error):
    """What an error of a launch means in 08.5."""
    if isinstance(error, jit.DataRace) and "weights[" in error.what:
        return "several networks write the same weight: each has a row of its own, weights[n]"
    if isinstance(error, jit.DataRace):
        return "there's a race: all the barriers that were there are needed"
    if isinstance(error, jit.OutOfBounds):
        return "a thread leaves an array: weights has a row for each network n, and a column for each weight t"
    if isinstance(error, jit.StuckBarrier):
        return "a barrier that only some threads come to: the others wait forever"
    return "that's no kernel that a GPU could run"


@exercise("08.5", "keep the weights", look_at="what's left of shared memory when its block is done?")
def training(training):
    _check_kernel(training, _TAKES, "six arguments, in this order")
    cases = ((0.05, 0.3), (3, 4, 5), 3), ((0.2,), (7,), 2), ((0.1, 0.4, 0.02), (11,), 1)
    for rates, seeds, epochs in cases:
        given = networks(rates, seeds)
        what = f"with {many(len(given[3]), 'network')} and {many(epochs, 'epoch')}, "
        arrays = fl.gpu([array.copy() for array in given])
        try:
            training[len(given[3]), THREADS](*arrays, epochs)
        except jit.KernelError as error:
            raise NotRight(what + _meaning_of(error), f"{error.where}\n{error.what}") from None
        _weights_are_kept(what, given, fl.cpu(arrays), epochs, training.figures.busiest["writes"])
    return "each network's 48 weights, each written once, with 6 networks and with 1, after 1 to 3 epochs"


def _weights_are_kept(what, given, found, epochs, most):
    """Raises `NotRight` unless a launch has left the weights of the last epoch, with the losses, and nothing else."""
    (weights, losses), (earlier, _) = _trained(given, epochs), _trained(given, epochs - 1)
    got = found[2]
    for place in (0, 1, 3):
        is_other = not np.array_equal(given[place], found[place])
        wrong_if(is_other, f"{what}{_TAKES[place]} has changed: only weights and losses should")
    words = f"{what}the losses are wrong: all that was there stays as it is"
    wrong_if(not same(found[4], losses, 1e-3, 1e-4), words, digits(found[4]), digits(losses))
    is_new = got != given[2]
    close = np.isclose(got, weights, 1e-3, 1e-4)
    refuse({
        f"{what}weights are still those from before: shared memory is gone when its block is done": not is_new.any(),
        f"{what}only one weight of each network is kept: `if t == 0` lets one thread in, and each of the 48 has a "
        "weight": close[:, 0].all() and not is_new[:, 1:].any(),
        f"{what}only the first network's weights are kept": len(got) > 1 and close[0].all() and not is_new[1:].any(),
        f"{what}that's one epoch too early: these are the weights from before the last one":
            same(got, earlier, 1e-3, 1e-4),
        f"{what}{np.count_nonzero(~close):,} of {got.size} weights are wrong": not close.all(),
        f"{what}the weights are right, but a thread writes {most} times: once is enough, after the loop":
            most > epochs + 1,
    }, digits(got), digits(weights))  # fmt: skip


def _trained(given, epochs):
    """The weights (N, 48) and the last losses (N,) after the training that the lesson's kernel does, by NumPy."""
    x, y, weights, rates, _ = given
    w, rate = weights.reshape(-1, 8, 6).copy(), rates[:, None]
    losses = np.zeros_like(rates)
    for _ in range(epochs):
        memory, losses = np.zeros_like(w[:, 0]), np.zeros_like(rates)
        for point, target in zip(x, y):
            hidden = np.tanh(point * w[:, 0] + np.einsum("nk,nkt->nt", memory, w[:, 1:7]))
            error = (hidden * w[:, 7]).sum(1, keepdims=True) - target
            slope = error * w[:, 7] * (1 - hidden**2)  # back through the output, and through tanh
            w[:, 7] -= rate * error * hidden
            w[:, 0] -= rate * slope * point
            w[:, 1:7] -= rate[:, :, None] * memory[:, :, None] * slope[:, None]
            losses += error[:, 0] ** 2 / 2
            memory = hidden
    return w.reshape(len(w), -1), losses
