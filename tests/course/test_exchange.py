"""Lesson 15's model of the exchange, against an exchange that's carried out; and its pictures, with computed words."""

import re

import numpy as np
import pytest

import fluxlite as fl
from fluxlite_course.lesson15.exchange import (
    LINKS,
    Link,
    OneCard,
    large_network,
    link_of,
    one_card,
    ring,
    sent,
    several_cards,
    tree,
)
from fluxlite_course.lesson15.pictures import BUCKETS, CARDS, WAYS, after, gained, hiding, ring_steps, scaling, sends
from fluxlite_course.scenes import Each

SLOW = Link("a string", bandwidth=1000.0, latency=0.5, most=64, source="made up")


def carried_out(cards, length):
    """A ring whose cards really send: the bytes and the messages of each, and what each has in the end."""
    pieces = [np.split(np.arange(1.0, length + 1) * 10**card, cards) for card in range(cards)]
    nbytes, messages = [0] * cards, [0] * cards
    for step in range(1, 2 * (cards - 1) + 1):
        arrived = {card: pieces[card][sends(card, step, cards)].copy() for card in range(cards)}
        for card, piece in arrived.items():
            nbytes[card] += piece.nbytes
            messages[card] += 1
            place, neighbour = sends(card, step, cards), (card + 1) % cards
            pieces[neighbour][place] = piece + pieces[neighbour][place] if step < cards else piece
    return nbytes, messages, [np.concatenate(row) for row in pieces]


@pytest.mark.parametrize("cards", [2, 3, 7])
def test_the_ring_costs_what_a_ring_that_is_carried_out_sends(cards):
    length = 5 * cards
    nbytes, messages, sums = carried_out(cards, length)
    total = sum(np.arange(1.0, length + 1) * 10**card for card in range(cards))
    assert all(np.array_equal(one, total) for one in sums)
    assert nbytes == [pytest.approx(sent(8 * length, cards))] * cards
    assert float(ring(8 * length, cards, SLOW)) == pytest.approx(messages[0] * 0.5 + nbytes[0] / 1000)


def test_one_card_has_nothing_to_exchange():
    for exchange in (ring, tree):
        assert float(exchange(1e9, 1, "Ethernet 10")) == 0
    assert several_cards(large_network(64), 1, "NVLink").on_the_link == ()
    assert float(several_cards(large_network(64), 1, "NVLink").seconds) == float(large_network(64).seconds)


def test_a_tree_has_few_steps_and_sends_more():
    assert float(tree(0, 1024, SLOW)) == 20 * 0.5 and float(ring(0, 1024, SLOW)) == 2046 * 0.5
    assert float(tree(1000, 8, SLOW)) == 6 * 0.5 + 2 > float(ring(1000, 8, SLOW)) - 14 * 0.5 + 6 * 0.5


def test_every_link_is_slower_than_its_maker_says_and_names_its_sources():
    published = (450e9, 63e9, 50e9, 12.5e9, 1.25e9)
    assert list(LINKS) == ["NVLink", "PCI Express", "InfiniBand", "Ethernet 100", "Ethernet 10"]
    for peak, link in zip(published, LINKS.values()):
        assert 0.7 * peak < link.bandwidth < peak
        assert re.search(r"\b20\d\d\b.*NCCL", link.source), "a source, with its year"
        assert ("guessed" in link.source) == ("TCP" in link.source)
    order = [link.bandwidth for link in LINKS.values()]
    assert order == sorted(order, reverse=True)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: link_of("ethernet"), "there is no link .*; there are NVLink, PCI Express"),
        (lambda: link_of(["NVLink"]), "there is no link .*; there are NVLink, PCI Express"),
        *[(lambda n=n: ring(100, n, "NVLink"), "cards is how many there are, 1 or more, got") for n in (0, 2.0, True)],
        (lambda: tree(100, -1, "NVLink"), "cards is how many there are, 1 or more, got"),
        (lambda: several_cards(large_network(64), "2", "NVLink"), "cards is how many there are"),
        (lambda: several_cards(large_network(64), 9, "NVLink"), "NVLink links up to 8 cards, got 9"),
        (lambda: several_cards(large_network(64), 2, "NVLink", 1.5), "buckets is how many parts the gradients travel"),
        (lambda: ring_steps(5), "room for 2 to 4 cards"),
    ],
)
def test_links_cards_and_buckets_are_checked(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def part(seconds):
    return fl.Seconds(seconds, "simulated", "a card")


@pytest.mark.parametrize("buckets", [1, 2, 5, 50])
@pytest.mark.parametrize("back", [0.001, 3.0, 1000.0])
def test_a_bucket_travels_when_it_is_made_and_the_one_before_is_through(back, buckets):
    one = OneCard(64, part(1.0), part(back), part(0.25), nbytes=8_000)
    found = several_cards(one, 4, SLOW, buckets)
    each = float(ring(8_000 / buckets, 4, SLOW))
    free = 0.0
    for number, (begin, end) in enumerate(found.on_the_link, 1):
        assert begin >= free and begin >= 1.0 + back * number / buckets - 1e-9
        assert begin == pytest.approx(max(free, 1.0 + back * number / buckets))
        assert end - begin == pytest.approx(each)
        free = end
    assert float(found.seconds) == pytest.approx(free + 0.25)
    assert float(found.visible) >= each - 1e-9, "nothing hides the last bucket"
    assert float(found.visible) <= float(several_cards(one, 4, SLOW).visible) + buckets * 6 * 0.5


def test_the_parts_of_a_step_are_those_of_estimate():
    model = fl.Chain(fl.Dense(64, 32, fl.relu), fl.Dense(32, 10))
    opt_state = fl.setup(fl.Adam(), model)
    x, y = np.ones((16, 64), np.float32), np.ones((16, 10), np.float32)

    def loss(model, x, y):
        return fl.mse(model(x), y)

    def step(model, opt_state, x, y):
        fl.update(opt_state, model, fl.gradient(lambda m: loss(m, x, y), model)[0])

    found = one_card(loss, model, opt_state, x, y, like="NVIDIA T4")
    assert found.nbytes == 4 * (64 * 32 + 32 + 32 * 10 + 10) and found.rows == 16
    assert float(found.seconds) == pytest.approx(float(fl.estimate(step, model, opt_state, x, y).seconds))
    assert float(found.forward) == pytest.approx(float(fl.estimate(loss, model, x, y).seconds))
    assert found.seconds.kind == found.back.kind == "simulated" and found.update.card == "NVIDIA T4"


def test_every_time_says_that_it_is_simulated_and_where():
    found = several_cards(large_network(1024), 8, "InfiniBand", 4)
    for seconds in (found.seconds, found.visible, found.compute, ring(1e6, 8, "InfiniBand")):
        assert seconds.kind == "simulated" and seconds.card == "8 cards, InfiniBand"
    with pytest.raises(TypeError, match="two kinds of time"):
        found.seconds + ring(1e6, 8, "Ethernet 10")
    assert "simulated (8 cards, InfiniBand)" in repr(found)


# -- the pictures -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cards", [2, 3, 4])
def test_the_rings_picture_shows_an_all_reduce(cards):
    pieces = [[frozenset([card]) for _ in range(cards)] for card in range(cards)]
    for step in range(1, 2 * (cards - 1) + 1):
        pieces = after(pieces, step)
        whole = [sum(len(piece) == cards for piece in row) for row in pieces]
        assert whole == [max(0, step - cards + 2)] * cards  # every card has as many sums as the others
    scene = ring_steps(cards)
    assert "handing round" in scene.sentences[-1] and "the sum of all pieces" in scene.sentences[-1]
    texts = [part.text for part in scene.picture.parts() if type(part.text) is Each]
    assert len(texts) == cards * cards + cards  # a box for each card and piece, and the pieces that travel
    assert all(text[0] != "the sum" == text[-1] for text in texts)


def test_the_rings_words_say_who_sends_what():
    scene = ring_steps(4)
    assert "each with its own gradient, cut into 4 pieces" in scene.at()
    assert "Step 2 of 6, adding up. Card 0 sends D, card 1 sends A, card 2 sends B" in scene.at(step="2: on the way")
    assert "a piece with the numbers of 3 cards" in scene.at(step="2 of 6")
    assert "Step 4 of 6, handing round" in scene.at(step="4 of 6") and "the sum of 2 pieces" in scene.at(step="4 of 6")


def test_the_overlaps_words_are_the_models():
    one = large_network(4096)
    scene = hiding(one, 2, "Ethernet 100")
    for buckets in BUCKETS:
        said = scene.at(buckets=str(buckets))
        assert f"The step takes {several_cards(one, 2, 'Ethernet 100', buckets).seconds}," in said
        assert ("1 bucket." if buckets == 1 else f"{buckets} buckets.") in said
    assert "no card waits" in hiding(one, 1, "Ethernet 100", [4]).at()


def test_scaling_keeps_its_promises():
    ones = {2**n: large_network(2**n) for n in range(6, 17)}
    for way in WAYS:
        strong, weak = gained(ones, {n: 65536 // n for n in CARDS}, way), gained(ones, dict.fromkeys(CARDS, 4096), way)
        assert strong[1] == weak[1] == 1 and len(strong) == len(weak) == 11
        assert all(strong[n] < n and weak[n] < 1 for n in strong if n > 1)
        assert all(b <= a + 1e-9 for a, b in zip(weak.values(), list(weak.values())[1:])) or way.exchange is tree
        if way.exchange is ring:
            assert strong[1024] < max(strong.values()) / 3, "a ring turns round"
    sentence = scaling(ones, 65536, 4096).sentence
    best = max(gained(ones, {n: 65536 // n for n in CARDS}, WAYS[1]).values())
    assert f"InfiniBand, ring: at most {best:.3g} times as fast" in sentence and "simulated (H100)" in sentence
    with pytest.raises(ValueError, match="shared is one of the numbers of rows that were estimated"):
        scaling(ones, 1000, 4096)


def test_with_16_bits_a_second_card_pays_later():
    """What lesson 15 says of the tensor cores: from how many rows on two cards are quicker than one."""
    rows = [2**n for n in range(7, 17)]

    def pays_from(link, dtype):
        half = {n: several_cards(large_network(n // 2, dtype=dtype), 2, link).seconds for n in rows}
        return next((n for n in rows if half[n] < large_network(n, dtype=dtype).seconds), None)

    assert [pays_from(link, "float32") for link in LINKS] == [512, 2048, 2048, 8192, 65_536]
    assert [pays_from(link, "float16") for link in LINKS] == [4096, 8192, 8192, 32_768, None]
    one, half = (large_network(65_536, dtype=dtype) for dtype in ("float32", "float16"))
    assert one.nbytes == 2 * half.nbytes and 8 < one.seconds / half.seconds < 12
