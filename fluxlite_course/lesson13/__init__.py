"""What notebook 13, saving and sharing, uses: from the kit, and what only this lesson has."""

from .. import check, expect_error, guess, start, todo
from .files import flip, go_on, here, network, new_run, path, strangers_file, ten

__all__ = ["check", "expect_error", "flip", "go_on", "guess", "here", "network", "new_run", "path", "start",
           "strangers_file", "ten", "todo"]  # fmt: skip
