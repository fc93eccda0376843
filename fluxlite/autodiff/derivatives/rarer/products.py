"""Products: of all elements, of vectors, of several arrays along any axes."""

import math
import string

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from ....arrays import of_type
from ...rules import composed, rule_for_each
from ...tracked import plain
from ..elementwise import fit, shape_of
from ..sums import axes_of, count


@composed(np.ptp)
def ptp(a, axis=None, *, keepdims=False):
    return np.max(a, axis=axis, keepdims=keepdims) - np.min(a, axis=axis, keepdims=keepdims)


@composed(np.prod)
def product(a, axis=None, dtype=None, *, keepdims=False, initial=None, where=True):
    """Halves multiplied with halves: unlike ``out / x``, right at zeros, and for second derivatives too."""
    a = of_type(a, dtype)
    a = a if where is True else np.where(np.broadcast_to(where, a.shape), a, 1)
    axes = axes_of(a, axis)
    others = tuple(i for i in range(a.ndim) if i not in axes)
    rest = tuple(a.shape[i] for i in others)
    factors = np.reshape(np.transpose(a, axes + others), (count(a, axis), *rest))
    if len(factors) == 0:
        factors = np.ones_like(plain(a), shape=(1, *rest)) + np.sum(factors, axis=0)  # of no numbers: 1
    while len(factors) > 1:
        half = len(factors) // 2
        pairs = factors[:half] * factors[half : 2 * half]
        factors = np.concatenate([pairs, factors[2 * half :]]) if len(factors) % 2 else pairs
    result = np.reshape(factors, tuple(1 if i in axes else n for i, n in enumerate(a.shape)) if keepdims else rest)
    return result if initial is None else of_type(result * initial, result.dtype)


def typed(x):
    """A Python number as a NumPy one, which has a type: for these products, NumPy makes arrays of its operands."""
    return x if hasattr(plain(x), "dtype") else np.ravel(x)[0]


@composed(np.dot)
def dot(a, b):
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return typed(a) * typed(b)
    if np.ndim(a) <= 2 and np.ndim(b) <= 2:
        return a @ b
    return np.tensordot(a, b, axes=((-1,), (-1 if np.ndim(b) == 1 else -2,)))


@composed(np.inner)
def inner(a, b):
    return typed(a) * typed(b) if np.ndim(a) == 0 or np.ndim(b) == 0 else np.tensordot(a, b, axes=((-1,), (-1,)))


composed(np.vdot)(lambda a, b: np.ravel(a) @ np.ravel(b))
composed(np.outer)(lambda a, b: np.ravel(a)[:, None] * np.ravel(b))


@composed(np.tensordot)
def tensordot(a, b, axes=2):
    """One matrix product: the axes that stay become rows and columns, those that are summed the inner one."""
    if isinstance(axes, int):
        axes = (range(np.ndim(a) - axes, np.ndim(a)), range(axes))
    summed_a, summed_b = (normalize_axis_tuple(chosen, np.ndim(x)) for x, chosen in zip((a, b), axes, strict=True))
    stay_a = tuple(i for i in range(np.ndim(a)) if i not in summed_a)
    stay_b = tuple(i for i in range(np.ndim(b)) if i not in summed_b)
    shape_a, shape_b = np.shape(a), np.shape(b)
    if [shape_a[i] for i in summed_a] != [shape_b[i] for i in summed_b]:
        raise ValueError(f"cannot sum axes {summed_a} of shape {shape_a} with axes {summed_b} of shape {shape_b}")
    lengths_a, lengths_b = [shape_a[i] for i in stay_a], [shape_b[i] for i in stay_b]
    inner_length = math.prod(shape_a[i] for i in summed_a)
    rows = np.reshape(np.transpose(a, stay_a + summed_a), (math.prod(lengths_a), inner_length))
    columns = np.reshape(np.transpose(b, summed_b + stay_b), (inner_length, math.prod(lengths_b)))
    return np.reshape(rows @ columns, (*lengths_a, *lengths_b))


# -- einsum
def terms(subscripts, operands):
    """The labels of each operand and of the result, with the implicit ones and ``...`` written out.

    >>> terms("ij,jk", (np.zeros((2, 3)), np.zeros((3, 4)))), terms("...i->...", (np.zeros((2, 3)),))
    ((['ij', 'jk'], 'ik'), (['Ai'], 'A'))
    """
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    named = inputs.split(",")
    hidden = [np.ndim(x) - len(term.replace("...", "")) for term, x in zip(named, operands, strict=True)]
    free = [c for c in string.ascii_uppercase if c not in subscripts][: max(hidden)]
    if not arrow:
        letters = inputs.replace(",", "").replace("...", "")
        output = "..." * ("..." in inputs) + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    written = [term.replace("...", "".join(free[len(free) - n :])) for term, n in zip(named, hidden, strict=True)]
    return written, output.replace("...", "".join(free))


def operand_of_einsum(position, g, out, subscripts, *operands, optimize=False):
    """Einsum again, with the result in the operand's place: from the labels of the others to its own."""
    if not isinstance(subscripts, str):
        raise TypeError('np.einsum has a derivative rule for labels in a string, as in "ij,jk->ik", not in lists')
    labels, output = terms(subscripts, operands)
    place = position - 1  # the subscripts are the first argument
    x = operands[place]
    inputs = [(output, g), *((labels[i], y) for i, y in enumerate(operands) if i != place)]
    own, used = "", "".join(label for label, _ in inputs)
    for letter, length in zip(labels[place], shape_of(x)):
        if letter in own:  # off the diagonal the operand wasn't read: an identity matrix puts zeros there
            fresh = next(c for c in string.ascii_lowercase if c not in own + used + labels[place])
            inputs.append((fresh + letter, np.diag(np.ones_like(plain(x), shape=(length,)))))
            letter = fresh
        elif letter not in used:  # summed over, and in no other operand
            inputs.append((letter, np.ones_like(plain(x), shape=(length,))))
        own += letter
    spec = ",".join(label for label, _ in inputs) + "->" + own
    result = np.einsum(spec, *(y for _, y in inputs), optimize=optimize)
    if result.shape != shape_of(x):  # a label with length 1 here and more elsewhere, or the other way round
        result = np.broadcast_to(result, np.broadcast_shapes(result.shape, shape_of(x)))
    return fit(result, x)


rule_for_each(np.einsum, operand_of_einsum)
