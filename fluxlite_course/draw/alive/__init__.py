"""Pictures that stay alive without a kernel: states computed by the library, chosen in the page by a small script.

An `Alive` has a picture, knobs, and a sentence for each setting of the knobs. Python draws the picture as SVG once,
with what differs from state to state as numbers beside it. The script (`alive.js`) puts the chosen state's numbers in.
It asks no host for anything, and computes nothing. Where scripts don't run, the first state is still there to see.

Read `scene.py` first, which draws, then `showing.py`, which makes HTML of it.
"""

from .scene import Each, Part, drawing
from .showing import Alive, Knob, page

__all__ = ["Alive", "Each", "Knob", "Part", "drawing", "page"]
