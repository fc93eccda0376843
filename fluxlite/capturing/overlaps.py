"""Two names for one piece of memory, of which one is changed: a replay would have two, since it copies arguments.

While a step is recorded, that's refused. A replay finds it before anything has happened; then the call is recorded.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from .memory import root_of, values_of
from .program import Call, Program


def pairs_to_keep_apart(program: Program, calls: list[Call]) -> Iterator[tuple[int, Any]]:
    """Pairs that mustn't share memory: an argument's number, and another argument's, or an array from outside."""
    changed = {id(root): root for call in calls for root in map(root_of, call.changes)}
    changed_outside = [root for key, root in changed.items() if key not in program.owned]
    changed_inputs = [number for number, x in enumerate(program.inputs) if id(root_of(x)) in changed]
    read_outside = _read_outside(program, calls) if changed_inputs else []
    for number in range(len(program.inputs)):
        for root in changed_outside:
            yield number, root
        if number in changed_inputs:
            for x in read_outside:
                yield number, x
        for other in changed_inputs:
            if other != number:
                yield number, other


def _read_outside(program: Program, calls: list[Call]) -> list[np.ndarray]:
    """The arrays from outside that the calls read, each piece once."""
    found = {}
    for call in calls:
        for x in call.reads():
            if not program.owns(x):
                found[str(values_of(x).__array_interface__)] = x
    return list(found.values())
