"""Scenes: pictures that move in the page without a kernel, their states computed here and chosen by a small script.

A `Scene` has a picture, knobs, and a sentence for each setting of the knobs. Python draws the picture as SVG once,
with what differs from state to state as numbers next to it. The script (`scene.js`) puts the chosen state's numbers in.
It asks no host for anything, and computes nothing. Where scripts don't run, the first state is still there to see.

Read `parts.py` first, which draws, then `scene.py`, which makes HTML of it. `axes.py` has axes, `graph.py` what was
computed from what, `timeline.py` what ran when, and `machine.py` what a cell did.
"""

from .parts import Each, Part, drawing, label, rounded
from .scene import Knob, Scene
from .timeline import launches

__all__ = ["Each", "Knob", "Part", "Scene", "drawing", "label", "launches", "rounded"]
