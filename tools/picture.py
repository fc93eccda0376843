"""The README's picture: what the network of the first lesson does, and where a GPU begins to win.

python tools/picture.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from fluxlite_course.crossing import crossover  # noqa: E402
from fluxlite_course.draw import BLUE, ORANGE, plots  # noqa: E402
from fluxlite_course.sine_wave import predict, problem, train  # noqa: E402


def picture():  # type: ignore[no-untyped-def]
    """Two plots side by side: the RNN's guesses, and a CPU against a card."""
    x, y, w1, w2 = problem()
    train(x, y, w1, w2)
    t = np.linspace(2, 10, 21)
    figure, (left, right) = plots(1, 2, width=13, height=4.6)
    left.plot(t[1:], y.ravel(), "o", color=BLUE, label="a sine wave")
    left.plot(t[1:], predict(x, w1, w2), "o", mfc="none", mec=ORANGE, ms=11, mew=2, label="the network's guess")
    left.set(xlabel="t (radians)", ylabel="sin t", ylim=(-1.2, 1.35), title="48 numbers that guess the next point")
    left.legend(loc="upper right", ncol=2, fontsize=12)
    crossover(batch=64).draw(right)
    right.set_title("64 waves at once: when does a GPU win?")
    return figure


if __name__ == "__main__":
    picture().savefig(ROOT / "notebooks" / "first-screen.png", dpi=100, facecolor="white")
