"""Ways to go wrong: what would make a replay compute something else is refused, guarded, or found by ``check=``."""

import argparse
import collections
import contextvars
import dataclasses
import fractions
import functools
import os
import queue
import random
import threading
import time
import types
from copy import deepcopy

import numpy as np
import pytest

import fluxlite as fl

X = np.random.default_rng(0).standard_normal((6, 3)).astype(np.float32)


def results(step, change=lambda i: None, arguments=lambda i: (X + i,), calls=8, captured=True, check=0):
    run = fl.captured(step, check=check) if captured else step
    found = []
    for i in range(calls):
        change(i)
        found.append(np.asarray(run(*arguments(i))).tobytes())
    return found


# -- what's read outside is guarded ------------------------------------------------------------------------------------


class Slotted:
    __slots__ = ("k",)


class Plain:
    k = 1.0

    @property
    def doubled(self):
        return self.hidden * 2

    def method(self, x):
        return x * 1.0


class Fivefold(Plain):
    k = 5.0


CONTEXT = contextvars.ContextVar("CONTEXT", default=1.0)
GLOBAL = 1.0


def set_global(i):
    global GLOBAL
    GLOBAL = 1.0 + (i > 4)


def put_key(box, key):
    box.clear()
    box[key] = 1.0


def put_member(box, member):
    box.clear()
    box.add(member)


def guarded():
    """(name, step, what changes something before call `i`); it's new in each world."""
    space, slotted, plain, cls = types.SimpleNamespace(k=1.0), Slotted(), Plain(), type("Own", (), {"k": 1.0})
    slotted.k = plain.hidden = 1.0
    module, local, box = types.ModuleType("mine"), threading.local(), {"k": 1.0}
    module.k = local.k = 1.0
    numbers, nested, chain = [1.0], [{"k": 1.0}], collections.ChainMap(box)
    raw = bytearray(b"\x01")
    objects = np.array([1.0, 2.0], object)

    def named(x, k=1.0):
        return x * k

    def other(x, k=1.0):
        return x * k * 7

    cached = functools.cache(lambda: space.k)

    def clear(i):
        space.k = 1.0 + (i > 4)
        cached.cache_clear()

    def setter(owner, name="k"):
        return lambda i: setattr(owner, name, 1.0 + (i > 4))

    def putter(owner, key="k"):
        return lambda i: owner.__setitem__(key, 1.0 + (i > 4))

    yield "a namespace", lambda x: x * space.k, setter(space)
    yield "slots", lambda x: x * slotted.k, setter(slotted)
    yield "a class", lambda x: x * cls.k, setter(cls)
    yield "a class, through an object", lambda x: x * plain.k, lambda i: i == 5 and setattr(plain, "k", 3.0)
    yield "a property", lambda x: x * plain.doubled, setter(plain, "hidden")
    yield "a method", lambda x: cls.f(x), lambda i: setattr(cls, "f", named if i < 5 else other)
    yield "hasattr", lambda x: x * hasattr(cls, "flag"), lambda i: i == 5 and setattr(cls, "flag", 1)
    yield "a module", lambda x: x * module.k, setter(module)
    yield "a context variable", lambda x: x * CONTEXT.get(), lambda i: CONTEXT.set(1.0 + (i > 4))
    yield "a thread's own", lambda x: x * local.k, setter(local)
    yield "the last of a list", lambda x: x * numbers[-1], lambda i: i == 5 and numbers.append(3.0)
    yield "a dict", lambda x: x * box["k"], putter(box)
    yield "a dict in a list", lambda x: x * nested[0]["k"], putter(nested[0])
    yield "a chain of dicts", lambda x: x * chain["k"], putter(box)
    yield "getattr", lambda x: x * getattr(space, "k"), setter(space)  # noqa: B009
    yield "a global", lambda x: x * GLOBAL, set_global
    yield "a function's default", lambda x: named(x), lambda i: setattr(named, "__defaults__", (1.0 + (i > 4),))
    yield "a function's code", lambda x: named(x), lambda i: i == 5 and setattr(named, "__code__", other.__code__)
    yield "a cached function", lambda x: x * cached(), clear
    yield "bytes", lambda x: x * raw[0], lambda i: raw.__setitem__(0, 1 + (i > 4))
    yield "an array of objects", lambda x: x * objects[0], putter(objects, 0)
    listed = type("Listed", (list,), {})([1.0])
    listed.k = 1.0
    options = argparse.Namespace(k=1.0)
    meta = type("Meta", (type,), {"k": 1.0})
    made = meta("Made", (), {})
    other.k = 1.0
    yield "an attribute of a list", lambda x: x * listed.k, setter(listed)
    yield "a program's options", lambda x: x * options.k, setter(options)
    yield "a metaclass", lambda x: x * made.k, setter(meta)
    yield "an attribute of a function", lambda x: x * other.k, setter(other)
    keys, members = {1: 1.0}, {1}
    yield "the type of a key", lambda x: x.astype(int) * list(keys)[0], lambda i: i == 5 and put_key(keys, 1.0)
    yield "the type in a set", lambda x: x.astype(int) * list(members)[0], lambda i: i == 5 and put_member(members, 1.0)
    zeros = {0.0}
    yield "a sign in a set", lambda x: np.copysign(x, list(zeros)[0]), lambda i: i == 5 and put_member(zeros, -0.0)
    yield "another class", lambda x: x * plain.k, lambda i: i == 5 and setattr(plain, "__class__", Fivefold)
    yield "the sign of zero", lambda x: np.copysign(x, space.k), lambda i: setattr(space, "k", 0.0 if i < 5 else -0.0)


@pytest.mark.parametrize("number", range(30))
def test_what_a_step_reads_is_read_again_when_it_changes(number):
    worlds = []
    for captured in (False, True):
        _, step, change = list(guarded())[number]
        worlds.append(results(step, change, captured=captured))
    assert worlds[0] == worlds[1]


def test_the_table_above_is_whole():
    assert len(list(guarded())) == 30


@dataclasses.dataclass(frozen=True)
class Frozen:
    w: object


Pair = collections.namedtuple("Pair", "w k")


def holders(w):
    yield lambda x: x + w * 2
    yield lambda x, w=w: x + w * 2
    for holder in ((w, 1), Pair(w, 1), [w], {0: w}, collections.deque([w])):
        yield functools.partial(lambda holder, x: x + holder[0] * 2, holder)
    frozen = Frozen(w)
    yield lambda x: x + frozen.w * 2
    yield functools.partial(lambda w, x: x + w * 2, w)


@pytest.mark.parametrize("number", range(9))
def test_an_array_is_found_wherever_it_is_and_read_at_each_call(number):
    worlds = []
    for captured in (False, True):
        w = np.ones(3, np.float32)
        step = list(holders(w))[number]
        step = functools.partial(step) if not hasattr(step, "__qualname__") else step
        worlds.append(results(lambda x, step=step: step(x), lambda i, w=w: w.__setitem__(0, i), captured=captured))
    assert worlds[0] == worlds[1]


# -- arguments ---------------------------------------------------------------------------------------------------------


def in_order(parts):
    total = 0
    for part in parts.values():
        total = total * 2 + part
    return total


def by_its_key(d):
    key = list(d)[0]
    return d[key] * key


class Name(str):
    pass


class Turn(complex):
    pass


class Rate(float):
    pass


def named(i):
    name = Name("a")
    name.k = i // 3
    return name


ARGUMENTS = [
    (by_its_key, lambda i: ({(1 if i < 4 else 1.0): np.arange(3)},)),
    (by_its_key, lambda i: ({(1 if i < 4 else True): np.array([True])},)),
    (lambda a, k: np.copysign(a, k), lambda i: (X, Rate(0.0 if i < 4 else -0.0))),
    (lambda a, k: a * len(k), lambda i: (X, Name("a" * (1 + i // 4)))),
    (lambda a, k: a * k.k, lambda i: (X, named(i))),
    (lambda a, k: a * k, lambda i: (X, i // 3)),
    (lambda a, k: a * (5 if k is True else 7), lambda i: (X, 1 if i < 4 else True)),
    (lambda a, k: np.copysign(a, k), lambda i: (X, 0.0 if i < 4 else -0.0)),
    (lambda a, k: a * k, lambda i: (X, float("nan"))),
    (lambda a, k: np.copysign(a, k), lambda i: (X, float("nan") if i < 4 else -float("nan"))),
    (lambda a, k: a * k, lambda i: (X, np.float32(i))),
    (lambda a, k: a * k, lambda i: (X, np.array(i, np.float32))),
    (lambda a: a * 2, lambda i: (X if i < 4 else X.astype(float),)),
    (lambda a: a * 2, lambda i: (X if i < 4 else X[:4],)),
    (lambda a: np.sum(np.tanh(a), axis=0), lambda i: (X if i < 4 else np.asfortranarray(X),)),
    (lambda a: np.sum(np.tanh(a)), lambda i: (X[::2].copy() if i < 4 else X[::2],)),
    (in_order, lambda i: ({"p": X, "q": X * 3} if i < 4 else {"q": X * 3, "p": X},)),
    (lambda t, i: t[i], lambda i: (np.arange(30.0).reshape(10, 3), np.array([i, 0, 2]))),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(ARGUMENTS)))
def test_another_signature_is_another_call(number):
    step, arguments = ARGUMENTS[number]
    assert results(step, arguments=arguments) == results(step, arguments=arguments, captured=False)


@pytest.mark.parametrize(
    "make",
    [lambda: Name("a"), lambda: Rate(2.0), lambda: Turn(1j), lambda: np.str_("a"), lambda: {Name("a"): 1}],
)
def test_an_equal_text_or_number_of_an_own_class_is_the_same_call(make):
    run = fl.captured(lambda x, k: x * 2)
    for _ in range(4):
        run(X, make())
        kept = list(run.plans.values())
    run(X, make())
    assert kept and list(run.plans.values()) == kept


@pytest.fixture
def of_a_file(tmp_path):
    numbers = np.memmap(tmp_path / "numbers", np.float32, "w+", shape=(60, 3))
    numbers[...] = np.arange(180).reshape(60, 3)
    return numbers


def test_an_array_of_a_file_is_an_argument_like_others(of_a_file):
    def step(x, more):
        x *= 2
        return np.sum(x) + more["y"]

    def run(captured):
        of_a_file[...] = np.arange(180).reshape(60, 3)
        found = results(step, arguments=lambda i: (of_a_file[i * 3 : i * 3 + 3], {"y": of_a_file[50 + i]}),
                        captured=captured)  # fmt: skip
        return found, of_a_file.tobytes()

    assert run(True) == run(False)


def test_an_array_of_a_file_is_found_outside_and_trained_on(of_a_file):
    def change(captured):
        of_a_file[...] = 1

        def step(x):
            of_a_file[:6] -= x
            return of_a_file[1:3] + 1

        return results(step, lambda i: of_a_file.__setitem__(i, i), captured=captured), of_a_file.tobytes()

    def train(captured):
        model = fl.Dense(3, 1, rng=np.random.default_rng(0))
        batches = [of_a_file[i : i + 6] for i in range(0, 60, 6)]
        state = fl.setup(fl.Descent(0.1), model)
        fl.train(lambda m, x: fl.mse(m(x), x[:, :1]), model, batches, state, captured=captured, progress=False)
        return model.weight.tobytes()

    assert change(True) == change(False)
    assert train(True) == train(False)


@pytest.mark.parametrize("kind", [np.matrix, np.recarray, np.ma.MaskedArray, type("Own", (np.ndarray,), {})])
def test_arrays_of_other_classes_are_refused_by_name(kind):
    with pytest.raises(fl.CaptureError, match=f"an argument is a {kind.__name__}, an array with rules of its own"):
        fl.captured(lambda t: t["x"] * 2)({"x": X.view(kind)})


def test_an_argument_that_is_changed_in_place_is_changed_for_the_caller():
    def step(x):
        x *= 2
        return x + 1

    def run(captured):
        x = X.copy()
        return results(step, arguments=lambda i: (x,), captured=captured), x.tobytes()

    assert run(True) == run(False)


def test_two_names_for_memory_that_is_changed_are_refused_from_the_start_and_later():
    w = np.ones((6, 3), np.float32)

    def step(x):
        w[...] = w - 0.5
        return w + x[::2].sum()

    with pytest.raises(fl.CaptureError, match="shares memory with an array that the step changes"):
        fl.captured(step)(w)
    assert (w == 1).all(), "all is put back"
    run = fl.captured(step)
    for _ in range(4):
        run(X)
    with pytest.raises(fl.CaptureError, match="shares memory"):
        run(w)

    def twice(a, b):
        a *= 2
        return a + b

    run = fl.captured(twice)
    for _ in range(4):
        run(X.copy(), X)
    with pytest.raises(fl.CaptureError, match="shares memory"):
        run(w, w[:])


def by_identity(q, k):
    q *= 2 if q is k else 3
    return q + k


def by_identity_in_a_dict(q, k):
    return q["x"] * (2 if q is k else 3) + (q["x"] is k["x"]) + k["x"]


@pytest.mark.parametrize(
    ("step", "make"),
    [(by_identity, lambda x: x), (by_identity_in_a_dict, lambda x: {"x": x}), (by_identity_in_a_dict, lambda x: [x])],
)
def test_one_object_for_two_arguments_is_one(step, make):
    if make(1) == [1]:
        step = functools.partial(lambda q, k: by_identity_in_a_dict({"x": q[0]}, {"x": k[0]}) + (q is k))

    def arguments(i):
        first = make(X + i)
        return first, first if i % 5 < 4 else make(X - i)

    assert results(step, arguments=arguments, calls=20) == results(step, arguments=arguments, calls=20, captured=False)


@pytest.mark.parametrize("make", [lambda: [1], lambda: {"a": 1}, lambda: (1, [2]), lambda: [X * 1]])
def test_two_containers_given_and_then_one_twice_are_two_calls(make):
    def arguments(i):
        first = make()
        return first, first if i in (5, 8) else make(), X + i

    def step(p, q, x):
        return x * 2 if p is q else x * 3

    assert results(step, arguments=arguments, calls=10) == results(step, arguments=arguments, calls=10, captured=False)


def test_an_argument_that_is_an_array_from_outside_is_refused_where_the_step_asks():
    own = types.SimpleNamespace(w=X.copy(), h=X.copy())
    other = own.w

    def step(x):
        own.h = own.h + 1
        return x * (2 if x is own.w else 3) + (own.w is other)

    run = fl.captured(step)
    with pytest.raises(fl.CaptureError, match="asks with `is` or `id`, and an argument of shape .* finds elsewhere"):
        run(own.w)
    for _ in range(5):
        assert (run(X) == X * 3 + 1).all(), "two names outside are one array"
    assert run.plans
    for x in (own.w, own.h):
        with pytest.raises(fl.CaptureError, match="asks with `is` or `id`, and an argument of shape"):
            run(x)
    assert (fl.captured(lambda x: x * 2 if x is None else x + own.w)(own.w) == own.w * 2).all(), "not asked"


@pytest.mark.parametrize("ask", [np.shares_memory, np.may_share_memory])
def test_whether_arguments_share_memory_is_refused_unless_its_known(ask):
    w = X.copy()
    for step, given in ((lambda a, b: ask(a, b), (X, X[1:])), (lambda a: ask(a, w), (w,))):
        with pytest.raises(fl.CaptureError, match=f"np.{ask.__name__} of an argument"):
            fl.captured(step)(*given)

    def known(a, b):
        return a * ask(a, a[1:]) + ask(a, a + b) + ask(w, w[1:]), a.sum()

    run = fl.captured(known)
    for _ in range(4):
        np.testing.assert_array_equal(run(X, X[:1])[0], X + 1)


# -- what a replay would repeat ----------------------------------------------------------------------------------------

rng = np.random.default_rng(0)
own_random = random.Random(0)
iterator = iter([1.0] * 100)
kept: list = []
counter = types.SimpleNamespace(n=0)


def count(x):
    counter.n += 1
    return x


def keep(x):
    kept.append(x * 2)
    return x


MATRIX = np.ma.ones(3)
REFUSED = {
    "float(x)": lambda x: x * float(x[0, 0]),
    "a decision": lambda x: x if x.sum() > 0 else -x,
    "printing": lambda x: print(f"{x.sum():.3f}"),
    "np.asarray": lambda x: np.asarray(x),
    "a mask": lambda x: x[x > 0],
    "nonzero": lambda x: np.nonzero(x),
    "unique": lambda x: np.unique(x),
    "array_equal": lambda x: np.array_equal(x, x),
    "tolist": lambda x: x.tolist(),
    "int index": lambda x: [1, 2, 3][np.argmax(x[0])],
    "random.random": lambda x: x * random.random(),
    "np.random": lambda x: x + np.random.rand(),  # noqa: NPY002
    "a generator of Python's": lambda x: x * (own_random.random() < 2),
    "a branch on a generator": lambda x: x if rng.random() < 0.99 else -x,
    "a distribution": lambda x: x + rng.standard_normal(x.shape),
    "an iterator": lambda x: x * next(iterator),
    "a count": count,
    "what's kept": keep,
    "eval": lambda x: x * eval("2"),
    "objects": lambda x: x * np.array([1, 2, 3], object),
    "an array of a class of its own": lambda x: x + MATRIX.mean(),
}


def puts_elsewhere(x):
    elsewhere.put(x * 2)
    return x * 1


def writes_unseen(x):
    memory_of_w[0] += 1.0
    return x * w_in_memory


elsewhere: queue.SimpleQueue = queue.SimpleQueue()
w_in_memory = np.ones(3, np.float32)
memory_of_w = memoryview(w_in_memory)


@pytest.mark.parametrize(
    ("step", "words"), [(puts_elsewhere, "is kept after the step"), (writes_unseen, "the capture didn't see how")]
)
def test_what_happens_unseen_is_refused(step, words):
    run = fl.captured(step)
    with pytest.raises(fl.CaptureError, match=words):
        for _ in range(4):
            run(X)


def test_an_argument_may_be_read_only():
    x = X.copy()
    x.flags.writeable = False
    run = fl.captured(lambda x: x * 2)
    for _ in range(4):
        np.testing.assert_array_equal(run(x), X * 2)


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_replay_would_repeat_is_refused_with_the_line(name):
    with pytest.raises(fl.CaptureError) as caught:
        results(REFUSED[name])
    assert "replay" in str(caught.value) or "captured(step)" in str(caught.value)


def test_draws_from_a_generator_are_drawn_at_each_replay():
    def run(captured):
        rng = np.random.default_rng(3)
        return results(lambda x: x * (rng.random(x.shape, dtype=np.float32) > 0.5), captured=captured), rng.random()

    assert run(True) == run(False)


def test_a_host_number_that_changes_is_named_with_both_values():
    times = iter(range(1, 100))

    def step(x, clock=lambda: 1 / (len(kept_calls) + 1)):
        return x * clock()

    kept_calls = [0]
    run = fl.captured(step)
    run(X)
    kept_calls.append(next(times))
    with pytest.raises(fl.CaptureError, match=r"called with 0\.25, and the time before with 0\.3333"):
        run(X)
        kept_calls.append(next(times))
        run(X)


def test_check_finds_what_cannot_be_seen(monkeypatch):
    monkeypatch.setenv("FACTOR", "1")

    def step(x):
        return x * float(os.environ["FACTOR"])

    run = fl.captured(step, check=2)
    for _ in range(4):
        run(X)
    monkeypatch.setenv("FACTOR", "2")
    with pytest.raises(fl.CaptureError, match="a replay doesn't give what the step itself gives"):
        for _ in range(2):
            run(X)


def test_check_leaves_a_right_step_as_it_is():
    def run(check):
        model = fl.Chain(fl.Dense(3, 4, np.tanh, rng=np.random.default_rng(0)), fl.BatchNorm(4), fl.Dropout(0.5))
        state = fl.setup(fl.Adam(0.1), model)
        fl.seed(1)

        def step(x):
            loss, (grads,) = fl.withgradient(lambda m: np.mean(m(x) ** 2), model)
            fl.update(state, model, grads)
            return loss

        return results(step, check=check), [x.tobytes() for x in fl.leaves(model) if isinstance(x, np.ndarray)]

    assert run(1) == run(0)


# -- refused at the second run: all is as before -----------------------------------------------------------------------


def test_after_a_refusal_all_is_as_before_the_call():
    model = fl.Chain(fl.Dense(3, 4, np.tanh), fl.BatchNorm(4), fl.Dropout(0.5))
    state = fl.setup(fl.Adam(0.1), model)
    held = []

    def step(x):
        loss, (grads,) = fl.withgradient(lambda m: np.mean(m(x) ** 2), model)
        fl.update(state, model, grads)
        held.append(1)  # at the second run, it isn't what it was
        return loss

    def everything():
        arrays = [x.tobytes() for x in (*fl.leaves(model), *fl.leaves(state)) if isinstance(x, np.ndarray)]
        counts = [x for x in fl.leaves(state) if type(x) is int]
        return arrays, counts, fl.get_device("CPU").rng.bit_generator.state

    run = fl.captured(step)
    with pytest.raises(fl.CaptureError, match="changes the length of a list"):
        for _ in range(5):
            before = everything()
            run(X)
    assert str(everything()) == str(before)


# -- errors in a replay ------------------------------------------------------------------------------------------------


def test_an_error_in_a_replay_leaves_the_state_as_before_the_call_or_as_after_it_and_names_the_line():
    table = np.arange(30, dtype=np.float32).reshape(10, 3)
    total = np.zeros(3, np.float32)

    def step(rows):
        found = table[rows]
        total[...] = total + found.sum(0)
        return found

    run = fl.captured(step)
    for _ in range(3):
        run(np.array([1, 2]))
    before = total.copy()
    with pytest.raises(IndexError) as caught:
        run(np.array([1, 20]))
    assert (total == before).all()
    assert any("test_wrong.py, line" in note for note in caught.value.__notes__)


def test_a_floating_point_error_stops_a_replay_where_it_stops_the_step():
    def run(divide, captured=True):
        a, b = np.ones(3, np.float32), np.ones(3, np.float32)

        def step(x):
            divide(a, x)
            b[...] = b + 1
            return b

        replay = fl.captured(step) if captured else step
        for _ in range(3):
            replay(np.ones(3, np.float32))
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
            replay(np.zeros(3, np.float32))
        return a[0], b[0]

    for divide in (lambda a, x: np.copyto(a, a / x), lambda a, x: np.divide(a, x, out=a)):
        assert run(divide) == run(divide, captured=False)
    assert run(divide) == (np.inf, 4)


@pytest.mark.parametrize("index", [1, 20])
def test_a_call_that_fails_after_a_change_leaves_what_the_step_leaves(index):
    table = np.arange(30, dtype=np.float32).reshape(10, 3)

    def run(captured):
        w, v = np.ones(3, np.float32), np.ones(3, np.float32)

        def step(x, i):
            w[...] = w + 1
            x += 1
            y = w / x[0] + table[i][0]
            v[...] = v + y
            return y

        replay = fl.captured(step) if captured else step
        for _ in range(3):
            replay(X.copy(), np.array([1]))
        x = X * 0 - 1
        with np.errstate(divide="raise"), pytest.raises((FloatingPointError, IndexError)):
            replay(x, np.array([index]))
        return w.tobytes(), v.tobytes(), x.tobytes()

    assert run(True) == run(False)


def test_a_function_under_one_of_our_decorators_is_looked_into():
    def run(captured):
        w = np.ones(3, np.float32)
        twice = fl.primitive(lambda x: x + np.tanh(w))
        return results(lambda x: twice(x), lambda i: w.__setitem__(0, i), captured=captured)

    assert run(True) == run(False)


def test_a_result_whose_shape_depends_on_values_is_refused_in_a_replay():
    run = fl.captured(lambda n: np.bincount(n))
    for _ in range(4):
        run(np.array([0, 1, 2]))
    with pytest.raises(fl.CaptureError, match=r"a result has shape \(5,\) now, and \(3,\) when"):
        run(np.array([0, 1, 4]))


def test_a_refusal_in_a_replay_leaves_all_as_before_the_call():
    rng = np.random.default_rng(0)
    model = fl.Chain(fl.Dense.of(np.ones((2, 3), np.float32)), fl.Dropout(0.5, rng=rng))
    state = fl.setup(fl.Adam(0.1), model)
    mean = np.zeros(3, np.float32)

    @fl.captured
    def step(x):
        _, (grads,) = fl.withgradient(lambda model: np.sum(model(x) ** 2), model)
        fl.update(state, model, grads)
        mean[...] = mean * 0.9 + x
        x += 0
        return np.emath.sqrt(x)

    def everything():
        memory = state.layers[0].weight.memory
        numbers = [x.tobytes() for x in (model.layers[0].weight, mean, memory["mean"], memory["square"])]
        return numbers, memory["steps"], rng.bit_generator.state

    x = np.ones(3, np.float32)
    for _ in range(4):
        step(x)
    before = everything()
    with pytest.raises(fl.CaptureError, match="a result has type complex"):
        step(-x)
    assert everything() == before
    step(x)
    assert everything() != before


def test_an_argument_that_is_changed_before_a_call_fails_keeps_the_change():
    def step(x, i):
        x += 1
        return x[i]

    run = fl.captured(step)
    x = np.zeros(3, np.float32)
    for _ in range(4):
        run(x, np.array([0]))
    with pytest.raises(IndexError):
        run(x, np.array([7]))
    assert (x == 5).all()


def test_after_a_refusal_the_step_finds_its_own_arrays_again():
    own = types.SimpleNamespace(a=np.ones(3, np.float32), b=np.ones(3, np.float32))
    arrays = own.a, own.b

    def step(x):
        own.a = x  # of another shape
        return x + own.b

    with pytest.raises(fl.CaptureError, match=r"puts an array of float32, shape \(6, 3\) at 'a', where"):
        fl.captured(step)(X)
    assert own.a is arrays[0] and own.b is arrays[1]


# -- what was found by attacks -----------------------------------------------------------------------------------------


def swap(own, x):
    own["a"], own["b"] = own["b"], own["a"]
    return x + own["a"] * 2


def masked_copy(own, x):
    np.copyto(own["a"], x[0], where=x[0] > 0)
    return x + own["a"]


def into_positional(own, x):
    out = np.zeros_like(x, shape=(6, 6))
    np.dot(x, x.T, out)
    np.cumsum(x[0], 0, None, own["b"])
    return out.sum() + own["b"]


def in_type_of_the_target(own, x):
    counts = np.zeros_like(x > 0)
    whole = np.zeros_like(x, dtype=np.int64)
    whole[0] = x[0] * 3
    return whole + counts


def real_and_sorted(own, x):
    made = x * (1 + 2j)
    ordered = x.copy()
    ordered.sort(axis=0)
    return made.real + made.imag + ordered


@pytest.mark.parametrize("step", [swap, masked_copy, into_positional, in_type_of_the_target, real_and_sorted])
def test_calls_of_all_kinds_are_what_they_are(step):
    def run(captured):
        own = {"a": np.ones(3, np.float32), "b": np.zeros(3, np.float32)}
        found = results(lambda x: step(own, x), captured=captured)
        return found, own["a"].tobytes(), own["b"].tobytes()

    assert run(True) == run(False)


def swallows(x):
    try:
        factor = float(x.sum())
    except Exception:
        factor = 0.0
    return x * factor


def in_a_thread(x):
    found = [x]
    thread = threading.Thread(target=lambda: found.append(x * 2))
    thread.start()
    thread.join()
    return found[-1]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("step", [swallows, in_a_thread])
def test_a_refusal_that_the_step_swallows_counts(step):
    with pytest.raises(fl.CaptureError):
        fl.captured(step)(X)


def test_what_nobody_reads_still_raises():
    def step(x, i):
        _ = x[i]
        return x * 2

    run = fl.captured(step)
    for _ in range(3):
        run(X, np.array([1]))
    with pytest.raises(IndexError):
        run(X, np.array([9]))


def test_arguments_that_a_replay_could_not_follow_are_refused():
    def grows(parts, x):
        parts.append(x)
        return x

    with pytest.raises(fl.CaptureError, match="changes a list that it's called with"):
        fl.captured(grows)([X], X)
    with pytest.raises(fl.CaptureError, match="with positions that are arrays"):
        fl.captured(lambda x, i: np.split(x, i))(X, np.array([2, 4]))
    with pytest.raises(fl.CaptureError, match="as a key"):
        fl.captured(lambda x: x * {np.float32(1): 2}.get(x[0, 0], 1))(X)
    w = np.ones((6, 3), np.float32)

    def step(x):
        x += w
        return w * 2

    run = fl.captured(step)
    for _ in range(4):
        run(X.copy())
    with pytest.raises(fl.CaptureError, match="shares memory"):
        run(w)


# -- what a reader found -----------------------------------------------------------------------------------------------


def test_a_row_by_a_number_of_numpys_is_refused_and_by_an_array_read_at_each_call():
    table = np.arange(12, dtype=np.float32).reshape(4, 3)
    with pytest.raises(fl.CaptureError, match="with positions that are arrays or NumPy's numbers"):
        fl.captured(lambda i: table[i] * 2)(np.int64(1))
    assert results(lambda i: table[i] * 2, arguments=lambda i: (np.array([i % 4]),)) == results(
        lambda i: table[i] * 2, arguments=lambda i: (np.array([i % 4]),), captured=False
    )


def accumulates(x):
    total = np.zeros((6, 3), np.float32)
    total += x
    return total


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (accumulates, "an array that NumPy makes in the step, such as np.zeros"),
        (lambda x: (x, time.perf_counter()), "returns another number of Python's"),
        (lambda x: fl.Gradient(w=x * 2, seconds=time.perf_counter()), "returns another number of Python's"),
        (lambda x: np.nan_to_num(x, copy=False), r"np\.nan_to_num\(x, copy=False\) "),
        (lambda x: np.nan_to_num(x, False), r"np\.nan_to_num\(x, copy=False\)"),
        (lambda x: np.percentile(x, 50, overwrite_input=True), r"np\.percentile\(x, overwrite_input=True\)"),
    ],
)
def test_what_would_go_on_silently_is_refused(step, words):
    run = fl.captured(step)
    with pytest.raises(fl.CaptureError, match=words):
        for _ in range(4):
            run(X)


def test_arrays_made_like_others_roots_and_named_tuples():
    def made(pair, x):
        return np.array(pair.w * 2, like=x) + np.abs(x) ** 0.5 + np.full((6, 3), 2.0, like=x)

    arguments = [(Pair(X[0] + i, 1), X + i) for i in range(8)]
    assert results(made, arguments=lambda i: arguments[i]) == results(
        made, arguments=lambda i: arguments[i], captured=False
    )

    def put(x):
        w = np.zeros_like(x)
        np.fill_diagonal(w, x[0, 0])
        np.put(w, [1, 2], 7)
        np.place(w, x > 1, [4, 5])
        np.putmask(w, x < -1, x * 3)
        np.put_along_axis(w, np.array([[0]]), 8, 1)
        return w

    assert results(put) == results(put, captured=False)


def test_many_floats_as_arguments_are_said():
    run = fl.captured(lambda x, rate: x * rate)
    for i in range(20):
        run(X, i / 7)
    assert "is captured again and again" in "".join(fl.notices())


def test_a_class_gets_its_first_array_in_a_step():
    def run(captured):
        class Average:
            total = None

        def step(x):
            if Average.total is None:
                Average.total = x * 2
            else:
                Average.total = Average.total * np.float32(0.5) + x
            return Average.total + 1

        return results(step, captured=captured), Average.total.tobytes()

    assert run(True) == run(False)


@pytest.mark.parametrize("make", [lambda: type("Own", (), {}), lambda: types.ModuleType("own")])
def test_a_class_or_a_module_gets_an_array_under_a_new_name(make):
    own = make()

    def step(x):
        own.latest = x * 2
        return x / 2

    run = fl.captured(step)
    for i in range(6):
        run(X * i)
        assert type(own.latest) is np.ndarray
        assert (own.latest == X * i * 2).all()


@pytest.mark.parametrize("make", [lambda: type("Own", (), {}), lambda: types.ModuleType("own")])
def test_a_new_name_goes_again_if_the_run_is_refused(make):
    own = make()

    def step(x):
        own.latest = x * 2
        return float(x[0])

    with pytest.raises(fl.CaptureError, match=r"float\(x\)"):
        fl.captured(step)(X)
    assert not hasattr(own, "latest")


Two = collections.namedtuple("Two", "a b")


@pytest.mark.parametrize("make", [lambda x: Two(x, x * 2), lambda x: collections.deque([x, x * 2])])
def test_several_arrays_may_come_in_any_row_of_things(make):
    assert results(lambda x: np.concatenate(make(x))) == results(lambda x: np.concatenate(make(x)), captured=False)


def test_an_array_of_objects_in_another_order_is_refused():
    table = np.empty((2, 3), object)
    table[:] = 1.5
    turned = table.T
    with pytest.raises(fl.CaptureError, match=r"an array of Python's objects, of shape \(3, 2\), that doesn't lie in"):
        fl.captured(lambda x: x * turned[0, 0])(X)


def test_a_number_beside_arrays_in_a_list_is_carried():
    def run(captured):
        rate = np.float32(1)
        arrays = [np.ones(3, np.float32), np.ones(3, np.float32)]

        def step(x):
            nonlocal rate
            rate = rate * np.float32(0.5)
            return x * rate + arrays[0] + arrays[1]

        replay = fl.captured(step) if captured else step
        return [replay(X + i).tobytes() for i in range(8)], rate

    assert run(True) == run(False)


@pytest.mark.parametrize("where", ["a difference", "an error"])
def test_what_check_finds_leaves_all_as_before_the_call(where, monkeypatch):
    w = np.ones(3)
    monkeypatch.setenv("FACTOR", "1")

    def step(x):
        w[...] = w * 2
        if os.environ["FACTOR"] == "none":
            raise ValueError("the step's own")
        return x * float(os.environ["FACTOR"])

    run = fl.captured(step, check=1)
    for _ in range(4):
        run(X)
    before = w.copy()
    monkeypatch.setenv("FACTOR", "3" if where == "a difference" else "none")
    with pytest.raises(fl.CaptureError):
        run(X)
    assert (w == before).all()


def test_a_result_of_another_shape_on_a_gpu_is_refused_by_name():
    with fl.simulate_gpu():
        run = fl.captured(lambda n: np.repeat(n, n))
        n = fl.gpu(np.array([1, 2]))
        for _ in range(3):
            run(n)
        with pytest.raises(fl.CaptureError, match=r"a result has shape \(5,\) now"):
            run(n + 1)


def test_a_row_of_a_structured_array_may_change_between_calls():
    row = np.zeros(2, [("a", np.float32)])[0]
    change = lambda i: row.__setitem__("a", i // 5)  # noqa: E731
    assert results(lambda x: x * row["a"], change) == results(lambda x: x * row["a"], change, captured=False)


def test_a_step_that_asks_for_an_id_is_refused():
    w = np.ones(3, np.float32)
    rates = {id(w): 0.5}
    with pytest.raises(fl.CaptureError, match="calls id, and while a step is recorded"):
        fl.captured(lambda x: x * rates.get(id(w), 0.1))(X)


def test_a_function_of_copy_may_be_imported_by_its_name():
    step = lambda x: x * deepcopy([2])[0]  # noqa: E731
    assert results(step) == results(step, captured=False)
    with pytest.raises(fl.CaptureError, match=r"copy\.deepcopy of what the step computes can't be captured.* x\.copy"):
        fl.captured(lambda x: deepcopy(x) * 2)(X)


def test_a_number_of_numpys_that_is_replaced_at_each_call_is_carried():
    def run(captured):
        own = types.SimpleNamespace(rate=np.float32(1))

        def step(own, x):
            own.rate = own.rate * np.float32(0.9)
            return x * own.rate

        replay = fl.captured(step) if captured else step
        values = [replay(own, X * i).tobytes() for i in range(8)]
        return values, type(own.rate), own.rate

    assert run(True) == run(False)


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (lambda own, x: vars(own).update(a=np.zeros(3)), "the step makes an array by itself and puts it at 'a'"),
        (lambda own, x: vars(own).update(r=own.s, s=own.r), "puts another generator of random numbers at 'r'"),
        (lambda own, x: vars(own).update(n=own.n + 1), "changes SimpleNamespace.n: a replay wouldn't"),
    ],
)
def test_what_cannot_be_assigned_is_named(step, words):
    own = types.SimpleNamespace(a=np.ones(3), r=np.random.default_rng(0), s=np.random.default_rng(1), n=0)
    before = dict(vars(own))
    run = fl.captured(lambda own, x: [x * 2, step(own, x)][0])
    with pytest.raises(fl.CaptureError, match=words):
        for _ in range(3):
            before = dict(vars(own))
            run(own, X)
    assert all(vars(own)[name] is value for name, value in before.items())


def test_no_stand_in_stays_after_a_refusal_or_behind_a_read_only_dict():
    """Whoever sees a dict through a proxy, too, has an array there."""
    box = {"w": None}
    seen = types.MappingProxyType(box)

    def step(x):
        box["w"] = x * 2 if seen["w"] is None else box["w"] + x
        return box["w"]

    fl.captured(step)(X)
    assert type(box["w"]) is np.ndarray
    first, own = Slotted(), types.SimpleNamespace(w=np.ones(2, np.float32))
    first.k = None

    def refused(x):
        first.k = x * 2
        own.w = x  # of another shape
        return x

    with pytest.raises(fl.CaptureError, match="of another shape|a replay can't"):
        fl.captured(refused)(X)
    assert type(first.k) is np.ndarray


def shorter(box, model, x):
    del box[0]


def longer(box, model, x):
    box.insert(0, x * 2)


def with_a_generator(box, model, x):
    box.append(model.rng)
    box.append((model.rng, model.weight))


@pytest.mark.parametrize("change", [shorter, longer, with_a_generator])
def test_a_list_that_gets_another_length_holds_what_it_holds_eagerly(change):
    """Refused is only what a replay would do otherwise: the first run does what the step does."""

    def run(captured):
        model = types.SimpleNamespace(weight=np.ones((6, 3), np.float32), rng=np.random.default_rng(0))
        other = np.ones(3, np.float32)
        box = [model.weight, other, model.weight]
        found = {id(model.weight): "weight", id(other): "other", id(model.rng): "rng"}

        def step(x):
            change(box, model, x)
            return model.weight * x

        step = fl.captured(step) if captured else step
        step(X)
        parts = [part for x in box for part in (x if type(x) is tuple else (x,))]
        return [found.get(id(x), type(x)) for x in (*parts, model.weight, model.rng)]

    assert run(True) == run(False)


def test_what_the_step_deletes_is_gone_and_comes_back_if_that_is_refused():
    box = {"w": np.ones(3, np.float32)}

    def step(x):
        return x * box.pop("w")

    run = fl.captured(step)
    run(X)
    assert not box
    with pytest.raises(fl.CaptureError, match="changes 'w'"):
        for _ in range(3):
            before = box["w"] = np.ones(3, np.float32)
            run(X)
    assert box["w"] is before


last = None


def test_a_global_that_the_step_only_assigns_gets_what_it_gets_eagerly(monkeypatch):
    monkeypatch.setitem(globals(), "last", None)
    monkeypatch.setitem(globals(), "latest", None)
    del globals()["latest"]

    def step(x):
        global last, latest
        last = x * 2
        latest = x * 3
        return x

    run = fl.captured(step)
    for i in range(6):
        run(X * i)
        assert (last == X * i * 2).all() and type(last) is np.ndarray
        assert (latest == X * i * 3).all() and type(latest) is np.ndarray
    assert run.plans


def test_an_error_of_the_step_while_it_is_recorded_leaves_an_argument_as_the_step_does():
    def step(x):
        x[...] = 5
        raise ValueError("own")

    x = np.ones(3, np.float32)
    with pytest.raises(ValueError, match="own"):
        fl.captured(step)(x)
    assert (x == 5).all()


def test_a_refusal_puts_back_parts_of_an_array_that_is_read_only_as_a_whole():
    w = np.zeros(4, np.float32)
    parts = w[:3], w[1:]
    w.flags.writeable = False

    def step(x):
        for part in (*parts, *parts):
            part += x
        return float(x[0])

    with pytest.raises(fl.CaptureError, match="float"):
        fl.captured(step)(np.ones(3, np.float32))
    assert (w == 0).all()


class Refusing(dict):
    def __setitem__(self, key, value):
        if type(value) is np.ndarray:
            raise RuntimeError("not here")
        super().__setitem__(key, value)


def test_no_stand_in_stays_elsewhere_if_one_place_cannot_be_put_back():
    first, box, own = types.SimpleNamespace(), Refusing(w=np.ones(3, np.float32)), types.SimpleNamespace()
    first.w = own.w = np.ones(3, np.float32)
    own.k = None

    def step(x):
        own.k = x * 2
        return x * first.w * box["w"] * own.w

    with pytest.raises(RuntimeError, match="not here"):
        fl.captured(step)(X)
    assert {type(x) for x in (first.w, own.w, own.k)} == {np.ndarray}


# -- what a step gives back ------------------------------------------------------------------------------------------


def changed_by_whoever_calls(step, captured):
    """Each result as it comes; then whoever has called changes it."""
    run = fl.captured(step) if captured else step
    found = []
    for i in range(6):
        made = run(X + i)
        found.append([np.asarray(part).tobytes() for part in made])
        for part in made:
            if isinstance(part, np.ndarray):
                part += 1
    return found


@pytest.mark.parametrize(
    "step",
    [
        lambda x: (x * 2, np.zeros(2)),
        lambda x: [np.ones((2, 3)).T, np.arange(6)[::2], x, np.float32(3)],
        lambda x: (np.zeros_like(x), np.full(2, 3, like=x)),
    ],
)
def test_each_array_in_a_result_is_the_callers_own(step):
    assert changed_by_whoever_calls(step, True) == changed_by_whoever_calls(step, False)


def test_a_gradient_without_arrays_of_the_step_is_made_again():
    step = fl.captured(lambda x: (x, fl.Gradient(w=np.zeros(2), b=None)))
    for _ in range(5):
        gradient = step(X)[1]
        assert (gradient.w == 0).all() and gradient.b is None
        gradient.w += 1


@dataclasses.dataclass(frozen=True)
class Settings:
    rate: float
    names: frozenset


FOUND = [
    set("ab"),
    collections.deque([1]),
    Plain(),
    np.random.default_rng(0),
    fl.Dense(2, 2),
    Settings(1.0, frozenset()),
]


@pytest.mark.parametrize("number", range(len(FOUND)))
def test_what_the_step_finds_outside_is_that_very_object_in_a_result(number):
    step = fl.captured(lambda x: (x * 2, FOUND[number]))
    for _ in range(5):
        assert step(X)[1] is FOUND[number]


@pytest.mark.parametrize(
    "make",
    [
        lambda x: set("ab"),
        lambda x: collections.deque([x * 2]),
        lambda x: Plain(),
        lambda x: types.SimpleNamespace(y=x * 2),
        lambda x: Frozen(x * 2),
        lambda x: {"y": x * 2}.values(),
        lambda x: np.random.default_rng(0),
        lambda x: (part for part in [x]),
        lambda x: bytearray(b"a"),
    ],
)
def test_an_object_that_the_step_makes_is_refused_in_a_result(make):
    with pytest.raises(
        fl.CaptureError, match=r"test_wrong.py, line \d+.* can't return a \w+ that it makes.* @fl.functor"
    ):
        fl.captured(lambda x: (x, make(x)))(X)


def two_of(x):
    return np.full(2, x)


def seconds(x):
    return np.timedelta64(x, "s")


@pytest.mark.parametrize("kind", [np.float32, np.array, two_of, seconds, fractions.Fraction])
def test_constants_in_results_are_compared_between_runs(kind, monkeypatch):
    step = fl.captured(lambda x: (x, kind(int(os.environ["FACTOR"]))))
    with pytest.raises(fl.CaptureError, match="returns another number of Python's than the time before"):
        for factor in range(4):
            monkeypatch.setenv("FACTOR", str(factor))
            step(X)


# -- check= looks at all of it -----------------------------------------------------------------------------------------


def times_the_factor(own):
    def step(x):
        (grads,) = fl.gradient(lambda m: np.sum(m(x) * own.w), own.model)
        return fl.fmap(lambda g: g * float(os.environ["FACTOR"]) if isinstance(g, np.ndarray) else g, grads)

    return step


def with_a_factor():
    return types.SimpleNamespace(model=fl.Dense(3, 2, rng=np.random.default_rng(0)), w=np.ones(2, np.float32))


@pytest.mark.parametrize("is_replaced", [False, True])
def test_check_compares_what_gradients_hold_also_after_something_was_replaced(monkeypatch, is_replaced):
    monkeypatch.setenv("FACTOR", "1")
    own = with_a_factor()
    run = fl.captured(times_the_factor(own), check=1)
    for _ in range(4):
        run(X)
    if is_replaced:
        own.w = np.full(2, 3, np.float32)
        for _ in range(4):
            grads = run(X)
        np.testing.assert_array_equal(grads.bias, np.full(2, 18, np.float32))
    monkeypatch.setenv("FACTOR", "2")
    with pytest.raises(fl.CaptureError, match="a replay doesn't give what the step itself gives"):
        run(X)


def test_check_takes_results_of_all_kinds_and_refuses_what_it_cannot_compare():
    w = fl.param(np.ones(3, np.float32))
    frozen = fl.Dense(2, 2)

    def step(x):
        return w, frozen, {"a": [x.dtype, float("nan"), None]}, Pair(x, "b"), slice(3), fractions.Fraction(1, 3)

    run = fl.captured(step, check=1)
    for _ in range(8):
        run(X)
    run = fl.captured(lambda x: (x, lambda: 1), check=1)
    with pytest.raises(fl.CaptureError, match="check= can't compare a function, which the step returns"):
        for _ in range(4):
            run(X)


# -- another thread ----------------------------------------------------------------------------------------------------


class Worker:
    """A thread that calls `work` whenever it's asked to, such as one that reads batches ahead."""

    def __init__(self, work):
        self.asked, self.done = queue.SimpleQueue(), queue.SimpleQueue()
        self.thread = threading.Thread(target=self.go_on)
        self.work = work

    def go_on(self):
        while self.asked.get():
            error = None
            try:
                self.work()
            except fl.CaptureError as raised:
                error = raised
            self.done.put(error)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.asked.put(0)
        self.thread.join()


@pytest.mark.parametrize("draw", [lambda rng: rng.random(3), lambda rng: rng.permutation(3), lambda rng: rng.random()])
def test_another_threads_draws_from_a_generator_of_its_own_are_its_own(draw):
    own = types.SimpleNamespace(rng=np.random.default_rng(0), k=2.0)
    with Worker(lambda: draw(own.rng)) as worker:

        def step(x):
            worker.asked.put(1)
            assert worker.done.get() is None
            return x * own.k

        run = fl.captured(step)
        for _ in range(4):
            assert (run(X) == X * 2).all()
    assert run.plans
    expected = np.random.default_rng(0)
    for _ in range(2):  # the step has run twice, and was replayed then
        draw(expected)
    assert own.rng.bit_generator.state == expected.bit_generator.state


def test_another_thread_that_draws_from_pythons_generator_now_and_then_does_no_harm():
    draws = [random.random]
    with Worker(lambda: draws and draws.pop()()) as worker:

        def step(x):
            worker.asked.put(1)
            assert worker.done.get() is None
            return x * 2

        run = fl.captured(step)
        for _ in range(4):
            assert (run(X) == X * 2).all()
    assert run.plans


@fl.primitive
def halved(x):
    return x * 0.5


def halved_in_place(g, out, x):
    g *= 0.5
    return g


fl.rule(halved, halved_in_place)


@pytest.mark.parametrize("place", [fl.cpu, fl.gpu])
def test_a_rule_that_changes_a_gradient_in_place_is_refused_as_eagerly(place, simulated):
    def step(x):
        return fl.gradient(lambda x: np.sum((halved(x) + x) ** 2), x)[0]

    for run in (step, fl.captured(step)):
        with pytest.raises(ValueError, match="read-only") as caught:
            run(place(X))
        assert "halved may not change g in place" in "".join(caught.value.__notes__)
