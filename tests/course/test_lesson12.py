"""Lesson 12's checks: each likely wrong answer gets its own helpful message."""

import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from answers import EqualToAll, not_right, right

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


def remembers_by_shape(model, devices):
    run, known = right_split(model, devices), {}

    def again(x):
        if x.shape not in known:
            known[x.shape] = run(x)
        return known[x.shape]

    return again


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


def split_at(place, run=lambda first, second, devices: lambda x: second(devices[1](first(devices[0](x))))):
    def split(model, devices):
        return run(devices[0](model[:place]), devices[1](model[place:]), devices)

    return split


def all_on_both(model, devices):
    there = [device(model) for device in devices]
    return lambda x: there[1][2:](devices[1](there[0][:2](devices[0](x))))


def computed_on_the_host(model, devices):
    halves_there = halves(model, devices)
    return lambda x: (halves_there, devices[1](model(x)))[1]


def remembered(model, devices):
    """What it computed once is what it always returns."""
    run, found = right_split(model, devices), []

    def first_of_all(x):
        if not found:
            found.append(run(x))
        return found[0]

    return first_of_all


def also_on_the_host(model, devices):
    run = right_split(model, devices)
    return lambda x: (model(x), run(x))[1]


class Split:
    """A class whose objects can be called."""

    def __init__(self, model, devices):
        self.first, self.second = halves(model, devices)
        self.devices = devices

    def __call__(self, x):
        with self.devices[0]:
            between = self.first(fl.gpu(x))
        with self.devices[1]:
            return self.second(fl.gpu(between))


def two_copies(model, devices):
    first, second = halves(model, devices)

    def run(x):
        between = first(devices[0](x))
        devices[1](between)
        return second(devices[1](between))

    return run


def by_turns(model, devices):
    layers = [devices[n % 2](layer) for n, layer in enumerate(model)]

    def run(x):
        for n, layer in enumerate(layers):
            x = layer(devices[n % 2](x))
        return x

    return run


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


def and_updates(loss, model, x, y, devices):
    found = parallel(mean)(loss, model, x, y, devices)
    fl.update(fl.setup(fl.Descent(0.1), model), model, found)
    return found


def on_card_0(loss, model, x, y, devices):
    return gradient_on(devices[0], loss, model, x, y)


def on_the_host(loss, model, x, y, devices):
    return gradient_on(fl.get_device("CPU"), loss, model, x, y)


def on_a_card(loss, model, x, y, devices):
    """Right, except that the result is on card 1, not on the host."""
    return devices[1](parallel(mean)(loss, model, x, y, devices))


def weighted(loss, model, x, y, devices):
    """Right numbers, but the cards don't share the work equally."""
    (a, b), (c, d) = (x[:2], y[:2]), (x[2:], y[2:])
    few, many = (fl.cpu(gradient_on(device, loss, model, *part)) for device, part in zip(devices, [(a, b), (c, d)]))
    return fl.fmap(lambda few, many: None if few is None else (2 * few + (len(x) - 2) * many) / len(x), few, many)


def whole_batch_elsewhere(loss, model, x, y, devices):
    """It keeps both cards busy, and computes the gradient on the host."""
    parallel(mean)(loss, model, x, y, devices)
    return fl.gradient(lambda m: fl.mse(m(x), y), model)[0]


def without_the_loss(loss, model, x, y, devices):
    """It keeps both cards busy, and differentiates a loss of its own on the host, with a model of the same weights."""
    parallel(mean)(loss, model, x, y, devices)
    first, last = model
    same_weights = fl.Chain(fl.Dense.of(first.weight, first.bias, np.tanh), last)
    return fl.gradient(lambda m: fl.mse(m(x), y), same_weights)[0]


def half_of_each_loss(loss, model, x, y, devices):
    """Half of each loss: then the two gradients are added."""
    return parallel(total)(lambda *given: loss(*given) / 2, model, x, y, devices)


def every_other_row(x, y):
    return (x[::2], y[::2]), (x[1::2], y[1::2])


def one_vector(loss, model, x, y, devices):
    """Gradients as vectors, whose mean is taken on card 1."""
    first, second = (gradient_on(device, loss, model, *part) for device, part in zip(devices, parts(x, y)))
    with devices[1]:
        return (devices[1](fl.destructure(first)[0]) + fl.destructure(second)[0]) / 2


def at_the_same_time(loss, model, x, y, devices):
    """A thread for each card."""

    def work(device, part):
        with device:
            return fl.cpu(gradient_on(device, loss, model, *part))

    with ThreadPoolExecutor(2) as threads:
        return mean(*threads.map(work, devices, parts(x, y)))


def vector_in_its_places(loss, model, x, y, devices):
    return fl.destructure(model)[1](fl.cpu(one_vector(loss, model, x, y, devices)))


test_a_wrong_answer_is_not_right_and_the_reply_says_why = not_right(
    ("12.2", [and_updates], "changed the model that it was given"),
    ("12.1", [remembers_by_shape], "the values aren't those of the model"),
    ("12.2", [lambda *given: [parallel(mean)(*given)] * 2], "not in the model's places"),
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
    ("12.1", [1.5], "give the check its name alone"),
    ("12.1", [split_at(1)], "each card has two of the four layers"),
    ("12.1", [all_on_both], "the whole model is on each card"),
    ("12.1", [computed_on_the_host], "didn't run on card 0, card 0, card 1, card 1"),
    ("12.1", [remembered], "the values aren't those of the model"),
    ("12.1", [lambda model, devices: right_split(model, devices[::-1])], "didn't run on card 0, card 0, card 1"),
    ("12.1", [also_on_the_host], "the host, the host, the host, the host, card 0"),
    ("12.1", [two_copies], "more than one copy went from card to card"),
    ("12.1", [by_turns], "didn't run on card 0, card 0, card 1, card 1"),
    ("12.1", [lambda model, devices: halves(model, devices) and EqualToAll()], "something that you can call"),
    ("12.1", [split_at(2, lambda *there: lambda x: EqualToAll() if there else x)], "aren't those of the model"),
    ("12.2", [parallel(mean, lambda x, y: ((x[:2], y[:2]), (x[2:], y[2:])))], "different numbers of rows"),
    ("12.2", [one_vector], "but not in the model's places"),
    ("12.2", [weighted], "different numbers of rows"),
    ("12.2", [parallel(lambda a, b: fl.fmap(lambda a: None if a is None else a / 2, mean(a, b)))], "half as large"),
    ("12.2", [without_the_loss], "the values aren't those of the whole batch"),
    ("12.2", [lambda *given: [parallel(mean)(*given) for _ in range(2)][0]], "each card worked on the whole batch"),
    ("12.2", [whole_batch_elsewhere], "the model was called on the host"),
    ("12.2", [lambda *given: EqualToAll()], "loss was never called"),
    ("12.2", [parallel(lambda a, b: EqualToAll())], "that isn't a gradient of this model"),
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
    ("12.1", [split_at(2)]),
    ("12.1", [Split]),
    ("12.1", [lambda model, devices: split_at(2)(model, list(devices))]),
    ("12.2", [parallel(mean, every_other_row)]),
    ("12.2", [vector_in_its_places]),
    ("12.2", [half_of_each_loss]),
    ("12.2", [lambda loss, model, x, y, devices: parallel(mean)(loss, model, x, y, devices[::-1])]),
    ("12.2", [at_the_same_time]),
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
