"""The answer to "can this be used?": yes, or why not."""

from __future__ import annotations


class Functional:
    """True if `reason` is empty; prints as ``True`` or ``False: reason``.

    What is not installed is not functional either; `installed` tells the two apart.

    >>> Functional("there is no driver")
    False: there is no driver
    >>> bool(Functional())
    True
    """

    def __init__(self, reason: str = "", installed: bool = True) -> None:
        self.reason = reason
        self.installed = installed

    def __bool__(self) -> bool:
        return not self.reason

    def __repr__(self) -> str:
        return f"False: {self.reason}" if self.reason else "True"
