"""Flux's four callbacks: what its documentation shows, and what `train` does with them."""

import numpy as np
import pytest
from inside import History

import fluxlite as fl
from fluxlite import early_stopping, patience, plateau, throttle


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_throttle_calls_again_once_the_time_has_passed_since_it_was_done():
    clock, calls = Clock(), []

    def slow(x, y=0):
        calls.append((x, y))
        clock.now += 5
        return x

    throttled = throttle(slow, 10, clock=clock)
    assert throttled(1, y=2) == 1 and calls == [(1, 2)]
    clock.now = 14.9
    assert throttled(2) == 1 and len(calls) == 1
    clock.now = 15
    assert throttled(3) == 3 and calls[1:] == [(3, 0)]
    assert throttled.__name__ == "slow"


def identity(x):
    return x


# The function, its numbers, and at which it says yes.
IN_FLUXS_DOCUMENTATION = [
    (patience(lambda x: x < 1, 3), np.random.default_rng(0).random(10), 3),
    (early_stopping(identity, 3), range(1, 11), 4),  # the first is the best so far
    (early_stopping(identity, 3, init_score=0), range(1, 11), 3),  # or compared with 0, as in Flux before 0.16.8
    (plateau(identity, 3, min_dist=18), (10, -9, 8, -7, 6, -5), 5),  # they differ by 19, 17, 15, 13 and 11
]


@pytest.mark.parametrize("trigger, numbers, call", IN_FLUXS_DOCUMENTATION)
def test_the_examples_of_fluxs_documentation(trigger, numbers, call):
    assert next(i for i, x in enumerate(numbers, 1) if trigger(x)) == call


def test_patience_counts_in_a_row_and_hands_its_arguments_on():
    trigger = patience(lambda x, limit: x > limit, 2)
    assert [trigger(x, limit=5) for x in (6, 1, 7, 8, 9, 0)] == [False, False, False, True, True, False]
    assert repr(trigger) == "<patience: 0 of 2>"


def larger(best, score):
    return score - best


@pytest.mark.parametrize(
    ("scores", "options", "stops_at"),
    [
        ((1, 0.9, 0.8, 0.5, 0.45, 0.41), {}, None),  # a falling loss
        ((0.5, 0.6, 0.5, 0.55), {"distance": larger}, 4),
        ((3, np.nan, 2, np.nan, np.inf), {"init_score": np.inf}, 5),  # what is no number is worse
        ((np.nan, np.nan), {"init_score": np.inf}, 2),  # from the start on
        ((-3, -4, -5), {"distance": larger}, 3),  # a score may be negative
        ((3, 2, 2, 1.5, 2), {}, None),
        ((3, 2, 2.5, 2), {}, 4),  # the best again is no gain
        ((0.5,) * 4, {}, 3),
        ((1 - 0.5,) * 3, {"init_score": 0.5}, 2),
        ((3, 2.95, 2.9, 2.89), {"min_dist": 0.1}, 3),
        ((3, 2.5, 2.0), {"min_dist": 0.5}, 3),  # more than that
        ((np.inf, np.inf, 1), {}, None),
        ((np.nan, 1, np.nan, np.nan), {}, 4),
        (np.array([200, 210, 220], np.uint8), {}, 3),  # as bytes, 200 - 210 would be 246
    ],
)
def test_early_stopping_counts_what_is_not_better_than_the_best(scores, options, stops_at):
    stop = early_stopping(identity, 2, **options)
    found = [stop(x) for x in scores]
    assert (found.index(True) + 1 if True in found else None) == stops_at


def test_without_a_function_they_take_the_loss_of_the_last_epoch():
    history = History(10)
    for make in (early_stopping, plateau):
        trigger, found = make(2), []
        for loss in (5.0, 4.0, 4.0, 4.0) if make is plateau else (5.0, 4.0, 4.1, 4.2):
            history.epoch_losses.append(loss)
            found.append(trigger(history))
        assert found == [False, False, False, True]


def parabola(callbacks=(), epochs=10, **options):
    """Two steps an epoch towards 0."""
    model = {"w": np.ones(1)}
    opt_state = fl.setup(fl.Descent(0.25), model)
    loss = lambda m, x: np.sum(m["w"] ** 2) * x  # noqa: E731
    return fl.train(loss, model, [1.0, 1.0], opt_state, epochs, callbacks=callbacks, **options)


def test_callbacks_are_called_after_each_epoch_with_the_history():
    seen = []
    history = parabola([lambda h: seen.append((h.epochs, h.steps, len(h.losses), h.epoch_losses[-1]))], epochs=2)
    assert seen == [(1, 2, 2, (1 + 0.25) / 2), (2, 4, 4, (1 / 16 + 1 / 64) / 2)]
    assert history.losses == [1, 1 / 4, 1 / 16, 1 / 64] and not history.stopped and history.reason == ""
    history = parabola([lambda history: True], epochs=1)
    assert not history.stopped and history.reason == "", "after the last epoch there's nothing to stop"


def test_a_true_result_stops_and_all_callbacks_see_the_epoch():
    def enough(history):
        return history.epochs == 3

    seen = []
    history = parabola([enough, lambda h: seen.append(h.epochs)])
    assert (history.epochs, history.stopped, history.reason, seen) == (3, True, "stopped by enough", [1, 2, 3])
    assert repr(history).startswith("History(3 of 10 epochs, 6 steps, loss 0.625 -> 0.00244, stopped by enough, ")


def test_each_step_may_stop_in_the_middle_of_an_epoch():
    seen = []

    def button(history):
        seen.append(history.steps)
        return history.steps == 3

    history = parabola(each_step=button)
    assert seen == [1, 2, 3] and (history.steps, history.epochs) == (3, 1)
    assert history.stopped and history.reason == "stopped by button" and len(history.losses) == 3
