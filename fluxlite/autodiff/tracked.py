"""`TrackedArray`: an array that computes like the one it holds, and remembers the call that made it.

It speaks NumPy's dispatch protocols, so ``np.tanh(x)`` and ``x @ w`` reach `record`, whatever library's array is
inside. `record` computes with the values inside, and keeps the call: the function's rule, its arguments, and a number,
counted up over the whole process. There's no tape besides the results themselves: what is dropped is freed, and
walking back (`backward.py`) means visiting calls from the highest number down.
"""

import itertools
import threading
from collections.abc import Callable, Iterator
from numbers import Rational
from operator import attrgetter
from typing import Any, NoReturn

import numpy as np

from ..arrays import astype, getitem, of_type, on_card_of, on_record, read_only_types, refuse_tensor
from ..messages import Readable, in_words
from ..tree.ties import is_trainable_array, parameter_key
from .rules import COMPOSED, METHODS, PLAIN, RULES, arranged, bind, load_rarer, name_of, no_pullback, parameter_names

numbers = itertools.count(1)


class Level:
    """One call of `gradient`. What it tracks belongs to it, and what it computes with is read-only until it closes.

    A call inside another one has a higher number. No depth is kept, which exceptions or threads could leave wrong.
    """

    __slots__ = ("number", "is_open", "frozen")

    def __init__(self, number: int) -> None:
        self.number = number
        self.is_open = True
        self.frozen: dict[int, Any] = {}  # by id: what's read-only, since the backward pass needs its values

    def freeze(self, array: Any) -> None:
        """Make `array` read-only until this level closes; a view together with the array that it views."""
        key, base = id(array), array.base
        if key in self.frozen:
            return
        if base is not None and can_be_frozen(base):  # what is written into W changes W.T, too
            self.freeze(base)
            if 0 in array.strides and is_stretched(array):  # NumPy warns even if such a view's flag is only read
                return
        elif base is not None and not _is_writable_memory(base):
            return
        with _lock:
            if key not in _holders and not array.flags.writeable:  # for reasons of the program's own
                return
            self.frozen[key] = array  # first, so that it's released even if an interrupt comes now
            _holders[key] = _holders.get(key, 0) + 1
            if type(array) is np.ndarray:
                array.setflags(write=False)  # the same as below, in a third of the time
            else:
                array.flags.writeable = False

    def close(self) -> None:
        """Make what was frozen writable again, unless another level, perhaps of another thread, still holds it."""
        self.is_open = False
        with _lock:
            released = []
            for key, array in self.frozen.items():  # an array comes before its views, as it has to
                _holders[key] = _holders.get(key, 1) - 1
                if not _holders[key]:
                    del _holders[key]
                    released.append(array)
            released += _waiting_views
            _waiting_views.clear()
            for array in released:
                try:
                    if type(array) is np.ndarray:
                        array.setflags(write=True)
                    else:
                        array.flags.writeable = True
                except ValueError:  # it views what another level has frozen, and waits for that
                    _waiting_views.append(array)
        self.frozen = {}


_lock = threading.RLock()  # an interrupt may come before it's released: this thread can go on all the same
_holders: dict[int, int] = {}  # by id: how many levels have frozen this array
_waiting_views: list[Any] = []
PARAMETERS = Level(0)  # of `param`, which has no enclosing call: it never closes and freezes nothing


def can_be_frozen(x: Any) -> bool:
    """Whether `x` is of an array type with ``flags.writeable``; NumPy's subclasses and memmaps are."""
    return type(x) in read_only_types or isinstance(x, np.ndarray)


def is_stretched(array: Any) -> bool:
    """Whether one number stands at several places, as in what ``np.broadcast_arrays`` gives."""
    axes = zip(getattr(array, "strides", ()), array.shape) if array.size else ()  # without elements all may be 0
    return any(stride == 0 and length > 1 for stride, length in axes)


def _is_writable_memory(base: Any) -> bool:
    """NumPy makes a view writable again if it views an array, or memory that Python can write (not PyTorch's)."""
    try:
        return not memoryview(base).readonly
    except TypeError:
        return False


CLOSED = (
    "was computed inside a gradient call that has ended, and is only kept for its value: return it from the function "
    "that is differentiated, or use its .data"
)

# -- the array -----------------------------------------------------------------------------------------------------


class ArrayMethods:
    """``x.mean()`` for ``np.mean(x)``, and so on, for an array type of ours that speaks NumPy's dispatch protocols."""

    __slots__ = ()
    T = property(lambda self: np.transpose(self))

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        raise TypeError(f"a {type(self).__name__} doesn't turn into a NumPy array by itself")

    def reshape(self, *shape: Any, order: str = "C") -> Any:
        return np.reshape(self, shape[0] if len(shape) == 1 else shape, order)  # type: ignore[call-overload]

    def transpose(self, *axes: Any) -> Any:
        return np.transpose(self, (axes[0] if len(axes) == 1 else axes) or None)  # type: ignore[call-overload]

    def clip(self, min: Any = None, max: Any = None) -> Any:
        return np.clip(self, min, max)  # type: ignore[call-overload]


def _calling(function: Callable) -> Callable:
    return lambda self, *args, **kwargs: function(self, *args, **kwargs)


_METHODS = """
    all any argmax argmin argsort conj cumsum diagonal dot max mean min nonzero prod ravel repeat round squeeze std sum
    swapaxes take trace var
"""
for _name in _METHODS.split():
    setattr(ArrayMethods, _name, _calling(getattr(np, _name)))


# What makes an array from nothing that could be differentiated, where the array in ``like=`` is.
_MADE_LIKE = {
    np.zeros, np.ones, np.empty, np.full, np.eye, np.identity, np.tri, np.arange,
    np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray,
}  # fmt: skip
_NO_KEYWORDS: dict[str, Any] = {}
_NUMBER = np.float64()


class TrackedArray(ArrayMethods, metaclass=Readable):
    """An array in a computation that will be differentiated. You use it like a NumPy array.

    ``.data`` is the plain array; ``.grad`` belongs to a `param`. What would silently lose a gradient
    (``float(x)``, ``x[0] = 1``, ``x += 1``, ``np.asarray(x)``, pickling) raises `TypeError`. Flux: ``TrackedArray``.

    >>> w = fl.param(np.array([1.0, 2.0]))
    >>> type(w * 2).__name__
    'TrackedArray'
    >>> (w * 2).data
    array([2., 4.])
    """

    __slots__ = ("value", "shaped", "level", "number", "call", "grad")

    def __init__(self, value: Any, level: Level, call: Any = None):
        self.value, self.level = value, level
        self.shaped = _NUMBER if type(value) is float else value  # a Python float has no shape and dtype
        self.number = next(numbers)
        self.call = call  # (rule, arguments, keywords, parents); None for what was tracked from the start
        self.grad = None

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if "out" in kwargs:
            raise _refusal("writing a tracked result into an existing array (out=, +=)", "write x = x + y instead")
        if method == "outer":
            x, y = [z if hasattr(z, "__array_function__") else np.asarray(z) for z in inputs]
            return record(ufunc, (np.reshape(x, np.shape(x) + (1,) * np.ndim(y)), y), self.level, kwargs)
        if method == "__call__":
            if "dtype" in kwargs and np.dtype(kwargs["dtype"]).kind == "f":
                inputs, kwargs = tuple([of_type(x, kwargs["dtype"]) for x in inputs]), kwargs | {"dtype": None}
            return record(ufunc, inputs, self.level, kwargs)
        if (ufunc, method) in METHODS:
            return record(METHODS[ufunc, method], inputs, self.level, {"axis": 0} | kwargs)
        raise TypeError(f"np.{ufunc.__name__}.{method} has no derivative rule; see fluxlite.rule")

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function in _MADE_LIKE:  # np.eye(3, like=x): a plain array where x is
            like, kwargs = plain(self), {key: value for key, value in kwargs.items() if value is not None}
            if isinstance(like, (np.ndarray, np.generic)):
                return function(*args, **kwargs)
            with on_card_of(like):  # not like=: NumPy would add a device=, which CuPy hasn't
                return like.__array_function__(function, (type(like),), args, kwargs)
        return record(function, args, self.level, kwargs)

    def __primitive__(self, function: Any, args: Any, kwargs: Any) -> Any:
        return record(function, args, self.level, kwargs)

    def check_open(self, place: str = "") -> None:
        """Raises `RuntimeError`, with the place, if the gradient call that this belongs to has ended."""
        if not self.level.is_open:
            raise RuntimeError(f"{place or 'this array'} {CLOSED}")

    def __parameter_key__(self) -> tuple:
        """Equal for what was tracked once and for all transpositions of it: the places of a tied parameter."""
        source = self
        while source.call is not None and source.call[0] in (RULES[np.transpose], RULES[np.reshape]):
            source = source.call[3][0][1]
        inner = parameter_key(self.value)
        return ("object", id(self)) if inner[0] == "object" else ("tracked", id(source), *inner)

    @property
    def data(self) -> Any:
        """The plain array inside. A `param`'s can be assigned: ``w.data -= rate * w.grad``."""
        return self.value

    @data.setter
    def data(self, value: Any) -> None:
        if self.call is not None or self.level is not PARAMETERS:
            raise TypeError("only the data of a param can be assigned; this array is the result of a computation")
        value = np.asarray(value) if isinstance(value, np.generic) else value  # NumPy makes these of 0-d arrays
        if not is_trainable_array(value) or value.shape != self.shape:
            got = "a tracked one: compute it from w.data" if type(value) is TrackedArray else in_words(value)
            raise TypeError(f"this param's data is a plain array of floats, of shape {self.shape}; got {got}")
        self.value = self.shaped = value
        self.number = next(numbers)  # a call recorded before this line has a lower one, and `back` notices

    shape, ndim, size, dtype, strides = (
        property(attrgetter(f"shaped.{name}"), doc="") for name in ("shape", "ndim", "size", "dtype", "strides")
    )

    def __repr__(self) -> str:
        return f"tracked({self.value!r})"

    def __len__(self) -> int:
        return len(self.value)

    def __bool__(self) -> bool:
        return bool(compute(bool, self))

    def __iter__(self) -> Iterator["TrackedArray"]:
        return (self[i] for i in range(len(self)))

    def __contains__(self, item: Any) -> bool:
        return compute(lambda x, y: y in x, self, item)

    __neg__, __abs__, flatten = _calling(np.negative), _calling(np.absolute), _calling(np.ravel)
    __pos__ = copy = _calling(np.positive)

    def __pow__(self, other: Any) -> Any:
        if type(other) is int and other == 2:  # NumPy's own ** does the same: squaring is far cheaper than a power
            return record(np.square, (self,), self.level)
        return record(np.power, (self, other), self.level)

    def __rpow__(self, other: Any) -> Any:
        return record(np.power, (other, self), self.level)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __getitem__(self, index: Any) -> Any:
        return record(getitem, (self, index), self.level)

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        if np.dtype(dtype).kind == "c":
            raise _refusal("making a tracked array complex")
        floating = np.dtype(dtype).kind == "f"
        return record(astype, (self, dtype), self.level) if floating else compute(astype, self, dtype)

    def _change_in_place(self, other: Any) -> NoReturn:
        if self.call is None and self.level is PARAMETERS:
            raise _refusal("w += y (or -=, *=, …) changes the param w in place, which", "write w.data += y for a step")
        raise _refusal("x += y (or -=, *=, …) changes x in place, which", "write x = x + y")

    __iadd__ = __isub__ = __imul__ = __itruediv__ = __ifloordiv__ = _change_in_place
    __imod__ = __ipow__ = __imatmul__ = _change_in_place


for _name, _function in {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide, "matmul": np.matmul,
    "mod": np.remainder, "floordiv": np.floor_divide,
}.items():  # fmt: skip
    setattr(TrackedArray, f"__{_name}__", lambda self, other, f=_function: record(f, (self, other), self.level))
    setattr(TrackedArray, f"__r{_name}__", lambda self, other, f=_function: record(f, (other, self), self.level))
# Not in the class, which so keeps `object`'s hash: `pull_back` has tracked arrays as keys.
for _name, _function in {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}.items():  # fmt: skip
    setattr(TrackedArray, f"__{_name}__", lambda self, other, f=_function: compute(f, self, other))  # plain: to branch
setattr(TrackedArray, "T", property(lambda self: record(np.transpose, (self,), self.level)))  # noqa: B010


def _refusal(what: str, instead: str = "") -> TypeError:
    return TypeError(f"{what} would lose the gradient; {instead and instead + ', or '}use x.data for the plain value")


def _refused(what: str, instead: str = "") -> Callable:
    def refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise _refusal(what, instead)

    return refuse


# What would silently lose a gradient, and what to do instead.
for _name, _words in {
    "__array__": (
        "making a plain array of a tracked one, or of a list of them (np.array, np.asarray),",
        "join several with np.stack, as in np.mean(np.stack(losses)), give gradient an array instead of a list",
    ),
    "__float__": (
        "float(x), which math.tanh(x) and buffer[0] = x call too,",
        "write np.tanh(x), collect results in a list and np.stack it",
    ),
    "__setitem__": ("x[i] = y changes x in place, which", "build it with np.where, np.stack or np.concatenate"),
    "__complex__": ("complex(x)",),
    "__int__": ("int(x)",),
    "__index__": ("using a tracked array as an index or a count",),
    "__format__": ('printing a tracked array in a format (f"{x}")',),
    "item": ("x.item()",),
    "tolist": ("x.tolist()",),
    "__dlpack__": ("handing a tracked array to another library (from_dlpack)",),
    "__dlpack_device__": ("from_dlpack(x)",),
    "__reduce_ex__": ("pickling or copying a tracked array",),
    "__deepcopy__": ("copy.deepcopy of a tracked array",),
}.items():
    setattr(TrackedArray, _name, _refused(*_words))


# -- recording a call ----------------------------------------------------------------------------------------------

_NUMBERS = {int, float, np.float32, np.float64, type(None)}


def record(function: Any, args: Any, level: Level = PARAMETERS, kwargs: dict[str, Any] = _NO_KEYWORDS) -> Any:
    """Call `function` on the values inside `args` and keep the call: all operations on tracked arrays go through here.

    The operands that belong to the innermost `gradient` call become parents of the result, each with its pullback.
    Those of an outer call stay tracked: to this one they are constants. `level` is that of any of them.
    """
    rule = RULES.get(function)
    if rule is None:
        return _without_rule(function, args, level, kwargs)
    if kwargs or len(args) > rule.most_positional:
        args, kwargs, rephrased = bind(function, rule, args, kwargs)
        if rephrased is not None:
            return _composition(function, rephrased, args, kwargs)
    if not level.is_open:
        raise RuntimeError(f"this array {CLOSED}")
    arguments: Any = []
    parents = []
    for operand in args[0] if rule.sequence else args:
        kind = type(operand)
        if kind is TrackedArray:
            if operand.level is level:
                pullback = rule.pullbacks[len(arguments)] or no_pullback(function, rule, len(arguments))
                parents.append((pullback, operand))
                operand = operand.value
                if type(operand) is float and not (rule.sequence or isinstance(function, np.ufunc)):
                    operand = np.float64(operand)  # most rules ask for a shape
            elif operand.level.number > level.number:  # of a call inside: the same, as that one sees it
                return record(function, args, operand.level, kwargs)
        elif kind is np.ndarray and operand.dtype.kind != "O":
            if level is not PARAMETERS:
                level.freeze(operand)
        elif kind not in _NUMBERS:
            operand = _kept(operand, level, rule.sequence or isinstance(function, np.ufunc))
        arguments.append(operand)
    if rule.sequence:
        arguments = [arguments, *args[1:]]
    if kwargs:
        kwargs = {name: _kept(value, level) for name, value in kwargs.items()}
    if rule.forward is None:
        result = function(*arguments, **kwargs)  # with operands of an outer call, it comes here again: tracked there
    else:
        is_watched = any(type(x) is TrackedArray for x in arguments)
        result, kept = (function(*arguments), None) if is_watched else rule.forward(*arguments)
        arguments = [kept, *arguments]
    if result is None:
        raise TypeError(f"{name_of(function)} gave None, not an array: does its function end with return?")
    if level is not PARAMETERS:  # ours alone, so nobody waits for its release; `untracked` hands it out writable
        if type(result) is np.ndarray:
            result.setflags(write=False)
        elif type(result) in read_only_types:
            result.flags.writeable = False
    for tell in on_record:
        tell(result)
    return TrackedArray(result, level, (rule, arguments, kwargs, parents))


def _kept(x: Any, level: Level, as_array: bool = False) -> Any:
    """What is remembered of an argument must not change before the backward pass: lists are copied, arrays frozen."""
    if type(x) is list or type(x) is tuple:
        copy = type(x)([_kept(part, level) for part in x])
        return _kept(np.asarray(copy), level) if as_array else copy  # x * [1, 2]: rules compute with arrays
    if isinstance(x, np.ndarray) and x.dtype.kind == "O":
        return x.astype(float)
    if isinstance(x, Rational) and not isinstance(x, (int, np.integer)):
        return float(x)  # a fraction
    if can_be_frozen(x):
        if level is not PARAMETERS:
            level.freeze(x)
        return as_base_class(x)
    refuse_tensor("a computation with tracked arrays", x)
    return x


def _without_rule(function: Any, args: Any, level: Level, kwargs: dict[str, Any]) -> Any:
    if function in COMPOSED:
        return _composition(function, COMPOSED[function], args, kwargs)
    if function in PLAIN:
        return compute(function, *args, **kwargs)
    if load_rarer():
        return record(function, args, level, kwargs)
    name = name_of(function)
    raise TypeError(
        f"{name} has no derivative rule. Add one, fluxlite.rule({name}, lambda g, out, x: …), "
        "or compute outside the gradient with x.data"
    )


def _composition(function: Any, same: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    args, kwargs = arranged(function, args, kwargs, *parameter_names(same))
    try:
        return same(*args, **kwargs)
    except Exception as error:
        failed = error
    compute(function, *args, **kwargs)  # where NumPy refuses, too, its own words are better
    raise failed


# -- plain values --------------------------------------------------------------------------------------------------


def plain(x: Any) -> Any:
    """`x` without any tracking, even after its gradient call has ended; what isn't a tracked array, as it is."""
    while type(x) is TrackedArray:
        x = x.value
    return x


def compute(function: Any, *args: Any, **kwargs: Any) -> Any:
    """`function` on the plain values of `args`: for what has no useful derivative."""
    return function(*_opened(args), **_opened(kwargs))


def _opened(x: Any) -> Any:
    if type(x) is TrackedArray:
        x.check_open()
        return plain(x)
    if type(x) in (list, tuple):
        return type(x)(map(_opened, x))
    return {key: _opened(value) for key, value in x.items()} if type(x) is dict else x


def as_base_class(x: Any) -> Any:
    """An object of a subclass of NumPy's arrays as a plain array of the same memory; another array itself.

    Raises `TypeError` for a class that computes in another way: its gradient would be wrong.
    """
    kind = type(x)
    if kind is np.ndarray or not isinstance(x, np.ndarray):
        return x
    if isinstance(x, (np.matrix, np.ma.MaskedArray)) or kind.__array_ufunc__ is not np.ndarray.__array_ufunc__:
        what = f"a {kind.__name__} computes in a way of its own, and can't be differentiated"
        raise TypeError(f"{what}: take a plain array, np.asarray(x)")
    return x.view(np.ndarray)
