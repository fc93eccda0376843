"""What lies between two cards, and how long they take to exchange gradients over it, as NCCL estimates it.

The times are simulated. Not in the model: a network that's shared with others, and cards that are late.
"""

import tomllib
from importlib import resources
from typing import NamedTuple

from fluxlite.devices.receipts import Seconds
from fluxlite.words import many


class Link(NamedTuple):
    """What lies between two cards: bytes per second, one way, and seconds until the first byte is there."""

    name: str
    bandwidth: float
    latency: float
    most: int  # cards that can be linked in this way
    source: str


_FIGURES = tomllib.loads(resources.files(__package__).joinpath("links.toml").read_text("utf-8"))
LINKS = {name: Link(name, **figures) for name, figures in _FIGURES.items()}


def link_of(link: str | Link) -> Link:
    """A link by its name, or a link of your own. Raises `ValueError` for an unknown name."""
    if isinstance(link, Link):
        return link
    if link not in LINKS:
        raise ValueError(f"there is no link {link!r}; there are {', '.join(LINKS)}, or your own Link(…)")
    return LINKS[link]


def ring(nbytes: float, cards: int, link: str | Link) -> Seconds:
    """How long an all-reduce in a ring takes: 2 (n - 1) latencies, and the time for the bytes that a card sends.

    A card sends 1/n of them in each of 2 (n - 1) steps: n - 1 to add up, n - 1 to hand the sums round. All send at the
    same time, and each step waits for the one before, as in Baidu's ``RingAllreduce`` and NCCL's model. Raises
    `ValueError` for no cards, and for more than the link can join.

    >>> ring(100e6, cards=4, link="Ethernet 10")
    0.13 s simulated (4 cards, Ethernet 10)
    """
    link = link_of(link)
    if not 1 <= cards <= link.most:
        raise ValueError(f"{link.name} links 1 to {link.most:,} cards, got {cards:,}")
    seconds = 2 * (cards - 1) * (link.latency + nbytes / cards / link.bandwidth)
    return Seconds(seconds, "simulated", f"{many(cards, 'card')}, {link.name}")
