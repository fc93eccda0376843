"""What ``help()`` and ``dir()`` show of fluxlite's classes and functions."""

import inspect
from abc import ABCMeta
from collections.abc import Callable
from types import FunctionType
from typing import Any


class Readable(ABCMeta):
    """The class of our classes: for them, ``help()`` and ``dir()`` show what has a docstring, and not Python's own.

    pydoc asks ``dir(cls)``, which only a metaclass answers. This one is an `ABCMeta`: a subclass of ours can be an ABC.
    """

    def __dir__(cls) -> list[str]:
        names = [name for name in super().__dir__() if name == "__call__" or not name.startswith("_")]
        found = {name: inspect.getattr_static(cls, name) for name in names}
        return [name for name, x in found.items() if isinstance(x, (FunctionType, classmethod, property)) and x.__doc__]


class AsWritten(str):
    """Text whose `repr` has no quotes: a default in a signature is ``relu``, and not ``<function relu at 0x7f…>``."""

    __repr__ = str.__str__


NOT_GIVEN: Any = AsWritten("<not given>")


def signature_in_words(function: Callable) -> inspect.Signature:
    """The signature, in which a default that's a function is its name."""
    found = inspect.signature(function)
    parameters = []
    for parameter in found.parameters.values():
        default = parameter.default
        if callable(default) and default is not inspect._empty:
            parameter = parameter.replace(default=AsWritten(default.__name__))
        parameters.append(parameter)
    return found.replace(parameters=parameters)
