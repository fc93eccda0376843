"""Lesson 10's pictures: a gap, what's left of an input, a gate over time, and the next letter, from cold to hot."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import fluxlite as fl
from fluxlite.messages import many

from ..draw.pictures import BLUE, GREEN, GREY, ORANGE, Picture, plots, show
from ..scenes import Each, Knob, Part, Scene, drawing, label, rounded
from ..scenes.axes import Axis


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


def temperatures(
    letters: Sequence[str], scores: Any, written: Mapping[float, str], after: str = "", first: float | None = None
) -> Scene:
    """How likely each letter is to come next, and what the network writes, with a slider for the temperature.

    `scores` has the network's score for each of `letters`, and `after` is what comes before the next one. `written`
    has for each temperature what the network wrote. The slider begins at the temperature `first`, or at the lowest.
    Raises `ValueError` if `first` isn't among them, or if there isn't one score for each letter.

    >>> temperatures("ab", [2.0, 0.0], {0.5: "aaaa", 2.0: "abab"}, after="c")
    Temperature 0.5: after 'c', a comes with 98 %, and b with 2 %. It writes: aaaa
    """
    if len(letters) != len(scores):
        raise ValueError(f"temperatures takes a score for each letter, got {len(letters)} and {len(scores)}")
    if not written or (first is not None and first not in written):
        known = ", ".join(f"{t:g}" for t in sorted(written)) or "none"
        raise ValueError(f"temperatures(first=…) is one of those with a text ({known}), got {first}")
    heats = sorted(written)
    shares = np.array([chances(scores, heat) for heat in heats])
    pages = [_lines(written[heat]) for heat in heats]
    rows = max(map(len, pages))
    texts = [label(24, 262 + 22 * row, Each(page[row] if row < len(page) else "" for page in pages), "code")
             for row in range(rows)]  # fmt: skip
    picture = drawing(
        640, 268 + 22 * rows, "A bar for each letter, how likely it comes next; below, what the network writes",
        label(24, 20, f"the next letter after {after!r}", "bold"), *_bars(letters, shares),
        label(24, 236, "and so it writes", "bold"), *texts,
    )  # fmt: skip
    said = [_told(letters, share, after, heat, written[heat]) for heat, share in zip(heats, shares)]
    knob = Knob("temperature", [f"{heat:g}" for heat in heats], slider=True)
    return Scene(picture, [knob], said, [0 if first is None else heats.index(first)])


def _lines(text: str, width: int = 64) -> list[str]:
    """As lines that fit into the picture."""
    return [line for part in text.splitlines() for line in textwrap.wrap(part, width) or [""]]


_SIGNS = {" ": "␣", "\n": "↵"}


def _bars(letters: Sequence[str], shares: np.ndarray) -> Iterator[Part]:
    """A bar for each letter, its share for each temperature, and lines for 0, a half and 1."""
    high = Axis(0, 1, 188, 36)
    for share, words in ((0, "0"), (0.5, "0.5"), (1, "1")):
        yield Part("path", class_="grid", d=f"M44 {high(share)}H632")
        yield label(38, high(share) + 5, words, "end")
    step = 588 / len(letters)
    for number, letter in enumerate(letters):
        tops = [high(share) for share in shares[:, number]]
        x = rounded([44 + step * number])[0]
        yield Part("rect", class_="host glide", x=x + 1, width=rounded([step - 2])[0], y=Each(tops),
                   height=Each(rounded(188 - top for top in tops)))  # fmt: skip
        yield label(rounded([x + step / 2])[0], 208, _SIGNS.get(letter, letter), "middle code")


def _told(letters: Sequence[str], shares: np.ndarray, after: str, heat: float, text: str) -> str:
    names = [{" ": "space", "\n": "new line"}.get(letter, letter) for letter in letters]
    best = np.argsort(-shares, kind="stable")[:2]
    told = ", and ".join(f"{names[i]} {'comes ' if i == best[0] else ''}with {_percent(shares[i])}" for i in best)
    writes = f" It writes: {' / '.join(text.splitlines())}" if text else ""
    return f"Temperature {heat:g}: after {after!r}, {told}.{writes}"
