"""Time on a simulated GPU: who waits for whom, what each thing costs, and the same to the last digit in each run."""

import numpy as np
import pytest
from inside import HostClock, Lanes, Preset, preset, tiles

import fluxlite as fl
from fluxlite import clock, receipt, simulate_gpu
from fluxlite.devices import cpu, devices, gpu

MICRO, MILLI = 1e-6, 1e-3
LAPTOP = 90e-3  # seconds that a laptop's CPU takes for the product of two 2048 x 2048 matrices in float32
# Round figures: a kernel takes 1 µs per 1,000 bytes or 1,000 operations, but 10 µs at least.
ROUND = Preset(
    "round", 2**30, 4, bandwidth=1e9, float16=1e9, float32=1e9, float64=1e9, pageable=1e9, pinned=2e9,
    launch=5e-6, library=5e-6, tape=0.0, floor=10e-6, latency=100e-6, first_use=1e-3, start=0.0,
)  # fmt: skip


@pytest.fixture
def round_gpu():
    simulate_gpu(like=ROUND)
    fl.reset_notices()
    return devices()[0]


def took(program):
    before = clock()
    program()
    return clock() - before


def warm(*programs):
    for program in programs:
        program()
    devices()[0].synchronize()


def on(device, *shape, dtype=np.float32):
    return device(np.ones(shape, dtype), dtype=None)


def test_the_ladder_of_a_product_not_waited_for_waited_for_and_with_copies(simulated):
    host = np.ones((2048, 2048), np.float32)
    x, y = gpu(host), gpu(host)
    warm(lambda: x @ y)

    def waited():
        x @ y
        simulated.synchronize()

    ordered, done = took(lambda: x @ y), None
    simulated.synchronize()
    done = took(waited)
    copied = took(lambda: cpu(gpu(host) @ gpu(host)))
    assert ordered == pytest.approx(20 * MICRO)
    assert done == pytest.approx(2.88 * MILLI, rel=0.01)
    # The second matrix goes into pinned memory while the first one is on its way.
    assert copied == pytest.approx(9.91 * MILLI, rel=0.01)
    assert [LAPTOP / ordered, LAPTOP / done, LAPTOP / copied] == pytest.approx([4_500, 31, 9], rel=0.02)


def test_launching_does_not_wait_and_the_device_works_through_its_queue(round_gpu):
    x = on(round_gpu, 250_000)  # x + x moves 3,000,000 bytes: 3 ms
    warm(lambda: x + x)
    with receipt() as r:
        for _ in range(3):
            x + x
    assert clock() * 1e9 == pytest.approx(round_gpu.host.now)
    moments = r.timeline()
    assert [moment.went_on - moment.asked for moment in moments] == pytest.approx([5 * MICRO] * 3)
    assert [moment.start for moment in moments] == pytest.approx([5 * MICRO, 3.005 * MILLI, 6.005 * MILLI])
    assert float(r.seconds) == pytest.approx(9.005 * MILLI)
    assert took(round_gpu.synchronize) == pytest.approx(9.005 * MILLI - 15 * MICRO)
    assert took(round_gpu.synchronize) == 0


@pytest.mark.parametrize("read", [float, repr, cpu])
def test_reading_waits_for_the_device_and_copies(round_gpu, read):
    x = on(round_gpu, 250_000)
    warm(lambda: (x + x).sum())
    y = (x + x).sum()  # 3 ms and 1 ms, the latter by two kernels
    assert took(lambda: read(y)) == pytest.approx(4 * MILLI - 2 * 5 * MICRO + 100 * MICRO, rel=1e-3)


@pytest.mark.parametrize("wait", [lambda x: x[x > 2], np.nonzero, np.unique])
def test_what_depends_on_values_waits(round_gpu, wait):
    x = on(round_gpu, 250_000)
    warm(lambda: wait(x), lambda: x + x)
    x + x
    assert took(lambda: wait(x)) > 3 * MILLI


def test_shapes_views_and_writes_do_not_wait(round_gpu):
    x = on(round_gpu, 500, 500)
    warm(lambda: x + x, lambda: x.__setitem__(0, 1))
    x + x
    assert took(lambda: (x.T, x[0], x.shape, len(x), x.reshape(-1), list(x))) == 0
    assert took(lambda: x.__setitem__(0, 2)) == pytest.approx(5 * MICRO)


def test_a_copy_to_the_gpu_is_in_the_order_of_everything_and_the_host_goes_on(round_gpu):
    """NumPy's memory is copied to pinned memory by the host, 1 MB at 2 GB/s; then the rest is the stream's."""
    x = on(round_gpu, 250_000)
    warm(lambda: x + x)
    with receipt() as r:
        x + x
        assert took(lambda: gpu(np.ones(250_000, np.float32))) == pytest.approx(5 * MICRO + 0.5 * MILLI)
        x + x
    first, copy, second = r.timeline()
    assert (copy.lane, copy.start) == ("copies in", pytest.approx(first.end))
    assert copy.end - copy.start == pytest.approx(100 * MICRO + 0.5 * MILLI)
    assert second.start == pytest.approx(copy.end) and r.synchronizations == 0


def test_a_pinned_copy_runs_beside_the_computing(round_gpu):
    x = on(round_gpu, 250_000)
    warm(lambda: x + x)
    with receipt() as r:
        x + x
        batch, there = round_gpu.copy_in_pinned(np.full(250_000, 2, np.float32))
        x + x
        round_gpu.wait_for(there)
        y = batch + batch
    before, copy, beside, after = r.timeline()
    assert (copy.lane, copy.kind) == ("copies in", "host to device")
    assert copy.went_on - copy.asked == pytest.approx(5 * MICRO + 0.5 * MILLI)  # into pinned memory, at 2 GB/s
    assert copy.start == pytest.approx(before.end)  # what came before may still use this memory
    assert copy.end - copy.start == pytest.approx(100 * MICRO + 0.5 * MILLI)
    assert beside.start == pytest.approx(before.end) and beside.end > copy.end
    assert after.start == pytest.approx(beside.end)
    assert cpu(y)[0] == 4


def test_an_operations_first_use_loads_its_kernel_once_on_each_device():
    simulate_gpu(2, like=ROUND)
    first, second = devices()
    x, y = on(first, 2), on(second, 2)
    assert took(lambda: x + x) == pytest.approx(1005 * MICRO)
    assert took(lambda: x + x) == pytest.approx(5 * MICRO)
    assert took(lambda: x * x) == pytest.approx(1005 * MICRO)
    with second:
        assert took(lambda: y + y) == pytest.approx(1005 * MICRO)
    assert took(lambda: x.fill(0)) == pytest.approx(5 * MICRO)  # memory is set to zero without a kernel


def test_on_real_devices_it_is_the_real_clock():
    import time

    assert clock() == pytest.approx(time.perf_counter(), abs=60)
    with fl.simulate_gpu():
        virtual = clock()
        sum(range(100_000))
        assert clock() == virtual


# -- how long a kernel takes ------------------------------------------------------------------------------


def worked(program):
    """The seconds that the device works when all kernels are warm."""
    program()
    with receipt() as r:
        program()
    return sum(moment.end - moment.start for moment in r.timeline() if moment.lane == "compute")


@pytest.mark.parametrize(
    ("program", "nbytes"),
    [
        (lambda x, b, i: x + x, 12e6),
        (lambda x, b, i: x + b, 8e6 + 4e3),
        (lambda x, b, i: x > 0, 5e6),
        (lambda x, b, i: x.__iadd__(1), 8e6),
        (lambda x, b, i: x.sum(), 4e6),
        (lambda x, b, i: np.max(x, axis=1), 4e6 + 4e3),
        (lambda x, b, i: x.astype(np.float64), 12e6),
        (lambda x, b, i: x.T.copy(), 8e6),
        (lambda x, b, i: np.zeros_like(x), 4e6),
        (lambda x, b, i: np.concatenate([x, x.T]), 16e6),
        (lambda x, b, i: x[i], 2 * 2e6 + 4e3),  # 500 rows, and the indices
        (lambda x, b, i: np.take(x, i, axis=0), 2 * 2e6 + 4e3),
        (lambda x, b, i: x.__setitem__(0, b), 8e3),
    ],
)
def test_bytes_decide_about_most_kernels(round_gpu, program, nbytes):
    x, b = on(round_gpu, 1000, 1000), on(round_gpu, 1000)
    i = round_gpu(np.arange(500))
    assert worked(lambda: program(x, b, i)) == pytest.approx(max(nbytes / 1e9, 1e-5), rel=2e-3)


@pytest.mark.parametrize(
    ("program", "operations"),
    [
        (lambda x: x @ x, 2 * 256**3),
        (lambda x: x[:64] @ x, 2 * 64 * 256**2),
        (lambda x: np.tensordot(x, x, axes=([1], [0])), 2 * 256**3),
        (lambda x: np.einsum("ij,jk->ik", x, x), 2 * 256**3),
        (lambda x: x.reshape(4, 64, 256) @ x.reshape(4, 256, 64), 2 * 4 * 64 * 64 * 256),
        (lambda x: np.linalg.inv(x), 2 * 256**3),
    ],
)
def test_operations_decide_about_products(round_gpu, program, operations):
    x = round_gpu(np.eye(256, dtype=np.float32))
    assert worked(lambda: program(x)) == pytest.approx(operations / 1e9, rel=1e-3)


def test_a_complex_product_is_four_real_ones(round_gpu):
    x = round_gpu(np.eye(256, dtype=np.complex64))
    assert worked(lambda: x @ x) == pytest.approx(4 * 2 * 256**3 / 1e9, rel=1e-3)


def test_a_small_result_keeps_few_multiprocessors_busy(round_gpu):
    wide, x = on(round_gpu, 64, 6400), on(round_gpu, 6400, 64)
    assert worked(lambda: wide @ x) == pytest.approx(2 * 64 * 64 * 6400 / (1e9 / 4), rel=1e-3)  # 1 tile, 4 of them
    assert [tiles(np.empty((m, 3)), np.empty((3, n)), np.empty((m, n))) for m, n in ((1, 1), (64, 65), (129, 64))] == [
        1, 2, 3,
    ]  # fmt: skip
    assert tiles(np.empty((5, 64, 3)), np.empty((3, 64)), np.empty((5, 64, 64))) == 5


def test_a_composite_shares_its_bytes_among_its_kernels(round_gpu):
    x = on(round_gpu, 1000, 1000)
    x.var()
    with receipt() as r:
        x.var()
    (moment,) = r.timeline()
    assert moment.times == 5
    assert moment.went_on - moment.asked == pytest.approx(25 * MICRO)
    assert moment.end - moment.start == pytest.approx(10 * MILLI, rel=1e-3)  # ten operations each, in five kernels


@pytest.mark.parametrize("count", [1, 3])
def test_every_kernel_of_a_call_takes_a_launch_and_a_part_of_the_time(count):
    launch, floor = 5_000, 10_000  # nanoseconds
    lanes = Lanes(ROUND, HostClock())
    lanes.launch("x", 0)
    lanes.synchronize()
    _, asked, went_on, start, end = lanes.launch("x", 60_000, count=count)  # bytes at 1 GB/s
    assert (went_on - asked, start - asked) == (count * launch, launch)
    assert end - start == 60_000
    lanes.synchronize()
    _, asked, went_on, start, end = lanes.launch("x", 0, count=count)
    assert (went_on - asked, end - start) == (count * launch, count * floor)


def test_the_first_kernel_of_a_library_takes_the_host_longer():
    lanes = Lanes(ROUND._replace(library=9e-6), HostClock())
    lanes.launch("x", 0)
    for count in (1, 3):
        _, asked, went_on, _, _ = lanes.launch("x", 0, count=count, library=True)
        assert went_on - asked == 9_000 + (count - 1) * 5_000


def test_the_queue_of_launches_is_finite():
    """When it's full, the host waits until the oldest is done."""
    lanes = Lanes(ROUND._replace(queue=4), HostClock())
    lanes.launch("x", 0)
    lanes.synchronize()
    begun = lanes.host.now
    spans = [lanes.launch("x", 1_000_000) for _ in range(8)]  # 1 ms each
    waits = [went_on - asked for _, asked, went_on, _, _ in spans]
    assert waits[:4] == [5_000] * 4 and waits[4] == 1_000_000 - 3 * 5_000 and waits[5:] == [1_000_000] * 3
    assert lanes.host.now - begun == 5_000 + 4 * 1_000_000
    assert preset("NVIDIA T4").queue == 1024


def test_the_driver_and_cublas_start_once_whatever_is_asked_for_first():
    simulate_gpu(2, like=ROUND._replace(start=0.25))
    first, second = devices()
    for device, ask in ((first, lambda: on(first, 2)), (second, lambda: second.copy_in_pinned(np.ones(2)))):
        with receipt() as r:
            assert took(ask) == pytest.approx(0.25, rel=1e-3)
            assert took(ask) < 1e-3
        assert (r.first_uses, r.timeline()[0].name, r.timeline()[0].device) == (1, "CUDA and cuBLAS", device)


def test_the_tape_takes_the_hosts_time():
    simulate_gpu(like=ROUND._replace(tape=1e-3))
    x = on(devices()[0], 2)
    w = fl.param(x)
    warm(lambda: np.tanh(x), lambda: np.tanh(w), lambda: fl.gradient(lambda w: np.sum(np.tanh(w)), x))
    assert took(lambda: np.tanh(x)) == pytest.approx(5 * MICRO)
    assert took(lambda: np.tanh(w)) == pytest.approx(1 * MILLI + 5 * MICRO)
    assert took(lambda: fl.gradient(lambda w: np.sum(np.tanh(w)), x)) == pytest.approx(2 * MILLI, rel=0.1)
    assert took(lambda: fl.gradient(np.tanh, 1.0)) == 0


def product_on_paper(dtype, *shape):
    """Seconds that ``x @ x`` takes, without computing it."""

    def product(x):
        x = x.astype(dtype)
        return x @ x

    timeline = fl.estimate(product, np.zeros(shape, bool), shapes_only=True).receipt.timeline()
    last = [moment for moment in timeline if moment.lane == "compute"][-1]
    return last.end - last.start


def test_products_of_batches_in_float16_are_computed_in_float32():
    times = {dtype: product_on_paper(dtype, 8, 512, 512) for dtype in (np.float16, np.float32)}
    assert times[np.float16] == pytest.approx(times[np.float32], rel=0.05)


def test_precision_has_its_price():
    times = {name: product_on_paper(name, 1024, 1024) for name in ("float16", "float32", "float64")}
    assert times["float16"] < times["float32"] / 4
    assert times["float64"] == pytest.approx(times["float32"] * 32 * 0.74 / 0.9, rel=0.01)
