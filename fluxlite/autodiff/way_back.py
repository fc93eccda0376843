"""The way back: from a result through the calls that `tracked.py` remembered, down to where tracking began."""

from collections import Counter
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

import numpy as np

from ..arrays import enter_card, on_card_of
from ..tree.ties import is_array
from .tracked import TrackedArray, plain

_USED: tuple = (None, (), {}, ())  # the call of a result that has been walked through
_CLEARED = (
    "back has already walked through a result that this loss depends on, and cleared it. What is carried "
    "from one step to the next has to be detached, as in h = h.data; and a loss has one back"
)


def pull_back(
    result: TrackedArray, g: Any, keep: bool = False, arrive: Callable | None = None
) -> dict[TrackedArray, Any]:
    """The gradients of everything that was tracked from the start, given the gradient `g` of `result`.

    Visits the calls from the highest number down: when one is reached, all that used its result have been, so its
    total is complete. Each call is cleared once it is done with, unless `keep`. ``arrive(x, g)`` is called with what
    was tracked from the start and its gradient, once that's complete.
    """
    uses = Counter() if arrive is None else _uses(result)
    totals = _Totals()
    arrived = totals.arrived
    arrived[result] = g
    waiting = [] if result.call is None else [(-result.number, result)]
    while waiting:
        node = heappop(waiting)[1]
        g = arrived.pop(node)
        if node.call is _USED:
            raise RuntimeError(_CLEARED)
        if enter_card:
            with on_card_of(node.value):
                _hand_over(node, g, totals, waiting)
        else:
            _hand_over(node, g, totals, waiting)
        if arrive is not None:
            for _, parent in node.call[-1]:
                uses[parent] -= 1
                if parent.call is None and not uses[parent]:
                    arrive(parent.value, arrived[parent])
        if not keep:
            node.call = _USED
    return arrived


def _uses(result: TrackedArray) -> Counter[TrackedArray]:
    """How many pieces of its gradient come to what was tracked from the start."""
    met, waiting = {result}, [result]
    uses: Counter[TrackedArray] = Counter()
    for node in waiting:  # which grows
        for _, parent in () if node.call is None else node.call[-1]:
            if parent.call is None:
                uses[parent] += 1
            elif parent not in met:
                met.add(parent)
                waiting.append(parent)
    return uses


def _hand_over(node: TrackedArray, g: Any, totals: "_Totals", waiting: list) -> None:
    """Give each parent of `node` its piece of the gradient `g`, and let those wait that have parents of their own."""
    arrived = totals.arrived
    rule, arguments, keywords, parents = node.call
    if rule.shared is not None:
        arguments = [rule.shared(g, *arguments), *arguments]
    for pullback, parent in parents:
        is_first = parent not in arrived
        if parent.call is None:
            if parent.number > node.number:
                raise RuntimeError(
                    "the data of a param was assigned after the loss was computed: compute the loss again"
                )
        elif is_first:
            heappush(waiting, (-parent.number, parent))
        if rule.add_into is not None and totals.add_part(parent, g, node):
            continue
        piece = pullback(g, node.value, *arguments, **keywords)
        if is_first:
            arrived[parent] = piece
        else:
            totals.add(parent, piece)


class _Totals:
    """What has arrived at each tracked array: one piece of its gradient, or the sum of several."""

    __slots__ = ("arrived", "own")

    def __init__(self) -> None:
        self.arrived: dict[TrackedArray, Any] = {}
        self.own: set[TrackedArray] = set()  # those whose sum was made here, so that more can be added in place

    def add(self, array: TrackedArray, piece: Any) -> None:
        before = self.arrived[array]
        with on_card_of(before):  # not where the call was, if that was a move
            if array in self.own and type(piece) is not TrackedArray:
                before += piece  # in place
            else:
                self._put(array, before + piece)

    def add_part(self, array: TrackedArray, g: Any, node: TrackedArray) -> bool:
        """Let the rule of `node`, a part of `array`, add `g` into its place; but an outer gradient has to see how."""
        before, value = self.arrived.get(array), plain(array.value)
        if type(g) is TrackedArray or type(before) is TrackedArray or not is_array(value):
            return False
        if array not in self.own:
            zeros = np.zeros_like(value, dtype=g.dtype)  # + would make a number of one without axes
            self._put(array, zeros if before is None else np.add(zeros, before, out=zeros))
        rule, arguments, *_ = node.call
        rule.add_into(self.arrived[array], g, node.value, *arguments)
        return True

    def _put(self, array: TrackedArray, total: Any) -> None:
        self.arrived[array] = total
        if is_array(total):
            self.own.add(array)
        else:  # a number, or tracked by an outer gradient, which has to see what is added
            self.own.discard(array)
