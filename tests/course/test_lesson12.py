"""Lesson 12's checks: each likely wrong answer gets its own helpful message."""

import re

import numpy as np
from answers import not_right, right

import fluxlite as fl
from fluxlite_course.kit.exercises import judge
from fluxlite_course.lesson12 import in_two


def halves(model, devices):
    half = len(model) // 2
    return devices[0](model[:half]), devices[1](model[half:])


def on_two(move, last=lambda y: y):
    """A `split` whose function moves x, and the first half's result, with `move`."""

    def split(model, devices):
        first, second = halves(model, devices)
        return lambda x: last(second(move(devices[1], first(move(devices[0], x)))))

    return split


right_split = on_two(lambda device, x: device(x))
over_the_host = on_two(lambda device, x: device(fl.cpu(x)))
never_moved = on_two(lambda device, x: x)
back_to_the_host = on_two(lambda device, x: device(x), fl.cpu)
back_to_card_0 = on_two(lambda device, x: device(x), lambda y: fl.get_device("Simulated", 0)(y))
returns_nothing = on_two(lambda device, x: device(x), lambda y: None)
wrong_values = on_two(lambda device, x: device(x), lambda y: y[::-1])
while_card_0_is_current = on_two(lambda device, x: device(x), lambda y: y * 1)


def only_x_moved(model, devices):
    first, second = halves(model, devices)
    return lambda x: second(first(devices[0](x)))


def all_on_one(model, devices):
    there = devices[0](model)
    return lambda x: there(devices[0](x))


def each_time(model, devices):
    def run(x):
        first, second = halves(model, devices)
        return second(devices[1](first(devices[0](x))))

    return run


def to_other_cards(model, devices):
    """Uses the notebook's `device0` and `device1` instead of the two arguments."""
    with fl.simulate_gpu(2, like="NVIDIA T4", memory=3 * 2**20):
        first, second = halves(model, fl.cuda.devices())
    return lambda x: second(first(x))


def as_a_chain(model, devices):
    """A device is a function, so it can stand in a Chain."""
    first, second = halves(model, devices)
    return fl.Chain(devices[0], *first, devices[1], *second)


def parts(x, y):
    half = len(x) // 2
    return (x[:half], y[:half]), (x[half:], y[half:])


def gradient_on(device, loss, model, x, y):
    model, x, y = device((model, x, y))
    return fl.gradient(lambda m: loss(m, x, y), model)[0]


def parallel(join, shared=parts, count=2):
    """A `parallel_gradient` that splits a batch with `shared` and combines the gradients on the host with `join`."""

    def parallel_gradient(loss, model, x, y, devices):
        found = []
        for device, (a, b) in zip(devices[:count], shared(x, y)):
            found.append(fl.cpu(gradient_on(device, loss, model, a, b)))
        return join(*found)

    return parallel_gradient


def mean(a, b):
    return fl.fmap(lambda a, b: None if a is None else (a + b) / 2, a, b)


def total(a, b):
    return fl.fmap(lambda a, b: None if a is None else a + b, a, b)


def on_card_0(loss, model, x, y, devices):
    return gradient_on(devices[0], loss, model, x, y)


def on_the_host(loss, model, x, y, devices):
    return gradient_on(fl.get_device("CPU"), loss, model, x, y)


def on_a_card(loss, model, x, y, devices):
    """Right, except that the result is on card 1, not on the host."""
    return devices[1](parallel(mean)(loss, model, x, y, devices))


test_a_wrong_answer_is_not_right_and_the_reply_says_why = not_right(
    ("12.1", [all_on_one], "everything is on card 0, and card 1 is empty"),
    ("12.1", [never_moved], "x comes from the host, and your function didn't move it to the first card"),
    ("12.1", [only_x_moved], "what card 0 gives wasn't moved to card 1"),
    ("12.1", [over_the_host], "the numbers between the halves went over the host"),
    ("12.1", [back_to_the_host], "the result was copied back to the host"),
    ("12.1", [back_to_card_0], "the result isn't where it was computed"),
    ("12.1", [each_time], "no weight is on a card: move them once, not in each call"),
    ("12.1", [lambda model, devices: halves(model, devices)], "split should return something that you can call with x"),
    ("12.1", [to_other_cards], "none is on the cards in devices: is it devices[0], not device0"),
    ("12.1", [returns_nothing], "what split returns returned None"),
    ("12.1", [while_card_0_is_current], "with an array of another card than the current one"),
    ("12.1", [wrong_values], "the values aren't those of the model on one device"),
    ("12.2", [parallel(total)], "it's twice as large"),
    ("12.2", [parallel(lambda a, b: b)], "that's the gradient of the second half alone"),
    ("12.2", [parallel(lambda a, b: a)], "that's the gradient of the first half alone"),
    ("12.2", [parallel(mean, lambda x, y: ((x, y), (x, y)))], "each card worked on the whole batch"),
    ("12.2", [on_card_0], "only card 0 had anything to do"),
    ("12.2", [on_the_host], "loss was called with an x on the host"),
    ("12.2", [parallel(lambda a, b: (mean(a, b),))], "gradient gives a tuple"),
    ("12.2", [parallel(lambda a, b: [a, b])], "two gradients, one from each card"),
    ("12.2", [parallel(lambda a, b: None)], "parallel_gradient returned None"),
    ("12.2", [parallel(lambda a, b: mean(a, b).layers[0].weight)], "that isn't a gradient of this model"),
)


def test_two_gradients_added_across_the_cards_stop_with_the_librarys_own_words():
    def parallel_gradient(loss, model, x, y, devices):
        found = []
        for device, (a, b) in zip(devices, parts(x, y)):
            found.append(gradient_on(device, loss, model, a, b))
        return mean(*found)

    verdict = judge("12.2", parallel_gradient)
    assert verdict.word == "stopped" and "arrays of two devices" in verdict.message


test_right_answers_other_than_the_lessons_own = right(
    ("12.1", [as_a_chain]),
    ("12.2", [parallel(mean)]),
    ("12.2", [on_a_card]),
)


def test_cards_of_a_lesson_are_there_even_if_those_of_the_computer_are_hidden(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    assert judge("12.1", right_split).word == "right"


def test_what_the_lesson_says_of_its_three_ways():
    with fl.simulate_gpu(2, like="NVIDIA T4"):
        said = in_two(pieces=(1, 2, 8, 16), copies=True).sentences
    done = [re.findall(r"is done in ([\d.]+) ms", each) for each in said if each.count("is done") == 3]
    times = np.array(done, float)
    (alone, _, each), pieces = times[0], dict.fromkeys(times[:, 1].tolist())
    one, two, eight, sixteen = pieces
    assert one > alone > two > sixteen > eight > each > alone / 2
