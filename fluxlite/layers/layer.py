"""What the library's layers have in common: what can't be made, and an attribute that isn't there, is explained."""

from __future__ import annotations

from typing import Any

from ..arguments import explained


class Layer:
    """A layer of the library. Yours need no such class: any class with ``@functor`` above it will do."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        """An error while one of the library's layers is made names the layer, its arguments, and what they are."""
        super().__init_subclass__(**keywords)
        if cls.__module__.startswith(__package__):
            told = explained(f"what help(fluxlite.{cls.__name__}) says")
            if "__init__" in vars(cls):
                cls.__init__ = told(vars(cls)["__init__"])  # type: ignore[method-assign]
            if "of" in vars(cls):
                cls.of = classmethod(told(vars(cls)["of"].__func__))  # type: ignore[attr-defined]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # what Python itself asks for
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        from ..coming_from import OF_A_MODEL, missing

        raise missing(self, name, OF_A_MODEL)
