"""Two runs of a step have to make the same calls with the same constants: what differs would be repeated wrongly."""

import functools
from typing import Any

import numpy as np

from .memory import is_real_array, root_of, values_of
from .program import Call, Number, Program
from .recorded import NUMBERS
from .terms import terms_of


def disagreement(first: Program, second: Program) -> str:
    """What differs between two runs, in words, with the lines; '' if nothing does."""
    sides = (_Side(first), _Side(second))
    for one, two in zip(first.calls, second.calls):
        trouble = _other_call(one, two, sides) or _other_arrays(one, two, first)
        if trouble:
            return trouble
    if len(first.calls) != len(second.calls):
        longer = max(first.calls, second.calls, key=len)
        line = longer[min(len(first.calls), len(second.calls))].line
        return f"{line}: this is computed in one run, and not in the one before. A replay would always do the same"
    if _assigned(first, sides[0]) != _assigned(second, sides[1]):
        return (
            "the step assigns something else than the time before: a replay would always do the same. Assign to the "
            "same names at each call, or capture each way by itself"
        )
    return ""


def _assigned(program: Program, side: "_Side") -> list:
    """Equal for two runs that assign what they compute in the same way to the same places."""
    return [(x.place.which(), x.structure.terms(), side.terms(x.arrays), x.are_numbers) for x in program.rebindings]


def _other_call(one: Call, two: Call, sides: "tuple[_Side, _Side]") -> str:
    """What to say if the two aren't the same call, with the same constants, of memory in the same places."""
    is_same = one.line == two.line and one.kind == two.kind
    if sides[0].terms(one.function) != sides[1].terms(two.function):
        is_same = False
    if is_same and sides[0].terms(_of(one)) == sides[1].terms(_of(two)):
        return ""
    before, now = _constants(one), _constants(two)
    if is_same and terms_of(before) != terms_of(now):
        return (
            f"{two.line}: it's called with {_few(now)}, and the time before with {_few(before)}. A "
            "replay would repeat one of them. Make it an argument of the step, as an array or np.float32(…)"
        )
    if is_same:
        return _words_for_other_arrays(one, two)
    return (
        f"the step does something else than the time before: {one.line} ({_name(one)}), then {two.line} "
        f"({_name(two)}). A "
        "replay would always do the same: let the arrays decide, with np.where, or capture each way by itself"
    )


def _words_for_other_arrays(one: Call, two: Call) -> str:
    """What to say of the same call with other arrays, or with a result that's not as it was."""
    before, now = _shapes_and_types(one.writes()), _shapes_and_types(two.writes())
    if _shapes_and_types(one.reads()) == _shapes_and_types(two.reads()) and before != now:
        return (
            f"{two.line}: the result of {_name(two)} has {now}, and {before} the time before: that depends on values, "
            "and a replay's can't"
        )
    return (
        f"{two.line}: {_name(two)} gets other arrays or functions than the time before. A replay would always take the "
        "same: let the arrays decide, with np.where, or capture each way by itself"
    )


def _shapes_and_types(arrays: list[np.ndarray]) -> str:
    return ", ".join(f"shape {x.shape} of {x.dtype}" for x in arrays)


def _other_arrays(one: Call, two: Call, first: Program) -> str:
    """What to say if an array that neither run has noted was made by each of them."""
    for x, y in zip(one.changes, two.changes):
        if _is_another(x, y, first):
            return (
                f"{two.line}: an array that NumPy makes in the step, such as np.zeros(3), is changed in place, and "
                "a replay would go on with it. Make it as np.zeros_like(x, shape=…), or before the call"
            )
    for x, y in zip(one.reads(), two.reads()):
        if _is_another(x, y, first) and not _have_same_bytes(values_of(x), values_of(y)):
            return (
                f"{two.line}: an array made outside isn't what it was the time before. A replay would repeat it. "
                "Make it an argument of the step, or change it in place"
            )
    return ""


def _of(call: Call) -> tuple:
    return call.args, call.kwargs, call.out, call.item


def _name(call: Call) -> str:
    return getattr(call.function, "__name__", "")


class _Side:
    """One of two runs: its own memory gets numbers in the order in which it's met, so that the two can be compared."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._numbers: dict[int, int] = {}

    def terms(self, x: Any) -> Any:
        """What's equal for the two runs if `x` is the same in both."""
        if is_real_array(x):
            root = root_of(x)
            start = values_of(x).__array_interface__["data"][0] - root.__array_interface__["data"][0]
            whose: Any = "outside"
            if id(root) in self._program.owned:
                whose = self._numbers.setdefault(id(root), len(self._numbers))
            return whose, start, x.shape, x.strides, x.dtype
        if isinstance(x, (tuple, list)):
            return type(x), *map(self.terms, x)
        if isinstance(x, dict):
            return dict, *[(terms_of(key), self.terms(value)) for key, value in x.items()]
        if type(x) is Number:
            return x.name
        if type(x) is slice:
            return slice, *map(self.terms, (x.start, x.stop, x.step))
        if type(x) is functools.partial:  # np.arange, like an array of a device
            return functools.partial, *map(self.terms, (x.func, x.args, x.keywords))
        return terms_of(x)


def _is_another(x: np.ndarray, y: np.ndarray, first: Program) -> bool:
    """Whether two arrays from outside are two objects, over two pieces of memory."""
    return x is not y and not first.owns(x) and root_of(x) is not root_of(y)


def _have_same_bytes(x: np.ndarray, y: np.ndarray) -> bool:
    return x.tobytes() == y.tobytes()  # 0.0 isn't -0.0


def _constants(call: Call) -> list:
    found: list = []
    _collect((call.args, call.kwargs), found)
    return found


def _collect(x: Any, found: list) -> None:
    if isinstance(x, (tuple, list)):
        for part in x:
            _collect(part, found)
    elif isinstance(x, dict):
        _collect(list(x.values()), found)
    elif isinstance(x, (*NUMBERS, complex, range, str, bytes, np.generic)):
        found.append(x)


def _few(constants: list) -> str:
    return ", ".join(f"{x!r}" for x in constants[:4]) or "no constant"
