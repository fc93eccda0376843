"""From notes to a function: what's left out, where each buffer lies, and the replay itself, one Python function.

1. What nobody reads is left out (`live_calls`), and what's computed from constants alone is computed once.
2. Buffers that aren't needed at the same time share memory (`Layout`).
3. Each call becomes a statement. Guards stand at the top: if one fails, nothing has happened, and the replay says so.

A replay is one thing: after an error or Ctrl-C, parameters and an optimizer's memory are as before the call, or as
after it. Until the first statement that changes something outside, nothing has happened. From there on, `_finish` runs
what is left before the error goes on.
"""

import bisect
import contextlib
import dis
import math
import signal
import threading
import warnings
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from .functions import traits_of
from .places import GONE, Places, same, same_contents
from .program import Call, CaptureError, Number, Program, arrays_in, is_real_array, on_device, root_of
from .recorded import NUMBERS
from .signature import checks, written

_GONE_SINCE = (AttributeError, LookupError, ValueError)  # what a guard may raise
_FEW = 12  # things in a container that are compared one by one
_SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "pow": "**", "floordiv": "//", "mod": "%"}


def live_calls(program: Program, kept: set[int]) -> list[Call]:
    """The calls whose results somebody reads; `kept` are the ids of the memory that is read after the last one."""
    live = set(kept)
    used: set[str] = set()
    found: list[Call] = []
    for call in reversed(program.calls):
        if call.kind in ("read", "compute") and call.out.name not in used:
            continue
        written = {id(root_of(x)) for x in call.writes()}
        is_read = any(key in live or key not in program.made for key in written)
        if written and not is_read and not _has_to_be_called(call):
            continue
        used |= {number.name for number in call.numbers()}
        if not call.changes and all(root_of(x) is x for x in call.writes()):
            live -= written  # before this call, what was there doesn't matter
        live |= {id(root_of(x)) for x in (*call.reads(), *call.changes)}
        found.append(call)
    found.reverse()
    return found


def _has_to_be_called(call: Call) -> bool:
    """Whether it's called even if nobody reads its result: a generator goes on, and an index may be out of range."""
    if call.kind in ("ufunc", "reduce"):
        return False
    return call.kind == "draw" or not traits_of(call.function).never_raises


def constant_calls(program: Program, calls: list[Call]) -> list[Call]:
    """Those of `calls` that compute the same at each replay: from constants alone, into memory of their own."""
    writers: dict[int, int] = {}
    for call in calls:
        for x in call.writes():
            key = id(root_of(x))
            writers[key] = writers.get(key, 0) + 1
    inputs = set(map(id, program.inputs))
    constant: set[int] = set()
    found = []
    for call in calls:
        keys = {id(root_of(x)) for x in call.writes()}
        sources = {id(root_of(x)) for x in call.reads()} - keys
        if call.kind in ("read", "compute", "store", "draw") or call.numbers() or len(keys) != 1:
            continue
        is_its_own = all(key in program.made and key not in inputs and writers[key] == 1 for key in keys)
        if is_its_own and sources <= constant:
            constant |= keys
            found.append(call)
    return found


class Layout:
    """Where in one block of memory each buffer lies: two that are needed at the same time lie apart.

    The largest are placed first, each as low as it can be; so little is left between them.
    """

    def __init__(self, program: Program, calls: list[Call], at_the_start: set[int], at_the_end: set[int]) -> None:
        self._made = program.made
        first: dict[int, int] = {}  # by id: the number of the first call that touches it
        last: dict[int, int] = {}
        for number, call in enumerate(calls):
            for x in (*call.reads(), *call.writes()):
                key = id(root_of(x))
                if key in program.made:
                    first.setdefault(key, number)
                    last[key] = number
        for key in at_the_start:
            first[key] = 0
            last.setdefault(key, 0)
        for key in at_the_end:
            first[key] = 0
            last[key] = len(calls)
        self.offsets: dict[int, int] = {}
        self.size = 0  # bytes
        self.unshared = 0  # what it would be if each buffer had its own
        placed: list[tuple[int, int, int, int]] = []  # (start, end, first call, last call), by start
        for key in sorted(first, key=lambda key: (-program.made[key].nbytes, first[key])):
            beside = [place for place in placed if place[2] <= last[key] and first[key] <= place[3]]
            start, end = self._place(key, beside)
            bisect.insort(placed, (start, end, first[key], last[key]))
        block = np.empty(self.size + 64, np.uint8)
        self._block = block[-block.ctypes.data % 64 :]
        self._views: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def _place(self, key: int, beside: list) -> tuple[int, int]:
        need = -(-max(self._made[key].nbytes, 1) // 64) * 64  # each begins where a row of the cache does
        start = 0
        for low, high, _, _ in beside:
            if low - start >= need:
                break
            start = max(start, high)
        self.offsets[key] = start
        self.size = max(self.size, start + need)
        self.unshared += need
        return start, start + need

    def at(self, x: np.ndarray) -> np.ndarray:
        """`x` in the planned memory. What's outside, such as a parameter, is itself."""
        root = root_of(x)
        if id(root) not in self.offsets:
            return x
        if id(x) not in self._views:
            inside = x.__array_interface__["data"][0] - root.__array_interface__["data"][0]
            view = np.ndarray(x.shape, x.dtype, self._block, self.offsets[id(root)] + inside, x.strides)
            self._views[id(x)] = (x, view)  # `x` stays alive, so its id isn't another one's
        return self._views[id(x)][1]


class Writer:
    """Names for the things that the replay uses, and statements."""

    def __init__(self, layout: Layout, given: dict[int, str]) -> None:
        self.space: dict[str, Any] = {
            "copyto": np.copyto,
            "put": put,
            "same": same,
            "same_contents": same_contents,
            "gone": GONE,
        }
        self._layout = layout
        self._given = given  # by id of the input: the argument's name, where it's used as it is
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
        if id(x) in self._given:
            return self._given[id(x)]
        return self.thing(x, prefix)

    def thing(self, x: Any, prefix: str = "c") -> str:
        """The name of this very object, whatever is in it."""
        if x is None or x is True or x is False:
            return f"{x}"
        if id(x) not in self._names:
            thing = x
            if type(x) is np.ndarray:
                prefix, thing = "a", self._layout.at(x)
            name = f"{prefix}{len(self._names)}"
            self._names[id(x)] = (name, x)  # which keeps `x` alive
            self.space[name] = thing
        return self._names[id(x)][0]

    def statement(self, call: Call) -> str:
        """The call, as a line of Python."""
        line = self.line_of(call)
        if call.errors:
            return f"with errstate(**{self.thing(call.errors)}): {line}"
        return line

    def line_of(self, call: Call) -> str:
        names = [self.name(x) for x in call.args]
        if call.kind == "read":
            return f"{call.out.name} = {self.name(call.args[0])}{call.args[1]}"
        if call.kind == "compute":
            symbol = _SYMBOLS.get(call.function.__name__)
            if symbol:
                return f"{call.out.name} = {names[0]} {symbol} {names[1]}"
            return f"{call.out.name} = -{names[0]}"
        if call.kind == "store":
            return f"{names[0]}[{call.args[1]!r}] = {names[2]}"
        if call.function is np.copyto and type(call.args[1]) in NUMBERS:
            return f"{names[0]}.fill({names[1]})"
        function = self.name(call.function, f"{getattr(call.function, '__name__', 'f').strip('<>')}_")
        more = [f"{key}={self.name(x)}" for key, x in call.kwargs.items()]
        given = ", ".join([*names, *more])
        if call.kind == "in place":
            return f"{function}({given})"
        out = self.name(call.out)
        if (
            call.kind == "ufunc" and not more and call.function not in (np.maximum, np.minimum)
        ):  # NumPy wants out= there
            return f"{function}({given}, {out})"
        if call.kind == "reduce" and not call.kwargs.keys() - {"axis", "keepdims"}:
            axis = self.name(call.kwargs.get("axis", 0))
            keepdims = ", True" if call.kwargs.get("keepdims", False) else ""
            return f"{function}({names[0]}, {axis}, None, {out}{keepdims})"
        if call.kind in ("ufunc", "reduce", "out", "draw"):
            return f"{function}({given}, out={out})"
        if call.kind == "item":
            return f"put({out}, {function}({given})[{call.item}])"
        put = "put"
        if traits_of(call.function).shape_follows:
            put = "copyto"
        return f"{put}({out}, {function}({given}))"


def put(out: np.ndarray, value: Any) -> None:
    """Copy `value` to the buffer `out`. For some functions, such as np.bincount, its shape depends on values."""
    if np.shape(value) != out.shape:
        raise CaptureError(
            f"a result has shape {np.shape(value)} now, and {out.shape} when the step was captured: its shape depends "
            "on values, and a replay's can't"
        )
    np.copyto(out, value)


def _has_things(x: Iterable) -> bool:
    """Whether a tuple or list has an array or a number of the host's in it, so that it's written out."""
    inner = [part for part in x if type(part) in (tuple, list)]
    return any(is_real_array(part) or type(part) is Number for part in x) or any(map(_has_things, inner))


class Results(NamedTuple):
    """What a step gives: the form of it, the arrays in its slots, and which of them are NumPy's numbers."""

    form: Any
    arrays: list[np.ndarray]
    are_numbers: list[bool]


MISSED = object()  # what a replay gives if it's called otherwise, or a guard fails; nothing has happened then


class Plan:
    """The replay of a program: ``self.run(args, kwargs)`` gives the step's result, or `MISSED`."""

    def __init__(
        self, program: Program, places: Places, arguments: tuple[tuple, dict[str, Any]], results: Results
    ) -> None:
        outputs = results.arrays
        written = {id(root_of(x)) for call in program.calls for x in call.changes}
        changed_inputs = {id(root_of(x)) for x in program.inputs if id(root_of(x)) in written}
        kept = {id(root_of(x)) for x in outputs} | changed_inputs
        live = live_calls(program, kept)
        constants = constant_calls(program, live)
        self.calls = self.arrange(program, [call for call in live if not any(call is one for one in constants)])
        self.noted = len(program.calls)
        self.constants = len(constants)
        given = _given_as_they_are(program, self.calls, outputs, changed_inputs)
        copied = {id(root_of(x)) for x in program.inputs if id(x) not in given}
        constant = {id(root_of(x)) for call in constants for x in call.writes()}
        layout = self.lay_out(program, copied, kept & program.made.keys() | constant)
        self.bytes = layout.size
        self.bytes_unshared = layout.unshared
        writer = self.writer_for(layout, given)
        for call in constants:
            exec(writer.statement(call), writer.space)  # noqa: S102  (our own statement)
        self._keep_alive = (program.made, places)
        self.held: list[Any] = []  # arguments that can't be held weakly
        self._write(writer, program, places, arguments, results, changed_inputs)
        self.finish_writing()

    # -- what's otherwise on a device (`on_device.py`) ---------------------------------------------------------------

    def arrange(self, program: Program, calls: list[Call]) -> list[Call]:
        return calls

    def lay_out(self, program: Program, at_the_start: set[int], at_the_end: set[int]) -> Any:
        return Layout(program, self.calls, at_the_start, at_the_end)

    def writer_for(self, layout: Any, given: dict[int, str]) -> Writer:
        return Writer(layout, given)

    def finish_writing(self) -> None:
        pass

    def _write(
        self,
        writer: Writer,
        program: Program,
        places: Places,
        arguments: tuple,
        results: Results,
        changed_inputs: set[int],
    ) -> None:
        given = [f"x{i}" for i in range(len(program.inputs))]
        lines = ["def replay(args, kwargs):", "    try:"]
        lines += [f"        {line}" for line in checks(arguments[0], arguments[1], writer)]
        lines += [f"        if {test}: return missed" for test in _joined(guards(places, writer))]
        lines += ["    except gone_since:", "        return missed"]
        lines += [f"    if {test}: return missed" for test in self._overlaps(writer, program, given, changed_inputs)]
        for x, name in zip(program.inputs, given):
            if writer.name(x) != name:
                lines.append(f"    copyto({writer.name(x)}, {name})")
        first = next((i for i, call in enumerate(self.calls) if _changes_outside(call, program)), len(self.calls))
        self.lines_of_calls: dict[int, Call] = {}
        for call in self.calls[:first]:
            lines.append(f"    {writer.statement(call)}")
            self.lines_of_calls[len(lines)] = call
        self._can_be_repeated: set[int] = set()  # lines whose call may have been made, or not: it's made again
        self._rest: list[tuple[int, str]] = []  # (line, statement) of what's finished in any case
        rest: list[tuple[Call | None, str]] = [(call, writer.statement(call)) for call in self.calls[first:]]
        rest += [(None, f"copyto({name}, {writer.name(x)})") for x, name in zip(program.inputs, given)
                 if id(root_of(x)) in changed_inputs]  # fmt: skip
        if rest:
            lines.append("    try:")
            for source, statement in rest:
                lines.append(f"        {statement}")
                self._rest.append((len(lines), statement))
                if source is None or _can_be_repeated(source):
                    self._can_be_repeated.add(len(lines))
                if source is not None:
                    self.lines_of_calls[len(lines)] = source
            lines += ["    except BaseException as error:", "        finish(error, locals())", "        raise"]
        values = []
        for x, is_number in zip(results.arrays, results.are_numbers):
            values.append(f"{writer.name(x)}{'[()]' if is_number else '.copy()'}")
        lines.append(f"    return {written(results.form, values, writer)}")
        self.source = "\n".join(lines)
        self.space = writer.space
        self.space |= {"missed": MISSED, "gone_since": _GONE_SINCE, "finish": self._finish, "ndarray": np.ndarray}
        self.space |= {"errstate": np.errstate, "share": np.may_share_memory}
        exec(compile(self.source, "<captured>", "exec"), self.space)  # noqa: S102  (our own statements)
        self.run = self.space["replay"]

    def described(self) -> str:
        """The plan in words, and the replay."""
        shared, unshared = self.bytes / 1000, self.bytes_unshared / 1000
        lines = [
            f"{self.noted:,} calls were noted: {len(self.calls):,} are replayed, {self.constants:,} computed for good",
            f"{shared:,.1f} kB of buffers; each in a place of its own, they'd take {unshared:,.1f} kB",
            self.source,
        ]
        return "\n".join(lines)

    def _overlaps(self, writer: Writer, program: Program, given: list[str], changed: set[int]) -> list[str]:
        """Tests for two names of one piece of memory, of which one is changed, and the other is a copy in a replay."""
        outside = {id(root_of(x)): root_of(x) for call in self.calls for x in call.changes}
        outside = {key: x for key, x in outside.items() if key not in program.made}
        read = {id(root_of(x)): root_of(x) for call in self.calls for x in call.reads()}
        read = {key: x for key, x in read.items() if key not in program.made}
        found = []
        for x, name in zip(program.inputs, given):
            if writer.name(x) != name:
                found += [f"share({name}, {writer.thing(root)})" for root in outside.values()]
        for x, name in zip(program.inputs, given):
            if id(root_of(x)) in changed:
                found += [f"share({name}, {other})" for other in given if other != name]
                found += [f"share({name}, {writer.thing(root)})" for root in read.values()]
        return found

    def _finish(self, error: BaseException, values: dict[str, Any]) -> None:
        """Something outside has been changed, and then came an error: do the rest, so that it's as after the call.

        An interrupt or a floating-point error comes after the call that the line makes. Only if it comes elsewhere in
        the line, or for want of memory, the call has to be made again.
        """
        if isinstance(error, Exception) and not isinstance(error, (FloatingPointError, Warning, MemoryError)):
            return  # the call itself failed, as it would in the step: it ends here, as the step would
        line: Any = error.__traceback__.tb_lineno  # type: ignore[union-attr]
        values = self.space | values
        is_done = _is_in_a_call(error) and not isinstance(error, MemoryError)
        if line in self._can_be_repeated:
            is_done = False
        rest = [statement for number, statement in self._rest if number > line or (number == line and not is_done)]
        with _uninterrupted(), np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for statement in rest:
                exec(statement, values)  # noqa: S102  (our own statement)

    def line_of(self, error: BaseException) -> str:
        """The user's line that an error in the replay belongs to; '' if there's none."""
        step = error.__traceback__
        while step is not None:
            if step.tb_frame.f_code.co_filename == "<captured>" and step.tb_lineno in self.lines_of_calls:
                return self.lines_of_calls[step.tb_lineno].line
            step = step.tb_next
        return ""


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """A second Ctrl-C changes nothing: the first one's error goes on as soon as this is done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _is_in_a_call(error: BaseException) -> bool:
    """Whether an error came out of a call in the replay's line, or just after it."""
    step: Any = error.__traceback__
    code = step.tb_frame.f_code.co_code
    place = step.tb_lasti
    while place > 0 and dis.opname[code[place]] == "CACHE":  # what belongs to the operation before
        place -= 2
    return "CALL" in dis.opname[code[place]]


def _can_be_repeated(call: Call) -> bool:
    """Whether a call comes to the same if it's made twice: it reads nothing of what it writes."""
    if call.kind == "draw" or (call.kind == "in place" and call.function is not np.copyto):
        return False
    written = {id(root_of(x)) for x in call.writes()}
    if call.kind == "in place":
        sources = call.args[1:]
    else:
        sources = call.args
    return not any(id(root_of(x)) in written for x in arrays_in((sources, call.kwargs)))


def _changes_outside(call: Call, program: Program) -> bool:
    if call.kind in ("store", "draw"):
        return True
    return any(id(root_of(x)) not in program.made for x in call.changes)


def _given_as_they_are(program: Program, calls: list[Call], outputs: list, changed: set[int]) -> dict[int, str]:
    """By id: the inputs that the replay reads as they come. Others are copied: a view was made of them, or they "
    "change."""
    found = {}
    results = {id(root_of(x)) for x in outputs}
    inputs = set(map(id, program.inputs))  # one with gaps is itself a view of the memory around them
    viewed = {
        id(root_of(x))
        for call in calls
        for x in (*call.reads(), *call.writes())
        if root_of(x) is not x and id(x) not in inputs
    }
    for number, x in enumerate(program.inputs):
        if x.ndim and not on_device(x) and id(root_of(x)) not in changed | viewed | results:
            found[id(x)] = f"x{number}"
    return found


def guards(places: Places, writer: Writer) -> list[str]:
    """Conditions, any of which means that the step would do something else now."""
    found = []
    boxes = {id(container.box) for container in places.containers}
    for place in places.arrays:
        if not place.is_item or id(place.owner) not in boxes:
            found.append(f"{_written(place, writer)} is not {writer.thing(place.value)}")
    for place in places.values:
        if place.value is not GONE:
            now, there = _written(place, writer), writer.thing(place.value)
            found.append(f"{now} is not {there} and not same({now}, {there})")
    for container in places.containers:
        found += _guards_of(container, writer)
    for variable, value in places.variables:
        now, there = f"{writer.thing(variable)}.get(gone)", writer.thing(value)
        found.append(f"{now} is not {there} and not same({now}, {there})")
    for names, name in places.absent:
        found.append(f"{name!r} in {writer.thing(names)}")
    for x, count in places.sizes:
        found.append(f"len({writer.thing(x)}.__dict__) != {count}")
    for x, before in places.bytes:
        found.append(f"bytes({writer.thing(x)}) != {writer.thing(before)}")
    for x, cls in places.classes:
        found.append(f"{writer.thing(x)}.__class__ is not {writer.thing(cls)}")
    for leaf in places.leaves:
        name, rule, memory = writer.thing(leaf), writer.thing(leaf.rule), writer.thing(leaf.memory)
        found.append(f"{name}.frozen is not {leaf.frozen} or {name}.memory is not {memory}")
        found.append(f"{name}.rule is not {rule} and not alike({name}.rule, {rule})")
    writer.space["alike"] = alike
    return found


def _joined(tests: list[str]) -> list[str]:
    """Several tests in one line: that's quicker."""
    return [" or ".join(f"({test})" for test in tests[i : i + _FEW]) for i in range(0, len(tests), _FEW)]


def _written(place: Any, writer: Writer) -> str:
    if place.is_item:
        return f"{writer.thing(place.owner)}[{place.step!r}]"
    return f"{writer.thing(place.owner)}.{place.step}"


def _guards_of(container: Any, writer: Writer) -> list[str]:
    box = writer.thing(container.box)
    found = []
    if container.of is not None:
        found.append(f"{writer.thing(container.of)}.__dict__ is not {box}")
    count = len(container.values)
    if isinstance(container.box, (set, frozenset)):
        return [*found, f"{box} != {writer.thing(set(container.values))}"]
    slow = f"not same_contents({box}, {writer.thing(container.keys)}, {writer.thing(container.values)})"
    steps = container.keys if container.keys is not None else range(count)
    if count <= _FEW and all(type(step) in (str, int) for step in steps):
        quick = [f"len({box}) != {count}"]
        quick += [f"{box}[{step!r}] is not {writer.thing(value)}" for step, value in zip(steps, container.values)]
        return [*found, f"({' or '.join(quick)}) and {slow}"]
    return [*found, slow]


def alike(rule: Any, other: Any) -> bool:
    """Whether two optimizers differ in their numbers only, which each replay reads."""
    if type(rule) is not type(other) or len(rule.rules) != len(other.rules):
        return False
    mine, others = vars(rule), vars(other)
    if mine.keys() != others.keys():
        return False
    for name, value in mine.items():
        if name != "rules" and not is_read(value) and not same(value, others[name]):
            return False
        if is_read(value) != is_read(others[name]):
            return False
    return all(map(alike, rule.rules, other.rules))


def is_read(value: Any) -> bool:
    """Whether it's a number of an optimizer's that each replay reads: a float, or a tuple of floats. No rate is inf."""
    if type(value) is tuple:
        return bool(value) and all(map(is_read, value))
    return type(value) is float and math.isfinite(value)
