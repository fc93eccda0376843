"""Ctrl-C and errors in the middle of what mustn't be half done: how Ctrl-C waits, and what a replay has left to do.

After an error in a replay, each statement that isn't done is made. Was the one done in which the error came? For most
of them it doesn't matter, since they may be made twice (`can_be_repeated`). In the others, Ctrl-C can't come to the
middle (`protected`), and so it's known (`is_done`).
"""

import contextlib
import dis
import functools
import signal
import textwrap
import threading
import types
from collections.abc import Iterator
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from .functions import traits_of
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
    if call.kind == "draw":
        return False
    sources = call.args
    if call.kind == "in place":
        if not traits_of(call.function).assigns:
            return False  # it may add to what's there
        sources = call.args[1:]
    targets = {id(root_of(x)) for x in call.writes()}
    return not any(id(root_of(x)) in targets for x in arrays_in((sources, call.kwargs)))


def protected(call: Call, text: str) -> str:
    """The statement `text` of `call`, in which Ctrl-C waits if it could come to the middle of what isn't repeated."""
    if can_be_repeated(call) or _is_one_operation(call):
        return text
    return "with uninterrupted():\n" + textwrap.indent(text, "    ")


_PYTHONS = (types.FunctionType, functools.partial, type(np.copyto))  # the last one asks a function of Python's first


def _is_one_operation(call: Call) -> bool:
    """Whether Ctrl-C comes before it or after it: it's compiled code, which makes no array of a list."""
    function = getattr(call.function, "__func__", call.function)
    return not isinstance(function, _PYTHONS) and not _has_list((*call.args, *call.kwargs.values()))


def _has_list(x: Any) -> bool:
    return isinstance(x, list) or (isinstance(x, tuple) and any(map(_has_list, x)))


def is_done(statement: Statement, error: BaseException) -> bool:
    """Whether a statement of the replay was done when `error` came. False if it may as well be made again.

    What stands above the line of the error is done, what stands below isn't. Say that the error comes in the statement
    itself::

        multiply_7(a2, c6, a2)

    - Ctrl-C, while Python looks up ``multiply_7``, ``a2`` and ``c6``: it isn't done.
    - Ctrl-C, out of the call: it's done, since Ctrl-C waits for NumPy.
    - A floating-point error, or a warning that's an error: it's done, since NumPy says so after it has computed.
    - No memory: it isn't done, since NumPy asks for memory before it computes.

    What stands above it in the same statement, ``with errstate(…):``, is also where Python comes back at the end.
    """
    entry: Any = error.__traceback__  # the replay's own
    if entry.tb_lineno not in statement.lines:
        return entry.tb_lineno > statement.lines[-1]
    if statement.can_be_repeated or isinstance(error, MemoryError):
        return False
    return entry.tb_lasti >= _place_of_the_call(entry.tb_frame.f_code, statement.lines[-1])


def _place_of_the_call(code: CodeType, line: int) -> int:
    """Where in the code the call of a statement's last line is made: the last call there."""
    operations = [x for x in dis.get_instructions(code) if x.positions is not None and x.positions.lineno == line]
    last = max(i for i, operation in enumerate(operations) if operation.opname.startswith("CALL"))
    if operations[last - 1].opname == "PRECALL":  # in Python 3.11, a call is two operations
        last -= 1
    return operations[last].offset
