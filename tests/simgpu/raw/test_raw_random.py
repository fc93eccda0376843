"""Random expressions of C: a RawKernel and an ElementwiseKernel, two engines, give the same bits."""

import random

import numpy as np
import pytest

import simgpu

C_NAMES = {"i": "int", "I": "unsigned int", "q": "long long", "f": "float", "d": "double", "b": "signed char"}
SIGNS = ("+", "-", "*", "/", "<", ">=", "==", "!=", "&&", "||")
WHOLE = ("%", "&", "|", "^", "<<", ">>")


def expression(draw, kinds, depth):
    """A random expression of x, y and z, and whether it's a whole number."""
    if depth == 0 or draw.random() < 0.1:
        if draw.random() < 0.3:
            text = draw.choice(["3", "2u", "1.5f", "0.25", "7ll", "0x1F", "-2"])
            return text, "." not in text
        name = draw.choice("xyz")
        return name, kinds["xyz".index(name)] not in "fd"
    left, is_whole = expression(draw, kinds, depth - 1)
    kind = draw.random()
    if kind < 0.1:
        name = draw.choice(list(C_NAMES.values()))
        return f"({name})({left})", name not in ("float", "double")
    if kind < 0.2:
        sign = draw.choice(["-", "!", "+"] + ["~"] * is_whole)
        return f"{sign}({left})", is_whole or sign == "!"
    right, other = expression(draw, kinds, depth - 1)
    if kind < 0.3:
        return f"{draw.choice(['min', 'max'])}({left}, {right})", is_whole and other
    if kind < 0.4:
        test, _ = expression(draw, kinds, depth - 1)
        return f"(({test}) ? ({left}) : ({right}))", is_whole and other
    signs = SIGNS + WHOLE * (is_whole and other)
    sign = draw.choice(signs)
    if sign in ("<<", ">>"):
        right = f"(({right}) & 15)"
    is_test = sign in ("<", ">=", "==", "!=", "&&", "||")
    return f"({left} {sign} {right})", is_test or (is_whole and other)


@pytest.mark.parametrize("seed", range(60))
def test_both_engines_give_the_same_bits(seed):
    draw, generator = random.Random(seed), np.random.default_rng(seed)
    kinds = [draw.choice("iIqfdb") for _ in range(3)]
    text, _ = expression(draw, kinds, 4)
    out = draw.choice("iqfd")
    given = [simgpu.asarray(generator.integers(-9 * (kind != "I"), 10, 64).astype(kind)) for kind in kinds]
    pieces = ", ".join(f"{np.dtype(kind).name} {name}" for kind, name in zip(kinds, "xyz"))
    whole = simgpu.ElementwiseKernel(pieces, f"{np.dtype(out).name} w", f"w = {text}", "pieces")(*given)
    inputs = ", ".join(f"const {C_NAMES[kind]}* {name}" for kind, name in zip(kinds, "abc"))
    values = "".join(f"{C_NAMES[kind]} {name} = {own}[i]; " for kind, name, own in zip(kinds, "xyz", "abc"))
    code = (
        f'extern "C" __global__ void f({inputs}, {C_NAMES[out]}* w) {{ int i = threadIdx.x; {values} w[i] = {text}; }}'
    )
    made = simgpu.zeros(64, out)
    simgpu.RawKernel(code, "f")((1,), (64,), (*given, made))
    assert simgpu.asnumpy(made).tobytes() == simgpu.asnumpy(whole).tobytes(), text
