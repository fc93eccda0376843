"""Exercises: what a lesson's checks are written with, and the verdict that a learner reads.

A check takes the learner's own object, such as a function, a class or a number, and tries it on a simulated NVIDIA T4.
It never reads the notebook or compares times, and it says in words what's right and what isn't.
"""

import ast
import contextlib
import importlib
import inspect
import io
import linecache
import os
import re
import sys
import traceback
import types
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import fluxlite
import simgpu
from fluxlite import simulate_gpu
from fluxlite.messages import ipython, said
from fluxlite.words import many
from simgpu.words import in_words

from . import progress
from .boxes import dots, face, publish

RIGHT, NOT_RIGHT, NOT_YET, STOPPED = "right", "not right", "not yet", "stopped"
COURSE = Path(__file__).parents[1]
# The beginnings of the names of files whose lines no learner wrote.
_LIBRARIES = (str(Path(package.__file__ or "").parent) for package in (fluxlite, simgpu))
NOT_A_LEARNERS = (*_LIBRARIES, str(COURSE), sys.prefix, sys.base_prefix, "<frozen", "<__array_function__")
STARTER = "todo() is still in the cell above: replace it, or delete it"
_MOST = 2_000  # characters of a learner's output, and of a value


class NotRight(Exception):
    """Raised by a check: the answer is wrong, and the message tells the learner how."""

    def __init__(self, message: str, yours: Any = None, expected: Any = None, look_at: str | None = None) -> None:
        super().__init__(message)
        self.yours, self.expected, self.look_at = yours, expected, look_at


class NotDone(Exception):
    """Raised by `todo` in a function that hasn't been written yet."""


class Exercise(NamedTuple):
    id: str
    title: str
    check: Callable[..., str]
    look_at: str


class Verdict(NamedTuple):
    id: str
    word: str
    message: str
    rows: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        rows = [f"      {name:<11} {text}".replace("\n", "\n" + " " * 18) for name, text in self.rows]
        return "\n".join([f"{self.id}  {self.word:<11} {self.message}", *rows])


def brief(x: Any) -> str:
    """A learner's object in a few words, for `yours`: its type, and its shape or how it begins. Never raises."""
    if x is None:
        return "None"
    kind = type(x).__name__
    try:
        shape = getattr(x, "shape", ())
        return f"{kind} of shape {shape}" if shape else f"{kind}: {x!r:.60}"
    except Exception:  # an object of the learner's own may raise anything
        return f"a {kind} that can't be printed"


# -- a lesson's exercises -----------------------------------------------------------------------------------------


def exercise(id: str, title: str, look_at: str = "") -> Callable[[Callable[..., str]], Callable[..., str]]:
    """Mark a function as the check of exercise `id`. `look_at` is where a learner can find out more.

    The function takes the learner's objects. It returns what to say if they're right, and raises `NotRight` otherwise.
    """
    return lambda check: mark(check, Exercise(id, title, check, look_at))


def mark(function: Any, what: Any) -> Any:
    """The function, marked as this exercise or puzzle."""
    function.marked = what
    return function


def in_lesson(number: str, kind: Any = Exercise) -> dict[str, Any]:
    """A lesson's exercises, or its puzzles, by id, in the order of its file."""
    found = (getattr(value, "marked", None) for value in vars(lesson(number)).values())
    return {one.id: one for one in found if isinstance(one, kind) and number_in(one.id) == number}


def find(id: str, what: str, among: Mapping[str, Any]) -> Any:
    """The exercise, question or puzzle with this id. Raises `ValueError` if there's none."""
    if id not in among:
        raise ValueError(f"there is no {what} {id!r} in this lesson; there are {', '.join(among) or 'none'}")
    return among[id]


def folder(number: Any) -> Path:
    """A lesson's folder. Raises `ValueError` if there's no such lesson."""
    if number not in folders():
        raise ValueError(f"there is no lesson {in_words(number)}; the lessons are {', '.join(folders())}")
    return folders()[number]


def lesson(number: str) -> types.ModuleType:
    """The module with a lesson's checks. Raises `ValueError` for an unknown lesson."""
    return importlib.import_module(f"fluxlite_course.{folder(number).name}.checks")


def folders() -> dict[str, Path]:
    """Each lesson's folder, by the lesson's number.

    >>> folders()["04"].name
    'lesson04'
    """
    return {path.name.removeprefix("lesson"): path for path in sorted(COURSE.glob("lesson[0-9][0-9]"))}


def number_in(id: Any) -> str:
    """The lesson's number in the id of an exercise or a question.

    >>> number_in("02.2"), number_in("02-C")
    ('02', '02')
    """
    return re.split("[.-]", str(id))[0]


# -- what a learner calls -----------------------------------------------------------------------------------------


def todo() -> None:
    """Stands in for lines that a learner will write.

    In a function it raises, and `check` says *not yet*. In a cell it does nothing, so that *Run All Cells* goes on.
    """
    caller = sys._getframe(1).f_code
    if caller.co_flags & inspect.CO_OPTIMIZED:  # a function's own code, not a cell's or a class's
        raise NotDone("replace todo() by your line or lines")


def check(id: str, *answers: Any) -> None:
    """Check the answers to exercise `id` and print: right, not right, not yet, or where the code stopped.

    Never raises for a learner. If nbgrader runs the notebook, anything but *right* raises `AssertionError`.

    >>> check("00.1", ...)
    00.1  not yet     put your answer in place of the three dots in the cell above
    """
    names = sys._getframe(1).f_code.co_names
    verdict = _of_a_failed_cell(id, names) or judge(id, *answers)
    if verdict.word == RIGHT and (any(map(_is_starter, answers)) or any(map(_todo_is_left, names))):
        verdict = Verdict(id, NOT_YET, STARTER)
    was_right = progress.read()["checks"].get(id) == RIGHT
    if verdict.word != NOT_YET and not was_right:  # once right, always right
        progress.keep("checks", id, verdict.word)
    if verdict.word == RIGHT:
        kept, ids = progress.read()["checks"], in_lesson(number_in(id))
        done = sum(kept.get(one) == RIGHT for one in ids)
        page = face(*verdict, [dots(done, len(ids))], joy=done == len(ids) and not was_right)
        publish(f"{verdict}   ({done} of {len(ids)} in this lesson)", page)
        return
    publish(str(verdict), face(*verdict))
    if "NBGRADER_EXECUTION" in os.environ:
        raise AssertionError(str(verdict))


def _of_a_failed_cell(id: str, names: tuple[str, ...]) -> Verdict | None:
    """Not yet, if the cell that ran last defines one of `names` and failed: the answer may be an old one."""
    last = getattr(ipython(), "last_execution_result", None)
    if last is None or last.success:
        return None
    error = type(last.error_before_exec or last.error_in_exec).__name__
    gives = r"^(def|class) +{0}\b|^[\w, ]*\b{0}\b[^=(\n]*=(?!=)"
    given = (name for name in names if re.search(gives.format(name), last.info.raw_cell, re.MULTILINE))
    words = "the cell that defines {} ended with a {}: it has to run to its end first"
    return next((Verdict(id, NOT_YET, words.format(name, error)) for name in given), None)


def _todo_is_left(name: str) -> bool:
    """Whether the cell that defined `name`, the last of those that did, still calls `todo`."""
    for cell in reversed(getattr(getattr(ipython(), "history_manager", None), "input_hist_parsed", [])):
        with contextlib.suppress(SyntaxError):
            nodes = list(ast.walk(ast.parse(cell)))
            if any(_defines(node, name) for node in nodes):
                return any(map(_is_a_todo, nodes))
    return False


def _defines(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Name):
        return node.id == name and isinstance(node.ctx, ast.Store)
    return isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == name


def _is_a_todo(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") == "todo"


# -- the verdict --------------------------------------------------------------------------------------------------


def judge(id: str, *answers: Any) -> Verdict:
    """The verdict on the answers to exercise `id`. Raises `ValueError` for an unknown id."""
    return verdict_on(find(id, "exercise", in_lesson(number_in(id))), *answers)


def verdict_on(exercise: Exercise, *answers: Any) -> Verdict:
    """The verdict on the answers to an exercise. What they print goes below it, unless it's right."""
    id = exercise.id
    if any(answer is ... for answer in answers):
        return Verdict(id, NOT_YET, "put your answer in place of the three dots in the cell above")
    wanted = len(inspect.signature(exercise.check).parameters)
    if len(answers) != wanted:
        takes = many(wanted, "answer")
        return Verdict(id, NOT_YET, f"this check takes {takes} after its number, and was given {len(answers)}")
    if any(map(_equals_everything, answers)):
        return Verdict(id, NOT_RIGHT, "an answer that equals everything is no answer")
    printed = _Printed()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        verdict = _try(exercise, answers)
    lines = [line for line in printed.getvalue().strip().splitlines() if not line.startswith("[ Info: Simulated")]
    if verdict.word != RIGHT and any(map(_is_starter, answers)):
        return Verdict(id, NOT_YET, STARTER)
    if verdict.word in (RIGHT, NOT_YET) or not lines:
        return verdict
    return verdict._replace(rows=(*verdict.rows, ("printed", "\n".join(lines[-5:])[-_MOST:])))


class _Printed(io.StringIO):
    """Collects what a learner's code prints: of a lot, the end. The learner's code can't close it."""

    def write(self, text: str) -> int:
        super().write(text)
        if self.tell() > 100 * _MOST:  # not at every line, since cutting takes time
            kept = self.getvalue()[-_MOST:]
            self.seek(0)
            self.truncate()
            super().write(kept)
        return len(text)

    def close(self) -> None:
        pass


def _equals_everything(answer: Any) -> bool:
    """Whether the answer equals even an object that nobody has seen before, as ``unittest.mock.ANY`` does."""
    kind = type(answer)  # its class, whatever it says itself
    if issubclass(kind, type) or hasattr(kind, "__array__"):  # an array's == computes
        return False
    try:
        return bool(answer == object())
    except Exception:  # a learner's class may raise
        return False


def _try(exercise: Exercise, answers: tuple) -> Verdict:
    id, before = exercise.id, dict(said)
    try:
        # Off, then on again: this gives a separate card, in case the lesson is using one.
        with simulate_gpu(False), simulate_gpu(like="NVIDIA T4"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Verdict(id, RIGHT, exercise.check(*answers))
    except NotDone:
        return Verdict(id, NOT_YET, STARTER)
    except NotRight as wrong:
        rows = _rows(yours=wrong.yours, expected=wrong.expected, look_at=wrong.look_at or exercise.look_at)
        return Verdict(id, NOT_RIGHT, str(wrong), rows)
    except KeyboardInterrupt:
        return Verdict(id, STOPPED, "you interrupted it", _rows(look_at=exercise.look_at))
    except BaseException as error:  # even SystemExit, which would end the cell silently
        lines = [frame.line for frame in frames_of_learner(error)]
        # Without a line of theirs, it was one of ours that couldn't do with the answer what it should.
        who = "your code raised" if lines else "with your answer, the check ended in"
        words = f"{who} {type(error).__name__}: {_text(error)}"
        rows = _rows(where="\n".join(_notes(error)), your_line=lines[-1] if lines else None, look_at=exercise.look_at)
        return Verdict(id, STOPPED, words, rows)
    finally:  # notices from here don't count, and those from before aren't repeated
        said.clear()
        said.update(before)


def _rows(**facts: Any) -> tuple[tuple[str, str], ...]:
    """The rows below a verdict: what's None or empty has none."""
    rows = ((name.replace("_", " "), _text(fact)) for name, fact in facts.items() if fact is not None)
    return tuple(row for row in rows if row[1])


def _text(value: Any) -> str:
    """A value in words, even if the learner's class can't print itself, or prints too much."""
    try:
        text = str(value)
    except Exception as error:
        return f"a {type(value).__name__} that can't be printed ({type(error).__name__})"
    return text if len(text) <= _MOST else f"{text[:_MOST]} …"


def frames_of_learner(error: BaseException) -> list[traceback.FrameSummary]:
    """The steps of a traceback that are neither ours nor a library's; the innermost is the last."""
    frames = traceback.extract_tb(error.__traceback__)
    return [frame for frame in frames if not frame.filename.startswith(NOT_A_LEARNERS)]


def words_of(error: BaseException) -> str:
    """What an error says, with its notes."""
    return "\n".join([_text(error), *_notes(error)])


def _notes(error: BaseException) -> list[str]:
    """The notes below an error. Python lets a program put anything in their place."""
    notes = getattr(error, "__notes__", [])
    return [note for note in notes if isinstance(note, str)] if isinstance(notes, list) else []


def _is_starter(answer: Any) -> bool:
    """Whether the answer's cell still calls `todo`, not only in a comment: a starter may be code that runs."""
    functions = vars(answer).values() if issubclass(type(answer), type) else [answer]
    for function in functions:
        with contextlib.suppress(Exception):  # an object may raise anything when we look for its code
            code = inspect.unwrap(function).__code__
            if not os.path.exists(code.co_filename) and _calls_todo(code.co_filename):
                return True
    return False


def _calls_todo(cell: str) -> bool:
    return any(map(_is_a_todo, ast.walk(ast.parse("".join(linecache.getlines(cell))))))
