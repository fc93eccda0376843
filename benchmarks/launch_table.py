"""What CuPy 14.2 asks of a GPU for each of these lines: kernels, memsets, copies, waits; and where its source says so.

The simulated GPU's rules (``simgpu/launches.py``) must give the same, and so must CuPy itself: in a
rehearsal on a computer without a card (``pytest -m cuda``), where it decides everything and only the kernels are acted,
and on a card, where ``python -m benchmarks.record --launches`` counts.

Copies to the host are what the host waits for. A kernel of cuBLAS counts as one; so does sorting by Thrust, which is
several. Lines marked `fluxlite` are about our own functions: there, no single place in CuPy decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import fluxlite as fl
from fluxlite.autodiff.derivatives import windows
from fluxlite.cuda import fuse


class Row(NamedTuple):
    """A line of a program, and what it asks for. `copies` are from place to place on the card, without a kernel."""

    line: str
    kernels: int
    memsets: int
    copies: int
    to_card: int
    to_host: int
    where: str


# Which file of CuPy, the line of the function that decides, its name. Then the lines that it decides about, each with
# its kernels; and, where there are any, memsets (m), copies on the card (c), to the card (u) and to the host (w).
_TABLE = """
cupy/_core/_kernel.pyx:1282 ufunc.__call__
    1         x + x
    1         x + 1
    1         x += x
    1         x[0] += 1
    1         x ** 2
    1         -x
    1         x > 0
    1         np.tanh(x)
    1         np.maximum(x, 0)
    1         np.add(x, x, out=x)
    1         np.divmod(x, 2)
    1         np.outer(v, v)
    1         np.kron(small, small)
    3         np.add.outer(v, v)
cupy/_core/fusion.pyx:809 Fusion.__call__
    1         fused(x, v)
    1         fused_step(x, y)
    1         fused_pair(x, 2.0)
cupy/_core/_routines_math.pyx:139 _ndarray_clip
    1         np.clip(x, 0, 1)
cupy/_core/core.pyx:780 _ndarray_base._astype
    1         x.copy()
    1         x.T.copy()
    1         np.copy(x)
    1         x.flatten()
    1         x.astype(np.float64)
    1         x.astype(np.float32)
    0         x.astype(np.float32, copy=False)
cupy/_core/_routines_manipulation.pyx:359 _reshape
    0         x.reshape(-1)
    1         x.T.reshape(-1)
    0         x.T
    0         x[1:, ::2]
    0         np.split(x, 4)
    0         np.broadcast_to(v, (3, 32))
    0         list(x)
cupy/_core/core.pyx:1000 _ndarray_base.fill
    0  m1     x.fill(0)
    1         x.fill(3)
    1         x[:, 0] = 0
    0  m1     x[0] = 0
    1         x[2:4] = 5
cupy/_creation/basic.py:257 zeros_like
    0  m1     np.zeros_like(x)
    0         np.empty_like(x)
cupy/_creation/basic.py:190 ones_like
    1         np.ones_like(x)
    1         np.full_like(x, 3)
cupy/_core/_routines_indexing.pyx:1064 _scatter_op
    0  c1     x[2:4] = x[:2]
    1         y[0] = x[:, 1]
    1         x[i] = v
    1  m1     x[i] = 0
    2         x[i] = 7
    3  m1     x[i, i] = v
cupy/_core/_routines_indexing.pyx:843 _take
    1         x[i]
    1         x[:, i]
    1         x[i, 0]
    1  u1     x[[0, 1]]
    1         np.take(x, i, axis=0)
    1         np.take(x, 3)
cupy/_core/_routines_indexing.pyx:1177 _prepare_multiple_array_indexing
    3  m1     x[i, i]
    4  m1     t[j, j, j]
    3  m1     t[j, :, j]
cupy/_core/_routines_indexing.pyx:774 _prepare_mask_indexing_single
    2  w1     v[rows]
    4  w1     x[mask]
    6  w1     big[large]
    6  w1     x[rows]
    4  m1 w1  x[mask] = 0
    5  w1     x[mask] = 7
    6  m1 w1  x[rows] = 0
cupy/_core/_routines_indexing.pyx:91 _ndarray_argwhere
    3  w1     np.nonzero(v)
    2  w1     np.nonzero(rows)
    4  w1     np.nonzero(x)
    3  w1     np.argwhere(mask)
    3  w1     np.where(mask)
    3  w1     np.compress(rows, x, axis=0)
    4  w1     np.extract(mask, x)
cupy/_core/_routines_indexing.pyx:899 _scatter_op_single
    1         np.add.at(x, i, x)
    2         np.add.at(x, i, 1.0)
    1         fl.arrays.add_at(x, i, x)
    3  m1     fl.arrays.add_at(x, (i, i), v)
cupy/_indexing/indexing.py:33 take_along_axis
    4  m1     np.take_along_axis(x, i[None, :], 0)
    1         np.take_along_axis(v, i, 0)
cupy/_sorting/search.py:175 where
    1         np.where(mask, x, 0)
    2         np.where(x, x, 0)
    2         np.select([mask], [x], 0)
cupy/cuda/cub.pyx:446 cub_reduction
    1         x.sum()
    2         big.sum()
    1         x.sum(axis=1)
    1         x.T.sum(axis=0)
    1         np.sum(t, axis=(1, 2))
    1         x.prod()
    1         x.max()
    2         big.max()
    1         x.min(axis=1)
    1         np.sum(x, keepdims=True)
cupy/_core/_reduction.pyx:507 _AbstractReductionKernel._launch
    1         x.sum(axis=0)
    1         np.sum(t, axis=(0, 2))
    1         x[:, ::2].sum()
    1         x.max(axis=0)
    1         x.argmax(axis=1)
    1         np.add.reduce(x)
cupy/_core/_cub_reduction.pyx:421 _cub_two_pass_launch
    2         mask.sum()
    2         np.any(mask)
    1         np.all(mask, axis=1)
    2         np.count_nonzero(x)
    2         np.nansum(x)
    2         np.nanmean(x)
cupy/_core/_routines_statistics.pyx:98 _ndarray_argmax
    2         x.argmax()
    3         big.argmax()
cupy/_core/_routines_statistics.pyx:128 _ndarray_mean
    2         x.mean()
    2         x.mean(axis=-1)
    1         x.mean(axis=0)
    3         big.mean()
    2         half.mean()
    2         np.average(x)
cupy/_core/_routines_statistics.pyx:556 _var
    4         x.var()
    3         x.var(axis=0)
    4         x.var(axis=1)
    5         big.var()
    5         x.std()
    4         x.std(axis=0)
cupy/_core/_routines_statistics.pyx:69 _ndarray_ptp
    3         np.ptp(x)
cupy/_core/_routines_statistics.pyx:712 _nanvar
    3         np.nanvar(x, axis=0)
    5         np.nanvar(x)
    4         np.nanstd(x, axis=0)
cupy/_statistics/order.py:119 nanmax
    4  w1     np.nanmax(x)
    3  w1     np.nanmin(x, axis=0)
cupy/_logic/comparison.py:44 array_equal
    3         np.array_equal(x, x)
    3         np.allclose(x, x)
cupy/linalg/_norms.py:33 norm
    3         np.linalg.norm(x)
    1         np.linalg.norm(x, axis=1)
    2         np.linalg.norm(v, 1)
cupy/_core/_routines_linalg.pyx:541 tensordot_core
    1         x @ x
    1         x @ x.T
    1         x @ v
    1         v @ x
    1         half @ half
    2         x[::2] @ x
    2         x @ x[:, ::2]
    3         v @ v
    3         x[:1] @ x[:1].T
    4         long @ long
    3         np.dot(v, v)
    3         np.inner(v, v)
    3         np.vdot(v, v)
    1         np.dot(x, x)
    1         np.tensordot(x, x, 1)
cupy/_core/_routines_linalg.pyx:821 matmul
    4         t @ b
    4         a @ t
    5         t.swapaxes(1, 2) @ d
    2         t @ t.swapaxes(1, 2)
    1         t @ s
    1         q @ r
    7         q @ r[0]
    4         t @ c
    4         half3 @ half3
cupy/linalg/_einsum.py:443 einsum
    3         np.einsum("ij,jk->ik", x, x)
    1         np.einsum("ij->j", x)
    0         np.einsum("ij->ji", x)
    1         np.einsum("i,j->ij", v, v)
cupy/_core/_routines_manipulation.pyx:734 _concatenate
    2         np.concatenate([x, x])
    3         np.concatenate([x, x, x], axis=1)
    8         np.stack([v] * 8)
    1  u1     np.stack([v] * 9)
    9         np.stack([big] * 9)
    2         np.vstack([x, x])
    2         np.append(x, x)
cupy/_manipulation/rearrange.py:75 roll
    0  c2     np.roll(x, 3)
    1  c1     np.roll(x, 1, axis=0)
    2         np.roll(x, 1, axis=1)
    4         np.roll(x, (1, 2), (0, 1))
cupy/_padding/pad.py:419 pad
    1  m1     np.pad(x, 1)
    0  m1 c1  np.pad(v, 1)
    5         np.pad(x, 1, constant_values=2.0)
    7         np.pad(x, 1, mode="edge")
cupy/_math/sumprod.py:363 diff
    1         np.diff(x, axis=0)
    2         np.diff(x, n=2)
cupy/_creation/matrix.py:104 tril
    2         np.tril(x)
    2         np.triu(x)
    1  m1     np.diag(v)
    1         np.trace(x)
cupy/_math/misc.py:448 nan_to_num
    3  m1     np.nan_to_num(x)
cupy/_core/_routines_math.pyx:702 scan_core
    3         np.cumsum(v)
    2         np.cumsum(x, axis=0)
cupy/_core/_routines_sorting.pyx:17 _ndarray_sort
    2         np.sort(v)
    2         np.argsort(v)
    4         np.sort(x, axis=0)
    5         np.median(v)
    7  c1 w1  np.unique(v)
    1  m1     np.searchsorted(v, v)
cupy/_core/core.pyx:2098 _ndarray_base.get
    0  w1     float(x[0, 0])
    0  w1     x.tolist()
    0  w1     repr(x)
    0  w1     x.tobytes()
    0  w1     bytes(x)
    1  w1     x.T.get()
    0  w1     x.T.get(order="A")
    0  u1     v.set(np.ones(32, np.float32))
    0  w1     x[:n]
    0  m1 w1  x[:n] = 0
cupy/_core/_routines_manipulation.pyx:60 _ndarray_shape_setter
    0         v.shape = (32,)
    1         x.reshape(-1, copy=True)
cupy/_core/_routines_math.pyx:25 _ndarray_real_getter
    0         z.imag
    0  m1     x.imag
    1         z.real = x
    1         z.imag = 2.0
cupy/_indexing/iterate.py:10 flatiter
    1         x.flat[3]
    1         x.flat[1:7]
    32        list(v.flat)
    1         x.flat[3] = 1.5
    0  m1     x.flat[3] = 0
    1         x.flat[1:7] = v
    2         x.flat[1:7] = 1.5
    1  u1     x.flat[1:7] = [1.0, 2.0]
cupy/_core/_routines_indexing.pyx:157 _ndarray_put
    1         v.put(i, v)
    2  u1     v.put([1, 2], 3.0)
    1  m1 w1  v.put(i, v, "raise")
    5  w2     j.choose(q[:, 0, :, 0])
    2         j.choose(q[:, 0, :, 0], mode="wrap")
    1         j.choose(q[:, 0, :, 0], mode="clip")
    3  w1     x.compress(rows, axis=0)
cupy/_core/core.pyx:1298 _ndarray_base.argmax
    1         x.argmax(axis=1, keepdims=True)
    1         x.argmax(axis=1, dtype=np.int32)
    1         x.trace(1)
    1         x.clip(0, 1, y)
    1         x.round(1, y)
    3         v.cumsum(None, None, y[1])
    2         v.cumsum(0)
    2  m1     v.searchsorted(v, sorter=i)
cupy/_core/_routines_sorting.pyx:17 _ndarray_sort
    1         y.sort()
    3         y.sort(axis=0)
    1         y.partition(3)
    2         np.argsort(x, axis=0)
    2         v.argsort(kind="stable")
cupy/_creation/from_data.py:9 array
    2         np.array([v, v], like=x)
    2         np.array([x[0, 0], x[1, 1]], like=x)
    3         np.array([v, v], dtype=np.float64, like=x)
    4         np.array([[v, v], [i, i]], like=x)
    1         np.array(x, like=x)
    1         np.array(x, np.float64, like=x)
    0         np.asarray(x, like=x)
    1         np.asarray(x, order="F", like=x)
    1         np.ascontiguousarray(x.T, like=x)
    0  u1     np.array([1.0, 2.0], like=x)
    1         np.array(2.0, like=x)
    0  m1     np.array(0.0, like=x)
    0  m1     np.zeros((2, 3), order="F", like=x)
cupy/random/_bit_generator.pyx:89 _cuRANDGenerator.__init__
    2  m1     rng.random((3,))
    2  m1     rng.standard_normal((3,))
    6  m2     rng.uniform(0.0, 1.0, (3,))
    7  m1     rng.uniform(-1.0, 1.0, (3,))
    3  m1     rng.integers(0, 5, (3,))
fluxlite
    1  m1     fl.scatter_add(x, i, x)
    4         windows.convolve(pictures, kernel, VALID)
    4  m1     windows.convolve(pictures, kernel, PADDED)
    5         windows.convolve_kernel(pictures, results, VALID)
    11 m1     windows.convolve_back(results, kernel, VALID, (8, 8))
    1         windows.max_along(pictures, 1, 2, 2)
    3         windows.max_along(pictures, 1, 4, 2)
    1         windows.sum_along(pictures, 2, 2, 2)
    2  m1     windows.spread_along(pooled, 1, 2, 2, 8)
    4  m1     windows.spread_to_first(pooled, pictures, pooled, 1, 2, 2)
    2         windows.padded(pictures, ((1, 1), (1, 1)), 0.0)
    28 m1     rnn(sequence)
    83 m2     lstm(sequence)
    90 m1     gru(sequence)
    2         dense(x)
    9         fl.gradient(lambda m: np.sum(m(x)), dense)
    1         adam.rule.apply(adam.memory, x, y)
    7  m1     rnn_cell(x)
    22 m2     lstm_cell(x)
    21 m1     gru_cell(x)
    5         fl.softmax(x)
    12        norm(x)
    25        training_step(*wave)
"""


def _rows() -> Iterator[Row]:
    where = ""
    for text in _TABLE.strip().splitlines():
        if not text.startswith(" "):
            where = text
            continue
        counts, line = text[:14].split(), text[14:]
        also = {part[0]: int(part[1:]) for part in counts[1:]}
        yield Row(line, int(counts[0]), *(also.get(letter, 0) for letter in "mcuw"), where)


ROWS = list(_rows())


def operands() -> dict[str, np.ndarray]:
    """The arrays in the table's lines, on the host."""
    random = np.random.default_rng(1)

    def numbers(*shape: int) -> np.ndarray:
        return random.standard_normal(shape, np.float32)

    x, big = numbers(32, 32), numbers(1000, 1000)
    return {
        "x": x, "y": numbers(32, 32), "v": numbers(32), "big": big, "long": numbers(100_000), "small": numbers(2, 2),
        "i": np.arange(32), "j": np.arange(3), "mask": x > 0, "rows": x[0] > 0, "large": big > 0,
        "t": numbers(4, 3, 5), "a": numbers(4, 3), "b": numbers(5, 2), "c": numbers(5), "d": numbers(3, 2),
        "s": numbers(4, 5, 2), "q": numbers(6, 2, 3, 4), "r": numbers(6, 2, 4, 5), "sequence": numbers(4, 7, 3),
        "half": numbers(8, 8).astype(np.float16), "half3": numbers(4, 3, 3).astype(np.float16),
        "pictures": numbers(2, 8, 8, 3), "pooled": numbers(2, 4, 8, 3), "kernel": numbers(3, 3, 3, 4),
        "results": numbers(2, 6, 6, 4), "n": np.array(2), "z": x + 1j * x,
    }  # fmt: skip


VALID = windows.Windows((3, 3), (1, 1), ((0, 0), (0, 0)), (1, 1))
PADDED = VALID._replace(pad=((1, 1), (1, 1)))


@fuse
def fused(x: Any, y: Any) -> Any:
    return np.tanh(x + y) * 2


@fuse
def fused_step(x: Any, y: Any) -> None:
    y *= 0.9
    x -= 0.1 * y


@fuse
def fused_pair(x: Any, number: Any) -> Any:
    return x * number, np.where(x > 0, x, 0)


def training_step(x: Any, y: Any, memory: Any, w1: Any, w2: Any) -> None:
    """A step of the sine-wave RNN in lesson 04."""

    def loss(w1: Any, w2: Any) -> tuple[Any, Any]:
        after = np.tanh(np.concatenate([x, memory], axis=1) @ w1)
        return np.sum((after @ w2 - y) ** 2) / 2, after

    _, (g1, g2) = fl.withgradient(loss, w1, w2)
    w1 -= 0.1 * g1
    w2 -= 0.1 * g2


_FUSED = {"fused": fused, "fused_step": fused_step, "fused_pair": fused_pair}
_NAMES = {"np": np, "fl": fl, "windows": windows, "VALID": VALID, "PADDED": PADDED, "training_step": training_step}


def layers() -> dict[str, Any]:
    """The layers in the table's lines, and the operands of lesson 04's step, on the host."""
    made = {"rnn": fl.RNN(3, 5), "lstm": fl.LSTM(3, 5), "gru": fl.GRU(3, 5), "norm": fl.LayerNorm(32)}
    wave = [np.ones(shape, np.float32) for shape in ((1, 1), (1, 1), (1, 6), (7, 6), (6, 1))]
    cells = {"rnn_cell": fl.RNNCell(32, 5), "lstm_cell": fl.LSTMCell(32, 5), "gru_cell": fl.GRUCell(32, 5)}
    return {**made, **cells, "dense": fl.Dense(32, 4, fl.relu), "wave": wave}


def on(device: Any) -> dict[str, Any]:
    """Everything that the lines name, on this device."""
    arrays = {name: device.upload(x) for name, x in operands().items()}
    ours = {name: device(x) for name, x in layers().items()} | {"adam": fl.setup(fl.Adam(), arrays["x"])}
    return {**_NAMES, **_FUSED, **arrays, **ours, "rng": device.rng}


def run(line: str, there: dict[str, Any]) -> None:
    """Run a line of the table with what `on` gave."""
    exec(compile(line, "<launch table>", "exec"), dict(there))
