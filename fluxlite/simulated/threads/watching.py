"""One thread of a launch, line by line: what it does, and the value that each line gives a name."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np


class Watch:
    """Prints what one lane does."""

    def __init__(self, row: int, thread: int) -> None:
        self.row, self.thread = row, thread

    def after(self, statement: ast.stmt, source: Any, lanes: Any, mask: Any, variables: dict[str, Any]) -> None:
        """A statement was done by the lanes of `mask`."""
        if isinstance(statement, (ast.If, ast.For, ast.While)) or not self.of(mask.on):
            return
        text = f"line {source.line(statement)}: {source.text(statement)}"
        targets = getattr(statement, "targets", [getattr(statement, "target", statement)])
        found = [node.id for node in ast.walk(targets[0]) if isinstance(node, ast.Name) and _is_stored(node)]
        shown = [
            f"{name} = {self.of(lanes.slots[variables[name].slot])}"
            for name in found
            if name in variables and isinstance(variables[name].type, np.dtype)
        ]
        print(f"{text}    {', '.join(shown)}" if shown else text)

    def of(self, value: Any) -> Any:
        """What this thread has of a value of all threads."""
        if not isinstance(value, np.ndarray):
            return value
        return value[self.row if value.shape[0] > 1 else 0, self.thread if value.shape[1] > 1 else 0]


def _is_stored(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)
