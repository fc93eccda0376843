"""What the words in our signatures promise: every array has what `Array` says."""

import numpy as np
import pytest
from inside import Array, LibraryArray
from kinds import EVERYWHERE, numbers

import fluxlite as fl


def members(protocol):
    """The names that a protocol asks for, and those that it inherits."""
    found = set()
    for cls in protocol.__mro__:
        if getattr(cls, "_is_protocol", False) and cls.__module__ == Array.__module__:
            found |= {name for name, value in vars(cls).items() if callable(value) or isinstance(value, property)}
    return found - {"__init__", "__subclasshook__"}


def missing(x, protocol):
    return {name for name in members(protocol) if not hasattr(x, name)}


def test_an_array_is_asked_for_the_usual():
    assert {"shape", "dtype", "astype", "__matmul__", "__radd__", "__getitem__"} <= members(Array)
    assert members(LibraryArray) - members(Array) == {"nbytes", "flags", "base"}


@pytest.mark.on(*EVERYWHERE)
def test_an_array_of_each_library_has_what_our_signatures_say(device):
    assert missing(numbers(device), LibraryArray) == set()


def test_a_tracked_array_has_what_our_signatures_say():
    assert missing(fl.param(np.ones(2)), Array) == set()
    assert missing(fl.param(np.ones(2)), LibraryArray) == {"nbytes", "flags", "base"}
