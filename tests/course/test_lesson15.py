"""Lesson 15's checks: each likely wrong answer gets its own helpful message."""

import numpy as np
from answers import not_right, right

from fluxlite_course.links import ring


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


def the_sum_of_all(arrays, send):
    """After the first half, which sends, it reads every card's array."""
    add_up([np.split(array, len(arrays)) for array in arrays], send)
    return [sum(arrays) for _ in arrays]


def sent_and_thrown_away(arrays, send):
    """As many messages as in a ring, and nothing of what arrives is used."""
    around()([array.copy() for array in arrays], send)
    return [sum(arrays).copy() for _ in arrays]


def sends_what_it_does_not_have(arrays, send):
    """Whole sums over the link, by cards that never got them."""
    n = len(arrays)
    pieces = np.split(sum(arrays), n)
    for _ in range(n - 2):
        [send(card, pieces[0]) for card in range(n)]
    arrived = [[send(card, piece) for piece in pieces] for card in range(n)]
    return [np.concatenate(arrived[card - 1]) for card in range(n)]


def times_what_arrives(arrays, send):
    """It uses what arrives, times 0."""
    arrived = around()([array.copy() for array in arrays], send)
    return [sum(arrays) + 0 * one for one in arrived]


def to_any_card(arrays, send):
    """What a card sends is used by the card that needs it, not by the next one."""
    n = len(arrays)
    pieces = [np.split(array.copy(), n) for array in arrays]
    for piece in range(n):
        for card in range(n):
            if card != piece:
                pieces[piece][piece] = pieces[piece][piece] + send(card, pieces[card][piece])
    for piece in range(n):
        for card in range(n):
            if card != piece:
                pieces[card][piece] = send(piece, pieces[piece][piece])
    return [np.concatenate(row) for row in pieces]


def whole_arrays_one_after_the_other(arrays, send):
    """As many bytes in all as in a ring, but most of the time only one card sends."""
    n, total = len(arrays), arrays[0]
    for card in range(n - 1):
        total = arrays[card + 1] + send(card, total)
    found = [total] * n
    for card in range(n - 1, 2 * n - 2):
        found[(card + 1) % n] = total = send(card % n, total)
    return found


def one_card_for_all(arrays, send):
    """A ring whose sums come from the first card alone."""
    return [around()(arrays, send)[0]] * len(arrays)


def sums_without_the_second_half(arrays, send):
    """As many messages as in a ring; but the finished sums are taken from where they are."""
    n = len(arrays)
    pieces = [np.split(array, n) for array in arrays]
    add_up(pieces, send)
    for step in range(n - 1):
        for card in range(n):
            send(card, pieces[card][(card + 1 - step) % n])
    return [np.concatenate([pieces[(piece - 1) % n][piece] for piece in range(n)])] * n


def in_halves(arrays, send):
    """A ring whose pieces travel in two parts."""
    return around()(arrays, lambda card, piece: np.concatenate([send(card, part) for part in np.split(piece, 2)]))


def in_float32(arrays, send):
    return around()(arrays, lambda card, piece: send(card, np.float32(piece)))


def step_time(latencies=lambda n: 2 * (n - 1), share=lambda n: 2 * (n - 1) / n, computing=lambda c, n: c):
    """A step_time with some details that can be wrong."""
    return lambda c, nbytes, n, link: computing(c, n) + latencies(n) * link.latency + share(n) * nbytes / link.bandwidth


test_a_wrong_answer_is_not_right_and_the_reply_says_why = not_right(
    ("15.1", [around(steps=lambda n: 0)], "that's the first half. Now hand these round"),
    ("15.1", [around(keep=np.add)], "counts something more than once. A sum that's handed round"),
    ("15.1", [lambda arrays, send: [x / len(arrays) for x in around()(arrays, send)]], "that's the mean"),
    ("15.1", [around(which=lambda card, step: card - step)], "lacks something. First each card sends the sum"),
    ("15.1", [around(which=lambda card, step: card + 1 + step)], "lacks something"),
    ("15.1", [around(end=lambda found: found[0])], "a list with a whole array for each of the 4 cards"),
    ("15.1", [around(end=lambda found: [one[:2] for one in found])], "a whole array for each"),
    ("15.1", [around(steps=lambda n: n)], "a card sends more than it has to"),
    ("15.1", [lambda arrays, send: [sum(arrays) for _ in arrays]], "nothing was sent"),
    ("15.1", [the_sum_of_all], "card 0 of 4 computes with numbers of card 1"),
    ("15.1", [sent_and_thrown_away], "not all came over the link"),
    ("15.1", [sends_what_it_does_not_have], "not all came over the link"),
    ("15.1", [times_what_arrives], "not all came over the link"),
    ("15.1", [to_any_card], "computes with what card 1 sent, and that arrives at the next card only"),
    ("15.1", [whole_arrays_one_after_the_other], "each card sends one piece in each of 6 steps"),
    ("15.1", [one_card_for_all], "card 1 of 4 computes with numbers of card 0"),
    ("15.1", [sums_without_the_second_half], "not all came over the link"),
    ("15.1", [in_halves], "card 0: 12 messages, 96 bytes"),
    ("15.1", [in_float32], "card 0: 6 messages, 48 bytes"),
    ("15.1", [lambda arrays, send: around()(arrays, lambda card, piece: send(piece, card))], "takes the number of the"),
    ("15.1", [lambda arrays, send: [0 * a for a in arrays]], "nothing was sent"),
    ("15.1", [around(end=lambda found: [one + 1j for one in found])], "type complex128"),
    ("15.1", [around(end=lambda found: [one.astype(str) for one in found])], "the sums should be numbers"),
    ("15.1", [1.5], "give the check its name alone"),
    ("15.1", [lambda arrays, send: None], "a list with a whole array for each of the 4 cards"),
    ("15.2", [step_time(latencies=lambda n: 0)], "6 cards, PCI Express: the latencies are missing"),
    ("15.2", [step_time(latencies=lambda n: 1)], "so it counts more than once"),
    ("15.2", [step_time(latencies=lambda n: 2 * np.log2(n))], "those of a tree"),
    ("15.2", [step_time(latencies=lambda n: n - 1)], "handing round has as many as adding up"),
    ("15.2", [step_time(computing=lambda c, n: c / n)], "they aren't divided among the cards"),
    ("15.2", [step_time(computing=lambda c, n: c * n)], "what they compute isn't added up"),
    ("15.2", [step_time(computing=lambda c, n: 0)], "the computing is missing"),
    ("15.2", [step_time(share=lambda n: 16 * (n - 1) / n)], "so nothing is times 8"),
    ("15.2", [step_time(share=lambda n: (n - 1) / n / 4)], "so nothing is divided by 8"),
    ("15.2", [step_time(share=lambda n: 1)], "not all of them once"),
    ("15.2", [step_time(latencies=lambda n: 2 * n, share=lambda n: 2)], "not 2 n"),
    ("15.2", [lambda *args: 1000 * step_by_step(*args)], "that's in milliseconds"),
    ("15.2", [lambda c, *args: max(c, step_by_step(0, *args))], "add the two times"),
    ("15.2", [1.5], "give the check its name alone"),
    ("15.2", [lambda *args: "0.012"], "is text"),
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


def piece_by_piece(arrays, send):
    """In place, and each piece goes all the way before the next one starts."""
    n = len(arrays)
    for piece in range(n):
        part = np.s_[piece * len(arrays[0]) // n : (piece + 1) * len(arrays[0]) // n]
        for card in range(piece, piece + n - 1):
            arrays[(card + 1) % n][part] += send(card % n, arrays[card % n][part])
        for card in range(piece + n - 1, piece + 2 * n - 2):
            arrays[(card + 1) % n][part] = send(card=card % n, piece=arrays[card % n][part].tolist())
    yield from arrays


class Ring:
    def __call__(self, arrays, send):
        return np.stack(around()(np.array(arrays), send))


def with_numbers_of_numpys(compute, nbytes, cards, link):
    steps = np.int64(2 * (cards - 1))
    return np.array([compute + steps * (link.latency + np.float64(nbytes) / cards / link.bandwidth)])[0]


test_right_answers_other_than_the_lessons_own = right(
    ("15.1", [around()], "4 cards: each sent 6 messages of a quarter, 96 bytes in all, and all have the sum; 3 cards"),
    ("15.1", [piece_by_piece]),
    ("15.1", [Ring()]),
    ("15.1", [around(end=lambda found: [one.astype(int) for one in found])]),
    ("15.2", [with_numbers_of_numpys]),
    ("15.1", [with_pieces_that_arrive_together]),
    ("15.2", [step_time()]),
    ("15.2", [step_by_step]),
    ("15.2", [lambda compute, nbytes, cards, link: compute + ring(nbytes, cards, link)]),
)
