"""The digit pad: draw a digit, and see what each layer of a network makes of it while you draw.

`draw` gives a sheet to draw on, an anywidget; `Reading` is its still. Their page, `digit_pad.js`, has the pen.
"""

import base64
import functools
import html
import json
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

import fluxlite as fl

CELLS = 28  # the sheet has this many cells a side, as MNIST's digits have
RADIUS, SOFT = 1.6, 1.6  # of the brush and its edge, in cells: so a digit has as much ink as one of the course
_FULL = 128  # a cell with at least this much ink, of 255, counts as inked
_DOTS, _WIDEST = 32, 26  # the course's digits were counted on 32 x 32 dots: as high, and at most 26 wide
_CENTRES = np.arange(-1, CELLS + 1) + 0.5  # of the cells, with a frame of paper around them

Stroke = list[tuple[float, float]]  # the places (x, y) that a pen visits, in cells from the upper left corner

# A digit of each kind, drawn by hand: for people without a mouse, for the still, for tests.
EXAMPLES: dict[int, list[Stroke]] = {
    0: [[(14, 4), (9, 6), (7, 13), (9, 21), (14, 24), (19, 21), (21, 13), (18, 6), (14, 4)]],
    1: [[(10, 8), (15, 4), (15, 24)]],
    2: [[(8, 8), (10, 5), (16, 4), (19, 7), (18, 12), (12, 18), (7, 24), (21, 24)]],
    3: [[(8, 6), (10, 4.6), (13, 4), (16, 4.3), (18.4, 6), (19, 8), (18, 10.6), (16, 12.3), (13, 13), (16.5, 13.8),
         (19, 15.8), (20, 18.5), (19.3, 21.2), (17.4, 23.2), (14.5, 24.2), (11, 24), (8, 22.6)]],
    4: [[(16, 4), (10, 11), (7, 18), (21, 18)], [(17, 11), (16, 24)]],
    5: [[(19, 4), (10, 4), (9, 12), (15, 11), (19, 15), (19, 21), (14, 24), (8, 23)]],
    6: [[(17, 4), (11, 8), (9, 15), (9, 21), (13, 24), (18, 22), (18, 17), (14, 15), (10, 18)]],
    7: [[(8, 4), (20, 4), (17, 12), (13, 24)], [(10, 14), (19, 14)]],
    8: [[(14, 13), (9, 10), (10, 5), (15, 4), (18, 7), (14, 13), (9, 18), (10, 23), (16, 24), (19, 20), (14, 13)]],
    9: [[(18, 8), (15, 4), (10, 5), (9, 11), (13, 13), (18, 10), (18, 8), (17, 17), (14, 24)]],
}  # fmt: skip


def trained_network() -> fl.Chain:
    """The network of lesson 09, already trained: `tools/train_digits.py` made its weights."""
    model = fl.Chain(
        fl.Conv((3, 3), 1, 8, fl.relu, pad=1), fl.MaxPool((2, 2)),
        fl.Conv((3, 3), 8, 16, pad=1), fl.BatchNorm(16, fl.relu), fl.MaxPool((2, 2)),
        fl.flatten, fl.Dropout(0.3), fl.Dense(64, 10),
    )  # fmt: skip
    fl.load(Path(__file__).with_name("trained.safetensors"), model)
    return model


def drawn(strokes: Iterable[Stroke]) -> np.ndarray:
    """The ink of some strokes: uint8 of shape (28, 28), from 0 (paper) to 255, with a brush's soft edge.

    >>> drawn([[(14, 4), (14, 24)]])[14, 10:18]
    array([  0,   0, 143, 255, 255, 143,   0,   0], dtype=uint8)
    """
    ink = np.zeros((CELLS, CELLS))
    rows, columns = np.mgrid[:CELLS, :CELLS] + 0.5
    for stroke in strokes:
        for (x0, y0), (x1, y1) in zip(stroke, stroke[1:] or stroke):
            for share in np.linspace(0, 1, 2 * math.ceil(math.hypot(x1 - x0, y1 - y0)) + 1):
                far = np.hypot(columns - x0 - share * (x1 - x0), rows - y0 - share * (y1 - y0))
                ink = np.maximum(ink, np.clip((RADIUS - far) / SOFT + 0.5, 0, 1))
    return np.round(255 * ink).astype(np.uint8)


def seen(ink: np.ndarray) -> np.ndarray:
    """What the network gets to see of `ink`: uint8 of shape (8, 8), from 0 (paper) to 16 (all ink).

    As in the course's digits, the ink is made as high as the image, and each point counts how many of its 4 x 4 dots
    are inked. Raises `ValueError` for ink of another shape.

    >>> seen(drawn([[(4, 2), (4, 8)]]))[0]
    array([ 0,  0,  2, 15, 15,  2,  0,  0], dtype=uint8)
    """
    if np.shape(ink) != (CELLS, CELLS):
        raise ValueError(f"ink is {CELLS} x {CELLS} cells, got an array of shape {np.shape(ink)}")
    framed = np.pad(np.asarray(ink, np.float64), 1)
    if framed.max() < _FULL:
        return np.zeros((8, 8), np.uint8)
    # Where it begins and ends, to a sixteenth of a cell: from top to bottom, and from left to right.
    fine = np.arange(0, CELLS + 0.01, 1 / 16)
    spans = [fine[np.interp(fine, _CENTRES, framed.max(axis)) >= _FULL][[0, -1]] for axis in (1, 0)]
    scale = min(most / (end - begin) for most, (begin, end) in zip((_DOTS, _WIDEST), spans))
    places = [span.mean() + (np.arange(_DOTS) + 0.5 - _DOTS / 2) / scale for span in spans]
    # How much of each row there is at the dots' places, and of each column.
    rows, columns = (np.array([np.interp(at, _CENTRES, one) for one in np.eye(CELLS + 2)]).T for at in places)
    dots = rows @ framed @ columns.T >= _FULL
    return dots.reshape(8, 4, 8, 4).sum(axis=(1, 3)).astype(np.uint8)


@functools.cache
def _examples() -> np.ndarray:
    return np.stack([seen(drawn(strokes)) for strokes in EXAMPLES.values()])


def layer_by_layer(model: Callable, images: np.ndarray) -> list[tuple[str, np.ndarray]]:
    """What each layer makes of `images`, (N, 8, 8) with ink from 0 to 16: its name, and its output on the CPU.

    A layer that changes nothing, such as Dropout outside of training, is left out. What isn't a `Chain` is one layer.
    """
    device, outputs = fl.device_of(model) or fl.cpu, []
    x = device(images[..., None].astype(np.float32) / 16)
    for layer in model if isinstance(model, fl.Chain) else [model]:
        out = layer(x)
        if out is not x:
            outputs.append((getattr(layer, "__name__", type(layer).__name__), np.asarray(fl.cpu(out), np.float64)))
        x = out
    return outputs


class Reading:
    """What a network reads in `ink`, its ``.shares``, and a picture with what each layer makes of it.

    `model` takes images of shape (N, 8, 8, 1), ink from 0 to 1, and gives scores (N, classes). `ink` is of shape
    (28, 28), or a digit, for its example. ``answer(scores)`` gives a list with what to say; otherwise it's the best
    class. Raises `ValueError` for ink of another shape.
    """

    def __init__(self, model: Callable, ink: Any = 3, answer: Callable | None = None) -> None:
        if not isinstance(ink, np.ndarray) and ink not in EXAMPLES:
            raise ValueError(f"ink is an array of {CELLS} x {CELLS} cells, or a digit from 0 to 9; got {ink!r}")
        self.ink = ink if isinstance(ink, np.ndarray) else drawn(EXAMPLES[ink])
        points = seen(self.ink)
        # The ten examples come along as a scale, so that a number looks equally dark in all that you draw.
        outputs = layer_by_layer(model, np.stack([points, *_examples()]))
        last, scores = outputs.pop()
        shares, best = fl.softmax(scores[0]), int(np.argmax(scores[0]))
        self.shares = {str(name): float(f"{share:.2f}") for name, share in enumerate(shares)}
        word = str(best if answer is None else list(answer(scores[:1]))[0])
        self.sentence = f"It reads {word}. The largest share is {shares[best]:.0%}, for {best}."
        if not points.any():
            word, best, shares, self.sentence = "", -1, 0 * shares, "An empty sheet. Draw a digit."
        shown = [("it sees", points[..., None] * 15 / 255)]
        for name, out in outputs:
            low, high = min(out.min(), 0), np.quantile(out, 0.995)
            shown.append((name, np.clip((out[0] - low) / ((high - low) or 1), 0, 1)))
        layers = [[name, list(x.shape), _text(np.round(255 * x))] for name, x in (*shown, (f"{last}, softmax", shares))]
        self.told = {"sentence": self.sentence, "word": word, "best": best, "layers": layers}  # what the page shows

    def _repr_html_(self) -> str:
        state = {"sheet": _text(self.ink), "told": self.told}
        page = _file("digit_pad.js").replace("export default", "return")
        return (
            f'<style>{_file("digit_pad.css")}</style><div role="img" aria-label="{self!r}">{self!r}</div><script>'
            f"(() => {{ {page} }})().still({json.dumps(state)}, document.currentScript.previousElementSibling)</script>"
        )

    def __repr__(self) -> str:
        return html.escape(self.sentence)


def _text(values: np.ndarray) -> str:
    return base64.b64encode(np.asarray(values, np.uint8).tobytes()).decode()


def draw(model: Callable, ink: Any = 3, answer: Callable | None = None) -> Any:
    """`Reading` with a sheet to draw on: the layers move while you draw. Your digit is in ``.ink``, which you can set.

    >>> draw(lambda images: np.zeros((len(images), 10)), 3).told["sentence"]
    'It reads 0. The largest share is 10%, for 0.'
    """
    reading = Reading(model, ink, answer)
    try:
        return _pad()(functools.partial(Reading, model, answer=answer), reading)
    except ImportError:
        print("To draw, you need anywidget: run  %pip install anywidget  and reload the page. Here's an example.")
        return reading


@functools.cache
def _pad() -> type:  # made when it's needed: nothing else here needs anywidget
    import anywidget
    import traitlets

    class Pad(anywidget.AnyWidget):
        _esm, _css = _file("digit_pad.js"), _file("digit_pad.css")
        examples = traitlets.List(list(EXAMPLES.values())).tag(sync=True)
        # What the page has drawn isn't sent back to it: it would undo what has been drawn since.
        sheet = traitlets.Unicode().tag(sync=True, echo_update=False)
        told = traitlets.Dict().tag(sync=True)

        @property
        def ink(self) -> np.ndarray:
            return np.frombuffer(base64.b64decode(self.sheet), np.uint8).reshape(CELLS, CELLS)

        @ink.setter
        def ink(self, ink: np.ndarray) -> None:
            seen(ink)  # raises for ink of another shape
            self.sheet = _text(ink)

        def __init__(self, read: Callable, reading: Reading) -> None:
            super().__init__()
            self._read, self._reading = read, reading
            self.ink = reading.ink

        @traitlets.observe("sheet")
        def _drawn(self, change: Any) -> None:
            try:
                self._reading = self._read(self.ink)
                self.told = self._reading.told
            except Exception as error:  # what's raised while you draw would be seen nowhere
                self.told = {"sentence": f"{type(error).__name__}: {error}", "layers": []}

        def _repr_mimebundle_(self, **kwargs: Any) -> Any:
            live: Any = super()._repr_mimebundle_(**kwargs)
            still = {"text/html": self._reading._repr_html_(), "text/plain": repr(self._reading)}
            return {**live[0], **still}, live[1]

    return Pad


@functools.cache
def _file(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
