"""Lesson 15's model of the exchange, against an exchange that really happens; and its pictures, with computed words."""

import re

import numpy as np
import pytest

import fluxlite as fl
from fluxlite.devices.receipts import duration
from fluxlite_course.bottleneck import Work, six_layers, work
from fluxlite_course.lesson15 import busiest, compared
from fluxlite_course.lesson15.pictures import BUCKETS, FORWARD, exchanges, hiding, inside, ring_steps
from fluxlite_course.links import LINKS, Link, link_of, ring
from fluxlite_course.scenes import Each

SLOW = Link("a string", bandwidth=1000.0, latency=0.5, most=64, source="made up")


def a_step(seconds):
    return Work(seconds, 0.0, seconds, 0, gradient_bytes=8_000)


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
    assert float(ring(1e9, 1, "Ethernet 10")) == 0 and exchanges(a_step(3.0), 1, "NVLink")[-1] == (3.0, 3.0)


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
        (lambda: ring(100, 9, "NVLink"), "NVLink links 1 to 8 cards, got 9"),
    ],
)
def test_links_and_cards_are_checked(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize("buckets", [1, 2, 5, 50])
@pytest.mark.parametrize("alone", [0.001, 3.0, 1000.0])
def test_a_bucket_travels_when_it_is_made_and_the_one_before_is_through(alone, buckets):
    each, free = float(ring(8_000 / buckets, 4, SLOW)), 0.0
    for number, (begin, end) in enumerate(exchanges(a_step(alone), 4, SLOW, buckets), 1):
        assert begin == pytest.approx(max(free, alone / 3 + alone * 2 / 3 * number / buckets))
        assert end - begin == pytest.approx(each)
        free = end
    assert free - alone >= each - 1e-9, "nothing hides the last bucket"


def test_forward_is_about_a_third_of_a_step():
    loss, model, _, x, _ = six_layers(2048, 1024, "float32")
    forward = fl.estimate(lambda m, x: loss(m, x, x), model, x, like="H100", shapes_only=True).seconds
    assert float(forward) / work(six_layers, "H100", 2048, 1024).alone == pytest.approx(FORWARD, abs=0.03)


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
    """And what guess 15-D says: four buckets hide nearly three quarters, and 256 make a step longer than one does."""
    scene, waits = hiding(4096, 2, "Ethernet 100"), {}
    one = work(six_layers, "H100", 2048, 4096)
    for buckets in BUCKETS:
        end = exchanges(one, 2, "Ethernet 100", buckets)[-1][1]
        waits[buckets] = end - one.alone
        assert f"a step takes {duration(end)} (sim" in scene.at(buckets=str(buckets))
    assert 0.25 < waits[4] / waits[1] < 0.3 and waits[256] > waits[1]


def test_the_pictures_sentences_say_what_is_seen():
    whole = np.linspace(-1, 1, 50)
    assert "lies on the diagonal" in compared(whole, [whole + 1, whole - 1]).sentence
    assert "lies beside the diagonal" in compared(whole, [whole + 1, whole]).sentence


def test_what_the_lesson_says_of_a_week():
    """Guess 15-A, its replies, and the end: eight H100s, 32,768 rows."""
    scene = busiest(card="H100", batch=(2048, 8192, 32_768), width=2048, precision=("bf16", "float32"), cards=8,
                    link=tuple(LINKS), feeding="stays on the GPU")  # fmt: skip

    def times(link, batch="32,768", precision="bf16"):
        said = scene.at(batch=batch, precision=precision, link=link)
        return float(re.search(r"8 cards are (\S+) times", said)[1])

    days = {link: round(7 / times(link), 1) for link in LINKS}
    assert days == {"NVLink": 1.1, "PCI Express": 2.0, "InfiniBand": 2.1, "Ethernet 100": 5.1, "Ethernet 10": 41.2}
    assert "compute 1.87 ms" in scene.at(batch="32,768") and "12.6 ms" in scene.at(batch="32,768", precision="float32")
    for link in ("InfiniBand", "Ethernet 100"):  # a quarter of the rows is enough
        assert times(link, "8,192", "float32") > 1
    assert times("InfiniBand", "8,192") < 1 < times("InfiniBand", "2,048", "float32")
