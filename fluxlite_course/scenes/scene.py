"""A scene: a picture, knobs, and a sentence for each setting of the knobs, as HTML that needs no kernel."""

import base64
import functools
import html
import itertools
import json
import math
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, NamedTuple

from .parts import Part, moves, rounded


class Knob(NamedTuple):
    """A control: buttons, or a slider. If it's `picked`, you press the picture's parts that choose its options."""

    name: str
    options: Sequence[str]
    slider: bool = False
    ms: int = 0  # for each step: it gives the slider a play button
    press: str = ""  # the name of a button that goes one step further, in place of the play button
    picked: bool = False


@dataclass(repr=False)
class Scene:
    """A picture, knobs, and a sentence for each state. A state is a setting of all knobs; the last knob turns fastest.

    `first` has each knob's position at first. `telling` has those of the state that's stored as an image, for pages
    without a kernel; unless you say which, films stand at their end. `along` has a place from left to right for each
    state: dragging on the picture, in its part with the attribute ``data-drag`` if there is one, moves the last knob to
    the state whose place is the nearest. Places ``(x, y)`` move the last two knobs. `shown` is what's written beside
    the last knob in each state, where that isn't its option.

    As a cell's result, a scene is shown in the page, and moves there without a kernel. Its sentence stands below it,
    and screen readers read it; `at` gives them to you, and printing a scene prints the first one. Raises `ValueError`
    unless there are as many sentences as states, and as many values of everything that moves.

    >>> from fluxlite_course.scenes import Each, Part, drawing
    >>> bar = Part("rect", x=0, y=0, height=9, width=Each([10, 20]))
    >>> sizes = Scene(drawing(30, 9, "A bar", bar), [Knob("size", ["1", "2"])], ["One wide.", "Two wide."])
    >>> sizes.at(size="2")
    'Two wide.'
    >>> sizes
    One wide.
    """

    picture: Part
    knobs: Sequence[Knob]
    sentences: Sequence[str]
    first: Sequence[int] = ()
    telling: Sequence[int] = ()
    along: Sequence[Any] = ()
    shown: Sequence[str] = ()

    def __post_init__(self) -> None:
        self.first = list(self.first) or [0] * len(self.knobs)
        if not self.telling:
            # A knob that plays, or that's pressed step by step, has its point at the end.
            self.telling = [len(knob.options) - 1 if knob.ms else at for knob, at in zip(self.knobs, self.first)]
        states = math.prod(len(knob.options) for knob in self.knobs)
        counts = {len(move.which) for move in moves(self.picture)} | {len(self.sentences)}
        counts |= {len(self.along) or states, len(self.shown) or states}
        if self.along and not any("data-drag" in part.attributes for part in self.picture.parts()):
            self.picture.attributes["data-drag"] = ""
        if counts != {states}:
            found = ", ".join(map(str, sorted(counts)))
            raise ValueError(f"the knobs have {states} states, so all that moves takes {states} values, got {found}")

    @property
    def settings(self) -> list[dict[str, str]]:
        """Each state's setting: what each knob shows."""
        names = [knob.name for knob in self.knobs]
        return [dict(zip(names, chosen)) for chosen in itertools.product(*(knob.options for knob in self.knobs))]

    def at(self, **setting: str) -> str:
        """The sentence for a setting of the knobs. What you leave out stays as it was at first."""
        return self.sentences[self.settings.index({**self.settings[self.state], **setting})]

    @property
    def state(self) -> int:
        """The number of the first state shown."""
        return self._number(self.first)

    def _number(self, positions: Sequence[int]) -> int:
        """The number of the state that has its knobs at these positions."""
        number = 0
        for knob, at in zip(self.knobs, positions):
            number = number * len(knob.options) + at
        return number

    def data(self) -> dict[str, Any]:
        """What the script reads: knobs, moves, and the sentences; equal parts are written once."""
        phrases: dict[str, int] = {}
        split = [re.split(r"(?<=[.;:]) ", said) for said in self.sentences]
        says = [[phrases.setdefault(phrase, len(phrases)) for phrase in said] for said in split]
        knobs = [[knob.name, list(knob.options), *knob[2:]] for knob in self.knobs]
        about = {
            "knobs": knobs,
            "first": self.first,
            "moves": moves(self.picture),
            "along": self._places,
            "shown": self.shown,
        }
        return {**about, "phrases": list(phrases), "says": says}

    @property
    def _places(self) -> list[Any]:
        """Each state's place for dragging, with few digits."""
        if self.along and isinstance(self.along[0], tuple):
            return [rounded(place) for place in self.along]
        return rounded(self.along)

    def still(self) -> str:
        """The telling state as an image, and its sentence."""
        state = self._number(self.telling)
        look = text_of("picture.css").replace(".fluxlite-scene {", "svg { background: #fff;", 1)
        svg = re.sub(' (aria-label|data-[a-z]+)="[^"]*"', "", self.picture.markup(state, hidden=False))
        svg = svg.replace(">", f"><style>{look}</style>", 1)
        svg = svg.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
        source = base64.b64encode(svg.encode()).decode()
        title, said = (html.escape(words) for words in (self.picture.attributes["aria-label"], self.sentences[state]))
        image = f'<img alt="{title}" src="data:image/svg+xml;base64,{source}" style="width:46rem;max-width:100%">'
        return f"{image}<p>{said}</p>"

    def _repr_html_(self) -> str:
        """For a page: the still, and packed next to it what the script puts in its place.

        A page that keeps scripts out, as JupyterLab does with a notebook it doesn't trust, and GitHub, shows the still.
        """
        page = (
            f'<div class="fluxlite-picture">{self.picture.markup(self.state)}</div>'
            f'<p class="fluxlite-says" role="status" aria-live="polite">{html.escape(repr(self))}</p>'
        )
        script = text_of("scene.js").replace("KEYS", text_of("keys.js"))
        packed = {
            "page": page,
            "style": f"{text_of('picture.css')} {text_of('scene.css')}{_for_the_last_row}",
            "script": script,
            "data": self.data(),
        }
        squeezed = zlib.compressobj(9, wbits=-15)  # without a header, as the page's "deflate-raw" takes it
        raw = squeezed.compress(json.dumps(packed, ensure_ascii=False).encode()) + squeezed.flush()
        data = base64.b64encode(raw).decode()
        return (
            f'<div class="fluxlite-packed"><div>{self.still()}</div><script type="text/plain">{data}</script>'
            f"<script>{text_of('unpack.js')}</script></div>"
        )

    def __repr__(self) -> str:
        return self.sentences[self.state]


_for_the_last_row = ""


def widen(on: bool) -> None:
    """From now on, scenes are as wide as the page, with larger letters, so that a class can read them; or as usual."""
    global _for_the_last_row
    _for_the_last_row = " .fluxlite-scene { max-width: none; font-size: 1.35em; }" if on else ""


@functools.cache
def text_of(name: str) -> str:
    """A script or style sheet of this folder, on one line, without comments, which stand on lines of their own."""
    text = resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    lines = re.sub(r"(?ms)^\s*/\*.*?\*/\s*$", "", text).splitlines()
    return " ".join(line.strip() for line in lines if line.strip() and not line.strip().startswith("//"))
