"""Lesson 15's checks: each likely wrong answer gets its own helpful message."""

import numpy as np
from answers import not_right, right

from fluxlite_course.kit.exercises import judge


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


def only_the_first_half(arrays, send):
    pieces = [np.split(array, len(arrays)) for array in arrays]
    add_up(pieces, send)
    return [np.concatenate(row) for row in pieces]


def whole_arrays(arrays, send):
    """Each card passes on what it got, all of it, n - 1 times."""
    n = len(arrays)
    sums, travelling = [array.copy() for array in arrays], list(arrays)
    for _ in range(n - 1):
        arrived = [send(card, travelling[card]) for card in range(n)]
        travelling = [arrived[(card - 1) % n] for card in range(n)]
        sums = [total + one for total, one in zip(sums, travelling)]
    return sums


def one_after_the_other(arrays, send):
    """Each piece goes right round before the next one begins: as many bytes and messages, and no two at a time."""
    n = len(arrays)
    pieces = [np.split(array, n) for array in arrays]
    for piece in range(n):
        for step in range(2 * (n - 1)):
            card, neighbour = (piece + step) % n, (piece + step + 1) % n
            arrived = send(card, pieces[card][piece])
            pieces[neighbour][piece] = arrived if step >= n - 1 else pieces[neighbour][piece] + arrived
    return [np.concatenate(row) for row in pieces]


def number_by_number(arrays, send):
    def in_many(card, piece):
        return np.concatenate([send(card, one) for one in np.split(piece, len(piece))])

    return around()(arrays, in_many)


def looks_into_the_memory(arrays, send):
    around()(arrays, send)
    return [sum(arrays) for _ in arrays]


def sends_too_little(arrays, send):
    send(0, np.split(arrays[0], len(arrays))[0])
    return [sum(arrays) for _ in arrays]


def step_time(latencies=lambda n: 2 * (n - 1), share=lambda n: 2 * (n - 1) / n, compute=lambda c, n: c):
    """A step_time with some details that can be wrong."""
    return lambda c, nbytes, n, link: compute(c, n) + latencies(n) * link.latency + share(n) * nbytes / link.bandwidth


test_a_wrong_answer_is_not_right_and_told_why = not_right(
    ("15.1", [only_the_first_half], "that's the first half. Now hand these round"),
    ("15.1", [around(keep=np.add)], "counted more than once. When sums are handed round"),
    ("15.1", [around(which=lambda card, step: card - step)], "something is missing"),
    ("15.1", [around(which=lambda card, step: card + 1 + step)], "the wrong pieces are handed round"),
    ("15.1", [around(steps=lambda n: n - 2)], "piece"),
    ("15.1", [around(end=lambda found: [one / len(found) for one in found])], "that's the mean"),
    ("15.1", [around(end=lambda found: found[0])], "returns a list with an array for each of the 4 cards"),
    ("15.1", [around(end=lambda found: [one[:2] for one in found])], "each card gets a whole array again"),
    ("15.1", [around(steps=lambda n: n)], "a card sends more than it has to"),
    ("15.1", [whole_arrays], "whole arrays travel"),
    ("15.1", [number_by_number], "in more messages than it takes"),
    ("15.1", [one_after_the_other], "one card waits for another"),
    ("15.1", [lambda arrays, send: [sum(arrays) for _ in arrays]], "nothing was sent"),
    ("15.1", [sends_too_little], "they can't all have come over the links"),
    ("15.1", [looks_into_the_memory], "what arrived isn't used"),
    ("15.1", [lambda arrays, send: send(4, arrays[0])], "card is a number from 0 to 3"),
    ("15.1", [lambda arrays, send: send(0, 1.0)], "piece is an array"),
    ("15.2", [step_time(latencies=lambda n: 0)], "8 cards, PCI Express: that's 0 latencies"),
    ("15.2", [step_time(share=lambda n: 0)], "the bytes are missing"),
    ("15.2", [step_time(latencies=lambda n: n if n > 1 else 0)], "that's 8 latencies; each of the 2 (n - 1) steps"),
    ("15.2", [step_time(latencies=lambda n: n - 1)], "that's 7 latencies"),
    ("15.2", [step_time(latencies=lambda n: min(1, n - 1))], "that's 1 latency"),
    ("15.2", [step_time(latencies=lambda n: n - 1, share=lambda n: (n - 1) / n)], "and as many to hand round"),
    ("15.2", [step_time(share=lambda n: 0 if n == 1 else 2)], "a little less than twice all"),
    ("15.2", [step_time(share=lambda n: 0 if n == 1 else 1)], "all gradients travel once here"),
    ("15.2", [step_time(share=lambda n: 2 * (n - 1))], "a step carries one piece"),
    ("15.2", [step_time(latencies=lambda n: 2 * n)], "8 cards, PCI Express: that's 16 latencies"),
    ("15.2", [step_time(latencies=lambda n: 1, share=lambda n: 1)], "that's one message with all gradients"),
    ("15.2", [step_time(share=lambda n: 1 / n)], "that's the piece of one step"),
    ("15.2", [step_time(latencies=lambda n: max(1, 2 * n - 2))], "1 card, NVLink: one card has nobody to exchange"),
    ("15.2", [step_time(compute=lambda c, n: c / n)], "it isn't divided again"),
    ("15.2", [step_time(compute=lambda c, n: 0)], "the computing is missing"),
    ("15.2", [lambda c, b, n, link: max(c, step_time()(0, b, n, link))], "nothing overlaps yet"),
    ("15.2", [lambda c, b, n, link: c + (n - 1) * b * link.bandwidth], "multiplied, they aren't"),
    ("15.2", [lambda c, b, n, link: c * (1 if n == 1 else 1.234)], "that's another time"),
    ("15.2", [lambda c, b, n, link: None], "returns a number of seconds"),
    ("15.3", [8_192, 6], "too few rows"),
    ("15.3", [16_384, 1], "with one bucket nothing can travel"),
    ("15.3", [16_384, 4], "nothing hides the last bucket"),
    ("15.3", [16_384, 100], "too many buckets: each has 14 latencies"),
    ("15.3", [32_768, 8], "half as many rows would do"),
    ("15.3", [16_000, 16], "a power of 2"),
    ("15.3", ["many", 16], "rows is a whole number"),
    ("15.3", [16_384, 0], "buckets is a whole number, 1 or more"),
    ("15.3", [16_384, 10**9], "a few numbers each"),
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


def in_place(arrays, send):
    for array, total in zip(arrays, around()(arrays, send)):
        array[:] = total


def step_by_step(compute, nbytes, cards, link):
    total = compute
    for _ in range(2 * (cards - 1)):
        total += link.latency + nbytes / cards / link.bandwidth
    return total


test_right_answers_other_than_the_lessons_own = right(
    ("15.1", [around()]),
    ("15.1", [with_pieces_that_arrive_together]),
    ("15.1", [in_place]),
    ("15.2", [step_time()]),
    ("15.2", [step_by_step]),
    ("15.3", [16_384, 7]),
    ("15.3", [np.int64(16_384), np.int64(32)]),
    ("15.3", [16_384.0, 40]),
)


def test_times_that_nearly_agree_are_printed_with_their_difference():
    rows = dict(judge("15.2", step_time(latencies=lambda n: min(1, n - 1))).rows)
    assert (rows["yours"], rows["expected"]) == ("15.6515 ms", "15.7256 ms")
