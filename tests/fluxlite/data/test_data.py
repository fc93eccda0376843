"""Observations, batches and the loader, on the host; `test_loaders.py` has what is on GPUs."""

import collections
import threading
import time
import traceback

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inside import AHEAD

import fluxlite as fl
from fluxlite import notices

Pair = collections.namedtuple("Pair", "x y")


class Squares:
    """A data set that is read when it is asked: a sequence of pairs."""

    def __init__(self, n):
        self.n, self.read = n, []

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        self.read.append(i)
        return np.full(2, i, np.float32), i * i


def xy(n=10):
    return np.arange(2 * n, dtype=np.float32).reshape(n, 2), np.arange(n)


def same(a, b):
    """Equal in structure, type, dtype and values."""
    assert type(a) is type(b)
    if isinstance(a, dict):
        assert list(a) == list(b)
        a, b = list(a.values()), list(b.values())
    if isinstance(a, (tuple, list)):
        assert len(a) == len(b)
        for one, other in zip(a, b):
            same(one, other)
    elif isinstance(a, np.ndarray):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    else:
        assert a == b


def numbers(loader):
    """The observations' numbers, in the order of one epoch of a loader over (x, number) pairs."""
    return np.concatenate([y for _, y in loader]).tolist()


# -- kinds of data ---------------------------------------------------------------------------------------------


def test_batches_are_of_the_kind_that_the_data_is():
    x, y = xy(5)
    for data, first in [
        ((x, y), (x[:2], y[:2])),
        (Pair(x, {"label": y}), Pair(x[:2], {"label": y[:2]})),
        (collections.OrderedDict(b=y, a=x), collections.OrderedDict(b=y[:2], a=x[:2])),
        (x, x[:2]),
        (range(3, 8), np.array([3, 4])),
        ([1.5, 2.5, 3.5], np.array([1.5, 2.5])),
        ((x, ["a", "b", "c", "d", "e"]), (x[:2], ["a", "b"])),
        (Squares(5), (np.array([[0, 0], [1, 1]], np.float32), np.array([0, 1]))),
    ]:
        same(next(iter(fl.DataLoader(data, batchsize=2))), first)
        assert fl.numobs(data) == len(fl.DataLoader(data)) == (3 if type(data) is list else 5)
    list(fl.DataLoader(data, batchsize=2))
    assert data.read == [0, 1, *range(5)] and all(type(i) is int for i in data.read)


# Each way to get a part of the data in its order, which is a view of it.
TAKE = {
    "DataLoader": lambda data: next(iter(fl.DataLoader(data, batchsize=2))),
    "parallel": lambda data: next(iter(fl.DataLoader(data, batchsize=2, parallel=True))),
    "gpu(DataLoader)": lambda data: next(iter(fl.gpu(fl.DataLoader(data, batchsize=2)))),
    "mapobs": lambda data: fl.mapobs(lambda pair: pair, data)[1:3],
    "splitobs": lambda data: fl.splitobs(data)[0],
    "kfolds": lambda data: next(fl.kfolds(data))[1],
    "getobs": lambda data: fl.getobs(data, slice(1, 3)),
    "one of getobs": lambda data: fl.getobs(data, 1),
    "unbatch": lambda data: fl.unbatch(data)[0],
}


@pytest.mark.on("CPU", "Simulated", "Metal")  # CuPy has no read-only arrays
@pytest.mark.parametrize("take", TAKE.values(), ids=TAKE)
def test_what_is_a_view_of_the_data_cannot_be_written_to(device, take):
    x = device(np.arange(20, dtype=np.float32).reshape(10, 2))
    data = (x, device(np.arange(10)))
    part, _ = take(data)
    with pytest.raises(ValueError, match="read-only"):
        part += 1
    with pytest.raises(ValueError, match="read-only"):
        part[...] = 0
    np.testing.assert_array_equal(fl.cpu(x), np.arange(20).reshape(10, 2))
    x[...] = 5  # the data itself can be
    assert (fl.cpu(part) == 5).all()
    (g,) = fl.gradient(lambda part: np.sum(part**2), part)
    g += 1
    assert (fl.cpu(g) == 11).all()


def test_the_last_batch_may_be_smaller_unless_that_is_not_wanted():
    for n, size in ((1, 1), (5, 2), (5, 5), (12, 5), (10, 5)):
        some, all_ = (fl.DataLoader(xy(n), batchsize=size, partial=partial) for partial in (False, True))
        assert [len(y) for _, y in some] == [size] * (n // size) and len(some) == n // size
        assert sum(len(y) for _, y in all_) == n and len(list(all_)) == len(all_) == -(-n // size)
    nothing = fl.DataLoader(np.zeros((0, 3)), batchsize=4, shuffle=True)
    assert len(nothing) == 0 and list(nothing) == [] and notices() == []


@given(n=st.integers(1, 40), size=st.integers(1, 40), seed=st.integers(0, 9), parallel=st.booleans())
def test_each_observation_is_in_an_epoch_exactly_once(n, size, seed, parallel):
    loader = fl.DataLoader(xy(n), batchsize=min(n, size), shuffle=True, rng=seed, parallel=parallel)
    for _ in range(2):
        assert sorted(numbers(loader)) == list(range(n))


# -- shuffling -------------------------------------------------------------------------------------------------


def test_a_new_order_each_epoch_and_the_same_ones_from_the_same_seed():
    x, y = xy(20)
    loaders = [fl.DataLoader((x, y), batchsize=3, shuffle=True, rng=seed) for seed in (1, 1, 2)]
    first, second, third = ([numbers(loader) for _ in range(3)] for loader in loaders)
    assert first == second != third and first[0] != first[1] != first[2]
    rng = np.random.default_rng(1)
    before = rng.bit_generator.state
    epoch = iter(fl.DataLoader((x, y), batchsize=3, shuffle=True, rng=rng))
    drawn = rng.bit_generator.state
    batches = list(epoch)
    assert np.concatenate([b for _, b in batches]).tolist() == first[0]
    assert all((a[:, 0] == 2 * b).all() for a, b in batches), "pairs stay pairs"
    list(fl.DataLoader((x, y), rng=rng))
    assert rng.bit_generator.state == drawn != before, "the order is drawn when the epoch begins and only then"
    unforeseen = fl.DataLoader(xy(20), shuffle=True)
    assert isinstance(unforeseen.rng, np.random.Generator)
    assert numbers(unforeseen) != numbers(fl.DataLoader(xy(20), shuffle=True))


@pytest.mark.parametrize("parallel", [False, True])
def test_an_epoch_goes_on_where_it_was_left(parallel):
    """What a resumed run needs: the state of `rng` when the epoch began, and the number of batches that are done."""
    loader = fl.DataLoader(xy(20), batchsize=3, shuffle=True, rng=3, parallel=parallel)
    list(loader)
    state = loader.rng.bit_generator.state
    whole, following = list(loader), list(loader)
    again = fl.DataLoader(xy(20), batchsize=3, shuffle=True, parallel=parallel)
    again.rng.bit_generator.state = state
    same(list(again.batches(skip=4)), whole[4:])
    same(list(again), following)
    assert list(again.batches(skip=100)) == [] and len(list(again.batches())) == 7
    data = Squares(6)
    list(fl.DataLoader(data, batchsize=2, parallel=parallel).batches(skip=2))
    assert data.read == [4, 5], "what is skipped is not read"


# -- collate ---------------------------------------------------------------------------------------------------


def test_collate():
    x, y = xy(4)
    as_list = list(fl.DataLoader((x, y), batchsize=2, collate=False))
    assert [len(batch) for batch in as_list] == [2, 2] and type(as_list[0]) is list
    same(as_list[1][0], (x[2], y[2]))
    same(list(fl.DataLoader((x, y), batchsize=2, collate=True)), list(fl.DataLoader((x, y), batchsize=2)))
    uneven = [np.zeros(1), np.zeros(2), np.zeros(5)]
    assert list(fl.DataLoader(uneven, batchsize=3, collate=lambda found: list(map(len, found)))) == [[1, 2, 5]]
    shuffled = fl.DataLoader(list(range(9)), batchsize=4, shuffle=True, collate=False, rng=0)
    assert sorted(sum(shuffled, [])) == list(range(9))


# -- what is wrong with an argument ----------------------------------------------------------------------------


def test_a_batchsize_above_the_number_of_observations_is_reduced_and_that_is_said():
    loader = fl.DataLoader(xy(5), batchsize=64, partial=False)
    assert loader.batchsize == 5 and len(loader) == 1 and len(list(loader)[0][1]) == 5
    assert "a batchsize of 64 is more than the 5 observations" in notices()[0] and len(notices()) == 1
    assert fl.DataLoader(xy(), np.int64(4)).batchsize == 4


class Lengthless:
    def __getitem__(self, i):
        return i


def mistakes():
    """Calls, the error, and what it or its note names."""
    x, y = xy(5)
    for size, error in [(0, ValueError), (2.0, TypeError), ("4", TypeError), (True, TypeError), (y, TypeError)]:
        yield lambda size=size: fl.DataLoader((x, y), size), error, r"DataLoader\(\(X, Y\), batchsize=32\), got .*size="
    for data, words in [
        ((x, y[:4]), r"\[0\] has 5, \[1\] has 4"),
        ({"image": x, "label": [1, 2]}, r"\['image'\] has 5, \['label'\] has 2"),
        (Pair(x, (x, y[:2])), r"x has 5, y\[1\] has 2"),
        ((), "no data in an empty tuple"),
        ({}, "no data in an empty dict"),
    ]:
        for f in (fl.DataLoader, fl.numobs, fl.splitobs, fl.shuffleobs, lambda data: fl.mapobs(len, data)):
            yield lambda f=f, data=data: f(data), ValueError, words
    for data, words in [
        (np.array(3.0), r"shape \(\)"),
        ((x, np.array(1)), "data=a tuple"),
        ((i for i in range(3)), "data=a generator"),
        ((x, None), r"'NoneType' has no len\(\)"),
        (Lengthless(), r"'Lengthless' has no len\(\)"),
        (np.ndarray, r"has no len\(\)"),
    ]:
        yield lambda data=data: fl.DataLoader(data), TypeError, words
    for rng in ("seed", 1.5):
        yield lambda rng=rng: fl.DataLoader(x, rng=rng), TypeError, "rng="
        yield lambda rng=rng: fl.shuffleobs(x, rng), TypeError, "rng="
    for index in (1.5, "a", [0.5], [[1], [2]], [True, False], None):
        yield lambda index=index: fl.getobs((x, y), index), IndexError, "getobs.data, index. takes data, and which"
    for data in ((x, y), Squares(5), [1, 2, 3, 4, 5], fl.mapobs(len, (x, y))):
        for index in (5, -6, [0, 5]):
            yield lambda data=data, index=index: fl.getobs(data, index), IndexError, "out of (range|bounds)"
    for at in (0.0, 1.0, (0.5, 2.0), True, (0.8, 0.4)):
        yield lambda at=at: fl.splitobs(x, at=at), ValueError, "takes data, and fractions between 0 and 1"
    for together, error, words in [
        ([], ValueError, "batch.observations. takes several observations, such as a list"),
        ([np.zeros(2), np.zeros(3)], ValueError, "same shape"),
        ([[1, 2], [3]], ValueError, "same shape"),
        ([(x, {"a": np.zeros(1)}), (x, {"a": np.zeros(2)})], ValueError, "same shape"),
        ([1, "a"], TypeError, "of one kind.* got 1, 'a'"),
        ([1, None], TypeError, "of one kind.* got 1, None"),
        ([(1, 2), (1, 2, 3)], ValueError, "have the same parts, and .1, 2. isn't like"),
        ([{"a": 1}, {"a": 1, "b": 1}], ValueError, "have the same parts"),
        ([{"a": 1}, {"b": 1}], KeyError, "'a'\nbatch.observations. takes"),
        ([[np.zeros(2), 3], [np.zeros(2), 4]], ValueError, "same shape"),
        ([np.zeros(2), 1.0], ValueError, "same shape; observation 1 is 1.0"),
        ([np.zeros(2), "a"], ValueError, "same shape; observation 1 is 'a'"),
        (
            [np.zeros(2), np.zeros(2), np.zeros(3)],
            ValueError,
            r"observation 2 is .*\(3,\).* observation 0 has shape \(2,\)",
        ),
        ([], ValueError, "at least one observation"),
    ]:
        yield lambda together=together: fl.batch(together), error, words
    for k, error in ((0, ValueError), (1, ValueError), (6, ValueError), (2.0, TypeError), (True, TypeError)):
        yield lambda k=k: fl.kfolds(x, k), error, r"kfolds\(data, k\) takes"
    yield lambda: fl.DataLoader(x).batches(skip=-1), ValueError, "skip is at least 0, got -1"
    yield lambda: fl.DataLoader(x, collate="mean"), TypeError, "collate.* is a function, got 'mean'"
    yield lambda: fl.mapobs((x, y), np.tanh), TypeError, "is a function, got a tuple"


@pytest.mark.parametrize("call, error, words", list(mistakes()))
def test_mistakes_are_named(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_the_repr_says_what_it_is():
    x, y = xy(10)
    assert repr(fl.DataLoader((x, y))).startswith("DataLoader((float32[10, 2], int64[10]), batchsize=1)  ")
    nested = {"a": Pair(x, ([1] * 10,))}
    assert repr(fl.DataLoader(nested, 10, shuffle=True, partial=False, collate=len, parallel=True)) == (
        "DataLoader({'a': Pair(x=float32[10, 2], y=(list of 10,))}, batchsize=10, shuffle=True, parallel=True, "
        "partial=False, collate=len)      # 1 batch of 10 observations"
    )
    assert "mapobs(gpu, float32[10, 2])" in repr(fl.DataLoader(fl.mapobs(fl.gpu, x)))
    assert "Squares of 5, batchsize=1, collate=False)" in repr(fl.DataLoader(Squares(5), collate=False))
    assert "mapobs(chosen, int64[4])" in repr(fl.splitobs(range(5))[0])


# -- in the background -----------------------------------------------------------------------------------------


def threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("fluxlite batches")]


def ended(patience=10.0):
    """Whether the threads end; only a test that fails waits for long."""
    end = time.monotonic() + patience
    while threads() and time.monotonic() < end:
        time.sleep(0.001)
    return not threads()


@pytest.mark.parametrize("data", [Squares(23), fl.mapobs(lambda xy: (-xy[0], xy[1]), xy(23))])
def test_a_thread_gives_the_same_batches(data):
    plain, parallel = (fl.DataLoader(data, 4, shuffle=True, rng=0, parallel=parallel) for parallel in (False, True))
    for _ in range(2):
        same(list(plain), list(parallel))
    assert ended()


def test_a_thread_works_ahead_but_not_without_end():
    data = Squares(100)
    seen = iter(fl.DataLoader(data, parallel=True))
    next(seen)
    next(seen)
    seen.close()
    assert 2 <= len(data.read) <= 1 + AHEAD


def test_leaving_the_loop_ends_the_thread():
    for _ in range(5):
        for _ in fl.DataLoader(Squares(1000), batchsize=2, parallel=True):
            break
    next(iter(fl.DataLoader(Squares(1000), parallel=True)))
    iter(fl.DataLoader(Squares(1000), parallel=True))  # never begun
    assert ended()


class Broken(Squares):
    def __getitem__(self, i):
        if i == 5:
            raise OSError("disk on fire")
        return super().__getitem__(i)


@pytest.mark.parametrize("parallel", [False, True])
def test_an_error_comes_out_at_its_batch_with_its_traceback(parallel):
    seen = 0
    with pytest.raises(OSError, match="disk on fire") as caught:
        for _ in fl.DataLoader(Broken(20), batchsize=2, parallel=parallel):
            seen += 1
    assert seen == 2
    assert "__getitem__" in [frame.name for frame in traceback.extract_tb(caught.tb)]
    assert ended()


def start_fails(thread):
    raise RuntimeError("can't start new thread")


@pytest.fixture
def no_threads(monkeypatch):
    """As in a browser, or where a program may have no more of them."""
    monkeypatch.setattr(threading.Thread, "start", start_fails)


def test_where_no_thread_can_start_the_batches_are_the_same(no_threads):
    plain, parallel = (fl.DataLoader(xy(23), 4, shuffle=True, rng=0, parallel=parallel) for parallel in (False, True))
    for _ in range(2):
        same(list(plain), list(parallel))
    same(list(plain.batches(skip=2)), list(parallel.batches(skip=2)))


def test_where_no_thread_can_start_nothing_is_made_before_it_is_asked_for(no_threads):
    data = Squares(10)
    seen = iter(fl.DataLoader(data, batchsize=2, parallel=True))
    next(seen)
    next(seen)
    seen.close()
    assert len(data.read) == 4


def test_where_no_thread_can_start_an_error_comes_out_at_its_batch(no_threads):
    seen = []
    with pytest.raises(OSError, match="disk on fire"):
        for x in fl.DataLoader(Broken(20), batchsize=2, parallel=True):
            seen.append(x)
    assert len(seen) == 2


def test_if_threads_can_start_again_they_go_on(monkeypatch):
    data = Squares(20)
    seen = iter(fl.DataLoader(data, batchsize=2, collate=False, parallel=True))
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start_fails)
        first = next(seen)
    same([first, *seen], list(fl.DataLoader(data, batchsize=2, collate=False)))
    assert ended()


# -- numobs, getobs, mapobs ------------------------------------------------------------------------------------


def test_getobs():
    x, y = xy(5)
    same(fl.getobs((x, y), 2), (x[2], y[2]))
    same(fl.getobs((x, y), -1), (x[4], y[4]))
    same(fl.getobs({"x": x}, np.array([3, -1, 0])), {"x": x[[3, 4, 0]]})
    same(fl.getobs(x, y > 2), x[3:])
    same(fl.getobs(x, []), x[:0])
    same(fl.getobs(Squares(5), slice(1, 5, 3)), (np.array([[1, 1], [4, 4]], np.float32), np.array([1, 16])))
    assert np.shares_memory(fl.getobs(x, slice(1, 3)), x) and np.shares_memory(fl.getobs(x, 1), x)


def test_numbers_on_a_device_choose_there(simulated):
    x, numbers = fl.gpu(np.arange(6.0).reshape(3, 2)), fl.gpu(np.array([2, 0]))
    with fl.receipt() as r:
        chosen = fl.getobs(x, numbers)
    assert r.synchronizations == 0 and fl.cpu(chosen).tolist() == [[4, 5], [0, 1]]
    assert fl.cpu(fl.getobs(x, fl.gpu(np.array(1)))).tolist() == [2, 3]
    assert fl.cpu(fl.getobs(x, fl.gpu(np.array([True, False, True])))).tolist() == [[0, 1], [4, 5]]


def test_mapobs_is_lazy_and_maps_a_batch_as_a_whole():
    calls = []

    def double(batch):
        calls.append(np.shape(batch[1]))
        return batch[0] * 2, batch[1]

    x, y = xy(6)
    mapped = fl.mapobs(double, (x, y))
    assert len(mapped) == fl.numobs(mapped) == 6 and calls == []
    same(mapped[1], (x[1] * 2, y[1]))
    same(list(fl.DataLoader(mapped, batchsize=4)), [(x[:4] * 2, y[:4]), (x[4:] * 2, y[4:])])
    assert calls == [(), (4,), (2,)] and len(list(mapped)) == 6
    same(fl.mapobs(lambda a: a + 1, fl.mapobs(lambda a: a * 2, y))[:2], np.array([1, 3]))


# -- parts -----------------------------------------------------------------------------------------------------


def test_splitobs():
    x, y = xy(10)
    train, test = fl.splitobs((x, y), at=0.7)
    same(train, (x[:7], y[:7]))
    same(test, (x[7:], y[7:]))
    for n, options, sizes in [
        (10, {}, [8, 2]), (10, {"at": (0.6, 0.2)}, [6, 2, 2]), (10, {"at": (0.6, 0.2, 0.2)}, [6, 2, 2]),
        (7, {"at": 0.5}, [4, 3]),
    ]:  # fmt: skip
        assert [len(part) for part in fl.splitobs(y[:n], **options)] == sizes
    same(fl.splitobs([1, 2, 3, 4], at=0.5), ([1, 2], [3, 4]))


def test_shuffleobs_draws_once():
    x, y = fl.shuffleobs(xy(20), rng=0)
    assert sorted(y.tolist()) == list(range(20)) != y.tolist()
    np.testing.assert_array_equal(x[:, 0], 2 * y)
    same(fl.shuffleobs(xy(20), rng=np.random.default_rng(0)), (x, y))
    loader = fl.DataLoader((x, y), batchsize=3)
    assert numbers(loader) == numbers(loader) == y.tolist()


@given(n=st.integers(2, 30), k=st.integers(2, 30))
def test_kfolds_holds_out_each_observation_once(n, k):
    k = min(n, k)
    pairs = list(fl.kfolds((np.arange(n), list(range(n))), k))
    assert len(pairs) == k
    assert np.concatenate([held_out[0] for _, held_out in pairs]).tolist() == list(range(n))
    sizes = [len(held_out[0]) for _, held_out in pairs]
    assert max(sizes) - min(sizes) <= 1
    for train, held_out in pairs:
        assert sorted(train[1] + held_out[1]) == list(range(n)) and train[0].tolist() == train[1]


# -- batch, unbatch --------------------------------------------------------------------------------------------


def test_batch():
    a, b = np.zeros((2, 3), np.float32), np.ones((2, 3), np.float32)
    for observations, together in [
        ([a, b], np.stack([a, b])),
        ([1, 2, 3], np.array([1, 2, 3])),
        ([np.float32(1), np.float32(2)], np.array([1, 2], np.float32)),
        ([True, False], np.array([True, False])),
        (["a", "b"], ["a", "b"]),
        ([[1, 2], [3, 4]], np.array([[1, 2], [3, 4]])),
        ([[a, b]], np.stack([[a, b]])),
        ([["a", "b"], ["c"]], [["a", "b"], ["c"]]),
        ([[], []], np.zeros((2, 0))),
        ([([], 1), ([], 2)], (np.zeros((2, 0)), np.array([1, 2]))),
        ([Pair(a, {"n": 1}), Pair(b, {"n": 2})], Pair(np.stack([a, b]), {"n": np.array([1, 2])})),
        ([{"a": 1, "b": 2}, {"b": 4, "a": 3}], {"a": np.array([1, 3]), "b": np.array([2, 4])}),
        ((x for x in [(1,), (2,)]), (np.array([1, 2]),)),
    ]:
        same(fl.batch(observations), together)
