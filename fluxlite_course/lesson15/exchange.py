"""Lesson 15's model: a step of training on several cards, before there's a second one.

A card's own work is estimated with `fluxlite.estimate`, and the exchange by `links.ring`, so all times are simulated.
Not in the model: that exchanging takes a little of the cards' own bandwidth and multiprocessors.
"""

import functools
from typing import Any, NamedTuple

import fluxlite as fl
from fluxlite.receipts import Seconds

from ..bottleneck import six_layers
from ..links import ring


class OneCard(NamedTuple):
    """A step of training on one card: its three parts, and how many bytes of gradients it makes."""

    forward: Seconds
    back: Seconds
    update: Seconds
    nbytes: int

    @property
    def seconds(self) -> Seconds:
        """The whole step."""
        return self.forward + self.back + self.update


@functools.cache
def large_network(rows: int, like: str = "H100", dtype: str = "float32") -> OneCard:
    """A step of a network with 25 million weights: six layers of 2,048 numbers, with relu, trained by Adam.

    In float32 it doesn't use the card's tensor cores. ``dtype="float16"`` does, and has half of the bytes.

    >>> large_network(1024)
    OneCard(forward=1.1 ms simulated (H100), back=2.02 ms simulated (H100), ...nbytes=100712448)
    """
    loss, model, rule, x, _ = six_layers(2048, rows, dtype)
    opt_state = fl.setup(rule, model)

    def forward(model: Any, opt_state: Any, x: Any) -> Any:
        return loss(model, x, x)

    def gradient(model: Any, opt_state: Any, x: Any) -> Any:
        return fl.gradient(lambda m: loss(m, x, x), model)[0]

    def step(model: Any, opt_state: Any, x: Any) -> None:
        fl.update(opt_state, model, gradient(model, opt_state, x))

    parts = [fl.estimate(part, model, opt_state, x, like=like, shapes_only=True) for part in (forward, gradient, step)]
    once, both, whole = (part.seconds for part in parts)
    return OneCard(once, both - once, whole - both, fl.destructure(model)[0].nbytes)


class SeveralCards(NamedTuple):
    """A step on several cards, each with its own rows: how long it takes, and the part in which they only wait.

    `on_the_link` has the begin and the end of each bucket's exchange, in seconds from the step's begin.
    """

    seconds: Seconds
    waiting: Seconds
    on_the_link: list[tuple[float, float]]


def several_cards(one: OneCard, cards: int, link: str, buckets: int = 1) -> SeveralCards:
    """A step in which each of `cards` does what `one` does, and then all of them exchange their gradients in a ring.

    With several `buckets`, the gradients are exchanged in as many parts, each as soon as the backward pass has made
    it, and the one before is through.

    >>> several_cards(OneCard(*[Seconds(1e-3, "simulated", "H100")] * 3, nbytes=12_000_000), 2, "Ethernet 100")[:2]
    (4.06 ms simulated (2 cards, Ethernet 100), 1.06 ms simulated (2 cards, Ethernet 100))
    """
    forward, back, each = float(one.forward), float(one.back), ring(one.nbytes / buckets, cards, link)
    done, way = 0.0, []
    for bucket in range(1, buckets + 1):
        begin = max(done, forward + back * bucket / buckets)  # as if they were made evenly along the backward pass
        done = begin + float(each)
        way.append((begin, done))
    waiting = done - forward - back
    whole, waits = (Seconds(x, "simulated", each.card) for x in (float(one.seconds) + waiting, waiting))
    return SeveralCards(whole, waits, way)
