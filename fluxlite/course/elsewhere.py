"""A second computer for lesson 12, which gets a file and has no NVIDIA GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def elsewhere(program: str, folder: str | Path) -> str:
    """The last line that `program` prints, run in a process of its own, in `folder`, where no NVIDIA GPU can be seen.

    If it fails, this is the last line of its error, which says why.

    >>> elsewhere("print(6 * 7)", ".")
    '42'
    """
    # Jupyter asks its kernels for coloured errors; here we want plain letters.
    hidden = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1", "PYTHON_COLORS": "0"}
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, env=hidden, capture_output=True, text=True)
    lines = (done.stderr if done.returncode else done.stdout).strip().splitlines()
    return lines[-1] if lines else ""
