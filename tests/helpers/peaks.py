"""How much memory something takes at most, as Python and NumPy tell `tracemalloc`."""

import tracemalloc


def peak_of(function):
    """How many bytes more than before were in use at some moment."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        function()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
