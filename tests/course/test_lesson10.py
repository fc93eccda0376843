"""Lesson 10's checks: each likely wrong answer gets its own helpful message. And what the lesson shows is robust."""

import html

import numpy as np
import pytest
from answers import EqualToAll, not_right, replies, right

import fluxlite as fl
import fluxlite_course
from fluxlite_course.kit.exercises import judge
from fluxlite_course.lesson10.pictures import HEATS, an_lstm_step, left_picture, temperatures
from fluxlite_course.lesson10.sequences import error_after, letters, scores_after, story_batches, waves, write


def memories(before=lambda cell, x: x @ cell.Wi.T + cell.bias, inside=0, keep=True):
    """An answer to 10.2: what's computed before the loop, and how often the bias is added inside."""

    def memories(cell, x):
        h, found = np.zeros_like(x, shape=(x.shape[0], cell.Wh.shape[1])), []
        products = before(cell, x)
        for t in range(x.shape[1]):
            sums = products[:, t] + h @ cell.Wh.T
            found.append(np.tanh(sums + cell.bias if inside else sums))
            h = found[-1] if keep else h
        return np.stack(found, axis=1)

    return memories


def not_hoisted(cell, x):
    h, found = np.zeros_like(x, shape=(x.shape[0], cell.Wh.shape[1])), []
    for t in range(x.shape[1]):
        h = np.tanh(x[:, t] @ cell.Wi.T + h @ cell.Wh.T + cell.bias)
        found.append(h)
    return np.stack(found, axis=1)


def by_hand(scores, temperature):
    weights = np.exp((scores - max(scores)) / temperature)
    return weights / weights.sum()


def on_the_host(cell, x):
    host = fl.RNNCell.of(*fl.cpu((cell.Wi, cell.Wh, cell.bias)))
    return fl.gpu(memories()(host, fl.cpu(x)))


def looks_at_each(cell, x):
    found = memories()(cell, x)
    print([float(np.sum(found[:, t])) for t in range(x.shape[1])])
    return found


def copied_into_an_array(cell, x):
    products = x @ cell.Wi.T + cell.bias
    h, found = np.zeros_like(products[:, 0]), np.zeros_like(products)
    for t in range(x.shape[1]):
        h = found[:, t] = np.tanh(products[:, t] + h @ cell.Wh.T)
    return found


def for_thirty_steps(cell, x):
    products, h, found = x @ cell.Wi.T + cell.bias, np.zeros_like(x, shape=(len(x), 6)), []
    for t in range(30):
        h = np.tanh(products[:, t] + h @ cell.Wh.T)
        found.append(h)
    return np.stack(found, axis=1)


def joined(cell, x):
    """One product a step, as in lesson 04: x is still in it."""
    both, h, found = np.concatenate([cell.Wi, cell.Wh], axis=1), np.zeros_like(x, shape=(len(x), 6)), []
    for t in range(x.shape[1]):
        h = np.tanh(np.concatenate([x[:, t], h], axis=1) @ both.T + cell.bias)
        found.append(h)
    return np.stack(found, axis=1)


def step_by_step(cell, x):
    """A cell of the library's own makes the steps."""
    own, h, found = fl.RNNCell.of(cell.Wi, cell.Wh, cell.bias), np.zeros_like(x, shape=(len(x), 6)), []
    for t in range(x.shape[1]):
        _, h = own(x[:, t], h)
        found.append(h)
    return np.stack(found, axis=1)


def sums_in_the_loop(cell, x):
    products, h, found = x @ cell.Wi.T, np.zeros_like(x, shape=(len(x), 6)), []
    for t in range(x.shape[1]):
        h = np.tanh(products[:, t] + h @ cell.Wh.T + cell.bias)
        found.append(h)
    return np.stack(found, axis=1)


def changes_the_cell(cell, x):
    cell.Wi[...] = 0
    return memories()(cell, x)


test_a_wrong_answer_is_not_right_and_the_reply_says_why = not_right(
    ("10.1", [lambda scores, t: fl.softmax(scores)], "the temperature is missing"),
    ("10.1", [lambda scores, t: fl.softmax(scores * t)], "divide by the temperature"),
    ("10.1", [lambda scores, t: fl.softmax(scores) / t], "divide the scores, not the probabilities"),
    ("10.1", [lambda scores, t: scores / t], "softmax turns them into"),
    ("10.1", [lambda scores, t: max(fl.softmax(scores / t))], "one probability for each letter"),
    ("10.1", [lambda scores, t: np.exp(scores / t)], "powers of e"),
    ("10.1", [1.5], "give the check its name alone"),
    ("10.1", [lambda scores, t: None], "chances returned None"),
    ("10.1", [lambda scores, t: fl.softmax(scores[None] / t)], "one probability for each letter"),
    ("10.1", [lambda scores, t: fl.softmax(scores / max(t, 0.1))], "at temperature 0.01: those aren't"),
    ("10.1", [lambda scores, t: np.full(4, 0.25)], "those aren't the probabilities"),
    ("10.1", [lambda scores, t: np.eye(1, len(scores), np.argmax(scores))[0] * 0.86178], "those aren't the"),
    ("10.1", [lambda scores, t: fl.softmax(scores / t).astype(np.float16)], "those aren't the probabilities"),
    ("10.1", [lambda scores, t: scores.fill(0) or fl.softmax(scores / t)], "changed the scores"),
    ("10.1", [lambda scores, t: fl.softmax(scores / t) + 1j], "those aren't the probabilities"),
    ("10.1", [lambda scores, t: fl.softmax(scores / t).astype(str)], "those aren't the probabilities"),
    ("10.1", [lambda scores, t: EqualToAll()], "one probability for each letter"),
    ("10.2", [lambda cell, x: [*memories()(cell, x)]], "that's a list; np.stack"),
    ("10.2", [on_the_host], "arrays come over the host"),
    ("10.2", [joined], "x is still in the loop's product"),
    ("10.2", [step_by_step], "the product with Wi is still in a loop"),
    ("10.2", [looks_at_each], "the host reads something on the way"),
    ("10.2", [sums_in_the_loop], "a sum that needs only the input is still in the loop"),
    ("10.2", [changes_the_cell], "changed the Wi that it was given"),
    ("10.2", [lambda cell, x: fl.Recurrence(fl.RNNCell.of(cell.Wi, cell.Wh, cell.bias))(x)], "write the loop yourself"),
    ("10.1", [lambda scores, t: [[1], [2, 3]]], "one probability for each letter"),
    ("10.2", [lambda cell, x: cell(x[:, 0], None)], "compute with cell.Wi, cell.Wh and cell.bias"),
    ("10.2", [not_hoisted], "the product with Wi is still in a loop"),
    ("10.2", [memories(lambda cell, x: x @ cell.Wi.T, inside=1)], "a sum that needs only the input"),
    ("10.2", [memories(keep=False)], "so it stays in the loop"),
    ("10.2", [memories(inside=1)], "the bias is added twice"),
    ("10.2", [memories(lambda cell, x: x @ cell.Wi.T)], "the bias is missing"),
    ("10.2", [lambda cell, x: -memories()(cell, x)], "the memories aren't the same as before"),
    ("10.2", [lambda cell, x: memories()(cell, x)[:, -1]], "the memory after every step"),
    ("10.2", [lambda cell, x: fl.cpu(memories()(cell, x))], "is on the CPU"),
)


def into_an_array(cell, x):
    """Steps first, and in place."""
    found = np.zeros_like(x, shape=(x.shape[1], x.shape[0], len(cell.Wh)))
    h = found[0]
    for t, product in enumerate(np.swapaxes(x, 0, 1) @ cell.Wi.T + cell.bias):
        np.tanh(product + h @ cell.Wh.T, out=found[t])
        h = found[t]
    return np.swapaxes(found, 0, 1)


def by_powers(scores, temperature):
    powers = fl.softmax(scores) ** (1 / temperature)
    return powers / np.sum(powers)


test_right_answers_written_otherwise = right(
    ("10.1", [by_hand]),
    ("10.1", [by_powers]),
    ("10.2", [memories(lambda cell, x: np.einsum("bti,oi->bto", x, cell.Wi) + cell.bias)]),
    ("10.1", [lambda scores, t: (score for score in fl.softmax(scores / t))]),
    ("10.1", [lambda scores, temperature: [*map(float, by_hand(scores, np.float64(temperature)))]]),
    ("10.2", [memories()], "with 97 launches for 30 steps"),
    ("10.2", [into_an_array]),
    ("10.2", [copied_into_an_array]),
)
test_a_step_too_many_stops = replies("stopped", ("10.2", [for_thirty_steps], "IndexError"))


def test_the_shares_that_a_check_tells_are_those_of_the_text():
    assert "the best letter gets 86 %, and at 2 only 44 %" in str(judge("10.1", by_hand))


# -- what the lesson says ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layer", [fl.GRU, fl.LSTM])
def test_a_new_layer_bridges_ten_steps_but_not_forty(layer):
    short, long = (error_after(layer(2, 16, rng=np.random.default_rng(5)), gap) for gap in (10, 40))
    assert short < 0.2 and long > 0.6


@pytest.mark.parametrize("seed", [5, 6])
def test_an_open_gate_bridges_forty(seed):
    assert error_after(fl.LSTM(2, 16, forget=3, rng=np.random.default_rng(seed)), 40, seed) < 0.25


def test_a_wave_is_what_the_lesson_says():
    x, y = waves(3, 4, np.random.default_rng(1))
    assert x.shape == (3, 9, 2) and np.array_equal(x[:, 4, :1], y) and x[0, :, 1].tolist() == [1] * 5 + [0] * 4


def test_the_next_letter_is_one_step_ahead_in_the_story():
    ((x, y),) = story_batches(1)
    assert x.shape == y.shape == (32, 40, 30) and np.array_equal(x[:, 1:], y[:, :-1])
    assert "".join(letters()[i] for i in x[0].argmax(axis=1)) in fluxlite_course.island().lower()


def test_learners_may_begin_with_any_letters():
    model = fl.Chain(fl.GRU(30, 4), fl.Dense(4, 30))
    assert write(model, "Grüße, Max! 7", count=3).startswith("Grüße, Max! 7") and len(write(model, "", count=3)) <= 3


def test_the_story_is_plain_and_of_the_size_that_the_lesson_trains_in_seconds():
    story = fluxlite_course.island()
    assert 9_000 < len(story) < 20_000 and len(letters()) == 30 and story.isascii()
    assert not any(line != line.strip() for line in story.splitlines())


# -- the scenes: the temperature, an LSTM's step, and what's left of an input ----------------------------------------


def test_a_bar_is_as_high_as_its_letter_is_likely():
    model = fl.Chain(fl.GRU(30, 4), fl.Dense(4, 30))
    scene, (scores, _) = temperatures(model, "x"), scores_after(model, "x")
    bars = [part.attributes["height"] for part in scene.picture.parts() if part.tag == "rect"]
    for state, heat in enumerate(HEATS):
        np.testing.assert_allclose([bar[state] / 152 for bar in bars], fl.softmax(scores / heat), atol=1e-3)
    assert scene.at().startswith("Temperature 0.7: after 'x', ")
    lines = write(model, "x", 2.5).splitlines()
    assert scene.at(temperature="2.5").endswith(f"It begins to write: {lines[0]} …")
    drawn = scene.picture.markup(list(HEATS).index(2.5))
    assert all(f">{html.escape(line)}<" in drawn for line in lines)


def test_a_step_keeps_a_part_and_writes_a_part():
    step = an_lstm_step()
    assert step.at(**{"forget gate f": "1", "input gate i": "0"}).endswith("is written: 0.80.")
    assert step.at(**{"forget gate f": "0.95", "input gate i": "0.5"}).endswith("is written: 1.06.")


def test_an_open_gate_leaves_an_inputs_effect():
    scene = left_picture()
    assert "keeps 0.50" in scene.at() and "nearly nothing is left of an input's effect" in scene.at()
    assert "keeps 0.95" in scene.at(forget="3") and "39 steps later all is left" in scene.at(forget="3")
