"""The notes: what a step calls while it's recorded, in order, and on which memory.

A `Program` is what one run of a step did: a list of `Call`. It knows which memory is its own (buffers, copies of
arguments) and which came from outside (parameters, an optimizer's memory, constants).
"""

import copy
import itertools
import os
import sys
import threading
import warnings
import weakref
from typing import Any

import numpy as np

from ..array_kinds import array_kind
from .memory import arrays_in, fingerprint, innermost, on_device, root_of
from .undoing import Undoing


class CaptureError(RuntimeError):
    """A step that can't be captured: a replay would compute something else. It names the line, and what helps."""


class Line(str):
    """A line of the user's program, as ``step.py, line 12``."""


def libraries() -> tuple[str, ...]:
    """Folders, and a file, whose lines aren't the user's. The simulated GPU is loaded when it's first used."""
    names = [name for name in ("fluxlite", "numpy", "simgpu") if name in sys.modules]
    folders = [f"{sys.modules[name].__path__[0]}{os.sep}" for name in names]
    return (*folders, copy.__file__)


def users_line() -> Line:
    """The innermost line that's neither fluxlite's nor NumPy's."""
    if this_run.is_over:
        return Line("the end of the step")
    ours = libraries()
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith((*ours, "<")):
        if frame.f_code.co_filename.startswith("<ipython"):
            break
        frame = frame.f_back
    if frame is None:
        return Line("an unknown line")
    file = frame.f_code.co_filename.replace("\\", "/").rpartition("/")[2]
    if "ipykernel_" in frame.f_code.co_filename or file.startswith("<ipython"):  # a notebook's cells have no names
        file = "the cell"
    return Line(f"{file}, line {frame.f_lineno}")


class _ThisRun(threading.local):
    """The run that's recorded in this thread."""

    refused: "CaptureError | None" = None  # its first refusal
    is_over = False  # the step has returned, and what it assigned is kept


this_run = _ThisRun()


def refusal(what: str, fix: str = "") -> CaptureError:
    """The error for `what` a step does at the user's line. It counts even if the step catches it."""
    end = f". {fix}" if fix else ""
    error = CaptureError(
        f"{users_line()}: {what} can't be captured, since a replay would repeat this call's values{end}"
    )
    if this_run.refused is None:
        this_run.refused = error
    return error


def check_plain(x: np.ndarray, what: str) -> None:
    """Raise unless `x` computes as NumPy's own arrays do, and holds numbers."""
    if x.dtype.hasobject:
        raise CaptureError(
            f"captured(step): {what} is an array of Python's objects, and a replay computes with numbers"
        )
    if type(x) not in (np.ndarray, np.memmap):
        raise CaptureError(
            f"captured(step): {what} is a {type(x).__name__}, an array with rules of its own: np.asarray(x)"
        )


def check_kind(x: Any, what: str) -> None:
    """Raise if `x` is an array of a device that can't launch graphs."""
    kind = array_kind(x)
    if kind is None or kind.is_plain or kind.graph is not None or isinstance(x, np.ndarray) or hasattr(x, "program"):
        return
    name = f"{type(x).__module__.partition('.')[0]}.{type(x).__name__}"
    raise CaptureError(f"captured(step): {what} is a {name}, which can't be captured: {kind.why_no_graph}")


class Number:
    """A number that the host computes at each replay, such as a rate: its `value` now, and its name in the replay."""

    __slots__ = ("name", "value")

    def __init__(self, name: str, value: Any) -> None:
        self.name = name
        self.value = value


class Call:
    """One call, with what it reads, makes and changes.

    What it reads is in `args` and `kwargs`. If it makes an array, that's `out`; existing memory that it changes is in
    `changes`. With ``f(x, out=y)`` `y` is both. `kind` says how the replay writes it:

    ======== =========================================================
    ufunc    ``f(x, y, out)``
    reduce   ``f(x, axis, None, out)``
    out      ``f(x, y, out=out)``
    copied   ``out[...] = f(x, y)``, for functions that have no ``out=``
    item     the same for one of several results
    in place ``f(x, y)``, which changes an argument
    draw     ``f(x, y, out=out)``, which draws random numbers. If `f` is a device, its ``rng.random`` does
    scalar   ``f(x[()], y[()])``, of NumPy's numbers, which compute otherwise than arrays: a power's last digits differ
    read     a number that the program holds, such as a rule's rate
    compute  a number, computed from others
    store    ``memory["steps"] = number``
    several  on a device: the same as `copied` for all of several results
    order    on a device: it begins, ends or feeds the order that a replay is
    ======== =========================================================
    """

    __slots__ = ("args", "changes", "errors", "function", "item", "kind", "kwargs", "line", "out")

    def __init__(
        self, kind: str, function: Any, args: tuple, kwargs: dict[str, Any] | None = None, out: Any = None,
        changes: tuple[np.ndarray, ...] = (), item: int = 0,
    ) -> None:  # fmt: skip
        self.kind = kind
        self.function = function
        self.args = args
        self.kwargs = kwargs or {}
        self.out = out
        self.changes = changes
        self.item = item
        self.line = users_line()
        self.errors: dict[str, Any] = {}  # what ``with np.errstate(…):`` in the step says of it

    def reads(self) -> list[np.ndarray]:
        """The arrays among the arguments."""
        return arrays_in((self.args, self.kwargs))

    def numbers(self) -> list[Number]:
        """The numbers among the arguments that the host computes."""
        return [x for x in innermost((self.args, self.kwargs)) if type(x) is Number]

    def writes(self) -> list[np.ndarray]:
        """The arrays that are other ones afterwards."""
        return [*self.changes, *arrays_in(self.out)]


class Program:
    """What was noted while a step ran once."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.owned: dict[int, np.ndarray] = {}  # by id: the memory of buffers, and of the copies of arguments
        self.undoing = Undoing(self.owned)
        self.inputs: list[np.ndarray] = []  # the step's array arguments, as copies
        self.alive: list[tuple[weakref.ref, Line]] = []  # each array that a call gave the step
        self.device: Any = None  # where its arrays are; None is the CPU
        self.kind_of_device: Any = None
        self.thread = threading.get_ident()
        self.result: Any = None  # the structure of what the step gave
        self.rebindings: list = []  # what it assigned to places that hold arrays: `Rebinding`
        self.refused: CaptureError | None = None  # what another thread did
        self._errors: Any = np.geterr()
        self._filters = tuple(warnings.filters)
        self._count = 0  # of numbers that the host computes
        self._read: dict[tuple, Number] = {}  # by the owner's id and the path
        self._watched: dict[int, tuple[np.ndarray, bytes]] = {}  # by id: memory from outside, and its fingerprint

    # -- noting --------------------------------------------------------------------------------------------------------

    def add(self, call: Call) -> None:
        now: Any = np.geterr()
        call.errors = {kind: what for kind, what in now.items() if what != self._errors[kind]}
        if {"raise", "call"} & set(call.errors.values()):
            raise refusal("np.errstate(…) that raises or calls")
        if self._turns_warnings_into_errors():
            raise refusal("a call whose warnings are errors", "Filter them before the call, around all of it")
        self.calls.append(call)
        for x in call.changes:
            root = root_of(x)
            if id(root) in self._watched:
                self._watched[id(root)] = (root, fingerprint(root))

    def _turns_warnings_into_errors(self) -> bool:
        """Whether the step has added such a filter, as ``warnings.simplefilter("error")`` does."""
        added = itertools.takewhile(lambda x: x not in self._filters[:1], warnings.filters)  # they come first
        return any(action == "error" for action, *_ in added)

    def new(self, x: Any) -> np.ndarray:
        """`x`, which a call has just made, is a buffer from now on."""
        array = x if on_device(x) else np.asarray(x)
        root = root_of(array)
        self.owned[id(root)] = root
        return array

    def meet(self, x: Any) -> None:
        """`x`, an array of a device, is in the program. Raises `CaptureError` if one of another device is."""
        if self.device is None:
            self.device = x.device
            self.kind_of_device = array_kind(x)
        elif x.device != self.device:
            raise CaptureError(
                f"captured(step): the step finds arrays on {self.device} and on {x.device}, and a graph is on one GPU"
            )

    def check_thread(self) -> None:
        if threading.get_ident() != self.thread:
            self.refused = CaptureError(
                f"{users_line()}: another thread uses an array while a captured step is being recorded. "
                "Let it wait until the step's first calls are done"
            )
            raise self.refused

    # -- numbers -------------------------------------------------------------------------------------------------------

    def read_number(self, owner: Any, path: str, value: Any) -> Number:
        """The number at ``owner.path``, which each replay reads there."""
        key = (id(owner), path)
        if key not in self._read:
            self._read[key] = self._number(value)
            self.add(Call("read", None, (owner, path), out=self._read[key]))
        return self._read[key]

    def compute_number(self, function: Any, operands: tuple, value: Any) -> Number:
        """``function(*operands)``, of Python's numbers."""
        number = self._number(value)
        self.add(Call("compute", function, operands, out=number))
        return number

    def store_number(self, owner: dict[str, Any], key: str, number: Number) -> None:
        """``owner[key] = number``, as an optimizer counts its steps."""
        self.undoing.note_item(owner, key)
        owner[key] = number.value
        for source in [source for source in self._read if source[0] == id(owner)]:
            del self._read[source]  # it's read again from now on
        self.add(Call("store", None, (owner, key, number)))

    def _number(self, value: Any) -> Number:
        self._count += 1
        return Number(f"n{self._count}", value)

    # -- what came from outside ----------------------------------------------------------------------------------------

    def owns(self, x: Any) -> bool:
        """Whether the memory of `x` is a buffer or the copy of an argument; if not, it came from outside."""
        return id(root_of(x)) in self.owned

    def watch(self, earlier: "Program") -> None:
        """Look at what an earlier run found outside: if it changes unseen, a replay wouldn't change it."""
        for call in earlier.calls:
            for x in (*call.reads(), *call.writes()):
                root = root_of(x)
                if not earlier.owns(x) and id(root) not in self._watched:
                    self._watched[id(root)] = (root, fingerprint(root))

    def check_unchanged(self, *operands: Any) -> None:
        """Raise if something that isn't noted has changed one of these arrays from outside; without any: one of all."""
        if not self._watched:
            return
        if operands:
            keys = {id(root_of(x)) for x in arrays_in(operands)} & self._watched.keys()
        else:
            keys = set(self._watched)
        for key in keys:
            root, before = self._watched[key]
            if fingerprint(root) != before:
                raise CaptureError(
                    f"{users_line()}: an array of shape {root.shape} has changed in the step, and the capture didn't "
                    "see how, so a replay wouldn't change it. Change it with NumPy, through the name under which the "
                    "step finds it"
                )
