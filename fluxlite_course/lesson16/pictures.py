"""Lesson 16's picture: how a device is chosen, question by question."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..scenes import Each, Knob, Part, Scene, drawing, label
from ..scenes.parts import arrow

_ROW, _LEFT, _RIGHT = 74, (6, 260), (356, 278)  # from a row to the next; where the boxes begin, and how wide they are


class Question(NamedTuple):
    """What's asked, in two lines; what a yes leads to; and what the knob calls this case."""

    about: str
    asked: str
    answer: str
    case: str
    otherwise: str = ""


_WARNS = "or a warning, and the last question"
QUESTIONS = (
    Question('get_device("CUDA")', "is a backend named?", "this one, or an error", "a name"),
    Question("simulate_gpu()", "is it on?", "the simulated GPU", "simulate_gpu()"),
    Question("FLUXLITE_GPU_BACKEND", "is the variable set?", "this one, if it can be used", "the variable", _WARNS),
    Question("LocalPreferences.toml", "is there a preference?", "this one, if it can be used", "the file", _WARNS),
    Question("CUDA, AMDGPU, Metal", "can one of them be used?", "the first that can", "a real GPU"),
)


def decision() -> Scene:
    """How a device is chosen: the questions that `get_device` asks, from top to bottom. The first yes counts.

    >>> decision().at(**{"the first yes": "simulate_gpu()"})
    'get_device("CUDA"): is a backend named? No. simulate_gpu(): is it on? Yes: the simulated GPU.'
    """
    parts = [part for row, question in enumerate(QUESTIONS) for part in _row(row, question)]
    no = [False] * len(QUESTIONS)
    parts.append(_box(_LEFT, len(QUESTIONS), "the CPU", "", "host hollow", [*no, True]))
    picture = drawing(640, 432, "How a device is chosen: five questions, and the first yes counts", *parts)
    cases = [*(question.case for question in QUESTIONS), "nothing of all this"]
    return Scene(picture, [Knob("the first yes", cases)], [_sentence(case) for case in range(len(cases))])


def _sentence(case: int) -> str:
    no = "".join(f"{question.about}: {question.asked} No. " for question in QUESTIONS[:case])
    if case == len(QUESTIONS):
        return f"{no}So it's the CPU."
    about, asked, answer, _, otherwise = QUESTIONS[case]
    return f"{no}{about}: {asked} Yes: {answer}{otherwise and ', ' + otherwise}."


def _row(row: int, question: Question) -> Iterator[Part]:
    """A question, its answer, the arrow to it, and the one to the next question."""
    cases = range(len(QUESTIONS) + 1)
    yield _box(_LEFT, row, question.about, question.asked, "host hollow", [case >= row for case in cases])
    yield _box(_RIGHT, row, question.answer, question.otherwise, "gpu hollow", [case == row for case in cases])
    y, (left, wide), (right, _) = row * _ROW + 28, _LEFT, _RIGHT
    middle = left + wide // 2
    yes = arrow(left + wide + 4, y, right - 4, y, "gpu"), label((left + wide + right) / 2, y - 8, "yes", "middle")
    no = arrow(middle, y + 28, middle, y + 46, "host"), label(middle + 12, y + 41, "no", "small")
    yield Part("g", *yes, class_=Each(None if case == row else "faint" for case in cases))
    yield Part("g", *no, class_=Each(None if case > row else "faint" for case in cases))


def _box(place: tuple[int, int], row: int, words: str, below: str, look: str, on: Sequence[bool]) -> Part:
    """A box with one line or two, faint in the states where it isn't `on`."""
    (x, wide), y = place, row * _ROW + 2
    lines = [(24, words, "middle bold"), (43, below, "middle small")] if below else [(32, words, "middle bold")]
    return Part(
        "g", Part("rect", class_=look, x=x, y=y, width=wide, height=52, rx=8),
        *(label(x + wide / 2, y + down, text, usual) for down, text, usual in lines),
        class_=Each(None if each else "faint" for each in on),
    )  # fmt: skip
