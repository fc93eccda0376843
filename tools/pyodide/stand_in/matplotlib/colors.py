"""Every colour is grey, and every other name is a mock."""

from unittest.mock import MagicMock


def to_hex(colour):
    return "#808080"


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return MagicMock()
