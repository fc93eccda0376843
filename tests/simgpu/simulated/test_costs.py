"""What each thing costs, as a receipt counts it: launches, copies, waits, memory. Figures are CuPy 14's."""

import re

import numpy as np
import pytest
from kinds import numbers

from fluxlite import receipt, simulate_gpu
from fluxlite.devices import cpu, devices, gpu
from simgpu import launches as costs


def launches(program):
    with receipt() as r:
        program()
    return r.launches


# Beside those of `benchmarks/launch_table.py`.
@pytest.mark.parametrize(("program", "count"), [
    (lambda x: (x[0], x[:, 1:], np.reshape(x, (3, 2)), x.ravel(), np.expand_dims(x, 0), np.squeeze(x[None])), 0),
    (lambda x: (np.swapaxes(x, 0, 1), np.moveaxis(x, 0, 1), np.transpose(x), np.diagonal(x), x.real), 0),
    (lambda x: (x.shape, np.ndim(x), np.size(x), len(x), x.nbytes, np.result_type(x, x)), 0),
    (lambda x: (np.iscomplexobj(x), np.min_scalar_type(x), np.may_share_memory(x, x), np.shares_memory(x, x)), 0),
    (lambda x: x.__setitem__(0, x[1]), 0),
    (lambda x: (np.array_equiv(x, x), np.roll(x, 1, (0, 1))), 2 + 4),
    (lambda x: (x[0].argpartition(1), x.argpartition(1, axis=0)), 8 + 10),
    (lambda x: (np.flatnonzero(x), np.hstack([x] * 3), np.dstack([x, x])), 3 + 3 + 2),
    (lambda x: x @ x.T.astype(np.int32), 1 + 3),  # both become float64
])  # fmt: skip
def test_kernels(simulated, program, count):
    x = numbers(simulated)
    assert launches(lambda: program(x)) == count


def test_copies_on_a_device_between_two_and_from_pinned_memory_are_explicit():
    simulate_gpu(2)
    first, second = devices()
    x = numbers(first)
    with receipt() as r:
        second(x)
        x.copy()
        first.copy_in_pinned(np.zeros(4, np.float32))
    for copies, count, nbytes in ((r.device_to_device, 1, 24), (r.host_to_device, 1, 16)):
        assert (copies.count, copies.bytes, copies.explicit, copies.implicit) == (count, nbytes, count, 0)


def test_what_the_program_asked_for_is_explicit(simulated):
    with receipt() as r:
        x = gpu(np.zeros((2, 3), np.float32))
        gpu(x)
        cpu(x)
        cpu(cpu(x))
        x.get()
    assert (r.host_to_device.count, r.host_to_device.bytes, r.host_to_device.implicit) == (1, 24, 0)
    assert (r.device_to_host.count, r.device_to_host.explicit, r.device_to_host.bytes) == (3, 3, 72)
    assert r.synchronizations == 3


@pytest.mark.parametrize(
    ("program", "nbytes"),
    [
        (lambda x: float(x[0, 0]), 4),
        (lambda x: x[0, 0].item(), 4),
        (lambda x: f"{x[0, 0]:.1f}", 4),
        (lambda x: repr(x), 24),
        (lambda x: x[x > 2], 4),
        (lambda x: x.__setitem__(x > 2, x[0, 0]), 4),
        (lambda x: x[: x.argmax()], 8),
        (lambda x: x.ravel().put([0], 1, "raise"), 1),
    ],
)
def test_what_waits_without_a_word(simulated, program, nbytes):
    x = numbers(simulated)
    with receipt() as r:
        program(x)
    copies = r.device_to_host
    assert (copies.count, copies.implicit, copies.explicit, copies.bytes) == (1, 1, 0, nbytes)
    assert r.synchronizations == 1


@pytest.mark.parametrize(
    ("program", "nbytes"),
    [
        (lambda x: x[[0, 1]], 16),
        (lambda x: np.take(x, [0, 1]), 16),
        (lambda x: x[np.array([0, 1], np.int32)], 8),
        (lambda x: x.__setitem__([0, 1], np.zeros((2, 3))), 16 + 24),
        (lambda x: np.add.at(x, np.array([0]), 1.0), 8),
        (lambda x: np.add.at(x, np.array([0]), np.ones(3, np.float32)), 8 + 12),
    ],
)
def test_what_is_copied_to_the_device_without_a_word(simulated, program, nbytes):
    x = numbers(simulated)
    with receipt() as r:
        program(x)
    assert r.host_to_device.bytes == nbytes
    assert r.host_to_device.explicit == 0 and r.host_to_device.implicit == r.host_to_device.count


def test_nothing_else_waits(simulated):
    x = numbers(simulated)
    with receipt() as r:
        y = np.tanh(x @ x.T).sum() * 2
        z = [row + y for row in x]
        x[0] = z[0]
        x[1, 2] = 5
    assert r.synchronizations == r.device_to_host.count == r.host_to_device.count == 0


def test_synchronize_waits_and_copies_nothing(simulated):
    with receipt() as r:
        simulated.synchronize()
    assert (r.synchronizations, r.device_to_host.count) == (1, 0)


def test_receipts_nest_and_end(simulated):
    x = numbers(simulated)
    with receipt() as outer:
        x + 1
        with receipt() as inner:
            x + 1
        x + 1
    x + 1
    assert (outer.launches, inner.launches) == (3, 1)


def test_peak_memory(simulated):
    x = numbers(simulated, (128,))  # 512 bytes
    with receipt() as outer:
        with receipt() as first:
            y = [x + 1, x + 2]
        del y
        with receipt() as second:
            y = x + 1
    assert (first.peak_memory, second.peak_memory, outer.peak_memory) == (1536, 1024, 1536)
    assert simulated.memory().peak == 1536
    del y


def test_what_a_receipt_says(simulated):
    x = numbers(simulated)
    with receipt() as r:
        float((x @ x.T + 1).sum())
        x[[0]]
        np.zeros_like(x)
    *rows, time = repr(r).splitlines()
    assert re.fullmatch(r"80.1 ms simulated \(NVIDIA T4\); .* of this machine's time to simulate it", time)
    assert rows == [
        "launches          4: add 1, getitem 1, matmul 1, sum 1",
        "memsets           1",
        "host to device    1 copy, 8 bytes: 0 explicit, 1 implicit",
        "device to host    1 copy, 4 bytes: 0 explicit, 1 implicit",
        "synchronizations  1",
        "first uses        4",
        f"peak memory       {r.peak_memory:,} bytes",
    ]


# -- operations ------------------------------------------------------------------------------------------------

# Of an n by n matrix, in units of n³: Golub and Van Loan, "Matrix Computations"; where it's iterative, a usual number.
CUBES = {
    "linalg.cholesky": 1 / 3, "linalg.det": 2 / 3, "linalg.slogdet": 2 / 3, "linalg.solve": 2 / 3, "linalg.qr": 4 / 3,
    "linalg.inv": 2, "linalg.eigvalsh": 4, "linalg.lstsq": 4, "linalg.matrix_rank": 4, "linalg.matrix_power": 4,
    "linalg.eigh": 9, "linalg.svd": 20, "linalg.pinv": 20,
}  # fmt: skip


def operations(*call):
    return costs.work_of(*call)[1]


@pytest.mark.parametrize("name", CUBES)
def test_operations_of_linear_algebra_grow_with_the_cube(name):
    for many, n in ((1, 6), (1, 12), (5, 6)):
        x = np.zeros((many, n, n), np.float32)
        assert operations(name, [x], [x], (x,), {}) == pytest.approx(CUBES[name] * many * n**3)


def test_other_operations():
    x, y = np.zeros((3, 5)), np.zeros((5, 7))
    assert operations("dot", [x, y], [np.zeros((3, 7))], (x, y), {}) == pytest.approx(2 * 3 * 5 * 7)
    for subscripts, operands, result, count in (
        ("ij,jk->ik", (x, y), np.zeros((3, 7)), 2 * 3 * 5 * 7),
        ("ij, jk", (x, y), np.zeros((3, 7)), 2 * 3 * 5 * 7),
        ("ij->j", (x,), np.zeros(5), 2 * 3 * 5),
        ("...ij,...jk->...ik", (np.zeros((4, 3, 5)), y), np.zeros((4, 3, 7)), 2 * 3 * 5 * 7),
        ("i,j->ij", (np.zeros(3), np.zeros(1)), np.zeros((3, 1)), 6),
    ):
        assert operations("einsum", operands, [result], (subscripts, *operands), {}) == count
    assert operations("sort", [np.zeros(15)], [np.zeros(15)], (), {}) == 15 * 4
    assert operations("add", [x, np.zeros(5)], [x], (), {}) == 15
    assert operations("exp", [x], [x], (), {}) == 150
    assert operations("sum", [x], [np.zeros(3)], (), {}) == 15


def test_what_is_picked_or_not_read_counts_as_written():
    x, y = np.zeros((3, 5)), np.zeros(2)
    for name, arrays, made, nbytes in (
        ("add", [x, y], y, 15 + 2 + 2), ("linalg.norm", [x], y, 15 + 2), ("zeros_like", [x], x, 15),
        ("compress", [x, y], y, 2 + 2),
    ):  # fmt: skip
        assert costs.work_of(name, arrays, [made], tuple(arrays), {})[0] == 8 * nbytes
