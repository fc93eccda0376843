"""A run in a file, for several workers: worker 0 reads and writes it, and all go on with what's in it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from ..distributed.team import Team
from ..messages import many, notice, put_aside
from .resuming import Run, RunFile, progress


class SharedRunFile(RunFile):
    """The file of a run that several workers make. Besides worker 0's generators, it has those of the others."""

    def __init__(self, path: Any, run: Run, team: Team) -> None:
        self.team = team
        super().__init__(path if team.worker == 0 else Path(tempfile.gettempdir(), "run.safetensors"), run)
        self.states: list[Any] = []  # of the others' generators

    def check_replaceable(self, overwrite: bool) -> None:
        if self.team.worker == 0:
            super().check_replaceable(overwrite)

    def save(self, batches: int | None, is_last: bool = False) -> None:
        """Write all that the rest of the run depends on. All workers come here, unless an error ends the run."""
        if not is_last:
            self.states = self.team.group.all(self.team.states())[1:]
        if self.team.worker == 0:
            super().save(batches)
        elif batches is not None:
            self.at_start = self.order
        if not is_last:
            done = progress(self.run.history.epochs, self.run.done)
            self.team.saved("" if self.trouble else f"{self.path}, after {done}")

    def more(self) -> dict[str, Any]:
        return {"workers": self.states}

    def restore(self) -> bool:
        group = self.team.group
        if not group.same(self.path.exists()):
            return True
        content = group.same(self.path.read_bytes() if group.rank == 0 else b"")
        if group.rank == 0:
            return super().restore()
        with tempfile.TemporaryDirectory() as folder, put_aside():
            self.path = Path(folder, "run.safetensors")
            self.path.write_bytes(content)
            return super().restore()

    def restored(self, found: dict[str, Any]) -> None:
        """Each worker's own generators, if there are as many workers as then."""
        states, group = found.get("workers", []), self.team.group
        if len(states) + 1 == group.size:
            if group.rank:
                self.team.go_on_with(states[group.rank - 1])
            return
        self.team.part_ways()
        if group.rank == 0:
            notice(
                ("other workers", len(states) + 1, group.size),
                f"{self.path.name} is of a run with {many(len(states) + 1, 'worker')}, and here it's "
                f"{many(group.size, 'worker')}: weights, optimizer and the data's order go on exactly, Dropout and "
                "its kin draw other numbers.",
            )
