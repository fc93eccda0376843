"""`CapturedArray`: an array that computes like the one it holds, and notes each call in its program.

It stands below `TrackedArray`: while a step is captured, it's what the step finds in place of its plain arrays, so the
notes hold the forward pass, the backward pass and the optimizer's step alike. The call's own result is the call's
buffer from then on; a view of it needs no call, since it shows whatever is in the buffer.
"""

import collections
import functools
import inspect
import opcode
import operator
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ..arrays import device_of
from ..autodiff.tracked import ArrayMethods
from ..devices.base import Device
from ..words import in_words
from .functions import check_function, traits_of
from .memory import are_one, arrays_in, is_real_array, on_device, root_of
from .program import Call, Number, Program, refusal, users_line

NUMBERS = (bool, int, float)
# What's asked about an array without its values. These calls are answered at once, and not noted.
QUESTIONS = {np.shape, np.ndim, np.size, np.result_type, np.can_cast, np.iscomplexobj, np.isrealobj,
              np.may_share_memory, np.shares_memory}  # fmt: skip
_FILLED = {np.zeros_like: 0, np.ones_like: 1, np.empty_like: None}
MADE_LIKE = {np.zeros, np.ones, np.empty, np.full, np.eye, np.arange, np.array, np.asarray, np.tri, np.identity}
_FIXES_FOR_POSITIONS = {operator.getitem: "x[np.array([i])] makes a copy of a row"}
_HAVE_OUT = {np.concatenate, np.einsum, np.dot, np.cumsum, np.argmax, np.argmin}
_METHODS_OF_ARRAYS = {np.ndarray.astype, np.ndarray.copy, np.ndarray.flatten}  # NumPy's numbers have others
# NumPy itself calls these; they're quicker without the way there.
_REDUCTIONS = {np.sum: np.add, np.max: np.maximum, np.min: np.minimum, np.amax: np.maximum, np.amin: np.minimum}
OPERATORS = {
    np.add: operator.add, np.subtract: operator.sub, np.multiply: operator.mul, np.true_divide: operator.truediv,
    np.power: operator.pow, np.negative: operator.neg, np.floor_divide: operator.floordiv, np.remainder: operator.mod,
}  # fmt: skip


# -- an argument of a call: as the call takes it, and as the notes have it ---------------------------------------------


def to_values(x: Any) -> Any:
    """The plain values in an argument. What NumPy gave as a number is one here, so it does with it what it would do."""
    return replaced(x, _value_of)


def to_arrays(x: Any) -> Any:
    """The same with arrays of shape () for NumPy's numbers: for methods of arrays."""
    return replaced(x, _array_of)


def to_notes(x: Any) -> Any:
    """An argument as it's noted: buffers, and the `Number` of each number that the host computes."""
    return replaced(x, _note_of)


def _value_of(x: Any) -> Any:
    if type(x) is CapturedNumber:
        return x.number.value
    if x.is_number:
        return x.value[()]
    return x.value


def _array_of(x: Any) -> Any:
    if type(x) is CapturedNumber:
        return x.number.value
    return x.value


def _note_of(x: Any) -> Any:
    if type(x) is CapturedNumber:
        return x.number
    return x.value


def replaced(x: Any, replace: Callable[[Any], Any]) -> Any:
    """`x`, nested tuples, lists and dicts, with ``replace(part)`` for each captured array or number in it."""
    if type(x) is CapturedNumber or isinstance(x, CapturedArray):
        return replace(x)
    if isinstance(x, tuple):  # also one with names
        return tuple([replaced(part, replace) for part in x])
    if isinstance(x, (list, collections.deque)):
        return [replaced(part, replace) for part in x]
    if type(x) is dict:
        return {key: replaced(part, replace) for key, part in x.items()}
    return x


# -- noting a call -----------------------------------------------------------------------------------------------------


stand_ins_on_devices: list[type["CapturedArray"]] = []  # `on_device.py` has it


def wrap(program: Program, x: np.ndarray, is_number: bool = False) -> "CapturedArray":
    """The array `x`, which a call has made or the step has found, as the step gets it."""
    kind: type[CapturedArray] = CapturedArray
    if on_device(x):
        program.meet(x)
        kind = stand_ins_on_devices[0]
    made = kind(x, program)
    made.is_number = is_number
    program.alive.append((weakref.ref(made), users_line()))
    return made


def is_asked_first(kind: type) -> bool:
    """Whether arrays of this type, tracked ones or those of a device, say what a call with them is."""
    return hasattr(kind, "__primitive__") or kind in stand_ins_on_devices


def call(program: Program, function: Any, args: tuple, kwargs: dict[str, Any], kind: str = "copied") -> Any:
    """``function(*args, **kwargs)``, noted; its result is a buffer from now on."""
    program.check_thread()
    values = to_values(args)
    if function in _METHODS_OF_ARRAYS:
        values = to_arrays(args)
    noted = Call(kind, function, to_notes(args), to_notes(kwargs))
    program.check_unchanged(noted.args, noted.kwargs)
    result = function(*values, **to_values(kwargs))
    if isinstance(result, (tuple, list)):
        return several(result, [_receive(program, _item_of(noted, i), x) for i, x in enumerate(result)])
    return _receive(program, noted, result)


def several(like: Any, parts: list) -> Any:
    """What stands in for several results: a tuple or list like the one that the call gave."""
    if hasattr(like, "_make"):  # a named tuple, as np.linalg.svd gives
        return like._make(parts)
    return type(like)(parts)


def _item_of(call: Call, number: int) -> Call:
    """A call for one of several results."""
    return Call("item", call.function, call.args, call.kwargs, item=number)


def _receive(program: Program, noted: Call, result: Any) -> Any:
    """A result as the step gets it: a view of an argument, or a buffer, which each replay fills by the call `noted`."""
    if not isinstance(result, (np.ndarray, np.generic)):
        raise refusal(f"{name_of(noted.function)}, which gives {in_words(result)},")
    if type(result) is np.ndarray and _is_view(noted, result):
        return wrap(program, result)  # it's made once, and shows whatever is in the buffer
    noted.out = program.new(result)
    if noted.out.dtype.hasobject:
        raise refusal("a computation with an array of Python's objects")
    made = wrap(program, noted.out, isinstance(result, np.generic))
    program.add(noted)
    return made


def _is_view(noted: Call, result: np.ndarray) -> bool:
    """Whether `result` shows memory of an argument. Raises if which part it shows depends on another one's values."""
    roots = {id(root_of(x)) for x in noted.reads()}
    own = id(root_of(result))
    if own not in roots:
        return False
    if roots != {own} and noted.function not in (np.broadcast_arrays, np.meshgrid):
        raise refusal(
            f"np.{name_of(noted.function)} with positions that are arrays or NumPy's numbers",
            _FIXES_FOR_POSITIONS.get(noted.function, "Give it numbers of Python's, such as int(n)"),
        )
    return True


def name_of(function: Any) -> str:
    """A function's name, in messages."""
    return getattr(function, "__name__", f"{function}")


def call_into(program: Program, function: Any, args: tuple, kwargs: dict[str, Any], out: Any, kind: str) -> Any:
    """``function(*args, out=out)``, noted."""
    program.check_thread()
    target = to_values(out)
    values = to_values(args)
    program.check_unchanged(values, target)
    program.undoing.note_array(target)
    function(*values, out=target, **to_values(kwargs))
    program.add(Call(kind, function, to_notes(args), to_notes(kwargs), target, changes=(target,)))
    return out


def change(
    program: Program, function: Any, args: tuple, target: np.ndarray, kwargs: dict[str, Any] | None = None
) -> None:
    """``function(*args)``, which changes `target` in place, noted."""
    program.check_thread()
    if isinstance(target, np.generic):
        raise TypeError(f"{name_of(function)} changes an array in place, got a {target.dtype} number")
    kwargs = kwargs or {}
    values = to_arrays(args)
    program.check_unchanged(values, target)
    program.undoing.note_array(target)
    function(*values, **to_values(kwargs))
    program.add(Call("in place", function, to_notes(args), to_notes(kwargs), changes=(target,)))


def write(program: Program, target: np.ndarray, value: Any) -> None:
    """``target[...] = value``, noted."""
    if type(value) in (*NUMBERS, complex):
        change(program, np.ndarray.fill, (target, value), target)  # which refuses what an assignment does
        return
    values = to_values(value)
    if is_real_array(values) and are_one(target, values):  # ``x[...] -= y`` has done it already
        return
    change(program, np.copyto, (target, value), target, {"casting": "unsafe"})


def compute_number(program: Program, ufunc: Any, operands: tuple) -> Any:
    """An operator between Python's numbers: the result stays one, which each replay computes."""
    function: Any = OPERATORS[ufunc]
    value = function(*to_values(operands))
    return CapturedNumber(program.compute_number(function, to_notes(operands), value), program)


def _only(out: tuple, ufunc: Any) -> Any:
    """Where the result of a ufunc goes that has one."""
    if len(out) > 1:
        raise refusal(f"np.{ufunc.__name__} into arrays that are given as out,", "Assign what it gives")
    return out[0]


def refusing(name: str, fix: str = "") -> Any:
    def refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise refusal(f"{name} of what the step computes", fix)

    return refuse


class _Unreadable:
    """What would read a value: a replay would go on with the one that was there when the step was captured."""

    __slots__ = ()
    __bool__ = refusing("a decision (if x:, while x:)", "np.where chooses between two arrays")
    __float__ = refusing("float(x)", "Return it, and read it after the call")
    __int__ = refusing("int(x)")
    __complex__ = refusing("complex(x)")
    __index__ = refusing("the index or count")
    __format__ = refusing("printing", "Return it, and print it after the call")
    __str__ = refusing("printing", "Return it, and print it after the call")
    __hash__ = object.__hash__


def _operators(function: Any, ufunc: np.ufunc) -> tuple[Any, Any]:
    """Two methods of an array, for ``x + y`` and ``y + x``. NumPy's numbers don't ask a ufunc, and nor do ours."""

    def compute(self: "CapturedArray", other: Any) -> Any:
        if self.is_number and _is_scalar(other):
            return call(self.program, function, (self, other), {}, "scalar")
        if _leaves_it_to(other):
            return NotImplemented
        return ufunc(self, other)

    def compute_turned(self: "CapturedArray", other: Any) -> Any:
        if self.is_number and _is_scalar(other):
            return call(self.program, function, (other, self), {}, "scalar")
        if _leaves_it_to(other):
            return NotImplemented
        return ufunc(other, self)

    return compute, compute_turned


def _is_scalar(x: Any) -> bool:
    """Whether it's a number of Python's or NumPy's, or stands in for one of those."""
    if isinstance(x, CapturedArray):
        return x.is_number
    return isinstance(x, (bool, int, float, complex, np.generic, CapturedNumber))


def _comes_from_an_operator(frame: Any) -> bool:
    """Whether the program stands at an operator: ``np.float32(2) ** x``, and not ``np.power(np.float32(2), x)``."""
    return frame.f_code.co_code[frame.f_lasti] == opcode.opmap["BINARY_OP"]


def _leaves_it_to(other: Any) -> bool:
    """Whether an operator with `other` is that one's to compute, as in NumPy's mixin."""
    try:
        return other.__array_ufunc__ is None
    except AttributeError:
        return False


class CapturedArray(ArrayMethods, _Unreadable, NDArrayOperatorsMixin):
    """An array in a step that's being captured. `is_number`: NumPy gave a number, which nothing changes in place."""

    __slots__ = ("__weakref__", "is_number", "program", "value")
    __array_priority__ = 50

    def __init__(self, value: np.ndarray, program: Program) -> None:
        self.value = value
        self.program = program
        self.is_number = False

    def __hash__(self) -> int:
        if self.is_number:
            raise refusal("a number that the step computes as a key (in a dict or a set)")
        raise TypeError("unhashable type: 'numpy.ndarray'")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        if any(is_asked_first(type(x)) for x in (*inputs, *(out or ()))):
            return NotImplemented
        if method == "at":
            change(self.program, ufunc.at, inputs, to_values(inputs[0]))
            return None
        is_operator = ufunc in OPERATORS and method == "__call__" and not kwargs and not out
        if is_operator and all(map(_is_scalar, inputs)) and _comes_from_an_operator(sys._getframe(1)):
            return call(self.program, OPERATORS[ufunc], inputs, {}, "scalar")
        function = ufunc
        kind = "ufunc" if ufunc.nout == 1 else "copied"
        if method != "__call__":
            function = getattr(ufunc, method)
            kind = "reduce" if method == "reduce" else "out"
        if out:
            target = _only(out, ufunc)
            if isinstance(target, CapturedArray) and not target.is_number:
                return call_into(self.program, function, inputs, kwargs, target, kind)
            if type(target) is np.ndarray:
                return call_into(self.program, function, inputs, kwargs, target, kind)
            # ``x += y`` of a number makes a new one.
        return call(self.program, function, inputs, kwargs, kind)

    def __array_function__(self, function: Any, types: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        if any(map(is_asked_first, types)):
            return NotImplemented
        self.program.check_thread()
        check_function(function, args, kwargs)
        record = _way_of(function)
        return record(self.program, function, args, kwargs)

    # -- indexing ------------------------------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        parts = _parts_of(index)
        if parts is None or self.is_number:
            return call(self.program, operator.getitem, (self, index), {})
        view = wrap(self.program, self.value[parts])
        if isinstance(self.value[to_values(index)], np.generic):  # a number is a copy
            view = view.copy()
            view.is_number = True
        return view

    def __setitem__(self, index: Any, value: Any) -> None:
        if self.is_number:
            raise TypeError(f"'numpy.{self.dtype.name}' object does not support item assignment")
        parts = _parts_of(index)
        if parts is None:
            change(self.program, operator.setitem, (self, index, value), self.value)
        else:
            write(self.program, self.value[parts], value)

    def __round__(self, digits: Any = None) -> Any:
        if digits is None:
            raise refusal("round(x), which gives a number of Python's,", "np.round(x) gives an array")
        return np.round(self, digits)

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    # -- methods that have no function ---------------------------------------------------------------------------------

    def astype(
        self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        made = call(self.program, np.ndarray.astype, (self, dtype), {"order": order, "casting": casting, "copy": copy})
        made.is_number = self.is_number
        return made

    def copy(self, order: Any = "C") -> Any:
        if self.is_number:  # nothing changes it
            return self
        return call(self.program, np.ndarray.copy, (self, order), {})

    def flatten(self, order: Any = "C") -> Any:
        return call(self.program, np.ndarray.flatten, (self, order), {})

    def fill(self, value: Any) -> None:
        if not self.is_number:
            write(self.program, self.value, value)

    def view(self, dtype: Any = None) -> Any:
        return wrap(self.program, self.value.view(dtype or self.dtype), self.is_number)

    def conj(self) -> Any:
        """A real array is its own conjugate, as NumPy's method has it: a change of one is a change of the other."""
        if np.iscomplexobj(self):
            return np.conj(self)
        return self

    conjugate = conj

    __add__, __radd__ = _operators(operator.add, np.add)
    __sub__, __rsub__ = _operators(operator.sub, np.subtract)
    __mul__, __rmul__ = _operators(operator.mul, np.multiply)
    __truediv__, __rtruediv__ = _operators(operator.truediv, np.true_divide)
    __floordiv__, __rfloordiv__ = _operators(operator.floordiv, np.floor_divide)
    __mod__, __rmod__ = _operators(operator.mod, np.remainder)
    _power, __rpow__ = _operators(operator.pow, np.power)

    def __abs__(self) -> Any:
        if self.is_number:
            return call(self.program, operator.abs, (self,), {}, "scalar")
        return np.absolute(self)

    def __pow__(self, other: Any) -> Any:
        if self.is_number:
            return self._power(other)
        if type(other) is int and other == 2:  # as NumPy's own ** does
            return np.square(self)
        if type(other) in NUMBERS:  # which has a quicker way for a root and a reciprocal, too
            return call(self.program, operator.pow, (self, other), {})
        return np.power(self, other)

    def __repr__(self) -> str:
        return f"captured({self.value.dtype}, shape {self.value.shape})"

    mT = property(lambda self: np.swapaxes(self, -1, -2))

    def sort(self, axis: int = -1, **kwargs: Any) -> None:
        change(self.program, type(self.value).sort, (self, axis), self.value, kwargs)

    def clip(self, min: Any = None, max: Any = None, out: Any = None, **kwargs: Any) -> Any:
        return np.clip(self, min, max, out=out, **kwargs)  # type: ignore[call-overload]

    def __getattr__(self, name: str) -> NoReturn:
        kind = type(self.value)
        if not name.startswith("_") and hasattr(kind, name):
            fix = "Use a function of NumPy's, or x[...] = …"
            if hasattr(np, name):
                fix = f"Use np.{name}(x, …)"
            raise refusal(f"x.{name}", fix)
        raise AttributeError(f"'numpy.ndarray' object has no attribute {name!r}")

    def _set_real(self, value: Any) -> None:
        self.real[...] = value

    def _set_imag(self, value: Any) -> None:
        if self.dtype.kind != "c":
            raise TypeError("array does not have imaginary part to set")
        self.imag[...] = value

    real = property(lambda self: np.real(self), _set_real)
    imag = property(lambda self: np.imag(self), _set_imag)
    shape = property(lambda self: self.value.shape, refusing("x.shape = …", "x.reshape(…) gives another array"))
    ndim = property(lambda self: self.value.ndim)
    size = property(lambda self: self.value.size)
    dtype = property(lambda self: self.value.dtype, refusing("x.dtype = …", "x.view(dtype) gives another array"))
    strides = property(lambda self: self.value.strides, refusing("x.strides = …"))
    flat = property(refusing("x.flat", "x.ravel() gives all in a row"), refusing("x.flat = …", "x[...] = …"))
    flags = property(lambda self: self.value.flags)
    base = property(lambda self: self.value.base)
    itemsize = property(lambda self: self.value.itemsize)
    nbytes = property(lambda self: self.value.nbytes)

    item = refusing("x.item()", "Return it, and read it after the call")
    tolist = refusing("x.tolist()", "Return it, and read it after the call")
    __array__ = refusing(
        "a plain array (np.asarray(x), y[...] = x, y[x])",
        "Make new arrays from those that the step has, as in np.zeros_like(x, shape=…), or before the call",
    )
    __dlpack__ = refusing("from_dlpack(x)")
    __reduce_ex__ = refusing("pickling, or copying with copy.copy,", "x.copy()")
    __deepcopy__ = refusing("copy.deepcopy", "x.copy()")


def _parts_of(index: Any) -> tuple | None:
    """An index that makes a view, with an Ellipsis, so that it makes one of a single element too. None: a copy."""
    parts = index if type(index) is tuple else (index,)
    for part in parts:
        if isinstance(part, (CapturedArray, np.ndarray)) and part.dtype == bool:
            raise refusal("x[mask], the shape of whose result depends on values,", "np.where keeps the shape")
        if not (part is None or part is ... or isinstance(part, (int, np.integer, slice))) or isinstance(part, bool):
            return None
    if ... in [part for part in parts if part is ...]:
        return parts
    return (*parts, ...)


class CapturedNumber(_Unreadable, NDArrayOperatorsMixin):
    """A number of Python's that each replay computes again: an optimizer's rate, or ``1 - beta**steps``."""

    __slots__ = ("number", "program")
    __array_priority__ = 51
    __hash__ = object.__hash__

    def __init__(self, number: Number, program: Program) -> None:
        self.number = number
        self.program = program

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        if any(is_asked_first(type(x)) for x in (*inputs, *(out or ()))):
            return NotImplemented
        if out and type(out[0]) is CapturedNumber:  # ``n += 1`` makes a new number
            out = None
        is_operator = ufunc in OPERATORS and method == "__call__" and not kwargs and out is None
        if is_operator and all(type(x) in (*NUMBERS, CapturedNumber) for x in inputs):
            return compute_number(self.program, ufunc, inputs)
        if out:
            target = _only(out, ufunc)
            return call_into(self.program, ufunc, inputs, kwargs, target, "ufunc")
        return call(self.program, ufunc, inputs, kwargs, "ufunc")

    def __array_function__(self, function: Any, types: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        if any(map(is_asked_first, types)):
            return NotImplemented
        self.program.check_thread()
        check_function(function, args, kwargs)
        if function in QUESTIONS:
            return answer(self.program, function, args, kwargs)
        return call(self.program, function, args, kwargs)

    def __repr__(self) -> str:
        return f"captured(number, {self.number.value!r})"


# -- how NumPy's functions are recorded, each by ``record(program, function, args, kwargs)`` ---------------------------


def answer(program: Program, function: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """A question that needs no values is answered at once, and not noted."""
    if function in (np.may_share_memory, np.shares_memory):
        _check_memory_is_known(program, function, to_notes(args))
    return function(*to_values(args), **to_values(kwargs))


def _check_memory_is_known(program: Program, function: Any, arrays: tuple) -> None:
    """Raise if an argument is compared with another one, or with an array from outside: a replay has copies of them."""
    roots = [root_of(x) for x in arrays_in(arrays)]
    inputs = {id(root_of(x)) for x in program.inputs}
    keys = set(map(id, roots))
    others = [key for key in keys if key in inputs or key not in program.owned]
    if len(others) > 1 and inputs & keys:
        raise refusal(f"np.{function.__name__} of an argument", "Ask before the call, and give the answer")


def _record_filled(program: Program, function: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """``np.zeros_like`` and its kin: a buffer, which each replay fills."""
    constant = answer(program, function, args, kwargs)
    if constant.dtype.kind not in "biufc":
        return _copy_of(program, constant)  # a text's zero is ""
    made = wrap(program, program.new(constant))
    if _FILLED[function] is not None:
        write(program, made.value, _FILLED[function])
    return made


def _record_full_like(program: Program, function: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    return _full_like(program, *args, **kwargs)


def _full_like(program: Program, a: Any, fill_value: Any, *args: Any, **kwargs: Any) -> Any:
    made = wrap(program, program.new(np.empty_like(to_values(a), *args, **kwargs)))
    if type(fill_value) in NUMBERS:
        fill_value = np.full((), fill_value, made.dtype).item()  # it's rounded where an assignment would refuse
    write(program, made.value, fill_value)
    return made


def _record_made_like(program: Program, function: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """``np.arange(3, like=x)`` and its kin: what's made of constants is a buffer that gets a copy of them."""
    kwargs = {key: value for key, value in kwargs.items() if key != "like"}
    if arrays_in((to_notes(args), to_notes(kwargs))):
        return call(program, function, args, kwargs)
    return _copy_of(program, function(*args, **kwargs))


def _copy_of(program: Program, constant: np.ndarray) -> Any:
    made = wrap(program, program.new(np.empty_like(constant)))
    write(program, made.value, constant)
    return made


def record_in_place(program: Program, function: Any, args: tuple, kwargs: dict[str, Any]) -> None:
    change(program, function, args, to_values(args[0]), kwargs)


def _record_reduction(program: Program, function: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """``np.sum`` and its kin, by what NumPy itself calls: it's quicker without the way there."""
    keywords = _axis_and_keepdims(args, kwargs)
    if keywords is None:
        return _record_function(program, function, args, kwargs)
    return call(program, _REDUCTIONS[function].reduce, args[:1], keywords, "reduce")


def _record_mean(program: Program, function: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    keywords = _axis_and_keepdims(args, kwargs)
    if keywords is None or args[0].dtype.char not in "fd":
        return _record_function(program, function, args, kwargs)
    total = call(program, np.add.reduce, args[:1], keywords, "reduce")
    total /= args[0].size // max(total.size, 1)
    return total


def _axis_and_keepdims(args: tuple, kwargs: dict[str, Any]) -> dict[str, Any] | None:
    """What a reduction of an array is asked for; None if that's more than these two."""
    if not 1 <= len(args) <= 2 or kwargs.keys() - {"axis", "keepdims"}:
        return None
    axis = kwargs.get("axis")
    if len(args) == 2:
        axis = args[1]
    return {"axis": axis, "keepdims": kwargs.get("keepdims", False)}


def _record_function(program: Program, function: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Any other function: into the array that's given as `out`, or into a buffer of its own."""
    args, kwargs, out = without_out(function, args, kwargs)
    if out is not None:
        return call_into(program, function, args, kwargs, out, "out")
    kind = "copied"
    if function in _HAVE_OUT and not (function is np.einsum and _is_turned(args)):
        kind = "out"
    return call(program, function, args, kwargs, kind)


def _is_turned(args: tuple) -> bool:
    """Whether an argument lies backwards in memory: einsum adds that up in another order if it's given `out`."""
    return any(stride < 0 for x in arrays_in(to_notes(args)) for stride in x.strides)


def without_out(function: Any, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any], Any]:
    """The arguments of one of NumPy's functions without the array for its result, and that array; None without one."""
    kwargs = dict(kwargs)
    out = kwargs.pop("out", None)
    names = _positional_names(function)
    if "out" in names[: len(args)]:
        place = names.index("out")
        out = args[place]
        kwargs |= zip(names[place + 1 :], args[place + 1 :])
        args = args[:place]
    return args, kwargs, out


@functools.cache
def _positional_names(function: Any) -> list[str]:
    """The names of a function's positional arguments; [] if it doesn't say."""
    if function is np.dot:
        return ["a", "b", "out"]
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # it's written in C, and says nothing
        return []
    return [x.name for x in parameters if x.kind in (x.POSITIONAL_ONLY, x.POSITIONAL_OR_KEYWORD)]


_WAYS: dict[Any, Callable] = {
    **dict.fromkeys(QUESTIONS, answer),
    **dict.fromkeys(_FILLED, _record_filled),
    np.full_like: _record_full_like,
    **dict.fromkeys(MADE_LIKE, _record_made_like),
    **dict.fromkeys(_REDUCTIONS, _record_reduction),
    np.mean: _record_mean,
}


def _way_of(function: Any) -> Callable:
    """How a function is recorded."""
    if traits_of(function).assigns:
        return record_in_place
    return _WAYS.get(function, _record_function)


# -- random numbers ----------------------------------------------------------------------------------------------------


class CapturedGenerator:
    """A random number generator: each replay draws from the real one, as the step would.

    Threads that were there before may draw on meanwhile: what they do isn't the step's.
    """

    def __init__(self, generator: Any, program: Program) -> None:
        self.generator = generator
        self._program = program
        self._others = set(threading.enumerate()) - {threading.current_thread()}

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        if threading.current_thread() in self._others:
            return self.generator.random(size, dtype, out)
        if size is None and out is None:
            raise refusal("a random number of Python's", "Draw an array: rng.random(shape)")
        if out is not None:
            raise refusal("random(out=…)", "Assign what rng.random(shape) gives")
        return draw(self._program, self.generator, size, dtype)

    def __getattr__(self, name: str) -> Any:
        if threading.current_thread() in self._others:
            return getattr(self.generator, name)
        raise refusal(f"rng.{name}", "Draw with rng.random(shape, dtype=np.float32), and compute from that")


def generators_of(calls: list[Call]) -> list:
    """The generators that these calls draw from."""
    found: dict[int, Any] = {}
    for one in calls:
        if one.kind == "draw":
            generator = _generator_of(one)
            found[id(generator)] = generator
    return list(found.values())


def _generator_of(call: Call) -> Any:
    """The one that is drawn from: a device's is the one that it has today."""
    if isinstance(call.function, Device):
        return call.function.rng
    for x in call.args:
        if isinstance(x, Device):
            return x.rng
    return call.function.__self__  # a generator's own method


def draw(program: Program, generator: Any, shape: Any, dtype: Any) -> Any:
    """``generator.random(shape, dtype)``, noted: a replay draws into the same buffer."""
    program.check_thread()
    program.undoing.note_generator(generator)
    drawn = generator.random(shape, dtype=dtype)
    buffer = program.new(drawn)
    program.add(Call("draw", generator.random, (None, dtype), out=buffer))
    return wrap(program, buffer)


def draw_like(like: CapturedArray, shape: tuple[int, ...], rng: Any) -> Any:
    """What `drawn_like` gives in a step that's being captured: each replay asks the device for its generator."""
    if rng is not None:
        return rng.random(shape, dtype=np.float32)
    program = like.program
    device = device_of(like)
    program.undoing.note_generator(device.rng)
    buffer = program.new(device.rng.random(shape, dtype=np.float32))
    program.add(Call("draw", device, (None, np.dtype(np.float32)), out=buffer))
    return wrap(program, buffer)
