"""Deliberate errors: a lesson shows them, and fails if they don't appear."""

import contextlib
from collections.abc import Iterator
from traceback import extract_tb

from fluxlite.messages import at_words

from .exercises import frames_of_learner, words_of


@contextlib.contextmanager
def expect_error(kind: type[BaseException], words: str, traceback: bool = False) -> Iterator[None]:
    """The code inside must raise a `kind` whose message or notes contain `words`. Prints the message and goes on.

    With ``traceback=True`` it also prints the traceback, as Jupyter would, but without steps inside libraries. Raises
    `AssertionError` if there's no error, or if it says something else.

    >>> with expect_error(ZeroDivisionError, "division"):
    ...     1 / 0
    ZeroDivisionError: division by zero
    """
    try:
        yield
    except kind as error:
        said = words_of(error)
        if words not in said:
            raise AssertionError(f"the error was expected to say {words!r}; it says: {said}") from error
        if traceback:
            print(_way_to(error))
        print(at_words(f"{type(error).__name__}: {said}"))
    else:
        raise AssertionError(f"expected a {kind.__name__} that says {words!r}; nothing was raised")


def _way_to(error: BaseException) -> str:
    """The lines and functions that led to an error, without steps inside libraries."""
    frames, lines = frames_of_learner(error), ["Traceback (most recent call last):"]
    for frame in frames:
        cell = "this cell" if frame.filename == frames[0].filename else "another cell"
        lines += [f"  line {frame.lineno} of {cell}, in {frame.name}", f"    {frame.line}"]
    if len(extract_tb(error.__traceback__)) > len(frames) + 1:  # besides the `yield` above
        lines.append("  … and more, inside the library")
    return "\n".join(lines)
