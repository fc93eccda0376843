"""Lesson 16's pictures: a wave with a gap, what's left of an input some steps later, and gates over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..messages import many
from ..pictures import BLUE, GREEN, GREY, ORANGE, Picture, plots, show

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
    return show(
        figure,
        f"{seen} points of a wave, and then {many(len(x) - seen, 'step')} of noise. "
        f"The network is asked for the last point of the wave, {x[seen - 1, 0]:.2f}.",
    )


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
    for bound, words in ((1e-9, "less than a billionth"), (1e-6, "less than a millionth"), (1e-3, "less than 0.1 %")):
        if share < bound:
            return words
    return "as much or more" if share >= 1 else f"{share:.0%}".replace("%", " %")


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
        said.append(f"{name}: on average {_mean(gate[:seen])} while the wave comes, {_mean(gate[seen:])} in the noise")
    axes.set_xlabel("step")
    bar = figure.colorbar(image, ax=grid[1:], ticks=[0, 0.5, 1])
    bar.ax.set_yticklabels(["0: nothing", "0.5: half", "1: all"])
    return show(figure, f"What a memory keeps at each step, one row for each number in it. {'; '.join(said)}.")


def _mean(gate: Any) -> str:
    return f"{np.mean(gate):.0%}".replace("%", " %")
