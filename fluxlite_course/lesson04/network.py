"""Lesson 04's network as scenes: three steps, its memory point by point, all of it in a call, and a playground."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from fluxlite.messages import many

from ..scenes import Each, Knob, Part, Scene, drawing, label, rounded
from ..scenes.axes import Axis, across, curve, upward
from ..sine_wave import TIMES, problem, run, train_by_hand
from .pictures import WAVE, baselines

# -- unrolled: three steps side by side -------------------------------------------------------------------------------


_COLUMNS = (134, 320, 506)  # the middle of each step
_BOX, _SIDE = 106, 11  # a step's width, and that of one number of the memory


def unrolled() -> Scene:
    """The network over three steps: the same weights in each, and the memory that goes from one to the next.

    >>> unrolled().at(step="2")
    "Step 2: the point x[1], 1 number, and the memory that step 1 left, 6 numbers, stand side by side. Times w1, ..."
    """
    steps = range(3)
    looks = [Each(None if step <= now else "faint" for now in steps) for step in steps]
    columns = [Part("g", *_column(step), class_=look) for step, look in zip(steps, looks)]
    picture = drawing(
        640, 306, "The network over three steps: a point and the memory go in, an output and the new memory come out",
        *_memory(32, "empty"), _arrow(46, 142, _COLUMNS[0] - _BOX / 2), *columns,
    )  # fmt: skip
    said = []
    for step in steps:
        memory = f"the memory that step {step} left" if step else "the empty memory"
        said.append(
            f"Step {step + 1}: the point x[{step}], 1 number, and {memory}, 6 numbers, stand side by side. "
            f"Times w1, and tanh: that's the new memory. Times w2: the output. The memory goes on to step {step + 2}."
        )
    return Scene(picture, [Knob("step", [str(step + 1) for step in steps], slider=True, ms=1500)], said)


def _column(step: int) -> Iterator[Part]:
    x = _COLUMNS[step]
    yield Part("rect", class_="box", x=x - _BOX / 2, y=96, width=_BOX, height=92, rx=8)
    for y, words in ((122, "side by side"), (146, "@ w1 (7, 6)"), (170, "tanh")):
        yield label(x, y, words, "middle")
    yield Part("path", class_="line host", d=f"M{x} 246V194m-6 9l6-9l6 9M{x} 92V46m-6 9l6-9l6 9")
    yield label(x, 266, f"x[{step}]", "middle bold")
    yield label(x, 286, "(1, 1)", "middle")
    yield label(x + 8, 74, "@ w2 (6, 1)")
    yield label(x, 34, "output (1, 1)", "middle bold")
    after = x + 93
    yield _arrow(x + _BOX / 2, 142, after - 11)
    if step < 2:
        yield _arrow(after + 13, 142, _COLUMNS[step + 1] - _BOX / 2)
    yield from _memory(after, "h")


def _memory(x: float, words: str) -> Iterator[Part]:
    """Six numbers, one above the other."""
    look = "rest hollow" if words == "empty" else "host"
    for row in range(6):
        yield Part("rect", class_=look, x=x - _SIDE / 2, y=104 + 13 * row, width=_SIDE, height=_SIDE)
    yield label(x, 94, words, "middle")
    yield label(x, 202, "(1, 6)", "middle")


def _arrow(x: float, y: float, to: float) -> Part:
    return Part("path", class_="line host", d=f"M{x + 2:g} {y}H{to - 3:g}m-8-5l8 5l-8 5")


# -- the memory: six numbers, point by point --------------------------------------------------------------------------


def memories(w1: Any, w2: Any, beside: int = 13) -> Scene:
    """The wave point by point, and the memory after each, for weights w1 (1 + H, H) and w2 (H, 1).

    A knob puts the memory after the point `beside` next to it. Raises `ValueError` if there is no such point.
    """
    points, targets, *_ = problem()
    count = len(points)
    if not 1 <= beside <= count:
        raise ValueError(f"beside is a number from 1 to {count}, got {beside!r}")
    outputs, kept = (part[:, 0] for part in run(points, w1, w2))
    x, y, outputs = map(np.ravel, (points, targets, outputs))
    states = list(itertools.product((False, True), range(count)))
    most = float(np.ceil(10 * np.abs(kept).max()) / 10)
    across_, up = Axis(1, count + 1, 60, 610), Axis(-1.2, 1.2, 168, 24)
    xs, ys = [across_(n) for n in range(1, count + 2)], [up(value) for value in (*x, y[-1])]
    dots = [Part("circle", class_="host", cx=xs[n], cy=ys[n], r=5, data_n=n) for n in range(count)]
    hint = {"display": Each(None if both else "none" for both, _ in states)}
    picture = drawing(
        640, 400, "A wave, point by point, and below it what the network remembers after each",
        label(10, 20, "sin t"), Part("polyline", class_="grid line", points=curve(xs, ys, "").attributes["points"]),
        Part("g", *dots, only=Each((0, now) for _, now in states)),
        Part("circle", class_="rest line", cx=xs[beside - 1], cy=ys[beside - 1], r=10, **hint),
        Part("circle", stroke="currentColor", fill="none", stroke_width=2.5, r=9,
             cx=Each(xs[now + 1] for _, now in states), cy=Each(up(outputs[now]) for _, now in states)),
        label(320, 196, "● a point that it has seen   ○ its output: where's the next?", "middle"),
        *_bars(60, Each(f"after point {now + 1}" for _, now in states), [kept[now] for _, now in states], most, "host"),
        Part("g", *_bars(360, f"after point {beside}", [kept[beside - 1]] * len(states), most, "rest"), **hint),
    )  # fmt: skip
    said = []
    for both, now in states:
        text = f"After point {now + 1} of {count} the memory holds {_numbers(kept[now])}. "
        text += f"The output misses the next point by {abs(outputs[now] - y[now]):.2f}."
        said.append(f"{text} After point {beside} it holds {_numbers(kept[beside - 1])}." if both else text)
    knobs = [Knob("beside it", ["nothing", f"point {beside}"]), _slider(count)]
    return Scene(picture, knobs, said)


def _slider(count: int) -> Knob:
    return Knob("point", [str(n) for n in range(1, count + 1)], slider=True, ms=500)


def _numbers(values: Iterable[float]) -> str:
    return ", ".join(f"{value:.1f}".replace("-0.0", "0.0") for value in values)


def _bars(left: float, title: Any, states: Sequence[np.ndarray], most: float, look: str) -> Iterator[Part]:
    """A bar for each number of the memory, up from the line if it's positive and down if it's negative."""
    up, width = Axis(-most, most, 362, 242), 240
    yield label(left + width / 2, 228, title, "middle bold")
    yield label(left - 8, 247, f"{most:g}", "end")
    yield label(left - 8, 367, f"-{most:g}", "end")
    yield Part("path", class_="axis", d=f"M{left} {up(0)}h{width}M{left} 362V242")
    step = width / len(states[0])
    for number in range(len(states[0])):
        values = [float(state[number]) for state in states]
        tops = [up(max(value, 0.0)) for value in values]
        yield Part("rect", class_=f"{look} glide", x=rounded([left + step * number + step / 6])[0],
                   width=rounded([step * 2 / 3])[0], y=Each(tops),
                   height=Each(rounded(up(min(value, 0.0)) - top for value, top in zip(values, tops))))  # fmt: skip
        yield label(rounded([left + step * (number + 0.5)])[0], 390, Each(_numbers([value]) for value in values),
                    "middle small")  # fmt: skip


# -- the whole lesson in one call --------------------------------------------------------------------------------------


class Demo(NamedTuple):
    """A trained network: its settings, its figures to three digits, each epoch's loss, and its outputs.

    Fed with true values, those are the outputs `ahead`; fed with its `own` outputs, twice as many.
    """

    settings: tuple[int, int, bool, float]
    numbers: dict[str, float]
    losses: list[float]
    ahead: np.ndarray
    own: np.ndarray

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
        ahead = run(WAVE[:20], w1, w2, carry)[0]
        own = run(WAVE[:40], w1, w2, carry, own=True)[0]
        numbers = {
            "loss": losses[-1],
            "one_step": np.mean((ahead - WAVE[1:21]) ** 2),
            "own": np.mean((own[:20] - WAVE[1:21]) ** 2),
            "own_later": np.mean((own[20:] - WAVE[21:]) ** 2),
        }
    numbers = {name: float(f"{value:.3g}") for name, value in numbers.items()}
    return Demo((hidden, seed, carry, lr), numbers, losses, ahead, own)


def rnn_demo(
    hidden: int = 6, seed: int = 1, carry: bool = True, closed_loop: bool = False, lr: float = 0.1
) -> tuple[dict[str, float], Scene]:
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
    return made.numbers, _scene([(made, closed_loop)], [])


# -- the playground ---------------------------------------------------------------------------------------------------


SIZES, SEEDS = (1, 2, 4, 6, 16), (1, 2, 3, 10, 14)
_EVERY = 5  # epochs between two points of a line of losses


def playground() -> Scene:
    """`rnn_demo` for 50 networks, all of them trained beforehand, which takes a few seconds.

    Choose the size of the memory, the seed, whether the memory is kept, and what the network is fed with.
    """
    kept = {"kept": True, "wiped at each step": False}
    fed = {"true values": False, "its own output": True}
    found = {setting: demo(*setting) for setting in itertools.product(SIZES, SEEDS, kept.values())}
    states = [(found[hidden, seed, carry], own)
              for hidden, seed, carry, own in itertools.product(SIZES, SEEDS, kept.values(), fed.values())]  # fmt: skip
    knobs = [
        Knob("memory size", [str(size) for size in SIZES]), Knob("seed", [str(seed) for seed in SEEDS]),
        Knob("memory", list(kept)), Knob("fed with", list(fed)),
    ]  # fmt: skip
    return _scene(states, knobs, [SIZES.index(6), 0, 0, 0])


def _scene(states: list[tuple[Demo, bool]], knobs: list[Knob], first: Sequence[int] = ()) -> Scene:
    """Each of these networks, with true values as input, or if it says so with its own output."""
    picture = drawing(
        640, 508, "A trained network's output beside the wave, and the loss of each epoch of its training",
        *_waves(states), *_losses(states), *_figures(states),
    )  # fmt: skip
    return Scene(picture, knobs, [each.sentence(own) for each, own in states], first)


def _waves(states: list[tuple[Demo, bool]]) -> Iterator[Part]:
    at, up = Axis(2, 18, 54, 620), Axis(-1.5, 1.5, 228, 28)
    fine = np.linspace(2, 18, 81)
    xs = [at(t) for t in TIMES[1:]]

    def heights(outputs: list[np.ndarray]) -> Each:
        return Each([up(value) for value in np.clip(np.nan_to_num(row), -1.5, 1.5).ravel()] for row in outputs)

    def points(count: int, mark: str) -> list[Part]:
        return [Part(mark, r=4.5) for _ in range(count)]

    yield from upward(up, 54, "sin t", at=(-1, 0, 1))
    yield from across(at, 228, "t (radians)")
    yield curve([at(t) for t in fine], [up(value) for value in np.sin(fine)], "rest")
    yield Part("path", class_="axis", d=f"M{at(10)} 34V228", stroke_dasharray="4 4")
    yield label(at(10) + 8, 24, "never seen →")
    yield label(at(10) - 8, 24, "learned", "end")
    ahead = Part("g", *points(20, "circle"), xs=xs[:20], ys=heights([each.ahead for each, _ in states]), data_n=0)
    own = Part(
        "g", Part("polyline"), *points(40, "circle"), xs=xs, ys=heights([each.own for each, _ in states]), data_n=1
    )
    yield Part("g", ahead, own, class_="host", only=Each((int(own), int(own)) for _, own in states))


def _losses(states: list[tuple[Demo, bool]]) -> Iterator[Part]:
    epochs = list(range(1, 202, _EVERY))
    at, up = Axis(0, 200, 54, 380), Axis(0.002, 9, 452, 318, log=True)
    yield from upward(up, 54, "loss", at=(0.01, 0.1, 1))
    yield from across(at, 452, "epoch", at=(0, 100, 200))
    for name, loss in baselines().items():
        yield Part("path", class_="axis", d=f"M54 {up(loss)}H380", stroke_dasharray="4 4")
        yield label(380, up(loss) - 5, name, "end small")
    losses = [[each.losses[min(epoch, 200) - 1] for epoch in epochs] for each, _ in states]
    ys = Each([up(loss) for loss in np.clip(np.nan_to_num(line, nan=9), 0.002, 9)] for line in losses)
    yield Part("g", Part("polyline"), class_="host", xs=[at(epoch) for epoch in epochs], ys=ys)


def _figures(states: list[tuple[Demo, bool]]) -> Iterator[Part]:
    yield label(412, 330, "loss of the last epoch")
    yield label(412, 352, Each(f"{each.numbers['loss']:g}" for each, _ in states), "bold")
    yield label(412, 384, Each("one step ahead" if not own else "own output, up to t = 10" for _, own in states))
    figure = [each.numbers["own" if own else "one_step"] for each, own in states]
    yield label(412, 406, Each(f"{number:g}" for number in figure), "bold")
    yield label(412, 438, Each("own output, after it" if own else "" for _, own in states))
    yield label(412, 460, Each(f"{each.numbers['own_later']:g}" if own else "" for each, own in states), "bold")
