"""A kernel in C that can be launched on a simulated GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...device import current
from ...memory import Stored
from ...places import device_among
from ..kernel import Simulated
from .launch import CLaunch
from .source import CSource, Module
from .translate import Program


class CKernel(Simulated):
    """One kernel of a file of C. `given` is what its template is given."""

    new_launch = CLaunch

    def __init__(self, module: Module, name: str, function: Any, given: Sequence[Any]) -> None:
        super().__init__(name)
        self.source = CSource(module, function, function.name)
        self.given = given

    @property
    def program(self) -> Program:
        """What it's translated to, once."""
        if "program" not in self.source.programs:
            self.source.programs["program"] = Program(self.source, self.given)
        return self.source.programs["program"]

    def device_of(self, args: Sequence[Any]) -> Any:
        return device_among([x for x in args if isinstance(x, Stored)]) or current()
