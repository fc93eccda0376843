"""Lesson 15, several machines: checks."""

import numpy as np

from fluxlite.messages import many
from fluxlite.receipts import duration

from ..kit.exercises import NotRight, exercise, shown
from ..kit.vocabulary import is_number, refuse, wrong_if
from .exchange import LINKS, large_network, ring, sent, several_cards


class _Ring:
    """The links of a ring, which count. `spoiled` is added to all that travels: then no card can have guessed it."""

    def __init__(self, cards: int, spoiled: float = 0.0) -> None:
        self.cards, self.spoiled = cards, spoiled
        self.bytes, self.messages, self.largest = [0] * cards, [0] * cards, 0
        self.senders: list[int] = []  # in order

    def send(self, card, piece):
        whole = isinstance(card, (int, np.integer)) and not isinstance(card, bool)
        words = f"send(card, piece): card is a number from 0 to {self.cards - 1}"
        wrong_if(not whole or not 0 <= card < self.cards, words, f"{card!r:.60}")
        wrong_if(not isinstance(piece, np.ndarray), "send(card, piece): piece is an array", shown(piece))
        self.bytes[card] += piece.nbytes
        self.messages[card] += 1
        self.senders.append(int(card))
        self.largest = max(self.largest, piece.size)
        return piece + self.spoiled


def _arrays(cards: int) -> list[np.ndarray]:
    """Whole numbers, so that no sum depends on its order. All are positive: what's counted twice is too large."""
    return [np.arange(1.0, 2 * cards + 1) * 10**card for card in range(cards)]


@exercise("15.1", "an all-reduce in a ring", look_at="the picture of section 4, its second half, step by step")
def all_reduce(all_reduce):
    for cards in (4, 3):
        ring, arrays = _Ring(cards), _arrays(cards)
        given = [array.copy() for array in arrays]
        found = all_reduce(given, ring.send)
        if found is None and not all(map(np.array_equal, given, arrays)):
            found = given  # changed in place
        _right_sums(found, arrays, ring)
        _right_traffic(arrays[0], ring)
    spoiled = _Ring(4, spoiled=0.5)
    found = all_reduce([array.copy() for array in _arrays(4)], spoiled.send)
    guessed = found is not None and np.array_equal(np.asarray(found)[1], sum(_arrays(4)))
    wrong_if(guessed, "what arrived isn't used: take what send returns. A card can't look into another's memory")
    return "4 cards: each sent 6 messages of a quarter, 96 bytes in all, and all have the sum; 3 cards as well"


def _right_sums(found, arrays, ring):
    total, cards = np.sum(arrays, axis=0), ring.cards
    one_each = isinstance(found, (list, tuple, np.ndarray)) and len(found) == cards
    wrong_if(not one_each, f"all_reduce returns a list with an array for each of the {cards} cards", f"{found!r:.80}")
    shapes = [np.shape(array) for array in found]
    words = "each card gets a whole array again: np.concatenate joins the pieces"
    wrong_if(shapes != [total.shape] * cards, words, shapes, total.shape)
    values = np.asarray(found, np.float64)
    right = (values == total).reshape(cards, cards, -1).all(axis=2)  # for each card and piece
    one_piece = (values <= total).all() and (right.sum(axis=1) == 1).all()
    words = "nothing was sent. A card has only its own array until something arrives: send(card, piece)"
    refuse({words: not any(ring.messages)} if right.all() else {
        words: not any(ring.messages),
        "that's the mean. An all-reduce gives the sum": np.allclose(values * cards, total),
        "the wrong pieces are handed round: first each card sends its sum, then what it has just got":
            one_piece and max(ring.messages) >= cards,
        "each card has the sum of one piece: that's the first half. Now hand these round": one_piece,
    }, values[0], total)  # fmt: skip
    for card, piece in np.argwhere(~right)[:1]:
        yours, wanted = (x.reshape(cards, -1)[piece] for x in (values[card], total))
        at = f"{cards} cards: card {card}, piece {'ABCD'[piece]}"
        refuse({
            f"{at}: something is counted more than once. When sums are handed round, they take a piece's place":
                (yours > wanted).any(),
            f"{at}: something is missing. The card before sends it: first the sum that it has, then what it has "
            "just got": True,
        }, yours, wanted)  # fmt: skip


def _right_traffic(array: np.ndarray, ring: _Ring) -> None:
    cards, most, steps = ring.cards, int(sent(array.nbytes, ring.cards)), 2 * (ring.cards - 1)
    turns = [sorted(ring.senders[step * cards : (step + 1) * cards]) for step in range(steps)]
    refuse({
        "right sums, but whole arrays travel. Cut them into pieces, and send one piece a step":
            ring.largest == array.size,
        "right sums, but a card sends more than it has to": max(ring.bytes) > most,
        "right sums, but they can't all have come over the links: too little was sent": min(ring.bytes) < most,
        "right sums, but in more messages than it takes, each with its latency": max(ring.messages) > steps,
        "right sums, but one card waits for another. In each step all cards send, at the same time":
            any(turn != list(range(cards)) for turn in turns),
    }, f"bytes sent by each card: {ring.bytes}, messages: {ring.messages}, by the cards {ring.senders}",
       f"{most} bytes each, in {steps} steps")  # fmt: skip


@exercise("15.2", "the time of a step", look_at="section 5: the formula, with latencies and bytes")
def step_time(step_time):
    # One card last: what's wrong with it alone says little about what else is wrong.
    cases = [(0.012, 100e6, 8, "PCI Express"), (0.004, 100e6, 2, "NVLink"), (0.002, 8e3, 16, "Ethernet 10"),
             (0.012, 100e6, 64, "InfiniBand"), (0.004, 100e6, 1, "NVLink")]  # fmt: skip
    for compute, nbytes, cards, name in cases:
        link = LINKS[name]
        found = step_time(compute, nbytes, cards, link)
        wrong_if(not is_number(found), "step_time returns a number of seconds", shown(found))
        right = compute + float(ring(nbytes, cards, link))
        if abs(found - right) > 1e-6 * right:
            why = _slip(float(found), compute, nbytes, cards, link)
            yours, expected = duration(float(found)), duration(right)
            if yours == expected:  # they differ by less than three digits show
                yours, expected = f"{1e3 * float(found):.4f} ms", f"{1e3 * right:.4f} ms"
            raise NotRight(f"{many(cards, 'card')}, {name}: {why}", yours, expected)
    return "1 card: nothing to exchange; 64 cards with InfiniBand: 12 ms of computing, 5.87 ms of exchange"


def _slip(found, compute, nbytes, n, link):
    """What's probably wrong with this time."""
    right, steps, share = float(ring(nbytes, n, link)), 2 * (n - 1), 2 * (n - 1) / n
    count = round((found - compute - share * nbytes / link.bandwidth) / link.latency)
    # How many latencies, and how much of the gradients, one may think it takes, and what's wrong with that.
    slips = {
        "the bytes are missing": (steps, 0),
        "there are n - 1 steps to add up, and as many to hand round": (n - 1, (n - 1) / n),
        "all gradients travel once here; a card sends 2 (n - 1) / n of them": (steps, 1),
        "a card sends 2 (n - 1) / n of the gradients, a little less than twice all": (steps, 2),
        "a step carries one piece, 1/n of the gradients, not all of them": (steps, steps),
        "that's one message with all gradients; a ring has 2 (n - 1) steps, each with 1/n of them": (1, 1),
        "that's the piece of one step; there are 2 (n - 1) steps": (steps, 1 / n),
        f"that's {many(count, 'latency')}; each of the 2 (n - 1) steps has its own": (min(abs(count), 2 * n), share),
    }
    times = {
        "one card has nobody to exchange anything with, so only the computing is left": found if n == 1 else 0.0,
        "bytes divided by bytes per second are seconds; multiplied, they aren't": max(found, 1e3),
        "the computing is missing": right,
        "compute is what each card takes for its own rows already: it isn't divided again": compute / n + right,
        "here nothing overlaps yet: first the computing, then the exchange": max(compute, right),
        **{why: compute + latencies * link.latency + part * nbytes / link.bandwidth
           for why, (latencies, part) in slips.items()},
    }  # fmt: skip
    return next((why for why, time in times.items() if abs(found - time) <= 1e-6 * time), "that's another time")


_CARDS, _LINK, _MOST = 8, "Ethernet 100", 0.05


@exercise("15.3", "hidden behind the way back", look_at="section 7: several_cards with other rows and buckets")
def hidden_exchange(rows, buckets):
    given = f"rows = {rows!r:.60}, buckets = {buckets!r:.60}"
    for name, x in (("rows", rows), ("buckets", buckets)):
        whole = is_number(x) and float(x).is_integer() and x >= 1
        wrong_if(not whole, f"{name} is a whole number, 1 or more", given)
    rows, buckets = int(rows), int(buckets)
    refuse({
        "rows is a power of 2, from 64 to 65,536": rows & (rows - 1) or not 64 <= rows <= 65536,
        "so many buckets would be a few numbers each": buckets > 10_000,
    }, given)  # fmt: skip
    share = _waiting(rows, buckets)
    yours = f"{rows:,} rows, {many(buckets, 'bucket')}: {100 * share:.1f} % is waiting"
    best = min(range(1, 65), key=lambda n: _waiting(rows, n))
    refuse({} if share <= _MOST else {
        "too few rows: the way back is too short for the exchange, however it's cut": _waiting(rows, best) > _MOST,
        "with one bucket nothing can travel before the way back is over": buckets == 1,
        "nothing hides the last bucket, so it has to be smaller": buckets < best,
        "too many buckets: each has 14 latencies of its own": True,
    }, yours, "5 % or less")  # fmt: skip
    half = min(_waiting(rows // 2, n) for n in range(1, 65)) <= _MOST
    wrong_if(half, "hidden it is; but half as many rows would do, with another number of buckets", yours)
    return f"{yours}, behind a way back of {duration(large_network(rows).back)}, simulated"


def _waiting(rows: int, buckets: int) -> float:
    found = several_cards(large_network(rows), _CARDS, _LINK, buckets)
    return float(found.visible) / float(found.seconds)
