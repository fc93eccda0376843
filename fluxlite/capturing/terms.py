"""Whether two constants compute alike: a replay takes one for the other only if their terms are equal.

Equality in Python isn't enough: 1, 1.0 and True are equal, and so are 0.0 and -0.0.
"""

import functools
import struct
import types
from collections.abc import Hashable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

_OF_C = (types.BuiltinFunctionType, types.MethodWrapperType)


def terms_of(x: Any) -> Hashable:
    """Equal for two things that compute alike. What has no value, such as a model, computes like itself only."""
    return _terms(x, frozenset())


def bits_of(x: complex) -> bytes:
    """Equal for what computes alike: 0.0 isn't -0.0, and NaN is NaN if it has the same sign."""
    return struct.pack("dd", x.real, x.imag)


def _terms(x: Any, around: frozenset[int]) -> Hashable:
    """`around` are the ids of the functions that `x` is in: one may be in itself."""
    cls: Any = type(x)
    if isinstance(x, np.generic):
        return cls, x.dtype, x.tobytes()
    if cls in (float, complex):
        return cls, bits_of(x)
    if id(x) in around:
        return "again"
    parts = _parts(x)
    if parts is not None:
        around |= {id(x)}
        return cls, *[_terms(part, around) for part in parts]
    if cls is frozenset:
        return cls, frozenset(_terms(part, around) for part in x)
    if has_a_value(cls):
        return cls, x
    return cls, id(x)


def _parts(x: Any) -> list | None:
    """What has to be alike for `x` to compute alike. None if it has no parts."""
    cls: Any = type(x)
    if cls in (tuple, list):
        return list(x)
    if cls is dict:
        return [*x, *x.values()]
    if cls in (slice, range):
        return [x.start, x.stop, x.step]
    if cls is types.FunctionType:
        return [x.__code__, id(x.__globals__), x.__defaults__, x.__kwdefaults__, vars(x), *map(_content, _cells(x))]
    if cls is types.MethodType:
        return [x.__func__, x.__self__]
    if cls is functools.partial:
        return [x.func, x.args, x.keywords]
    if isinstance(x, _OF_C):
        return [x.__name__, x.__self__]
    if is_dataclass(x) and has_a_value(cls):
        return [getattr(x, field.name) for field in fields(x)]
    return None


def _cells(f: types.FunctionType) -> tuple:
    return f.__closure__ or ()


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it's empty
        return cell


def has_a_value(cls: Any) -> bool:
    """Whether objects of a class are what's equal to them, as texts and dates are."""
    return cls.__hash__ not in (None, object.__hash__) and cls.__eq__ is not object.__eq__


def same_keys(box: Any, keys: list) -> bool:
    """Whether a dict has these keys, in this order, and of these types."""
    return len(box) == len(keys) and all(x is y or terms_of(x) == terms_of(y) for x, y in zip(box, keys))


# -- texts and numbers of a class of the user's ------------------------------------------------------------------------


def has_attributes(x: Any) -> bool:
    """Whether an object has something besides its text or number."""
    if getattr(x, "__dict__", None):
        return True
    return any(vars(cls).get("__slots__") for cls in type(x).__mro__)


def of_python(x: Any) -> Any:
    """The text or number that an object is, without what its class adds."""
    if isinstance(x, str):
        return str.__str__(x)
    if isinstance(x, bytes):
        return bytes.join(b"", [x, b""])
    if isinstance(x, int):
        return int.__int__(x)
    if isinstance(x, float):
        return float.__float__(x)
    return complex(x.real, x.imag)


def same_of_python(x: Any, y: Any) -> bool:
    """Whether `x` is the same text or number as `y`, of the same class, and has no attributes either."""
    if x is y:
        return True
    if type(x) is not type(y) or has_attributes(x):
        return False
    return terms_of(of_python(x)) == terms_of(of_python(y))
