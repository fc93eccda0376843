"""Things that are said once: plain lines on standard output, kept where they can be listed and forgotten.

``[ Info: Float64 arrays become Float32 on their way to a GPU, …``
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Hashable, Iterator
from typing import Any

_said: dict[Hashable, str] = {}
_met: set[Hashable] = set()


def notice(key: Hashable, text: str) -> None:
    """Print ``[ Info: text`` the first time that `key` is used, and never again (Julia: ``@info … maxlog=1``).

    >>> reset_notices()
    >>> notice("greeting", "hello")
    [ Info: hello
    >>> notice("greeting", "hello")
    """
    _say(key, formatted("Info", text))


def warn(key: Hashable, text: str) -> None:
    """Print ``┌ Warning: text`` the first time that `key` is used (Julia: ``@warn … maxlog=1``).

    >>> reset_notices()
    >>> warn("hot", "the GPU is at 95 °C")
    ┌ Warning: the GPU is at 95 °C
    """
    _say(key, formatted("Warning", text))


def warn_again(key: Hashable, text: str) -> None:
    """`warn`, also if it was said before: for what matters each time."""
    _said.pop(key, None)
    warn(key, text)


def first_time(key: Hashable) -> bool:
    """Whether `key` is asked about for the first time: for what is looked for once.

    >>> reset_notices()
    >>> first_time("x"), first_time("x")
    (True, False)
    """
    if key in _met:
        return False
    _met.add(key)
    return True


def formatted(level: str, text: str) -> str:
    """`text` as Julia's logger prints it, ``[ Info: …``; several lines behind ``┌``, ``│`` and ``└``.

    >>> print(formatted("Info", "New GPU backend set: CPU.\\nIt is used from now on."))
    ┌ Info: New GPU backend set: CPU.
    └ It is used from now on.
    """
    first, *rest = text.split("\n")
    if not rest:
        return f"┌ Warning: {first}" if level == "Warning" else f"[ {level}: {first}"
    *middle, last = rest
    return "\n".join([f"┌ {level}: {first}", *(f"│ {line}" for line in middle), f"└ {last}"])


def was_said(key: Hashable) -> bool:
    """Whether the notice of this `key` was given: whoever asks first need not compose it again."""
    return key in _said


def notices() -> list[str]:
    """All lines that were said so far, in order.

    >>> reset_notices()
    >>> notices()
    []
    """
    return list(_said.values())


def reset_notices() -> None:
    """Forget what was said, so that it is said again when it next happens."""
    _said.clear()
    _met.clear()


@contextlib.contextmanager
def forgotten_afterwards() -> Iterator[None]:
    """What is said inside the block does not count as said afterwards, and what was said before is not repeated."""
    before, met = dict(_said), set(_met)
    try:
        yield
    finally:
        reset_notices()
        _said.update(before)
        _met.update(met)


def _say(key: Hashable, line: str) -> None:
    if key not in _said:
        _said[key] = line
        print(line)


# -- who reads it --------------------------------------------------------------------------------------------------


def ipython() -> Any:
    """The shell of IPython's, a notebook's or one in a terminal, that runs this; None elsewhere. Imports nothing."""
    module = sys.modules.get("IPython")
    return None if module is None else module.get_ipython()


def in_notebook() -> bool:
    """Whether a kernel of Jupyter's runs this, so that what is said appears below a cell."""
    return "ipykernel" in sys.modules and ipython() is not None
