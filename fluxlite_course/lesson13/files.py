"""Lesson 13's picture of a saved model: what is where in the file."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from ..draw.pictures import BLUE, GREY, ORANGE, Picture, plots, show


def parts(path: str | Path) -> list[tuple[str, int]]:
    """The parts of a safetensors file in their order, with their bytes: the text, then the numbers of each layer."""
    data = Path(path).read_bytes()
    text = 8 + int.from_bytes(data[:8], "little")  # the first 8 bytes say how long the text is
    arrays = {name: about["data_offsets"] for name, about in json.loads(data[8:text]).items() if name != "__metadata__"}
    found = {"text": text}
    for name, (start, end) in sorted(arrays.items(), key=lambda array: array[1]):
        layer = re.search(r"layers\[\d+\]", name)
        part = layer[0] if layer else name
        found[part] = found.get(part, 0) + end - start
    return list(found.items())


def inside(path: str | Path) -> Picture:
    """A saved model as it lies on the disk: a bar for the text, and one for each layer, as long as they are.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> fl.save(path, fl.Chain(fl.Dense(3, 2)))
    >>> "then the numbers: 32 bytes for layers[0]." in inside(path).sentence
    True
    """
    found = parts(path)
    figure, axes = plots(height=1.8, width=10)
    left = 0
    for i, (name, size) in enumerate(found):
        colour, hatch = [(ORANGE, "///"), (BLUE, ""), (GREY, "...")][i if i < 2 else 1 + (i - 1) % 2]
        axes.barh(0, size, left=left, height=0.6, facecolor="none", edgecolor=colour, hatch=hatch, linewidth=2)
        axes.text(left + size / 2, 0.4, f"{name}\n{size:,} bytes", ha="center", va="bottom", fontsize=12)
        left += size
    axes.set(xlabel="bytes from the beginning of the file", yticks=[], ylim=(-0.4, 1.3))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.spines["left"].set_visible(False)
    numbers = ", ".join(f"{size:,} bytes for {name}" for name, size in found[1:])
    return show(figure, f"First {found[0][1]:,} bytes of text with the names and shapes, then the numbers: {numbers}.")


# -- a second computer, without an NVIDIA GPU ----------------------------------------------------------------------


def elsewhere(program: str, folder: str | Path) -> str:
    """The last line that `program` prints, run in a process of its own, in `folder`, where no NVIDIA GPU can be seen.

    If it fails, this is the last line of its error, which says why.
    """
    # Jupyter asks its kernels for coloured errors; here we want plain letters.
    hidden = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1", "PYTHON_COLORS": "0"}
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, env=hidden, capture_output=True, text=True)
    return ((done.stderr if done.returncode else done.stdout).strip().splitlines() or [""])[-1]
