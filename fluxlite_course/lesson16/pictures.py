"""How a device is chosen, as a picture: five questions from top to bottom."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..draw.pictures import BLUE, GREEN, GREY, ORANGE, Picture, plots, show


class Step(NamedTuple):
    """A question, what it's about, and what is used if the answer is yes."""

    about: str
    question: str
    outcome: str
    is_wish: bool = False  # it can't always be granted: then there's a warning, and we go to the last question


STEPS = (
    Step('get_device("CUDA")', "is a backend named?", "this one, or an error"),
    Step("simulate_gpu()", "is it on?", "the simulated GPU"),
    Step("FLUXLITE_GPU_BACKEND", "is the variable set?", "this one, if it can be used", is_wish=True),
    Step("LocalPreferences.toml", "is there a preference?", "this one, if it can be used", is_wish=True),
    Step("CUDA, AMDGPU, Metal", "can one of them be used?", "the first that can"),
)
LAST = "the CPU"
_ROW, _HEIGHT = 0.92, 0.66  # the distance between questions, and a box's height, in inches
_LEFT, _LEFT_WIDTH, _RIGHT, _RIGHT_WIDTH = 0.0, 3.1, 4.3, 3.0
_WIDTH = 9.4


def decision() -> Picture:
    """A picture of the questions that `get_device` asks, in order.

    >>> decision()
    Five questions, the first yes counts. get_device("CUDA"): this one, or an error. simulate_gpu(): ...
    """
    figure, axes = plots(height=_ROW * (len(STEPS) + 0.75), width=_WIDTH)
    axes.set(xlim=(-0.05, _WIDTH - 0.05), ylim=(_ROW * len(STEPS) + _HEIGHT + 0.05, -0.05))
    axes.axis("off")
    wishes = [number for number, step in enumerate(STEPS) if step.is_wish]
    for number, step in enumerate(STEPS):
        _draw(axes, step, number * _ROW)
    _box(axes, _LEFT, _LEFT_WIDTH, len(STEPS) * _ROW, GREEN, LAST)
    _refused(axes, wishes)
    return show(figure, _sentence())


def _sentence() -> str:
    ways = ". ".join(f"{step.about}: {step.outcome}" for step in STEPS)
    return (
        f"Five questions, the first yes counts. {ways}. If there is none: {LAST}. If what the variable or "
        "the file asks for can't be used, you get a warning, and the last question decides."
    )


def _draw(axes: Any, step: Step, top: float) -> None:
    _box(axes, _LEFT, _LEFT_WIDTH, top, GREY, step.about, step.question)
    _box(axes, _RIGHT, _RIGHT_WIDTH, top, GREEN, step.outcome)
    middle = top + _HEIGHT / 2
    _arrow(axes, (_LEFT + _LEFT_WIDTH, middle), (_RIGHT, middle), "yes", BLUE)
    centre = _LEFT + _LEFT_WIDTH / 2
    _arrow(axes, (centre, top + _HEIGHT), (centre, top + _ROW), "no", GREY)


def _box(axes: Any, left: float, width: float, top: float, edge: str, bold: str, below: str = "") -> None:
    from matplotlib.patches import FancyBboxPatch

    style = "round,pad=0,rounding_size=0.08"
    axes.add_patch(FancyBboxPatch((left, top), width, _HEIGHT, style, facecolor="#f4f6f8", edgecolor=edge, linewidth=2))
    middle = (left + width / 2, top + _HEIGHT / 2)
    text = {"ha": "center", "fontsize": 12}
    axes.text(*middle, bold, va="bottom" if below else "center", weight="bold", **text)
    axes.text(*middle, below, va="top", **text)


def _arrow(axes: Any, start: tuple[float, float], end: tuple[float, float], word: str, color: str) -> None:
    axes.annotate("", end, start, arrowprops={"arrowstyle": "->", "lw": 2, "color": color, "shrinkA": 2, "shrinkB": 2})
    upright = start[0] == end[0]
    x, y = (start[0] + end[0]) / 2 + 0.08 * upright, (start[1] + end[1]) / 2 - 0.03 * (not upright)
    place = {"ha": "left", "va": "center"} if upright else {"ha": "center", "va": "bottom"}
    axes.text(x, y, word, fontsize=11, **place)


def _refused(axes: Any, wishes: list[int]) -> None:
    """One line, to the right of the boxes, from wishes that can't be granted to the last question."""
    edge, line = _RIGHT + _RIGHT_WIDTH, _RIGHT + _RIGHT_WIDTH + 0.35
    first, last = wishes[0] * _ROW + _HEIGHT / 2, (len(STEPS) - 1) * _ROW - (_ROW - _HEIGHT) / 2
    dashed = {"color": ORANGE, "linestyle": "--", "linewidth": 2}
    for number in wishes:
        y = number * _ROW + _HEIGHT / 2
        axes.plot([edge, line], [y, y], **dashed)
    # Down, and back through the gap above the last question, into its box.
    axes.plot([line, line, _LEFT + _LEFT_WIDTH - 0.4], [first, last, last], **dashed)
    end = (_LEFT + _LEFT_WIDTH - 0.4, (len(STEPS) - 1) * _ROW)
    axes.annotate("", end, (end[0], last), arrowprops={"arrowstyle": "->", "lw": 2, "color": ORANGE, "shrinkB": 0})
    axes.text(
        line + 0.12, (first + last) / 2, "it cannot:\na warning,\nthen the last\nquestion", va="center", fontsize=11
    )
