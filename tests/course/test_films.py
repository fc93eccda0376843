"""The course's moving pictures: their words are computed, and they say what the numbers say."""

import re

import numpy as np
import pytest

import fluxlite as fl
from fluxlite.course.films.ball import RATES, ball, path
from fluxlite.course.films.copying import copy_time, copy_times
from fluxlite.course.films.crossing_lines import crossing_lines
from fluxlite.course.films.memory import memories, memory
from fluxlite.course.films.orders import orders
from fluxlite.course.films.race import race
from fluxlite.course.films.two_cards import busy
from fluxlite.course.sine_wave import problem, train, training_step


def one_step():
    x, y, w1, w2 = problem()
    return fl.estimate(training_step, x[0], y[0], np.zeros_like(w2.T), w1, w2).receipt


def products(count=8):
    return fl.estimate(lambda A: [A @ A for _ in range(count)], np.ones((512, 512), np.float32)).receipt


def test_in_the_race_the_cpu_is_through_when_the_gpu_has_begun():
    film = race(one_step(), fl.Seconds(40e-6, "measured"))
    operations = one_step().launches
    first, last = film.pictures[0].sentence, film.pictures[-1].sentence
    assert f"0 of {operations} operations" in first and "ordered 0 launches" in first
    assert f"both have done all {operations}" in last and "the CPU first" in last
    assert "the GPU first" in race(one_step(), fl.Seconds(1, "measured")).pictures[-1].sentence
    done = [int(re.search(r"GPU has done (\d+)", p.sentence)[1]) for p in film.pictures[:-1]]
    ordered = [int(re.search(r"ordered (\d+)", p.sentence)[1]) for p in film.pictures[:-1]]
    assert done == sorted(done) and all(d <= o for d, o in zip(done, ordered))


def test_a_small_copy_is_latency_and_a_large_one_transfer():
    assert "100 % of it is latency" in copy_time(4).sentence
    assert "100 % of it is the transfer" in copy_time(2**30).sentence
    sentences = [picture.sentence for picture in copy_times().pictures]
    turn = ["transfer" in sentence for sentence in sentences]
    assert turn == sorted(turn) and turn[-1]  # first latency counts, then the transfer


def bowl(w):
    return (w * 3 - 6) ** 2


@pytest.mark.parametrize("rate", RATES)
def test_the_balls_words_fit_its_way(rate):
    way, words = path(rate), ball(rate).sentence
    w = 1.0
    for step in range(10):
        assert way[step] == pytest.approx(w)
        w -= rate * fl.gradient(bowl, w)[0]
    assert ("farther up" in words) == (bowl(way[-1]) > bowl(way[0]))
    assert ("over the bottom" in words) == (way[1] > 2)
    assert ("leaves the picture" in words) == (np.abs(way - 2).max() > 3)
    last = re.search(r"After 10 steps the loss is (below )?([\d.,e-]*\d);", words)
    said, true = float(last[2].replace(",", "")), bowl(way[-1])
    assert true < said if last[1] else true == pytest.approx(said, rel=0.05, abs=0.5 if true > 100 else 0)


def test_a_ball_that_runs_away_stays_a_picture_of_the_same_size():
    small, large = (int.from_bytes(ball(rate).png[20:24], "big") for rate in (0.05, 0.2))
    assert abs(small - large) < 20  # its height in pixels, from the PNG's head


def test_a_ball_has_a_learning_rate():
    for rate in (0, -1, 1, float("nan")):
        with pytest.raises(ValueError, match="the learning rate of this picture"):
            ball(rate)


def test_the_memory_is_that_of_the_network():
    x, y, w1, w2 = problem()
    train(x, y, w1, w2)
    film = memories(w1, w2)
    assert len(film.pictures) == 20
    h = np.zeros_like(w2.T)
    for point in x[:3]:
        h = np.tanh(np.concatenate([point, h], axis=1) @ w1)
    said = [float(number) for number in re.findall(r"-?\d\.\d", film.pictures[2].sentence)[:6]]
    np.testing.assert_allclose(said, h.ravel(), atol=0.051)
    with pytest.raises(ValueError, match="step is a number from 1 to 20, got 21"):
        memory(w1, w2, 21)


def test_every_order_is_in_one_place_at_each_moment():
    film = orders(products())
    for picture in film.pictures:
        waiting, done = (
            int(n) for n in re.search(r"(\d+) wait in the queue.* (\d+) are done", picture.sentence).groups()
        )
        assert waiting + done + ("works on" in picture.sentence) <= 8
    assert "8 are done" in film.pictures[-1].sentence and "all 8 orders" in film.pictures[-1].sentence
    with pytest.raises(ValueError, match="room for 24 launches, got 25"):
        orders(products(25))


def test_who_is_faster_is_computed_from_both_lines():
    def line(kind, seconds):
        return {n: fl.Seconds(time, kind) for n, time in zip((1, 64, 4096), seconds)}

    lines = {"CPU": line("recorded", (1e-5, 2e-4, 1e-2)), "T4": line("simulated", (2e-4, 2e-4, 2e-4))}
    words = [picture.sentence for picture in crossing_lines(lines, "CPU", "T4").pictures]
    assert "1 wave at once" in words[0] and "CPU is faster, by a factor of about 20" in words[0]
    assert "About the same" in words[1] and "T4 is faster, by a factor of about 50" in words[2]


def test_the_two_cards_shares_are_those_of_their_launches():
    with fl.simulate_gpu(False), fl.simulate_gpu(2, like="NVIDIA T4"):
        first, second = fl.cuda.devices()
        x = np.ones((512, 512), np.float32)
        a, b = first(x), second(x)
        for card, array in ((first, a), (second, b)):
            with card:
                array @ array  # the first product loads the kernel
        with fl.receipt() as receipt:
            for card, array in ((first, a), (second, b)):
                with card:
                    array @ array
            fl.cuda.synchronize()
        film = busy(receipt)
    shares = [int(n) for n in re.findall(r"worked (\d+) %", film.pictures[-1].sentence)]
    assert len(shares) == 2 and all(50 < share <= 100 for share in shares)


def test_films_need_times():
    with fl.receipt() as nothing:
        pass
    for film in (orders, busy, lambda r: race(r, fl.Seconds(1, "measured"))):
        with pytest.raises(ValueError, match="launches whose times are known"):
            film(nothing)
