"""Scenes: pictures that move in the page without a kernel, their states computed here and chosen by a small script.

A `Scene` has a picture, knobs, and a sentence for each setting of the knobs. Python draws the picture as SVG once,
with what differs from state to state as numbers next to it. The script (`scene.js`) puts the chosen state's numbers in.
It asks no host for anything, and computes nothing. Where scripts don't run, an image of one state is there to see.

Read `parts.py` first, which draws, then `scene.py`, which makes HTML of it. `axes.py` has axes, and `graph.py` what was
computed from what. Then there's the picture that goes through all of the course: `lanes.py` draws what ran when, a lane
each, `receipts.py` takes it from receipts, and `machine.py` adds a cell's lines and the two memories.
"""

from .parts import Each, Part, drawing, label, rounded
from .receipts import launches
from .scene import Knob, Scene

__all__ = ["Each", "Knob", "Part", "Scene", "drawing", "label", "launches", "rounded"]
