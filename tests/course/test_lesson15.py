"""Lesson 15's checks: each likely wrong answer gets its own helpful message."""

import numpy as np
from answers import not_right, right


def add_up(pieces, send):
    n = len(pieces)
    for step in range(n - 1):
        for card in range(n):
            piece, neighbour = (card - step) % n, (card + 1) % n
            pieces[neighbour][piece] = pieces[neighbour][piece] + send(card, pieces[card][piece])


def around(which=lambda card, step: card + 1 - step, keep=lambda old, new: new, steps=lambda n: n - 1, end=None):
    """An all_reduce whose second half can be wrong in some details."""

    def all_reduce(arrays, send):
        n = len(arrays)
        pieces = [np.split(array, n) for array in arrays]
        add_up(pieces, send)
        for step in range(steps(n)):
            for card in range(n):
                piece, neighbour = which(card, step) % n, (card + 1) % n
                pieces[neighbour][piece] = keep(pieces[neighbour][piece], send(card, pieces[card][piece]))
        found = [np.concatenate(row) for row in pieces]
        return end(found) if end else found

    return all_reduce


def step_time(latencies=lambda n: 2 * (n - 1), share=lambda n: 2 * (n - 1) / n):
    """A step_time with some details that can be wrong."""
    return lambda c, nbytes, n, link: c + latencies(n) * link.latency + share(n) * nbytes / link.bandwidth


test_a_wrong_answer_is_not_right_and_the_reply_says_why = not_right(
    ("15.1", [around(steps=lambda n: 0)], "that's the first half. Now hand these round"),
    ("15.1", [around(keep=np.add)], "counts something more than once. A sum that's handed round"),
    ("15.1", [around(which=lambda card, step: card - step)], "lacks something. First each card sends the sum"),
    ("15.1", [around(which=lambda card, step: card + 1 + step)], "lacks something"),
    ("15.1", [around(end=lambda found: found[0])], "a list with a whole array for each of the 4 cards"),
    ("15.1", [around(end=lambda found: [one[:2] for one in found])], "a whole array for each"),
    ("15.1", [around(steps=lambda n: n)], "a card sends more than it has to"),
    ("15.1", [lambda arrays, send: [sum(arrays) for _ in arrays]], "nothing was sent"),
    ("15.2", [step_time(latencies=lambda n: 0)], "8 cards, PCI Express: the latencies are missing"),
    ("15.2", [step_time(share=lambda n: 0)], "the bytes are missing"),
    ("15.2", [step_time(latencies=lambda n: n - 1, share=lambda n: (n - 1) / n)], "and as many to hand round"),
    ("15.2", [step_time(share=lambda n: 2 * (n - 1))], "a step carries one piece"),
    ("15.2", [step_time(latencies=lambda n: max(1, 2 * n - 2))], "1 card, NVLink: one card has nobody to exchange"),
    ("15.2", [lambda c, b, n, link: 1.234 * c], "that's not the time of the step"),
    ("15.2", [lambda c, b, n, link: None], "what step_time returns isn't a number"),
)


def with_pieces_that_arrive_together(arrays, send):
    n = len(arrays)
    pieces = [list(np.split(array, n)) for array in arrays]
    for step in range(2 * (n - 1)):
        travelling = [(card - step) % n for card in range(n)]
        arrived = [send(card, pieces[card][travelling[card]]) for card in range(n)]
        for card in range(n):
            place = travelling[card - 1]
            pieces[card][place] = arrived[card - 1] + (pieces[card][place] if step < n - 1 else 0)
    return tuple(np.concatenate(row) for row in pieces)


def step_by_step(compute, nbytes, cards, link):
    total = compute
    for _ in range(2 * (cards - 1)):
        total += link.latency + nbytes / cards / link.bandwidth
    return total


test_right_answers_other_than_the_lessons_own = right(
    ("15.1", [around()]),
    ("15.1", [with_pieces_that_arrive_together]),
    ("15.2", [step_time()]),
    ("15.2", [step_by_step]),
)
