"""The way back: from a result through the calls that `tracked.py` remembered, down to where tracking began."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any

import numpy as np

from ..tree.ties import is_array
from .tracked import TrackedArray, plain

_USED: tuple = (None, (), {}, ())  # the call of a result that has been walked through


def pull_back(result: TrackedArray, g: Any, keep: bool = False) -> dict[TrackedArray, Any]:
    """The gradients of everything that was tracked from the start, given the gradient `g` of `result`.

    Visits the calls from the highest number down: when one is reached, all that used its result have been. Each
    call is cleared once it is done with, unless `keep`.
    """
    totals = {result: g}  # the sum of what has arrived at each result; complete when it is visited
    own: set[TrackedArray] = set()  # those whose sum was made here, so that more can be added in place
    waiting = [(-result.number, result)] if result.call is not None else []
    while waiting:
        node = heappop(waiting)[1]
        g = totals.pop(node)
        if node.call is _USED:
            raise RuntimeError(
                "back has already walked through a result that this loss depends on, and cleared it. What is carried "
                "from one step to the next has to be detached, as in h = h.data; and a loss has one back"
            )
        rule, arguments, keywords, parents = node.call
        for pullback, parent in parents:
            if parent.number > node.number:
                raise RuntimeError(
                    "the data of a param was assigned after the loss was computed: compute the loss again"
                )
            before = totals.get(parent)
            if before is None and parent.call is not None:
                heappush(waiting, (-parent.number, parent))
            if rule.add_into is not None and _can_add_in_place(parent, before, g):
                if parent not in own:
                    zeros = np.zeros_like(plain(parent.value), dtype=g.dtype)
                    totals[parent] = zeros if before is None else zeros + before
                    own.add(parent)
                rule.add_into(totals[parent], g, node.value, *arguments)
                continue
            piece = pullback(g, node.value, *arguments, **keywords)
            if before is None:
                totals[parent] = piece
            elif parent in own and type(piece) is not TrackedArray:
                before += piece
            else:
                totals[parent] = total = before + piece
                if is_array(total):
                    own.add(parent)
                else:  # a number, or tracked by an outer gradient, which has to see what is added
                    own.discard(parent)
        if not keep:
            node.call = _USED
    return totals


def _can_add_in_place(parent: TrackedArray, before: Any, g: Any) -> bool:
    """A part is added into its place in a whole array, unless an outer gradient has to see how."""
    return type(g) is not TrackedArray and type(before) is not TrackedArray and is_array(plain(parent.value))
