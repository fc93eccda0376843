"""What CuPy's functions take from the host: axes, shapes, shifts, and other numbers that the host needs to know.

There, CuPy takes other things than NumPy. An array of axes is right for CuPy's `sum` and wrong for NumPy's; one on a
GPU is wrong for both. So what a program gives becomes plain numbers first, or is refused with CuPy's kind of error.
Each function here does that for one kind of parameter. `kind_of` says which parameter is of which kind.
"""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .memory import Stored
from .words import WRITE, Unsupported, in_words, word_set

# What needs no look: plain numbers and words are NumPy's business.
PLAIN = frozenset((int, float, bool, str, type, type(None)))

# -- The kinds. Each takes what was given, and gives plain numbers or raises `TypeError` -------------------------------


def index(x: Any) -> int:
    """One whole number: a Python one, a NumPy one, or a host array of shape ()."""
    return operator.index(x)


def _indices(x: Any) -> tuple[int, ...]:
    """Whole numbers in a tuple, a list, a range, a host array with one axis: whatever gives them one by one."""
    if isinstance(x, Stored):
        raise TypeError
    return tuple(map(operator.index, x))


def several(x: Any) -> tuple[int, ...]:
    """Whole numbers in a tuple, a list or a host array. One number alone isn't enough."""
    return _indices(x)


def one_or_several(x: Any) -> Any:
    """One whole number, or several. CuPy looks for a number first, and an array of shape () isn't one."""
    if isinstance(x, (int, np.integer)):
        return int(x)
    return _indices(x)


def python_int_or_several(x: Any) -> Any:
    """The same, but CuPy asks whether it's an `int`, which a NumPy number isn't."""
    if isinstance(x, int):
        return x
    return _indices(x)


def one_or_tuple(x: Any) -> Any:
    """One whole number, or several in a tuple."""
    if isinstance(x, tuple):
        return tuple(map(operator.index, x))
    return operator.index(x)


def shape(x: Any) -> Any:
    """A shape: whole numbers in anything, or one of them."""
    if np.ndim(x) == 0:
        return operator.index(x)
    return _indices(x)


def shape_like(x: Any) -> Any:
    """A shape for ``zeros_like(a, shape=…)``. CuPy asks whether it's true: ``()`` and 0 are no shape at all."""
    if isinstance(x, np.ndarray) and x.size > 1:
        raise ValueError
    if np.size(x) == 0 or (np.size(x) == 1 and not x):  # _creation/basic.py:107
        return None
    if np.ndim(x):
        return _indices(x)
    return one_or_several(x)


def dimensions(x: Any) -> Any:
    """A shape that CuPy multiplies up: whole numbers of the host, or an array of a GPU."""
    if isinstance(x, Stored):
        return x
    return _indices(x)


def shifts(x: Any) -> Any:
    """How far to roll: one number or several, on the host or on a GPU."""
    if isinstance(x, Stored):
        return x
    if np.ndim(x) == 0 and not isinstance(x, np.bool):
        return operator.index(x)
    return _indices(x)


def repeats(x: Any) -> Any:
    """How often each element comes: a number, several in a tuple or a list, or an array of a GPU."""
    if isinstance(x, (Stored, np.integer)):
        return x
    if isinstance(x, np.ndarray):
        raise TypeError
    return _indices(x)


def whole(x: Any) -> Any:
    """One number, which becomes a whole one. If it's on a GPU, the host waits for it."""
    if np.ndim(x) != 0:
        raise TypeError
    return int(x)


def scalar(x: Any) -> Any:
    """One number, which is no array."""
    if not isinstance(x, np.generic):
        raise TypeError
    return x.item()


def python_int(x: Any) -> Any:
    """An `int`, which a NumPy number isn't."""
    raise TypeError


def number(x: Any) -> Any:
    """One number of any type."""
    if np.ndim(x) != 0 or isinstance(x, Stored):
        raise TypeError
    if isinstance(x, np.ndarray):
        return x.item()
    return x


def number_anywhere(x: Any) -> Any:
    """One number, which may also be on a GPU: then the host waits for it."""
    if isinstance(x, Stored):
        return x
    return number(x)


def numbers(x: Any) -> Any:
    """Numbers of the host in any form, but none on a GPU."""
    if isinstance(x, Stored):
        raise TypeError
    if isinstance(x, np.ndarray):
        x = x.tolist()
    if isinstance(x, (tuple, list)):
        return tuple(map(numbers, x))
    return x


def pair_of_axes(x: Any) -> Any:
    """How many axes, or which of two arrays: a pair of numbers or of several."""
    if isinstance(x, (tuple, list)):
        return tuple(map(one_or_several, x))
    return operator.index(x)


def fill_value(x: Any) -> Any:
    """What fills an array: a number, a host array with one element, or an array of a GPU."""
    if isinstance(x, (tuple, list)):
        raise Unsupported
    if isinstance(x, np.ndarray):
        if x.size != 1:
            raise ValueError
        return x.reshape(())[()]
    return x


def numbers_anywhere(x: Any) -> Any:
    if isinstance(x, Stored):
        return x
    return numbers(x)


def an_array(x: Any) -> Any:
    """An array of a GPU, where NumPy would take a number or a list, too."""
    if not isinstance(x, Stored):
        raise TypeError
    return x


def an_array_with_methods(x: Any) -> Any:
    """An array of a GPU, whose methods CuPy calls at once: a list has none of them."""
    if not isinstance(x, Stored):
        raise Unsupported
    return x


def array_to_search(x: Any) -> Any:
    if not isinstance(x, Stored):
        raise NotImplementedError
    return x


def operand(x: Any) -> Any:
    """Numbers that the kernel reads. A host array is copied there, which the program didn't ask for."""
    if isinstance(x, np.ndarray) and x.ndim == 0:
        return x[()]
    return x


def array_like(x: Any) -> Any:
    """Numbers in any form: a list is operand, too."""
    return operand(np.asarray(x) if isinstance(x, (tuple, list)) else x)


_IN_WORDS: dict[Callable, str] = {
    index: "a whole number", several: "whole numbers in a tuple, a list or a host array",
    one_or_several: "a whole number, or several in a tuple, a list or a host array",
    python_int_or_several: "an int, or several in a tuple, a list or a host array",
    one_or_tuple: "a whole number, or a tuple of them", shape: "whole numbers of the host",
    shape_like: "whole numbers in a tuple or a list", dimensions: "whole numbers in a tuple, a list or a host array",
    shifts: "a whole number, or several", repeats: "a whole number, or several in a tuple or a list",
    whole: "a number", scalar: "a number, no array", python_int: "an int", number: "a number of the host",
    number_anywhere: "a number", numbers: "numbers of the host", numbers_anywhere: "numbers",
    pair_of_axes: "a whole number, or a pair of axes",
    fill_value: "a number, or an array of a GPU",
    an_array: "an array of a GPU", an_array_with_methods: "an array of a GPU", array_to_search: "an array of a GPU",
}  # fmt: skip

# -- Which parameter is of which kind: by NumPy's names, and mostly by the parameter's name alone ----------------------

_BY_NAME: dict[str, Callable] = {
    **dict.fromkeys(word_set("axis axis1 axis2 axisa axisb axisc n N M offset"), index),
    **dict.fromkeys(word_set("newshape new_shape reps"), shape),
    **dict.fromkeys(word_set("axes s dimensions"), several),
    **dict.fromkeys(word_set("source destination indices_or_sections"), one_or_several),
    **dict.fromkeys(word_set("pad_width constant_values end_values stat_length range"), numbers),
    "shape": shape, "k": index, "decimals": scalar, "kth": python_int_or_several, "shift": shifts, "repeats": repeats,
    "ddof": number, "minlength": whole,
}  # fmt: skip
_SEVERAL_AXES = """
    sum prod mean max min amax amin all any argmax argmin nansum nanprod nanmax nanmin nanmean nanvar nanstd nanargmax
    nanargmin median nanmedian ptp count_nonzero average roll add.reduce multiply.reduce
"""
_BY_FUNCTION: dict[str, dict[str, Callable | None]] = {
    # By the lines of CuPy that read them: _core/_reduction.pyx:178
    **dict.fromkeys(word_set(_SEVERAL_AXES), {"axis": one_or_several}),
    # _core/_routines_statistics.pyx:556, _core/_routines_manipulation.pyx:154, :229; linalg/_norms.py:33
    **dict.fromkeys(word_set("var std flip squeeze expand_dims gradient"), {"axis": one_or_tuple}),
    "linalg.norm": {"axis": one_or_tuple, "ord": operand}, "linalg.cond": {"p": operand},
    **dict.fromkeys(word_set("percentile quantile"), {"axis": python_int_or_several}),  # _statistics/order.py:296
    **dict.fromkeys(word_set("sort argsort partition argpartition concatenate"), {"axis": whole}),
    **dict.fromkeys(word_set("fft.fftshift fft.ifftshift"), {"axes": python_int_or_several}),  # fft/_fft.py:1085
    **dict.fromkeys(word_set("zeros_like ones_like empty_like"), {"shape": shape_like}),
    "full_like": {"shape": shape_like, "fill_value": fill_value}, "full": {"fill_value": fill_value},
    "copyto": {"src": fill_value},
    **dict.fromkeys(word_set("unravel_index ravel_multi_index"), {"shape": dimensions, "dims": dimensions}),
    "ndarray": {"shape": shape}, "reshape": {"shape": one_or_several, "newshape": one_or_several},
    "linspace": {"start": array_like, "stop": array_like, "num": index, "axis": one_or_several},
    "logspace": {"start": array_like, "stop": array_like, "base": array_like, "num": index, "axis": one_or_several},
    "rollaxis": {"start": index}, "transpose": {"axes": one_or_several}, "rot90": {"k": whole},
    "unique": {"axis": index}, "tensordot": {"axes": pair_of_axes}, "apply_over_axes": {"axes": shape},
    "linalg.matrix_power": {"n": python_int}, "diag_indices": {"n": whole, "ndim": index},
    "linalg.tensorinv": {"ind": index},
    **dict.fromkeys(word_set("tri tril tril_indices tril_indices_from"), {"k": scalar}),
    "arange": dict.fromkeys(("start_or_stop", "stop", "step"), number_anywhere),
    "fft.fftfreq": {"n": whole, "d": number_anywhere}, "fft.rfftfreq": {"n": whole, "d": number_anywhere},
    **dict.fromkeys(word_set("hanning hamming blackman bartlett kaiser"), {"M": number_anywhere}),
    **dict.fromkeys(word_set("compress extract"), {"condition": array_like}), "delete": {"obj": array_like},
    "histogram": {"bins": array_like, "range": numbers},
    "histogram2d": {"bins": operand}, "histogramdd": {"bins": operand},
    "put_along_axis": {"indices": array_like, "values": array_like},
    "searchsorted": {"a": array_to_search, "v": array_to_search, "sorter": array_like},
    "place": {"vals": array_like}, "fill_diagonal": {"val": array_like}, "putmask": {"values": an_array},
    "append": {"arr": array_like, "values": array_like, "axis": whole}, "cov": {"y": array_like, "ddof": whole},
    "corrcoef": {"y": array_like}, "average": {"axis": one_or_several, "weights": array_like},
    **dict.fromkeys(word_set("isclose allclose cross"), {"a": array_like, "b": array_like}),
    "diff": {"prepend": array_like, "append": array_like}, "piecewise": {"funclist": numbers_anywhere},
    "matmul": {"axes": None},  # a list of pairs
    "nan_to_num": dict.fromkeys(("nan", "posinf", "neginf"), operand), "unwrap": {"discont": operand},
    "interp": {"x": array_to_search, "left": operand, "right": operand},
    "dot": {"b": an_array}, "outer": {"b": an_array}, "isin": {"test_elements": an_array_with_methods},
    "ediff1d": {"to_end": an_array, "to_begin": an_array}, "trapezoid": {"x": an_array},
    "linalg.pinv": {"rcond": operand}, "linalg.matrix_rank": {"tol": operand},
    "lib.stride_tricks.sliding_window_view": {"window_shape": shape, "axis": one_or_tuple},
}  # fmt: skip
# Functions that take lists which aren't about arrays of a GPU, beside the parameters above.
TAKING_LISTS = word_set("einsum select piecewise histogram2d histogramdd lexsort")


def kind_of(function: str, parameter: str) -> Callable | None:
    """What a parameter of a NumPy function takes from the host. None if it takes arrays of a GPU, or no numbers."""
    return _BY_FUNCTION.get(function, {}).get(parameter, _BY_NAME.get(parameter))


def plain(function: str, parameter: str, x: Any, device: Any = None) -> Any:
    """`x` as the plain numbers that NumPy takes there. Raises `TypeError` or `ValueError` for what CuPy refuses.

    >>> import numpy as np
    >>> plain("sum", "axis", np.array([0, 2])), plain("cumsum", "axis", np.array(1))
    ((0, 2), 1)
    >>> plain("cumsum", "axis", np.array([0, 2]))
    Traceback (most recent call last):
    TypeError: cumsum: axis takes a whole number, got an array of int64, shape (2,)
    """
    kind = kind_of(function, parameter)
    if kind is None or (type(x) in PLAIN and kind is not shape_like):
        return x
    return _by_kind(kind, function, parameter, x, device)


def _by_kind(kind: Callable, function: str, parameter: str, x: Any, device: Any) -> Any:
    try:
        made = kind(x)
    except (TypeError, ValueError, NotImplementedError) as error:
        raise type(error)(_refusal(function, parameter, kind, x)) from None
    if kind in (operand, array_like) and isinstance(made, np.ndarray):
        return device.upload(made, explicit=False)
    return made


def _refusal(function: str, parameter: str, kind: Callable, x: Any) -> str:
    text = f"{function}: {parameter} takes {_IN_WORDS[kind]}, got {in_words(x)}"
    if isinstance(x, Stored):
        return f"{text}, on {x.device}. {WRITE['to the host']}(x) copies it to the host"
    return text


def _operands(args: tuple, device: Any) -> tuple:
    """``einsum("ij,j", x, y)`` or ``einsum(x, [0, 1], y, [1])``: operands are moved, lists of axes are the host's."""
    made = []
    has_text = isinstance(args[0], str)
    pairs = len(args) // 2 * 2  # without text, an operand and its axes; what may come last are the result's axes
    for i, x in enumerate(args):
        if type(x) in PLAIN:
            made.append(x)
            continue
        is_operand = has_text or (i % 2 == 0 and i < pairs)
        kind = array_like if is_operand else several
        made.append(_by_kind(kind, "einsum", f"argument {i + 1}", x, device))
    return tuple(made)


def _spacing(args: tuple, device: Any) -> tuple:
    """``gradient(x, spacing, …)``: numbers, or the coordinates along an axis."""
    made = [device.upload(x, explicit=False) if isinstance(x, np.ndarray) and x.ndim else x for x in args[1:]]
    return (*args[:1], *made)


_ANY_NUMBER = {"einsum": _operands, "gradient": _spacing}  # functions that take any number of arguments


class HostParameters:
    """Those of one function: where they are among its arguments, and what they take."""

    def __init__(self, function: str, parameters: tuple[str, ...]) -> None:
        self._function = function
        found = [(i, name, kind_of(function, name)) for i, name in enumerate(parameters)]
        self._places = [(i, name, kind) for i, name, kind in found if kind is not None]
        self._any_number = _ANY_NUMBER.get(function)
        # No argument before it needs a look.
        if self._any_number:
            self.first = -1
        elif self._places:
            self.first = self._places[0][0]
        else:
            self.first = len(parameters) + 1

    def plain(self, args: tuple, kwargs: dict, device: Any) -> tuple[tuple, dict]:
        """A call's arguments, with plain numbers where the function takes some."""
        if self._any_number is not None:
            args = self._any_number(args, device)
        for i, name, kind in self._places:
            if i >= len(args):
                break
            if type(args[i]) not in PLAIN:
                made = _by_kind(kind, self._function, name, args[i], device)  # type: ignore[arg-type]
                args = (*args[:i], made, *args[i + 1 :])
        if kwargs:
            kwargs = {name: plain(self._function, name, x, device) for name, x in kwargs.items()}
        return args, kwargs
