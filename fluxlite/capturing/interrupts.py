"""Ctrl-C and errors in the middle of what mustn't be half done: how Ctrl-C waits, and what a replay has left to do.

After an error in a replay, each statement that isn't done is made. Was the one done in which the error came? For most
of them it doesn't matter, since they may be made twice (`can_be_repeated`). In the others, Ctrl-C can't come to the
middle (`protect`), and so it's known (`is_done`).
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
from .memory import arrays_in, root_of
from .program import Call, libraries

# Those that programs handle: Ctrl-C, a clock's, a cluster's notice that time is up.
_NAMES = ("SIGINT", "SIGTERM", "SIGALRM", "SIGUSR1", "SIGUSR2", "SIGHUP", "SIGBREAK")
_SIGNALS = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C, and other signals that Python handles, wait until the block is done, and come then."""
    handlers: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():  # signals come to no other
        found = {number: signal.getsignal(number) for number in _SIGNALS}
        handlers = {number: handler for number, handler in found.items() if callable(handler)}
    waiting = _Waiting(handlers)
    try:
        for number in handlers:
            signal.signal(number, waiting)
        yield
    finally:
        waiting.end()


class _Waiting:
    """Stands in for the handlers of signals until `end`."""

    def __init__(self, handlers: dict[int, Any]) -> None:
        self._handlers = handlers
        self._waiting: list[int] = []
        self._is_over = False

    def __call__(self, number: int, frame: Any) -> None:
        if not self._is_over:
            self._waiting.append(number)
            return
        signal.signal(number, self._handlers[number])  # an error of another handler has come before `end` could
        self._handlers[number](number, frame)

    def end(self) -> None:
        """The handlers are there again, and what has waited comes now."""
        self._is_over = True
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        with contextlib.ExitStack() as each:  # all of them, even if one raises
            for number in reversed(dict.fromkeys(self._waiting)):
                each.callback(signal.raise_signal, number)


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


def protect(call: Call, text: str) -> str:
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


def interrupt_of(error: BaseException, before: BaseException | None) -> BaseException | None:
    """Ctrl-C, or what another signal's handler has raised, if that's why there's this error; None if it isn't.

    `before` was being handled already when the program began.
    """
    for one in (error, error.__context__):
        if one is not None and one is not before and (not isinstance(one, Exception) or _is_a_handlers(one)):
            return one
    return None


def _is_a_handlers(error: BaseException) -> bool:
    """Whether one of the functions that handle signals now has raised it."""
    codes = {_code_of(signal.getsignal(number)) for number in _SIGNALS}
    entry = error.__traceback__
    while entry is not None:
        if entry.tb_frame.f_code in codes:
            return True
        entry = entry.tb_next
    return False


def _code_of(handler: Any) -> CodeType | None:
    """The code of a signal's handler, also of a partial one or of an object that's called. None for Python's own."""
    if isinstance(handler, functools.partial):
        return _code_of(handler.func)
    if not hasattr(handler, "__code__"):
        handler = vars(type(handler)).get("__call__")
    code = getattr(handler, "__code__", None)
    return code if type(code) is CodeType else None


def is_the_calls_own(error: BaseException, functions: set[CodeType]) -> bool:
    """Whether a call of the replay has failed by itself, as it would in the step, such as an index out of range.

    What comes from elsewhere, such as what a signal's handler raises, has lines of its own below the replay's, or is
    no error of NumPy's. `functions` are the user's that a call is made with, as np.apply_along_axis is.
    """
    if not isinstance(error, Exception) or type(error).__module__.partition(".")[0] not in _RAISING:
        return False
    entry: Any = error.__traceback__
    entry = entry.tb_next  # the first one is the replay's own
    ours = libraries()
    while entry is not None:
        code = entry.tb_frame.f_code
        if code in functions:
            return True
        if not code.co_filename.startswith(ours):
            return False
        entry = entry.tb_next
    return True


_RAISING = ("builtins", "numpy", "fluxlite", "simgpu")


def is_done(statement: Statement, error: BaseException, is_own: bool) -> bool:
    """Whether a statement of the replay was done when `error` came. False if it may as well be made again.

    What stands above the line of the error is done, what stands below isn't. Say that the error comes in the statement
    itself::

        multiply_7(a2, c6, a2)

    - Ctrl-C, while Python looks up ``multiply_7``, ``a2`` and ``c6``: it isn't done.
    - Ctrl-C, out of the call: it's done, since Ctrl-C waits for NumPy.
    - No memory, as the call's own error (`is_own`): it isn't done, since NumPy asks for memory before it computes.

    What stands above it in the same statement, ``with errstate(…):``, is also where Python comes back at the end.
    """
    entry: Any = error.__traceback__  # the replay's own
    if entry.tb_lineno not in statement.lines:
        return entry.tb_lineno > statement.lines[-1]
    if statement.can_be_repeated or is_own:
        return False
    return entry.tb_lasti >= _place_of_the_call(entry.tb_frame.f_code, statement.lines[-1])


def _place_of_the_call(code: CodeType, line: int) -> int:
    """Where in the code the call of a statement's last line is made: the last call there."""
    operations = [x for x in dis.get_instructions(code) if x.positions is not None and x.positions.lineno == line]
    last = max(i for i, operation in enumerate(operations) if operation.opname.startswith("CALL"))
    if operations[last - 1].opname == "PRECALL":  # in Python 3.11, a call is two operations
        last -= 1
    return operations[last].offset
