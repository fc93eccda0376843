"""What the library's layers have in common: an attribute that isn't there is explained."""

from __future__ import annotations

from typing import Any


class Layer:
    """A layer of the library. Yours need no such class: any class with ``@functor`` above it will do."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # what Python itself asks for
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        from ..coming_from import OF_A_MODEL, missing

        raise missing(self, name, OF_A_MODEL)
