"""Products that sum: matmul and its relatives, einsum."""

import math
import string

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from ..rules import composed, rule, rule_for_each
from ..tracked import plain
from .elementwise import fit, shape_of


# -- matmul
def transposed(x):
    """The matrices in `x`, the last two axes, transposed."""
    return np.swapaxes(x, -1, -2)


def lies_transposed(x):
    """Whether a matrix is stored column by column, as ``W.T`` is."""
    down, right = x.strides
    return down < right


def left_of_matmul(g, out, x, y):
    if x.ndim == y.ndim == 2:
        # The gradient of an operand is made in that operand's memory order: then nothing has to be copied later.
        return (y @ g.T).T if lies_transposed(x) else g @ y.T
    if y.ndim == 1:
        return fit(g[..., None] * y, x)
    if x.ndim == 1:
        return fit(np.matmul(y, g[..., None])[..., 0], x)
    return fit(g @ transposed(y), x)


def right_of_matmul(g, out, x, y):
    if x.ndim == y.ndim == 2:
        return (g.T @ x).T if lies_transposed(y) else x.T @ g
    if x.ndim == 1:
        return fit(x[:, None] * g[..., None, :], y) if y.ndim > 1 else g * x
    if y.ndim == 1:
        return fit(np.matmul(transposed(x), g[..., None])[..., 0], y)
    if y.ndim == 2:  # a batch of matrices times one: the batch is only more rows
        rows = math.prod(x.shape[:-1])
        return np.reshape(x, (rows, x.shape[-1])).T @ np.reshape(g, (rows, g.shape[-1]))
    return fit(transposed(x) @ g, y)


rule(np.matmul, left_of_matmul, right_of_matmul)


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


@composed(np.vdot)
def vdot(a, b):
    return np.ravel(a) @ np.ravel(b)


@composed(np.outer)
def outer(a, b):
    return np.ravel(a)[:, None] * np.ravel(b)


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
    batches = [
        np.ndim(x) - len(term.replace("...", "")) if "..." in term else 0
        for term, x in zip(named, operands, strict=True)
    ]
    free = [letter for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if letter not in subscripts][: max(batches)]
    batch = "".join(free)
    if not arrow:
        letters = inputs.replace(",", "").replace("...", "")
        output = ("..." if "..." in inputs else "") + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    written = [term.replace("...", batch[len(batch) - n :]) for term, n in zip(named, batches, strict=True)]
    return written, output.replace("...", batch)


def from_lists(arguments):
    """The labels as a string, and the operands.

    >>> from_lists((np.zeros((2, 3)), [0, 1], np.zeros(3), [1], [0]))[0]
    'AB,B->A'
    """
    last = len(arguments) // 2 * 2
    letters = string.ascii_uppercase + string.ascii_lowercase
    terms = ["".join("..." if i is Ellipsis else letters[i] for i in labels) for labels in arguments[1::2]]
    arrow = [] if last == len(arguments) else ["->" + from_lists((None, arguments[last]))[0]]
    return "".join([",".join(terms), *arrow]), arguments[:last:2]


def operand_of_einsum(position, g, out, subscripts, *operands, optimize=False):
    """Einsum again, with the result in the operand's place: from the labels of the others to its own."""
    if not isinstance(subscripts, str):  # an operand, then its labels as a list, …
        position = position // 2 + 1
        subscripts, operands = from_lists((subscripts, *operands))
    position -= 1  # the subscripts are the first argument
    labels, output = terms(subscripts, operands)
    x, own = operands[position], labels[position]
    target = "".join(dict.fromkeys(own))  # a label that occurs twice means a diagonal; see below
    inputs = [(output, g)] + [(labels[i], y) for i, y in enumerate(operands) if i != position]
    known = set("".join(term for term, _ in inputs))
    lone = "".join(label for label in target if label not in known)  # summed over, and in no other operand
    if lone:
        inputs.append((lone, np.ones_like(plain(x), shape=tuple(x.shape[own.index(label)] for label in lone))))
    own_labels = own
    for letter in (letter for letter in own if own.count(letter) > 1):
        at = own_labels.index(letter)
        if letter in own_labels[at + 1 :]:
            fresh = next(c for c in "abcdefghijklmnopqrstuvwxyz" if c not in own_labels + "".join(t for t, _ in inputs))
            own_labels = own_labels[:at] + fresh + own_labels[at + 1 :]
            # Off the diagonal the operand was not read: an identity matrix puts zeros there.
            inputs.append((fresh + letter, np.diag(np.ones_like(plain(x), shape=(x.shape[at],)))))
    spec = ",".join(term for term, _ in inputs) + "->" + own_labels
    result = np.einsum(spec, *(y for _, y in inputs), optimize=optimize)
    if result.shape != shape_of(x):  # a label with length 1 here and more elsewhere, or the other way round
        result = np.broadcast_to(result, np.broadcast_shapes(result.shape, shape_of(x)))
    return fit(result, x)


rule_for_each(np.einsum, operand_of_einsum)
