"""Lesson 15's pictures: halves of a gradient, a ring step by step, and buckets behind a backward pass."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fluxlite.devices.receipts import duration
from fluxlite.words import many

from ..bottleneck import Work, six_layers, work
from ..draw import GREEN, GREY, ORANGE, Picture, plots, show
from ..links import Link, ring
from ..scenes import Each, Knob, Part, Scene, drawing, label
from ..scenes.axes import Axis
from ..scenes.lanes import FOOT, LEFT, RIGHT, Box, Lanes, Row
from ..scenes.parts import arrow

BUCKETS = (1, 2, 4, 8, 16, 64, 256)
FORWARD = 1 / 3  # of a step: each product of the forward pass has two in the backward pass
_WIDE, _HIGH, _NAMES, _STEPS = 168, 34, "ABCD", 6
_PLACES = ((112, 130), (528, 130), (528, 390), (112, 390))  # the middle of each card's boxes, clockwise
_WAYS = ((208, 130, 432, 130), (528, 232, 528, 288), (432, 390, 208, 390), (112, 288, 112, 232))


def compared(whole: Any, halves: Sequence[Any]) -> Picture:
    """Each number of a batch's gradient, against that of one half of the rows, and against the mean of both halves'."""
    figure, axes = plots(1, 2, height=4.2, sharex=True, sharey=True)
    mean, reach = np.mean(halves, axis=0), 1.05 * np.abs([whole, *halves]).max()
    for ax, found, title, colour in zip(axes, (halves[0], mean), ("one half", "the mean of both"), (ORANGE, GREEN)):
        ax.axline((0, 0), slope=1, color=GREY, linewidth=1)
        ax.plot(whole, found, ".", color=colour, alpha=0.5, markersize=5)
        ax.set(xlabel="gradient of all 64 rows", xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
        ax.set_title(title, fontsize=13)
    words = "on" if np.allclose(mean, whole, atol=1e-6) else "beside"
    return show(figure, f"{len(whole):,} numbers. One half gives a cloud; the mean of both lies {words} the diagonal.")


def ring_steps() -> Scene:
    """An all-reduce in a ring of four cards, step by step.

    >>> ring_steps().at(step="3 of 6")
    'Step 3 of 6, adding up. Card 0 sends C, card 1 sends D, card 2 sends A, card 3 sends B, each to the next card.'
    """
    steps = range(_STEPS + 1)
    picture = drawing(
        640, 490, "A ring of 4 cards. Each sends one of its 4 pieces to the next card, all at the same time",
        *(arrow(*way, "rest") for way in _WAYS),
        *(part for card in range(4) for part in _card(card)),
        *(_travelling(piece) for piece in range(4)),
    )  # fmt: skip
    labels = ["start", *(f"{step} of {_STEPS}" for step in steps[1:])]
    return Scene(picture, [Knob("step", labels, slider=True, ms=1500)], list(map(_sentence, steps)))


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


def _sentence(step: int) -> str:
    if not step:
        return "Before the first step: 4 cards, each with its own gradient, cut into 4 pieces."
    each = ", ".join(f"card {card} sends {_NAMES[(card - step + 1) % 4]}" for card in range(4))
    half = "adding up" if step < 4 else "handing round"
    return f"Step {step} of {_STEPS}, {half}. C{each[1:]}, each to the next card."


def _row(card: int, piece: int) -> tuple[float, float]:
    """The middle of a piece's box."""
    x, y = _PLACES[card]
    return x, y + (piece - 1.5) * _HIGH


def _card(card: int) -> Iterator[Part]:
    """A card: a box for each of its pieces, which says whose numbers are in it."""
    x, top = _row(card, 0)
    yield label(x, top - _HIGH / 2 - 9, f"card {card}", "middle bold")
    for piece in range(4):
        y, whose = _row(card, piece)[1], [inside(card, piece, step) for step in range(_STEPS + 1)]
        place = {"x": x - _WIDE / 2, "y": y - _HIGH / 2, "width": _WIDE, "height": _HIGH}
        yield Part("rect", **place, class_=Each("gpu faint" if words == "the sum" else "box" for words in whose))
        yield Part("rect", **place, class_="box")
        yield label(x - _WIDE / 2 + 10, y + 5, _NAMES[piece], "bold")
        yield label(x + 8, y + 5, Each(whose), "middle")


def _travelling(piece: int) -> Part:
    """A piece on its way round: in each step, the card that got it sends it on."""
    cards = [(piece + step) % 4 for step in range(_STEPS + 1)]
    return Part(
        "g", Part("rect", class_="gpu", x=-_WIDE / 2, y=-_HIGH / 2, width=_WIDE, height=_HIGH, rx=4),
        label(-_WIDE / 2 + 10, 5, _NAMES[piece], "inside bold"),
        label(8, 5, Each(inside(card, piece, step) for step, card in enumerate(cards)), "middle inside"),
        class_="glide", transform=Each("translate({:g} {:g})".format(*_row(card, piece)) for card in cards),
    )  # fmt: skip


def exchanges(one: Work, cards: int, link: str | Link, buckets: int = 1) -> list[tuple[float, float]]:
    """When each bucket's exchange begins and ends, in seconds since the step began, if each card does what `one` does.

    A bucket is exchanged as soon as the backward pass has made it and the one before is through. The step ends with the
    last one. Not in the model: exchanging takes a little of the cards' own bandwidth.

    >>> exchanges(Work(3.0, 0.0, 3.0, 0, gradient_bytes=12_000_000_000), 2, "Ethernet 10", buckets=1)
    [(3.0, 13.00006)]
    """
    each, done, way = float(ring(one.gradient_bytes / buckets, cards, link)), 0.0, []
    for bucket in range(1, buckets + 1):
        # As if the gradients were made evenly along the backward pass.
        begin = max(done, one.alone * (FORWARD + (1 - FORWARD) * bucket / buckets))
        done = begin + each
        way.append((begin, done))
    return way


def hiding(rows: int, cards: int, link: str) -> Scene:
    """One step of the large network on H100s, for each number of buckets: what a card does, and the link.

    >>> hiding(4096, 2, "Ethernet 100").at(buckets="4")
    '4 buckets: a step takes 15 ms (simulated), and each card waits for 2.31 ms of it.'
    """
    one = work(six_layers, "H100", 2048, rows)
    ways = [exchanges(one, cards, link, count) for count in BUCKETS]
    steps = [way[-1][1] for way in ways]
    rows_of = [Row("compute", "compute", "each card"), Row("network", "network", link)]
    lanes, at = Lanes(rows_of), Axis(0, max(steps), LEFT, RIGHT)
    groups = [Part("g", *lanes.boxes(_one_step(one, way), at.__call__), data_n=n) for n, way in enumerate(ways)]
    picture = drawing(
        640, lanes.bottom + FOOT,
        f"One step on {cards} cards: what each of them does, and when {link} carries gradients",
        *lanes.names(), *lanes.axis(max(steps)), *lanes.key("ms since the step began, simulated (H100)", True),
        Part("g", *groups, only=Each((n, n) for n in range(len(ways)))),
        lanes.cursor([at(step) for step in steps], [duration(step) for step in steps]),
    )  # fmt: skip
    picture.attributes["role"] = "group"
    said = [f"{many(count, 'bucket')}: a step takes {duration(step)} (simulated), and each card waits for "
            f"{duration(step - one.alone)} of it." for count, step in zip(BUCKETS, steps)]  # fmt: skip
    return Scene(picture, [Knob("buckets", list(map(str, BUCKETS)), slider=True, ms=1500)], said)


def _one_step(one: Work, way: Sequence[tuple[float, float]]) -> Iterator[Box]:
    """What a card does in a step, and when its pieces of the gradient are exchanged."""
    forward = one.alone * FORWARD
    yield Box("compute", 0.0, forward, "compute", f"the forward pass: {duration(forward)}", "forward")
    yield Box(
        "compute", forward, one.alone, "compute", f"the backward pass: {duration(one.alone - forward)}", "backward"
    )
    end = way[-1][1]
    if end > one.alone:
        yield Box("compute", one.alone, end, "waits", f"the card waits for the exchange: {duration(end - one.alone)}")
    for number, (begin, done) in enumerate(way, 1):
        yield Box("network", begin, done, "link", f"bucket {number}: {duration(done - begin)}", str(number))
