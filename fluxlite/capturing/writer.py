"""From a call to a line of Python: names for the things that a replay uses, and statements."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..devices.base import Device
from .functions import traits_of
from .interrupts import uninterrupted
from .memory import is_real_array
from .places import GONE, same, same_contents
from .program import Call, CaptureError, Number
from .terms import same_keys, same_of_python

_SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "pow": "**", "floordiv": "//", "mod": "%"}


class Writer:
    """Names for the things that the replay uses, and statements.

    `as_they_come`: by id, the inputs that are used as they come, and their names.
    """

    def __init__(self, layout: Any, as_they_come: dict[int, str]) -> None:
        self.space: dict[str, Any] = {  # what the replay's names stand for
            "copyto": np.copyto,
            "copy_checked": copy_checked,
            "errstate": np.errstate,
            "uninterrupted": uninterrupted,
            "share": np.may_share_memory,
            "same": same,
            "same_contents": same_contents,
            "same_keys": same_keys,
            "same_of_python": same_of_python,
            "gone": GONE,
        }
        self._layout = layout
        self._as_they_come = as_they_come
        self._names: dict[int, tuple[str, Any]] = {}

    def name(self, x: Any, prefix: str = "c") -> str:
        """How the thing `x` is called in the replay."""
        if type(x) is Number:
            return x.name
        if type(x) in (tuple, list) and _has_things(x):
            inside = ", ".join(map(self.name, x))
            return f"({inside},)" if type(x) is tuple else f"[{inside}]"
        if x is None or type(x) in (bool, int) or (type(x) is float and np.isfinite(x)):
            return f"({x!r})"
        if id(x) in self._as_they_come:
            return self._as_they_come[id(x)]
        return self.thing(x, prefix)

    def thing(self, x: Any, prefix: str = "c") -> str:
        """The name of this very object, whatever is in it."""
        if x is None or x is True or x is False:
            return f"{x}"
        if id(x) not in self._names:
            thing = x
            if type(x) is np.ndarray:
                prefix = "a"
                thing = self._layout.at(x)
            name = f"{prefix}{len(self._names)}"
            self._names[id(x)] = (name, x)  # which keeps `x` alive
            self.space[name] = thing
        return self._names[id(x)][0]

    def statement(self, call: Call) -> str:
        """The call as Python: a line, or two of them under ``np.errstate``."""
        if call.errors:
            return f"with errstate(**{self.thing(call.errors)}):\n    {self.plain_statement(call)}"
        return self.plain_statement(call)

    def plain_statement(self, call: Call) -> str:
        """The call, whatever ``np.errstate`` says."""
        names = [self.name(x) for x in call.args]
        if call.kind in ("read", "compute", "store"):
            return self._of_numbers(call, names)
        if call.function is np.ndarray.fill:
            return f"{names[0]}.fill({names[1]})"
        function = self.name(call.function, f"{getattr(call.function, '__name__', 'f').strip('<>')}_")
        if isinstance(call.function, Device):
            function += ".rng.random"  # of today's generator: `fluxlite.seed` may have given it another one
        keywords = [f"{key}={self.name(x)}" for key, x in call.kwargs.items()]
        arguments = ", ".join([*names, *keywords])
        if call.kind == "in place":
            return f"{function}({arguments})"
        out = self.name(call.out)
        if call.kind == "scalar":
            return f"{out}[()] = {function}({', '.join(map(self._scalar, call.args))})"
        if call.kind == "ufunc" and not keywords and call.function not in (np.maximum, np.minimum):
            return f"{function}({arguments}, {out})"  # quicker than out=, which NumPy wants for those two
        if call.kind == "reduce" and not call.kwargs.keys() - {"axis", "keepdims"}:
            axis = self.name(call.kwargs.get("axis", 0))
            keepdims = ", True" if call.kwargs.get("keepdims", False) else ""
            return f"{function}({names[0]}, {axis}, None, {out}{keepdims})"
        if call.kind in ("ufunc", "reduce", "out", "draw"):
            return f"{function}({arguments}, out={out})"
        if call.kind == "item":
            return f"copy_checked({out}, {function}({arguments})[{call.item}])"
        if self.is_checked(call):
            return f"copy_checked({out}, {function}({arguments}))"
        return f"copyto({out}, {function}({arguments}))"

    def _scalar(self, x: Any) -> str:
        """A number of NumPy's, which lies in a buffer of shape ()."""
        if is_real_array(x):
            return f"{self.name(x)}[()]"
        return self.name(x)

    def is_checked(self, call: Call) -> bool:
        """Whether a replay looks at the shape and type of the call's result, which may depend on values."""
        return call.kind == "item" or (call.kind == "copied" and not traits_of(call.function).shape_follows)

    def _of_numbers(self, call: Call, names: list[str]) -> str:
        """What the host does with Python's numbers."""
        if call.kind == "read":
            return f"{call.out.name} = {names[0]}{call.args[1]}"
        if call.kind == "store":
            return f"{names[0]}[{call.args[1]!r}] = {names[2]}"
        symbol = _SYMBOLS.get(call.function.__name__)
        if symbol is None:
            return f"{call.out.name} = -{names[0]}"
        return f"{call.out.name} = {names[0]} {symbol} {names[1]}"


def copy_checked(out: np.ndarray, value: Any) -> None:
    """Copy `value` to the buffer `out`. For some functions, such as np.bincount, its shape depends on values."""
    check_alike(out, value)
    np.copyto(out, value)


def check_alike(out: Any, value: Any) -> None:
    """Raise `CaptureError` unless a call's result has the shape and the type that it had when it was captured."""
    if value.shape != out.shape:
        raise CaptureError(
            f"a result has shape {value.shape} now, and {out.shape} when the step was captured: its shape depends "
            "on values, and a replay's can't"
        )
    if value.dtype != out.dtype:
        raise CaptureError(
            f"a result has type {value.dtype} now, and {out.dtype} when the step was captured: its type depends on "
            f"values, and a replay's can't. Make it one of them by itself, as in x.astype(complex)"
        )


def _has_things(x: Iterable) -> bool:
    """Whether a tuple or list has an array or a number of the host's in it, so that it's written out."""
    inner = [part for part in x if type(part) in (tuple, list)]
    return any(is_real_array(part) or type(part) is Number for part in x) or any(map(_has_things, inner))
