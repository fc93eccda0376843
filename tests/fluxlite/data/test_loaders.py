"""Batches on a device: four ways to get them there, what each costs, and that the copies run beside the computing."""

import collections
import gc
import itertools
import weakref

import numpy as np
import pytest
from inside import HOST_TO_DEVICE, LAUNCH, Event, MovedLoader, PinnedCopies, device_of, listeners, real_listeners
from kinds import EVERYWHERE, GPUS

import fluxlite as fl
from fluxlite import notices
from fluxlite.devices import CPU

Pair = collections.namedtuple("Pair", "x y")


def xy(n=20, width=3):
    return np.arange(width * n, dtype=np.float32).reshape(n, width), np.arange(n, dtype=np.int32)


def on_host(batches):
    return [tuple(fl.cpu(x).copy() for x in batch) for batch in batches]


def assert_equal(some, others):
    assert len(some) == len(others)
    for one, other in zip(some, others):
        for a, b in zip(one, other):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)


class Loop:
    """Way 1, as a loader: the program moves each batch."""

    def __init__(self, loader, device):
        self.loader, self.device = loader, device

    def __iter__(self):
        return map(self.device, self.loader)


def ways(device, data, **settings):
    """One loader for each way to get batches to a device."""

    def loader(data):
        return fl.DataLoader(data, rng=7, **settings)

    x, y = data
    return {
        "on the host": loader(data),
        "by hand": Loop(loader(data), device),
        "gpu(loader)": device(loader(data)),
        "gpu((X, Y))": loader(device(data)),
        "(gpu(X), gpu(Y))": loader((device(x), device(y))),
        "mapobs": loader(fl.mapobs(device, data)),
        "to and fro": CPU(device(loader(data))),
        "collated": device(fl.DataLoader(data, rng=7, collate=True, **settings)),
    }  # fmt: skip


@pytest.fixture
def told():
    """The events of whatever device, in their order."""
    seen = []

    def told_of_a_real_gpu(*event):
        seen.append(Event(*event))

    listeners.append(seen.append)
    real_listeners.append(told_of_a_real_gpu)
    yield seen
    listeners.remove(seen.append)
    real_listeners.remove(told_of_a_real_gpu)


def copies(told):
    return [(event.bytes, event.explicit) for event in told if event.kind == HOST_TO_DEVICE]


# -- all ways give the same --------------------------------------------------------------------------------------


@pytest.mark.on(*EVERYWHERE)
@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("settings", [{}, {"shuffle": True}, {"shuffle": True, "partial": False}, {"partial": False}])
def test_all_ways_give_equal_batches_over_several_epochs(device, parallel, settings):
    """The keywords hold, and each epoch has a new order."""
    found = {
        name: [on_host(loader) for _ in range(3)]
        for name, loader in ways(device, xy(), batchsize=6, parallel=parallel, **settings).items()
    }
    expected = found.pop("on the host")
    assert len(expected[0]) == (3 if "partial" in settings else 4)
    assert ("shuffle" in settings) == (expected[0][0][1].tolist() != expected[1][0][1].tolist())
    for epochs in found.values():
        for epoch, wanted in zip(epochs, expected):
            assert_equal(epoch, wanted)


@pytest.mark.on(*EVERYWHERE)
def test_batches_are_on_the_device_and_of_their_kind(device):
    for name, loader in ways(device, xy(), batchsize=8).items():
        where = {"on the host": CPU, "to and fro": CPU}.get(name, device)
        assert all(device_of(part) == where for batch in loader for part in batch)
    x, y = xy()
    batch = next(iter(device(fl.DataLoader(Pair(x, {"y": y, "names": ["a"] * 20}), batchsize=2))))
    assert type(batch) is Pair and device_of(batch.x) == device_of(batch.y["y"]) == device
    assert batch.y["names"] == ["a", "a"]


@pytest.mark.on(*EVERYWHERE)
def test_splits_and_folds_of_data_on_a_device_stay_there(device):
    x, y = xy(10)
    parts = [
        *fl.splitobs((device(x), device(y)), at=0.7), *fl.splitobs(device((x, y)), shuffle=True, rng=0),
        fl.shuffleobs(device((x, y)), rng=1), *itertools.chain(*fl.kfolds(device((x, y)), 3)),
        fl.getobs(device((x, y)), [3, -1]), fl.batch(fl.unbatch(device((x, y)))),
    ]  # fmt: skip
    for a, b in parts:
        assert device_of(a) == device_of(b) == device
        np.testing.assert_array_equal(fl.cpu(a)[:, 0], 3 * fl.cpu(b))
    np.testing.assert_array_equal(fl.cpu(fl.getobs(device(y), device(np.array([4, 2], np.int32)))), [4, 2])


@pytest.mark.on(*GPUS)
def test_a_batch_of_arrays_of_several_devices_is_refused(device):
    with pytest.raises(TypeError, match="(?s)one array is on|incorrect type.*batch.observations. takes"):
        fl.batch([device(np.zeros(2, np.float32)), np.zeros(2, np.float32)])


# -- the guide's examples ----------------------------------------------------------------------------------------


def test_S1_11_to_13_and_S3_6_and_10_the_guides_ways_are_equivalent(simulated):
    """A batch moved in the loop, a loader moved, one over mapobs, and CuIterator."""
    by_hand, moved, mapped, iterated = (
        fl.DataLoader(data, batchsize=6, shuffle=True, rng=0) for data in (xy(), xy(), fl.mapobs(fl.gpu, xy()), xy())
    )
    moved, iterator = fl.gpu(moved), fl.cuda.CuIterator(iterated)
    assert isinstance(moved, MovedLoader) and len(moved) == 4 and fl.cuda.CuIterator is fl.CuIterator
    for _ in range(2):
        expected = on_host((fl.gpu(x), fl.gpu(y)) for x, y in by_hand)
        for batches in (moved, mapped, iterator):
            assert_equal(on_host(batches), expected)


# -- what is counted ---------------------------------------------------------------------------------------------


@pytest.mark.on("Simulated", "Metal")
@pytest.mark.parametrize("parallel", [False, True])
def test_one_explicit_copy_for_each_array_of_each_batch(device, told, parallel):
    data = xy()
    loader = fl.DataLoader(data, batchsize=6, shuffle=True, parallel=parallel)
    mapped = fl.DataLoader(fl.mapobs(device, data), batchsize=6, shuffle=True, parallel=parallel)
    for batches in (device(loader), Loop(loader, device), mapped):
        told.clear()
        for _ in batches:
            pass
        assert copies(told) == [(6 * 12, True), (6 * 4, True)] * 3 + [(2 * 12, True), (2 * 4, True)]


@pytest.mark.on("Simulated", "Metal")
def test_data_that_is_there_is_not_copied(device, told):
    data = device(xy())
    told.clear()
    for batches in (fl.DataLoader(data, batchsize=6), device(fl.DataLoader(data, batchsize=6))):
        assert len(list(batches)) == 4
    assert told == []
    shuffled = fl.DataLoader(data, batchsize=6, shuffle=True)
    assert len(list(shuffled)) == 4
    assert copies(told) == [(20 * 8, True)], "the order, once for the epoch and all parts"
    told.clear()
    list(device(fl.DataLoader(data[0], batchsize=6, shuffle=True, parallel=True)))
    assert copies(told) == [(20 * 8, True)]


class In32Bits:
    """A generator as NumPy's is on a computer of 32 bits, such as a browser."""

    def permutation(self, count):
        return np.arange(count, dtype=np.int32)[::-1]


@pytest.mark.on("Simulated")
def test_an_order_has_as_many_bytes_where_numpys_integers_have_32_bits(device, told):
    shuffled = fl.DataLoader(device(xy()), batchsize=6, shuffle=True)
    shuffled.rng = In32Bits()
    told.clear()
    x, _ = next(iter(shuffled))
    assert copies(told) == [(20 * 8, True)] and fl.cpu(x).tolist() == xy()[0][:-7:-1].tolist()


def test_a_shuffled_batch_is_one_gather_and_no_wait(simulated):
    data = fl.gpu(xy())
    with fl.receipt() as r, fl.allowscalar(False):
        list(fl.DataLoader(data, batchsize=6, shuffle=True))
    assert r.launches == 2 * 4 and r.synchronizations == 0 and r.device_to_host.count == 0
    with fl.receipt() as r:
        list(fl.DataLoader(data, batchsize=6))
    assert r.launches == 0


def test_what_cannot_be_moved_is_mentioned_unless_it_is_there_already(simulated):
    class Box:
        def __init__(self, array):
            self.array = array

    batches = [(np.ones(2, np.float32), Box(fl.gpu(np.ones(2, np.float32))))]
    list(fl.CuIterator(batches))
    assert notices() == []
    batches[0][1].array = np.ones(2)
    list(fl.CuIterator(batches))
    assert "[1].array was not moved to Simulated:0: Box is not registered" in " ".join(notices())


# -- the copies run beside the computing ---------------------------------------------------------------------------


def step(x, y, W):
    for _ in range(4):
        x = np.tanh(x @ W)
    return x


BIG = (np.ones((2048, 512), np.float32), np.ones(2048, np.float32))


@pytest.mark.parametrize("way", [fl.gpu, lambda loader: fl.CuIterator(loader)])
def test_the_next_batch_is_copied_while_the_present_one_is_computed_with(simulated, way):
    W = fl.gpu(np.ones((512, 512), np.float32))
    for x, y in way(fl.DataLoader(BIG, batchsize=256)):  # the kernels are loaded
        step(x, y, W)
    simulated.synchronize()
    with fl.receipt() as r:
        for x, y in way(fl.DataLoader(BIG, batchsize=256)):
            step(x, y, W)
    copied = [moment for moment in r.timeline() if moment.kind == HOST_TO_DEVICE]
    launches = [moment for moment in r.timeline() if moment.kind == LAUNCH]
    assert len(copied) == 16 and len(launches) == 8 * 8
    for k in range(7):
        next_copy, computing = copied[2 * k + 2 : 2 * k + 4], launches[8 * k : 8 * k + 8]
        assert next_copy[0].asked < computing[0].asked, "asked for before the batch was handed out"
        assert next_copy[0].start < computing[-1].end
    for k in range(8):  # and no batch is computed with before it is there
        assert launches[8 * k].start >= max(moment.end for moment in copied[2 * k : 2 * k + 2])
    assert r.synchronizations == 0


class Stream:
    def __init__(self, log, name="copies"):
        self.log, self.name = log, name

    def wait_event(self, event):
        self.log.append((self.name, "waits for", event.number))

    def __enter__(self):
        Stream.current.append(self.name)

    def __exit__(self, *_):
        Stream.current.pop()

    current = ["computing"]


class FakeCuPy:
    """What `PinnedCopies` asks of CuPy, written down; copies are done when the test says so."""

    def __init__(self):
        log, numbers, self.done = [], itertools.count(), set()
        fake, self.log, self.computing = self, log, Stream(log, "computing")

        class Event:
            def __init__(self, disable_timing):
                self.number = next(numbers)

            def record(self, stream):
                log.append((stream.name, "reaches", self.number))

            done = property(lambda self: self.number in fake.done)

            def synchronize(self):
                log.append(("program", "waits for", self.number))

        class Array:
            def __init__(self, shape, dtype, order):
                if not np.dtype(dtype).isnative:
                    raise TypeError(f"cupy.empty raises for {dtype}")
                self.values, self.share = np.empty(shape, dtype, order), Stream.current[-1]

            def set(self, x, stream):
                log.append((stream.name, "copies", x.nbytes))
                assert x.flags.c_contiguous == self.values.flags.c_contiguous
                self.values[...] = x

        class cuda:
            pass

        self.empty = Array
        cuda.Event, cuda.Stream = Event, lambda non_blocking: Stream(log)
        cuda.get_current_stream = lambda: self.computing
        cuda.alloc_pinned_memory = bytearray
        self.cuda = cuda


def test_copies_with_CuPy_are_in_order_with_the_computing():
    """The new array's memory may be in use until now: the copy waits for that, and computing for the copy."""
    cupy = FakeCuPy()
    pinned = PinnedCopies(cupy)
    for x in (xy()[0], np.asfortranarray(xy()[0]), xy()[0][::2, ::-1], np.zeros((0, 3)), np.array(3.0),
              xy()[0].astype(">f4"), xy()[1].astype(">i8")):  # fmt: skip
        cupy.log.clear()
        there, done = pinned.copy_in(x)
        np.testing.assert_array_equal(there.values, x)
        assert there.values.dtype == x.dtype.newbyteorder("=") and there.share == "copies"
        before = ("copies", "waits for", done.number - 1)
        assert cupy.log == [
            ("computing", "reaches", done.number - 1), before, *([("copies", "copies", x.nbytes)] if x.nbytes else []),
            ("copies", "reaches", done.number),
        ]  # fmt: skip


@pytest.mark.on("CUDA")
def test_pinned_copies_on_a_real_card(device):
    rng = np.random.default_rng(0)
    arrays = [rng.random((512, 512), np.float32) for _ in range(40)]
    there = [device.copy_in_pinned(x) for x in arrays]
    for x, (array, time) in zip(arrays, there):
        device.wait_for(time)
        np.testing.assert_allclose(device.download(array + array), x + x)


# -- gpu(loader) ---------------------------------------------------------------------------------------------------


def test_gpu_of_a_loader_does_nothing_before_it_is_iterated(simulated, told):
    loader = fl.DataLoader(xy(), batchsize=8, shuffle=True, rng=0)
    before = loader.rng.bit_generator.state
    moved = fl.gpu(loader)
    assert told == [] and loader.rng.bit_generator.state == before
    assert repr(moved) == (
        "DataLoader((float32[20, 3], int32[20]), batchsize=8, shuffle=True) => Simulated:0, batch by batch"
        "      # 3 batches of 20 observations"
    )
    assert "=> CPU, batch by batch" in repr(fl.cpu(moved))
    assert repr(fl.CuIterator(loader)).startswith("CuIterator(DataLoader(")


def test_a_loader_that_is_moved_already(simulated):
    loader = fl.DataLoader(xy(), batchsize=8)
    moved = fl.gpu(loader)
    assert fl.gpu(moved) is moved and fl.gpu(moved, dtype=np.float16) is not moved
    assert next(iter(fl.gpu(moved, dtype=np.float16)))[0].dtype == np.float16
    assert type(next(iter(fl.cpu(moved)))[0]) is np.ndarray
    assert device_of(next(iter(fl.gpu(fl.cpu(moved))))[0]) == simulated


def test_without_a_gpu():
    with fl.pretend(CUDA="not installed"):
        loader = fl.DataLoader(xy())
        assert fl.gpu(loader) is loader and any("arrays stay on the CPU" in line for line in notices())
        with pytest.raises(RuntimeError, match="there is no GPU to use"):
            fl.CuIterator(loader)


def test_precision_on_the_way(simulated, told):
    loader = fl.DataLoader((np.ones((4, 2)), np.arange(4)), batchsize=4)
    assert [x.dtype.name for x in next(iter(fl.gpu(loader)))] == ["float32", "int64"]
    assert copies(told) == [(4 * 2 * 4, True), (4 * 8, True)], "converted on the host, before the copy"
    next(iter(fl.gpu(loader)))
    assert len(notices()) == 1 and "float64 arrays become float32" in notices()[0]
    for dtype, expected in ((None, np.float64), (np.float16, np.float16)):
        assert next(iter(fl.gpu(loader, dtype=dtype)))[0].dtype == expected


def test_an_error_comes_out_at_its_batch(simulated):
    def batches():
        yield from (np.zeros(1, np.float32), np.ones(1, np.float32))
        raise OSError("disk on fire")

    for source, error, words in (
        (batches(), OSError, "disk on fire"),
        ([np.zeros(1), np.ones(1), np.array(["text"])], TypeError, "a GPU holds numbers and booleans"),
    ):
        seen = []
        with pytest.raises(error, match=words):
            for x in fl.CuIterator(source):
                seen.append(float(x[0]))
        assert seen == [0, 1]


# -- CuIterator ----------------------------------------------------------------------------------------------------


def test_CuIterator_keeps_Float64_and_takes_any_iterable_of_batches(simulated):
    batches = [
        (np.ones(2), np.ones(2, np.int8)), Pair(np.ones(2), [np.ones(1), (np.ones(1),)]), {"x": np.ones(2)},
        (np.ones(1), "name", 3, None), np.ones(2),
    ]  # fmt: skip
    for source in (batches, iter(batches), (batch for batch in batches)):
        a, b, c, d, e = fl.CuIterator(source)
        assert [x.dtype.name for x in a] == ["float64", "int8"] and e.dtype == np.float64
        assert type(b) is Pair and device_of(b.y[1][0]) == device_of(c["x"]) == simulated
        assert d[1:] == ("name", 3, None)
    assert notices() == [], "nothing becomes less precise"
    assert len(fl.CuIterator(batches)) == 5
    with pytest.raises(TypeError, match="no len"):
        len(fl.CuIterator(iter(batches)))
    a, _ = fl.CuIterator(batches[:2], dtype=np.float32)
    assert [x.dtype.name for x in a] == ["float32", "int8"]
    assert next(iter(fl.CuIterator(np.ones((3, 2))))).shape == (2,)


@pytest.mark.on("Simulated", "Metal")
def test_memory_is_free_when_the_program_lets_go_of_a_batch(device, monkeypatch):
    """The loader lets go of the previous batch, and of the last one."""
    source = ((np.full((1000,), i, np.float32),) for i in range(6))
    seen, alive = [], []
    for batch in MovedLoader(source, device):
        alive.append(sum(reference() is not None for reference in seen))
        seen.append(weakref.ref(batch[0]))
        del batch
    gc.collect()
    assert alive == [0] * 6 and [reference() for reference in seen] == [None] * 6


def test_arrays_that_are_there_pass_through_and_stay_the_users(simulated, told):
    mine = [[fl.gpu(np.full(2, i, np.float32))] for i in range(3)]
    told.clear()
    found = list(fl.CuIterator(mine))
    assert told == [] and all(one[0] is other[0] for one, other in zip(found, mine))
    del found
    assert [fl.cpu(one[0]).tolist() for one in mine] == [[0, 0], [1, 1], [2, 2]]


def test_batches_go_to_the_current_gpu():
    with fl.simulate_gpu(2):
        with fl.cuda.using(1):
            iterator, loader = fl.CuIterator([np.ones(2)]), fl.gpu(fl.DataLoader(np.ones((2, 2), np.float32)))
        second = fl.get_device("Simulated", 1)
        assert device_of(next(iter(iterator))) == device_of(next(iter(loader))) == second
