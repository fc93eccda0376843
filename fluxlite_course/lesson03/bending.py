"""Lesson 03's surface: what a network answers for every pair of numbers, and the points that it learned from."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

import fluxlite as fl
from fluxlite.words import many

from ..scenes import Each, Knob, Part, Scene, drawing, label
from ..scenes.parts import rounded

_FIELDS = 8  # of the surface, in each direction
_MIDDLE = np.array([320.0, 196.0])  # of the picture, where both numbers are 0 and so is the height
_FIRST, _SECOND, _UP = np.array([186.0, 38.0]), np.array([100.0, -56.0]), np.array([0.0, -84.0])  # a step of 1 in each
_MOST, _FLOOR = 1.3, -1.1  # how high the surface may go, and where the floor is


def surfaces(models: Mapping[int, Any], x: np.ndarray, y: np.ndarray) -> Scene:
    """The points (N, 2) with their heights (N, 1), and the surface of each model's answers, by its number of steps.

    Between a point and the surface there's a stick: it's as long as the model's error.

    >>> x = np.array([[0.0, 0.0], [1.0, 0.5]], np.float32)
    >>> surfaces({0: lambda x: x[:, :1] + 1, 9: lambda x: x[:, :1]}, x, x[:, 1:])
    After 0 steps: the sticks are 1.2 long, on average.
    """
    edges = np.linspace(-1, 1, _FIELDS + 1)
    grid = np.stack(np.meshgrid(edges, edges, indexing="ij"), -1).reshape(-1, 2).astype(np.float32)
    sheets = [_answers(model, grid).reshape(_FIELDS + 1, _FIELDS + 1) for model in models.values()]
    answers = [_answers(model, x) for model in models.values()]
    sticks = [np.abs(found - y.ravel()).mean() for found in answers]
    said = [f"After {many(steps, 'step')}: the sticks are {stick:.2g} long, on average."
            for steps, stick in zip(models, sticks)]  # fmt: skip
    picture = drawing(
        640, 406, f"{many(len(x), 'point')}, and the surface of the network's answers, while it learns",
        *_floor(),
        Part("g", *_fields(edges, sheets), class_="op compute"),
        *_points(x, y.ravel(), answers),
        label(8, 20, f"{many(len(x), 'point')} to learn", "host bold"),
        label(8, 42, "the network's answers", "gpu bold"),
        label(8, 64, "sticks: how far off they are", "small"),
    )  # fmt: skip
    knob = Knob("steps", [str(steps) for steps in models], slider=True, ms=700)
    return Scene(picture, [knob], said)


def _answers(model: Any, x: np.ndarray) -> np.ndarray:
    """What the model says, computed on the CPU, wherever it is."""
    return np.asarray(fl.cpu(model)(x)).ravel()


def _place(first: Any, second: Any, height: Any) -> tuple[Any, Any]:
    """Where a point in space is in the picture."""
    height = np.clip(np.nan_to_num(height), -_MOST, _MOST)
    x, y = (_MIDDLE[k] + _FIRST[k] * first + _SECOND[k] * second + _UP[k] * height for k in (0, 1))
    return x, y


def _path(first: Any, second: Any, height: Any) -> str:
    """A closed path through these points in space."""
    return "M" + "L".join(f"{x:.0f} {y:.0f}" for x, y in zip(*_place(first, second, height))) + "z"


def _floor() -> Iterator[Part]:
    """The square of all pairs of numbers, and what its edges are."""
    corners = np.array([-1, 1, 1, -1]), np.array([-1, -1, 1, 1])
    yield Part("path", class_="axis", stroke_dasharray="3 4", d=_path(*corners, np.full(4, _FLOOR)))
    for words, first, second, look in (("first number", 0, -1, "end"), ("second number", 1, 0, "")):
        x, y = rounded(_place(first, second, _FLOOR))
        yield label(x, y + 22, words, look)


def _fields(edges: np.ndarray, sheets: list[np.ndarray]) -> Iterator[Part]:
    """The surface, field by field, from the back to the front: what's nearer covers what's behind it."""
    for second in reversed(range(_FIELDS)):
        for first in range(_FIELDS):
            rows, columns = [first, first + 1, first + 1, first], [second, second, second + 1, second + 1]
            yield Part("path", d=Each(_path(edges[rows], edges[columns], sheet[rows, columns]) for sheet in sheets))


def _points(x: np.ndarray, y: np.ndarray, answers: list[np.ndarray]) -> Iterator[Part]:
    for number, ((first, second), height) in enumerate(zip(x, y)):
        across, up = rounded(_place(first, second, height))
        ends = [rounded(_place(first, second, found[number]))[1] for found in answers]
        yield Part(
            "path", class_="host line", style="stroke-width:1.5", d=Each(f"M{across} {up}V{end}" for end in ends)
        )
        yield Part("circle", class_="host", cx=across, cy=up, r=4)
