"""What a GPU does in silence, or refuses to compile: errors with the kernel, the block, the thread and the line."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["KernelError", "OutOfBounds", "DataRace", "StuckBarrier", "NeverWritten", "TooMuch", "Endless", "Refused"]


class Place(NamedTuple):
    """A thread of a launch, with as many axes as the launch has: what ``kernel.watched`` takes."""

    block: tuple[int, ...]
    thread: tuple[int, ...]

    def __str__(self) -> str:
        return f"block {in_parentheses(self.block)}, thread {in_parentheses(self.thread)}"


def in_parentheses(numbers: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, numbers))})"


class KernelError(Exception):
    """Something is wrong in a kernel. A real GPU would often say nothing, and give wrong numbers.

    It has the parts of its message: `what` is wrong, `advice`, the name of the `kernel`, the number of the `line` and
    its `text`, the `block` and the `thread`, such as ``(0,)`` and ``(3, 1)``. What doesn't apply is empty, or None.
    """

    def __init__(
        self, what: str = "", advice: str = "", kernel: str = "", line: int | None = None, text: str = "",
        place: Place | None = None,
    ) -> None:  # fmt: skip
        super().__init__(what, advice)
        self.what, self.advice, self.kernel, self.line, self.text = what, advice, kernel, line, text
        self.place = place
        self.block: tuple[int, ...] | None = place.block if place else None
        self.thread: tuple[int, ...] | None = place.thread if place else None

    @property
    def where(self) -> str:
        """The kernel, the thread and the line, in words."""
        thread = f", {self.place}" if self.place else ""
        return f"kernel {self.kernel}{thread}" + ("" if self.line is None else f", line {self.line}: {self.text}")

    def __str__(self) -> str:
        if self.line is not None:
            head = [self.where, self.what]
        else:
            head = [f"{self.where}: {self.what}"]
        if self.kernel:
            return "\n  ".join([*head, *self.advice.splitlines()])
        return self.what


class OutOfBounds(KernelError, IndexError):
    """An index outside its array. A GPU doesn't check, and a negative index doesn't count from the end."""


class DataRace(KernelError):
    """Two threads meet at an element, at least one of them writes, and nothing says which comes first."""


class StuckBarrier(KernelError):
    """A barrier that some threads of the block never reach, so the others wait forever."""


class NeverWritten(KernelError):
    """A value that's read before anything is written there."""


class TooMuch(KernelError, ValueError):
    """More threads, blocks or shared memory than a card has."""


class Endless(KernelError):
    """A loop that doesn't seem to end."""


class Refused(KernelError, TypeError):
    """What `cupyx.jit` wouldn't compile. The message says what to write instead.

    It's a `TypeError`, and where cupyx.jit raises another kind of error, such as `NameError`, it's that one too.
    """


_kinds: dict[type[Exception], type[Refused]] = {}


def refused_as(kind: type[Exception]) -> type[Refused]:
    """`Refused`, as the kind of error that `cupyx.jit` raises there."""
    if issubclass(Refused, kind):
        return Refused
    if kind not in _kinds:
        names = {"__doc__": Refused.__doc__, "__module__": Refused.__module__}
        _kinds[kind] = type("Refused", (Refused, kind), names)
    return _kinds[kind]


class Problem(TypeError):
    """Why cupyx.jit would refuse an expression, and the kind of its error. Its line is added by `Translation`."""

    def __init__(self, text: str, kind: type[Exception] = TypeError) -> None:
        super().__init__(text)
        self.kind = kind


def without_our_lines(function: Callable) -> Callable:
    """An error about a kernel names the kernel's line: above that, show the user's launch, and no line of ours."""

    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        try:
            return function(*args, **keywords)
        except (KernelError, TypeError) as error:
            if isinstance(error, KernelError) or str(error).startswith("kernel "):
                error.__traceback__ = None  # a bare raise then doesn't add this line either
            raise

    return call
