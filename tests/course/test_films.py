"""The course's moving pictures: their words are computed, and they say what the numbers say."""

import base64
import json
import re
import zlib

import numpy as np
import pytest

import fluxlite as fl
from fluxlite.devices.receipts import duration
from fluxlite_course import crossing
from fluxlite_course.draw import projector
from fluxlite_course.lesson00.pictures import race
from fluxlite_course.lesson00.pictures import step as one_step
from fluxlite_course.lesson01.pictures import copy_times
from fluxlite_course.lesson03.pictures import RATES, balls, path
from fluxlite_course.lesson07.pictures import DIGITS, crossing_lines, two_lines, wave_lanes
from fluxlite_course.lesson12.pictures import busy
from fluxlite_course.scenes import Scene, drawing
from fluxlite_course.scenes.lanes import RIGHT


def test_in_the_race_the_gpu_wins_with_many_waves():
    scene = race()
    for number, first in (("1", "CPU"), ("1,024", "CPU"), ("65,536", "GPU")):
        said = [
            re.search(r"has done (all )?(\d+).* given (?:all )?(\d+).* carried out (?:all )?(\d+)", each)
            for setting, each in zip(scene.settings, scene.sentences) if setting["waves trained at once"] == number
        ]  # fmt: skip
        counts = np.array([[int(n) for n in each.groups()[1:]] for each in said])
        assert (np.diff(counts, axis=0) >= 0).all() and (counts[:, 2] <= counts[:, 1]).all()
        operations = counts[-1, 2]
        assert counts[0].tolist() == [0, 0, 0] and counts[-1, 1] == operations
        assert counts[-1].tolist() == [operations] * 3, "a loser isn't there at the end"
        cpu, gpu = (list(counts[:, lane] == operations).index(True) for lane in (0, 2))
        assert (cpu < gpu) == (first == "CPU")


def test_the_race_gives_nothing_away_and_zooms_out_to_the_losers_end():
    scene = race([1, 65_536])
    names = [knob.options for knob in scene.knobs]
    begin = [scene.picture.markup(names[1].index("0 s") + n * len(names[1]), hidden=False) for n in (0, 1)]
    frames = [re.sub('<svg class="glide".*?</svg>', "", each, flags=re.DOTALL) for each in begin]
    assert "23" not in frames[0] and frames[0].replace("of 25", "of 24") == frames[1], "the frame tells who wins"
    for wave, last in zip(names[0], ("431 µs", "4.16 ms")):
        at_the_end = scene.settings.index({"waves trained at once": wave, "time": names[1][-1]})
        assert f">{last}</text>" in scene.picture.markup(at_the_end) and scene.along[at_the_end] <= RIGHT
    assert "<p>After 4.16 ms: the CPU has done all" in scene.still()


def test_the_race_takes_as_long_as_the_crossover_says():
    for number in (64, 1024):
        taken = float(crossing.simulated(6, number, "NVIDIA T4", copies=False))
        assert one_step(number).gpu[-1][1] == pytest.approx(taken, abs=2e-6)


def test_a_small_copy_is_latency_and_a_large_one_transfer():
    scene = copy_times()
    assert scene.at(size="4 bytes").startswith("4 bytes: 28 µs simulated")
    assert "the order 15 µs, the latency 13 µs, the transfer 0.18 s" in scene.at(size="1 GB")
    (before,) = (part for part in scene.picture.parts() if part.attributes.get("class") == "rest glide")
    width = list(before.attributes["width"])
    assert width == sorted(width, reverse=True) and width[0] == 620 and width[-1] < 1


@pytest.mark.parametrize("size, nbytes", [("4 bytes", 4), ("4 MB", 2**22)])
def test_the_films_copy_takes_as_long_as_the_simulated_one(size, nbytes):
    def timed(x):
        fl.cuda.synchronize()
        begin = fl.clock()
        fl.gpu(x)
        fl.cuda.synchronize()
        return fl.clock() - begin

    with fl.simulate_gpu(like="NVIDIA T4"):
        fl.gpu(np.zeros(1, np.float32))  # the first copy sets up the card
        took = timed(np.zeros(nbytes // 4, np.float32))
    assert f": {duration(took)} simulated" in copy_times().at(size=size)


def bowl(w):
    return (w * 3 - 6) ** 2


@pytest.mark.parametrize("rate", RATES)
def test_the_balls_words_fit_its_way(rate):
    way, scene = path(rate), balls()
    words = scene.at(**{"learning rate": f"{rate:g}", "steps": "10"})
    w = 1.0
    for number in range(10):
        assert way[number] == pytest.approx(w)
        w -= rate * fl.gradient(bowl, w)[0]
    assert ("farther up" in words) == (bowl(way[-1]) > bowl(way[0]))
    assert ("over the bottom" in words) == (way[1] > 2)
    last = re.search(r"After 10 steps the loss is (below )?([\d.,e-]*\d);", words)
    said, true = float(last[2].replace(",", "")), bowl(way[-1])
    assert true < said if last[1] else true == pytest.approx(said, rel=0.05, abs=0.5 if true > 100 else 0)
    third = scene.at(**{"learning rate": f"{rate:g}", "steps": "3"})
    assert float(re.search(r"w is (-?[\d.]+),", third)[1]) == pytest.approx(way[3], rel=0.01)


def test_who_is_faster_is_computed_from_both_lines():
    def line(kind, seconds):
        return {n: fl.Seconds(time, kind) for n, time in zip((1, 64, 4096), seconds)}

    scene = two_lines(line("recorded", (1e-5, 2e-4, 1e-2)), line("simulated", (2e-4, 2e-4, 2e-4)), "waves")
    assert "1 wave at once. The CPU takes 10 µs (recorded), the T4 200 µs (simulated)." in scene.sentences[0]
    ends = ("CPU is faster, by a factor of about 20.", "about the same.", "T4 is faster, by a factor of about 50.")
    assert all(sentence.endswith(end) for sentence, end in zip(scene.sentences, ends))
    shown = [re.findall(r">(×[^<]*|[^<]* is faster|about the same)</text>", scene.picture.markup(n)) for n in range(3)]
    assert shown == [["× 20", "CPU is faster"], ["about the same"], ["× 50", "T4 is faster"]]


def test_what_lesson_07_says_of_its_lines():
    waves, digits, lanes = crossing_lines(), crossing_lines("digits"), wave_lanes(1, 4096, 1_048_576)
    assert "CPU is faster" in waves.at(waves="1,024") and "T4 is faster" in waves.at(waves="16,384")
    assert "T4 is faster, by a factor of about 9.9" in waves.at(waves="65,536")
    factor = float(re.search(r"T4 is faster, by a factor of about (\d+)", digits.at(digits="1,024"))[1])
    assert factor > 5 and len(digits.sentences) == len(DIGITS)
    assert "host is the busiest" in lanes.at(waves="4,096") and "Computing" in lanes.at(waves="1,048,576")


@pytest.fixture
def two_cards():
    with fl.simulate_gpu(False), fl.simulate_gpu(2, like="NVIDIA T4"):
        yield list(fl.cuda.devices())


def on_cards(*arrays):
    """The receipt of a product on the card of each array, after a first one that loads the kernel."""
    for _ in range(2):
        with fl.receipt() as receipt:
            for x in arrays:
                with fl.device_of(x):
                    x @ x
            fl.cuda.synchronize()
    return receipt


def test_each_way_to_use_two_cards_is_done_in_its_own_time(two_cards):
    first, second = two_cards
    x = np.ones((512, 512), np.float32)
    one, both = on_cards(first(x), first(x)), on_cards(first(x), second(x))
    scene = busy({"one": {1: one}, "both": {1: both}})
    assert "one isn't done; both isn't done" in scene.sentences[1]
    times = dict(re.findall(r"(\w+) is done in ([\d.]+) µs", scene.sentences[-1]))
    assert float(times["both"]) < float(times["one"])


def test_a_copy_from_card_to_card_says_so_and_so_does_who_waits(two_cards):
    first, second = two_cards
    x = first(np.ones((512, 512), np.float32))
    with fl.receipt() as receipt:
        there = second(x @ x), second(x)
        with second:
            there[0] @ there[1]
    drawn = [part.attributes.get("aria-label", "") for part in busy({"split": {1: receipt}}).picture.parts()]
    told = [words for words in drawn if words.startswith("copy of 1.05 MB from card 0 to card 1: ")]
    assert len(told) == receipt.device_to_device.count == 2
    assert any(words.startswith("card 1 waits: ") for words in drawn)


def test_a_projector_makes_scenes_as_wide_as_the_page():
    def style():
        page = Scene(drawing(100, 50, "An empty picture"), [], ["Nothing to see."])._repr_html_()
        packed = base64.b64decode(re.search('text/plain">([^<]+)<', page)[1])
        return json.loads(zlib.decompress(packed, -15))["style"]

    usual = style()
    projector()
    try:
        wide = style()
    finally:
        projector(False)
    assert wide.startswith(usual) and "max-width: none" in wide.removeprefix(usual)
    assert style() == usual
