"""*My GPU report*: a page to keep, with a learner's guesses and checks, a receipt, and where a GPU starts to win."""

from __future__ import annotations

import io
import textwrap
from pathlib import Path
from typing import Any

import fluxlite as fl

from ..messages import notice
from ..writing import write_whole
from . import exercises, progress
from .crossing import Crossover, crossover
from .guesses import Question
from .sine_wave import problem, train

NAME = "my-gpu-report"
CARD = "NVIDIA T4"
BATCH = 64


class Report:
    """The page, shown as text or as a picture in a notebook. It's also in two files, `text_file` and `picture_file`."""

    def __init__(self, lines: list[str], crossing: Crossover, folder: Path) -> None:
        self.lines, self.crossing, self.saved = lines, crossing, False
        self.text_file, self.picture_file = folder / f"{NAME}.txt", folder / f"{NAME}.png"

    def __repr__(self) -> str:
        return "\n".join(self.lines)

    def _repr_html_(self) -> str:
        from ..pictures import show

        where = f" This page lies in {self.picture_file.name} and, to be copied, in {self.text_file.name}."
        return show(self.figure(), " ".join(self.lines) + where * self.saved)._repr_html_()

    def figure(self) -> Any:
        """The page as a Matplotlib figure: the lines on the left, the crossing on the right."""
        from ..pictures import as_written, plots

        figure, (left, right) = plots(1, 2, width=13, height=6.5)
        left.axis("off")
        wrapped = "\n\n".join(textwrap.fill(line, 62) for line in self.lines[1:])
        left.set_title(as_written(self.lines[0]), loc="left", fontsize=20)
        left.text(0, 1, as_written(wrapped), va="top", fontsize=12, linespacing=1.4)
        self.crossing.draw(right)
        return figure

    def save(self) -> None:
        picture = io.BytesIO()
        self.figure().savefig(picture, format="png", dpi=110, facecolor="white")
        write_whole(self.text_file, f"{self}\n".encode())
        write_whole(self.picture_file, picture.getvalue())
        self.saved = True


def report() -> Report:
    """Make *My GPU report* from what you guessed and solved, and store it next to your lessons, as text and picture.

    Its times are simulated for an NVIDIA T4 and recorded on a CPU, so you can compare two reports.
    """
    crossing = crossover(batch=BATCH)
    lines = ["My GPU report", *_progress(), *_open_question(), _receipt(), _crossing(crossing)]
    page = Report(lines, crossing, progress.path().parent)
    try:
        page.save()
    except OSError as error:
        notice(("report", page.text_file), f"The report is not kept in {page.text_file.parent}: {error.strerror}.")
    return page


def _progress() -> list[str]:
    known = progress.read()
    every = {number: list(exercises.exercises(number)) for number in exercises.lessons()}
    right = {number: sum(known["checks"].get(id) == exercises.RIGHT for id in ids) for number, ids in every.items()}
    done = ", ".join(f"{number}: {right[number]} of {len(every[number])}" for number in every if right[number])
    questions: dict[str, Question] = {}
    for number in every:
        questions |= getattr(exercises.lesson(number), "QUESTIONS", {})
    guessed = {id: letter for id, letter in known["guesses"].items() if id in questions}
    hits = sum(letter == questions[id].right for id, letter in guessed.items())
    return [
        f"Exercises solved: {sum(right.values())}{f' (lesson {done})' if done else ''}.",
        f"Guesses: {len(guessed)}, {hits} of them right. The wrong ones taught more.",
    ]


def _open_question() -> list[str]:
    """What the learner said in lesson 00, and what the receipt says."""
    question = getattr(exercises.lesson("00"), "QUESTIONS", {}).get("00-A")
    letter = progress.read()["guesses"].get("00-A")
    if question is None or letter is None:
        return []
    said = "and it is" if letter == question.right else f"it is {question.right}:"
    return [f"Why was the GPU slower, in 2018? I said {letter}, {said} {question.replies[question.right]}"]


def _receipt() -> str:
    arrays = problem()
    epoch = fl.estimate(lambda x, y, w1, w2: train(x, y, w1, w2, epochs=[1]), *arrays, like=CARD)
    assert epoch.receipt.launches is not None  # a simulated GPU always reports them
    launches, seconds, sent = 200 * epoch.receipt.launches, 200 * epoch.seconds, sum(x.nbytes for x in arrays)
    return (
        f"The sine-wave RNN, 200 epochs: {launches:,} launches, {sent:,} bytes to the GPU, {seconds}. What costs "
        "is the number of orders, not the bytes."
    )


def _crossing(crossing: Crossover) -> str:
    return f"CPU against GPU, batch {BATCH}: {crossing.conclusion} (GPU {crossing.kinds[1]}, CPU {crossing.kinds[0]}.)"
