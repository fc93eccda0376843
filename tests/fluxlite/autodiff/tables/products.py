"""Products that sum, and np.linalg: rules of derivatives/sums.py and rarer/linear_algebra.py."""

import numpy as np
from gradcheck import Call
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from operands import arrays, axis_of, calls, shapes


@calls
def matmul_calls(draw, function):
    """All that matmul takes: vectors, matrices, batches of matrices, whose batch axes broadcast."""
    signature = np.matmul.signature  # (n?,k),(k,m?)->(n?,m?)
    together = draw(hnp.mutually_broadcastable_shapes(signature=signature, max_dims=2, min_side=0, max_side=3))
    return Call(function, *(draw(arrays(shape, which=i)) for i, shape in enumerate(together.input_shapes)))


def two(*of_shapes):
    """Calls with two operands of the given shapes."""
    return calls(lambda draw, function: Call(function, *(draw(arrays(s, which=i)) for i, s in enumerate(of_shapes))))


@calls
def inner_calls(draw, function):
    """Same length of the last axis; or a number."""
    length = draw(st.integers(0, 3))
    x, y = (draw(st.one_of(st.just(()), shapes(0, 2, 0, 2).map(lambda s: (*s, length)))) for _ in range(2))
    return Call(function, draw(arrays(x)), draw(arrays(y, which=1)))


@calls
def dot_calls(draw, function):
    """Last axis of the first, last but one of the second."""
    length = draw(st.integers(0, 3))
    rest = shapes(0, 2, 0, 2)
    x = draw(st.one_of(st.just(()), rest.map(lambda s: (*s, length))))
    y = draw(st.one_of(st.just(()), st.just((length,)), rest.map(lambda s: (*s, length, 2))))
    return Call(function, draw(arrays(x)), draw(arrays(y, which=1)))


@calls
def vdot_calls(draw, function):
    """The same number of elements in any shapes."""
    possible = [((), (1,)), ((6,), (2, 3)), ((2, 3), (3, 2)), ((0,), (2, 0)), ((2, 1, 2), (4,))]
    first, second = draw(st.sampled_from(possible))
    return Call(function, draw(arrays(first)), draw(arrays(second, which=1)))


@calls
def tensordot_calls(draw, function):
    """Axes as a number, as one axis each, as lists in any order, counted from the end."""
    n, m, k = (draw(st.integers(0, 3)) for _ in range(3))
    shape_x, shape_y, axes = draw(st.sampled_from([
        ((n, m), (k, 2), 0), ((n, m), (m, k), 1), ((2, n, m), (n, m, k), 2), ((n, m), (n, m), 2), ((m,), (m,), 1),
        ((n, m), (k, m), (1, 1)), ((n, m), (k, m), (-1, -1)), ((n, m), (n, k), (0, 0)),
        ((n, m, k), (k, n), ([0, 2], [1, 0])), ((n, m, k), (k, n, 2), ((-1, 0), (0, -2))), ((n, m), (k,), ([], [])),
    ]))  # fmt: skip
    return Call(function, draw(arrays(shape_x)), draw(arrays(shape_y, which=1)), axes=axes)


# Subscripts, and shapes of the operands, whose letters are lengths.
EINSUMS = [
    ("ij,jk->ik", "nm mk"), ("ij,jk", "nm mk"), ("ji,kj", "nm kn"), ("ij->ji", "nm"), ("ij->", "nm"), ("ij->i", "nm"),
    ("ij->j", "nm"), ("ij", "nm"), ("ba", "nm"), ("ii->", "nn"), ("ii", "nn"), ("ii->i", "nn"), ("iij->j", "nnm"),
    ("iii->i", "nnn"), ("iijj->ij", "nnmm"), ("ii,ij->j", "nn nm"), ("ij,jj->i", "nm mm"), ("i,i->", "n n"),
    ("i,i", "n n"), ("i,j->ij", "n m"), ("i,j->", "n m"), ("ij,kl->", "nm mk"), ("ij,ij->ij", "nm nm"),
    ("ij,ij->", "nm nm"), ("ij,k->i", "nm k"), ("...i,i->...", "nkm m"), ("...ij,...jk->...ik", "2nm 2mk"),
    ("...ij,...jk", "2nm mk"), ("...ij,...jk->...ik", "1nm 2mk"), ("i...,...->i...", "nm m"), ("...->...", "nm"),
    ("...,...", "nm nm"), ("...i->...", "n"), ("...ii->...i", "2nn"), ("bi,ij,bj->b", "2n nm 2m"),
    ("ij,jk,kl->il", "nm mk k2"), ("i,j,k->", "n m k"), (",i->i", "0 n"), (" i j , j k -> i k ", "nm mk"),
    ("aA,Ab->ab", "nm mk"), ("ij,ij->i", "n1 nm"), ("ij,ij->ij", "n1 nm"), ("ij,ij->", "n1 1m"),
    ("ij,jk->ik", "n1 mk"), ("i,i->", "1 m"), ("i,ij->j", "1 nm"),
]  # fmt: skip


def einsum_calls(subscripts, letters):
    def build(draw, function):
        lengths = {name: draw(st.integers(0, 3)) for name in "nmk"} | {"1": 1, "2": 2}
        of_shapes = [() if word == "0" else tuple(lengths[c] for c in word) for word in letters.split()]
        operands = [draw(arrays(shape, which=i)) for i, shape in enumerate(of_shapes)]
        more = {"optimize": True} if draw(st.booleans()) else {}
        return Call(function, subscripts, *operands, **more)

    return calls(build)


# -- np.linalg ---------------------------------------------------------------------------------------------------


@st.composite
def matrices(draw, batch=None, least=1):
    """Far from singular; in a batch or alone."""
    batch = draw(shapes(0, 2, 0, 2)) if batch is None else batch
    n = draw(st.integers(least, 3))
    x = draw(arrays((*batch, n, n), lambda rng, shape: rng.uniform(-0.5, 0.5, shape)))
    return x + 2 * np.eye(n) * np.array([1, -1, 1])[:n]


one_matrix = calls(lambda draw, function: Call(function, draw(matrices())))
one_matrix_or_none = calls(lambda draw, function: Call(function, draw(matrices(least=0))))


@calls
def solve_calls(draw, function):
    """A vector, or matrices; batches on either side, or on both, that broadcast."""
    a = draw(matrices())
    n = a.shape[-1]
    batch = a.shape[:-2]
    b = draw(st.sampled_from([(n,), (n, 2), (2, n, 1) if batch in ((), (1,), (2,)) else (n, 1), (*batch, n, 2)]))
    return Call(function, a, draw(arrays(b, which=1)))


@calls
def cholesky_calls(draw, function):
    """NumPy reads one half of the matrix only: `x` is made symmetric first, so that both have the same gradient."""
    x = draw(matrices())
    return Call(lambda x: function(x @ np.swapaxes(x, -1, -2)), x)


@calls
def cut_calls(draw, function):
    """trace and diagonal: any two axes, an offset either way, also outside of the matrix."""
    shape = draw(shapes(2, 4, 0, 3))
    offset = draw(st.integers(-4, 4))
    first = draw(axis_of(shape))
    second = draw(axis_of(shape).filter(lambda i: i % len(shape) != first % len(shape)))
    x = draw(arrays(shape))
    return Call(function, x, *draw(st.sampled_from([(), (offset,), (offset, first, second)])))


@calls
def diag_calls(draw, function):
    return Call(function, draw(arrays(shapes(1, 2))), k=draw(st.integers(-3, 3)))


TABLE = [
    (np.matmul, matmul_calls),
    (np.dot, dot_calls),
    (np.inner, inner_calls),
    (np.vdot, vdot_calls),
    (np.outer, two((2,), (3,))),
    (np.outer, two((2, 2), ())),
    (np.outer, two((0,), (3, 1))),
    (np.kron, two((2,), (3,))),
    (np.kron, two((2, 1), (3, 2))),
    (np.kron, two((2,), (2, 3))),
    (np.kron, two((1, 2, 2), (2,))),
    (np.kron, two((), (2, 3))),
    (np.tensordot, tensordot_calls),
    (np.trace, cut_calls),
    (np.diagonal, cut_calls),
    (np.diag, diag_calls),
    (np.linalg.inv, one_matrix_or_none),
    (np.linalg.solve, solve_calls),
    (np.linalg.det, one_matrix),
    (np.linalg.slogdet, one_matrix),
    (np.linalg.cholesky, cholesky_calls),
    (np.einsum, einsum_calls("ij,jk->ik", "nm mk")),
]
EINSUM_TABLE = [(np.einsum, einsum_calls(subscripts, letters)) for subscripts, letters in EINSUMS]

# MLX has no such functions, signs of its own for the vectors, or no GPU for them.
NOT_ON_METAL = [np.linalg.inv, np.linalg.solve, np.linalg.det, np.linalg.slogdet, np.linalg.cholesky]
