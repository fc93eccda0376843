"""``%device_time``: how long a line takes and what it asked of the GPU (CUDA.jl: ``@time``).

``%%machine`` above a cell shows what it did, moment by moment, and ``%%puzzle`` counts it.
"""

import ast
import contextlib
import html
import io
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_cell_magic, magics_class
from IPython.display import display

from fluxlite.devices import devices
from fluxlite.devices.receipts import clock, clocked, receipt
from simgpu.events import Event, listeners

from ..scenes.machine import machine
from .boxes import publish
from .puzzles import play


@magics_class
class DeviceMagics(Magics):
    """The magics that `start`, or ``%load_ext fluxlite_course``, adds to a notebook."""

    @cell_magic
    def puzzle(self, line: str, cell: str) -> None:
        """Run a cell with a puzzle's program; show what it asks of a simulated T4, your best so far, and par."""
        run, _ = _compile(self.shell, cell)
        run()
        play(line.strip(), self.shell.user_ns)  # type: ignore[union-attr]

    @line_cell_magic
    def device_time(self, line: str, cell: str | None = None) -> Any:
        """Run a line or a cell once; print the time and what it asked of the GPU; return the last line's value.

        ``%device_time model(x)``, or ``%%device_time`` above a cell. It waits for the GPU before and after, so the time
        is that of the work, not only of ordering it.
        """
        if cell is not None and line.strip():
            raise UsageError(f"%%device_time takes its code from the lines below it, not {line.strip()!r}")
        run, _ = _compile(self.shell, line if cell is None else cell)
        _wait()
        with receipt() as seen:
            start = clock()
            value = run()
        _wait()  # part of the time, but not of what the code asked for
        print(f"{'time':<17} {clocked(clock() - start)}")
        print(seen if devices() else f"{'GPU':<17} none in use")
        return value

    @cell_magic
    def machine(self, line: str, cell: str) -> Any:
        """Run a cell, and show what it did: two memories and the copies between them, the queue, who waits for whom.

        With ``%%machine guess``, you first say where the first copy goes; what the cell and the library print is
        folded away below. With ``%%machine memories``, the memories are drawn even if nothing is copied. It needs a
        simulated GPU, which knows what it does when.
        """
        word = line.strip()
        if word not in ("", "guess", "memories"):
            raise UsageError(f"it's %%machine, %%machine guess or %%machine memories, not %%machine {word}")
        guess = word == "guess"
        run, name = _compile(self.shell, cell)
        lines: list[int] = []  # the cell's line of each event, even if a function of another cell asked for it

        def note(event: Event) -> None:
            frame: Any = sys._getframe()
            while frame is not None and frame.f_code.co_filename != name:
                frame = frame.f_back
            if getattr(event.device, "estimate", None) is None:  # an estimate's events aren't in our receipt
                lines.append(1 if frame is None else frame.f_lineno)

        before = _used()
        listeners.append(note)
        try:
            with receipt() as seen, _printed_for_later(guess) as later:
                value = run()
        finally:
            listeners.remove(note)
        if value is not None:
            display(value)
        if not lines and devices():
            print(*later, end="")
            print("Nothing to draw: this cell asked nothing of the GPU.")
        elif seen.simulated_seconds is None:
            print(*later, end="")
            print("Nothing to draw: %%machine needs a simulated GPU. Run fl.simulate_gpu(), and then this cell again.")
        else:
            scene = machine(seen, cell, lines, guess, (before, _used()), memories=word == "memories")
            if not later:
                return scene
            display(scene)
            summary = "What was printed, for when you have guessed"
            text = "".join(later)
            publish(text, f"<details><summary>{summary}</summary><pre>{html.escape(text)}</pre></details>")


@contextlib.contextmanager
def _printed_for_later(keep: bool) -> Iterator[list[str]]:
    """With `keep`, nothing is printed, since a value or a notice gives a question's answer away. An error prints it."""
    later: list[str] = []
    if not keep:
        yield later
        return
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            yield later
    except BaseException:
        print(printed.getvalue(), end="")
        raise
    later += [printed.getvalue()] if printed.getvalue() else []


def _used() -> int:
    """How many bytes of the GPUs' memory are in use."""
    return sum(gpu.memory().used or 0 for gpu in devices())


def _wait() -> None:
    for device in devices():
        device.synchronize()


class CellSyntaxError(Exception):
    """A cell that isn't Python. Jupyter shows its line, and none of the steps that led here."""

    def __init__(self, error: SyntaxError) -> None:
        super().__init__(str(error))
        self.error = error

    def _render_traceback_(self) -> list[str]:
        return "".join(traceback.format_exception_only(self.error)).splitlines()


def _compile(shell: Any, code: str) -> tuple[Callable[[], Any], str]:
    """A function that runs `code`, as IPython understands it, and returns the last line's value; its file's name.

    Raises `CellSyntaxError`. An error while it runs is shown from the cell's own line on.
    """
    source = shell.transform_cell(code)
    name = shell.compile.cache(source)  # lets an error show the line that it comes from
    try:
        tree = shell.transform_ast(ast.parse(source, name))
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        first = shell.compile(tree, name, "exec")
        value = None if last is None else shell.compile(ast.Expression(last.value), name, "eval")
    except SyntaxError as error:
        if error.text is None and error.lineno is not None:  # a tree knows no text
            error.text = source.splitlines()[error.lineno - 1]
        raise CellSyntaxError(error) from None

    def run() -> Any:
        try:
            exec(first, shell.user_ns)
            return None if value is None else eval(value, shell.user_ns)
        except Exception as error:
            _show_from_the_cell_on(shell, error, name)
            raise

    return run, name


def _show_from_the_cell_on(shell: Any, error: Exception, name: str) -> None:
    """Let Jupyter leave out the steps before the cell's own line: IPython's and ours."""
    begin = error.__traceback__
    while begin is not None and begin.tb_frame.f_code.co_filename != name:
        begin = begin.tb_next
    if begin is not None:
        show = shell.InteractiveTB.structured_traceback
        error._render_traceback_ = lambda: show(type(error), error, begin)  # type: ignore[attr-defined]
