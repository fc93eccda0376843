"""*My GPU report*: a page to keep, with a learner's guesses and checks, and where a GPU starts to win."""

import textwrap

from fluxlite.messages import notice
from fluxlite.writing import write_whole

from ..crossing import crossover
from ..draw import Picture, plots, show
from ..kit import exercises, progress
from ..kit.guesses import question, questions
from .pictures import crossing_lines


def report() -> Picture:
    """Make *My GPU report* from what you guessed and solved, and store it next to your lessons, as text and picture."""
    crossing = crossover(batch=64)
    waves = [crossing_lines().at(waves=many) for many in ("1", "65,536")]
    lines = [*_progress(), *waves, f"CPU against GPU, batch 64: {crossing.conclusion} (GPU simulated, CPU recorded.)"]
    wrapped = [textwrap.fill(line, 88) for line in lines]
    above, below = 0.7 + 0.23 * sum(text.count("\n") + 1.6 for text in wrapped), 4.2
    figure, (words, axes) = plots(2, 1, above + below, 9.5, height_ratios=[above, below])
    words.axis("off")
    words.set_title("My GPU report", loc="left", fontsize=20)
    words.text(0, 1, "\n\n".join(wrapped), va="top", fontsize=12, linespacing=1.25)
    crossing.draw(axes)
    page, folder = show(figure, "\n".join(["My GPU report", *lines])), progress.path().parent
    try:
        write_whole(folder / "my-gpu-report.txt", f"{page}\n".encode())
        write_whole(folder / "my-gpu-report.png", page.png)
    except OSError as error:
        notice(("report", folder), f"The report isn't kept in {folder}: {error.strerror}.")
    return page


def _progress() -> list[str]:
    """What's solved and guessed, and what the learner said in lesson 00."""
    known, lessons = progress.read(), list(exercises.folders())
    every = [id for number in lessons for id in exercises.in_lesson(number)]
    solved = sum(known["checks"].get(id) == exercises.RIGHT for id in every)
    right = {id: question.right for number in lessons for id, question in questions(number).items()}
    hits = [letter in right[id] for id, letter in known["guesses"].items() if id in right]
    guesses = f"Guesses: {len(hits)}, {sum(hits)} of them right. The wrong ones taught more."
    said, asked = known["guesses"].get("00-A"), question("00-A")
    reply = f"I said {said}, and {asked.conclusion()}"
    # The record is a file that anyone may edit: a letter is shown if there's such an option.
    first = [f"Why was the GPU slower, in 2018? {reply}"] if said in asked.replies else []
    return [f"Exercises solved: {solved} of {len(every)}.", guesses, *first]
