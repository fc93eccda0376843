"""Lesson 15's model: what it costs several cards to exchange their gradients, before there's a second card.

A card's own work is estimated with `fluxlite.estimate`, and the exchange computed from the link's bandwidth and
latency, so all times are simulated. Not in the model: that exchanging takes a little of the cards' own bandwidth and
multiprocessors, that a network is shared with others, and that some cards are late.
"""

import functools
import math
import tomllib
from collections.abc import Callable
from importlib import resources
from typing import Any, NamedTuple

import numpy as np

import fluxlite as fl
from fluxlite.messages import many
from fluxlite.receipts import Seconds, duration
from simgpu import preset
from simgpu.words import in_words


class Link(NamedTuple):
    """What lies between two cards: bytes per second, one way, and seconds until the first byte is there."""

    name: str
    bandwidth: float
    latency: float
    most: int  # so many cards can be linked in this way
    source: str


LINKS = {
    name: Link(name, **figures)
    for name, figures in tomllib.loads(resources.files(__package__).joinpath("links.toml").read_text("utf-8")).items()
}


def link_of(link: str | Link) -> Link:
    """A link by its name, or a link of your own. Raises `ValueError` for an unknown name."""
    if isinstance(link, Link):
        return link
    if not isinstance(link, str) or link not in LINKS:
        raise ValueError(f"there is no link {in_words(link)}; there are {', '.join(LINKS)}, or your own Link(…)")
    return LINKS[link]


def sent(nbytes: float, cards: int) -> float:
    """How many bytes each of `cards` sends when `nbytes` of gradients go round in a ring.

    A card sends 1/n of them in each of 2 (n - 1) steps: n - 1 to add up, n - 1 to hand the sums round.

    >>> sent(100, cards=4)
    150.0
    """
    return 2 * (cards - 1) / cards * nbytes


def ring(nbytes: float, cards: int, link: str | Link) -> Seconds:
    """How long an all-reduce in a ring takes: 2 (n - 1) latencies, and the time for the bytes that a card sends.

    All cards send at the same time, and each step waits for the one before, as in Baidu's ``RingAllreduce`` and NCCL's
    model.

    >>> ring(100e6, cards=4, link="Ethernet 10")
    0.13 s simulated (4 cards, Ethernet 10)
    """
    cards, link = _check_whole(cards, "cards is how many there are"), link_of(link)
    return _simulated(2 * (cards - 1) * link.latency + sent(nbytes, cards) / link.bandwidth, cards, link)


def tree(nbytes: float, cards: int, link: str | Link) -> Seconds:
    """How long an all-reduce in two trees takes, as NCCL does it: 2 log2(n) latencies, and twice all the bytes.

    Each step goes from half of the cards to the other half, so there are few. But a card sends up to twice its bytes.
    """
    cards, link = _check_whole(cards, "cards is how many there are"), link_of(link)
    seconds = 2 * math.ceil(math.log2(cards)) * link.latency + 2 * nbytes * (cards > 1) / link.bandwidth
    return _simulated(seconds, cards, link)


def _check_whole(x: Any, what: str) -> int:
    if isinstance(x, bool) or not isinstance(x, (int, np.integer)) or x < 1:
        raise ValueError(f"{what}, 1 or more, got {in_words(x)}")
    return int(x)


def _simulated(seconds: float, cards: int, link: Link) -> Seconds:
    return Seconds(seconds, "simulated", f"{many(cards, 'card')}, {link.name}")


# -- a step of training -------------------------------------------------------------------------------------------


class OneCard(NamedTuple):
    """A step of training on one card: its three parts, and how many bytes of gradients it makes from its rows."""

    rows: int
    forward: Seconds
    back: Seconds
    update: Seconds
    nbytes: int

    @property
    def seconds(self) -> Seconds:
        """The whole step."""
        return self.forward + self.back + self.update


def one_card(loss: Callable, model: Any, opt_state: Any, x: Any, y: Any, like: str = "H100") -> OneCard:
    """How long a card `like` this one takes for a step with the rows `x` and `y`: the parts, estimated from shapes."""

    def gradient(model: Any, x: Any, y: Any) -> Any:
        return fl.gradient(lambda m: loss(m, x, y), model)[0]

    def step(model: Any, opt_state: Any, x: Any, y: Any) -> None:
        fl.update(opt_state, model, gradient(model, x, y))

    def seconds(function: Callable, *args: Any) -> Seconds:
        return fl.estimate(function, *args, like=preset(like).name, shapes_only=True).seconds

    forward, there_and_back = seconds(loss, model, x, y), seconds(gradient, model, x, y)
    update = seconds(step, model, opt_state, x, y) - there_and_back
    return OneCard(len(x), forward, there_and_back - forward, update, fl.destructure(model)[0].nbytes)


@functools.cache
def large_network(rows: int, like: str = "H100", dtype: str = "float32") -> OneCard:
    """`one_card` for a network with 25 million weights: six layers of 2,048 numbers, with relu, trained by Adam.

    In float32 it doesn't use the card's tensor cores. ``dtype="float16"`` does, and has half of the bytes.

    >>> large_network(1024)
    OneCard(rows=1024, forward=1.1 ms simulated (H100), back=2.02 ms simulated (H100), ...nbytes=100712448)
    """
    x, weight = np.zeros((rows, 2048), dtype), np.zeros((2048, 2048), dtype)
    model = fl.Chain(*(fl.Dense.of(weight.copy(), np.zeros(2048, dtype), fl.relu) for _ in range(6)))
    return one_card(lambda m, x, y: fl.mse(m(x), y), model, fl.setup(fl.Adam(), model), x, x, like)


class SeveralCards(NamedTuple):
    """A step on several cards, each with its own rows. `visible` is the part of the exchange that they wait for.

    `on_the_link` has the begin and the end of each bucket's exchange, counted from the step's begin.
    """

    cards: int
    link: str
    compute: Seconds
    visible: Seconds
    on_the_link: tuple[tuple[float, float], ...]

    @property
    def seconds(self) -> Seconds:
        """The whole step."""
        return self.compute + self.visible

    def __repr__(self) -> str:
        return f"{self.seconds}: {duration(self.compute)} of computing, {duration(self.visible)} of waiting"


def several_cards(
    one: OneCard, cards: int, link: str | Link, buckets: int = 1, exchange: Callable[..., Seconds] = ring
) -> SeveralCards:
    """A step in which each of `cards` does what `one` does, and then all of them exchange their gradients.

    With several `buckets`, the gradients are exchanged in as many parts, each as soon as it has been made on the way
    back, and the one before is through. `exchange` is `ring` or `tree`. Raises `ValueError` for more cards than the
    link can join.

    >>> several_cards(OneCard(64, *[Seconds(1e-3, "simulated", "H100")] * 3, nbytes=12_000_000), 2, "Ethernet 100")
    4.06 ms simulated (2 cards, Ethernet 100): 3 ms of computing, 1.06 ms of waiting
    """
    cards, link = _check_whole(cards, "cards is how many there are"), link_of(link)
    if cards > link.most:
        raise ValueError(f"{link.name} links up to {link.most:,} cards, got {cards:,}")
    buckets = _check_whole(buckets, "buckets is how many parts the gradients travel in")
    forward, back, each = float(one.forward), float(one.back), float(exchange(one.nbytes / buckets, cards, link))
    done, way = 0.0, []
    for bucket in range(1, buckets + 1):
        begin = max(done, forward + back * bucket / buckets)  # as if they were made evenly along the way back
        done = begin + each
        way.append((begin, done))
    compute, visible = (_simulated(x, cards, link) for x in (float(one.seconds), done - forward - back))
    return SeveralCards(cards, link.name, compute, visible, tuple(way) if cards > 1 else ())
