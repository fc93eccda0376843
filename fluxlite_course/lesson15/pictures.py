"""Lesson 15's pictures: halves of a gradient, a ring step by step, buckets behind a backward pass, what cards gain."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fluxlite.messages import many
from fluxlite.receipts import duration

from ..draw.pictures import GREEN, GREY, ORANGE, Picture, plots, show
from ..links import LINKS
from ..scenes import Each, Knob, Part, Scene, drawing, label, rounded
from ..scenes.axes import Axis, across, bars
from ..scenes.boxes import arrow
from .exchange import OneCard, large_network, several_cards


def compared(whole: Any, halves: Sequence[Any]) -> Picture:
    """Each number of a batch's gradient, beside that of one half of the rows, and beside the mean of both halves'."""
    figure, axes = plots(1, 2, height=4.2, sharex=True, sharey=True)
    mean, reach = np.mean(halves, axis=0), 1.05 * np.abs([whole, *halves]).max()
    for ax, found, title, colour in zip(axes, (halves[0], mean), ("one half", "the mean of both"), (ORANGE, GREEN)):
        ax.axline((0, 0), slope=1, color=GREY, linewidth=1)
        ax.plot(whole, found, ".", color=colour, alpha=0.5, markersize=5)
        ax.set(xlabel="gradient of all 64 rows", xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
        ax.set_title(title, fontsize=13)
    words = "on" if np.allclose(mean, whole, atol=1e-6) else "beside"
    return show(figure, f"{len(whole):,} numbers. One half's is a cloud; the mean of both lies {words} the diagonal.")


# -- the ring -----------------------------------------------------------------------------------------------------

_WIDE, _HIGH, _NAMES, _STEPS = 168, 34, "ABCD", 6
_PLACES = ((112, 130), (528, 130), (528, 390), (112, 390))  # the middle of each card's boxes, clockwise
_WAYS = ((208, 130, 432, 130), (528, 232, 528, 288), (432, 390, 208, 390), (112, 288, 112, 232))


def ring_steps() -> Scene:
    """An all-reduce in a ring of four cards, step by step.

    >>> ring_steps().at(step="3 of 6")
    'Step 3 of 6, adding up. Card 0 sends C, card 1 sends D, card 2 sends A, card 3 sends B, each to the next card.'
    """
    # Between two steps there's a moment in which the pieces are on their way.
    moments = [(0, False), *((step, on_way) for step in range(1, _STEPS + 1) for on_way in (True, False))]
    picture = drawing(
        640, 490, "A ring of 4 cards. Each sends one of its 4 pieces to the next card, all at the same time",
        *(arrow(*way, "rest") for way in _WAYS),
        *(part for card in range(4) for part in _card(card, [step - on_way for step, on_way in moments])),
        *(_travelling(piece, moments) for piece in range(4)),
    )  # fmt: skip
    labels = ["start", *(f"{step}: on the way" if on_way else f"{step} of {_STEPS}" for step, on_way in moments[1:])]
    return Scene(picture, [Knob("step", labels, slider=True, ms=900)], [_step_said(step) for step, _ in moments])


def inside(card: int, piece: int, step: int) -> str:
    """Whose numbers are in a card's piece after a step: piece 0 sets out from card 0, piece 1 from card 1, ….

    >>> [inside(2, 0, step) for step in range(7)]
    ['2', '2', '0 + 1 + 2', '0 + 1 + 2', '0 + 1 + 2', '0 + 1 + 2', 'the sum']
    """
    hops = (card - piece) % 4  # so many steps until the piece gets here; then it comes once more, complete
    if step >= (3 if hops == 3 else hops + 4):
        return "the sum"
    cards = range(card - hops, card + 1) if step >= hops else [card]
    return " + ".join(map(str, sorted(one % 4 for one in cards)))


def _step_said(step: int) -> str:
    if not step:
        return "Before the first step: 4 cards, each with its own gradient, cut into 4 pieces."
    each = ", ".join(f"card {card} sends {_NAMES[(card - step + 1) % 4]}" for card in range(4))
    half = "adding up" if step < 4 else "handing round"
    return f"Step {step} of {_STEPS}, {half}. C{each[1:]}, each to the next card."


def _row(card: int, piece: int) -> tuple[float, float]:
    """The middle of a piece's box."""
    x, y = _PLACES[card]
    return x, y + (piece - 1.5) * _HIGH


def _card(card: int, steps: list[int]) -> Iterator[Part]:
    """A card: a box for each of its pieces, which says whose numbers are in it."""
    x, top = _row(card, 0)
    yield label(x, top - _HIGH / 2 - 9, f"card {card}", "middle bold")
    for piece in range(4):
        y, whose = _row(card, piece)[1], [inside(card, piece, step) for step in steps]
        place = {"x": x - _WIDE / 2, "y": y - _HIGH / 2, "width": _WIDE, "height": _HIGH}
        yield Part("rect", **place, class_=Each("gpu faint" if words == "the sum" else "box" for words in whose))
        yield Part("rect", **place, class_="box")
        yield label(x - _WIDE / 2 + 10, y + 5, _NAMES[piece], "bold")
        yield label(x + 8, y + 5, Each(whose), "middle")


def _travelling(piece: int, moments: list[tuple[int, bool]]) -> Part:
    """A piece on its way round: in each step, the card that got it sends it on."""
    places, words = [], []
    for step, on_way in moments:
        card = (piece + step - on_way) % 4
        x1, y1, x2, y2 = _WAYS[card]
        x, y = ((x1 + x2) / 2, (y1 + y2) / 2) if on_way else _row(card, piece)
        places.append(f"translate({x:g} {y:g})")
        words.append(inside(card, piece, step - on_way))
    return Part(
        "g", Part("rect", class_="gpu", x=-_WIDE / 2, y=-_HIGH / 2, width=_WIDE, height=_HIGH, rx=4),
        label(-_WIDE / 2 + 10, 5, _NAMES[piece], "inside bold"), label(8, 5, Each(words), "middle inside"),
        class_="glide", transform=Each(places),
    )  # fmt: skip


# -- buckets ------------------------------------------------------------------------------------------------------

BUCKETS = (1, 2, 4, 8, 16, 64, 256)


def hiding(one: OneCard, cards: int, link: str) -> Scene:
    """One step of training on several cards, for each number of buckets: what a card does, and the link.

    >>> hiding(large_network(4096), 2, "Ethernet 100").at(buckets="4")
    'The gradients travel in 4 buckets. The step takes 15.2 ms simulated (2 cards, Ethernet 100), and each card ...'
    """
    steps = [several_cards(one, cards, link, count) for count in BUCKETS]
    ends = [float(step.seconds) for step in steps]
    forward, back, update = map(float, (one.forward, one.back, one.update))
    at = Axis(0, max(ends), 10, 560)
    edges = [[at(time) for time in (0.0, forward, forward + back, end - update, end)] for end in ends]
    picture = drawing(
        640, 262, f"One step on {cards} cards: what each of them does, and when {link} carries gradients",
        label(10, 24, "each card", "bold"),
        *(part for n, words in enumerate(("forward", "backward", "waits", "update"))
          for part in _block(words, *zip(*((xs[n], xs[n + 1]) for xs in edges)))),
        label(10, 114, link, "bold"),
        Part("path", class_="rest", d=Each(
            bars(step.on_the_link, at, 124, 46, 1.5 if len(step.on_the_link) <= 16 else 0.3) for step in steps)),
        Part("path", class_="cursor glide", d=Each(f"M{xs[-1]} 28V184" for xs in edges)),
        label(Each(xs[-1] + 6 for xs in edges), 148, Each(map(duration, ends)), "bold"),
        *across(at, 194, f"ms since the step began, simulated ({steps[0].seconds.card})",
                text=lambda seconds: f"{seconds * 1e3:g}"),
    )  # fmt: skip
    said = [
        f"The gradients travel in {many(count, 'bucket')}. The step takes {step.seconds}, and each card waits for "
        f"{duration(step.waiting)}." for count, step in zip(BUCKETS, steps)
    ]  # fmt: skip
    return Scene(picture, [Knob("buckets", [str(count) for count in BUCKETS], slider=True, ms=1500)], said)


def _block(words: str, begins: Sequence[float], ends: Sequence[float]) -> Iterator[Part]:
    """A part of the card's step, from where to where, and its name where there's room."""
    widths = rounded(max(end - begin - 2, 0) for begin, end in zip(begins, ends))
    look = "wait glide" if words == "waits" else "gpu glide"
    yield Part("rect", class_=look, x=Each(begins), y=34, width=Each(widths), height=46)
    fits = Each(words if width > 10 * len(words) else "" for width in widths)
    yield label(Each(rounded((begin + end) / 2 for begin, end in zip(begins, ends))), 62, fits, "middle inside")


# -- is it worth it? ----------------------------------------------------------------------------------------------

ROWS = tuple(2**n for n in range(11, 18))
_PRECISIONS = {"bf16": "float16", "float32": "float32"}


def gain(link: str, rows: int, dtype: str, cards: int = 8) -> float:
    """How many times as fast `cards` are as one, if they share these rows and use as many buckets as are best."""
    each = large_network(rows // cards, dtype=dtype)
    fastest = min(float(several_cards(each, cards, link, 2**n).seconds) for n in range(6))
    return float(large_network(rows, dtype=dtype).seconds) / fastest


def worth_it() -> Scene:
    """What a week on one H100 becomes on eight, for each link, by the rows in a step, in both precisions.

    >>> worth_it().at(rows="32,768", precision="bf16")
    'A week on one H100 becomes, on eight (simulated): NVLink 1.0 days, ... Ethernet 100 5.8 days, Ethernet 10 48 days.'
    """
    settings = list(itertools.product(_PRECISIONS.values(), ROWS))
    axis, bottom = Axis(0, 14, 130, 560), 30 + 46 * len(LINKS)
    parts, said = [], ["A week on one H100 becomes, on eight (simulated):"] * len(settings)
    for row, link in enumerate(LINKS):
        days = [7 / gain(link, *setting[::-1]) for setting in settings]
        words = [f"{one:.1f} days" if one < 9.95 else f"{one:.0f} days" for one in days]
        ends, y = [axis(min(one, axis.high)) for one in days], 30 + 46 * row
        looks = Each("gpu glide" if one < 7 else "wait glide" for one in days)
        parts += [
            label(axis.begin - 10, y + 22, link, "end"),
            Part("rect", class_=looks, x=axis.begin, y=y, width=Each(end - axis.begin for end in ends), height=32),
            label(Each(end + 8 for end in ends), y + 22, Each(words), "bold"),
        ]
        said = [f"{before} {link} {one}," for before, one in zip(said, words)]
    picture = drawing(
        640, bottom + 54, "What a week on one H100 becomes on eight, a bar for each link", *parts,
        Part("path", class_="cursor", d=f"M{axis(7)} 22V{bottom}"), label(axis(7), 15, "a week: one H100", "middle"),
        *across(axis, bottom, "days, simulated (H100); a longer bar is cut", range(0, 15, 2)),
    )  # fmt: skip
    knobs = [Knob("precision", list(_PRECISIONS)), Knob("rows", [f"{rows:,}" for rows in ROWS], slider=True, ms=900)]
    return Scene(picture, knobs, [f"{each[:-1]}." for each in said], [0, ROWS.index(32_768)])
