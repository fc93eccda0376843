"""The digit pad: draw a digit with the mouse or the keyboard, and see ten scores move while you draw.

`reading` is the plain call, which gives numbers and a picture. `draw` adds a pad to draw on.

The pad's page draws by itself, 32 x 32 dots. It writes them into a hidden text field, which is a widget, and so they
reach the kernel in every front end that has ipywidgets 7 or later.
"""

from __future__ import annotations

import functools
import html
import math
import string
import threading
from collections.abc import Callable, Iterable
from importlib import resources
from typing import Any

import numpy as np

from fluxlite import cpu, softmax

from ..draw.pictures import BLUE, GREY, ORANGE, Picture, plots, show
from ..draw.shapes import bitmap
from ..draw.widgets import Shown, ipywidgets, said

DOTS = 32  # the pad has this many dots a side, as the forms had from which the course's digits were read
RADIUS = 2.4  # of the brush, in dots
_CELLS = 8  # a picture has so many points a side; each counts the ink of 4 x 4 dots
_WIDEST = 26  # dots. The course's digits fill the height, and leave some paper at the sides

Stroke = list[tuple[float, float]]  # the places that a pen visits, each (x, y) in dots

# A digit of each kind, drawn by hand: for people without a mouse, for the picture where no kernel runs, for tests.
EXAMPLES: dict[int, list[Stroke]] = {
    0: [[(16, 4), (10, 7), (8, 15), (10, 24), (16, 28), (22, 24), (24, 15), (21, 7), (16, 4)]],
    1: [[(11, 9), (17, 4), (17, 28)]],
    2: [[(9, 9), (12, 5), (18, 4), (22, 8), (21, 14), (14, 21), (8, 28), (24, 28)]],
    3: [[(9, 6), (16, 4), (22, 7), (21, 13), (15, 15), (22, 18), (23, 24), (17, 28), (9, 26)]],
    4: [[(18, 4), (12, 12), (8, 20), (24, 20)], [(19, 13), (18, 28)]],
    5: [[(22, 4), (11, 4), (10, 14), (17, 13), (22, 17), (22, 24), (16, 28), (9, 26)]],
    6: [[(19, 4), (13, 9), (10, 17), (10, 24), (15, 28), (21, 25), (21, 19), (16, 17), (11, 20)]],
    7: [[(9, 5), (23, 5), (19, 14), (15, 28)], [(12, 16), (22, 16)]],
    8: [[(16, 15), (10, 11), (11, 5), (17, 4), (21, 8), (16, 15), (10, 21), (12, 27), (18, 28), (22, 23), (16, 15)]],
    9: [[(21, 9), (17, 4), (11, 6), (10, 12), (15, 15), (21, 11), (21, 9), (20, 19), (16, 28)]],
}


def drawn(strokes: Iterable[Stroke]) -> np.ndarray:
    """The ink of some strokes on the pad: bool of shape (32, 32).

    A stroke is a list of places (x, y), in dots from the upper left corner; the pen goes straight from each to the
    next. What lies beside the pad leaves no ink.

    >>> int(drawn([[(16, 4), (16, 28)]]).sum())
    112
    """
    ink = np.zeros((DOTS, DOTS), bool)
    rows, columns = np.mgrid[:DOTS, :DOTS] + 0.5
    for stroke in strokes:
        for (x0, y0), (x1, y1) in zip(stroke, stroke[1:] or stroke):
            steps = 2 * math.ceil(math.hypot(x1 - x0, y1 - y0)) + 1
            for share in np.linspace(0, 1, steps):
                x, y = x0 + share * (x1 - x0), y0 + share * (y1 - y0)
                ink |= (columns - x) ** 2 + (rows - y) ** 2 <= RADIUS**2
    return ink


def seen(ink: np.ndarray) -> np.ndarray:
    """What the network gets to see of `ink`: uint8 of shape (8, 8), from 0 (paper) to 16 (all ink).

    As in the course's digits: the ink is made as high as the picture and put in its middle; then each point counts the
    ink of its 4 x 4 dots. Raises `ValueError` for ink of another shape.

    >>> seen(drawn([[(4, 2), (4, 8)]]))[0]
    array([ 0,  0,  8, 16, 16,  8,  0,  0], dtype=uint8)
    """
    ink = np.asarray(ink, bool)
    if ink.shape != (DOTS, DOTS):
        raise ValueError(f"ink is {DOTS} x {DOTS} dots, got an array of shape {ink.shape}")
    if ink.any():
        ink = _filling(ink)
    return ink.reshape(_CELLS, DOTS // _CELLS, _CELLS, DOTS // _CELLS).sum(axis=(1, 3)).astype(np.uint8)


def _filling(ink: np.ndarray) -> np.ndarray:
    """The ink, enlarged from its middle until it's as high as the pad, or as wide as a digit may be."""
    rows, columns = np.flatnonzero(ink.any(axis=1)), np.flatnonzero(ink.any(axis=0))
    height, width = rows[-1] - rows[0] + 1, columns[-1] - columns[0] + 1
    scale = min(DOTS / height, _WIDEST / width)
    from_middle = (np.arange(DOTS) + 0.5 - DOTS / 2) / scale
    y = np.floor(rows[0] + height / 2 + from_middle).astype(int)
    x = np.floor(columns[0] + width / 2 + from_middle).astype(int)
    return np.pad(ink, DOTS)[np.clip(y, -DOTS, 2 * DOTS - 1)[:, None] + DOTS, np.clip(x, -DOTS, 2 * DOTS - 1) + DOTS]


# -- the plain call -------------------------------------------------------------------------------------------------


def reading(read: Callable, ink: Any = 3, answer: Callable | None = None) -> tuple[dict[str, float], Picture]:
    """What a network reads in `ink`: ``(scores, picture)``.

    ``read(pictures)`` takes pictures of shape (1, 8, 8), ink from 0 to 16, and gives (1, classes): any scores, of which
    `softmax` makes shares of 1. `ink` is bool of shape (32, 32), as `drawn` makes it; or a number, for the example of
    that digit. ``answer(scores)`` gives a list with what to say; otherwise it's the class with the largest score. The
    numbers are the shares, to two digits.

    Raises `ValueError` for ink or scores of another shape.

    >>> reading(lambda pictures: np.zeros((1, 10)), 3)[1]
    This ink, as 8 × 8 points, is read as 0. The shares, from 0 to 9: 0.10, 0.10, ...
    """
    ink = _ink_of(ink)
    points = seen(ink)
    shares, word = _read(read, points, answer)
    sentence = (
        f"This ink, as 8 × 8 points, is read as {word}. The shares, from 0 to {len(shares) - 1}: "
        f"{', '.join(f'{share:.2f}' for share in shares)}."
    )
    numbers = {str(number): float(f"{share:.2f}") for number, share in enumerate(shares)}
    return numbers, show(_figure(ink, points, shares, word), sentence)


def _ink_of(ink: Any) -> np.ndarray:
    if isinstance(ink, np.ndarray):
        return ink
    if ink not in EXAMPLES:
        raise ValueError(f"ink is an array of {DOTS} x {DOTS} dots, or a digit from 0 to 9; got {ink!r}")
    return drawn(EXAMPLES[ink])


def _read(read: Callable, points: np.ndarray, answer: Callable | None) -> tuple[np.ndarray, str]:
    """Each class's share of 1, and what to say."""
    scores = np.asarray(cpu(read(points[None])), np.float64)
    if scores.ndim != 2 or len(scores) != 1:
        raise ValueError(f"read gives the scores of one picture, of shape (1, classes); got {scores.shape}")
    return softmax(scores[0]), str(np.argmax(scores) if answer is None else list(answer(scores))[0])


def _figure(ink: np.ndarray, points: np.ndarray, scores: np.ndarray, word: str) -> Any:
    figure, (pad, picture, bars) = plots(1, 3, height=3.1, width=9.6, width_ratios=[1, 1, 1.4])
    for axes, values, title, most in ((pad, ink, "your ink", 1), (picture, points, "what it sees", 16)):
        bitmap(axes, values, "gray_r", 0, most)
        axes.set_title(title)
    best = int(np.argmax(scores))
    names = range(len(scores))
    bars.barh(names, scores, color=[BLUE if name == best else GREY for name in names], height=0.7)
    for name, score in zip(names, scores):
        bars.text(score + 0.02, name, f"{score:.2f}", va="center", fontsize=11)
    bars.set(yticks=list(names), xlim=(0, 1.2), xticks=[], ylim=(len(scores) - 0.4, -0.6))
    bars.tick_params(axis="y", length=0)
    bars.spines[["bottom", "left"]].set_visible(False)
    bars.set_title(f"it reads {word}", fontweight="bold")
    return figure


# -- the widget -----------------------------------------------------------------------------------------------------

_NOTHING = "nothing"

_ZOOM = 8  # the page's pixels for each dot
_HELP = (
    "Draw with the mouse or a finger. With the keyboard: Tab to the pad, the arrows move the pen, space puts it down "
    "or lifts it."
)


def draw(read: Callable, ink: Any = 3, answer: Callable | None = None) -> Pad:
    """`reading` with a pad to draw on: the scores move while you draw.

    Takes what `reading` takes. `ink` is what's on the pad at first. Raises what `read` raises at first, and
    `ImportError` without ipywidgets.
    """
    return Pad(read, ink, answer)


class Pad(Shown):
    """The widget that `draw` returns. What you've drawn is in ``.ink``, what the network sees of it in ``.seen``.

    You can set the ink: ``pad.ink = drawn([[(16, 4), (16, 28)]])``. Its controls are ``.clear`` and ``.example``.
    """

    def __init__(self, read: Callable, ink: Any, answer: Callable | None) -> None:
        w = ipywidgets("reading(read)[1]")
        self._read, self._answer = read, answer
        picture = reading(read, ink, answer)[1]  # raises before we show anything
        self._lock, self._turn = threading.RLock(), 0  # changes may come from several threads
        self._field = w.Text(layout={"display": "none"})  # where the page puts the ink
        self._field.add_class(f"fluxlite-ink-{self._field.model_id}")
        self._pad, self._scores = w.HTML(), w.HTML(layout={"margin": "0 0 0 24px"})
        self.clear = w.Button(description="Clear", tooltip="a new sheet of paper")
        self.example = w.Dropdown(options=[_NOTHING, *EXAMPLES], value=_NOTHING, description="Example")
        both = w.HBox([self._pad, self._scores], layout={"flex_flow": "row wrap", "align_items": "flex-start"})
        box = w.VBox([both, w.HBox([self.clear, self.example]), self._field])
        super().__init__(box, picture._repr_html_(), picture.sentence)
        self.ink = _ink_of(ink)
        self._field.observe(self._changed, names="value")
        self.clear.on_click(self._cleared)
        self.example.observe(self._chosen, names="value")

    @property
    def ink(self) -> np.ndarray:
        """What's drawn: bool of shape (32, 32)."""
        return self._ink

    @ink.setter
    def ink(self, ink: np.ndarray) -> None:
        ink = np.array(ink, bool)
        dots = np.packbits(ink).tobytes().hex()
        with self._lock:
            self._turn += 1  # the same ink twice is a new page, too: something else was drawn in between
            self._pad.value = _page(dots, self._field.model_id, self._turn)  # before we say what we read on it
            self._field.value = dots
            self._show(ink)

    @property
    def seen(self) -> np.ndarray:
        """What the network sees of it: uint8 of shape (8, 8)."""
        return seen(self._ink)

    def _changed(self, change: Any) -> None:
        with self._lock:
            dots = np.frombuffer(bytes.fromhex(self._field.value), np.uint8)
            self._show(np.unpackbits(dots).reshape(DOTS, DOTS).astype(bool))

    def _cleared(self, button: Any) -> None:
        self.example.value = _NOTHING
        self.ink = np.zeros((DOTS, DOTS), bool)

    def _chosen(self, change: Any) -> None:
        if self.example.value != _NOTHING:
            self.ink = _ink_of(self.example.value)

    def _show(self, ink: np.ndarray) -> None:
        points = seen(ink)
        self._ink = ink
        if not ink.any():
            self._scores.value = said("An empty sheet. Draw a digit.")
            return
        try:
            self._scores.value = _bars(points, *_read(self._read, points, self._answer))
        except Exception as error:  # what is raised while you draw would be seen nowhere
            self._scores.value = said(f"{type(error).__name__}: {error}")


def _page(ink: str, to: str, turn: int) -> str:
    """The pad's HTML, with this ink on it. Its script writes into the field of the class ``fluxlite-ink-`` + `to`."""
    brush = int(2 * RADIUS * _ZOOM)
    return string.Template(_file("digit_pad.html")).substitute(
        ink=ink, to=f"fluxlite-ink-{to}", dots=DOTS, radius=RADIUS, zoom=_ZOOM, turn=turn, grey=GREY,
        orange=ORANGE, size=DOTS * _ZOOM, wide=DOTS * _ZOOM + 4, brush=brush, margin=2 - brush // 2,
        help=_HELP, script=html.escape(_file("digit_pad.js")),
    )  # fmt: skip


@functools.cache
def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _bars(points: np.ndarray, scores: np.ndarray, word: str) -> str:
    """The scores as HTML: it's made faster than a picture, and takes the theme's colours."""
    best = int(np.argmax(scores))
    rows = "".join(
        f'<div style="display:flex;align-items:center;height:20px"><span style="width:1.5em">{name}</span>'
        f'<span style="background:{BLUE if name == best else GREY};height:14px;width:{160 * float(score):.0f}px">'
        f'</span><span style="margin-left:6px">{score:.2f}</span></div>'
        for name, score in enumerate(scores)
    )
    cells = "".join(
        f'<rect x="{x}" y="{y}" width="1.02" height="1.02" fill="rgb({g},{g},{g})"/>'
        for y, row in enumerate(points)
        for x, g in enumerate(255 - 255 * row.astype(int) // 16)
    )
    sees = (
        f'<svg width="72" height="72" viewBox="0 0 8 8" style="border:1px solid {GREY};margin:0 12px" role="img" '
        f'aria-label="8 × 8 points">{cells}</svg>'
    )
    return (
        f'<div style="width:250px;line-height:1.4"><div style="display:flex;align-items:center;margin-bottom:6px">'
        f'it sees{sees}<span role="status" aria-live="polite">it reads<br><b style="font-size:160%">{html.escape(word)}'
        f"</b></span></div>{rows}</div>"
    )
