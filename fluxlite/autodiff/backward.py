"""The backward pass: from a result through the calls that `tracked.py` remembered, down to where tracking began."""

from heapq import heappop, heappush
from typing import Any

import numpy as np

from ..annotations import Array
from ..array_kinds import several_cards
from ..arrays import are_half, is_half, narrow, wide
from ..tree.ties import HERE, is_array, on_card_of
from .tracked import TrackedArray, plain

_USED: tuple = (None, (), {}, ())  # the call of a result that has been walked through


def pull_back(result: TrackedArray, g: Any, keep: bool = False) -> "Arrived":
    """The gradients of everything that was tracked from the start, given the gradient `g` of `result`.

    Visits the calls from the highest number down: when one is reached, all that used its result have been, so its
    total is complete. Each call is cleared once it is done with, unless `keep`.
    """
    arrived = Arrived({result: g})
    waiting = []
    if result.call is not None:
        waiting.append((-result.number, result))
    while waiting:
        node = heappop(waiting)[1]
        g = arrived.pop(node)
        out = node.value
        derivative, arguments, keywords, parents = node.call
        if derivative is None:
            raise RuntimeError(
                "back has already walked through a result that this loss depends on, and cleared it. What is carried "
                "from one step to the next has to be detached, as in h = h.data; and each loss can have only one back"
            )
        with on_card_of(out) if several_cards else HERE:
            if node in arrived.widened:
                g = narrow(g)
            if derivative.shared is not None:
                arguments = [derivative.shared(g, *arguments), *arguments]
            for pullback, parent in parents:
                before = arrived.get(parent)
                if parent.call is not None and before is None:
                    heappush(waiting, (-parent.number, parent))
                if parent.call is None and parent.number > node.number:
                    what = "the data of a param was assigned after the loss was computed"
                    raise RuntimeError(f"{what}: compute the loss again")
                is_part = derivative.add_into is not None and pullback is derivative.pullback_for(0)
                if is_part and arrived.add_part(parent, g, node):
                    continue
                piece = pullback(g, out, *arguments, **keywords)
                if before is None:
                    arrived[parent] = piece
                else:
                    arrived.add(piece, parent)
        if not keep:
            node.call = _USED
    return arrived


class Arrived(dict[TrackedArray, Any]):
    """The gradients that have arrived so far, by what they're for.

    In half precision, the sum of several is float32 until it's complete: to 2,048, no more ones could be added.
    """

    def __init__(self, first: dict[TrackedArray, Array]) -> None:
        super().__init__(first)
        self.own: set[TrackedArray] = set()  # those whose sum was made here, so that more can be added in place
        self.widened: set[TrackedArray] = set()  # those whose sum is float32, and to be rounded to float16

    def add(self, piece: Array, parent: TrackedArray) -> None:
        before = self[parent]
        with on_card_of(before):  # not where the call was, if that was a move
            if parent in self.own and type(piece) is not TrackedArray:
                before += piece  # in place
            elif are_half(before, piece):
                self.widened.add(parent)
                self._put(wide(before) + piece, parent)
            else:
                self._put(before + piece, parent)

    def add_part(self, parent: TrackedArray, g: Array, node: TrackedArray) -> bool:
        """Let the derivative of `node`, a part of `parent`, add `g` into its place.

        False, and nothing is done, if an outer gradient has to see how it's added.
        """
        before = self.get(parent)
        value = plain(parent.value)
        if type(g) is TrackedArray or type(before) is TrackedArray or not is_array(value):
            return False
        derivative, arguments, _, _ = node.call
        if parent not in self.own:
            dtype: Any = g.dtype
            if is_half(g):
                self.widened.add(parent)
                dtype = np.float32
            total = np.zeros_like(value, dtype=dtype)
            if before is not None:  # not before + 0: without axes that's a number, which can't be added to
                np.add(total, before, out=total)
            self._put(total, parent)
        derivative.add_into(self[parent], wide(g), node.value, *arguments)
        return True

    def _put(self, total: Array, parent: TrackedArray) -> None:
        self[parent] = total
        if is_array(total):
            self.own.add(parent)
        else:  # a number, or tracked by an outer gradient, which has to see what is added
            self.own.discard(parent)
