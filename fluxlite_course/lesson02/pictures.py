"""Models drawn as trees: where each array is, by colour and letter."""

from collections.abc import Iterator, Mapping
from typing import Any

import fluxlite as fl
from fluxlite import explain

from ..scenes import Each, Knob, Part, Scene, drawing, label

_HIGH, _INDENT, _BADGE, _LETTER = 28, 20, 22, 8  # a line, a step to the right, a letter's square, a letter's width
_LOOKS = {"C": "host", "G": "gpu"}


def trees(models: Mapping[str, Any]) -> Scene:
    """Draw models side by side, each under its name.

    A blue C is an array on the CPU, a green G is one on a GPU, and a part with both has both letters. A dashed frame is
    a shut box, which no move can enter.

    >>> trees({"model": fl.Chain(fl.Dense(2, 1, np.tanh))})
    model: C Chain, C layers[0]: Dense, C weight: float32 (1, 2), C bias: float32 (1,), activation: function tanh.
    """
    lines, drawn, said = _side_by_side(models)
    return Scene(drawing(640, 40 + _HIGH * lines, "Where each array is", drawn), [], [said])


def functor_switch() -> Scene:
    """What `gpu` makes of a model whose class isn't registered, and of the same with `@functor`: a knob switches it.

    >>> with fl.simulate_gpu():
    ...     functor_switch()
    [ Info: Simulated:0, a simulated NVIDIA T4, stands in for a GPU.
    m: C MyModel object, a shut box, C first.weight: float32 (3, 4), C first.bias: float32 (3,), ...
    """

    class MyModel:
        def __init__(self) -> None:
            self.first, self.second = fl.Dense(4, 3), fl.Dense(3, 2)

    m = MyModel()
    off = _side_by_side({"m": m, "gpu(m)": m})  # gpu gives it back as it is
    fl.functor(MyModel)
    on = _side_by_side({"m": m, "gpu(m)": fl.gpu(m)})
    for number, (_, drawn, _) in enumerate((off, on)):
        drawn.attributes["data-n"] = number
    both = Part("g", off[1], on[1], only=Each([(0, 0), (1, 1)]))
    title = "Where each array is, without @functor and with it"
    return Scene(drawing(640, 40 + _HIGH * on[0], title, both), [Knob("@functor", ["off", "on"])], [off[2], on[2]])


def _side_by_side(models: Mapping[str, Any]) -> tuple[int, Part, str]:
    """How many lines the models take, the picture of them, and what it says."""
    found = {title: list(_lines(explain(model).root)) for title, model in models.items()}
    drawn = [part for number, (title, nodes) in enumerate(found.items())
             for part in _tree(4 + 632 / len(found) * number, title, nodes)]  # fmt: skip
    told = {name: ", ".join(f"{row.letter} {words}".strip() for row, _, words in tree) for name, tree in found.items()}
    said = " ".join(f"{title}: {words}." for title, words in told.items())
    return max(map(len, found.values())), Part("g", *drawn), said


def _lines(row: Any, name: str = "", depth: int = 0) -> Iterator[tuple[Any, int, str]]:
    """Rows with depth and words. Instead of a list or tuple that's an object's only part, we draw its parts."""
    yield row, depth, f"{name}: {row.what}" if name else row.what
    inside = row.rows[0] if len(row.rows) == 1 and row.rows[0].rows else row
    for part in inside.rows:
        yield from _lines(part, part.name.removeprefix(row.name).lstrip("."), depth + 1)


def _tree(x: float, title: str, lines: list[tuple[Any, int, str]]) -> Iterator[Part]:
    yield label(x, 20, title, "bold")
    latest = {}  # where the latest line of each depth is
    for line, (row, depth, words) in enumerate(lines):
        left, y = x + _INDENT * depth, 36 + _HIGH * line
        latest[depth] = y
        if depth:
            yield Part("path", class_="box", d=f"M{left - 10:g} {latest[depth - 1] + _BADGE + 2}V{y + 11}h7")
        letters = row.letter.split("+") if row.letter else []
        for number, letter in enumerate(letters):
            at = left + _BADGE * number
            yield Part("rect", class_=_LOOKS[letter], x=at, y=y, width=_BADGE - 1, height=_BADGE, rx=3)
            yield label(at + _BADGE / 2 - 0.5, y + 16, letter, "middle inside")
        at = left + _BADGE * max(len(letters), 1) + 6
        if row.shut:
            width = _LETTER * len(words) + 8
            yield Part("rect", class_="wait line dashed", x=at - 4, y=y, width=width, height=_BADGE, rx=3)
        yield label(at, y + 16, words)
