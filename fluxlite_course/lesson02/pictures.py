"""Models drawn as trees: where each array is, by colour and letter."""

from collections.abc import Iterator, Mapping
from typing import Any

import fluxlite as fl
from fluxlite import explain
from fluxlite.words import many

from ..scenes import Each, Knob, Part, Scene, drawing, label

_HIGH, _INDENT, _BADGE, _LETTER = 28, 20, 22, 8  # a line, a step to the right, a letter's square, a letter's width
_LOOKS = {"C": "host", "G": "gpu"}
_PLACES = {"C": "CPU", "G": "GPU"}


def trees(models: Mapping[str, Any]) -> Scene:
    """Draw models side by side, each under its name.

    A blue C is an array on the CPU, a green G is one on a GPU, and a part with both has both letters. A dashed frame is
    a shut box, which no move can enter.

    >>> trees({"model": fl.Chain(fl.Dense(2, 1, np.tanh))})
    model: 2 arrays on the CPU.
    """
    lines, drawn, told, said = _side_by_side(models)
    return Scene(drawing(640, 40 + _HIGH * lines, f"Where each array is. {told}", drawn), [], [said])


def functor_switch() -> Scene:
    """What `gpu` makes of a model whose class isn't registered, and of the same with `@functor`: a knob switches it.

    >>> with fl.simulate_gpu():
    ...     functor_switch()
    [ Info: Simulated:0, a simulated NVIDIA T4, stands in for a GPU.
    m: 4 arrays on the CPU, in a shut box. gpu(m): 4 arrays on the CPU, in a shut box.
    """

    class MyModel:
        def __init__(self) -> None:
            self.first, self.second = fl.Dense(4, 3), fl.Dense(3, 2)

    m = MyModel()
    off = _side_by_side({"m": m, "gpu(m)": m})  # gpu gives it back as it is
    fl.functor(MyModel)
    on = _side_by_side({"m": m, "gpu(m)": fl.gpu(m)})
    for number, (_, drawn, *_) in enumerate((off, on)):
        drawn.attributes["data-n"] = number
    both = Part("g", off[1], on[1], only=Each([(0, 0), (1, 1)]))
    title = f"Where each array is, without @functor and with it. With it, {on[2]}"
    knob = Knob("@functor", ["off", "on"])
    return Scene(drawing(640, 40 + _HIGH * on[0], title, both), [knob], [off[3], on[3]], telling=[1])


def _side_by_side(models: Mapping[str, Any]) -> tuple[int, Part, str, str]:
    """How many lines the models take, the picture of them, all that's in it, and the short of it."""
    found = {title: list(_lines(explain(model).root)) for title, model in models.items()}
    drawn = [part for number, (title, nodes) in enumerate(found.items())
             for part in _tree(4 + 632 / len(found) * number, title, nodes)]  # fmt: skip
    told = {name: ", ".join(f"{row.letter} {words}".strip() for row, _, words in tree) for name, tree in found.items()}
    everything = " ".join(f"{title}: {words}." for title, words in told.items())
    said = " ".join(f"{title}: {_in_short([row for row, *_ in tree])}." for title, tree in found.items())
    return max(map(len, found.values())), Part("g", *drawn), everything, said


def _in_short(rows: list[Any]) -> str:
    """How many arrays are where."""
    letters = [row.letter for row in rows if row.letter in _PLACES and not row.rows]
    counts = {letter: letters.count(letter) for letter in _PLACES if letter in letters}
    words = [f"{many(count, 'array')} on the {_PLACES[letter]}" for letter, count in counts.items()]
    shut = ", in a shut box" if any(row.shut for row in rows) else ""
    return (" and ".join(words) or "no array") + shut


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
            yield Part("rect", class_="rest line dashed", x=at - 4, y=y, width=width, height=_BADGE, rx=3)
        yield label(at, y + 16, words)
