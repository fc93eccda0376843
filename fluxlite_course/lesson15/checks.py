"""Lesson 15, several machines: checks."""

import numpy as np

from fluxlite.messages import many

from ..kit.exercises import exercise
from ..kit.vocabulary import expect, number, refuse, wrong_if
from ..links import LINKS, ring


@exercise("15.1", "an all-reduce in a ring", look_at="the ring's second half, step by step")
def all_reduce(all_reduce):
    for cards in (4, 3):
        # Whole numbers, so that no sum depends on its order. All are positive: what's counted twice is too large.
        arrays = [np.arange(1.0, 2 * cards + 1) * 10**card for card in range(cards)]
        sends: list[int] = []  # the bytes, in order

        def send(card, piece, sends=sends):
            sends.append(np.asarray(piece).nbytes)
            return np.array(piece)

        _right_sums(all_reduce([array.copy() for array in arrays], send), arrays, sends)
    return "4 cards: each sent 6 messages of a quarter, 96 bytes in all, and all have the sum; 3 cards as well"


def _right_sums(found, arrays, sends):
    total, cards = np.sum(arrays, axis=0), len(arrays)
    whole = isinstance(found, (list, tuple, np.ndarray)) and [np.shape(x) for x in found] == [total.shape] * cards
    wrong_if(not whole, f"all_reduce returns a list with a whole array for each of the {cards} cards", f"{found!r:.80}")
    values = np.asarray(found, np.float64)
    right = (values == total).reshape(cards, cards, -1).all(axis=2)  # for each card and piece
    card, most = int(np.argmin(right.all(axis=1))), 2 * (cards - 1) * total.nbytes
    refuse({
        "nothing was sent. A card has only its own array until something arrives: send(card, piece)": not sends,
        "each card has the sum of one piece: that's the first half. Now hand these round":
            len(sends) == cards * (cards - 1) and (right.sum(axis=1) == 1).all(),
        f"card {card} of {cards} counts something more than once. A sum that's handed round takes the piece's place":
            (values > total).any(),
        f"card {card} of {cards} lacks something. First each card sends the sum that it has, then what it has just got":
            not right.all(),
    }, values[card], total)  # fmt: skip
    words = "right sums, but a card sends more than it has to. Cut the arrays into pieces, and send one piece a step"
    wrong_if(sum(sends) > most, words, f"{sum(sends)} bytes in all", f"{most} bytes")


@exercise("15.2", "the time of a step", look_at="the formula, with latencies and bytes")
def step_time(step_time):
    # One card last: what's wrong with it alone says little about what else is wrong.
    cases = [(0.012, 100e6, 8, "PCI Express"), (0.002, 8e3, 16, "Ethernet 10"), (0.004, 100e6, 1, "NVLink")]
    for compute, nbytes, cards, name in cases:
        link, steps, exchange = LINKS[name], 2 * (cards - 1), float(ring(nbytes, cards, name))
        found = number(step_time(compute, nbytes, cards, link), "what step_time returns")
        latencies = steps * link.latency
        expect(found, compute + exchange, "that's not the time of the step", {
            "one card has nobody to exchange anything with, so only the computing is left": found if cards == 1 else 0,
            "the bytes are missing": compute + latencies,
            "the latencies are missing; each of the 2 (n - 1) steps has one": compute + exchange - latencies,
            "there are n - 1 steps to add up, and as many to hand round": compute + exchange / 2,
            "a step carries one piece, 1/n of the gradients, not all of them":
                compute + latencies + steps * nbytes / link.bandwidth,
        }, before=f"{many(cards, 'card')}, {name}: ", rtol=1e-6, atol=0,
            show=lambda x: f"{1e3 * float(x):.4f} ms")  # fmt: skip
    return "8 kB on 16 cards with 10-gigabit Ethernet: 2 ms of computing, 0.91 ms of exchange, nearly all of it latency"
