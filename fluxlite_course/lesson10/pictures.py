"""Lesson 16's pictures: a gap, what's left of an input, a gate over time, and the next letter, from cold to hot."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import fluxlite as fl
from fluxlite.messages import many

from ..draw.pictures import BLUE, GREEN, GREY, ORANGE, Picture, plots, show
from ..draw.widgets import Shown, ipywidgets, said, with_buttons


def kept(layer: Any, x: Any) -> np.ndarray:
    """Which share of each number in its memory `layer` keeps at each step, on the CPU.

    For an `LSTM` that's the forget gate, for a `GRU` the update gate. `x` has shape ``(T, inputs)``, and the result
    ``(T, outputs)``: 1 keeps all of it, 0 nothing. Raises `TypeError` for another layer, since it has no such gate.

    >>> gru = fl.GRU(2, 3)
    >>> gru.cell.bias[3:6] = 100  # the update gate is wide open
    >>> kept(gru, np.zeros((2, 2), np.float32))
    array([[1., 1., 1.],
           [1., 1., 1.]], dtype=float32)
    """
    cell = getattr(layer, "cell", None)
    if not isinstance(cell, (fl.LSTMCell, fl.GRUCell)):
        raise TypeError(f"kept(layer, x) takes an LSTM or a GRU, whose memory has a gate; got {type(layer).__name__}")
    size, state, gates = cell.Wh.shape[1], fl.initialstates(cell), []
    rows = slice(size, 2 * size)  # of the weights: both layers have this gate second
    Wi, Wh, bias = cell.Wi[rows], cell.Wh[rows], 0 if cell.bias is None else cell.bias[rows]
    for point in x:
        gates.append(fl.sigmoid(Wi @ point + Wh @ (state[0] if isinstance(state, tuple) else state) + bias))
        _, state = cell(point, state)
    return fl.cpu(np.stack(gates))


_LINES = ((BLUE, "-", "o"), (ORANGE, "--", "s"), (GREEN, "-.", "^"), (GREY, ":", "D"))


def gap_picture(x: Any) -> Picture:
    """One sequence with a gap, of shape ``(T, 2)``: the points, and whether each belongs to the wave.

    >>> gap_picture(np.array([[0.1, 1], [0.5, 1], [-0.7, 0]]))
    2 points of a wave, and then 1 step of noise. The network is asked for the last point of the wave, 0.50.
    """
    steps, seen = np.arange(len(x)), int(np.sum(x[:, 1]))
    figure, axes = plots(height=2.8)
    axes.axvspan(-0.5, seen - 0.5, color=BLUE, alpha=0.12)
    axes.plot(steps[:seen], x[:seen, 0], "o-", color=BLUE, label="the wave")
    axes.plot(steps[seen:], x[seen:, 0], "x", color=GREY, label="noise")
    axes.plot(seen - 1, x[seen - 1, 0], "o", mfc="none", mec=ORANGE, ms=15, mew=2.5, label="asked for at the end")
    axes.set(xlabel="step", ylabel="input", ylim=(-1.25, 1.6), xlim=(-0.7, len(x) - 0.3))
    axes.legend(loc="upper right", ncol=3, fontsize=11, handletextpad=0.3)
    asked = f"The network is asked for the last point of the wave, {x[seen - 1, 0]:.2f}."
    return show(figure, f"{seen} points of a wave, and then {many(len(x) - seen, 'step')} of noise. {asked}")


def left_picture(effects: Mapping[str, Any]) -> Picture:
    """For each network the effect of an input on the last output, ``(T,)``, from the first step to the last.

    >>> left_picture({"forgets": np.array([0.01, 0.1, 1.0])})
    What is left of an input's effect on the last output. forgets: 2 steps later 1 %.
    """
    figure, axes = plots(height=3.6)
    said = []
    for (name, effect), (colour, style, marker) in zip(effects.items(), _LINES):
        shares = np.asarray(effect) / effect[-1]
        ago = np.arange(len(shares))[::-1]
        axes.semilogy(ago, shares, linestyle=style, marker=marker, markevery=5, ms=7, color=colour, label=name)
        said.append(f"{name}: {many(ago[0], 'step')} later {_share(shares[0])}")
    axes.axhline(1, color=GREY, lw=1)
    axes.set(xlabel="steps between the input and the output", ylabel="effect, in shares of\nthe last input's (log)")
    axes.legend(fontsize=12)
    return show(figure, f"What is left of an input's effect on the last output. {'; '.join(said)}.")


def _share(share: float) -> str:
    bounds = ((1e-9, "less than a billionth"), (1e-6, "less than a millionth"), (1e-3, "less than 0.1 %"))
    whole = "as much or more" if share >= 1 else _percent(share)
    return next((words for bound, words in bounds if share < bound), whole)


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")


def gates_picture(x: Any, kept: Mapping[str, Any]) -> Picture:
    """A sequence with a gap, ``(T, 2)``, and below it for each network what it keeps at each step, ``(T, outputs)``.

    >>> gates_picture(np.array([[0.1, 1], [-0.7, 0]]), {"LSTM": np.array([[0.5, 0.5], [1.0, 1.0]])})
    What a memory keeps at each step, one row for each number in it. LSTM: on average 50 % while the wave comes, ...
    """
    figure, grid = plots(1 + len(kept), 1, height=1.6 + 1.9 * len(kept), sharex=True,
                         height_ratios=[2, *[3] * len(kept)])  # fmt: skip
    seen = int(np.sum(x[:, 1]))
    grid[0].plot(x[:, 0], ".-", color=GREY, lw=1)
    grid[0].plot(x[:seen, 0], "o-", color=BLUE)
    grid[0].set_title("the input: wave, then noise", loc="left", fontsize=12)
    said = []
    for axes, (name, gate) in zip(grid[1:], kept.items()):
        image = axes.imshow(np.transpose(gate), vmin=0, vmax=1, aspect="auto", cmap="cividis", interpolation="nearest")
        axes.axvline(seen - 0.5, color="white", lw=2)
        axes.set_yticks([])
        axes.set_title(name, loc="left", fontsize=12)
        wave, noise = (_percent(np.mean(part)) for part in (gate[:seen], gate[seen:]))
        said.append(f"{name}: on average {wave} while the wave comes, {noise} in the noise")
    axes.set_xlabel("step")
    figure.colorbar(image, ax=grid[1:], ticks=[0, 0.5, 1]).ax.set_yticklabels(["0: nothing", "0.5: half", "1: all"])
    return show(figure, f"What a memory keeps at each step, one row for each number in it. {'; '.join(said)}.")


# -- temperature: the next letter, from cold to hot ----------------------------------------------------------------


def chances(scores: Any, temperature: float) -> np.ndarray:
    """The probabilities of the next letter: the softmax of ``scores / temperature``.

    Raises `ValueError` for a temperature that isn't above 0.

    >>> np.round(chances([2.0, 1.0, 0.0], temperature=0.5), 2)
    array([0.87, 0.12, 0.02])
    """
    if not temperature > 0:
        raise ValueError(f"a temperature is above 0, since scores are divided by it; got {temperature}")
    return fl.softmax(np.asarray(scores, np.float64) / temperature)


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
    names = [{" ": "space", "\n": "new line"}.get(letter, letter) for letter in letters]
    axes.bar(range(len(names)), shares, color=BLUE)
    axes.set_xticks(range(len(names)), [{"space": "␣", "new line": "↵"}.get(name, name) for name in names])
    axes.set(ylim=(0, 1), ylabel="probability", xlim=(-0.7, len(names) - 0.3))
    axes.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])
    axes.set_title(f"the next letter after {after!r}, temperature {temperature:g}", loc="left", fontsize=13)
    best = np.argsort(-shares, kind="stable")[:2]
    told = ", and ".join(f"{names[i]} {'comes ' if i == best[0] else ''}with {_percent(shares[i])}" for i in best)
    writes = f" It writes: {' / '.join(written.splitlines())}" if written else ""
    return show(figure, f"Temperature {temperature:g}: after {after!r}, {told}.{writes}")


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
    pictures = {t: next_letter(letters, scores, t, text, after) for t, text in sorted(written.items())}
    return Temperatures(written, pictures, min(written) if first is None else first)


class Temperatures(Shown):
    """What `temperatures` returns: `slider` is its control, and `now` the temperature that it shows."""

    def __init__(self, texts: Mapping[float, str], pictures: Mapping[float, Picture], first: float) -> None:
        w = ipywidgets("next_letter(letters, scores, temperature=1.0)")
        self.texts, self.pictures = texts, pictures
        self.slider = w.SelectionSlider(
            options=[(f"{t:g}", t) for t in sorted(texts)], value=first, description="temperature",
            style={"description_width": "8em"}, layout={"width": "30em", "max_width": "100%"},
        )  # fmt: skip
        self.image, self.text, self.words = w.HTML(), w.HTML(), w.HTML()
        super().__init__(w.VBox([with_buttons(self.slider), self.image, self.text, self.words]))
        self.follow(self._draw, self.slider)

    @property
    def now(self) -> float:
        return self.slider.value

    def _draw(self) -> None:
        picture = self.pictures[self.now]
        self.page, self.sentence = picture._repr_html_(), picture.sentence
        self.image.value = picture._repr_html_()
        style = "white-space:pre-wrap;word-break:normal;max-width:44em;line-height:1.4;margin:.3em 0 .3em 1em"
        self.text.value = f'<pre style="{style}">{html.escape(self.texts[self.now])}</pre>'
        self.words.value = said(picture.sentence.partition(" It writes:")[0])
