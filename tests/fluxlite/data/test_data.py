"""Observations, batches and the loader, on the host; `devices/test_loaders.py` has what is on GPUs."""

import collections
import itertools
import sys
import threading
import time
import traceback

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inside import background

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
    (first, *_) = fl.DataLoader((x, y), batchsize=2)
    same(first, (x[:2], y[:2]))
    (first, *_) = fl.DataLoader(Pair(x, {"label": y}), batchsize=2)
    same(first, Pair(x[:2], {"label": y[:2]}))
    (first, *_) = fl.DataLoader(collections.OrderedDict(b=y, a=x), batchsize=2)
    same(first, collections.OrderedDict(b=y[:2], a=x[:2]))
    same(list(fl.DataLoader(x, batchsize=3)), [x[:3], x[3:]])
    same(list(fl.DataLoader(range(3, 8), batchsize=2)), [np.array([3, 4]), np.array([5, 6]), np.array([7])])
    same(list(fl.DataLoader([1.5, 2.5, 3.5], batchsize=2)), [np.array([1.5, 2.5]), np.array([3.5])])
    same(list(fl.DataLoader((x, ["a", "b", "c", "d", "e"]), batchsize=4))[1], (x[4:], ["e"]))


def test_an_object_with_length_and_elements_is_a_sequence_of_observations():
    data = Squares(5)
    batches = list(fl.DataLoader(data, batchsize=2))
    same(batches[1], (np.array([[2, 2], [3, 3]], np.float32), np.array([4, 9])))
    assert data.read == list(range(5)) and all(type(i) is int for i in data.read)


def test_batches_in_order_are_views_and_shuffled_ones_are_copies():
    x, y = xy()
    assert all(np.shares_memory(batch, x) for batch, _ in fl.DataLoader((x, y), batchsize=3))
    assert not any(np.shares_memory(batch, x) for batch, _ in fl.DataLoader((x, y), batchsize=3, shuffle=True))


def takes_in_order():
    """Each way to get a part of the data in its order, which is a view of it."""
    return {
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
@pytest.mark.parametrize("take", takes_in_order().values(), ids=takes_in_order())
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
    (g,) = fl.gradient(lambda part: np.sum(part**2), part)
    g += 1
    assert (fl.cpu(g) == 11).all()


def test_what_is_a_copy_of_the_data_can_be_written_to():
    data = x, _ = xy()
    for part, _ in [
        next(iter(fl.DataLoader(data, batchsize=3, shuffle=True))),
        *fl.splitobs(data, shuffle=True, rng=0),
        next(fl.kfolds(data))[0],
        fl.getobs(data, [1, 2]),
        fl.shuffleobs(data),
    ]:
        part += 1
    np.testing.assert_array_equal(x, xy()[0])


def test_an_object_in_an_array_stays_as_it_is():
    objects = np.empty(2, object)
    objects[:] = [np.zeros(2), np.zeros(3)]
    fl.getobs(objects, 0)[0] = 1
    assert objects[0][0] == 1


def test_the_data_cannot_be_changed_while_a_gradient_needs_a_batch_of_it():
    x = np.ones((4, 2))
    (batch,) = fl.DataLoader(x, batchsize=4)

    def careless(w):
        y = np.sum(w * batch)
        x[...] = 7
        return y

    with pytest.raises(ValueError, match="read-only"):
        fl.gradient(careless, np.ones((4, 2)))
    x += 1
    with pytest.raises(ValueError, match="read-only"):
        batch += 1


def test_the_defaults_are_those_of_Flux():
    loader = fl.DataLoader(xy())
    assert (loader.batchsize, loader.shuffle, loader.partial, loader.parallel, len(loader)) == (
        1,
        False,
        True,
        False,
        10,
    )
    assert next(iter(loader))[0].shape == (1, 2)


def test_the_last_batch_may_be_smaller_unless_that_is_not_wanted():
    for n, size in itertools.product(range(1, 13), (1, 2, 5)):
        if size > n:
            continue
        some, all_ = (fl.DataLoader(xy(n), batchsize=size, partial=partial) for partial in (False, True))
        assert [len(y) for _, y in some] == [size] * (n // size) and len(some) == n // size
        assert sum(len(y) for _, y in all_) == n and len(list(all_)) == len(all_) == -(-n // size)


def test_no_observations_are_no_batches():
    loader = fl.DataLoader(np.zeros((0, 3)), batchsize=4, shuffle=True)
    assert len(loader) == 0 and list(loader) == [] and notices() == []


@given(n=st.integers(1, 40), size=st.integers(1, 40), seed=st.integers(0, 9), parallel=st.booleans())
def test_each_observation_is_in_an_epoch_exactly_once(n, size, seed, parallel):
    loader = fl.DataLoader(xy(n), batchsize=min(n, size), shuffle=True, rng=seed, parallel=parallel)
    for _ in range(2):
        assert sorted(numbers(loader)) == list(range(n))


# -- shuffling -------------------------------------------------------------------------------------------------


def test_a_new_order_each_epoch_and_the_same_ones_from_the_same_seed():
    loaders = [fl.DataLoader(xy(20), batchsize=3, shuffle=True, rng=seed) for seed in (1, 1, 2)]
    first, second, third = ([numbers(loader) for _ in range(3)] for loader in loaders)
    assert first == second != third
    assert first[0] != first[1] != first[2]
    rng = np.random.default_rng(1)
    assert numbers(fl.DataLoader(xy(20), batchsize=3, shuffle=True, rng=rng)) == first[0]
    unforeseen = fl.DataLoader(xy(20), shuffle=True)
    assert isinstance(unforeseen.rng, np.random.Generator)
    assert numbers(unforeseen) != numbers(fl.DataLoader(xy(20), shuffle=True))


def test_shuffled_pairs_stay_pairs():
    x, y = xy()
    for a, b in fl.DataLoader((x, y), batchsize=3, shuffle=True):
        np.testing.assert_array_equal(a[:, 0], 2 * b)


def test_iterators_of_one_loader_do_not_disturb_each_other():
    loader = fl.DataLoader(xy(6), batchsize=2, shuffle=True, rng=0, parallel=True)
    apart = fl.DataLoader(xy(6), batchsize=2, shuffle=True, rng=0)
    outer, inner = [], []
    for _, y in loader:
        outer += y.tolist()
        inner.append(numbers(loader))
    assert outer == numbers(apart) and inner == [numbers(apart) for _ in range(3)]
    one, other = iter(loader), iter(loader)
    next(one)
    assert len(list(other)) == 3 and len(list(one)) == 2


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
    with pytest.raises(ValueError, match="skip is a whole number, 0 or more, got -1"):
        again.batches(skip=-1)


def test_what_is_skipped_is_not_read():
    data = Squares(6)
    list(fl.DataLoader(data, batchsize=2).batches(skip=2))
    assert data.read == [4, 5]


def test_the_order_is_drawn_when_the_epoch_begins_and_only_then():
    loader = fl.DataLoader(xy(8), batchsize=2, shuffle=True, rng=0)
    before = loader.rng.bit_generator.state
    epoch = iter(loader)
    drawn = loader.rng.bit_generator.state
    assert drawn != before
    list(epoch)
    assert loader.rng.bit_generator.state == drawn
    list(fl.DataLoader(xy(8), rng=loader.rng))
    assert loader.rng.bit_generator.state == drawn


# -- collate ---------------------------------------------------------------------------------------------------


def test_collate():
    x, y = xy(4)
    as_list = list(fl.DataLoader((x, y), batchsize=2, collate=False))
    assert [len(batch) for batch in as_list] == [2, 2] and type(as_list[0]) is list
    same(as_list[1][0], (x[2], y[2]))
    same(list(fl.DataLoader((x, y), batchsize=2, collate=True)), list(fl.DataLoader((x, y), batchsize=2)))
    lengths = fl.DataLoader(
        [np.zeros(1), np.zeros(2), np.zeros(5)], batchsize=3, collate=lambda found: list(map(len, found))
    )
    assert list(lengths) == [[1, 2, 5]]
    shuffled = fl.DataLoader(list(range(9)), batchsize=4, shuffle=True, collate=False, rng=0)
    assert sorted(sum(shuffled, [])) == list(range(9))
    with pytest.raises(TypeError, match="collate=…. is None, False, True or a function, got a str"):
        fl.DataLoader(x, collate="mean")


# -- what is wrong with an argument ----------------------------------------------------------------------------


def test_a_batchsize_above_the_number_of_observations_is_reduced_and_that_is_said():
    loader = fl.DataLoader(xy(5), batchsize=64, partial=False)
    assert loader.batchsize == 5 and len(loader) == 1 and len(list(loader)[0][1]) == 5
    assert notices() == [
        "┌ Warning: a batchsize of 64 is more than the 5 observations that there are: the DataLoader has one batch, of "
        "all of them."
    ]
    fl.DataLoader([*xy(5)], batchsize=64)
    assert notices()[1].endswith("arrays of many go into a tuple, DataLoader((X, Y), …).")


@pytest.mark.parametrize(
    ("size", "error", "words"),
    [
        (0, ValueError, "batchsize is a whole number, 1 or more, got 0"),
        (-3, ValueError, "got -3"),
        (2.0, TypeError, "batchsize is a whole number, 1 or more, got 2.0"),
        ("4", TypeError, "got a str"),
        (None, TypeError, "got a NoneType"),
        (True, TypeError, "got a bool"),
        (np.zeros(3), TypeError, r"got a ndarray. All data is one argument: DataLoader\(\(X, Y\), batchsize=32\)"),
    ],
)
def test_what_is_no_batchsize(size, error, words):
    with pytest.raises(error, match=words):
        fl.DataLoader(xy(), size)
    assert fl.DataLoader(xy(), np.int64(4)).batchsize == 4


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ((np.zeros((5, 2)), np.zeros(4)), r"\[0\] has 5, \[1\] has 4"),
        ({"image": np.zeros((5, 2)), "label": [1, 2]}, r"\['image'\] has 5, \['label'\] has 2"),
        (Pair(np.zeros(3), (np.zeros(3), np.zeros(2))), r"x has 3, y\[1\] has 2"),
        ((), "no data in an empty tuple"),
        ({}, "no data in an empty dict"),
    ],
)
def test_parts_that_do_not_belong_together(data, words):
    for function in (fl.DataLoader, fl.numobs, fl.splitobs, fl.shuffleobs, lambda x: fl.mapobs(len, x)):
        with pytest.raises(ValueError, match=words):
            function(data)


class Lengthless:
    def __getitem__(self, i):
        return i


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (np.float32(3), "a float32 is no data"),
        (np.array(3.0), r"an array of shape \(\) holds one number"),
        ((np.zeros(3), np.array(1)), r"an array of shape \(\) at \[1\]"),
        ({1, 2}, r"a set is no data.*Make a list of it: list"),
        ((i for i in range(3)), "a generator is no data.*list"),
        ((np.zeros(3), None), r"a NoneType at \[1\] is no data"),
        ({"x": "text"}, r"a str at \['x'\] is no data"),
        (7, "an? int is no data"),
        (Lengthless(), r"a Lengthless has no len\(\)"),
        (np.ndarray, "a type is no data"),
    ],
)
def test_what_is_no_data(data, words):
    with pytest.raises(TypeError, match=words):
        fl.DataLoader(data)
    with pytest.raises(TypeError, match=words):
        fl.numobs(data)


@pytest.mark.parametrize("rng", ["seed", 1.5, True, np.random.RandomState(0), np.random])
def test_what_is_no_generator(rng):
    for function in (lambda: fl.DataLoader(xy(), rng=rng), lambda: fl.shuffleobs(xy(), rng)):
        with pytest.raises(TypeError, match="rng is a np.random.Generator, a whole number as seed, or None"):
            function()


def test_the_repr_says_what_it_is():
    x, y = xy(10)
    assert repr(fl.DataLoader((x, y), batchsize=3, shuffle=True)) == (
        "DataLoader((float32[10, 2], int64[10]), batchsize=3, shuffle=True)      # 4 batches of 10 observations"
    )
    nested = {"a": Pair(x, ([1] * 10,))}
    assert repr(fl.DataLoader(nested, 10, partial=False, collate=len, parallel=True)) == (
        "DataLoader({'a': Pair(x=float32[10, 2], y=(list of 10,))}, batchsize=10, parallel=True, partial=False, "
        "collate=len)      # 1 batch of 10 observations"
    )
    assert "mapobs(gpu, float32[10, 2])" in repr(fl.DataLoader(fl.mapobs(fl.gpu, x)))
    assert "Squares of 5, batchsize=1, collate=False)" in repr(fl.DataLoader(Squares(5), collate=False))
    assert "4 of the observations of range(0, 5)" in repr(fl.splitobs(range(5))[0])


# -- in the background -----------------------------------------------------------------------------------------


def threads():
    return [thread for thread in threading.enumerate() if thread.name == "fluxlite batches"]


def ended(patience=10.0):
    """Whether the threads end; only a test that fails waits for long."""
    end = time.monotonic() + patience
    while threads() and time.monotonic() < end:
        time.sleep(0.001)
    return not threads()


@pytest.mark.parametrize("data", [xy(23), Squares(23), Pair(*xy(23)), fl.mapobs(lambda xy: (-xy[0], xy[1]), xy(23))])
def test_a_thread_gives_the_same_batches(data):
    for _ in range(2):
        plain, parallel = (
            fl.DataLoader(data, batchsize=4, shuffle=True, rng=0, parallel=parallel) for parallel in (False, True)
        )
        same(list(plain), list(parallel))
    assert ended()


def test_a_thread_works_ahead_but_not_without_end():
    data = Squares(100)
    seen = iter(fl.DataLoader(data, parallel=True))
    next(seen)
    assert ended(), "the thread ends when enough is ready"
    assert 2 <= len(data.read) <= 2 + background.ROOM
    del seen


def test_leaving_the_loop_ends_the_thread():
    for _ in range(5):
        for _ in fl.DataLoader(Squares(1000), batchsize=2, parallel=True):
            break
    next(iter(fl.DataLoader(Squares(1000), parallel=True)))
    iter(fl.DataLoader(Squares(1000), parallel=True))  # never begun
    assert ended()


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_error_in_the_loop_ends_the_thread_though_its_traceback_is_kept(error):
    loader = fl.DataLoader(Squares(1000), batchsize=2, parallel=True)
    try:
        for _ in loader:
            raise error
    except error as raised:
        kept = raised  # and with it the frame, and with that the iterator: as a notebook keeps the last traceback
        assert ended()
    assert len(list(loader)) == 500 and kept is not None and ended()


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


def test_a_thread_that_hangs_does_not_keep_anyone(monkeypatch):
    monkeypatch.setattr(background, "_PATIENCE", 0.01)
    release = threading.Event()
    jobs = iter([lambda: 1, release.wait])
    results = background.done_ahead(jobs)
    assert next(results) == 1
    results.close()
    release.set()
    assert ended()


def test_an_error_between_the_jobs_comes_out_too():
    def jobs():
        yield lambda: 1
        raise OSError("disk on fire")

    results = background.done_ahead(jobs())
    assert next(results) == 1
    with pytest.raises(OSError, match="disk on fire"):
        next(results)
    assert ended()


def test_many_threads_at_once_give_everything():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        loaders = [fl.DataLoader(Squares(50), batchsize=3, parallel=True) for _ in range(8)]
        for _ in range(3):
            for batches in zip(*loaders):
                same(list(batches), [batches[0]] * 8)
    finally:
        sys.setswitchinterval(interval)
    assert ended()


# -- numobs, getobs, mapobs ------------------------------------------------------------------------------------


def test_numobs():
    x, y = xy(4)
    for data in (x, (x, y), {"x": x, "deep": (y, [1, 2, 3, 4])}, range(4), ["text"] * 4, Squares(4)):
        assert fl.numobs(data) == 4


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


def test_getobs_raises_for_what_is_not_there_and_what_is_no_index():
    for data in (xy(5), Squares(5), [1, 2, 3, 4, 5], fl.mapobs(len, xy(5))):
        for index in (5, -6, [0, 5]):
            with pytest.raises(IndexError, match="there is no observation -?[56]: there are 5, counted from 0"):
                fl.getobs(data, index)
    for index in (1.5, "a", [0.5], [[1], [2]], [True, False], None):
        with pytest.raises(TypeError, match="chosen by a whole number"):
            fl.getobs(xy(5), index)


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
    assert calls == [(), (4,), (2,)]
    assert len(list(mapped)) == 6
    same(fl.mapobs(lambda a: a + 1, fl.mapobs(lambda a: a * 2, y))[:2], np.array([1, 3]))
    with pytest.raises(TypeError, match="the function comes first, got a tuple"):
        fl.mapobs((x, y), np.tanh)


# -- parts -----------------------------------------------------------------------------------------------------


def test_splitobs():
    x, y = xy(10)
    train, test = fl.splitobs((x, y), at=0.7)
    same(train, (x[:7], y[:7]))
    same(test, (x[7:], y[7:]))
    assert np.shares_memory(train[0], x)
    assert [fl.numobs(part) for part in fl.splitobs(Pair(x, y))] == [8, 2]
    assert [len(part) for part in fl.splitobs(y, at=(0.6, 0.2))] == [6, 2, 2]
    assert [len(part) for part in fl.splitobs(y, at=(0.6, 0.2, 0.2))] == [6, 2, 2]
    assert [len(part) for part in fl.splitobs(np.arange(7), at=0.5)] == [4, 3]
    same(fl.splitobs([1, 2, 3, 4], at=0.5), ([1, 2], [3, 4]))


@given(n=st.integers(1, 60), at=st.lists(st.floats(0.01, 0.99), min_size=1, max_size=4), shuffle=st.booleans())
def test_the_parts_have_each_observation_once(n, at, shuffle):
    total = sum(at)
    at = tuple(fraction / max(total, 1) for fraction in at)
    parts = fl.splitobs(np.arange(n), at=at if all(0 < f < 1 for f in at) else 0.5, shuffle=shuffle, rng=0)
    together = np.concatenate(parts).tolist()
    assert sorted(together) == list(range(n)) and (shuffle or together == list(range(n)))


@pytest.mark.parametrize("at", [0.0, 1.0, -0.2, 80, "0.8", (0.5, 2.0), [0.5, 0.2], True, None])
def test_what_is_no_fraction(at):
    with pytest.raises(ValueError, match="takes fractions between 0 and 1"):
        fl.splitobs(xy(), at=at)


def test_fractions_of_more_than_all():
    with pytest.raises(ValueError, match="add up to 1.2, which is more than 1"):
        fl.splitobs(xy(), at=(0.8, 0.4))


def test_shuffleobs_draws_once():
    x, y = fl.shuffleobs(xy(20), rng=0)
    assert sorted(y.tolist()) == list(range(20)) != y.tolist()
    np.testing.assert_array_equal(x[:, 0], 2 * y)
    same(fl.shuffleobs(xy(20), rng=np.random.default_rng(0)), (x, y))
    loader = fl.DataLoader((x, y), batchsize=3)
    assert numbers(loader) == numbers(loader) == y.tolist()


def test_parts_of_a_sequence_are_read_when_they_are_asked_for():
    data = Squares(10)
    train, test = fl.splitobs(data, shuffle=True, rng=0)
    folds = list(fl.kfolds(train, 4))
    mapped, _ = fl.splitobs(fl.mapobs(lambda o: o[1], data), at=0.5)
    assert data.read == []
    assert sorted([train[i][1] for i in range(8)] + [y for _, y in test]) == [i * i for i in range(10)]
    data.read.clear()
    (_, labels) = next(iter(fl.DataLoader(folds[1][1], batchsize=2, shuffle=True, rng=1)))
    assert len(data.read) == 2 and sorted(labels.tolist()) == sorted(train[i][1] for i in (2, 3))
    assert mapped[4] == 16 and len(mapped) == 5
    assert test[-1][1] == fl.getobs(test, 1)[1] and len(fl.getobs(train, slice(2, 5))[1]) == 3


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


@pytest.mark.parametrize("k", [0, 1, 6, 2.0, True])
def test_what_is_no_number_of_folds(k):
    with pytest.raises(ValueError, match="a whole number from 2 to the number of observations, 5, got"):
        fl.kfolds(xy(5), k)


# -- batch, unbatch --------------------------------------------------------------------------------------------


def test_batch():
    a, b = np.zeros((2, 3), np.float32), np.ones((2, 3), np.float32)
    same(fl.batch([a, b]), np.stack([a, b]))
    same(fl.batch([1, 2, 3]), np.array([1, 2, 3]))
    same(fl.batch([np.float32(1), np.float32(2)]), np.array([1, 2], np.float32))
    same(fl.batch([True, False]), np.array([True, False]))
    same(fl.batch(["a", "b"]), ["a", "b"])
    same(fl.batch([[1, 2], [3, 4]]), np.array([[1, 2], [3, 4]]))
    same(fl.batch([[[1.0], [2.0]]]), np.array([[[1.0], [2.0]]]))
    same(fl.batch([[a, b]]), np.stack([[a, b]]))
    same(fl.batch([["a", "b"], ["c"]]), [["a", "b"], ["c"]])
    same(fl.batch([[], []]), np.zeros((2, 0)))
    same(fl.batch([([], 1), ([], 2)]), (np.zeros((2, 0)), np.array([1, 2])))
    same(fl.batch([Pair(a, {"n": 1}), Pair(b, {"n": 2})]), Pair(np.stack([a, b]), {"n": np.array([1, 2])}))
    same(fl.batch([{"a": 1, "b": 2}, {"b": 4, "a": 3}]), {"a": np.array([1, 3]), "b": np.array([2, 4])})
    same(fl.batch(x for x in [(1,), (2,)]), (np.array([1, 2]),))


@pytest.mark.parametrize(
    ("together", "error", "words"),
    [
        ([], ValueError, "a batch of no observations"),
        ([np.zeros(2), np.zeros(3)], ValueError, r"observation 1 has shape \(3,\), observation 0 has \(2,\)"),
        ([[1, 2], [3]], ValueError, r"observation 1 has shape \(1,\)"),
        ([(np.zeros(2), {"a": np.zeros(1)}), (np.zeros(2), {"a": np.zeros(2)})], ValueError, r"1 at \[1\]\['a'\] has"),
        ([1, "a"], TypeError, "observation 1 is a str, observation 0 is a int"),
        ([(1, 2), (1, 2, 3)], TypeError, "observation 1 is a tuple of 3, observation 0 is a tuple of 2"),
        ([{"a": 1}, {"b": 1}], TypeError, "a dict with the keys 'b'"),
        ([(1, None), (2, None)], TypeError, r"text, tuples and dicts at \[1\], got None"),
        ([[np.zeros(2), 3], [np.zeros(2), 4]], TypeError, "observation 0 is a list, .* of several parts give a tuple"),
        ([object()], TypeError, "got a object"),
        ([np.zeros(2), 1.0], TypeError, "observation 1 is a float, observation 0 is a ndarray"),
    ],
)
def test_what_cannot_be_one_batch(together, error, words):
    with pytest.raises(error, match=words):
        fl.batch(together)


def test_unbatch_undoes_batch():
    x, y = xy(3)
    for data in (x, (x, y), Pair(x, {"y": y}), ["a", "b"]):
        found = fl.unbatch(data)
        assert type(found) is list and len(found) == fl.numobs(data)
        same(fl.batch(found), data)
    assert np.shares_memory(fl.unbatch(x)[0], x)
