"""How a device is chosen, question by question."""

from collections.abc import Iterator
from typing import NamedTuple

from ..scenes import Each, Knob, Part, Scene, drawing, label

_ROW, _LEFT, _RIGHT = 74, (6, 260), (356, 278)  # from a row to the next; where the boxes begin, and how wide they are


class Question(NamedTuple):
    """What is asked, in two lines; what a yes leads to; and what the knob calls the case that there's a yes."""

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
    cases = range(len(QUESTIONS) + 1)
    parts = [part for row, question in enumerate(QUESTIONS) for part in _row(row, question)]
    last = len(QUESTIONS)
    look = Each("host" if case == last else "box" for case in cases)
    parts += _box(
        _LEFT, last, "the CPU", "", look, Each("inside middle" if case == last else "middle" for case in cases)
    )
    picture = drawing(640, last * _ROW + 62, "How a device is chosen: five questions, and the first yes counts", *parts)
    knob = Knob("the first yes", [*(question.case for question in QUESTIONS), "nothing of all this"])
    return Scene(picture, [knob], [_said(case) for case in cases])


def _said(case: int) -> str:
    asked = [f"{question.about}: {question.asked} " for question in QUESTIONS]
    no = "".join(f"{words}No. " for words in asked[:case])
    if case == len(QUESTIONS):
        return f"{no}So it's the CPU."
    otherwise = f", {QUESTIONS[case].otherwise}" if QUESTIONS[case].otherwise else ""
    return f"{no}{asked[case]}Yes: {QUESTIONS[case].answer}{otherwise}."


def _row(row: int, question: Question) -> Iterator[Part]:
    """A question, its answer, the arrow to it, and the one to the next question."""
    cases = range(len(QUESTIONS) + 1)
    chosen = [case == row for case in cases]
    yield Part("g", *_box(_LEFT, row, question.about, question.asked, "host hollow", "middle"),
               class_=Each("faint" if case < row else None for case in cases))  # fmt: skip
    yield from _box(_RIGHT, row, question.answer, question.otherwise, Each("gpu" if yes else "box" for yes in chosen),
                    Each("inside middle" if yes else "middle" for yes in chosen))  # fmt: skip
    y, (left, wide), (right, _) = row * _ROW + 28, _LEFT, _RIGHT
    yield _arrow(f"M{left + wide + 4} {y}H{right - 4}m-9-6l9 6l-9 6", Each("gpu" if yes else "faint" for yes in chosen))
    yield label((left + wide + right) / 2, y - 8, "yes", "middle")
    yield _arrow(
        f"M{left + wide / 2:g} {y + 28}v16m-6-8l6 8l6-8", Each("host" if case > row else "faint" for case in cases)
    )
    yield label(left + wide / 2 + 12, y + 41, "no", "small")


def _arrow(d: str, looks: Each) -> Part:
    line = Each(f"{look} line" if look != "faint" else "rest line faint" for look in looks)
    return Part("path", class_=line, d=d)


def _box(
    place: tuple[int, int], row: int, words: str, below: str, look: str | Each, text: str | Each
) -> Iterator[Part]:
    (x, wide), y = place, row * _ROW + 2
    yield Part("rect", class_=look, x=x, y=y, width=wide, height=52, rx=8)
    first, second = (Each(f"{each} {more}" for each in text) if type(text) is Each else f"{text} {more}"
                     for more in ("bold", "small"))  # fmt: skip
    yield label(x + wide / 2, y + (24 if below else 32), words, first)
    if below:
        yield label(x + wide / 2, y + 43, below, second)
