"""*My GPU report*: a page to keep, with a learner's guesses and checks, and where a GPU starts to win."""

import textwrap
from collections.abc import Iterator
from typing import Any, NamedTuple

from fluxlite.devices.receipts import duration
from fluxlite.messages import notice
from fluxlite.writing import write_whole

from ..crossing import Times, crossing_of
from ..draw import BLUE, GREEN, GREY, Picture, look, plots, show
from ..kit import course, exercises, progress
from ..kit.boxes import plain
from ..kit.guesses import kept_guess, question, questions
from .pictures import CARD, crossing_lines, times_of_waves

_INK, _PAPER = "#1c1c1c", "#ffffff"  # the page is a sheet of paper, in dark themes, too
_PALE = {GREEN: "#bfe0d5", GREY: "#e4e4e4"}  # dark themes make images a little lighter
_HIGH = 0.155  # of the upper half: an option's row
_WIDE = 92  # letters in a line


class Line(NamedTuple):
    """A pair of lines in the picture: how the step is given, its times, and the guess that asked where they cross."""

    way: str
    cpu: Times
    gpu: Times
    guess: str

    @property
    def crossing(self) -> float:
        """From about how many waves on the GPU is faster."""
        return float(f"{crossing_of(self.cpu, self.gpu) or 0:.2g}")


def report() -> Picture:
    """Make *My GPU report* from what you guessed and solved, and store it next to your lessons, as text and picture."""
    lines = [Line("an order for each operation", *times_of_waves(), "07-B"),
             Line("one order, replayed", *times_of_waves(replayed=True), "07-E")]  # fmt: skip
    said = [*_progress(), *_verdict(), *_waves(lines)]
    figure, (above, below) = plots(2, 1, 8.6, 9.5, height_ratios=[1, 1.05])
    figure.get_layout_engine().set(w_pad=0.25, h_pad=0.2)
    figure.patches.append(_paper(figure))
    _draw_verdict(above, _progress())
    _draw_lines(below, lines)
    page, folder = show(figure, "\n".join(["My GPU report", *said])), progress.path().parent
    try:
        write_whole(folder / "my-gpu-report.txt", f"{page}\n".encode())
        if page.is_drawn:
            write_whole(folder / "my-gpu-report.png", page.png)
    except OSError as error:
        notice(("report", folder), f"The report isn't kept in {folder}: {error.strerror}.")
    return page


def _progress() -> list[str]:
    """How much is solved, and how many guesses there are."""
    known, lessons = progress.read(), course.lessons_in(progress.home())
    every = [id for number in lessons for id in exercises.in_lesson(number)]
    solved = sum(known["checks"].get(id) == exercises.RIGHT for id in every)
    right = {id: question.right for number in lessons for id, question in questions(number).items()}
    hits = [letter in right[id] for id, letter in known["guesses"].items() if id in right]
    guesses = f"Guesses: {len(hits)}, {sum(hits)} of them right. The wrong ones taught more."
    return [f"Exercises solved: {solved} of {len(every)}.", guesses]


def _verdict() -> list[str]:
    """What the learner said in lesson 00, and what it was."""
    letter = kept_guess("00-A")
    if not letter:
        return []
    return [f"Why was the GPU slower, in 2018? I said {letter}, and {question('00-A').conclusion()}"]


def _waves(lines: list[Line]) -> Iterator[str]:
    """Who wins with few waves and with many, and where the lines cross."""
    for many in ("1", "65,536"):
        yield crossing_lines().at(waves=many)
    for line in lines:
        guess = _guess_of(line)
        words = f" I guessed: {guess}." if guess else ""
        yield f"With {line.way}, the lines cross at about {line.crossing:,.0f} waves at once.{words}"
    yield "(GPU simulated, CPU recorded.)"


def _guess_of(line: Line) -> str:
    letter = kept_guess(line.guess)
    return question(line.guess).options[letter].partition(":")[0].partition(",")[0] if letter else ""


def _paper(figure: Any) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((0, 0), 1, 1, transform=figure.transFigure, facecolor=_PAPER, edgecolor=GREY, zorder=-9)


def _draw_verdict(axes: Any, counts: list[str]) -> None:
    """The guess of lesson 00: its options, those that it may be in green, the learner's own with an edge; and why."""
    from matplotlib.patches import FancyBboxPatch

    asks, mine = question("00-A"), kept_guess("00-A")
    axes.set(xlim=(-0.002, 1.002), ylim=(-0.1, 1.05))
    axes.axis("off")
    axes.text(0, 1.02, "My GPU report", fontsize=22, fontweight="bold", color=_INK, va="center")
    axes.text(1, 1.02, "\n".join(counts).replace(" The wrong", "\nThe wrong"), fontsize=11, color=_INK, ha="right",
              va="center")  # fmt: skip
    axes.text(0, 0.86, "Why was the GPU slower, in 2018?", fontsize=14, fontweight="bold", color=_INK, va="center")
    for place, (letter, option) in enumerate(asks.options.items()):
        y = 0.77 - _HIGH * place
        tone = GREEN if letter in asks.right else GREY
        edge = BLUE if letter == mine else _PALE[tone]
        axes.add_patch(FancyBboxPatch((0.012, y - 0.09), 0.976, 0.09, boxstyle="round,pad=0.012,rounding_size=0.02",
                                      facecolor=_PALE[tone], edgecolor=edge, linewidth=2.5))  # fmt: skip
        axes.text(0.02, y - 0.045, f"{letter}   {plain(option)}", fontsize=12, color=_INK, va="center")
        words = ["it may be"] if letter in asks.right else []
        words += ["my guess"] if letter == mine else []
        look_of = {"color": BLUE if letter == mine else GREEN, "fontweight": "bold"}
        axes.text(0.98, y - 0.045, ", ".join(reversed(words)), fontsize=12, ha="right", va="center", **look_of)
    verdict = asks.verdict[0].upper() + asks.verdict[1:]
    axes.text(0, 0.12, textwrap.fill(verdict, _WIDE), fontsize=12, color=_INK, va="top", linespacing=1.3)


def _draw_lines(axes: Any, lines: list[Line]) -> None:
    """Both pairs of lines, the replayed one thick, and where each crosses."""
    for line, thick in zip(lines, (1.4, 2.8)):
        for who, times in (("CPU", line.cpu), (CARD, line.gpu)):
            kind = next(iter(times.values())).kind
            label = f"{who}, {kind}" if line is lines[-1] else None
            style = {**look(kind), "linewidth": thick, "markersize": 3 * thick}
            axes.loglog(list(times), list(map(float, times.values())), label=label, **style)
        last = max(line.cpu)
        axes.text(last * 1.5, float(line.gpu[last]), line.way.replace(" for ", "\nfor ").replace(", ", ",\n"),
                  fontsize=11, color=GREEN, va="center")  # fmt: skip
    for line, height in zip(lines, (0.79, 0.58)):
        axes.axvline(line.crossing, ymax=height, color=_INK, linewidth=1)
        guess = _guess_of(line)
        words = f"{line.crossing:,.0f} waves" + (f"\nmy guess: {guess}" if guess else "")
        axes.text(line.crossing / 1.25, height, words, transform=axes.get_xaxis_transform(), fontsize=12,
                  color=_INK, fontweight="bold", ha="right", va="top", linespacing=1.3)  # fmt: skip
    axes.set_title("From how many waves at once does a GPU win?", loc="left", fontsize=14, color=_INK, weight="bold")
    axes.set_xticks([1, 64, 1024, 65_536, 1_048_576], ["1", "64", "1,024", "65,536", "1,048,576"])
    axes.set_yticks([10.0**n for n in range(-5, 0)], [duration(10.0**n) for n in range(-5, 0)])
    axes.minorticks_off()
    axes.set(xlabel="waves at once", ylabel="a training step", xlim=(0.7, 4e7))
    axes.tick_params(colors=_INK)
    axes.xaxis.label.set_color(_INK)
    axes.yaxis.label.set_color(_INK)
    axes.legend(loc="upper left", fontsize=11, labelcolor=_INK)
