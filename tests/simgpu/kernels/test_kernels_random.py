"""Random kernels, full of branches and loops, compute what the same text computes as plain Python, thread by thread.

They do in step, and with their warps in a random order.
"""

import random
import types

import numpy as np
import pytest
from snippets import imported

import fluxlite as fl

KERNELS, THREADS = 120, 96
HEAD = "import numpy as np\nfrom fluxlite.cuda import jit\n\n\n@jit.rawkernel(device=True)\ndef folded(a, b):\n" + (
    "    if a > b:\n        return a - b\n    while b > 7:\n        b = b // 2\n        if b % 5 == 3:\n"
    "            return b\n    return a ^ b\n\n\n"
)


class Writer:
    """Writes a random kernel with the int32 variables a, b, c and a table of 8 numbers."""

    def __init__(self, seed):
        self.random, self.loops = random.Random(seed), 0

    def number(self, depth=2):
        r = self.random
        if depth == 0 or r.random() < 0.3:
            return r.choice(["a", "b", "c", "i", str(r.randint(-9, 9))])
        one, two = self.number(depth - 1), self.number(depth - 1)
        return r.choice(
            [f"({one} + {two})", f"({one} - {two})", f"({one} * {two})", f"({one} & {two})", f"({one} ^ {two})",
             f"({one} // {r.randint(1, 9)})", f"({one} % {r.randint(1, 9)})", f"table[({one}) & 7]",
             f"min({one}, {two})", f"max({one}, {two})",
             f"({one} if {self.test(0)} else {two})", f"folded(a, {two})", f"-({one} | b)"]
        )  # fmt: skip

    def test(self, depth=1):
        r = self.random
        if depth == 0 or r.random() < 0.5:
            return f"a {r.choice(['<', '<=', '>', '>=', '==', '!='])} {self.number(1)}"
        return f"({self.test(0)} {r.choice(['and', 'or'])} not ({self.test(0)}))"

    def block(self, depth, in_loop):
        return [line for _ in range(self.random.randint(1, 3)) for line in self.statement(depth, in_loop)]

    def statement(self, depth, in_loop):
        r, name = self.random, self.random.choice("abc")
        kind = r.random() if depth else 0.0
        if kind < 0.35:
            return [r.choice([f"{name} = {self.number()}", f"{name} {r.choice(['+=', '-=', '^='])} {self.number()}"])]
        if in_loop and kind > 0.75:
            return [f"if {self.test()}:", *_inside([r.choice(["break", "continue"])])]
        if kind < 0.65:
            lines = [f"if {self.test()}:", *_inside(self.block(depth - 1, in_loop))]
            return [*lines, "else:", *_inside(self.block(depth - 1, in_loop))] if r.random() < 0.6 else lines
        if kind < 0.95:
            return self.loop(depth)
        return [f"if {self.test()}:", *_inside(["out[i] = a + b", "return"])]

    def loop(self, depth):
        self.loops += 1
        k = f"k{self.loops}"
        body = self.block(depth - 1, True)
        if self.random.random() < 0.5:
            count = self.random.choice(["4", "(a & 3)", "(i % 5)"])
            return [f"for {k} in range({count}):", *_inside([f"b = b + {k}", *body])]
        return [f"{k} = 0", f"while {k} < ({self.number(1)} & 3):", *_inside([f"{k} += 1", *body])]

    def kernel(self, name):
        start = ["i = np.int32(jit.grid(1))", "a = x[i]", "b = np.int32(3)", "c = i"]
        lines = [*start, *self.block(3, False), *self.block(3, False), "out[i] = a ^ b ^ c"]
        return "\n".join([f"def {name}(x, table, out):", *_inside(lines)])


def _inside(lines):
    return ["    " + line for line in lines]


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    kernels = [f"@jit.rawkernel()\n{Writer(seed).kernel(f'kernel_{seed}')}\n" for seed in range(KERNELS)]
    return imported(tmp_path_factory.mktemp("random") / "random_kernels.py", HEAD + "\n\n".join(kernels))


@pytest.mark.parametrize("part", range(4))
def test_random_kernels(module, simulated, part):
    different = 0
    for seed in range(part, KERNELS, 4):
        kernel = getattr(module, f"kernel_{seed}")
        x = np.random.default_rng(seed).integers(-50, 50, THREADS).astype(np.int32)
        table = np.arange(3, 11, dtype=np.int32)
        there = [fl.gpu(array, dtype=None) for array in (x, table, np.zeros_like(x))]
        kernel[2, THREADS // 2](*there)
        wanted = _plainly(module, kernel, x, table)
        np.testing.assert_array_equal(fl.cpu(there[2]), wanted, f"kernel_{seed}")
        again = np.zeros_like(there[2])
        kernel.shuffled(seed)[2, THREADS // 2](*there[:2], again)
        np.testing.assert_array_equal(fl.cpu(again), wanted, f"kernel_{seed}, its warps in another order")
        different += len(set(wanted.tolist())) > 3
        assert kernel.figures.divergent <= kernel.figures.branches
    assert different > KERNELS // 8  # threads do go different ways


def _plainly(module, kernel, x, table):
    """The same text as a plain Python function, one thread after the other. NumPy's int32 wraps as C's does."""
    out = np.zeros_like(x)
    with np.errstate(all="ignore"):
        for thread in range(THREADS):
            names = {"np": np, "jit": types.SimpleNamespace(grid=lambda axes, thread=thread: np.uint32(thread)),
                     "min": _int32(min), "max": _int32(max)}  # fmt: skip
            names["folded"] = types.FunctionType(module.folded.function.__code__, names)
            types.FunctionType(kernel.function.__code__, names)(x, table, out)
    return out


def _int32(function):
    return lambda *numbers: np.int32(function(*numbers))
