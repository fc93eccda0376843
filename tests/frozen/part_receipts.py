"""What the lessons' programs ask of a GPU: every `fl.estimate` and `fl.receipt` of a solved notebook.

A key is the lesson, its cell's first line below the imports, and which one in that cell it is.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

COUNTS = re.compile(r"\b(estimate|receipt)\(")
BELOW_IMPORTS = re.compile(r"^(?!import |from ).+", re.MULTILINE)


def figures(receipt: Any) -> str:
    """A receipt in one line, without zeros: what a device was asked for, and how long it takes if that's simulated."""
    counts = {"launches": receipt.launches, "memsets": receipt.memsets, "first uses": receipt.first_uses}
    copies = {"in": receipt.host_to_device, "out": receipt.device_to_host, "within": receipt.device_to_device}
    for way, each in copies.items():
        counts |= {f"copies {way}": each.count, f"bytes {way}": each.bytes, f"of them implicit {way}": each.implicit}
    counts["waits"] = receipt.synchronizations
    seconds = receipt.simulated_seconds
    time = [] if seconds is None else [f"{float(seconds):.2e} s"]
    return ", ".join([*(f"{number} {what}" for what, number in counts.items() if number != 0), *time])


def receipts_of(notebook: Path) -> dict[str, str]:
    """Run a notebook's cells, one after another, and note each receipt."""
    from IPython.core.interactiveshell import InteractiveShell

    import fluxlite as fl

    made: list[tuple[str, Any]] = []
    os.chdir(notebook.parent)
    shell, entries, seen = InteractiveShell.instance(), {}, {}

    def noted(kind: str, make: Callable, receipt_of: Callable) -> Callable:
        def make_and_note(*args: Any, **kwargs: Any) -> Any:
            found = make(*args, **kwargs)
            if sys._getframe(1).f_globals is shell.user_ns:  # the lesson's own call, not one inside fluxlite
                made.append((kind, receipt_of(found)))
            return found

        return make_and_note

    fl.estimate = noted("estimate", fl.estimate, lambda found: found.receipt)
    fl.receipt = noted("receipt", fl.receipt, lambda found: found)
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        source = "".join(cell["source"])
        done = shell.run_cell(source)
        if not done.success:
            raise RuntimeError(f"{notebook.name}: this cell raised {done.error_in_exec!r}:\n{source}")
        first = BELOW_IMPORTS.search(source)[0][:60] if made else ""
        for kind, one in made:
            seen[first, kind] = number = seen.get((first, kind), 0) + 1
            entries[f"{notebook.name[:2]} {first} · {kind} {number}"] = figures(one)
        made.clear()
    return entries


def entries(*numbers: str) -> dict[str, str]:
    """The receipts of these lessons, or of all, each run in a process of its own, in a project's folder."""
    found: dict[str, str] = {}
    for path in sorted(Path("notebooks").glob("[0-9]*.ipynb")):
        if (numbers and path.name[:2] not in numbers) or not COUNTS.search(path.read_text(encoding="utf-8")):
            continue
        with tempfile.TemporaryDirectory() as folder:
            own = {"FLUXLITE_PROGRESS": str(Path(folder, "progress.json")), "FLUXLITE_PROJECT": folder,
                   "MPLBACKEND": "agg", "IPYTHONDIR": folder}  # fmt: skip
            result = Path(folder, "receipts.json")
            command = [sys.executable, __file__, str(path.resolve()), str(result)]
            done = subprocess.run(command, env=os.environ | own, capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(done.stderr)
            found |= json.loads(result.read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(receipts_of(Path(sys.argv[1]))), encoding="utf-8")
