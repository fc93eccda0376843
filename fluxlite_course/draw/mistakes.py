"""The picture of a confusion matrix: which classes a classifier takes for which."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .pictures import BLUE, GREY, Picture, plots, show

_OFTEN = "#0f5a94"  # darker than the host's blue, so that it differs from grey even without colours


def confusion(matrix: Any, labels: Sequence[Any] | None = None) -> tuple[dict[str, Any], Picture]:
    """A confusion matrix as a picture: ``(numbers, picture)``.

    `matrix` is what `fluxlite.confusion_matrix` gives: whole numbers of shape ``(classes, classes)``, a row for each
    class and a column for what it was taken for. `labels` are the classes' names. A cell's colour is its share of the
    row, so that a rare class is as visible as a frequent one; the number in it is the count.

    The numbers: how many ``observations`` there are, how many are ``right``, and the ``mistakes``, the most frequent
    first: the right class, what it was taken for, and how often.

    >>> numbers, picture = confusion(np.array([[5, 1], [0, 4]]), ["cat", "dog"])
    >>> numbers
    {'observations': 10, 'right': 9, 'mistakes': [('cat', 'dog', 1)]}
    >>> picture
    9 of 10 observations are recognized. The mistake: cat was taken for dog (once).
    """
    counts = np.asarray(matrix)
    names = [str(label) for label in (range(len(counts)) if labels is None else labels)]
    wrong = [(int(counts[i, j]), i, j) for i, j in np.argwhere(counts) if i != j]
    mistakes = [(names[i], names[j], count) for count, i, j in sorted(wrong, key=lambda entry: (-entry[0], *entry[1:]))]
    numbers = {"observations": int(counts.sum()), "right": int(np.trace(counts)), "mistakes": mistakes}
    return numbers, show(_figure(counts, names), _sentence(numbers))


def _sentence(numbers: dict[str, Any]) -> str:
    text = f"{numbers['right']:,} of {numbers['observations']:,} observations are recognized."
    every = numbers["mistakes"]
    said = ", ".join(f"{a} was taken for {b} ({'once' if n == 1 else f'{n:,} times'})" for a, b, n in every[:3])
    what = ("", "The mistake", "The mistakes", "The mistakes", "The most frequent mistakes")[min(len(every), 4)]
    return f"{text} {what}: {said}." if said else text


def _figure(counts: np.ndarray, names: list[str]) -> Any:
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Rectangle

    many, longest = len(counts), max(map(len, names))
    size = min(max(0.44 * many, 2.6), 8.5)
    figure, axes = plots(height=size + 0.9 + 0.09 * longest * (longest > 3), width=size + 1.2 + 0.09 * longest)
    # A square root, since a share of 3 % as it is would look like none.
    shades = np.sqrt(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))
    # White letters are readable on all of these. An empty cell shows the page, light or dark.
    colours = LinearSegmentedColormap.from_list("", [GREY, _OFTEN])
    axes.imshow(np.ma.masked_equal(shades, 0), cmap=colours, vmin=0, vmax=1)
    axes.set_xticks(range(many), names, rotation=0 if longest <= 3 else 90, fontsize=12)
    axes.set_yticks(range(many), names, fontsize=12)
    axes.set(xlabel="taken for", ylabel="right class")
    axes.spines[["top", "right"]].set_visible(True)
    small = min(12.0, 1.35 * 72 * size / many / len(f"{counts.max():,}"))
    for i in range(many):  # a frame around those that are right, visible without colours
        axes.add_patch(Rectangle((i - 0.5, i - 0.5), 1, 1, facecolor="none", edgecolor=BLUE, linewidth=1.5))
    for (i, j), count in np.ndenumerate(counts):
        axes.text(j, i, f"{count:,}", ha="center", va="center", color="white" if count else GREY, fontsize=small)
    return figure
