"""What a step reads outside in less usual ways: guarded, so that the next call is right, or found by ``check=``."""

import abc
import builtins
import ctypes
import functools
import gc
import importlib
import io
import logging
import sys
import threading
import types
import warnings
import weakref

import numpy as np
import pytest

import fluxlite as fl

X = np.random.default_rng(0).standard_normal((6, 3)).astype(np.float32)
CHANGES_AT = 5


def results(step, change, captured=True, check=0):
    """What the step gives in eight calls; ``change()`` is called before the sixth."""
    run = fl.captured(step, check=check) if captured else step
    found = []
    for i in range(8):
        if i == CHANGES_AT:
            change()
        found.append(np.asarray(run(X + i)).tobytes())
    return found


class Key:
    pass


KEY = Key()


def special_method():
    class Model:
        def __call__(self, x):
            return x * 1

    model = Model()
    return lambda x: model(x), lambda: setattr(Model, "__call__", lambda self, x: x * 2)


def order_of_a_dict():
    box = {"a": 1.0, "b": 2.0}

    def step(x):
        for number in box.values():
            x = x * number + 1
        return x

    return step, lambda: box.__setitem__("a", box.pop("a"))


class Slotted:
    __slots__ = ("k",)


def empty_slot():
    own = Slotted()
    return lambda x: x * getattr(own, "k", 1.0), lambda: setattr(own, "k", 2.0)


def empty_variable():
    def fill():
        nonlocal number
        number = 2.0

    def step(x):
        try:
            return x * number
        except NameError:
            return x * 3

    if False:
        number = 1.0
    return step, fill


def method_of_a_dict():
    box = {"k": 1.0}
    get = box.get
    return lambda x: x * get("k"), lambda: box.__setitem__("k", 2.0)


def item_of_a_list():
    numbers = [1.0]
    take = numbers.__getitem__
    return lambda x: x * take(0), lambda: numbers.__setitem__(0, 2.0)


def weak_keys():
    box = weakref.WeakKeyDictionary({KEY: 1.0})
    return lambda x: x * box[KEY], lambda: box.__setitem__(KEY, 2.0)


def settings():
    module = types.ModuleType("settings_of_a_step")
    module.rate = 1.0
    sys.modules["settings_of_a_step"] = module
    return module


def module_by_name():
    module = settings()
    return lambda x: x * sys.modules["settings_of_a_step"].rate, lambda: setattr(module, "rate", 2.0)


def module_by_import():
    module = settings()
    return lambda x: x * importlib.import_module("settings_of_a_step").rate, lambda: setattr(module, "rate", 2.0)


FACTOR = 1.0


def set_factor():
    global FACTOR
    FACTOR = 2.0


class Buffer:
    def __init__(self):
        self.y = np.zeros((6, 3), np.float32)


def setter():
    class WithSetter(Buffer):
        @property
        def w(self):
            return self.y

        @w.setter
        def w(self, value):
            self.y[...] = value * FACTOR

    own = WithSetter()

    def step(x):
        own.w = x
        return own.y * 1

    set_back()
    return step, set_factor


def deleter():
    class WithDeleter(Buffer):
        @property
        def w(self):
            return self.y

        @w.deleter
        def w(self):
            self.y *= FACTOR

    own = WithDeleter()

    def step(x):
        own.y[...] = x
        del own.w
        return own.y * 1

    set_back()
    return step, set_factor


def descriptor():
    class Scaled:
        def __set__(self, owner, value):
            owner.y[...] = value * FACTOR

    class WithDescriptor(Buffer):
        w = Scaled()

    own = WithDescriptor()

    def step(x):
        own.w = x
        return own.y * 1

    set_back()
    return step, set_factor


def partial_method():
    class WithPartial(Buffer):
        tripled = functools.partialmethod(lambda self, value, k: value * FACTOR * k, k=3.0)

    own = WithPartial()
    set_back()
    return lambda x: own.tripled(x), set_factor


def method_by_type():
    class ByType(Buffer):
        @functools.singledispatchmethod
        def scaled(self, value):
            return value * FACTOR

    own = ByType()
    set_back()
    return lambda x: own.scaled(x), set_factor


def set_back():
    global FACTOR
    FACTOR = 1.0


class Hidden:
    __slots__ = ("__w",)

    def set(self, value):
        self.__w = np.full(3, value, np.float32)

    def get(self):
        return self.__w


def hidden_slot():
    own = Hidden()
    own.set(1)
    return lambda x: x * own.get(), lambda: own.set(5)


def first_attribute_of_a_function():
    def scaled(x):
        return x * getattr(scaled, "scale", 1.0)

    return lambda x: scaled(x), lambda: setattr(scaled, "scale", 5.0)


def first_attribute_of_a_cached_function():
    @functools.cache
    def one():
        return 1.0

    return lambda x: x * one() * getattr(one, "scale", 1.0), lambda: setattr(one, "scale", 5.0)


GUARDED = [
    setter, deleter, descriptor, partial_method, method_by_type, hidden_slot, first_attribute_of_a_function,
    first_attribute_of_a_cached_function,
    special_method, order_of_a_dict, empty_slot, empty_variable, method_of_a_dict, item_of_a_list, weak_keys,
    module_by_name, module_by_import,
]  # fmt: skip


@pytest.mark.parametrize("make", GUARDED)
def test_what_changes_is_read_again(make):
    assert results(*make()) == results(*make(), captured=False)


def test_the_next_of_an_iterator_is_refused_by_whatever_name():
    take = iter([1.0] * 100).__next__
    with pytest.raises(fl.CaptureError, match="whose next value a replay wouldn't ask for"):
        fl.captured(lambda x: x * take())(X)


def test_a_part_that_is_a_view_or_a_copy_by_its_values_is_refused():
    with pytest.raises(fl.CaptureError, match=r"np\.real_if_close, whose result's shape or answer depends on values"):
        fl.captured(lambda x: np.real_if_close(x * (1 + 0j)))(X)


# -- what can't be seen ------------------------------------------------------------------------------------------------


class Shape(abc.ABC):  # noqa: B024
    pass


def registered_class(monkeypatch):
    class Square:
        pass

    own = Square()
    return lambda x: x * (1 + isinstance(own, Shape)), lambda: Shape.register(Square)


def function_of_numpys(monkeypatch):
    return lambda x: np.tanh(x), lambda: monkeypatch.setattr(np, "tanh", np.sin)


def function_of_pythons(monkeypatch):
    return lambda x: x * max(1.0, 2.0), lambda: monkeypatch.setattr(builtins, "max", min)


def number_of_ctypes(monkeypatch):
    number = ctypes.c_double(1.0)
    return lambda x: x * number.value, lambda: setattr(number, "value", 2.0)


def text_in_memory(monkeypatch):
    text = io.StringIO("1.0")
    return lambda x: x * float(text.getvalue()), lambda: text.write("2.0")


def event(monkeypatch):
    own = threading.Event()
    return lambda x: x * (1 + own.is_set()), own.set


def level_of_a_log(monkeypatch):
    log = logging.getLogger("a captured step")
    monkeypatch.setattr(log, "level", logging.ERROR)
    return lambda x: x * log.getEffectiveLevel(), lambda: monkeypatch.setattr(log, "level", logging.INFO)


def errors_of_numpys(monkeypatch):
    return lambda x: x * len(np.geterr()["divide"]), lambda: np.seterr(divide="raise")


def print_options(monkeypatch):
    return lambda x: x * np.get_printoptions()["precision"], lambda: np.set_printoptions(precision=3)


def collector(monkeypatch):
    return lambda x: x * (1 + gc.isenabled()), gc.disable


def arguments_of_the_program(monkeypatch):
    return lambda x: x * len(sys.argv), lambda: monkeypatch.setattr(sys, "argv", ["a"] * (len(sys.argv) + 1))


UNSEEN = [
    registered_class, function_of_numpys, function_of_pythons, number_of_ctypes, text_in_memory, event, level_of_a_log,
    errors_of_numpys, print_options, collector, arguments_of_the_program,
]  # fmt: skip


@pytest.fixture
def as_before():
    options, errors = np.get_printoptions(), np.geterr()
    yield
    np.set_printoptions(**options)
    np.seterr(**errors)
    gc.enable()


@pytest.mark.parametrize("make", UNSEEN)
def test_check_finds_what_cannot_be_seen(make, monkeypatch, as_before):
    with pytest.raises(fl.CaptureError, match="a replay doesn't give what the step itself gives"):
        results(*make(monkeypatch), check=1)


# -- warnings ----------------------------------------------------------------------------------------------------------


def strict(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return 1 / x


def strict_in_numpy(x):
    with np.errstate(divide="raise"):
        return 1 / x


@pytest.mark.parametrize("step", [strict, strict_in_numpy])
def test_errors_that_the_step_makes_of_warnings_are_refused(step):
    with pytest.raises(fl.CaptureError, match="whose warnings are errors|that raises or calls"):
        fl.captured(step)(X)


def test_filters_around_the_call_make_errors_of_warnings_in_a_replay_too():
    run = fl.captured(lambda x: 1 / x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(4):
            run(X)
        with pytest.raises(RuntimeWarning, match="divide by zero"):
            run(X * 0)
    assert run.plans


def test_check_counts_an_error_of_the_step_itself_as_a_difference():
    own = io.StringIO()

    def step(x):
        if own.getvalue():
            raise ValueError("it's closed")
        return x * 2

    run = fl.captured(step, check=1)
    for _ in range(4):
        run(X)
    own.write("closed")
    with pytest.raises(fl.CaptureError, match="step: the step itself raises ValueError here, and a replay doesn't"):
        run(X)
