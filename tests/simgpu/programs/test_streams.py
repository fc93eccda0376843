"""`simgpu.cuda`: devices, streams, events and memory pools, over the simulated clocks and memory."""

import numpy as np
import pytest

import simgpu
from simgpu import cuda
from simgpu.cuda.runtime import CUDARuntimeError


@pytest.fixture
def card():
    """A T4 of its own, the only one, that has loaded its kernels."""
    (device,) = simgpu.devices(1, "NVIDIA T4")
    for size in (8, 2):
        x = device(np.ones((size, size), np.float32))
        _ = x @ x + x
    device.synchronize()
    return device


def big(device):
    return device(np.ones((1024, 1024), np.float32))


def test_two_events_around_a_product_give_its_time(card):
    x = big(card)
    start, end = cuda.Event(), cuda.Event()
    start.record()
    _ = x @ x
    end.record()
    with pytest.raises(CUDARuntimeError, match="cudaErrorNotReady") as error:
        cuda.get_elapsed_time(start, end)
    assert error.value.status == 600
    end.synchronize()
    assert cuda.get_elapsed_time(start, end) == pytest.approx(0.358, rel=0.02)  # 2·1024³ in 8.1 x 0.74 TFLOP/s


@pytest.mark.parametrize("make", [lambda: (cuda.Event(), cuda.Event()), lambda: (recorded(), cuda.Event()),
                                  lambda: (recorded(disable_timing=True), recorded())])  # fmt: skip
def test_events_without_a_time_raise(card, make):
    with pytest.raises(CUDARuntimeError, match="InvalidResourceHandle"):
        cuda.get_elapsed_time(*make())


def recorded(**options):
    event = cuda.Event(**options)
    event.record()
    return event


def test_a_copy_in_another_stream_runs_beside_a_product_and_kernels_do_not(card):
    x, host = big(card), np.ones((256, 512), np.float32)

    def seconds(second_work, stream):
        card.synchronize()
        begin = card.clock()
        _ = x @ x
        with stream:
            second_work()
        card.synchronize()
        return card.clock() - begin

    product = seconds(lambda: None, cuda.Stream.null)
    copied = seconds(lambda: card(host), cuda.Stream.null)
    beside = seconds(lambda: card(host), cuda.Stream(non_blocking=True))
    assert beside < 0.95 * copied and beside < 1.05 * product
    assert seconds(lambda: card(host), cuda.Stream()) == pytest.approx(copied)  # a blocking one waits for the null one
    assert seconds(lambda: x @ x, cuda.Stream(non_blocking=True)) == pytest.approx(2 * product, rel=0.05)


def test_the_null_stream_waits_for_blocking_ones_alone(card):
    x = big(card)
    for stream, is_done in ((cuda.Stream(), False), (cuda.Stream(non_blocking=True), True)):
        card.synchronize()
        with stream:
            _ = x @ x
        assert cuda.Stream.null.done is is_done
        assert not stream.done
        stream.synchronize()
        assert stream.done and cuda.Stream.null.done


def test_a_stream_waits_for_an_event_of_another(card):
    x = big(card)
    one, other = cuda.Stream(non_blocking=True), cuda.Stream(non_blocking=True)
    with one:
        _ = x @ x
    event = one.record()
    other.wait_event(event)
    assert not event.done and not other.done
    other.synchronize()
    assert event.done and one.done


def test_which_stream_is_current(card):
    assert cuda.get_current_stream() is cuda.Stream.null
    with cuda.Stream() as outer:
        with cuda.Stream() as inner:
            assert cuda.get_current_stream() == inner != outer
        assert cuda.get_current_stream() is outer
    assert cuda.get_current_stream() == cuda.Stream(null=True)
    assert outer.use() is cuda.get_current_stream()
    cuda.Stream.null.use()


def test_a_stream_belongs_to_its_card():
    first, second = simgpu.devices(2, "A100")
    with second:
        stream = cuda.Stream()
    assert (stream.device_id, cuda.Stream.null.device_id) == (1, -1)
    with pytest.raises(RuntimeError, match="Simulated:1.*Simulated:0"):
        stream.use()
    with second, stream:
        assert cuda.get_current_stream() is stream
        assert cuda.get_current_stream(0) is cuda.Stream.null
    simgpu.devices(1)


def test_waits_of_streams_and_events_are_counted(card):
    with simgpu.receipt() as r:
        cuda.Stream.null.synchronize()
        recorded().synchronize()
        cuda.Event().synchronize()  # never recorded: there's nothing to wait for
        cuda.runtime.deviceSynchronize()
    assert r.synchronizations == 3


def test_devices_by_number():
    first, second = simgpu.devices(2, "A100")
    assert cuda.Device(1) is second and cuda.Device() is first and isinstance(second, cuda.Device)
    assert cuda.Device(1).use() is second
    assert cuda.runtime.getDevice() == cuda.get_device_id() == 1
    cuda.runtime.setDevice(0)
    assert cuda.runtime.getDevice() == 0 and cuda.runtime.getDeviceCount() == 2
    with pytest.raises(CUDARuntimeError, match="cudaErrorInvalidDevice.*device 2 of 2"):
        cuda.Device(2)
    assert cuda.runtime.deviceCanAccessPeer(0, 1) == 1
    simgpu.devices(1)


def test_the_pool_keeps_what_was_used_until_it_is_freed(card):
    pool = cuda.MemoryPool()
    pool.free_all_blocks()
    before, free = pool.used_bytes(), cuda.runtime.memGetInfo()[0]
    x = card(np.zeros(1_000_000))
    assert pool.used_bytes() - before == 8_000_000
    del x
    assert pool.used_bytes() == before
    assert pool.free_bytes() == 8_000_000 == pool.total_bytes() - before == free - cuda.Device().mem_info[0]
    assert pool.n_free_blocks() == 1
    pool.free_all_blocks()
    assert pool.free_bytes() == 0 and cuda.runtime.memGetInfo()[0] == free


def test_pinned_memory(card):
    pool = cuda.PinnedMemoryPool()
    cuda.set_pinned_memory_allocator(pool.malloc)
    x = np.frombuffer(cuda.alloc_pinned_memory(40), np.float32, 10)
    x[...] = 1
    assert card(x).sum() == 10 and pool.n_free_blocks() == 0


def test_what_is_missing_says_so():
    assert not hasattr(cuda, "nccl")
    with pytest.raises(NotImplementedError, match="cuda.nccl isn't simulated"):
        _ = cuda.nccl
