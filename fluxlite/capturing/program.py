"""The notes: what a step calls while it's recorded, in order, and on which memory.

A `Program` is what one run of a step did: a list of `Call`. It knows which memory the step made itself, which came from
outside (parameters, an optimizer's memory, constants), and how to put back what the run changed.
"""

import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

_OURS = tuple(sys.modules[name].__path__[0] for name in ("fluxlite", "numpy"))


class CaptureError(RuntimeError):
    """A step that can't be captured: a replay would compute something else. It names the line, and what helps."""


class Line(str):
    """A line of the user's program, as ``step.py, line 12``."""


def users_line() -> Line:
    """The innermost line that's neither fluxlite's nor NumPy's."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith((*_OURS, "<")):
        if frame.f_code.co_filename.startswith("<ipython"):
            break
        frame = frame.f_back
    if frame is None:
        return Line("an unknown line")
    file = frame.f_code.co_filename.replace("\\", "/").rpartition("/")[2]
    return Line(f"{file}, line {frame.f_lineno}")


def refusal(what: str, fix: str = "") -> CaptureError:
    """The error for `what` a step does at the user's line."""
    end = f". {fix}" if fix else ""
    return CaptureError(
        f"{users_line()}: {what} can't be captured, since a replay would repeat this call's values{end}"
    )


def root_of(x: np.ndarray) -> np.ndarray:
    """The array that owns the memory of `x`: `x` itself, or what it views."""
    while type(x.base) is np.ndarray:
        x = x.base
    return x


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


class Number:
    """A number that the host computes at each replay, such as a rate: its `value` now, and its name in the replay."""

    __slots__ = ("name", "value")

    def __init__(self, name: str, value: Any) -> None:
        self.name = name
        self.value = value


class Call:
    """One call. What it reads is in its arguments; `out` gets the result; `changes` are arrays it changes in place.

    `form` says how the replay writes it:

    ======== =========================================================
    ufunc    ``f(x, y, out)``
    reduce   ``f(x, axis, None, out)``
    out      ``f(x, y, out=out)``
    copied   ``out[...] = f(x, y)``, for functions that have no ``out=``
    item     the same for one of several results
    in place ``f(x, y)``, which changes an argument
    draw     ``f(x, y)``, which draws random numbers into `out`
    read     a number that the program holds, such as a rule's rate
    compute  a number, computed from others
    keep     ``memory["steps"] = number``
    ======== =========================================================
    """

    __slots__ = ("args", "changes", "errors", "form", "function", "item", "kwargs", "line", "out")

    def __init__(
        self, form: str, function: Any, args: tuple, kwargs: dict[str, Any] | None = None, out: Any = None,
        changes: tuple[np.ndarray, ...] = (), item: int = 0,
    ) -> None:  # fmt: skip
        self.form = form
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
        return _all_of(Number, (self.args, self.kwargs))

    def writes(self) -> list[np.ndarray]:
        """The arrays that are other ones afterwards."""
        if self.changes:
            return list(self.changes)
        return arrays_in(self.out)


def arrays_in(x: Any) -> list[np.ndarray]:
    """NumPy's arrays in nested tuples, lists and dicts."""
    return _all_of(np.ndarray, x)


def _all_of(kind: type, x: Any) -> list:
    found: list = []
    _collect(kind, x, found)
    return found


def _collect(kind: type, x: Any, found: list) -> None:
    if type(x) is kind:
        found.append(x)
    elif isinstance(x, (tuple, list)):
        for part in x:
            _collect(kind, part, found)
    elif isinstance(x, dict):
        for part in x.values():
            _collect(kind, part, found)


class Program:
    """What was noted while a step ran once."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.made: dict[int, np.ndarray] = {}  # by id: the memory that the step made
        self.inputs: list[np.ndarray] = []  # the step's array arguments, as copies
        self.alive: list[tuple[weakref.ref, Line]] = []  # each array that a call gave the step
        self.thread = threading.get_ident()
        self._errors: Any = np.geterr()
        self._names = 0
        self._read: dict[tuple, Number] = {}
        self._undo: dict[Any, Callable[[], None]] = {}
        self._seen: dict[int, tuple[np.ndarray, Any]] = {}  # by id: memory from outside, and what it held

    # -- noting --------------------------------------------------------------------------------------------------------

    def add(self, call: Call) -> None:
        now: Any = np.geterr()
        call.errors = {kind: what for kind, what in now.items() if what != self._errors[kind]}
        if {"raise", "call"} & set(call.errors.values()):
            raise refusal("np.errstate(…) that raises or calls")
        self.calls.append(call)
        for x in call.changes:
            root = root_of(x)
            if id(root) in self._seen:
                self._seen[id(root)] = (root, fingerprint(root))

    def new(self, x: Any) -> np.ndarray:
        """`x`, which a call has just made, is a buffer from now on."""
        array = np.asarray(x)
        root = root_of(array)
        self.made[id(root)] = root
        return array

    def check_thread(self) -> None:
        if threading.get_ident() != self.thread:
            raise CaptureError(
                f"{users_line()}: another thread uses an array while a captured step is being recorded. "
                "Let it wait until the step's first calls are done"
            )

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

    def keep_number(self, owner: dict[str, Any], key: str, number: Number) -> None:
        """``owner[key] = number``, as an optimizer counts its steps."""
        self.undo_later((id(owner), key), _put_item(owner, key, owner[key]))
        owner[key] = number.value
        for place in [place for place in self._read if place[0] == id(owner)]:
            del self._read[place]
        self.add(Call("keep", None, (owner, key, number)))

    def _number(self, value: Any) -> Number:
        self._names += 1
        return Number(f"n{self._names}", value)

    # -- what came from outside ----------------------------------------------------------------------------------------

    def before_change(self, target: np.ndarray) -> None:
        """`target` is about to be changed in place: what it held can be put back."""
        root = root_of(target)
        if id(root) not in self.made:
            self.undo_later(id(root), _put_values(root, root.copy()))

    def undo_later(self, key: Any, undo: Callable[[], None]) -> None:
        """If the capture fails, call `undo`. Only the first one for each `key` counts: it knows what was there "
        "before."""
        self._undo.setdefault(key, undo)

    def undo(self) -> None:
        """Put back what the run has changed: parameters, an optimizer's memory, buffers, generators."""
        for undo in self._undo.values():
            undo()

    def watch(self, earlier: "Program") -> None:
        """Look at what an earlier run found outside: if it changes unseen, a replay wouldn't change it."""
        for call in earlier.calls:
            for x in (*call.reads(), *call.writes()):
                root = root_of(x)
                if id(root) not in earlier.made and id(root) not in self._seen:
                    self._seen[id(root)] = (root, fingerprint(root))

    def check_unchanged(self, *operands: Any) -> None:
        """Raise if one of these arrays from outside was changed by something that isn't noted; without any: all."""
        if not self._seen:
            return
        if operands:
            keys = {id(root_of(x)) for x in arrays_in(operands)} & self._seen.keys()
        else:
            keys = set(self._seen)
        for key in keys:
            root, before = self._seen[key]
            if fingerprint(root) != before:
                raise CaptureError(
                    f"{users_line()}: an array of shape {root.shape} has changed in the step, and the capture "
                    "didn't see "
                    "how, so a replay wouldn't change it. Change it with NumPy, through the name under which the step "
                    "finds it"
                )


def fingerprint(x: np.ndarray) -> bytes:
    """Equal for the same bytes."""
    import hashlib

    return hashlib.blake2b(x.tobytes(), digest_size=16).digest()


def _put_values(array: np.ndarray, values: np.ndarray) -> Callable[[], None]:
    def put() -> None:
        array[...] = values

    return put


def _put_item(owner: dict[str, Any], key: str, value: Any) -> Callable[[], None]:
    def put() -> None:
        owner[key] = value

    return put
