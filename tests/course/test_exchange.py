"""Lesson 15's model of the exchange, against an exchange that's carried out; and its pictures, with computed words."""

import re

import numpy as np
import pytest

import fluxlite as fl
from fluxlite_course.lesson15 import busiest, compared
from fluxlite_course.lesson15.exchange import OneCard, large_network, several_cards
from fluxlite_course.lesson15.pictures import BUCKETS, gain, hiding, inside, ring_steps, worth_it
from fluxlite_course.links import LINKS, Link, link_of, ring
from fluxlite_course.scenes import Each

SLOW = Link("a string", bandwidth=1000.0, latency=0.5, most=64, source="made up")


def carried_out(cards, length):
    """A ring whose cards really send: the bytes and the messages of each, and what each has in the end."""
    pieces = [np.split(np.arange(1.0, length + 1) * 10**card, cards) for card in range(cards)]
    nbytes, messages = [0] * cards, [0] * cards
    for step in range(1, 2 * (cards - 1) + 1):
        arrived = {card: pieces[card][(card - step + 1) % cards].copy() for card in range(cards)}
        for card, piece in arrived.items():
            nbytes[card] += piece.nbytes
            messages[card] += 1
            place, neighbour = (card - step + 1) % cards, (card + 1) % cards
            pieces[neighbour][place] = piece + pieces[neighbour][place] if step < cards else piece
    return nbytes, messages, [np.concatenate(row) for row in pieces]


@pytest.mark.parametrize("cards", [2, 3, 7])
def test_the_ring_costs_what_a_ring_that_is_carried_out_sends(cards):
    length = 5 * cards
    nbytes, messages, sums = carried_out(cards, length)
    total = sum(np.arange(1.0, length + 1) * 10**card for card in range(cards))
    assert all(np.array_equal(one, total) for one in sums)
    assert nbytes == [pytest.approx(2 * (cards - 1) / cards * 8 * length)] * cards
    assert float(ring(8 * length, cards, SLOW)) == pytest.approx(messages[0] * 0.5 + nbytes[0] / 1000)


def test_one_card_has_nothing_to_exchange():
    assert float(ring(1e9, 1, "Ethernet 10")) == 0
    assert float(several_cards(large_network(64), 1, "NVLink").seconds) == float(large_network(64).seconds)


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
        (lambda: ring(100, 0, "NVLink"), "NVLink links 1 to 8 cards, got 0"),
        (lambda: several_cards(large_network(64), 9, "NVLink"), "NVLink links 1 to 8 cards, got 9"),
    ],
)
def test_links_and_cards_are_checked(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def part(seconds):
    return fl.Seconds(seconds, "simulated", "a card")


@pytest.mark.parametrize("buckets", [1, 2, 5, 50])
@pytest.mark.parametrize("back", [0.001, 3.0, 1000.0])
def test_a_bucket_travels_when_it_is_made_and_the_one_before_is_through(back, buckets):
    one = OneCard(part(1.0), part(back), part(0.25), nbytes=8_000)
    found = several_cards(one, 4, SLOW, buckets)
    each = float(ring(8_000 / buckets, 4, SLOW))
    free = 0.0
    for number, (begin, end) in enumerate(found.on_the_link, 1):
        assert begin >= free and begin >= 1.0 + back * number / buckets - 1e-9
        assert begin == pytest.approx(max(free, 1.0 + back * number / buckets))
        assert end - begin == pytest.approx(each)
        free = end
    assert float(found.seconds) == pytest.approx(free + 0.25)
    assert float(found.waiting) >= each - 1e-9, "nothing hides the last bucket"
    assert float(found.waiting) <= float(several_cards(one, 4, SLOW).waiting) + buckets * 6 * 0.5


def test_the_parts_of_a_step_are_those_of_estimate():
    model = fl.Chain(*(fl.Dense(2048, 2048, fl.relu) for _ in range(6)))
    x = np.zeros((64, 2048), np.float32)

    def step(model, opt_state, x):
        fl.update(opt_state, model, fl.gradient(lambda m: fl.mse(m(x), x), model)[0])

    found = large_network(64, like="NVIDIA T4")
    whole = fl.estimate(step, model, fl.setup(fl.Adam(), model), x, like="NVIDIA T4", shapes_only=True).seconds
    assert found.nbytes == fl.destructure(model)[0].nbytes and float(found.seconds) == pytest.approx(float(whole))
    assert found.seconds.kind == found.back.kind == "simulated" and found.update.card == "NVIDIA T4"


def test_every_time_says_that_it_is_simulated_and_where():
    found = several_cards(large_network(1024), 8, "InfiniBand", 4)
    for seconds in (found.seconds, found.waiting, ring(1e6, 8, "InfiniBand")):
        assert seconds.kind == "simulated" and seconds.card == "8 cards, InfiniBand"
    with pytest.raises(TypeError, match="two kinds of time"):
        found.seconds + ring(1e6, 8, "Ethernet 10")


# -- the pictures -------------------------------------------------------------------------------------------------


def test_the_rings_picture_shows_an_all_reduce():
    """Whose numbers are in each piece, against a ring that's carried out with sets."""
    pieces = [[{card} for _ in range(4)] for card in range(4)]
    for step in range(1, 7):
        arrived = [(card, (card - step + 1) % 4, pieces[card][(card - step + 1) % 4]) for card in range(4)]
        for card, piece, whose in arrived:
            place = (card + 1) % 4
            pieces[place][piece] = whose | pieces[place][piece] if step < 4 else whose
        words = [["the sum" if len(x) == 4 else " + ".join(map(str, sorted(x))) for x in row] for row in pieces]
        assert words == [[inside(card, piece, step) for piece in range(4)] for card in range(4)]
    texts = [part.text for part in ring_steps().picture.parts() if type(part.text) is Each]
    assert len(texts) == 20 and all(text[0] != "the sum" == text[-1] for text in texts)  # 16 boxes, 4 that travel


def test_the_rings_words_say_who_sends_what():
    scene = ring_steps()
    assert "each with its own gradient, cut into 4 pieces" in scene.at()
    assert "Step 2 of 6, adding up. Card 0 sends D, card 1 sends A, card 2 sends B" in scene.at(step="2 of 6")
    assert "Step 4 of 6, handing round" in scene.at(step="4 of 6")


def test_the_overlaps_words_are_the_models():
    """And what guess 15-D says: four buckets hide two thirds, and with 256 a step takes longer than with one."""
    one = large_network(4096)
    scene = hiding(one, 2, "Ethernet 100")
    for buckets in BUCKETS:
        said = scene.at(buckets=str(buckets))
        assert f"The step takes {several_cards(one, 2, 'Ethernet 100', buckets).seconds}," in said
        assert ("1 bucket." if buckets == 1 else f"{buckets} buckets.") in said
    waits = {n: float(several_cards(one, 2, "Ethernet 100", n).waiting) for n in (1, 4, 256)}
    assert 0.28 < waits[4] / waits[1] < 0.38 and waits[256] > waits[1]


def test_the_pictures_sentences_say_what_is_seen():
    whole = np.linspace(-1, 1, 50)
    assert "lies on the diagonal" in compared(whole, [whole + 1, whole - 1]).sentence
    assert "lies beside the diagonal" in compared(whole, [whole + 1, whole]).sentence
    gained = gain("InfiniBand", 32_768, "float16")
    assert f"(simulated): NVLink 1.0 days, PCI Express 1.9 days, InfiniBand {7 / gained:.1f} days" in worth_it().at()


def test_what_the_lesson_says_of_a_week():
    """Guess 15-A, its replies, and the end: eight H100s, 32,768 rows."""
    days = {link: 7 / gain(link, 32_768, "float16") for link in LINKS}
    assert days["NVLink"] < 1.1 and 1.9 < days["InfiniBand"] < 2.2 and 5.7 < days["Ethernet 100"] < 6.2
    assert days["Ethernet 10"] > 30
    scene = busiest(card="H100", batch=32_768, width=2048, precision="bf16", cards=8, link="Ethernet 100",
                    feeding="stays on the GPU")  # fmt: skip
    assert "8 cards are 1.19 times as fast as 1." in scene.at()

    def worth_from(link, dtype):  # rows
        return next(2 ** (n / 4) for n in range(40, 70) if gain(link, round(2 ** (n / 4)), dtype) > 1)

    for link in ("InfiniBand", "Ethernet 100"):
        assert 4 <= worth_from(link, "float16") / worth_from(link, "float32") < 6
