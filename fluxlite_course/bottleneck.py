"""Who's the busiest in a step of training: the host, the copies, the GPU's computing, or the link between the cards?

A card's step is estimated, as `fluxlite.estimate` does, from shapes alone. The exchange between cards is that of
`links.ring`. So all times are simulated. Not in the model: what the host does on its own, such as reading
files and shuffling.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import fluxlite as fl
from fluxlite.receipts import duration
from simgpu import preset

from .links import link_of, ring
from .scenes import Each, Knob, Part, Scene, drawing, label, rounded

FEEDING = ("copied in each step", "from pinned memory", "a batch ahead", "stays on the GPU")
MOST_STATES = 500
# NVIDIA's Ampere white paper, 2020: bf16 came with that generation's tensor cores, at the rate of float16.
_WITHOUT_BF16 = ("NVIDIA T4", "GTX 1650", "RTX 2080 Ti")
_SHOWN, _SETTLED = 3, 9  # so many steps are drawn; after so many, one is like the next
_WHO = {"host": "The host", "copy": "Copying", "compute": "Computing", "network": "The network"}
_LEFT, _RIGHT, _ROW, _TOP = 150, 632, 54, 66
Example = Callable[[int, int, str], tuple[Any, Any, Any, Any, Any]]


class Work(NamedTuple):
    """What one card's step takes, in seconds: all of it alone, the host's orders, the GPU's computing; and bytes."""

    alone: float
    orders: float
    compute: float
    batch_bytes: int
    gradient_bytes: int


class Step(NamedTuple):
    """A step among many: `seconds`, how long each lane is busy, and the first steps' bars: lane, begin, end, batch."""

    seconds: float
    lanes: dict[str, float]
    bars: list[tuple[str, float, float, int]]

    @property
    def busiest(self) -> str:
        return max(self.lanes, key=lambda lane: self.lanes[lane])


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

    receipt = fl.estimate(step, model, fl.setup(rule, model), x, y, like=preset(card), shapes_only=True).receipt
    moments = receipt.timeline()
    compute = sum((m.end or 0.0) - (m.start or 0.0) for m in moments if m.lane == "compute")
    orders = max(m.went_on or 0.0 for m in moments)
    return Work(float(receipt.seconds), orders, compute, x.nbytes + y.nbytes, fl.destructure(model)[0].nbytes)


def one_step(one: Work, card: str, feeding: str = FEEDING[3], cards: int = 1, link: str = "NVLink") -> Step:
    """A step in the middle of a training: on each of `cards`, `one`, and then the exchange, which all of them wait for.

    Copied in each step, a batch is packed by the host, and its copy stands in one queue with the computing. Pinned
    memory needn't be packed. A batch ahead, the copy runs beside the computing of the batch before.

    >>> digits = Work(1.7e-3, 1.68e-3, 0.4e-3, batch_bytes=18_944, gradient_bytes=7_592)
    >>> one_step(digits, "NVIDIA T4").busiest
    'host'
    """
    costs, copies = preset(card), 2  # x and y
    pack = 0.0 if feeding == FEEDING[3] else copies * costs.launch
    pack += 0.0 if feeding in (FEEDING[1], FEEDING[3]) else one.batch_bytes / costs.staging
    copy = 0.0 if feeding == FEEDING[3] else copies * costs.latency + one.batch_bytes / costs.pinned
    between = link_of(link)
    if between.name == "PCI Express":  # an older card's is slower than that of links.toml, which is of generation 5
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
    return Step(ends[-1] - ends[-2], lanes, bars[: 4 * _SHOWN])


def busiest(
    example: Example = six_layers, *, card: str = "NVIDIA T4", batch: Any = (64, 1024, 16_384), width: Any = 1024,
    precision: Any = "float32", feeding: Any = FEEDING, cards: Any = 1, link: Any = "PCI Express",
) -> Scene:  # fmt: skip
    """Three steps of training, a lane for each worker, and a knob for each setting with several values.

    `example` makes a loss, a model, an optimizer's rule, and data, from a width, rows and a dtype. `batch` is the whole
    batch: with several `cards`, each has its part. ``"bf16"`` stands for 16 bits on tensor cores. Raises `ValueError`
    for more than 500 settings, and for a precision that the card doesn't have.

    >>> busiest(batch=(64, 4096), feeding="stays on the GPU").at(batch="4,096")
    'A step takes 29.5 ms simulated (NVIDIA T4): host 1.22 ms, compute 29.5 ms. Computing is the busiest.'
    """
    wanted = {"batch": batch, "width": width, "precision": precision, "feeding": feeding, "cards": cards, "link": link}
    settings = {name: list(x) if isinstance(x, (tuple, list)) else [x] for name, x in wanted.items()}
    _check(settings, card)
    shown: dict[Any, Work] = {}

    def of(batch: int, width: int, precision: str, feeding: str, cards: int, link: str) -> Step:
        key = width, max(1, batch // cards), precision
        if key not in shown:
            shown[key] = work(example, card, *key)
        return one_step(shown[key], card, feeding, cards, link)

    chosen = [dict(zip(settings, values)) for values in itertools.product(*settings.values())]
    steps = [of(**setting) for setting in chosen]
    gains = [of(**{**setting, "cards": 1}).seconds / step.seconds for setting, step in zip(chosen, steps)]
    knobs = [Knob(name, [f"{x:,}" if isinstance(x, int) else x for x in options]) for name, options in settings.items()]
    said = [_said(step, card, setting, gain) for step, setting, gain in zip(steps, chosen, gains)]
    picture = _drawing(steps, [words for _, _, words in said], card, [setting["precision"] for setting in chosen])
    return Scene(picture, knobs, [" ".join(words) for words in said])


def _check(settings: dict[str, list], card: str) -> None:
    states = math.prod(map(len, settings.values()))
    if states > MOST_STATES:
        raise ValueError(
            f"that's {states} settings, and {MOST_STATES} at most fit into a page: give fewer of something"
        )
    for feeding in settings["feeding"]:
        if feeding not in FEEDING:
            raise ValueError(f"feeding is one of {', '.join(FEEDING)}, not {feeding!r}")
    for link, cards in itertools.product(settings["link"], settings["cards"]):
        if cards > link_of(link).most:
            raise ValueError(f"{link} links up to {link_of(link).most:,} cards, got {cards:,}")
    if "bf16" in settings["precision"] and preset(card).name in _WITHOUT_BF16:
        raise ValueError(f"the {preset(card).name} has no bf16: cards have it since the Ampere generation")


def _said(step: Step, card: str, setting: dict[str, Any], gain: float) -> tuple[str, str, str]:
    lanes = ", ".join(f"{lane} {duration(time)}" for lane, time in step.lanes.items() if time)
    more = f" {setting['cards']} cards are {gain:.2f} times as fast as 1." if setting["cards"] > 1 else ""
    alternate = setting["feeding"] in FEEDING[:2] and step.seconds > 1.1 * max(step.lanes.values())
    turns = " The GPU copies, then computes, never both." if alternate and setting["cards"] == 1 else ""
    first = f"A step takes {duration(step.seconds)} simulated ({card}):"
    return first, f"{lanes}.", f"{_WHO[step.busiest]} is the busiest.{turns}{more}"


# -- The picture --------------------------------------------------------------------------------------------------


_BF16 = "bf16: float16's figures, which are those of the tensor cores"


def _drawing(steps: Sequence[Step], said: list[str], card: str, precisions: list[Any]) -> Part:
    lanes = [lane for lane in _WHO if any(step.lanes[lane] for step in steps)]
    ends, takes = zip(
        *((max(bar[2] for bar in step.bars), f"A step takes {duration(step.seconds)}.") for step in steps)
    )
    bottom = _TOP + _ROW * len(lanes)
    return drawing(
        640, bottom + 32, "A step of training: the host, copies, computing and the network, a lane each",
        label(8, 22, Each(takes), "bold"), label(8, 46, Each(said)),
        *(part for row, lane in enumerate(lanes) for part in _lane(lane, _TOP + _ROW * row, steps, ends)),
        Part("path", class_="axis", d=f"M{_LEFT} {bottom}H{_RIGHT}"),
        label(_RIGHT, bottom + 22, Each(f"{_SHOWN} steps, {duration(end)}, simulated ({card})" for end in ends),
              "end small"),
        label(8, bottom + 22, Each(_BF16 if precision == "bf16" else "" for precision in precisions), "small"),
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
