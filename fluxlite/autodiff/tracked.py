"""`TrackedArray`: an array that computes like the one it holds, and remembers the call that made it.

It speaks NumPy's dispatch protocols, so ``np.tanh(x)`` and ``x @ w`` reach `record`, whatever library's array is
inside. `record` computes with the values inside, and keeps the call: the function's derivative, its arguments, and a
number, counted up over the whole process. There's no tape besides the results themselves: what is dropped is freed, and
walking back (`backward.py`) means visiting calls from the highest number down.
"""

import itertools
from collections.abc import Callable, Iterator
from numbers import Rational
from typing import Any, NoReturn

import numpy as np

from ..annotations import Array, LibraryArray
from ..array_kinds import ARRAY_KINDS, ArrayKind, can_freeze
from ..arrays import astype, getitem, of_type, on_card_of, refuse_tensor
from ..helping import Readable
from ..tree.ties import is_trainable_array, parameter_key
from ..words import in_words
from .freezing import PARAMETERS, Level
from .rules import (
    COMPOSED,
    COMPOSED_FOR_KEYWORDS,
    METHODS,
    PLAIN,
    RULES,
    Call,
    Derivative,
    load_rarer,
    name_of,
    parameter_names,
    refuse_operand,
)

call_numbers = itertools.count(1)

CLOSED = (
    "was computed inside a gradient call that has ended, and is only kept for its value: return it from the function "
    "that is differentiated, or use its .data"
)

# -- the array -----------------------------------------------------------------------------------------------------


def _method_for(function: Callable) -> Any:
    """A method that hands the array, and all that it's given, to `function`."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    return method


class ArrayMethods:
    """``x.mean()`` for ``np.mean(x)``, and so on, for an array type of ours that speaks NumPy's dispatch protocols."""

    __slots__ = ()
    T = property(lambda self: np.transpose(self))

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        raise TypeError(f"a {type(self).__name__} doesn't turn into a NumPy array by itself")

    def reshape(self, *shape: Any, order: str = "C") -> Array:
        new_shape = shape[0] if len(shape) == 1 else shape
        return np.reshape(self, new_shape, order)  # type: ignore[call-overload]

    def transpose(self, *axes: Any) -> Array:
        order = axes[0] if len(axes) == 1 else axes
        return np.transpose(self, order or None)  # type: ignore[call-overload]

    def clip(self, min: Any = None, max: Any = None) -> Array:
        return np.clip(self, min, max)  # type: ignore[call-overload]

    all = _method_for(np.all)
    any = _method_for(np.any)
    argmax = _method_for(np.argmax)
    argmin = _method_for(np.argmin)
    argsort = _method_for(np.argsort)
    conj = _method_for(np.conj)
    cumsum = _method_for(np.cumsum)
    diagonal = _method_for(np.diagonal)
    dot = _method_for(np.dot)
    max = _method_for(np.max)
    mean = _method_for(np.mean)
    min = _method_for(np.min)
    nonzero = _method_for(np.nonzero)
    prod = _method_for(np.prod)
    ravel = _method_for(np.ravel)
    repeat = _method_for(np.repeat)
    round = _method_for(np.round)
    squeeze = _method_for(np.squeeze)
    std = _method_for(np.std)
    sum = _method_for(np.sum)
    swapaxes = _method_for(np.swapaxes)
    take = _method_for(np.take)
    trace = _method_for(np.trace)
    var = _method_for(np.var)


def _of_the_value(name: str, of_a_float: Any) -> Any:
    """A property that asks the value inside; a Python float has no such attribute."""

    def read(self: Any) -> Any:
        value = self.value
        if type(value) is float:
            return of_a_float
        return getattr(value, name)

    return property(read)


def _operators(function: Callable) -> tuple[Any, Any]:
    """``x + y``, and ``y + x`` for a `y` that isn't tracked, as methods of `x`."""

    def operator(self: Any, other: Any) -> Any:
        return record(function, (self, other), self.level)

    def reflected(self: Any, other: Any) -> Any:
        return record(function, (other, self), self.level)

    return operator, reflected


def _comparison(function: Callable) -> Any:
    """``x < y`` as a method; its result is plain, to branch on."""

    def compare(self: Any, other: Any) -> Any:
        return compute(function, self, other)

    return compare


def _refusal(what: str, instead: str = "") -> TypeError:
    instead_of_it = f"{instead}, or " if instead else ""
    return TypeError(f"{what} would lose the gradient; {instead_of_it}use x.data for the plain value")


def _refusing_method(what: str, instead: str = "") -> Any:
    """A method that would silently lose a gradient, and says what to do instead."""

    def refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise _refusal(what, instead)

    return refuse


# What makes an array from nothing that could be differentiated, where the array in ``like=`` is.
_MADE_LIKE = {
    np.zeros, np.ones, np.empty, np.full, np.eye, np.identity, np.tri, np.arange,
    np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray,
}  # fmt: skip
_NO_KEYWORDS: dict[str, Any] = {}


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

    __slots__ = ("value", "level", "number", "call", "grad")

    def __init__(self, value: Any, level: Level, call: Any = None):
        self.value = value
        self.level = level
        self.number = next(call_numbers)
        # (derivative, arguments, keywords, parents), each parent an operand with its pullback; None for what was
        # tracked from the start. A plain tuple, since one is made for every operation.
        self.call = call
        self.grad = None

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if "out" in kwargs:
            raise _refusal("writing a tracked result into an existing array (out=, +=)", "write x = x + y instead")
        if method == "outer":
            x, y = [z if hasattr(z, "__array_function__") else np.asarray(z) for z in inputs]
            column = np.reshape(x, np.shape(x) + (1,) * np.ndim(y))
            return record(ufunc, (column, y), self.level, kwargs)
        if method == "__call__":
            if "dtype" in kwargs and np.dtype(kwargs["dtype"]).kind == "f":
                inputs = tuple([of_type(x, kwargs["dtype"]) for x in inputs])
                kwargs = kwargs | {"dtype": None}
            return record(ufunc, inputs, self.level, kwargs)
        if (ufunc, method) in METHODS:
            return record(METHODS[ufunc, method], inputs, self.level, {"axis": 0} | kwargs)
        raise TypeError(f"np.{ufunc.__name__}.{method} has no derivative rule; see fluxlite.rule")

    def __array_function__(self, function: Callable, types: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        if function in _MADE_LIKE:  # np.eye(3, like=x): a plain array where x is
            like = plain(self)
            kwargs = {key: value for key, value in kwargs.items() if value is not None}
            if isinstance(like, (np.ndarray, np.generic)):
                return function(*args, **kwargs)
            with on_card_of(like):  # not like=: NumPy would add a device=, which CuPy hasn't
                return like.__array_function__(function, (type(like),), args, kwargs)
        return record(function, args, self.level, kwargs)

    def __primitive__(self, function: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
        return record(function, args, self.level, kwargs)

    def check_open(self, place: str = "") -> None:
        """Raises `RuntimeError`, with the place, if the gradient call that this belongs to has ended."""
        if not self.level.is_open:
            raise RuntimeError(f"{place or 'this array'} {CLOSED}")

    def __parameter_key__(self) -> tuple:
        """Equal for what was tracked once and for all transpositions of it: the places of a tied parameter."""
        source = self
        while source.call is not None:
            derivative, _, _, parents = source.call
            if derivative not in (RULES[np.transpose], RULES[np.reshape]):
                break
            _, source = parents[0]
        inner = parameter_key(self.value)
        if inner[0] == "object":
            return ("object", id(self))
        return ("tracked", id(source), *inner)

    @property
    def data(self) -> Array:
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
        self.value = value
        self.number = next(call_numbers)  # a call recorded before this line has a lower one, and `back` notices

    shape = _of_the_value("shape", of_a_float=())
    ndim = _of_the_value("ndim", of_a_float=0)
    size = _of_the_value("size", of_a_float=1)
    dtype = _of_the_value("dtype", of_a_float=np.dtype(float))
    strides = _of_the_value("strides", of_a_float=())

    @property
    def T(self) -> "TrackedArray":
        return record(np.transpose, (self,), self.level)

    def __repr__(self) -> str:
        return f"tracked({self.value!r})"

    def __len__(self) -> int:
        return len(self.value)

    def __bool__(self) -> bool:
        return bool(compute(bool, self))

    def __iter__(self) -> Iterator["TrackedArray"]:
        return (self[i] for i in range(len(self)))

    def __contains__(self, item: object) -> bool:
        return compute(lambda x, y: y in x, self, item)

    __neg__ = _method_for(np.negative)
    __pos__ = _method_for(np.positive)
    __abs__ = _method_for(np.absolute)
    copy = _method_for(np.positive)
    flatten = _method_for(np.ravel)

    __add__, __radd__ = _operators(np.add)
    __sub__, __rsub__ = _operators(np.subtract)
    __mul__, __rmul__ = _operators(np.multiply)
    __truediv__, __rtruediv__ = _operators(np.true_divide)
    __matmul__, __rmatmul__ = _operators(np.matmul)
    __mod__, __rmod__ = _operators(np.remainder)
    __floordiv__, __rfloordiv__ = _operators(np.floor_divide)

    __eq__ = _comparison(np.equal)
    __ne__ = _comparison(np.not_equal)
    __lt__ = _comparison(np.less)
    __le__ = _comparison(np.less_equal)
    __gt__ = _comparison(np.greater)
    __ge__ = _comparison(np.greater_equal)
    __hash__ = object.__hash__  # a class with an `__eq__` has none by itself; `pull_back` has tracked arrays as keys

    def __pow__(self, other: Any) -> "TrackedArray":
        if type(other) is int and other == 2:  # NumPy's own ** does the same: squaring is far cheaper than a power
            return record(np.square, (self,), self.level)
        return record(np.power, (self, other), self.level)

    def __rpow__(self, other: Any) -> "TrackedArray":
        return record(np.power, (other, self), self.level)

    def __divmod__(self, other: Any) -> tuple[Array, Array]:
        return self // other, self % other

    def __getitem__(self, index: Any) -> "TrackedArray":
        return record(getitem, (self, index), self.level)

    def astype(self, dtype: Any, copy: bool = True) -> Array:
        if np.dtype(dtype).kind == "c":
            raise _refusal("making a tracked array complex")
        if np.dtype(dtype).kind == "f":
            return record(astype, (self, dtype), self.level)
        return compute(astype, self, dtype)

    def _change_in_place(self, other: object) -> NoReturn:
        if self.call is None and self.level is PARAMETERS:
            raise _refusal("w += y (or -=, *=, …) changes the param w in place, which", "write w.data += y for a step")
        raise _refusal("x += y (or -=, *=, …) changes x in place, which", "write x = x + y")

    __iadd__ = __isub__ = __imul__ = __itruediv__ = __ifloordiv__ = _change_in_place
    __imod__ = __ipow__ = __imatmul__ = _change_in_place

    __array__ = _refusing_method(
        "making a plain array of a tracked one, or of a list of them (np.array, np.asarray),",
        "join several with np.stack, as in np.mean(np.stack(losses)), give gradient an array instead of a list",
    )
    __float__ = _refusing_method(
        "float(x), which math.tanh(x) and buffer[0] = x call too,",
        "write np.tanh(x), collect results in a list and np.stack it",
    )
    __setitem__ = _refusing_method(
        "x[i] = y changes x in place, which", "build it with np.where, np.stack or np.concatenate"
    )
    __complex__ = _refusing_method("complex(x)")
    __int__ = _refusing_method("int(x)")
    __index__ = _refusing_method("using a tracked array as an index or a count")
    __format__ = _refusing_method('printing a tracked array in a format (f"{x}")')
    item = _refusing_method("x.item()")
    tolist = _refusing_method("x.tolist()")
    __dlpack__ = _refusing_method("handing a tracked array to another library (from_dlpack)")
    __dlpack_device__ = _refusing_method("from_dlpack(x)")
    __reduce_ex__ = _refusing_method("pickling or copying a tracked array")
    __deepcopy__ = _refusing_method("copy.deepcopy of a tracked array")


# -- recording a call ----------------------------------------------------------------------------------------------

_NUMBERS = {int, float, np.float32, np.float64, type(None)}


def record(function: Callable, args: tuple, level: Level = PARAMETERS, kwargs: dict[str, Any] = _NO_KEYWORDS) -> Any:
    """Call `function` on the values inside `args` and keep the call: all operations on tracked arrays go through here.

    The operands that belong to the innermost `gradient` call become parents of the result, each with its pullback.
    Those of an outer call stay tracked: to this one they are constants. `level` is that of any of them.
    """
    derivative = RULES.get(function)
    if derivative is None:
        return _record_without_derivative(function, args, level, kwargs)
    if kwargs or len(args) > derivative.most_positional:
        call = Call(function, args, kwargs)
        call.arrange(derivative.names, derivative.most_positional)
        if call.unknown_keyword(derivative.names) is not None:
            return _compose_for_keyword(call, derivative)
        call.take_operands(derivative)
        args, kwargs = call.args, call.kwargs
    if not level.is_open:
        raise RuntimeError(f"this array {CLOSED}")
    arguments: list = []
    parents = []
    for operand in args[0] if derivative.sequence else args:
        kind = type(operand)
        if kind is TrackedArray:
            if operand.level is level:
                pullback = derivative.pullback_for(len(arguments))
                if pullback is None:
                    refuse_operand(function, derivative, len(arguments))
                parents.append((pullback, operand))
                operand = operand.value
                if type(operand) is float and not (derivative.sequence or isinstance(function, np.ufunc)):
                    operand = np.float64(operand)  # most pullbacks ask for a shape
            elif operand.level.number > level.number:  # of a call inside: the same, as that one sees it
                return record(function, args, operand.level, kwargs)
        elif kind is np.ndarray and operand.dtype.kind != "O":
            if level is not PARAMETERS:
                level.freeze(operand)
        elif kind not in _NUMBERS:
            operand = _keep(operand, level, derivative.sequence or isinstance(function, np.ufunc))
        arguments.append(operand)
    if derivative.sequence:
        arguments = [arguments, *args[1:]]
    if kwargs:
        kwargs = {name: _keep(value, level) for name, value in kwargs.items()}
    if derivative.forward is None:
        result = function(*arguments, **kwargs)  # with operands of an outer call, it comes here again: tracked there
    else:
        result, kept = _run_forward(function, derivative, arguments)
        arguments = [kept, *arguments]
    if result is None:
        raise TypeError(f"{name_of(function)} gave None, not an array: does its function end with return?")
    kind = type(result)
    if kind is np.ndarray:
        if level is not PARAMETERS:  # ours alone, so nobody waits for its release; `untrack` hands it out writable
            result.setflags(write=False)
    elif kind in ARRAY_KINDS:
        _note_result(result, ARRAY_KINDS[kind], level)
    return TrackedArray(result, level, (derivative, arguments, kwargs, parents))


def _note_result(result: LibraryArray, kind: ArrayKind, level: Level) -> None:
    """What `record` does with the result of a device."""
    if kind.can_freeze and level is not PARAMETERS:
        result.flags.writeable = False
    if kind.on_record is not None:
        kind.on_record(result)


def _run_forward(function: Callable, derivative: Any, arguments: list) -> tuple[Any, Any]:
    """(the result, what to keep for the backward pass) of a function that keeps more than its arguments."""
    if any(type(x) is TrackedArray for x in arguments):  # an outer gradient watches, which has to see each step
        return function(*arguments), None
    return derivative.forward(*arguments)


def _keep(x: Any, level: Level, as_array: bool = False) -> Any:
    """What is remembered of an argument must not change before the backward pass: lists are copied, arrays frozen."""
    if type(x) is list or type(x) is tuple:
        copy = type(x)([_keep(part, level) for part in x])
        if as_array:  # x * [1, 2]: pullbacks compute with arrays
            return _keep(np.asarray(copy), level)
        return copy
    if isinstance(x, np.ndarray) and x.dtype.kind == "O":
        return x.astype(float)
    if isinstance(x, Rational) and not isinstance(x, (int, np.integer)):
        return float(x)  # a fraction
    if can_freeze(x):
        if level is not PARAMETERS:
            level.freeze(x)
        return as_base_class(x)
    refuse_tensor("a computation with tracked arrays", x)
    return x


def _record_without_derivative(function: Callable, args: tuple, level: Level, kwargs: dict[str, Any]) -> Any:
    """What `record` does with a function that isn't in the table, or not yet."""
    if function in COMPOSED:
        return _compose(Call(function, args, kwargs), COMPOSED[function])
    if function in PLAIN:
        return compute(function, *args, **kwargs)
    if load_rarer():
        return record(function, args, level, kwargs)
    name = name_of(function)
    raise TypeError(
        f"{name} has no derivative rule. Add one, fluxlite.rule({name}, lambda g, out, x: …), "
        "or compute outside the gradient with x.data"
    )


def _compose_for_keyword(call: Call, derivative: Derivative) -> Any:
    """A call with a keyword that the derivative doesn't know, said in other terms; `TypeError` if there are none."""
    load_rarer()  # which has most of them
    if call.function not in COMPOSED_FOR_KEYWORDS:
        call.raise_unknown_keyword(derivative.names)
    return _compose(call, COMPOSED_FOR_KEYWORDS[call.function])


def _compose(call: Call, composition: Callable) -> Any:
    """The call of a function that's written in terms of others: of those."""
    names, most_positional = parameter_names(composition)
    call.arrange(names, most_positional)
    if call.unknown_keyword(names) is not None:
        call.raise_unknown_keyword(names)
    args, kwargs = call.args, call.kwargs
    try:
        return composition(*args, **kwargs)
    except Exception as error:
        failed = error
    compute(call.function, *args, **kwargs)  # where NumPy refuses, too, its own words are better
    raise failed


# -- plain values --------------------------------------------------------------------------------------------------


def plain(x: Any) -> Any:
    """`x` without any tracking, even after its gradient call has ended; what isn't a tracked array, as it is."""
    while type(x) is TrackedArray:
        x = x.value
    return x


def compute(function: Callable, *args: Any, **kwargs: Any) -> Any:
    """`function` on the plain values of `args`: for what has no useful derivative."""
    return function(*_open(args), **_open(kwargs))


def _open(x: Any) -> Any:
    if type(x) is TrackedArray:
        x.check_open()
        return plain(x)
    if type(x) in (list, tuple):
        return type(x)(map(_open, x))
    if type(x) is dict:
        return {key: _open(value) for key, value in x.items()}
    return x


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
