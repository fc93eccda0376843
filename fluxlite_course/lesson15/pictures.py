"""Lesson 15's pictures: a way back that hides an exchange, a ring step by step, and 2 to 1,024 cards."""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fluxlite.messages import many
from fluxlite.receipts import Seconds, duration

from ..draw.pictures import BLUE, GREEN, GREY, ORANGE, Picture, plots, show
from ..scenes import Each, Knob, Part, Scene, drawing, label, rounded
from ..scenes.axes import Axis, across, bars
from ..scenes.boxes import arrow
from .exchange import LINKS, Link, OneCard, SeveralCards, ring, several_cards, tree

BUCKETS = (1, 2, 4, 8, 16, 64, 256)


def hiding(one: OneCard, cards: int, link: str | Link, buckets: Sequence[int] = BUCKETS) -> Scene:
    """One step of training on several cards, for each number of `buckets`: what a card does, and the link.

    `one` is what `one_card` estimated. Raises `ValueError` as `several_cards` does.

    >>> from fluxlite_course.lesson15 import large_network
    >>> hiding(large_network(4096), 2, "Ethernet 100").at(buckets="4")
    'The gradients travel in 4 buckets. The step takes 15.2 ms simulated (2 cards, Ethernet 100), and each card ...'
    """
    steps = [several_cards(one, cards, link, count) for count in buckets]
    ends = [float(step.seconds) for step in steps]
    forward, back, update = map(float, (one.forward, one.back, one.update))
    at = Axis(0, max(ends), 10, 560)
    edges = [[at(time) for time in (0.0, forward, forward + back, end - update, end)] for end in ends]
    picture = drawing(
        640, 262, f"One step on {cards} cards: what each of them does, and when {steps[0].link} carries gradients",
        label(10, 24, "each card", "bold"),
        *(part for n, words in enumerate(("forward", "backward", "waits", "update"))
          for part in _block(words, [(xs[n], xs[n + 1]) for xs in edges])),
        label(10, 114, steps[0].link, "bold"),
        Part("path", class_="rest", d=Each(
            bars(step.on_the_link, at, 124, 46, 1.5 if len(step.on_the_link) <= 16 else 0.3) for step in steps)),
        Part("path", class_="cursor glide", d=Each(f"M{xs[-1]} 28V184" for xs in edges)),
        label(Each(xs[-1] + 6 for xs in edges), 148, Each(map(duration, ends)), "bold"),
        *across(at, 194, f"ms since the step began, simulated ({steps[0].seconds.card})", text=_ms),
    )  # fmt: skip
    said = [_hidden_said(step, count) for step, count in zip(steps, buckets)]
    return Scene(picture, [Knob("buckets", [str(count) for count in buckets], slider=True, ms=1500)], said)


def _block(words: str, edges: list[tuple[float, float]]) -> Iterator[Part]:
    """A part of the card's step, from where to where, and its name where there's room."""
    widths = Each(rounded(max(end - begin - 2, 0) for begin, end in edges))
    look = "wait glide" if words == "waits" else "gpu glide"
    yield Part("rect", class_=look, x=Each(begin for begin, _ in edges), y=34, width=widths, height=46)
    fits = Each(words if end - begin > 10 * len(words) else "" for begin, end in edges)
    yield label(Each(rounded((begin + end) / 2 for begin, end in edges)), 62, fits, "middle inside")


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:g}"


def _hidden_said(step: SeveralCards, buckets: int) -> str:
    waits = f"each card waits for {duration(step.visible)}" if step.visible else "no card waits"
    return f"The gradients travel in {many(buckets, 'bucket')}. The step takes {step.seconds}, and {waits}."


# -- the ring: which piece goes where, step by step ----------------------------------------------------------------


_WIDE, _HIGH = 168, 34  # a piece's box
# Where the middle of each card's boxes is, clockwise, for as many cards as the picture has room for.
_PLACES: dict[int, Sequence[tuple[float, float]]] = {
    2: ((112, 130), (528, 130)),
    3: ((112, 100), (528, 100), (320, 330)),
    4: ((112, 108), (528, 108), (528, 382), (112, 382)),
}
Pieces = list[list[frozenset[int]]]  # for each card and piece: the cards whose numbers are in it


def ring_steps(cards: int = 4) -> Scene:
    """A ring of `cards`: each of its 2 (n - 1) steps, with the pieces on their way, and then as they've arrived.

    In each box stands whose numbers are added up in it. Raises `ValueError` for more than 4 cards.

    >>> ring_steps(3).at(step="1 of 4")
    'Step 1 of 4, adding up. Card 0 sends A, card 1 sends B, card 2 sends C, each to the next card. Each card now ...'
    """
    if cards not in _PLACES:
        raise ValueError(f"this picture has room for 2 to 4 cards, got {cards!r}")
    steps = 2 * (cards - 1)
    start: Pieces = [[frozenset([card])] * cards for card in range(cards)]
    at = list(itertools.accumulate(range(1, steps + 1), after, initial=start))  # the pieces after each step
    # Between two steps there's a state in which the pieces are on their way.
    moments = [(0, False), *((step, on_way) for step in range(1, steps + 1) for on_way in (True, False))]
    seen = [at[step - on_way] for step, on_way in moments]
    picture = drawing(
        640, 245 if cards == 2 else 440 if cards == 3 else 490,
        f"A ring of {cards} cards. Each sends one of its {cards} pieces to the next card, all at the same time",
        *(arrow(*_way(card, cards), "rest") for card in range(cards)),
        *(part for card in range(cards) for part in _card(card, cards, seen)),
        *(_travelling(piece, cards, moments, at) for piece in range(cards)),
    )  # fmt: skip
    labels = ["start", *(f"{step}: on the way" if on_way else f"{step} of {steps}" for step, on_way in moments[1:])]
    return Scene(picture, [Knob("step", labels, slider=True, ms=900)], [_step_said(*each, cards) for each in moments])


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


def _step_said(step: int, on_way: bool, cards: int) -> str:
    if not step:
        return f"Before the first step: {cards} cards, each with its own gradient, cut into {cards} pieces."
    half = "adding up" if step < cards else "handing round"
    told = ", ".join(f"card {card} sends {'ABCD'[sends(card, step, cards)]}" for card in range(cards))
    begin = f"Step {step} of {2 * (cards - 1)}, {half}. {told[:1].upper()}{told[1:]}, each to the next card."
    if on_way:
        return f"{begin} The pieces are on their way."
    done = step - cards + 2  # so many pieces are whole
    sums = f"the sum of {'all pieces' if done == cards else many(done, 'piece')}"
    return f"{begin} Each card now has {sums if done > 0 else f'a piece with the numbers of {step + 1} cards'}."


def _words(whose: frozenset[int], cards: int) -> str:
    return "the sum" if len(whose) == cards else " + ".join(map(str, sorted(whose)))


def _row(card: int, piece: int, cards: int) -> tuple[float, float]:
    """The middle of a piece's box."""
    x, y = _PLACES[cards][card]
    return x, y + (piece - (cards - 1) / 2) * _HIGH


def _card(card: int, cards: int, seen: list[Pieces]) -> Iterator[Part]:
    """A card: a box for each of its pieces, which says whose numbers are in it."""
    for piece in range(cards):
        x, y = _row(card, piece, cards)
        if not piece:
            yield label(x, y - _HIGH / 2 - 9, f"card {card}", "middle bold")
        now = [pieces[card][piece] for pieces in seen]
        place = {"x": x - _WIDE / 2, "y": y - _HIGH / 2, "width": _WIDE, "height": _HIGH}
        yield Part("rect", **place, class_=Each("gpu faint" if len(whose) == cards else "box" for whose in now))
        yield Part("rect", **place, class_="box")
        yield label(x - _WIDE / 2 + 10, y + 5, "ABCD"[piece], "bold")
        yield label(x + 8, y + 5, Each(_words(whose, cards) for whose in now), "middle")


def _travelling(piece: int, cards: int, moments: list[tuple[int, bool]], at: list[Pieces]) -> Part:
    """A piece on its way round: in each step, the card that got it sends it on."""
    places, texts = [], []
    for step, on_way in moments:
        card, before = (piece + step) % cards, (piece + step - 1) % cards
        x1, y1, x2, y2 = _way(before, cards)
        x, y = ((x1 + x2) / 2, (y1 + y2) / 2) if on_way else _row(card, piece, cards)
        places.append(f"translate({x:g} {y:g})")
        texts.append(_words(at[step - on_way][before if on_way else card][piece], cards))
    return Part(
        "g", Part("rect", class_="gpu", x=-_WIDE / 2, y=-_HIGH / 2, width=_WIDE, height=_HIGH, rx=4),
        label(-_WIDE / 2 + 10, 5, "ABCD"[piece], "inside bold"), label(8, 5, Each(texts), "middle inside"),
        class_="glide", transform=Each(places),
    )  # fmt: skip


def _way(card: int, cards: int) -> tuple[float, float, float, float]:
    """The link from a card to the next one: where it begins, and where it ends."""
    (x, y), (to_x, to_y) = _PLACES[cards][card], _PLACES[cards][(card + 1) % cards]
    length = math.hypot(to_x - x, to_y - y)
    dx, dy = (to_x - x) / length, (to_y - y) / length
    aside = 46.0 if cards == 2 else 0.0  # two go there and back, one above the other
    # From the middle of a card's boxes, in this direction, to a little outside of them.
    wide, high = _WIDE / 2 + 12, cards * _HIGH / 2 + 34
    reach = min(wide / abs(dx) if dx else math.inf, high / abs(dy) if dy else math.inf)
    x, y, to_x, to_y = x + dy * aside, y - dx * aside, to_x + dy * aside, to_y - dx * aside
    x, y, to_x, to_y = rounded((x + dx * reach, y + dy * reach, to_x - dx * reach, to_y - dy * reach))
    return x, y, to_x, to_y


# -- the large picture: 2 to 1,024 cards ---------------------------------------------------------------------------

CARDS = tuple(2**n for n in range(11))


class Way(NamedTuple):
    """A line of the picture: a link, the way in which the gradients go over it, and a colour."""

    link: str
    exchange: Callable[..., Seconds]
    colour: str

    @property
    def name(self) -> str:
        return f"{self.link}, {self.exchange.__name__}"


WAYS = (
    Way("InfiniBand", tree, GREEN), Way("InfiniBand", ring, BLUE), Way("Ethernet 100", ring, ORANGE),
    Way("Ethernet 10", ring, "#6b4c9a"),
)  # fmt: skip


def gained(ones: Mapping[int, OneCard], rows: Mapping[int, int], way: Way, buckets: int = 4) -> dict[int, float]:
    """One card's time by that of so many, each with its `rows`.

    With as many rows in all, that's by how much the step is faster; with as many for each, the share of its time in
    which a card computes.
    """
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
        look: dict[str, Any] = {"color": way.colour, "linestyle": "--", "marker": "s", "markerfacecolor": "none"}
        strong = gained(ones, {n: shared // n for n in CARDS if shared // n in ones}, way, buckets)
        weak = gained(ones, dict.fromkeys(CARDS, each), way, buckets)
        left.loglog(list(strong), list(strong.values()), label=way.name, **look)
        right.semilogx(list(weak), [100 * share for share in weak.values()], **look)
        best, last = max(strong, key=strong.__getitem__), max(weak)
        most = f"{way.name}: at most {strong[best]:.3g} times as fast, with {best:,} cards"
        told.append(f"{most}; with {last:,}, {100 * weak[last]:.0f} % is kept")
    left.plot(CARDS, CARDS, color=GREY, linewidth=1)
    left.text(9, 13, "ideal", color=GREY, ha="right", fontsize=12)
    left.set(title=f"{shared:,} rows for all together", ylabel="times as fast as one card (log)", ylim=(0.3, 1500))
    left.set_yticks(CARDS[::2], map("{:,}".format, CARDS[::2]))
    left.legend(loc="upper left", fontsize=11)
    right.axhline(100, color=GREY, linewidth=1)
    right.set(title=f"{each:,} rows for each card", ylabel="% of the time that a card computes", ylim=(0, 106))
    for axes in (left, right):
        axes.set_xticks(CARDS[::2], map("{:,}".format, CARDS[::2]))
        axes.set_xlabel("cards (log)")
        axes.minorticks_off()
    card = ones[shared].seconds.card
    figure.suptitle(f"simulated ({card})", fontsize=12, color=GREY)
    return show(figure, f"1 to 1,024 cards, simulated ({card}). {'. '.join(told)}.")
