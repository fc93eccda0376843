"""Deliberate errors: a lesson shows them, and fails if they do not come."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


@contextlib.contextmanager
def expect_error(kind: type[BaseException], words: str) -> Iterator[None]:
    """What follows raises a `kind` whose message contains `words`: print the message and go on.

    Raises `AssertionError` if nothing is raised, or something else.

    >>> with expect_error(ZeroDivisionError, "division"):
    ...     1 / 0
    ZeroDivisionError: division by zero
    """
    try:
        yield
    except kind as error:
        if words not in str(error):
            raise AssertionError(f"the error was expected to say {words!r}; it says: {error}") from error
        print(f"{type(error).__name__}: {error}")
    except Exception as error:
        got = f"{type(error).__name__}: {error}"
        raise AssertionError(f"expected a {kind.__name__} that says {words!r}; got {got}") from error
    else:
        raise AssertionError(f"expected a {kind.__name__} that says {words!r}; nothing was raised")
