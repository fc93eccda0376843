"""Losses that fall, or don't: the picture of lessons 03 and 05."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .pictures import BLUE, GREEN, GREY, ORANGE, Picture, plots, show

_LINES = ((BLUE, "o"), (ORANGE, "s"), (GREEN, "^"))


def falling(losses: Mapping[str, Any], x: str = "step", levels: Mapping[str, float] | None = None) -> Picture:
    """Up to three lines of losses on a log scale. Its sentence says where each of them begins and ends.

    `losses` has a sequence of losses for each name; `x` says what is counted. Each of `levels` is a grey line, the loss
    of a prediction that needs no learning.

    >>> falling({"Descent": [4, 2, 1], "Adam": [4, 1, 0.1]})
    The loss over 3 steps. Descent: 4 to 1. Adam: 4 to 0.1.
    """
    figure, axes = plots(height=3.8)
    values = {name: np.asarray(line, dtype=float) for name, line in losses.items()}
    for (name, line), (color, marker) in zip(values.items(), _LINES[: len(values)], strict=True):
        count = np.arange(1, len(line) + 1)
        axes.semilogy(count, line, color=color, marker=marker, markevery=max(1, len(line) // 8), label=name)
    longest = max(len(line) for line in values.values())
    for name, level in (levels or {}).items():
        axes.axhline(level, color=GREY, linewidth=1)
        axes.text(longest, level * 1.06, name, color=GREY, ha="right", fontsize=12)
    axes.set(xlabel=x, ylabel="loss (log scale)")
    # Above the lines: at the right end stand the names of the levels.
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=len(values), fontsize=12, borderaxespad=0)
    ends = "".join(f" {name[:1].upper()}{name[1:]}: {line[0]:.2g} to {line[-1]:.2g}." for name, line in values.items())
    grey = ", ".join(f"{name} at {level:.2g}" for name, level in (levels or {}).items())
    return show(figure, f"The loss over {longest} {x}s.{ends}{' Grey lines: ' + grey + '.' if grey else ''}")
