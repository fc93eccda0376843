"""Ctrl-C and errors in the middle of what mustn't be half done: how Ctrl-C waits, and what a replay has left to do."""

import contextlib
import dis
import itertools
import signal
import threading
from collections.abc import Iterator
from types import CodeType, TracebackType
from typing import Any, NamedTuple

import numpy as np

from .program import Call, arrays_in, root_of


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C waits until the block is done, and comes then."""
    handler: Any = None
    if threading.current_thread() is threading.main_thread():  # Ctrl-C comes to no other
        handler = signal.getsignal(signal.SIGINT)
    if handler is None:
        yield
        return
    waiting: list[int] = []

    def wait(number: int, frame: Any) -> None:
        waiting.append(number)

    signal.signal(signal.SIGINT, wait)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if waiting:
            signal.raise_signal(signal.SIGINT)


class Statement(NamedTuple):
    """A statement of a replay that's made in any case, once something outside has changed."""

    text: str
    lines: range  # of the replay; its call stands in the last one
    can_be_repeated: bool


def can_be_repeated(call: Call) -> bool:
    """Whether a call comes to the same if it's made twice: it reads nothing of what it writes."""
    if call.kind == "draw" or (call.kind == "in place" and call.function is not np.copyto):
        return False
    targets = {id(root_of(x)) for x in call.writes()}
    sources = call.args
    if call.kind == "in place":
        sources = call.args[1:]
    return not any(id(root_of(x)) in targets for x in arrays_in((sources, call.kwargs)))


def is_done(statement: Statement, error: BaseException) -> bool:
    """Whether a statement of the replay was done when `error` came. False if that's unknown, and it may be repeated.

    What stands above the line of the error is done, what stands below isn't. Say that Ctrl-C, or an error of NumPy's,
    comes in the statement itself::

        multiply_7(a2, c6, a2)

    - While Python looks up ``multiply_7``, ``a2`` and ``c6``, it isn't done.
    - Ctrl-C waits for NumPy's call, and a floating-point error comes after it, too: out of the call, it's done.
    - For want of memory, NumPy raises before it begins: it isn't done.
    - Functions that are written in Python, such as np.put, don't let Ctrl-C wait. If it comes inside of one, the
      statement is done only if that was out of a call which is the last thing that the function does.

    With ``with errstate(…):`` above it, the statement has two lines. Python comes back to the first one at the end.
    """
    entry: Any = error.__traceback__  # the replay's own
    if entry.tb_lineno not in statement.lines:
        return entry.tb_lineno > statement.lines[-1]
    if statement.can_be_repeated or isinstance(error, MemoryError):
        return False
    call = _last_call(entry.tb_frame.f_code, statement.lines[-1])
    if entry.tb_lasti in call:
        return _is_out_of_the_last_call(entry.tb_next)
    return entry.tb_lasti > call[-1]


def _last_call(code: CodeType, line: int) -> range:
    """The places in the code of the last call of a line."""
    operations = [x for x in dis.get_instructions(code) if x.positions is not None and x.positions.lineno == line]
    last = max(i for i, operation in enumerate(operations) if operation.opname.startswith("CALL"))
    first = last
    if operations[last - 1].opname == "PRECALL":  # in Python 3.11, a call is two operations
        first = last - 1
    return range(operations[first].offset, operations[last + 1].offset)


def _is_out_of_the_last_call(entry: TracebackType | None) -> bool:
    """Whether each function that an error went through, from `entry` on, had nothing left to do but to return."""
    while entry is not None:
        operations = list(dis.get_instructions(entry.tb_frame.f_code))
        now = max(i for i, operation in enumerate(operations) if operation.offset <= entry.tb_lasti)
        if operations[now].opname == "PRECALL":
            now += 1
        if not operations[now].opname.startswith("CALL"):
            return False
        after = itertools.dropwhile(_is_nothing, operations[now + 1 :])
        if not next(after).opname.startswith("RETURN"):
            return False
        entry = entry.tb_next
    return True


def _is_nothing(operation: dis.Instruction) -> bool:
    """What's between a call and the return after it: its result is dropped, and None taken instead."""
    return operation.opname in ("POP_TOP", "LOAD_CONST")
