"""How a device is chosen, question by question."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

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
    parts = [part for row, question in enumerate(QUESTIONS) for part in _row(row, question)]
    parts += _answer(_LEFT, len(QUESTIONS), "the CPU", "", "host")
    picture = drawing(640, 432, "How a device is chosen: five questions, and the first yes counts", *parts)
    cases = [*(question.case for question in QUESTIONS), "nothing of all this"]
    return Scene(picture, [Knob("the first yes", cases)], [_said(case) for case in range(len(cases))])


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
    yield Part("g", *_box(_LEFT, row, question.about, question.asked, "host hollow"),
               class_=Each("faint" if case < row else None for case in cases))  # fmt: skip
    yield from _answer(_RIGHT, row, question.answer, question.otherwise, "gpu")
    y, (left, wide), (right, _) = row * _ROW + 28, _LEFT, _RIGHT
    middle = left + wide // 2
    for d, looks in ((f"M{left + wide + 4} {y}H{right - 4}m-9-6l9 6l-9 6", ["gpu" if n == row else "" for n in cases]),
                     (f"M{middle} {y + 28}v16m-6-8l6 8l6-8", ["host" if n > row else "" for n in cases])):  # fmt: skip
        yield Part("path", class_=Each(f"{look or 'rest faint'} line" for look in looks), d=d)
    yield label((left + wide + right) / 2, y - 8, "yes", "middle")
    yield label(middle + 12, y + 41, "no", "small")


def _answer(place: tuple[int, int], row: int, words: str, below: str, look: str) -> Iterator[Part]:
    """A device, in its colour where it's the one chosen."""
    chosen = [case == row for case in range(len(QUESTIONS) + 1)]
    return _box(place, row, words, below, Each(look if each else "box" for each in chosen), chosen)


def _box(
    place: tuple[int, int], row: int, words: str, below: str, look: Any, full: Sequence[bool] = ()
) -> Iterator[Part]:
    """A box with one line or two, their letters white where it's `full`."""
    (x, wide), y = place, row * _ROW + 2
    yield Part("rect", class_=look, x=x, y=y, width=wide, height=52, rx=8)
    lines = [(24, words, "middle bold"), (43, below, "middle small")] if below else [(32, words, "middle bold")]
    for down, text, usual in lines:
        yield label(x + wide / 2, y + down, text, Each(usual + " inside" * each for each in full) or usual)
