"""An optimizer's step while it's captured: its rates, and what it computes from the count of steps, stay numbers.

A replay reads ``leaf.rule.eta`` when it comes to it, so a schedule or `adjust` needs no new capture; and it counts.
"""

import operator
from typing import Any

from ..optim.rules import NUMBER_TYPES
from ..optim.update import Leaf, take_step
from ..tree.ties import is_array
from .guards import is_read
from .program import CaptureError, Number, Program, users_line
from .recorded import CapturedArray, CapturedNumber

NUMBER_TYPES.append(CapturedNumber)


def take_captured_step(leaf: Leaf, x: CapturedArray, g: Any) -> None:
    """What `update` does with a parameter of a step that's being captured."""
    program = x.program
    memory = _memory(program, leaf.memory)
    rule = _rule(program, leaf, leaf.rule, "")
    before = _attributes(rule)
    after = take_step(rule, memory, x, g)
    _check_unchanged(rule, before)
    _keep(program, leaf.memory, after)


def _memory(program: Program, memory: dict[str, Any]) -> dict[str, Any]:
    """A copy of what's remembered, in which counts are numbers that each replay reads."""
    found: dict[str, Any] = {}
    for name, value in memory.items():
        if type(value) is dict:
            value = _memory(program, value)
        elif type(value) in (int, float):
            value = CapturedNumber(program.read_number(memory, f"[{name!r}]", value), program)
        found[name] = value
    return found


def _rule(program: Program, leaf: Leaf, rule: Any, path: str) -> Any:
    """The rule, with numbers that each replay reads in place of its own."""
    own = getattr(rule, "__dict__", None)
    if own is None or rule.gathered is not None:
        raise CaptureError(f"{users_line()}: update with {type(rule).__name__} can't be captured")
    made: Any = object.__new__(type(rule))
    for name, value in own.items():
        place = f".rule{path}.{name}"
        if name == "rules":
            value = tuple([_rule(program, leaf, one, f"{path}.rules[{i}]") for i, one in enumerate(value)])
        elif type(value) is float and is_read(value):
            value = CapturedNumber(program.read_number(leaf, place, value), program)
        elif is_read(value):
            numbers = [program.read_number(leaf, f"{place}[{i}]", number) for i, number in enumerate(value)]
            value = tuple([CapturedNumber(number, program) for number in numbers])
        vars(made)[name] = value
    return made


def _attributes(rule: Any) -> list[tuple[str, Any]]:
    """What a rule and those inside it have."""
    found = list(vars(rule).items())
    for inner in rule.rules:
        found += _attributes(inner)
    return found


def _check_unchanged(rule: Any, before: list[tuple[str, Any]]) -> None:
    """Raise if a rule has changed itself: it's a copy here, and a replay wouldn't change the rule either."""
    now = _attributes(rule)
    if len(now) == len(before) and all(map(operator.is_, [x for _, x in now], [x for _, x in before])):
        return
    known = {(name, id(value)) for name, value in before}
    names = [name for name, value in now if (name, id(value)) not in known]
    raise CaptureError(
        f"{users_line()}: {type(rule).__name__} changes its own {', '.join(names) or 'attributes'}, and a replay "
        "wouldn't. What a rule remembers belongs into its memory, one for each parameter"
    )


def _keep(program: Program, memory: dict[str, Any], after: dict[str, Any]) -> None:
    """Put what's remembered from now on where it was."""
    if memory.keys() != after.keys():
        raise CaptureError(
            f"{users_line()}: an optimizer that remembers {list(after)} after {list(memory)} can't be captured"
        )
    for name, value in after.items():
        before = memory[name]
        if type(before) is dict:
            _keep(program, before, value)
        elif type(value) is CapturedNumber:
            if not _is_read_here(program, value.number, memory, name):
                program.store_number(memory, name, value.number)
        elif is_array(before) and value is not before:
            memory[name] = value  # it's a place that gets another array
        elif not is_array(before) and value is not before:
            raise CaptureError(f"{users_line()}: an optimizer that remembers {name}={value!r} can't be captured")


def _is_read_here(program: Program, number: Number, memory: dict[str, Any], name: str) -> bool:
    return program.read_number(memory, f"[{name!r}]", memory[name]) is number
