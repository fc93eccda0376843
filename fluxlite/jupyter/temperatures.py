"""Temperature: the same scores for the next letter, and what a network writes, from cold to hot.

`next_letter` is the plain call, a picture for one temperature. `temperatures` adds a slider, with all pictures drawn
once.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..activations import softmax
from ..pictures import BLUE, Picture, plots, show
from .widgets import Shown, ipywidgets, said, with_buttons


def chances(scores: Any, temperature: float) -> np.ndarray:
    """The probabilities of the next letter: the softmax of ``scores / temperature``.

    Raises `ValueError` for a temperature that isn't above 0.

    >>> np.round(chances([2.0, 1.0, 0.0], temperature=0.5), 2)
    array([0.87, 0.12, 0.02])
    """
    if not temperature > 0:
        raise ValueError(f"a temperature is above 0, since scores are divided by it; got {temperature}")
    return softmax(np.asarray(scores, np.float64) / temperature)


def next_letter(letters: Sequence[str], scores: Any, temperature: float, written: str = "", after: str = "") -> Picture:
    """How likely each of `letters` is to come next, for its `scores`, at one `temperature`.

    `after` is what comes before it, and `written` what the network wrote at this temperature: both go into the sentence
    below the picture. Raises `ValueError` if there isn't one score for each letter.

    >>> next_letter("ab", [2.0, 0.0], temperature=1.0, after="c")
    Temperature 1: after 'c', a comes with 88 %, and b with 12 %.
    """
    if len(letters) != len(scores):
        raise ValueError(f"next_letter takes a score for each letter, got {len(letters)} and {len(scores)}")
    shares = chances(scores, temperature)
    figure, axes = plots(height=2.2)
    names = [_name(letter) for letter in letters]
    axes.bar(range(len(names)), shares, color=BLUE)
    axes.set_xticks(range(len(names)), [{"space": "␣", "new line": "↵"}.get(name, name) for name in names])
    axes.set(ylim=(0, 1), ylabel="probability", xlim=(-0.7, len(names) - 0.3))
    axes.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])
    axes.set_title(f"the next letter after {after!r}, temperature {temperature:g}", loc="left", fontsize=13)
    best = np.argsort(-shares, kind="stable")[:2]
    first, *more = [f"{names[i]} comes with {shares[i]:.0%}".replace("%", " %") for i in best]
    sentence = f"Temperature {temperature:g}: after {after!r}, {first}"
    sentence += "".join(f", and {words.replace(' comes', '')}" for words in more) + "."
    return show(figure, sentence + (f" It writes: {' / '.join(written.splitlines())}" if written else ""))


def _name(letter: str) -> str:
    return {" ": "space", "\n": "new line"}.get(letter, letter)


def temperatures(
    letters: Sequence[str], scores: Any, written: Mapping[float, str], after: str = "", first: float | None = None
) -> Temperatures:
    """`next_letter` with a slider: all temperatures of `written`, which has for each what the network wrote.

    Tab reaches the slider, and the arrow keys move it, or the two buttons beside it. It begins with the temperature
    `first`, or the lowest. Raises `ValueError` if `first` isn't among them, and `ImportError` without ipywidgets.

    >>> temperatures("ab", [2.0, 0.0], {0.5: "aaaa", 2.0: "abab"}, after="c")
    Temperature 0.5: after 'c', a comes with 98 %, and b with 2 %. It writes: aaaa
    """
    if not written or (first is not None and first not in written):
        known = ", ".join(f"{t:g}" for t in sorted(written)) or "none"
        raise ValueError(f"temperatures(first=…) is one of those with a text ({known}), got {first}")
    return Temperatures(letters, scores, written, after, min(written) if first is None else first)


class Temperatures(Shown):
    """What `temperatures` returns: `slider` is its control, and `now` the temperature that it shows."""

    def __init__(
        self, letters: Sequence[str], scores: Any, written: Mapping[float, str], after: str, first: float
    ) -> None:
        w = ipywidgets("next_letter(letters, scores, temperature=1.0)")
        ordered = sorted(written)
        self.texts = {t: written[t] for t in ordered}
        self.pictures = {t: next_letter(letters, scores, t, written[t], after) for t in ordered}
        self.slider = w.SelectionSlider(
            options=[(f"{t:g}", t) for t in ordered], value=first, description="temperature",
            style={"description_width": "8em"}, layout={"width": "30em", "max_width": "100%"},
        )  # fmt: skip
        self.image, self.text, self.words = w.HTML(), w.HTML(), w.HTML()
        super().__init__(w.VBox([with_buttons(self.slider), self.image, self.text, self.words]), "", "")
        self.slider.observe(self._changed, names="value")
        self._changed()

    @property
    def now(self) -> float:
        return self.slider.value

    def _changed(self, change: Any = None) -> None:
        picture = self.pictures[self.now]
        self.page, self.sentence = picture._repr_html_(), picture.sentence
        self.image.value = self.page.partition("<figcaption")[0] + "</figure>"
        style = "white-space:pre-wrap;word-break:normal;max-width:44em;line-height:1.4;margin:.3em 0 .3em 1em"
        self.text.value = f'<pre style="{style}">{html.escape(self.texts[self.now])}</pre>'
        self.words.value = said(picture.sentence.partition(" It writes:")[0])
