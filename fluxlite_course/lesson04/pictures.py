"""Lesson 05: the sine wave in pictures, how lucky a start can be, the whole lesson in a call, a loop with traps."""

from typing import Any, NamedTuple

import numpy as np

import fluxlite as fl
from fluxlite.messages import many

from ..draw.pictures import BLUE, GREEN, GREY, ORANGE, Picture, plots, show
from ..sine_wave import TIMES, problem, run, step, train_by_hand

POINTS = TIMES[:21]
WAVE = np.sin(TIMES).astype(np.float32)[:, None, None]


def pairs(data: Any) -> Picture:
    """The 21 points of `data` as inputs and, each one point further on, as targets.

    >>> pairs(np.sin(POINTS))
    A sine wave of 21 points. An arrow leads from the first point, an input, to the second, which is its target.
    """
    data = _points(data, 21)
    figure, axes = plots(height=3.4)
    axes.plot(POINTS[:-1], data[:-1], "o", color=BLUE, label="input: a point")
    axes.plot(POINTS[1:], data[1:], "o", color=ORANGE, mfc="none", ms=12, mew=2, label="target: the next point")
    arrow = {"arrowstyle": "->", "lw": 2, "shrinkA": 6, "shrinkB": 9}
    axes.annotate("", (POINTS[1], data[1]), (POINTS[0], data[0]), arrowprops=arrow)
    _wave(axes)
    words = "An arrow leads from the first point, an input, to the second, which is its target."
    return show(figure, f"A sine wave of 21 points. {words}")


def predicted(data: Any, predictions: Any) -> Picture:
    """The blog's scatter plot: 21 points, and the prediction for each but the first.

    >>> predicted(np.sin(POINTS), np.sin(POINTS[1:]) + np.linspace(0, 0.2, 20))
    Twenty predictions beside the wave. The worst is 0.20 off, at t = 10.0; half of them are less than 0.10 off.
    """
    data, predictions = _points(data, 21), _points(predictions, 20)
    figure, axes = plots(height=3.4)
    axes.plot(POINTS, data, "o", color=BLUE, label="actual")
    axes.plot(POINTS[1:], predictions, "o", mfc="none", mec=ORANGE, ms=12, mew=2, label="predicted")
    _wave(axes, "upper center")
    off = np.abs(predictions - data[1:])
    worst = f"The worst is {off.max():.2f} off, at t = {POINTS[off.argmax() + 1]:.1f}"
    half = f"half of them are less than {np.median(off):.2f} off"
    return show(figure, f"Twenty predictions beside the wave. {worst}; {half}.")


def by_seed(final: Any, line: float) -> Picture:
    """The final loss of each seed as a dot, and the loss of the straight `line`. `final` has a loss per seed.

    >>> by_seed([0.3, 0.06, 0.003], 0.13)
    Final losses of 3 seeds, a dot each: from 0.003 to 0.3. 1 of them ends above the straight line's 0.13.
    """
    final = np.asarray(final, dtype=float)
    figure, axes = plots(height=2.4)
    heights = np.linspace(-0.3, 0.3, len(final))  # up and down means nothing: it keeps the dots apart
    axes.semilogx(final, heights, "o", color=BLUE, alpha=0.7)
    axes.annotate("seed 1", (final[1], heights[1]), (final[1], 0.55), arrowprops={"arrowstyle": "->"}, fontsize=12)
    axes.axvline(line, color=GREY)
    axes.text(line * 1.04, 0.62, "straight line", color=GREY, fontsize=12)
    axes.set(xlabel="loss after 200 epochs (log scale)", ylabel="(height means\nnothing)", yticks=[], ylim=(-0.6, 0.9))
    axes.set_xticks([0.01, 0.1], ["0.01", "0.1"])
    lost, spread = int(np.sum(final > line)), f"from {final.min():.1g} to {final.max():.1g}"
    above = f"{lost} of them {'ends' if lost == 1 else 'end'} above the straight line's {line:.2g}"
    return show(figure, f"Final losses of {len(final)} seeds, a dot each: {spread}. {above}.")


def _points(values: Any, count: int) -> np.ndarray:
    points = np.ravel(np.asarray(values, dtype=float))
    if len(points) != count:
        raise ValueError(f"this picture takes {count} points of the wave, got {len(points)}")
    return points


def _wave(axes: Any, legend: str = "lower right") -> None:
    axes.set(xlabel="t (radians)", ylabel="sin t", ylim=(-1.2, 1.2))
    axes.legend(loc=legend, fontsize=12)


# -- the whole lesson in one call --------------------------------------------------------------------------------------


class Demo(NamedTuple):
    """A trained network: its settings, its figures to three digits, each epoch's loss, and its outputs.

    Fed with true values, those are the outputs `ahead` and the memories after them; fed with its `own` outputs, twice
    as many of both.
    """

    settings: tuple[int, int, bool, float]
    numbers: dict[str, float]
    losses: list[float]
    ahead: np.ndarray
    memories: np.ndarray
    own: np.ndarray
    own_memories: np.ndarray

    def sentence(self, closed_loop: bool) -> str:
        """What there's to be seen; in a `closed_loop`, the network is fed with its own output."""
        hidden, seed, carry, lr = self.settings
        lost, one_step, own, own_later = self.numbers.values()
        memory = f"{many(hidden, 'number')}, {'kept' if carry else 'wiped at each step'}"
        said = f"Memory of {memory}; seed {seed}, learning rate {lr:g}: "
        if not np.isfinite(lost):
            return said + "the weights grew beyond all bounds. Take a smaller learning rate."
        line = baselines()["straight line"]
        said += f"the loss ends at {lost}, {'above' if lost > line else 'below'} the straight line's {line:.3g}."
        if not closed_loop:
            return f"{said} One step ahead it misses by {one_step} (mean squared error)."
        both = f"{own} (mean squared error) up to t = 10, and by {own_later} after it"
        return f"{said} Fed with its own output it misses by {both}; one step ahead, by {one_step}."


def demo(hidden: int = 6, seed: int = 1, carry: bool = True, lr: float = 0.1) -> Demo:
    """Train the sine-wave RNN, and run it with true values and with its own output."""
    if hidden < 1:
        raise ValueError(f"hidden is the size of the memory, 1 or more; got {hidden}")
    w1, w2, losses = train_by_hand(hidden, seed, carry, lr)
    with np.errstate(all="ignore"):  # if the rate was too large, the numbers overflow
        ahead = run(WAVE[:20], w1, w2, carry)
        own = run(WAVE[:40], w1, w2, carry, own=True)
        numbers = {
            "loss": losses[-1],
            "one_step": np.mean((ahead[0] - WAVE[1:21]) ** 2),
            "own": np.mean((own[0][:20] - WAVE[1:21]) ** 2),
            "own_later": np.mean((own[0][20:] - WAVE[21:]) ** 2),
        }
    numbers = {name: float(f"{value:.3g}") for name, value in numbers.items()}
    return Demo((hidden, seed, carry, lr), numbers, losses, *ahead, *own)


def rnn_demo(
    hidden: int = 6, seed: int = 1, carry: bool = True, closed_loop: bool = False, lr: float = 0.1
) -> tuple[dict[str, float], Picture]:
    """Train the sine-wave RNN and look at it: ``(numbers, picture)``.

    `hidden` is the size of its memory, `seed` chooses the initial weights, and `lr` is the learning rate. Without
    `carry`, the memory is cleared at each step. With `closed_loop`, the picture shows the wave that it makes from the
    first point and its own output. Raises `ValueError` if `hidden` is 0.

    The numbers, to three digits: ``loss`` of the last epoch; mean squared errors one step ahead (``one_step``), and
    with its own output as input, over the 20 points that it learned (``own``) and the 20 after them (``own_later``).

    >>> numbers, picture = rnn_demo()
    >>> numbers
    {'loss': 0.0649, 'one_step': 0.00676, 'own': 0.298, 'own_later': 0.827}
    """
    made = demo(hidden, seed, carry, lr)
    return made.numbers, show(_figure(made, closed_loop), made.sentence(closed_loop))


def baselines() -> dict[str, float]:
    """The losses of two predictions that need no learning."""
    now, target = WAVE[:20], WAVE[1:21]
    line = np.concatenate([now[:1], 2 * now[1:] - now[:-1]])
    found = {"same value": now, "straight line": line}
    return {name: float(np.sum((values - target) ** 2) / 2) for name, values in found.items()}


def _figure(made: Demo, own: bool) -> Any:
    figure, axes = plots(2, 2, width=9.6, height=4.8, width_ratios=[2, 1], height_ratios=[3, 2])
    axes[1, 1].remove()  # the loss plot uses the full height
    axes[0, 1].set_subplotspec(axes[0, 1].get_gridspec()[:, 1])
    axes[1, 0].sharex(axes[0, 0])
    axes[0, 0].tick_params(labelbottom=False)
    _draw_wave(axes[0, 0], made.ahead.ravel(), made.own.ravel() if own else None)
    _draw_memory(axes[1, 0], (made.own_memories if own else made.memories)[:, 0])
    _draw_loss(axes[0, 1], made.losses)
    return figure


def _draw_wave(axes: Any, ahead: np.ndarray, own: np.ndarray | None) -> None:
    fine = np.linspace(TIMES[0], TIMES[20 if own is None else 40], 200)
    axes.plot(fine, np.sin(fine), color=BLUE, label="the wave")
    axes.plot(TIMES[1:21], ahead, "o", color=ORANGE, mfc="none", ms=8, mew=2, label="one step ahead")
    if own is not None:
        axes.plot(TIMES[1:41], own, "D-", color=GREEN, ms=4, lw=1, label="from its own output")
        axes.axvline(10, ymax=0.88, color=GREY, lw=1)
        axes.text(10.1, -1.75, "never seen", color=GREY)
    axes.set(ylabel="sin t", ylim=(-1.9, 2.1))
    axes.legend(loc="upper center", ncol=3, fontsize=11, frameon=False, columnspacing=1, handletextpad=0.3)


def _draw_memory(axes: Any, memories: np.ndarray) -> None:
    """A row for each number in the memory: a bar points up for a positive value, down for a negative one."""
    memories = np.nan_to_num(memories)
    times, longest = TIMES[1 : 1 + len(memories)], float(np.abs(memories).max())
    for row, values in enumerate(memories.T):
        axes.axhline(-row, color=GREY, alpha=0.4, lw=0.8)
        axes.vlines(times, -row, -row + 0.48 * values / (longest or 1), color=GREY, lw=180 / len(times))
    axes.set(xlabel="t (radians)", ylabel=f"memory ({len(memories.T)})", yticks=[], ylim=(0.6 - len(memories.T), 0.6))
    axes.set_title(f"longest bar: {longest:.2f}", loc="right", fontsize=11, color=GREY, pad=2)


def _draw_loss(axes: Any, losses: list[float]) -> None:
    axes.semilogy(range(1, len(losses) + 1), losses, color=BLUE)
    for name, loss in baselines().items():
        axes.axhline(loss, color=GREY, lw=1)
        axes.text(len(losses), loss * 1.07, name, color=GREY, ha="right", fontsize=11)
    axes.set(xlabel="epoch", ylabel="loss of an epoch (log)", xlim=(0, len(losses)), ylim=(0.002, 9))
    axes.set_yticks([0.01, 0.1, 1], ["0.01", "0.1", "1"])


# -- the training loop with mistakes to switch on, and with gradients that reach further back ---------------------


def trained(
    keep_gradients: bool = False, wipe_memory: bool = False, same_point: bool = False, epochs: int = 200
) -> list[float]:
    """Lesson 05's training in the style of `param` and `back`: each epoch's loss, with the mistakes you ask for.

    `keep_gradients` doesn't set them to zero after a step. `wipe_memory` makes an empty memory at each step.
    `same_point` takes the input itself for the target.

    >>> round(trained(epochs=1)[0], 2), round(trained(wipe_memory=True, epochs=1)[0], 2)
    (3.92, 3.81)
    """
    x, y, *start = problem()
    targets, empty = x if same_point else y, np.zeros((1, 6), np.float32)
    weights: list[Any] = [fl.param(w) for w in start]  # a gradient is None until the first back
    w1, w2 = weights
    losses = []
    with np.errstate(all="ignore"):  # with the gradients kept, the numbers overflow
        for _ in range(epochs):
            total, memory = 0.0, empty
            for point, target in zip(x, targets):
                output, after = step(point, empty if wipe_memory else memory, w1, w2)
                loss = np.sum((output - target) ** 2) / 2
                fl.back(loss)
                for w in weights:
                    w.data -= 0.1 * w.grad
                    if not keep_gradients:
                        w.grad[...] = 0
                total, memory = total + loss.data, after.data
            losses.append(float(total))
    return losses


def reaching_back(reach: int = 1, seed: int = 1, epochs: int = 200) -> tuple[float, int]:
    """Train with gradients that go back through `reach` steps: the last loss, and an epoch's visits of steps.

    A reach of 1 is what lesson 05 does; 20 is the whole history. Raises `ValueError` for a reach below 1.

    >>> reaching_back(reach=2, epochs=1)[1]
    39
    """
    if reach < 1:
        raise ValueError(f"reach is a number of steps, 1 or more; got {reach}")
    visits = sum(min(reach, point) for point in range(1, 21))
    return train_by_hand(seed=seed, reach=reach, epochs=epochs).losses[-1], visits
