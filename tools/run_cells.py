"""Run a notebook's cells in this process, as Jupyter's *Run All Cells* does, and write down what each shows.

    python tools/run_cells.py CELLS RESULTS [--without]

CELLS is a JSON file with the sources. In RESULTS there's a line of JSON for each cell, as soon as it has run: its
outputs, as a notebook stores them, and its processor time. ``--without`` takes away what a browser lacks (`absent.py`).
The same file runs in CPython and in Pyodide, so all that it needs is IPython.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

Output = dict[str, Any]
shown: list[Output] = []  # by the cell that runs


def add_text(name: str, text: str) -> None:
    """What's printed in one go is one output."""
    last = shown[-1] if shown else {}
    if last.get("name") == name:
        last["text"] += text
    else:
        shown.append({"output_type": "stream", "name": name, "text": text})


class Stream(io.TextIOBase):
    """Standard output, or standard error, of a cell."""

    encoding = "utf-8"

    def __init__(self, name: str):
        self.name = name

    def write(self, text: str) -> int:
        add_text(self.name, text)
        return len(text)

    def writable(self) -> bool:
        return True


class Publisher(DisplayPublisher):
    """What a cell displays. Later changes of an output aren't kept: nbval doesn't look at them either."""

    def publish(
        self, data: Any, metadata: Any = None, source: Any = None, *, update: bool = False, **more: Any
    ) -> None:
        if not update:
            shown.append({"output_type": "display_data", "data": data, "metadata": metadata or {}})

    def clear_output(self, wait: bool = False) -> None:
        pass


class Hook(DisplayHook):
    """The value of a cell's last line."""

    def write_output_prompt(self) -> None:
        pass

    def write_format_data(self, format_dict: Any, md_dict: Any = None) -> None:
        shown.append({"output_type": "execute_result", "data": format_dict, "metadata": md_dict or {}})

    def finish_displayhook(self) -> None:
        pass


class Shell(InteractiveShell):
    """IPython as it is in Jupyter's kernels, that of JupyterLite among them: it has a `kernel`, and no terminal."""

    kernel = SimpleNamespace()

    def enable_gui(self, gui: Any = None) -> None:
        pass

    def _showtraceback(self, etype: type, evalue: BaseException, stb: list[str]) -> None:
        shown.append({"output_type": "error", "ename": etype.__name__, "evalue": str(evalue), "traceback": stb})


def run(sources: list[str], results: Path, clock: Callable[[], float]) -> None:
    """Run cells one after the other, and write a line for each."""
    quiet = Config(HistoryManager={"enabled": False})  # it would take SQLite and a thread
    shell = Shell.instance(displayhook_class=Hook, display_pub_class=Publisher, config=quiet)
    with results.open("w", encoding="utf-8") as file:
        for source in sources:
            shown.clear()
            streams = sys.stdout, sys.stderr
            sys.stdout = Stream("stdout")
            sys.stderr = Stream("stderr")
            began = clock()
            try:
                shell.run_cell(source, store_history=True)
            finally:
                seconds = clock() - began
                sys.stdout, sys.stderr = streams
            print(json.dumps({"outputs": shown, "seconds": seconds}, default=str), file=file, flush=True)


def start(cells: Path, results: Path, clock: Callable[[], float], without: bool = False) -> None:
    """Run the cells whose sources are in a file; `without` what a browser lacks, or with all that's here.

    The `clock` counts the processor's seconds, so that what else the computer does isn't counted.
    """
    import numpy

    numpy.ones((64, 64)) @ numpy.ones((64, 64))  # NumPy and its BLAS map their memory now, as part of the interpreter
    if without:
        import absent

        absent.take_away()
    run(json.loads(cells.read_text(encoding="utf-8")), results, clock)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Run a notebook's cells in this process.", allow_abbrev=False)
    parser.add_argument("cells", type=Path, help="a JSON file with their sources")
    parser.add_argument("results", type=Path, help="the file that gets a line for each cell")
    parser.add_argument("--without", action="store_true", help="without what a browser lacks")
    given = parser.parse_args(arguments)
    start(given.cells, given.results, time.process_time, given.without)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
