"""Things that are said once: plain lines on standard output, kept where they can be listed and forgotten.

``[ Info: Float64 arrays become Float32 on their way to a GPU, …``
"""

from __future__ import annotations

from collections.abc import Hashable

_said: dict[Hashable, str] = {}


def notice(key: Hashable, text: str) -> None:
    """Print ``[ Info: text`` the first time that `key` is used, and never again (Julia: ``@info … maxlog=1``).

    >>> reset_notices()
    >>> notice("greeting", "hello")
    [ Info: hello
    >>> notice("greeting", "hello")
    """
    _say(key, f"[ Info: {text}")


def warn(key: Hashable, text: str) -> None:
    """Print ``┌ Warning: text`` the first time that `key` is used (Julia: ``@warn … maxlog=1``).

    >>> reset_notices()
    >>> warn("hot", "the GPU is at 95 °C")
    ┌ Warning: the GPU is at 95 °C
    """
    _say(key, f"┌ Warning: {text}")


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


def _say(key: Hashable, line: str) -> None:
    if key not in _said:
        _said[key] = line
        print(line)
