"""Lesson 17's large picture: how much faster 2 to 1,024 cards are than one, with the same work, and with more."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..pictures import BLUE, GREEN, GREY, ORANGE, Picture, plots, show
from ..receipts import Seconds
from .exchange import LINKS, OneCard, ring, several_cards, tree

CARDS = tuple(2**n for n in range(11))


class Way(NamedTuple):
    """A line of the picture: a link, and the way in which the gradients go over it."""

    name: str
    link: str
    exchange: Callable[..., Seconds]
    colour: str


WAYS = (
    Way("InfiniBand, tree", "InfiniBand", tree, GREEN),
    Way("InfiniBand, ring", "InfiniBand", ring, BLUE),
    Way("Ethernet 100, ring", "Ethernet 100", ring, ORANGE),
    Way("Ethernet 10, ring", "Ethernet 10", ring, "#6b4c9a"),
)


def faster(ones: Mapping[int, OneCard], rows: int, way: Way, buckets: int = 4) -> dict[int, float]:
    """Strong scaling: `rows` rows shared by 1 to 1,024 cards. By how much is the step faster than on one card?"""
    alone = float(ones[rows].seconds)
    return {
        n: alone / float(several_cards(ones[rows // n], n, way.link, buckets, way.exchange).seconds)
        for n in CARDS
        if n <= LINKS[way.link].most and rows // n in ones
    }


def kept(ones: Mapping[int, OneCard], rows: int, way: Way, buckets: int = 4) -> dict[int, float]:
    """Weak scaling: `rows` rows for each of 1 to 1,024 cards. Which share of its time does a card compute?"""
    alone = float(ones[rows].seconds)
    return {
        n: alone / float(several_cards(ones[rows], n, way.link, buckets, way.exchange).seconds)
        for n in CARDS
        if n <= LINKS[way.link].most
    }


def scaling(ones: Mapping[int, OneCard], shared: int, each: int, buckets: int = 4) -> Picture:
    """Both kinds of scaling side by side: `shared` rows for all cards together, and `each` rows for every card.

    `ones` has a step of one card for every number of rows that comes up, as `one_card` estimates it. Raises
    `ValueError` if `shared` or `each` isn't among them.
    """
    for name, rows in (("shared", shared), ("each", each)):
        if rows not in ones:
            raise ValueError(f"{name} is one of the numbers of rows that were estimated: {', '.join(map(str, ones))}")
    figure, (left, right) = plots(1, 2, height=4.4, width=11)
    told = []
    for way in WAYS:
        look: dict[str, Any] = {"color": way.colour, "linestyle": "--", "marker": "s", "markerfacecolor": "white"}
        strong, weak = faster(ones, shared, way, buckets), kept(ones, each, way, buckets)
        left.loglog(list(strong), list(strong.values()), label=way.name, **look)
        right.semilogx(list(weak), [100 * share for share in weak.values()], **look)
        best = max(strong, key=lambda n: strong[n])
        last = max(weak)
        told.append(
            f"{way.name}: at most {strong[best]:.3g} times as fast, with {best:,} cards; with {last:,}, "
            f"{100 * weak[last]:.0f} % is kept"
        )
    left.plot(CARDS, CARDS, color=GREY, linewidth=1)
    left.text(9, 13, "ideal", color="0.25", ha="right", fontsize=12)
    _axes(left, f"{shared:,} rows for all together", "times as fast as one card (log)")
    left.set_yticks([1, 4, 16, 64, 256, 1024], ["1", "4", "16", "64", "256", "1,024"])
    left.set_ylim(0.3, 1500)
    right.axhline(100, color=GREY, linewidth=1)
    _axes(right, f"{each:,} rows for each card", "% of the time that a card computes")
    right.set_ylim(0, 106)
    left.legend(loc="upper left", fontsize=11)
    card = ones[shared].seconds.card
    figure.suptitle(f"simulated ({card})", fontsize=12, color="0.25")
    return show(figure, f"1 to 1,024 cards, simulated ({card}). {'. '.join(told)}.")


def _axes(axes: Any, title: str, name: str) -> None:
    axes.set_title(title, fontsize=13)
    axes.set_xticks([1, 4, 16, 64, 256, 1024], ["1", "4", "16", "64", "256", "1,024"])
    axes.set(xlabel="cards (log)", ylabel=name)
    axes.minorticks_off()
