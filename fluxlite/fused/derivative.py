"""The derivative of a fused function: its calls again, and their rules, all in one launch.

What lies between isn't kept for the way back. It's computed again there, which is quicker than reading it from memory.
"""

from contextlib import closing
from functools import partial
from typing import Any

import numpy as np

from ..autodiff.derivatives.elementwise import fit
from ..autodiff.gradients import new_level
from ..autodiff.rules import rule_for_each
from ..autodiff.tracked import TrackedArray, record
from ..autodiff.way_back import pull_back
from ..tree.ties import is_tracked


def on_tape(fused: Any, args: tuple) -> Any:
    """Call it with some arguments that are tracked. The innermost gradient keeps the call."""
    level = max((x.level for x in args if type(x) is TrackedArray), key=lambda level: level.number)
    tracked = tuple([i for i, x in enumerate(args) if type(x) is TrackedArray and x.level is level])
    call = Call(fused, tracked, tuple([i for i in tracked if type(args[i].value) is float]))
    result = record(_run, (call, *args))
    if type(result.value) is not tuple:
        return result
    rule, (_, *operands), keywords, parents = result.call
    calls = [(rule, [call.part(i), *operands], keywords, parents) for i in range(len(result.value))]
    return tuple(map(TrackedArray, result.value, [result.level] * len(calls), calls))


class Call:
    """One call of a fused function with tracked arrays, and what comes back from it."""

    def __init__(self, fused: Any, tracked: tuple[int, ...], numbers: tuple[int, ...]) -> None:
        self.fused, self.tracked = fused, tracked  # which of its arguments are tracked by the innermost gradient
        self.numbers = numbers  # which of these are Python's numbers, that leave the type of an array as it is
        self.arrived: Any = None  # the gradient for which there's `found`
        self.found: Any = None

    def back(self, position: int, g: Any, operands: tuple) -> Any:
        """The gradient of one operand. One launch gives those of all."""
        if self.arrived is not g:
            way_back = self.fused.another(self.tracked, partial(_way_back, self.fused, self.tracked), "_back")
            self.found, self.arrived = way_back(g, *self.given(operands)), g
        return self.found[self.tracked.index(position)]

    def part(self, number: int) -> "Call":
        """The same call, for a function of several results: the way back from one of them."""
        function = self.fused.function
        return Call(self.fused.another(number, lambda *args: function(*args)[number]), self.tracked, self.numbers)

    def given(self, operands: tuple) -> list:
        """The operands as they were given: the tape makes NumPy's numbers of Python's."""
        return [float(x) if i in self.numbers and not is_tracked(x) else x for i, x in enumerate(operands)]


def _run(call: Call, *operands: Any) -> Any:
    return call.fused.another("forward", call.fused.function)(*call.given(operands))


def _piece(position: int, g: Any, out: Any, call: Call, *operands: Any) -> Any:
    return fit(call.back(position - 1, g, operands), operands[position - 1])


rule_for_each(_run, _piece)


def _way_back(fused: Any, tracked: tuple[int, ...], g: Any, *operands: Any) -> tuple:
    """The gradients of the tracked arguments, given that of the result."""
    with closing(new_level()) as level:
        followed = [TrackedArray(x, level) if i in tracked else x for i, x in enumerate(operands)]
        result = fused.function(*followed)
        is_ours = type(result) is TrackedArray and result.level is level
        found = pull_back(result, g) if is_ours else {}
        return tuple([found[followed[i]] if followed[i] in found else np.zeros_like(g) for i in tracked])
