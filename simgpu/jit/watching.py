"""One thread of a launch, line by line: what it reads and writes, which way it goes, and what each name gets."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import numpy as np

from .source import is_stored

MOST_ROUNDS = 8  # of a loop that are shown


class Watch:
    """Prints what one lane does."""

    def __init__(self, row: int, thread: int) -> None:
        self.row, self.thread = row, thread
        self._touched: list[tuple[Any, bool, str]] = []  # where, whether it's a write, and what
        self._rounds: list[int] = []  # of each loop that it's in

    def touched(self, mask: Any, part: Any, to: Any, value: Any, site: Any, writes: bool) -> None:
        """It has read or written an element. After an atomic `value` is none: others may have been there by then."""
        if not self._is_quiet and self.of(mask.on):
            element = f"{part.name}[{part.index_of(int(self.of(to.at)))}]"
            self._touched.append((site, writes, element if value is None else f"{element} = {self.of(value)}"))

    def after(self, statement: ast.stmt, source: Any, lanes: Any, mask: Any, variables: dict[str, Any]) -> None:
        """A statement was done by the lanes of `mask`."""
        if isinstance(statement, (ast.If, ast.For, ast.While)) or not self.of(mask.on):
            return
        targets = getattr(statement, "targets", [getattr(statement, "target", statement)])
        found = [node.id for node in ast.walk(targets[0]) if is_stored(node)]
        names = [
            f"{name} = {self.of(lanes.held[variables[name].slot].value)}"
            for name in found
            if name in variables and isinstance(variables[name].type, np.dtype)
        ]
        self._print(source, statement, names)

    def tested(self, node: ast.If, source: Any, mask: Any, seen: Any) -> None:
        """An `if` has been decided."""
        if self.of(mask.on):
            self._print(source, node, ["yes" if self.of(seen) else "no"])

    # -- loops -----------------------------------------------------------------------------------

    def enters(self) -> None:
        self._rounds.append(0)

    def round(self, node: Any, source: Any, lanes: Any, mask: Any, variables: dict[str, Any]) -> None:
        """The lanes of `mask` go round once more."""
        if not self.of(mask.on):
            return
        self._rounds[-1] += 1
        is_for = isinstance(node, ast.For)
        self._print(
            source, node,
            [f"{node.target.id} = {self.of(lanes.held[variables[node.target.id].slot].value)}" if is_for else "yes"],
        )  # fmt: skip

    def leaves(self, node: Any, source: Any, mask: Any) -> None:
        """The loop is over, and the lanes of `mask` had come to it."""
        rounds = self._rounds.pop()
        if rounds > MOST_ROUNDS and not self._is_quiet:
            more = rounds - MOST_ROUNDS
            print(f"line {source.line(node)}: … {more:,} more {'round' if more == 1 else 'rounds'}")
        elif not rounds and self.of(mask.on):
            self._print(source, node, ["no round"])

    @property
    def _is_quiet(self) -> bool:
        return any(rounds > MOST_ROUNDS for rounds in self._rounds)

    # -- text ------------------------------------------------------------------------------------

    def _print(self, source: Any, node: Any, results: Sequence[str]) -> None:
        """The first line of `node`, with what was read, then with what came of it."""
        if self._is_quiet:
            self._touched.clear()
            return
        last = node.body[0].lineno - 1 if isinstance(node, (ast.If, ast.For, ast.While)) else node.end_lineno
        last = max(last, node.lineno)
        lines = range(node.lineno, last + 1)
        own = [touch for touch in self._touched if touch[0].source is source and touch[0].node.lineno in lines]
        self._touched = [touch for touch in self._touched if touch not in own]
        read, written = ([text for _, writes, text in own if writes is way] for way in (False, True))
        shown = " → ".join(", ".join(dict.fromkeys(part)) for part in (read, [*written, *results]) if part)
        text = f"line {source.line(node)}: {source.text(node)}"
        print(f"{text}    {shown}" if shown else text)

    def of(self, value: Any) -> Any:
        """What this thread has of a value of all threads."""
        if not isinstance(value, np.ndarray) or value.ndim < 2:
            return value
        return value[self.row if value.shape[0] > 1 else 0, self.thread if value.shape[1] > 1 else 0]
