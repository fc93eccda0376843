"""What of the notes a replay needs: the calls that somebody reads, those that are made once for good, the inputs."""

import numpy as np

from .functions import traits_of
from .memory import on_device, root_of
from .program import Call, Program


class Liveness:
    """Which calls a replay makes, and what becomes of the inputs. Arrays and memory are told apart by their ids.

    - `calls`: those of a replay. What nobody reads is left out.
    - `constants`: calls that compute the same each time. They're made once, when the plan is.
    - `changed`: the memory of inputs that the step changes in place, as it has to be for the caller, too.
    - `as_they_come`: the inputs that are read where the caller has them, with their names in the replay: x0, x1, …
      Other inputs are copied: they change, a view was made of them, or they're a result.
    """

    def __init__(self, program: Program, outputs: list[np.ndarray]) -> None:
        self._program = program
        changes = {id(root_of(x)) for call in program.calls for x in call.changes}
        self.changed = {id(root_of(x)) for x in program.inputs} & changes
        self._results = {id(root_of(x)) for x in outputs}
        live = live_calls(program, self._results | self.changed)
        self.constants = constant_calls(program, live)
        made_once = set(map(id, self.constants))
        self.calls = [call for call in live if id(call) not in made_once]
        self.as_they_come = self._inputs_as_they_come()

    def full_at_the_start(self) -> set[int]:
        """The memory that the inputs are copied to."""
        return {id(root_of(x)) for x in self._program.inputs if id(x) not in self.as_they_come}

    def elsewhere(self) -> set[int]:
        """The memory of inputs that are read where the caller has them: it needs no place among the buffers."""
        return {id(root_of(x)) for x in self._program.inputs if id(x) in self.as_they_come}

    def full_at_the_end(self) -> set[int]:
        """The buffers that are read after the last call, and the constants, which stay."""
        constants = {id(root_of(x)) for call in self.constants for x in call.writes()}
        return (self._results | self.changed) & self._program.owned.keys() | constants

    def _inputs_as_they_come(self) -> dict[int, str]:
        inputs = set(map(id, self._program.inputs))  # one with gaps is itself a view of the memory around them
        used = [x for call in self.calls for x in (*call.reads(), *call.writes())]
        viewed = {id(root_of(x)) for x in used if root_of(x) is not x and id(x) not in inputs}
        found = {}
        for i, x in enumerate(self._program.inputs):
            if x.ndim and not on_device(x) and id(root_of(x)) not in self.changed | viewed | self._results:
                found[id(x)] = f"x{i}"
        return found


def live_calls(program: Program, read_at_the_end: set[int]) -> list[Call]:
    """The calls whose results somebody reads: a later call, or the replay after the last one."""
    live = set(read_at_the_end)  # the memory that's read after the call in hand
    numbers: set[str] = set()  # and the numbers
    found: list[Call] = []
    for call in reversed(program.calls):
        if call.kind in ("read", "compute") and call.out.name not in numbers:
            continue
        targets = {id(root_of(x)) for x in call.writes()}
        somebody_reads = any(key in live or key not in program.owned for key in targets)
        if targets and not somebody_reads and not _has_to_be_called(call):
            continue
        numbers |= {number.name for number in call.numbers()}
        if not call.changes and all(root_of(x) is x for x in call.writes()):
            live -= targets  # before this call, what was there doesn't matter
        live |= {id(root_of(x)) for x in (*call.reads(), *call.changes)}
        found.append(call)
    found.reverse()
    return found


def _has_to_be_called(call: Call) -> bool:
    """Whether it's called even if nobody reads its result: a generator goes on, and an index may be out of range."""
    if call.kind in ("ufunc", "reduce", "scalar"):
        return False
    return call.kind == "draw" or not traits_of(call.function).never_raises


def constant_calls(program: Program, calls: list[Call]) -> list[Call]:
    """Those of `calls` that compute the same at each replay: from constants alone, into memory of their own."""
    writers: dict[int, int] = {}  # by id of the memory: how many calls write to it
    for call in calls:
        for x in call.writes():
            key = id(root_of(x))
            writers[key] = writers.get(key, 0) + 1
    inputs = {id(root_of(x)) for x in program.inputs}
    constant: set[int] = set()  # memory
    found = []
    for call in calls:
        targets = {id(root_of(x)) for x in call.writes()}
        sources = {id(root_of(x)) for x in call.reads()} - targets
        if call.kind in ("read", "compute", "store", "draw") or call.numbers() or len(targets) != 1:
            continue
        is_its_own = all(key in program.owned and key not in inputs and writers[key] == 1 for key in targets)
        if is_its_own and sources <= constant:
            constant |= targets
            found.append(call)
    return found
