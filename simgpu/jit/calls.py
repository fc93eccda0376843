"""Calls in a kernel: of cupyx.jit's names, NumPy's functions of numbers, casts, and functions of the device."""

from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from . import builtins, names
from .expressions import Expressions, known_obj, name_of
from .types import SIGNATURES
from .values import Expression, Known, LeftOut, Problem, Value, called, cast

# NumPy's functions that a thread can compute. Some of CuPy's are no ufuncs in NumPy.
FUNCTIONS = {getattr(np, name): name for name in SIGNATURES if hasattr(np, name)}
FUNCTIONS |= {np.abs: "absolute", np.true_divide: "true_divide", np.remainder: "remainder", np.conjugate: "conjugate"}


# What a kernel has in place of functions that many would try.
_INSTEAD = {
    "where": "a if test else b", "clip": "min(max(x, low), high)", "abs": "np.abs", "round": "np.rint", "pow": "**",
    "print": "kernel.watched = (block, thread), which shows a thread line by line", "sum": "a loop, or jit.atomic_add",
    "dot": "a loop", "mean": "a loop", "enumerate": "range", "zip": "range", "float32": "np.float32(x) of one number",
}  # fmt: skip
_FUNCTIONS = "NumPy's functions of numbers, such as np.tanh, and your own under @jit.rawkernel(device=True)"


class Calls(Expressions):
    """Translates calls, beside the other expressions."""

    def _Call(self, node: ast.Call) -> Expression:
        function = self.expression(node.func)
        if not isinstance(function, Known):
            raise Problem("this is a value, not a function")
        starred = [argument for argument in node.args if isinstance(argument, ast.Starred)]
        if starred or any(keyword.arg is None for keyword in node.keywords):
            raise Problem("arguments are written out, without * and **")
        args = [self.expression(argument) for argument in node.args]
        keywords = {str(keyword.arg): self.expression(keyword.value) for keyword in node.keywords}
        call = self._built_in(function.obj)
        if call is not None:
            try:
                inspect.signature(call).bind(self, node, *args, **keywords)
            except TypeError as error:
                if function.obj in (names.grid, names.gridsize) and not args:
                    raise Problem(f"write {function.obj!r}(1), or 2 or 3 for the number of axes") from None
                raise Problem(f"{function.obj!r}: {error}") from None
            return call(self, node, *args, **keywords)
        return self._other(node, function.obj, args, keywords)

    def _built_in(self, function: Any) -> Callable | None:
        if isinstance(function, names.Builtin):
            return builtins.CALLS.get(function.name)
        return builtins.PYTHONS.get(function) if function.__hash__ else None

    def _other(self, node: Any, function: Any, args: list[Expression], keywords: dict[str, Expression]) -> Expression:
        if hasattr(function, "as_part_of"):  # a kernel of ours
            if keywords:
                raise Problem("a function of the device takes no keywords")
            return function.as_part_of(self, args)
        name = FUNCTIONS.get(function) if function.__hash__ else None
        if name is not None:
            return self._function(name, args, keywords)
        if function is print:
            raise LeftOut(
                f"no thread prints: cupyx.jit calls print while it compiles, or refuses it. There's {_INSTEAD['print']}"
            )
        if all(isinstance(x, Known) for x in (*args, *keywords.values())):
            try:
                known = {word: known_obj(x) for word, x in keywords.items()}
                found = function(*map(known_obj, args), **known)
            except Exception as error:
                raise Problem(str(error)) from None
            if isinstance(found, np.ndarray):
                raise Problem(_no_arrays(found))
            return name_of(found)
        if inspect.isclass(function) and issubclass(function, (bool, int, float, complex, np.generic)):
            if len(args) != 1 or keywords:
                raise Problem(f"{function.__name__}(…) takes one number")
            return cast(args[0], np.dtype(function), checked=False)
        word = getattr(function, "__name__", str(function))
        instead = _INSTEAD.get(word, f"np.{word}" if hasattr(math, word) and word in SIGNATURES else _FUNCTIONS)
        raise Problem(f"a kernel doesn't know {word}. There's {instead}")

    def _function(self, name: str, args: list[Expression], keywords: dict[str, Expression]) -> Value:
        dtype = keywords.pop("dtype", Known(None))
        count = len(SIGNATURES[name][0][0])
        if keywords or len(args) != count or dtype != Known(None):
            raise Problem(f"np.{name} takes {count} {'number' if count == 1 else 'numbers'} and no keywords")
        return called(name, args)


def _no_arrays(x: np.ndarray) -> str:
    shared = f", or jit.shared_memory(np.{x.dtype}, {x.size})" if x.dtype.kind in "biufc" else ""
    if shared:
        shared += ", which all threads of the block share; a thread's own numbers are variables"
    return f"a kernel makes no arrays: give it one as an argument{shared}"
