"""A figure without a picture. The axes take every call."""

from unittest.mock import MagicMock

import numpy as np

NOTHING = b"\x89PNG: a stand-in for Matplotlib drew this"


class Figure(MagicMock):
    def subplots(self, rows=1, columns=1, squeeze=True, **more):
        axes = np.empty((rows, columns), dtype=object)
        for place in np.ndindex(rows, columns):
            axes[place] = MagicMock()
        if squeeze:
            axes = axes.squeeze()[()]  # one alone comes without an array
        return axes

    def savefig(self, file, **more):
        if hasattr(file, "write"):
            file.write(NOTHING)
        else:
            with open(file, "wb") as opened:
                opened.write(NOTHING)
