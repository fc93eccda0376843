"""The path that every call with simulated arrays takes: unwrap, compute with NumPy, count, wrap.

NumPy passes its functions on through two protocols: ufuncs, which work element by element (`np.add`, `np.tanh`),
through ``__array_ufunc__`` (NEP 13); all others (`np.sum`, `np.concatenate`) through ``__array_function__`` (NEP 18).
"""

import contextvars
import functools
import inspect
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import formulas, launches, parameters, records, refusals
from .indexing import add_at, array_of, lies_alike, wrap_around, write
from .launches import ONE, TEN_EACH, Commands
from .memory import Stored, check_dtype, records_seen, root_of
from .places import current_card, device_among, one_device, values_on
from .refusals import SCALARS, order_of, refusal
from .shapes import Formula
from .values import DIFFERENT, FORMULAS
from .words import Unsupported, in_words, word_set


class _Quiet(threading.local):
    """Runs a ufunc without NumPy's warnings. Entering `np.errstate` each time would take ten times as long."""

    def __init__(self) -> None:
        context = contextvars.copy_context()
        context.run(np.seterr, all="ignore")
        self.run = context.run


quiet = _Quiet()


# -- Ufuncs: element by element --------------------------------------------------------------------


def in_place(ufunc: np.ufunc, x: Any, y: Any) -> Any:
    """``x += y``: write the result to `x`, which keeps its type whatever `y`'s is."""
    device = x.device.begin()
    if isinstance(y, Stored):
        if y.buffer is x.buffer:
            copy_if_shared((y,), x)
        y = values_on(device, y)
    elif not isinstance(y, SCALARS):
        return call_ufunc(ufunc, (x, y), {"out": (x,)})  # this raises the right error
    elif type(y) is int:
        formulas.check_integer(ufunc.__name__, y)
    values = x.host_values
    if device.instead is not None:
        _compute(device, _formula_of(ufunc), ufunc, (values, y), {"out": (values,)})
    elif ufunc in FORMULAS:
        quiet.run(np.copyto, values, quiet.run(FORMULAS[ufunc], values, y))
    else:
        quiet.run(ufunc, values, y, out=(values,))
    name, size = ufunc.__name__, values.size
    nbytes = 2 * values.nbytes + getattr(y, "nbytes", 0)
    device.launch(name, nbytes, size * 10 if name in TEN_EACH else size, values.dtype.char)
    return x


def copy_if_shared(inputs: Any, out: Any) -> None:
    """CuPy copies an operand first if the result is written into its memory, unless the two are the same object."""
    for x in inputs:
        if isinstance(x, Stored) and x is not out and np.may_share_memory(x.host_values, out.host_values):
            out.device.launch("copy", 2 * x.host_values.nbytes)


def array_ufunc(x: Any, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Implements ``__array_ufunc__``. NotImplemented passes the call to another operand's type."""
    for x in inputs + kwargs["out"] if "out" in kwargs else inputs:
        if not isinstance(x, (Stored, np.ndarray, *SCALARS)) and hasattr(x, "__array_ufunc__"):
            return NotImplemented  # its type may know ours
    if ufunc.__name__ in refusals.LACKING_UFUNCS:
        raise refusals.no_such_function(ufunc.__name__)
    if method == "__call__" and not kwargs:
        return call_ufunc(ufunc, inputs)
    check_dtype(kwargs.get("dtype"))
    if method == "__call__":
        refused = kwargs.keys() - refusals.UFUNC_KEYWORDS
    else:
        refused = kwargs.keys() & {"initial", "where"}
    if refused:
        raise refusals.keyword_refusal(ufunc.__name__, refused)
    if method == "at":
        return add_at(ufunc, *inputs)
    if method in ("reduce", "accumulate") and "axis" in kwargs:
        kwargs["axis"] = parameters.plain(f"{ufunc.__name__}.{method}", "axis", kwargs["axis"])
    if ufunc.__name__ not in _METHODS.get(method, (ufunc.__name__,)):
        known = " and ".join(f"{name}.{method}" for name in _METHODS[method])
        raise NotImplementedError(f"{ufunc.__name__}.{method} does not exist on a GPU, only {known}")
    return call_ufunc(ufunc, inputs, kwargs, method)


_METHODS = {"reduce": ("add", "multiply"), "accumulate": ("add", "multiply"), "reduceat": ("add",)}


def call_ufunc(ufunc: np.ufunc, inputs: tuple, kwargs: dict | None = None, method: str = "__call__") -> Any:
    """The result of ``ufunc(*inputs)``, or of one of its methods, where at least one array is ours."""
    device: Any = None
    values = []
    nbytes = 0
    for x in inputs:
        if isinstance(x, Stored):
            if device is None or device is x.device:
                device = x.device
            else:
                device = one_device(device, x)
            nbytes += x.host_values.nbytes
            values.append(x.host_values)
        elif isinstance(x, SCALARS) or method != "__call__":  # a method's other inputs, such as reduceat's indices
            if type(x) is int:
                formulas.check_integer(ufunc.__name__, x)
            values.append(x)
        elif isinstance(x, np.ndarray) and x.ndim == 0 and ufunc in refusals.COMPARISONS:
            values.append(x.item())
        else:
            raise refusal(ufunc, x, device_among(inputs + (kwargs or {}).get("out", ())))
    if kwargs or method != "__call__" or ufunc.nout > 1:
        return _call_in_full(ufunc, inputs, values, kwargs or {}, method, device)
    device = device.begin()
    try:
        if device.instead is not None:
            result = _compute(device, _formula_of(ufunc), ufunc, values, {})
        elif ufunc in FORMULAS:
            result = quiet.run(FORMULAS[ufunc], *values)
        else:
            result = quiet.run(ufunc, *values)
    except (ValueError, OverflowError, TypeError):
        # On a card, an integer can have a negative power, a boolean can be compared with a number of any size, and
        # records with records.
        if ufunc is not np.power and ufunc not in refusals.COMPARISONS:
            raise
        return _call_in_full(ufunc, inputs, values, {}, method, device)
    if not result.flags.c_contiguous:  # CuPy's results lie in memory row by row, whatever the operands do
        result = device.compute(np.ndarray.copy, result)
    if ufunc is np.matmul:
        device.launch_product(*values, result)
    else:
        name = ufunc.__name__
        size = result.size
        device.launch(name, nbytes + result.nbytes, size * 10 if name in TEN_EACH else size, result.dtype.char)
    return device.new(result)


def _formula_of(ufunc: np.ufunc) -> Callable | None:
    """What's called in place of this ufunc, if anything is."""
    if ufunc in FORMULAS:
        return DIFFERENT[ufunc.__name__]
    return None


def _call_in_full(ufunc: np.ufunc, inputs: tuple, values: list, kwargs: dict, method: str, device: Any) -> Any:
    """What's rarer: two results, keywords such as `out`, or methods such as ``np.add.reduce``."""
    given = kwargs.get("out") or ()
    if len(given) > 1:
        raise ValueError("a GPU's ufuncs write to one array: out= takes exactly one")
    for x in given:
        if not isinstance(x, Stored):
            raise refusal(ufunc, x, device_among(given + inputs))
        device = one_device(device, x)
    plain = {name: x.host_values if isinstance(x, Stored) else x for name, x in kwargs.items() if name != "out"}
    device = device.begin()
    if given:
        plain["out"] = (given[0].host_values,)
        copy_if_shared(inputs, given[0])
    differs: Callable | None = formulas.cast_and_sum
    if method == "__call__":
        differs = DIFFERENT.get(ufunc.__name__)
        if differs is None and ("casting" in plain or plain.get("dtype") is not None):
            differs = formulas.with_casts
    result = _compute(device, differs, getattr(ufunc, method), values, plain)
    results = result if type(result) is tuple else (result,)
    if ufunc is np.matmul:
        device.launch_product(*values[:2], result)
    else:
        arrays = [x for x in values if isinstance(x, np.ndarray)]
        commands = launches.commands_of_method(ufunc, method, values, kwargs)
        device.launch_function(ufunc.__name__, arrays, results, (), {}, commands)
    if given:
        return given[0]
    if type(result) is tuple:
        return tuple(map(device.new, results))
    return device.new(result)


# -- All other functions ---------------------------------------------------------------------------


def array_function(x: Any, function: Callable, types: Sequence[type], args: tuple, kwargs: dict) -> Any:
    """Implements ``__array_function__``. NotImplemented passes the call to another operand's type, or raises."""
    for kind in types:
        if not issubclass(kind, (Stored, np.ndarray)):
            return NotImplemented
    plan = plan_of(function)
    if plan.is_lacking:
        raise refusals.no_such_function(plan.name)
    if kwargs:
        check_dtype(kwargs.get("dtype"))
        if plan.refused_keywords & kwargs.keys():
            raise refusals.keyword_refusal(plan.name, plan.refused_keywords & kwargs.keys())
    return call(function, args, kwargs, x.device)


_BEFORE_NUMPY_2_4 = {
    "concatenate": ("arrays", "axis"), "arange": ("start_or_stop", "stop", "step"),
    "zeros": ("shape", "dtype", "order"), "empty": ("shape", "dtype", "order"), "unravel_index": ("indices", "shape"),
    "dot": ("a", "b", "out"), "vdot": ("a", "b"), "inner": ("a", "b"), "where": ("condition", "x", "y"),
    "bincount": ("x", "weights", "minlength"), "ravel_multi_index": ("multi_index", "dims", "mode", "order"),
}  # fmt: skip


class Plan:
    """What we know of one of NumPy's functions, looked up once."""

    def __init__(self, function: Callable) -> None:
        self.function = function
        self.name = name = refusals.name_of(function)
        try:
            found = inspect.signature(function).parameters.values()
            known = tuple(p.name for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))
        except ValueError:  # before NumPy 2.4, functions written in C don't tell
            known = _BEFORE_NUMPY_2_4.get(name, ())
        out = known.index("out") if "out" in known else len(known)
        self.parameters = known[:out]  # that can be given by position, up to `out`
        self.after = known[out:]  # `out`, and those after it
        self.of_host = parameters.HostParameters(name, self.parameters)  # what it takes from the host
        # A way of its own, which is called with the function, its arguments and the device.
        self.way = _OWN.get(name)
        self.takes_lists = name in parameters.TAKING_LISTS  # of numbers
        self.is_about_arrays = name in launches.ABOUT_ARRAYS
        self.keeps_order = name in launches.KEEPING_ORDER  # its result lies in memory as its argument does
        self.is_lacking = refusals.is_lacking(function)  # CuPy lacks it
        self.refused_keywords = refusals.refused_keywords(function)  # CuPy's version doesn't take them
        self.differs = DIFFERENT.get(name)  # computes CuPy's values, where they aren't NumPy's

    def in_one_form(self, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        """The arguments by position as far as they can be; by name `out`, and what comes after it."""
        kwargs = {**dict(zip(self.after, args[len(self.parameters) :])), **kwargs}
        if self.after:
            args = args[: len(self.parameters)]
        for name in self.parameters[len(args) :]:
            if name not in kwargs:
                break
            args = (*args, kwargs.pop(name))
        return args, kwargs


plan_of = functools.cache(Plan)


def call(function: Callable, args: tuple, kwargs: dict, device: Any) -> Any:
    """The result of ``function(*args, **kwargs)``, where some arguments are our arrays."""
    plan = plan_of(function)
    if kwargs or plan.after and len(args) > len(plan.parameters):
        args, kwargs = plan.in_one_form(args, kwargs)
    if kwargs or len(args) > plan.of_host.first:
        args, kwargs = plan.of_host.plain(args, kwargs, device)
    if plan.way is not None:
        return plan.way(function, args, kwargs, device)
    return _call_plainly(plan, function, args, kwargs, device)


# What only makes or moves an array may find it on any card. What writes to one is refused before it begins.
_MAKING = word_set("zeros_like ones_like full_like empty_like reshape ravel")
_WRITING = word_set("copyto put putmask place put_along_axis fill_diagonal")


def _call_plainly(plan: Plan, function: Callable, args: tuple, kwargs: dict, device: Any) -> Any:
    found: dict[int, Stored] = {}
    plain_args = [x if type(x) in parameters.PLAIN else _unwrap(plan, x, device, found) for x in args]
    plain_kwargs = kwargs and {key: _unwrap(plan, x, device, found) for key, x in kwargs.items()}
    if records_seen:
        records.check_call(plan.name, (x.host_values for x in found.values()))
    if device.cards and found and (plan.name in _WRITING or kwargs.get("out") is not None):
        device.begin()
    if found and kwargs.get("shape") is not None and plan.name.endswith("_like"):
        place = 1 + (plan.name == "full_like")
        dtype = plain_args[place] if len(plain_args) > place else kwargs.get("dtype")
        device.check_room(kwargs["shape"], plain_args[0].dtype if dtype is None else dtype)
    result = _compute(device, plan.differs, function, plain_args, plain_kwargs)
    if plan.is_about_arrays:
        return result
    card = current_card(device)
    made: list[Any] = []  # new memory, not views of an argument
    is_new = isinstance(result, np.ndarray) and result.base is None
    if is_new and not plan.keeps_order and not result.flags.c_contiguous:
        result = device.compute(np.ndarray.copy, result)
    wrapped_result = _wrap(result, card, found, made)
    if made or result is None or kwargs.get("out") is not None:
        if device.cards and found and plan.name not in _MAKING:
            device.begin()
        commands = launches.commands_of(plan.name, plain_args, plain_kwargs)
        card.launch_function(
            plan.name, [x.host_values for x in found.values()], made, plain_args, plain_kwargs, commands
        )
    return wrapped_result


def _compute(device: Any, differs: Callable | None, function: Callable, args: Sequence, kwargs: dict) -> Any:
    """A call's result, from the function that `differs` if there is one. Shapes never differ."""
    if differs is None:
        return device.compute(function, *args, **kwargs)
    if device.instead is None:
        return quiet.run(differs, function, *args, **kwargs)
    return device.instead(Formula(functools.partial(differs, function), function), *args, **kwargs)


def reduction(x: Any, name: str, *args: Any, out: Any = None, keepdims: bool = False) -> Any:
    """``x.sum(axis, …)`` and the like. Without `out` it takes a shortcut, since programs call these all the time."""
    if out is not None:
        return getattr(np, name)(x, *args, out=out, keepdims=keepdims)
    if records_seen:
        records.check_call(name, (x.host_values,))
    if args and type(args[0]) not in parameters.PLAIN:
        args = (parameters.plain(name, "axis", args[0]), *args[1:])
    device, values = x.device.begin(), x.host_values
    args, kwargs = (values, *args), {"keepdims": True} if keepdims else {}
    has_type = len(args) > 2 and args[2] is not None
    is_other = values.dtype.char == "e" or has_type or not values.size
    differs = DIFFERENT.get(name) if is_other else None
    result = _compute(device, differs, getattr(np.ndarray, name), args, kwargs)
    commands = launches.commands_of(name, args, kwargs)
    work = values.size * 10 if name in TEN_EACH else values.size
    device.launch(name, values.nbytes + result.nbytes, work, values.dtype.char, commands.kernels, commands.library)
    return device.new(result)


def _unwrap(plan: Plan, x: Any, device: Any, found: dict[int, Stored]) -> Any:
    """`x` with NumPy arrays in place of ours, which go into `found`."""
    if isinstance(x, Stored):
        if x.device is not device:
            one_device(device, x)
        found[id(x.host_values)] = x
        return x.host_values
    if isinstance(x, (list, tuple)):
        if type(x) is list and x and isinstance(x[0], SCALARS) and not plan.takes_lists:
            raise Unsupported(str(refusal(plan.function, x, device)))
        return type(x)([_unwrap(plan, part, device, found) for part in x])
    if isinstance(x, np.ndarray) and not plan.is_about_arrays:
        raise refusal(plan.function, x, device)
    return x


def _wrap(result: Any, device: Any, found: dict[int, Stored], made: list[Any]) -> Any:
    """`result` with our arrays in place of NumPy's. New memory, not a view of an argument, goes into `made`."""
    if id(result) in found:
        return found[id(result)]
    if getattr(result, "base", 0) is None:
        made.append(result)
        return device.new(result)
    if isinstance(result, (list, tuple)):
        parts = [_wrap(part, device, found, made) for part in result]
        if hasattr(result, "_fields"):
            return type(result)(*parts)
        return type(result)(parts)
    if not isinstance(result, (np.ndarray, *SCALARS)):
        return result
    values = result if isinstance(result, np.ndarray) else np.asarray(result)
    root = root_of(values)
    for x in found.values():
        if x.buffer.root is root:
            return x.in_same_memory(values)  # type: ignore[attr-defined]
    made.append(values)
    return device.new(values)


# -- Functions with a way of their own -------------------------------------------------------------


def take(x: Any, indices: Any, axis: int | None = None, out: Any = None) -> Any:
    """`np.take`, where an index out of range wraps around, since a kernel can't raise."""
    if not isinstance(x, Stored):
        raise refusal(np.take, x, device_among((indices,)))
    if isinstance(indices, (int, np.integer)):
        places = indices
    else:
        places = array_of(x.device, indices, None).host_values
    device = x.device.begin()
    target = None if out is None else out.host_values
    result = (device.instead or quiet.run)(np.take, x.host_values, places, axis, target, mode="wrap")
    device.launch("take", 2 * result.nbytes + getattr(places, "nbytes", 0))
    if out is None:
        return device.new(result)
    return out


def take_along_axis(x: Any, indices: Any, axis: int | None = -1) -> Any:
    if isinstance(indices, np.ndarray):
        indices = x.device.upload(indices, explicit=False)
    if indices.dtype.kind not in "iu":
        raise IndexError(f"take_along_axis: indices takes whole numbers, got {in_words(indices)}")
    one_device(x.device, indices)
    length = x.host_values.size if axis is None else x.host_values.shape[axis]
    device = x.device.begin()
    result = device.compute(_taken_along_axis, x.host_values, indices.host_values, length, axis)
    commands = launches.commands_of("take_along_axis", (x.host_values, indices), {})
    device.issue("take_along_axis", commands, 2 * result.nbytes + indices.nbytes, indices.nbytes)
    return device.new(result)


def _taken_along_axis(values: np.ndarray, indices: np.ndarray, length: int, axis: int | None) -> np.ndarray:
    return np.take_along_axis(values, wrap_around(indices, length), axis)


def put(x: Any, indices: Any, values: Any, mode: str = "wrap") -> None:
    """`np.put`, where an index out of range wraps around, too. With ``mode="raise"``, the host waits for the answer."""
    if not isinstance(x, Stored):
        raise refusal(np.put, x, device_among((indices, values)))
    indices, values = array_of(x.device, indices, None), array_of(x.device, values, x.host_values.dtype)
    device = x.device.begin()
    _compute(device, formulas.put, np.put, (x.host_values, indices.host_values, values.host_values, mode), {})
    commands = Commands(1, memsets=1, reads=(1,)) if mode == "raise" else ONE
    device.issue("put", commands, 2 * values.host_values.nbytes + indices.host_values.nbytes, 1)


def _copyto(function: Callable, args: tuple, kwargs: dict, device: Any) -> None:
    """`np.copyto`, also from one card to another: CuPy's _manipulation/basic.py:109."""
    plan = plan_of(function)
    dst, src = args[:2]
    is_between = isinstance(dst, Stored) and isinstance(src, Stored) and src.device != dst.device
    if not is_between or src.device not in dst.device.cards or len(args) > 3 or kwargs.get("where") is not None:
        return _call_plainly(plan, function, args, kwargs, device)
    if lies_alike(dst.host_values, src.host_values):
        write(dst.device, dst.host_values, ..., src.host_values)
        dst.device.count_copy_from(src.device, src.host_values.nbytes)
        return None
    with dst.device:
        return _call_plainly(plan, function, (dst, src.copy(), *args[2:]), kwargs, dst.device)


def _apply_along_axis(func1d: Callable, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """As in CuPy, `func1d` gets vectors that are arrays of the device. All its results have the same shape."""
    rows = np.moveaxis(arr, np.lib.array_utils.normalize_axis_index(axis, arr.ndim), -1)
    places = list(np.ndindex(rows.shape[:-1]))
    if not places:
        raise ValueError("apply_along_axis needs at least one vector, and an axis other than this has length 0")
    made = [np.asarray(func1d(rows[place], *args, **kwargs), like=arr) for place in places]
    result = np.stack(made).reshape(rows.shape[:-1] + made[0].shape)
    for _ in made[0].shape:
        result = np.moveaxis(result, -1, axis)
    return result


def _apply_over_axes(func: Callable, a: Any, axes: Any) -> Any:
    """``func(a, axis)`` for one axis after the other. If it takes the axis away, one of length 1 comes back."""
    for axis in np.atleast_1d(axes):
        axis = np.lib.array_utils.normalize_axis_index(int(axis), a.ndim)
        result = func(a, axis)
        if result.ndim < a.ndim:
            result = np.expand_dims(result, axis)
        if result.ndim != a.ndim:
            raise ValueError("apply_over_axes: the function's result hasn't as many axes as its argument, or one less")
        a = result
    return a


def _on_host(function: Callable, args: tuple, kwargs: dict, device: Any) -> Any:
    """Functions that print or store values need them all on the host."""

    def there(x: Any) -> Any:
        if isinstance(x, Stored):
            return x.device.download(x, refusals.name_of(function), explicit=False)
        return x

    return function(*map(there, args), **{name: there(x) for name, x in kwargs.items()})


# -- New arrays: ``np.array(values, like=x)``, and `np.empty` --------------------------------------

# In CuPy, all of these are `cupy.array`, with these arguments unless the call has others.
_USUALLY: dict[str, dict[str, Any]] = {
    "array": {"copy": True}, "asarray": {}, "asanyarray": {},
    "ascontiguousarray": {"order": "C", "ndmin": 1}, "asfortranarray": {"order": "F", "ndmin": 1},
}  # fmt: skip


def from_host(function: Callable, args: tuple, kwargs: dict, device: Any) -> Any:
    """The array that `function` makes, on this device, or on the current card if there are several."""
    device = current_card(device)
    if function.__name__ not in _USUALLY:  # it reads a file or the like
        return device.upload(np.asarray(function(*args, **kwargs)))
    return _array(device, **_USUALLY[function.__name__] | dict(zip(("a", "dtype", "order"), args)) | kwargs)


def _array(device, a, dtype=None, order=None, copy=None, subok=False, ndmin=0):
    dtype = None if dtype is None else np.dtype(dtype)
    check_dtype(dtype)
    if subok:
        raise NotImplementedError("subok: a GPU's arrays have no subclasses")
    order = order_of(order or "K")
    found: list[Any] = []
    if (shape := _shape_of(a, found)) is None:
        values = np.array(a, dtype=dtype, order=order, copy=None, ndmin=ndmin)
        check_dtype(values.dtype)
        # A number fills memory on the device, without a copy.
        if values.ndim:
            return device.upload(values)
        return array_of(device, values[()], values.dtype)
    if isinstance(a, Stored):
        made = found[0]
    else:  # joined on the device, as by np.concatenate
        made = np.concatenate([x.reshape(1) if x.ndim == 0 else x for x in found]).reshape(shape)
        order, copy = ("F" if order == "F" else "C"), None
    if (copy or made.device != device) and (dtype is None or made.dtype == dtype):
        result = made.copy(order)
    else:
        result = made.astype(made.dtype if dtype is None else dtype, order, copy=bool(copy))
    if copy is False and result is not made:
        raise ValueError("np.array(x, copy=False): this dtype or order takes a copy; copy=None makes one if need be")
    if ndmin > result.ndim:
        return result.reshape((1,) * (ndmin - result.ndim) + result.shape)
    return result


def _shape_of(values: Any, found: list) -> tuple[int, ...] | None:
    """The shape of nested lists of arrays on a GPU, which go into `found`; None if there's anything else in them."""
    if isinstance(values, Stored):
        found.append(values)
        return values.host_values.shape
    if not isinstance(values, (list, tuple)):
        return None
    shapes = {_shape_of(part, found) for part in values}
    return (len(values), *shapes.pop()) if len(shapes) == 1 and None not in shapes else None  # type: ignore[misc]


# Arrays made by `empty` hold a pattern of bits until something else is written there. So a kernel that reads too early
# can be found, and nobody has to keep a list of writes. As a floating-point number, each pattern is a NaN that no
# computation gives. Integers of one or two bytes have none: any of their values is common.
_PATTERNS = {2: np.uint16(0x7EB7), 4: np.uint32(0x7FEDBEEF), 8: np.uint64(0x7FFEDBEEFCAFEBAD)}


def empty(function: Callable, args: tuple, kwargs: dict, device: Any) -> Any:
    """`np.empty` and `np.empty_like` on a simulated GPU: new memory that nothing has been written to."""
    plain = [x.host_values if isinstance(x, Stored) else x for x in args]
    named = {name: x.host_values if isinstance(x, Stored) else x for name, x in kwargs.items()}
    device = current_card(device)
    made = device.new(device.compute(function, *plain, **named))
    made.buffer.is_empty = device.instead is None and made.size > 0
    if (pattern := pattern_of(made)) is not None:
        made.host_values.view(pattern.dtype)[...] = pattern
    return made


def pattern_of(x: Any) -> Any:
    """The pattern that unwritten elements of `x` hold, or None if nothing marks them."""
    has_one = x.buffer.is_empty and (x.dtype.itemsize > 2 or x.dtype.kind == "f")
    if has_one:
        return _PATTERNS.get(x.dtype.itemsize)
    return None


def _by(ours: Callable) -> Callable:
    return lambda function, args, kwargs, device: ours(*args, **kwargs)


_OWN = {
    **dict.fromkeys(_USUALLY, from_host),
    **dict.fromkeys(word_set("frombuffer fromfile fromfunction fromiter fromstring genfromtxt loadtxt"), from_host),
    **dict.fromkeys(word_set("array_repr array_str array2string save savez savez_compressed savetxt"), _on_host),
    "take": _by(take), "take_along_axis": _by(take_along_axis), "put": _by(put),
    "apply_along_axis": _by(_apply_along_axis), "apply_over_axes": _by(_apply_over_axes),
    "copyto": _copyto, "copy": _by(lambda a, order="K": a.copy(order)), "empty": empty, "empty_like": empty,
}  # fmt: skip
