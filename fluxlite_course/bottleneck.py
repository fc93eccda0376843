"""Who's the busiest in a step of training: the host, the copies, the GPU's computing, or the link between the cards?

All times are simulated: a card's step is what `fluxlite.estimate` says, from shapes alone, and the exchange between
cards is `links.ring`. Not in the model: what the host does on its own, such as reading files and shuffling.
"""

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import fluxlite as fl
from fluxlite.devices.receipts import duration
from simgpu import preset

from .links import link_of, ring
from .scenes import Each, Knob, Part, Scene, drawing, label, rounded

FEEDING = ("copied in each step", "from pinned memory", "a batch ahead", "stays on the GPU")
_SHOWN, _SETTLED = 3, 9  # how many steps are drawn, and after how many one is like the next
_WHO = {"host": "The host", "copy": "Copying", "compute": "Computing", "network": "The network"}
_LEFT, _RIGHT, _ROW, _TOP = 150, 632, 54, 66
Example = Callable[[int, int, str], tuple[Any, Any, Any, Any, Any]]


class Work(NamedTuple):
    """What one card's step takes: the seconds in all, of the host's orders, and of the GPU's computing; and bytes."""

    alone: float
    orders: float
    compute: float
    batch_bytes: int
    gradient_bytes: int


class Step(NamedTuple):
    """A step among many: its time, each lane's time, and the first steps' bars: lane, begin, end, batch."""

    seconds: float
    lanes: dict[str, float]
    bars: list[tuple[str, float, float, int]]
    busiest: str


def six_layers(width: int, rows: int, dtype: str) -> tuple[Any, Any, Any, Any, Any]:
    """Lesson 15's large network: six dense layers with relu, trained by Adam. Loss, model, rule, x and y."""
    layers = (fl.Dense.of(np.zeros((width, width), dtype), np.zeros(width, dtype), fl.relu) for _ in range(6))
    x = np.zeros((rows, width), dtype)
    return lambda m, x, y: fl.mse(m(x), y), fl.Chain(*layers), fl.Adam(), x, x


def work(example: Example, card: str, width: int, rows: int, dtype: str = "float32") -> Work:
    """What a step with `rows` of data takes on one `card`, estimated."""
    loss, model, rule, x, y = example(width, rows, "float16" if dtype == "bf16" else dtype)

    def step(model: Any, opt_state: Any, x: Any, y: Any) -> None:
        fl.update(opt_state, model, fl.gradient(lambda m: loss(m, x, y), model)[0])

    on_the_card = functools.partial(fl.estimate, like=preset(card), shapes_only=True)
    opt_state = on_the_card(lambda m: fl.setup(rule, m), model).result  # its shapes; its zeros would fill gigabytes
    receipt = on_the_card(step, model, opt_state, x, y).receipt
    moments = receipt.timeline()
    compute = sum((m.end or 0.0) - (m.start or 0.0) for m in moments if m.lane == "compute")
    orders = max(m.went_on or 0.0 for m in moments)
    gradient_bytes = sum(array.size * array.dtype.itemsize for _, array in fl.trainables(model))
    return Work(float(receipt.seconds), orders, compute, x.nbytes + y.nbytes, gradient_bytes)


def one_step(one: Work, card: str, feeding: str = FEEDING[3], cards: int = 1, link: str = "NVLink") -> Step:
    """A step in the middle of a training: `one` on each of the `cards`, then the exchange, which they all wait for.

    If a batch is copied in each step, the host packs it, and its copy waits in one queue with the computing. Pinned
    memory needn't be packed. A batch ahead, the copy runs during the computing of the batch before.

    >>> digits = Work(1.7e-3, 1.68e-3, 0.4e-3, batch_bytes=18_944, gradient_bytes=7_592)
    >>> one_step(digits, "NVIDIA T4").busiest
    'host'
    """
    if feeding not in FEEDING:
        raise ValueError(f"feeding is one of {', '.join(FEEDING)}, not {feeding!r}")
    costs, copies, pack, copy = preset(card), 2, 0.0, 0.0  # the copies are x and y
    if feeding != FEEDING[3]:
        pack = copies * costs.launch + (one.batch_bytes / costs.staging if feeding != FEEDING[1] else 0.0)
        copy = copies * costs.latency + one.batch_bytes / costs.pinned
    between = link_of(link)
    if between.name == "PCI Express":  # an older card's is slower than links.toml's, which is generation 5
        between = between._replace(bandwidth=min(between.bandwidth, costs.pinned))
    exchange = float(ring(one.gradient_bytes, cards, between))
    host = copied = computed = ended = 0.0  # when each is free
    ahead, bars, ends = feeding == FEEDING[2], [], []
    for n in range(1, _SETTLED + 1):
        begin = max(host, ended) if cards > 1 else host
        asks, host = begin + pack, begin + pack + one.orders
        arrives = max(asks, copied, computed) + copy
        # The batch that's copied ahead is the next one, so this step needn't wait for it.
        start = max(asks, computed, copied if ahead else arrives)
        bars += [("host", begin, host, n), ("copy", arrives - copy, arrives, n + ahead)]
        done = max(start + one.compute, max(asks, start + one.compute - one.alone) + one.alone)
        copied, computed, ended = arrives, start + one.compute, done + exchange
        if cards > 1:
            computed = ended
        bars += [("compute", start, start + one.compute, n), ("network", done, ended, n)]
        ends.append(ended if cards > 1 else max(host, computed))
    lanes = dict(zip(_WHO, (pack + one.orders, copy, one.compute, exchange)))
    return Step(ends[-1] - ends[-2], lanes, bars[: 4 * _SHOWN], max(lanes, key=lanes.__getitem__))


def busiest(
    example: Example = six_layers, *, card: str = "NVIDIA T4", batch: Any = (64, 1024, 16_384), width: Any = 1024,
    precision: Any = "float32", feeding: Any = FEEDING, cards: Any = 1, link: Any = "PCI Express",
) -> Scene:  # fmt: skip
    """Three steps of training, with a lane for each worker and a knob for each setting that has several values.

    `example` makes a loss, a model, an optimizer's rule, and data, from a width, rows and a dtype. `batch` is the whole
    batch: with several `cards`, each has its part. ``"bf16"`` takes float16's figures: tensor cores compute both alike.
    Raises `ValueError` for an unknown feeding or link, and for more cards than the link joins.

    >>> busiest(batch=(64, 4096), feeding="stays on the GPU").at(batch="4,096")
    'A step takes 29.5 ms simulated (NVIDIA T4): host 1.22 ms, compute 29.5 ms. Computing is the busiest.'
    """
    wanted = {"batch": batch, "width": width, "precision": precision, "feeding": feeding, "cards": cards, "link": link}
    settings = {name: list(x) if isinstance(x, (tuple, list)) else [x] for name, x in wanted.items()}
    works = functools.cache(functools.partial(work, example, card))

    def step(batch: int, width: int, precision: str, feeding: str, cards: int, link: str) -> Step:
        return one_step(works(width, max(1, batch // cards), precision), card, feeding, cards, link)

    chosen = [dict(zip(settings, values)) for values in itertools.product(*settings.values())]
    steps, said, sentences = [step(**setting) for setting in chosen], [], []
    for one, setting in zip(steps, chosen):
        verdict = f"{_WHO[one.busiest]} is the busiest."
        if setting["cards"] > 1:
            gain = step(**{**setting, "cards": 1}).seconds / one.seconds
            verdict += f" {setting['cards']} cards are {gain:.2f} times as fast as 1."
        elif setting["feeding"] in FEEDING[:2] and one.seconds > 1.1 * max(one.lanes.values()):
            verdict += " The GPU copies, then computes, never both."
        lanes = ", ".join(f"{lane} {duration(time)}" for lane, time in one.lanes.items() if time)
        said.append(verdict)
        sentences.append(f"A step takes {duration(one.seconds)} simulated ({card}): {lanes}. {verdict}")
    knobs = [Knob(name, [f"{x:,}" if isinstance(x, int) else x for x in options]) for name, options in settings.items()]
    return Scene(_drawing(steps, said, card), knobs, sentences)


def _drawing(steps: Sequence[Step], said: list[str], card: str) -> Part:
    lanes = [lane for lane in _WHO if any(step.lanes[lane] for step in steps)]
    ends = [max(end for _, _, end, _ in step.bars) for step in steps]
    bottom = _TOP + _ROW * len(lanes)
    # Each setting has a scale of its own, so the axis says how long it is.
    width = Each(f"the whole width is {_SHOWN} steps, {duration(end)}, simulated ({card})" for end in ends)
    return drawing(
        640, bottom + 34, "A step of training: the host, copies, computing and the network, a lane each",
        label(8, 22, Each(f"A step takes {duration(step.seconds)}." for step in steps), "bold"),
        label(8, 46, Each(said)),
        *(part for row, lane in enumerate(lanes) for part in _lane(lane, _TOP + _ROW * row, steps, ends)),
        Part("path", class_="axis", d=f"M{_LEFT} {bottom + 4}v8H{_RIGHT}v-8"),
        label(_RIGHT, bottom + 28, width, "end small"),
    )  # fmt: skip


def _lane(lane: str, y: int, steps: Sequence[Step], ends: Sequence[float]) -> Iterator[Part]:
    times = [step.lanes[lane] for step in steps]
    wins = [step.busiest == lane and time > 0 for step, time in zip(steps, times)]
    shown: Any = Each(None if won else "none" for won in wins)
    yield Part("rect", class_="wait band", x=2, y=y, width=636, height=_ROW - 6, rx=6, display=shown)
    yield label(12, y + 20, lane, "bold")
    yield label(12, y + 40, Each(duration(time) if time else "nothing" for time in times), "small")
    yield label(_LEFT - 10, y + 40, "busiest", "end small bold", display=shown)
    usual = {"host": "host", "network": "rest"}.get(lane, "gpu")
    look = Each("wait glide" if won else f"{usual} glide" for won in wins)
    scales = [(_RIGHT - _LEFT) / end for end in ends]
    for number in range(_SHOWN):
        spans = [[bar for bar in step.bars if bar[0] == lane][number] for step in steps]
        x = rounded(_LEFT + begin * scale for (_, begin, _, _), scale in zip(spans, scales))
        width = rounded((end - begin) * scale for (_, begin, end, _), scale in zip(spans, scales))
        yield Part("rect", class_=look, x=Each(x), y=y + 7, width=Each(width), height=_ROW - 20, rx=3, stroke="none")
        words = Each(batch if wide > 16 else "" for (_, _, _, batch), wide in zip(spans, width))
        yield label(Each(rounded(a + b / 2 for a, b in zip(x, width))), y + 29, words, "inside middle small")
