"""From notes to a function: what's left out, where each buffer lies, and the replay itself, one Python function.

1. What nobody reads is left out, and what's computed from constants alone is computed once (``liveness.py``).
2. Buffers that aren't needed at the same time share memory (``layout.py``).
3. Each call becomes a statement (``writer.py``). Guards stand at the top (``guards.py``): if one fails, nothing has
   happened, and the replay says so.

A replay is one thing: after Ctrl-C, or an error that comes from elsewhere, parameters and an optimizer's memory are as
before the call, or as after it. Until the first statement that changes something outside, nothing has happened. From
there on, `Plan.finish` makes what's left before the error goes on. If a call itself fails, the replay ends there, as
the step does when it's run as written. If a result's shape or type isn't what was recorded, all is as before the call.
"""

import warnings
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from .guards import LOOKING_FAILED, assignment, guards, in_few_lines, lookup
from .interrupts import Statement, can_be_repeated, is_done, is_the_calls_own, protect, uninterrupted
from .layout import Layout
from .liveness import Liveness
from .memory import are_one, innermost, own_copy, root_of, way_to_copy
from .overlaps import pairs_to_keep_apart
from .places import Places, Rebinding
from .program import Call, CaptureError, Program
from .recorded import generators_of
from .results import Part
from .signature import checks
from .undoing import Undoing
from .writer import Writer

MISSED = object()  # what a replay gives if it's called otherwise, or a guard fails; nothing has happened then


class Results(NamedTuple):
    """What a step gives: its structure, the arrays in its slots, and which of them are NumPy's numbers."""

    structure: Part
    arrays: list[np.ndarray]
    are_numbers: list[bool]


class Plan:
    """The replay of a program: ``self.run(args, kwargs)`` gives the step's result, or `MISSED`."""

    def __init__(
        self, program: Program, places: Places, arguments: tuple[tuple, dict[str, Any]], results: Results
    ) -> None:
        rebound = [x for rebinding in places.rebindings for x in rebinding.arrays]
        liveness = Liveness(program, [*results.arrays, *made_by(program, rebound)])
        self.calls = self.arrange(program, liveness.calls)
        layout = self.lay_out(program, liveness)
        writer = self.writer_for(layout, liveness.as_they_come)
        for call in liveness.constants:
            exec(writer.statement(call), writer.space)  # noqa: S102  (our own statement)
        text = Text(program, self.calls, liveness, writer)
        text.add_guards(places, arguments)
        text.add_inputs()
        text.add_calls(places.rebindings)
        text.add_results(results)
        self.source = "\n".join(text.lines)
        self._users_lines = text.users_lines
        self._changing = text.changing
        self._to_arguments = text.to_arguments
        self._users_functions = codes_in([(call.function, call.args, call.kwargs) for call in self.calls])
        self.space = writer.space
        self.space |= {"missed": MISSED, "looking_failed": LOOKING_FAILED, "own_copy": own_copy}
        self.space |= {"finish": self.finish, "what_is_there": self.what_is_there}
        exec(compile(self.source, "<captured>", "exec"), self.space)  # noqa: S102  (our own statements)
        self.run = self.space["replay"]
        self.finish_writing()
        self.held: list[Any] = []  # arguments that can't be held weakly
        self._owned = program.owned
        self._keep_alive = places  # with `_owned`: the replay knows their ids
        self.carried = places.carried
        self._noted = len(program.calls)
        self._once = len(liveness.constants)
        self._bytes = (layout.size, layout.unshared)

    # -- what's otherwise on a device (`on_device.py`) ---------------------------------------------------------------

    def arrange(self, program: Program, calls: list[Call]) -> list[Call]:
        return calls

    def lay_out(self, program: Program, liveness: Liveness) -> Any:
        return Layout(program, self.calls, liveness)

    def writer_for(self, layout: Any, as_they_come: dict[int, str]) -> Writer:
        return Writer(layout, as_they_come)

    def finish_writing(self) -> None:
        pass

    # -- what's asked of it ------------------------------------------------------------------------------------------

    def described(self) -> str:
        """The plan in words, and the replay."""
        shared, unshared = self._bytes
        lines = [
            f"{self._noted:,} calls were noted: {len(self.calls):,} are replayed, {self._once:,} computed for good",
            f"{shared / 1000:,.1f} kB of buffers; each in a place of its own, they'd take {unshared / 1000:,.1f} kB",
            self.source,
        ]
        return "\n".join(lines)

    def line_of(self, error: BaseException) -> str:
        """The user's line that an error in the replay belongs to; '' if there's none."""
        entry = error.__traceback__
        while entry is not None:
            if entry.tb_frame.f_code.co_filename == "<captured>" and entry.tb_lineno in self._users_lines:
                return self._users_lines[entry.tb_lineno]
            entry = entry.tb_next
        return ""

    def finish(self, error: BaseException, values: dict[str, Any]) -> None:
        """Something outside has been changed, and then came an error: make what's left, so that it's as after the call.

        The replay calls this. `values` are its variables.
        """
        if isinstance(error, CaptureError) and "before" in values:
            with uninterrupted():
                values["before"].put_back()
            return
        is_own = is_the_calls_own(error, self._users_functions)
        with uninterrupted(), np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            names = self.space | values
            left = [statement for statement in self._changing if not is_done(statement, error, is_own)]
            if is_own and not isinstance(error, MemoryError):
                left = self._to_arguments  # it ends here, as the step would
            for statement in left:
                exec(statement.text, names)  # noqa: S102  (our own statement)

    def what_is_there(self) -> Undoing:
        """What the calls are about to change, so that it can be put back."""
        undoing = Undoing(self._owned)
        for call in self.calls:
            for x in call.changes:
                undoing.note_array(x)
            if call.kind == "store":
                undoing.note_item(*call.args[:2])
        for generator in generators_of(self.calls):
            undoing.note_generator(generator)
        return undoing


def codes_in(x: Any) -> set[CodeType]:
    """The code of the functions in nested tuples, lists and dicts that are written in Python."""
    found = {getattr(part, "__code__", None) for part in innermost(x)}
    return {code for code in found if type(code) is CodeType}


def made_by(program: Program, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """Those of the arrays that the program computes: neither inputs nor from outside."""
    inputs = {id(root_of(x)) for x in program.inputs}
    return [x for x in arrays if id(root_of(x)) in program.owned.keys() - inputs]


class Text:
    """The lines of a replay, while they're written, part by part."""

    def __init__(self, program: Program, calls: list[Call], liveness: Liveness, writer: Writer) -> None:
        self.lines = ["def replay(args, kwargs):"]
        self.users_lines: dict[int, str] = {}  # by the number of the replay's line, counted from 1
        self.changing: list[Statement] = []  # from the first on that changes something outside
        self.to_arguments: list[Statement] = []  # those of them that change arguments for the caller
        self._program = program
        self._calls = calls
        self._changed = liveness.changed
        self._writer = writer
        self._arguments = [f"x{i}" for i in range(len(program.inputs))]

    def add_guards(self, places: Places, arguments: tuple[tuple, dict[str, Any]]) -> None:
        """The arguments are taken as x0, x1, …; all has to be as it was."""
        self._add("try:")
        carried = [(place.value, lookup(place, self._writer)) for place in places.carried]
        checked = checks(arguments[0], arguments[1], carried, self._writer)
        for line in checked.lines:
            self._add(line, depth=2)
        for condition in in_few_lines(guards(places, self._writer)):
            self._add(f"if {condition}: return missed", depth=2)
        self._add("except looking_failed:\n    return missed")
        for condition in [*self._identities(places, checked.containers), *self._overlaps()]:
            self._add(f"if {condition}: return missed")

    def _identities(self, places: Places, containers: list[str]) -> list[str]:
        """Tests for a step that asks whether one thing is another: inputs are neither one another nor from outside.

        `containers` are the names of those among the arguments: no two of them are one either.
        """
        if not places.asks_for_identity:
            return []
        ids = [f"id({argument})" for argument in self._arguments]
        all_ids = [*ids, *[f"id({name})" for name in containers]]
        if not all_ids:
            return []
        outside = self._writer.thing(places.ids_outside())
        return [f"len({{{', '.join(all_ids)}}}) != {len(all_ids)}", *[f"{x} in {outside}" for x in ids]]

    def _overlaps(self) -> list[str]:
        """Tests for two names of one piece of memory, of which one is changed, and the other is a copy in a replay."""
        copied = {argument for argument, _ in self._copied()}
        found = []
        for i, other in pairs_to_keep_apart(self._program, self._calls):
            argument = self._arguments[i]
            if type(other) is int:
                found.append(f"share({argument}, {self._arguments[other]})")
            elif argument in copied:
                found.append(f"share({argument}, {self._writer.thing(other)})")
        return found

    def _copied(self) -> list[tuple[str, str]]:
        """The inputs that are copied: the argument's name, and the buffer's."""
        names = zip(self._arguments, map(self._writer.name, self._program.inputs))
        return [(argument, buffer) for argument, buffer in names if argument != buffer]

    def add_inputs(self) -> None:
        for argument, buffer in self._copied():
            self._add(f"copyto({buffer}, {argument})")

    def add_calls(self, rebindings: list[Rebinding]) -> None:
        """Up to the first change of something outside, an error may come at any time; then the rest is made first."""
        first = self._first_change()
        for call in self._calls[:first]:
            self._add_call(call, self._writer.statement(call), depth=1)
        changed = [i for i, x in enumerate(self._program.inputs) if id(root_of(x)) in self._changed]
        if first == len(self._calls) and not changed and not rebindings:
            return
        if any(map(self._writer.is_checked, self._calls[first:])):
            self._add("before = what_is_there()")
        self._add("try:")
        for call in self._calls[first:]:
            text = protect(call, self._writer.statement(call))
            self.changing.append(Statement(text, self._add_call(call, text, depth=2), can_be_repeated(call)))
        for i in changed:
            self._add_change(f"copyto({self._arguments[i]}, {self._writer.name(self._program.inputs[i])})")
        self.to_arguments = self.changing[len(self.changing) - len(changed) :]
        for text in self._assignments(rebindings):
            self._add_change(text)
        self._add("except BaseException as error:\n    finish(error, locals())\n    raise")

    def _add_change(self, text: str) -> None:
        self.changing.append(Statement(text, self._add(text, depth=2), can_be_repeated=True))

    def _assignments(self, rebindings: list[Rebinding]) -> list[str]:
        """The places that the step gives another array get a new one. Two that get the same one share it."""
        names: dict[str, str] = {}  # of new arrays, by how they're made
        found = []
        for place, structure, arrays, are_numbers in rebindings:
            values = list(map(self._kept, arrays, are_numbers))
            for i, made in enumerate(values):
                if made not in names:
                    names[made] = made
                    if made.endswith(")"):
                        names[made] = f"new{len(names)}"
                        found.append(f"{names[made]} = {made}")
                values[i] = names[made]
            found.append(assignment(place, structure.expression(values, self._writer), self._writer))
        return found

    def _kept(self, x: np.ndarray, is_number: bool) -> str:
        """What a place gets: the very array, if it came from outside, or a copy."""
        for argument, copy in zip(self._arguments, self._program.inputs):
            if are_one(x, copy):
                return argument
        if not self._program.owns(x):
            return self._writer.thing(x)
        return self._own(x, is_number)

    def _own(self, x: np.ndarray, is_number: bool) -> str:
        """A copy that's the caller's own, as `own_copy` makes it."""
        name = self._writer.name(x)
        if is_number:
            return f"{name}[()]"
        order = way_to_copy(x)
        if order is None:
            return f"own_copy({name})"
        if order == "C":
            return f"{name}.copy()"
        return f"{name}.copy({order!r})"

    def _first_change(self) -> int:
        """Which call is the first that changes an argument or something outside; if none does, one after the last."""
        for i, call in enumerate(self._calls):
            changes_argument = any(id(root_of(x)) in self._changed for x in call.changes)
            if call.kind in ("store", "draw") or changes_argument or not all(map(self._program.owns, call.changes)):
                return i
        return len(self._calls)

    def add_results(self, results: Results) -> None:
        values = list(map(self._own, results.arrays, results.are_numbers))
        self._add(f"return {results.structure.expression(values, self._writer)}")

    def _add_call(self, call: Call, text: str, depth: int) -> range:
        lines = self._add(text, depth)
        self.users_lines |= dict.fromkeys(lines, call.line)
        return lines

    def _add(self, text: str, depth: int = 1) -> range:
        """One line or several, so deep inside the function; gives their numbers, counted from 1."""
        first = len(self.lines) + 1
        self.lines += ["    " * depth + line for line in text.split("\n")]
        return range(first, len(self.lines) + 1)
