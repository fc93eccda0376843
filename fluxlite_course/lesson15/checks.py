"""Lesson 15, several machines: checks."""

from collections.abc import Callable
from typing import Any

import numpy as np

from fluxlite.words import many

from ..kit.exercises import brief, exercise
from ..kit.vocabulary import expect, function, is_number, listed, number, refuse, wrong_if
from ..links import LINKS, ring


@exercise("15.1", "an all-reduce in a ring", look_at="the ring's second half, step by step")
def all_reduce(all_reduce):
    function(all_reduce, "all_reduce")
    counted = {}
    for cards in (4, 3):
        sends = _right_sums(all_reduce, cards)
        _over_the_link(all_reduce, cards)
        counted[cards] = _as_few_as_in_a_ring(sends, cards)
    messages, nbytes = counted[4]
    return (
        f"4 cards: each sent {messages} messages of a quarter, {nbytes} bytes in all, and all have the sum; "
        "3 cards as well"
    )


class _Link:
    """What stands between the cards. It notes what each card sends, and `arrives` says what the next one gets."""

    def __init__(self, cards: int, arrives: Callable[[int, np.ndarray], np.ndarray]) -> None:
        self.cards, self.arrives = cards, arrives
        self.sends: list[tuple[int, np.ndarray]] = []  # the card, and what it sent

    def send(self, card: Any, piece: Any) -> np.ndarray:
        names_a_card = is_number(card) and card in range(self.cards)
        words = f"send(card, piece) takes the number of the card that sends, 0 to {self.cards - 1}, and then the piece"
        wrong_if(not names_a_card, words, f"send({brief(card)}, …)")
        sent = np.array(piece)
        wrong_if(sent.dtype.kind not in "fiu", "send(card, piece) takes numbers as its piece", brief(piece))
        self.sends.append((int(card), sent))
        return self.arrives(int(card), sent)


def _whole_arrays(found, size, cards):
    """What `all_reduce` returned: a row for each card."""
    rows = listed(found)
    whole = rows is not None and [np.shape(x) for x in rows] == [(size,)] * cards
    wrong_if(not whole, f"all_reduce returns a list with a whole array for each of the {cards} cards", f"{found!r:.80}")
    values = np.array(rows)
    wrong_if(values.dtype.kind not in "fiu", "the sums should be numbers as they were", f"type {values.dtype}")
    return values.astype(np.float64)


def _right_sums(all_reduce, cards):
    """Raises `NotRight` for wrong sums. Returns what was sent."""
    # Whole numbers, so that no sum depends on its order. All are positive: what's counted twice is too large.
    arrays = [np.arange(1.0, 2 * cards + 1) * 10**card for card in range(cards)]
    total = np.sum(arrays, axis=0)
    link = _Link(cards, lambda card, piece: piece.copy())
    values = _whole_arrays(all_reduce([array.copy() for array in arrays], link.send), len(total), cards)
    right = (values == total).reshape(cards, cards, -1).all(axis=2)  # for each card and piece
    card = int(np.argmin(right.all(axis=1)))
    refuse({
        "nothing was sent. A card has only its own array until something arrives: send(card, piece)": not link.sends,
        "each card has the sum of one piece: that's the first half. Now hand these round":
            len(link.sends) == cards * (cards - 1) and (right.sum(axis=1) == 1).all(),
        f"card {card} of {cards} counts something more than once. A sum that's handed round takes the piece's place":
            (values > total).any(),
        "that's the mean of all cards' arrays: here they should have the sum": np.allclose(values * cards, total),
        f"card {card} of {cards} lacks something. First each card sends the sum that it has, then what it has just got":
            not right.all(),
    }, values[card], total)  # fmt: skip
    return link.sends


def _over_the_link(all_reduce, cards):
    """Raises `NotRight` if a card computes with what it can't have.

    All numbers of card c are 8**c, and what arrives from it is 8**(cards + c), whatever it sent. So the octal digits of
    a sum say what's in it: a card may have its own digit, and that of the card before.
    """
    link = _Link(cards, lambda card, piece: np.full_like(piece, 8.0 ** (cards + card)))
    found = all_reduce([np.full(2 * cards, 8.0**card) for card in range(cards)], link.send)
    for card, values in [*link.sends, *enumerate(_whole_arrays(found, 2 * cards, cards))]:
        digits: Any = np.array([values // 8.0**place % 8 for place in range(2 * cards)]).reshape(2 * cards, -1)
        before, has = (card - 1) % cards, digits.any(axis=1)
        of_others = [other for other in range(cards) if has[other] and other != card]
        not_for_it = [other for other in range(cards) if has[cards + other] and other != before]
        is_a_sum = np.array_equal(8.0 ** np.arange(2 * cards) @ digits, np.ravel(values))
        where = f"the sums are right, but not all came over the link: card {card} of {cards} computes with"
        refuse({
            f"{where} numbers of card {min(of_others, default='')}. "
            "It has only its own array, and what send(card, piece) gave back": of_others,
            f"{where} what card {min(not_for_it, default='')} sent, and that arrives at the next card only": not_for_it,
            f"{where} numbers that are neither its own nor what send(card, piece) gave back": not is_a_sum,
        })  # fmt: skip


def _as_few_as_in_a_ring(sends, cards):
    """Raises `NotRight` if a card sends more than it has to. Returns how many messages each sent, and their bytes."""
    messages, piece = 2 * (cards - 1), np.zeros(2).nbytes
    each = [[array.nbytes for sender, array in sends if sender == card] for card in range(cards)]
    most, total = messages * piece, sum(map(sum, each))
    words = "right sums, but a card sends more than it has to. Cut the arrays into pieces, and send one piece a step"
    wrong_if(total > cards * most, words, f"{total} bytes in all", f"{cards * most} bytes")
    for card, sent in enumerate(each):
        in_words = f"card {card}: {many(len(sent), 'message')}, {sum(sent)} bytes"
        words = f"right sums, but it's no ring yet: each card sends one piece in each of {messages} steps"
        wrong_if(sent != [piece] * messages, words, in_words, f"{messages} messages of {piece} bytes from each card")
    return messages, most


_BITS = 8


@exercise("15.2", "the time of a step", look_at="the formula, with latencies and bytes")
def step_time(step_time):
    function(step_time, "step_time")
    # One card last: what's wrong with it alone says little about what else is wrong. No number of cards is 8, so that
    # bits in place of bytes look like nothing else.
    cases = [(0.012, 100e6, 6, "PCI Express"), (0.002, 8e3, 16, "Ethernet 10"), (0.004, 100e6, 1, "NVLink")]
    for compute, nbytes, cards, name in cases:
        link, exchange = LINKS[name], float(ring(nbytes, cards, name))
        found = number(step_time(compute, nbytes, cards, link), "what step_time returns")
        slips, otherwise = _slips_of_time(compute, nbytes, cards, link), "that's not the time of the step"
        if cards == 1:
            slips, otherwise = {}, "one card has nobody to exchange anything with, so only the computing is left"
        expect(found, compute + exchange, otherwise, slips, before=f"{many(cards, 'card')}, {name}: ",
               rtol=1e-6, atol=0, show=lambda x: f"{1e3 * float(x):.4f} ms")  # fmt: skip
    return "8 kB on 16 cards with 10-gigabit Ethernet: 2 ms of computing, 0.91 ms of exchange, nearly all of it latency"


def _slips_of_time(compute, nbytes, cards, link):
    """What learners get for a step of several cards, and why."""
    steps, piece = 2 * (cards - 1), nbytes / cards / link.bandwidth
    latencies, travelling = steps * link.latency, steps * piece
    exchange = latencies + travelling
    return {
        "the bytes are missing": compute + latencies,
        "the latencies are missing; each of the 2 (n - 1) steps has one": compute + travelling,
        "each of the 2 (n - 1) steps has a latency, so it counts more than once": compute + link.latency + travelling,
        "there are 2 (n - 1) latencies: handing round has as many as adding up": compute + latencies / 2 + travelling,
        "there are n - 1 steps to add up, and as many to hand round": compute + exchange / 2,
        "a ring has 2 (n - 1) steps; those of a tree are 2 · log₂ n":
            compute + 2 * np.log2(cards) * link.latency + travelling,
        "there are 2 (n - 1) steps, not 2 n": compute + 2 * cards * (link.latency + piece),
        "a step carries one piece, 1/n of the gradients, not all of them": compute + latencies + cards * travelling,
        "a card sends 2 (n - 1) / n of the gradients, not all of them once": compute + latencies + cards * piece,
        "the bandwidth is in bytes per second, so nothing is times 8": compute + latencies + _BITS * travelling,
        "the bandwidth is in bytes per second, so nothing is divided by 8": compute + latencies + travelling / _BITS,
        "the computing is missing: a step is computing, and then the exchange": exchange,
        "each card computes for all of these seconds: they aren't divided among the cards": compute / cards + exchange,
        "all cards compute at the same time: what they compute isn't added up": cards * compute + exchange,
        "a card computes, and then exchanges: add the two times": max(compute, exchange),
        "that's in milliseconds, and a step should be in seconds": 1e3 * (compute + exchange),
    }  # fmt: skip
