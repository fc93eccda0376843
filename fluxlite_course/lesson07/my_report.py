"""*My GPU report*: a page to keep, with a learner's guesses and checks, a receipt, and where a GPU starts to win."""

import io
import textwrap
from pathlib import Path
from typing import Any

import fluxlite as fl
from fluxlite.messages import notice
from fluxlite.writing import write_whole

from ..crossing import Crossover, crossover
from ..draw.pictures import as_written, plots, show
from ..kit import exercises, progress
from ..kit.guesses import question, questions
from ..sine_wave import problem, train
from .pictures import crossing_lines

CARD = "NVIDIA T4"
BATCH = 64


class Report:
    """The page, shown as text or as a picture in a notebook. It's also in two files, `text_file` and `picture_file`."""

    def __init__(self, lines: list[str], crossing: Crossover, folder: Path) -> None:
        self.lines, self.crossing, self.saved = lines, crossing, False
        self.text_file, self.picture_file = folder / "my-gpu-report.txt", folder / "my-gpu-report.png"

    def __repr__(self) -> str:
        return "\n".join(self.lines)

    def _repr_html_(self) -> str:
        where = f"<p>You find this page in {self.picture_file.name} and, to copy, in {self.text_file.name}.</p>"
        return show(self.figure(), str(self))._repr_html_() + where * self.saved

    def figure(self) -> Any:
        """The page as a Matplotlib figure: the lines above, and below them the crossing."""
        wrapped = [textwrap.fill(line, 88) for line in self.lines[1:]]
        above, below = 0.7 + 0.23 * sum(text.count("\n") + 1.6 for text in wrapped), 4.2
        figure, (words, axes) = plots(2, 1, above + below, 9.5, height_ratios=[above, below])
        words.axis("off")
        words.set_title(as_written(self.lines[0]), loc="left", fontsize=20)
        words.text(0, 1, as_written("\n\n".join(wrapped)), va="top", fontsize=12, linespacing=1.25)
        self.crossing.draw(axes)
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
    waves = [crossing_lines().at(waves=many) for many in ("1", "65,536")]
    last = f"CPU against GPU, batch {BATCH}: {crossing.conclusion} (GPU simulated, CPU recorded.)"
    lines = ["My GPU report", *_progress(), *_open_question(), _receipt(), *waves, last]
    page = Report(lines, crossing, progress.path().parent)
    try:
        page.save()
    except OSError as error:
        notice(("report", page.text_file), f"The report is not kept in {page.text_file.parent}: {error.strerror}.")
    return page


def _progress() -> list[str]:
    known, lessons = progress.read(), list(exercises.folders())
    every = [id for number in lessons for id in exercises.in_lesson(number)]
    solved = sum(known["checks"].get(id) == exercises.RIGHT for id in every)
    right = {id: question.right for number in lessons for id, question in questions(number).items()}
    hits = [letter == right[id] for id, letter in known["guesses"].items() if id in right]
    guesses = f"Guesses: {len(hits)}, {sum(hits)} of them right. The wrong ones taught more."
    return [f"Exercises solved: {solved} of {len(every)}.", guesses]


def _open_question() -> list[str]:
    """What the learner said in lesson 00, and what the receipt says."""
    letter, asked = progress.read()["guesses"].get("00-A"), question("00-A")
    reply = f"I said {letter}, and it is {asked.right}: {asked.replies[asked.right]}"
    return [f"Why was the GPU slower, in 2018? {reply}"] if letter else []


def _receipt() -> str:
    arrays = problem()
    epoch = fl.estimate(lambda x, y, w1, w2: train(x, y, w1, w2, epochs=[1]), *arrays, like=CARD)
    assert epoch.receipt.launches is not None  # a simulated GPU always reports them
    launches, seconds, sent = 200 * epoch.receipt.launches, 200 * epoch.seconds, sum(x.nbytes for x in arrays)
    numbers = f"{launches:,} launches, {sent:,} bytes to the GPU, {seconds}"
    return f"The sine-wave RNN, 200 epochs: {numbers}. What takes the time is the number of orders, not the bytes."
