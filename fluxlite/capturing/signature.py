"""What a captured step is called with, and what it gives back: arrays, and a form that has to stay the same.

Arrays and NumPy's numbers are inputs of a replay. All else is the signature: another number of Python's, another text,
another structure, shape, type or memory order is another call, which is captured by itself.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..tree.contract import is_leaf
from ..tree.flat import flatten
from .program import CaptureError, Program, check_kind, check_plain, on_device, users_line, values_of
from .recorded import CapturedArray, CapturedNumber, wrap

_TEXTS_AND_NUMBERS = (bool, int, float, complex, str, bytes, type(None))


def signature(x: Any, arrays: list, others: list) -> Any:
    """What has to be as it was. Arrays go into `arrays`, in order, and objects such as a model into `others`."""
    kind = type(x)
    if isinstance(x, np.ndarray):
        check_plain(x, "an argument")
        arrays.append(x)
        return x.shape, x.dtype, x.strides
    if on_device(x):
        arrays.append(x)
        return x.device, x.shape, x.dtype, x.strides
    check_kind(x, "an argument")
    if kind is tuple or kind is list or _is_named(x):
        return kind, *[signature(part, arrays, others) for part in x]
    if kind is dict:
        return kind, *x, *[signature(part, arrays, others) for part in x.values()]
    if isinstance(x, np.void):
        raise CaptureError("captured(step): an argument is a record of NumPy's: give an array of them")
    if isinstance(x, np.generic):
        arrays.append(x)
        return kind
    if kind is float or kind is complex:
        return kind, repr(x)  # 0.0 isn't -0.0, and NaN is NaN
    if isinstance(x, _TEXTS_AND_NUMBERS):
        return kind, x
    others.append(x)
    return kind, id(x)


def stand_ins(x: Any, program: Program, given: list, containers: list) -> Any:
    """The argument `x` as the step gets it: a `CapturedArray` over a copy of each array. New lists: `containers`."""
    kind = type(x)
    if isinstance(x, (np.ndarray, np.generic)) or on_device(x):
        given.append(x)
        if isinstance(x, np.generic):
            copy = np.array(x)
        else:
            copy = _copy_in_order(values_of(x))
        if on_device(x):
            copy = x.device.new(copy)
        program.inputs.append(program.new(copy))
        return wrap(program, copy, isinstance(x, np.generic))
    if _is_named(x):
        return x._make([stand_ins(part, program, given, containers) for part in x])
    if kind is tuple:
        return tuple([stand_ins(part, program, given, containers) for part in x])
    made: Any = x
    if kind is list:
        made = [stand_ins(part, program, given, containers) for part in x]
        containers.append(made)
    elif kind is dict:
        made = {key: stand_ins(part, program, given, containers) for key, part in x.items()}
        containers.append(made)
    return made


def _is_named(x: Any) -> bool:
    """Whether it's a named tuple."""
    return isinstance(x, tuple) and hasattr(x, "_fields")


def _copy_in_order(x: np.ndarray) -> np.ndarray:
    """A copy with the strides of `x`, so that NumPy adds up in the same order."""
    copy = np.empty_like(x)
    if copy.strides != x.strides and x.size:
        low, high = np.lib.array_utils.byte_bounds(x)
        memory = np.empty(high - low, np.uint8)
        offset = x.__array_interface__["data"][0] - low
        copy = np.ndarray(x.shape, x.dtype, memory, offset, x.strides)
    copy[...] = x
    return copy


@dataclass(frozen=True)
class Slot:
    """Where the array with this number stands in a result."""

    number: int


@dataclass(frozen=True)
class Rebuilt:
    """An object that the step makes, such as a gradient: each call makes another, with these leaves."""

    flat: Any
    leaves: list

    def filled(self, leaves: list) -> Any:
        return self.flat.results(leaves)[self.flat.root]


def template(result: Any, outputs: list[CapturedArray]) -> Any:
    """The form of a result, with a `Slot` for each array. The arrays are added to `outputs`."""
    if hasattr(type(result), "__primitive__"):
        result = result.data
    if isinstance(result, CapturedArray):
        outputs.append(result)
        return Slot(len(outputs) - 1)
    if type(result) is CapturedNumber:
        raise CaptureError(f"{users_line()}: a captured step can't return a number that an optimizer computes")
    if type(result) in (tuple, list):
        return type(result)([template(part, outputs) for part in result])
    if type(result) is dict:
        return {name: template(part, outputs) for name, part in result.items()}
    if isinstance(result, np.ndarray):
        check_plain(result, "what the step returns")
    if not is_leaf(result):
        flat = flatten(result)
        if any(isinstance(leaf, CapturedArray) for leaf in flat.leaves):
            plain = [leaf.value if isinstance(leaf, CapturedArray) else leaf for leaf in flat.leaves]
            leaves = [template(leaf, outputs) for leaf in flat.leaves]
            return Rebuilt(flatten(flat.results(plain)[flat.root]), leaves)  # which keeps none of the captured arrays
    return result  # it was found, and isn't changed


def filled(form: Any, values: list) -> Any:
    """The result of this form, with `values` in its slots."""
    if type(form) is Slot:
        return values[form.number]
    if type(form) is Rebuilt:
        return form.filled([filled(leaf, values) for leaf in form.leaves])
    if type(form) in (tuple, list):
        return type(form)([filled(part, values) for part in form])
    if type(form) is dict:
        return {name: filled(part, values) for name, part in form.items()}
    return form


# -- the same as lines of the replay -----------------------------------------------------------------------------------


def checks(args: tuple, kwargs: dict[str, Any], writer: Any) -> list[str]:
    """Lines that take the arrays x0, x1, … out of ``args`` and ``kwargs``, and find another signature."""
    lines: list[str] = []
    count = itertools.count()
    _check(args, "args", lines, count, writer)
    if kwargs:
        _check(kwargs, "kwargs", lines, count, writer)
    else:
        lines.append("if kwargs: return missed")
    return lines


def _check(x: Any, now: str, lines: list[str], count: Iterator[int], writer: Any) -> None:
    kind = type(x)
    if isinstance(x, np.ndarray) or on_device(x):
        name = f"x{next(count)}"
        lines.append(f"{name} = {now}")
        tests = [f"type({name}) is not {writer.thing(kind)}", f"{name}.shape != {x.shape}"]
        tests += [f"{name}.strides != {x.strides}", f"{name}.dtype != {writer.thing(x.dtype)}"]
        if on_device(x):
            tests.append(f"{name}.device != {writer.thing(x.device)}")
        lines.append(f"if {' or '.join(tests)}: return missed")
    elif isinstance(x, np.generic):
        name = f"x{next(count)}"
        lines.append(f"{name} = {now}")
        lines.append(f"if type({name}) is not {writer.thing(kind)}: return missed")
    elif kind is tuple or kind is list or _is_named(x):
        name = f"{now.partition('[')[0]}_{len(lines)}"
        lines.append(f"{name} = {now}")
        lines.append(f"if type({name}) is not {writer.thing(kind)} or len({name}) != {len(x)}: return missed")
        for number, part in enumerate(x):
            _check(part, f"{name}[{number}]", lines, count, writer)
    elif kind is dict:
        name = f"{now.partition('[')[0]}_{len(lines)}"
        lines.append(f"{name} = {now}")
        lines.append(f"if type({name}) is not dict or [*{name}] != {writer.thing([*x])}: return missed")
        for key, part in x.items():
            _check(part, f"{name}[{writer.thing(key)}]", lines, count, writer)
    elif isinstance(x, _TEXTS_AND_NUMBERS):
        lines.append(f"if not same({now}, {writer.thing(x)}): return missed")
    else:
        lines.append(f"if id({now}) != {id(x)}: return missed")  # held weakly: the plan goes when it goes


def written(form: Any, values: list[str], writer: Any) -> str:
    """A result of this form as Python's expression, with the expressions `values` in its slots."""
    if type(form) is Slot:
        return values[form.number]
    if type(form) is Rebuilt:
        leaves = ", ".join(written(leaf, values, writer) for leaf in form.leaves)
        return f"{writer.thing(form.filled)}([{leaves}])"
    if type(form) is tuple:
        return f"({''.join(f'{written(part, values, writer)}, ' for part in form)})"
    if type(form) is list:
        return f"[{', '.join(written(part, values, writer) for part in form)}]"
    if type(form) is dict:
        items = [f"{writer.thing(name)}: {written(part, values, writer)}" for name, part in form.items()]
        return f"{{{', '.join(items)}}}"
    return writer.thing(form)
