"""Lesson 17's pictures: a way back that hides an exchange, a ring step by step, and 2 to 1,024 cards."""

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from fluxlite.messages import many
from fluxlite.receipts import Seconds, duration
from simgpu.words import in_words

from ..draw.frames import Frames, frames
from ..draw.pictures import BLUE, GREEN, GREY, ORANGE, Picture, as_written, plots, show
from ..draw.shapes import rectangle, sheet
from .exchange import LINKS, Link, OneCard, SeveralCards, ring, several_cards, tree

BUCKETS = (1, 2, 4, 8, 16, 64, 256)


def hidden(one: OneCard, cards: int, link: str | Link, buckets: int) -> Picture:
    """One step of training on several cards: what each card does, and when the link is busy.

    `one` is what `one_card` estimated. Raises `ValueError` as `several_cards` does.
    """
    found = several_cards(one, cards, link, buckets)
    return _drawn(one, found, buckets, max(float(found.seconds), float(several_cards(one, cards, link).seconds)))


def hiding(one: OneCard, cards: int, link: str | Link) -> Frames:
    """`hidden` with a slider, from one bucket to 256."""
    steps = {buckets: several_cards(one, cards, link, buckets) for buckets in BUCKETS}
    longest = max(float(found.seconds) for found in steps.values())
    pictures = [_drawn(one, found, buckets, longest) for buckets, found in steps.items()]
    return frames(pictures, BUCKETS, "buckets", ms=1500)


def _drawn(one: OneCard, found: SeveralCards, buckets: int, longest: float) -> Picture:
    figure, axes = plots(height=2.8, width=10)
    forward, back, update = (float(part) * 1e3 for part in (one.forward, one.back, one.update))
    whole = float(found.seconds) * 1e3
    for begin, width, colour, name in (
        (0.0, forward, GREY, "forward"), (forward, back, BLUE, "way back"), (whole - update, update, GREY, "update"),
    ):  # fmt: skip
        axes.barh(0, width, left=begin, height=0.6, facecolor="white", edgecolor=colour, linewidth=2)
        if width > 0.07 * longest * 1e3:
            axes.text(begin + width / 2, 0, name, ha="center", va="center", fontsize=11)
    for begin, end in found.on_the_link:
        look = {"facecolor": "white", "edgecolor": ORANGE, "linewidth": 2 if buckets <= 16 else 0.5}
        axes.barh(1, (end - begin) * 1e3, left=begin * 1e3, height=0.6, hatch="///" if buckets <= 16 else None, **look)
    axes.axvline(whole, color=GREY, linewidth=1)
    axes.text(whole, 0.5, f" done: {duration(found.seconds)}", va="center")
    axes.set_yticks([0, 1], ["each card", as_written(found.link)])
    axes.set(ylim=(1.6, -0.6), xlim=(0, longest * 1.17e3), xlabel=f"ms, simulated ({as_written(found.seconds.card)})")
    axes.tick_params(axis="y", length=0)
    waits = f"each card waits for {duration(found.visible)}" if found.visible else "no card waits"
    travel = f"The gradients travel in {many(buckets, 'bucket')}."
    return show(figure, f"{travel} The step takes {found.seconds}, and {waits}.")


# -- the ring: which piece goes where, step by step ----------------------------------------------------------------


_WIDE, _HIGH = 1.5, 0.38  # a piece's box
# Where the middle of each card's boxes is, clockwise, for as many cards as the picture has room for.
_PLACES = {
    2: ((-2.5, 0.0), (2.5, 0.0)),
    3: ((-2.7, 1.2), (2.7, 1.2), (0.0, -1.5)),
    4: ((-2.7, 1.55), (2.7, 1.55), (2.7, -1.55), (-2.7, -1.55)),
}
Pieces = list[list[frozenset[int]]]  # for each card and piece: the cards whose numbers are in it


def ring_step(step: int, cards: int = 4) -> Picture:
    """A ring of `cards` after `step` of its 2 (n - 1) steps: what each card sent, and what each has now.

    In each box stands whose numbers are added up in it. Step 0 is before the first one: then the links are grey.
    Raises `ValueError` for a step that a ring of so many cards doesn't have, and for more than 4 cards.

    >>> ring_step(1, cards=3)
    Step 1 of 4, adding up. Card 0 sends A, card 1 sends B, card 2 sends C, each to the next card. Each card now has ...
    """
    if isinstance(cards, bool) or not isinstance(cards, int) or cards not in _PLACES:
        raise ValueError(f"this picture has room for 2 to 4 cards, got {in_words(cards)}")
    last = 2 * (cards - 1)
    if isinstance(step, bool) or not isinstance(step, int) or not 0 <= step <= last:
        raise ValueError(f"a ring of {cards} cards has the steps 0 to {last}, got {in_words(step)}")
    pieces = functools.reduce(after, range(1, step + 1), [[frozenset([card])] * cards for card in range(cards)])
    figure, axes = sheet(8, 4.8, (-4.1, 3.8), (-2.4, 2.75))
    for card in range(cards):
        came = sends(card - 1, step, cards) if step else None
        _draw_card(axes, card, pieces[card], came)
        _draw_arrow(axes, card, cards, "ABCD"[sends(card, step, cards)] if step else "")
    return show(figure, _step_said(step, cards))


def ring_steps(cards: int = 4) -> Frames:
    """`ring_step` with a slider, from before the first step to the last one."""
    numbers = range(2 * (cards - 1) + 1)
    return frames([ring_step(step, cards) for step in numbers], list(numbers), "step", ms=1500)


def sends(card: int, step: int, cards: int) -> int:
    """Which piece a card sends in this step, counted from 1: the one that it got in the step before.

    >>> [sends(0, step, cards=4) for step in (1, 2, 3, 4, 5, 6)]
    [0, 3, 2, 1, 0, 3]
    """
    return (card - step + 1) % cards


def after(pieces: Pieces, step: int) -> Pieces:
    """What the cards have after this step. In the first half a piece is added, in the second it takes the place."""
    cards, now = len(pieces), [list(row) for row in pieces]
    for card in range(cards):
        piece, neighbour = sends(card, step, cards), (card + 1) % cards
        arrived = pieces[card][piece]
        now[neighbour][piece] = arrived | pieces[neighbour][piece] if step < cards else arrived
    return now


def _step_said(step: int, cards: int) -> str:
    if not step:
        return f"Before the first step: {cards} cards, each with its own gradient, cut into {cards} pieces."
    half = "adding up" if step < cards else "handing round"
    told = ", ".join(f"card {card} sends {'ABCD'[sends(card, step, cards)]}" for card in range(cards))
    done = step - cards + 2  # so many pieces are whole
    sums = f"the sum of {'all pieces' if done == cards else many(done, 'piece')}"
    begin = f"Step {step} of {2 * (cards - 1)}, {half}. {told[:1].upper()}{told[1:]}"
    now = sums if done > 0 else f"a piece with the numbers of {step + 1} cards"
    return f"{begin}, each to the next card. Each card now has {now}."


def _draw_card(axes: Any, card: int, pieces: list[frozenset[int]], came: int | None) -> None:
    cards = len(pieces)
    x, y = _PLACES[cards][card]
    top = y + cards * _HIGH / 2
    axes.text(x, top + 0.07, f"card {card}", ha="center", va="bottom", weight="bold", fontsize=12)
    for row, whose in enumerate(pieces):
        bottom, whole, new = top - (row + 1) * _HIGH, len(whose) == cards, row == came
        fill = "#d5efe6" if whole else "#dce9f5" if len(whose) > 1 else "white"
        edge: dict[str, Any] = {"edgecolor": ORANGE, "linewidth": 2.5, "zorder": 3} if new else {"edgecolor": GREY}
        rectangle(axes, x - _WIDE / 2, bottom, _WIDE, _HIGH, facecolor=fill, **edge)
        text = "sum" if whole else "+".join(map(str, sorted(whose)))
        look = {"color": GREEN, "weight": "bold"} if whole else {"color": BLUE}
        axes.text(x, bottom + _HIGH / 2, text, ha="center", va="center", fontsize=11, zorder=4, **look)
        axes.text(x - _WIDE / 2 - 0.12, bottom + _HIGH / 2, "ABCD"[row], ha="right", va="center", fontsize=11)


def _draw_arrow(axes: Any, card: int, cards: int, piece: str) -> None:
    """An arrow from a card to the next one, with the piece that travels; without one, the link in grey."""
    (x, y), (to_x, to_y) = _PLACES[cards][card], _PLACES[cards][(card + 1) % cards]
    length = math.hypot(to_x - x, to_y - y)
    dx, dy = (to_x - x) / length, (to_y - y) / length
    aside = 0.3 if cards == 2 else 0.0  # two go there and back, side by side
    # From the middle of a card's boxes, in this direction, to a little outside of them.
    wide, high = _WIDE / 2 + 0.4, cards * _HIGH / 2 + 0.3
    reach = min(wide / abs(dx) if dx else math.inf, high / abs(dy) if dy else math.inf)
    begin = x + dx * reach + dy * aside, y + dy * reach - dx * aside
    stop = to_x - dx * reach + dy * aside, to_y - dy * reach - dx * aside
    axes.annotate("", stop, begin, arrowprops={"arrowstyle": "-|>", "lw": 2.5, "color": ORANGE if piece else "0.8"})
    if piece:
        middle = (begin[0] + stop[0]) / 2, (begin[1] + stop[1]) / 2
        box = {"boxstyle": "circle,pad=0.25", "facecolor": "white", "edgecolor": ORANGE, "linewidth": 2}
        axes.text(*middle, piece, ha="center", va="center", color=ORANGE, weight="bold", fontsize=12, bbox=box)


# -- the large picture: 2 to 1,024 cards ---------------------------------------------------------------------------


CARDS = tuple(2**n for n in range(11))
_TICKS = CARDS[::2]


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
    return _gained(ones, {n: rows // n for n in CARDS if rows // n in ones}, way, buckets)


def kept(ones: Mapping[int, OneCard], rows: int, way: Way, buckets: int = 4) -> dict[int, float]:
    """Weak scaling: `rows` rows for each of 1 to 1,024 cards. Which share of its time does a card compute?"""
    return _gained(ones, dict.fromkeys(CARDS, rows), way, buckets)


def _gained(ones: Mapping[int, OneCard], rows: Mapping[int, int], way: Way, buckets: int) -> dict[int, float]:
    """One card's time by that of so many, each with its `rows`."""
    steps = {n: several_cards(ones[each], n, way.link, buckets, way.exchange)
             for n, each in rows.items() if n <= LINKS[way.link].most}  # fmt: skip
    return {n: float(ones[rows[1]].seconds) / float(step.seconds) for n, step in steps.items()}


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
        best, last = max(strong, key=strong.__getitem__), max(weak)
        most = f"{way.name}: at most {strong[best]:.3g} times as fast, with {best:,} cards"
        told.append(f"{most}; with {last:,}, {100 * weak[last]:.0f} % is kept")
    left.plot(CARDS, CARDS, color=GREY, linewidth=1)
    left.text(9, 13, "ideal", color="0.25", ha="right", fontsize=12)
    _axes(left, f"{shared:,} rows for all together", "times as fast as one card (log)")
    left.set_yticks(_TICKS, [f"{n:,}" for n in _TICKS])
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
    axes.set_xticks(_TICKS, [f"{n:,}" for n in _TICKS])
    axes.set(xlabel="cards (log)", ylabel=name)
    axes.minorticks_off()
