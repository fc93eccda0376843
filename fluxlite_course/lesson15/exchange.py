"""Lesson 15's model: a step of training on several cards, before there's a second one.

A card's own work is estimated as in `bottleneck`, and the exchange by `links.ring`, so all times are simulated. Not in
the model: that exchanging takes a little of the cards' own bandwidth and multiprocessors.
"""

import functools
from typing import NamedTuple

from fluxlite.receipts import Seconds

from ..bottleneck import Work, six_layers, work
from ..links import Link, ring

FORWARD = 1 / 3  # of a step: each product of the forward pass has two in the backward pass


@functools.cache
def large_network(rows: int, dtype: str = "float32") -> Work:
    """A step of a network with 25 million weights on an H100: six layers of 2,048 numbers, trained by Adam.

    >>> large_network(1024).gradient_bytes
    100712448
    """
    return work(six_layers, "H100", 2048, rows, dtype)


class SeveralCards(NamedTuple):
    """A step on several cards, each with its own rows: how long it takes, and the part in which they only wait.

    `on_the_link` has the begin and the end of each bucket's exchange, in seconds from the step's begin.
    """

    seconds: Seconds
    waiting: Seconds
    on_the_link: list[tuple[float, float]]


def several_cards(one: Work, cards: int, link: str | Link, buckets: int = 1) -> SeveralCards:
    """A step in which each of `cards` does what `one` does, and then all of them exchange their gradients in a ring.

    With several `buckets`, the gradients are exchanged in as many parts, each as soon as the backward pass has made
    it, and the one before is through.

    >>> several_cards(Work(3e-3, 0.0, 3e-3, 0, gradient_bytes=12_000_000), 2, "Ethernet 100")[:2]
    (4.06 ms simulated (2 cards, Ethernet 100), 1.06 ms simulated (2 cards, Ethernet 100))
    """
    each, done, way = ring(one.gradient_bytes / buckets, cards, link), 0.0, []
    for bucket in range(1, buckets + 1):
        # As if the gradients were made evenly along the backward pass.
        begin = max(done, one.alone * (FORWARD + (1 - FORWARD) * bucket / buckets))
        done = begin + float(each)
        way.append((begin, done))
    whole, waits = (Seconds(x, "simulated", each.card) for x in (done, done - one.alone))
    return SeveralCards(whole, waits, way)
