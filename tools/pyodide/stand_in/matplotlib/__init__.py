"""A stand-in for Matplotlib, which takes every call and draws nothing.

Pyodide's own Matplotlib isn't on npm, nor on the Python package index. With this one, a lesson's cells run to their
ends in Pyodide; what a picture shows isn't tried there. A browser gets the real one.
"""

from unittest.mock import MagicMock

__version__ = "0 (a stand-in)"
rcParams = MagicMock()
colormaps = MagicMock()
