"""Who's the busiest in a step of training: the host, the copies, the GPU's computing, or the link between the cards?

All times are simulated: a card's step is what `fluxlite.estimate` says, from shapes alone, and the exchange between
cards is `links.ring`. That a shuffled batch has to be gathered is in the model; that files have to be read isn't.
"""

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import fluxlite as fl
from fluxlite.devices.receipts import duration
from fluxlite.words import many
from simgpu import preset

from .links import link_of, ring
from .scenes import Each, Knob, Part, Scene, drawing
from .scenes.axes import Axis
from .scenes.lanes import FOOT, LEFT, RIGHT, Box, Lanes, Row, gaps
from .scenes.receipts import launches

FEEDING = ("copied in each step", "from pinned memory", "a batch ahead", "stays on the GPU")
ORDERS = ("in order", "shuffled")
_SHOWN, _SETTLED = 3, 9  # how many steps are drawn, and after how many one is like the next
_WHO = {"host": "The host", "copy": "Copying", "compute": "Computing", "network": "The network"}
_WHAT = {"host": "the host", "copy": "copies to the GPU", "compute": "computing", "network": "the network"}
_NARROW, _FULL = 5, 0.97  # pixels, and the share of the time from which on nobody sees gaps
Example = Callable[[int, int, str], tuple[Any, Any, Any, Any, Any]]


class Piece(NamedTuple):
    """A launch: its name, when the host asks and goes on, and how long the GPU computes."""

    name: str
    asked: float
    went_on: float
    seconds: float


class Work(NamedTuple):
    """What one card's step takes: the seconds in all, of the host's orders, and of the GPU's computing; and bytes.

    `pieces` are its launches. They only matter for the picture.
    """

    alone: float
    orders: float
    compute: float
    batch_bytes: int
    gradient_bytes: int
    pieces: tuple[Piece, ...] = ()


class Step(NamedTuple):
    """A step among many: its time, each lane's time, the first steps' boxes, and who's the busiest."""

    seconds: float
    lanes: dict[str, float]
    boxes: list[Box]
    busiest: str

    @property
    def end(self) -> float:
        """When the first steps are done."""
        return max(box.end for box in self.boxes)


def six_layers(width: int, rows: int, dtype: str) -> tuple[Any, Any, Any, Any, Any]:
    """Lesson 15's large network: six dense layers with relu, trained by Adam. Loss, model, rule, x and y."""
    layers = (fl.Dense.of(np.zeros((width, width), dtype), np.zeros(width, dtype), fl.relu) for _ in range(6))
    x = np.broadcast_to(np.zeros((), dtype), (rows, width))  # only its shape counts, and it may have a GB
    return lambda m, x, y: fl.mse(m(x), y), fl.Chain(*layers), fl.Adam(), x, x


def work(
    example: Example, card: str, width: int, rows: int, dtype: str = "float32", gathers: bool = False
) -> Work:  # fmt: skip
    """What a step with `rows` of data takes on one `card`, estimated. If it `gathers`, it first picks these rows."""
    loss, model, rule, x, y = example(width, rows, "float16" if dtype == "bf16" else dtype)
    order = np.arange(rows)

    def step(model: Any, opt_state: Any, x: Any, y: Any, order: Any) -> None:
        if gathers:
            x, y = x[order], y[order]
        fl.update(opt_state, model, fl.gradient(lambda m: loss(m, x, y), model)[0])

    on_the_card = functools.partial(fl.estimate, like=preset(card), shapes_only=True)
    opt_state = on_the_card(lambda m: fl.setup(rule, m), model).result  # its shapes; its zeros would fill gigabytes
    receipt = on_the_card(step, model, opt_state, x, y, order).receipt
    moments = receipt.timeline()
    compute = sum((m.end or 0.0) - (m.start or 0.0) for m in moments if m.lane == "compute")
    orders = max(m.went_on or 0.0 for m in moments)
    gradient_bytes = sum(array.size * array.dtype.itemsize for _, array in fl.trainables(model))
    pieces = tuple(Piece(m.name, m.asked or 0.0, m.went_on or 0.0, (m.end or 0.0) - (m.start or 0.0))
                   for m in launches(receipt))  # fmt: skip
    return Work(float(receipt.seconds), orders, compute, x.nbytes + y.nbytes, gradient_bytes, pieces)


def one_step(
    one: Work, card: str, feeding: str = FEEDING[3], cards: int = 1, link: str = "NVLink", order: str = ORDERS[0]
) -> Step:  # fmt: skip
    """A step in the middle of a training: `one` on each of the `cards`, then the exchange, which they all wait for.

    If a batch is copied in each step, the host packs it, and its copy waits in one queue with the computing. Pinned
    memory needn't be packed. A batch ahead, the copy runs during the computing of the batch before. A shuffled batch
    lies all over the data: before it goes anywhere, the host gathers it, as quickly as it copies within its memory.
    What stays on the GPU is gathered there, and that's in a `work` that gathers.

    >>> digits = Work(1.7e-3, 1.68e-3, 0.4e-3, batch_bytes=18_944, gradient_bytes=7_592)
    >>> one_step(digits, "NVIDIA T4").busiest
    'host'
    """
    if feeding not in FEEDING:
        raise ValueError(f"feeding is one of {', '.join(FEEDING)}, not {feeding!r}")
    if order not in ORDERS:
        raise ValueError(f"order is one of {', '.join(ORDERS)}, not {order!r}")
    costs, copies, pack, copy = preset(card), 2, 0.0, 0.0  # the copies are x and y
    if feeding != FEEDING[3]:
        times = (feeding != FEEDING[1]) + (order == ORDERS[1])  # packed, gathered: each goes from memory to memory
        pack = copies * costs.launch + times * one.batch_bytes / costs.staging
        copy = copies * costs.latency + one.batch_bytes / costs.pinned
    between = link_of(link)
    if between.name == "PCI Express":  # an older card's is slower than links.toml's, which is generation 5
        between = between._replace(bandwidth=min(between.bandwidth, costs.pinned))
    exchange = float(ring(one.gradient_bytes, cards, between))
    host = copied = computed = ended = 0.0  # when each is free
    ahead, ends, drawn = feeding == FEEDING[2], [], _Drawn(one, order == ORDERS[1])
    for n in range(1, _SETTLED + 1):
        begin = max(host, ended) if cards > 1 else host
        asks, host = begin + pack, begin + pack + one.orders
        arrives = max(asks, copied, computed) + copy
        # The batch that's copied ahead is the next one, so this step needn't wait for it.
        start = max(asks, computed, copied if ahead else arrives)
        done = max(start + one.compute, max(asks, start + one.compute - one.alone) + one.alone)
        copied, computed, ended = arrives, start + one.compute, done + exchange
        if cards > 1:
            computed = ended
        if n <= _SHOWN:
            drawn.step(n, begin, asks, start)
            drawn.other("copy", arrives - copy, arrives, n + ahead)
            drawn.other("network", done, ended, n)
        ends.append(ended if cards > 1 else max(host, computed))
    lanes = dict(zip(_WHO, (pack + one.orders, copy, one.compute, exchange)))
    return Step(ends[-1] - ends[-2], lanes, drawn.all(), max(lanes, key=lanes.__getitem__))


class _Drawn:
    """The boxes of a card's first steps."""

    def __init__(self, one: Work, gathers: bool = False) -> None:
        self.packs = "gathers and packs" if gathers else "packs"
        self.pieces = one.pieces or (Piece("step", 0.0, one.orders, one.compute),)
        self.orders: list[list[Box]] = []
        self.computed: list[list[Box]] = []
        self.others: list[Box] = []  # the host's packing, copies, exchanges
        self.free = 0.0  # when the GPU is

    def step(self, n: int, begin: float, asks: float, start: float) -> None:
        """Step `n`, whose host begins, and asks from `asks` on; its computing begins at `start` at the earliest."""
        if asks > begin:
            self.others.append(Box("host", begin, asks, "host", f"the host {self.packs} batch {n}", str(n)))
        self.orders.append([])
        self.computed.append([])
        self.free = max(self.free, start)
        for piece in self.pieces:
            asked, went_on = asks + piece.asked, asks + piece.went_on
            self.orders[-1].append(Box("host", asked, went_on, "host", f"the host asks: {piece.name}", str(n)))
            self.free = max(self.free, went_on)
            self.computed[-1].append(
                Box("compute", self.free, self.free + piece.seconds, "compute", piece.name, str(n))
            )
            self.free += piece.seconds

    def other(self, lane: str, begin: float, end: float, n: int) -> None:
        """A copy, or an exchange between cards."""
        if end > begin:
            look, says = ("copy", "the copy of batch") if lane == "copy" else ("link", "the exchange of step")
            self.others.append(Box(lane, begin, end, look, f"{says} {n}", str(n)))

    def all(self) -> list[Box]:
        """A box for each step in each lane, and between them what waits."""
        steps = [*self.orders, *self.computed]
        end = max(box.end for step in steps for box in step)
        scale = (RIGHT - LEFT) / end
        found = [*(_joined(step, scale) for step in steps), *self.others]
        for lane, who in (("host", "the host"), ("compute", "the GPU")):
            works = [(box.begin, box.end) for box in found if box.lane == lane]
            until = max(box.end for step in steps for box in step if box.lane == lane)
            waits = [(a, b) for a, b in gaps(works, 0.0, until) if (b - a) * scale > 1]
            found += [Box(lane, a, b, "waits", f"{who} waits") for a, b in waits]
        return found


def _joined(step: list[Box], scale: float) -> Box:
    """A step's boxes in a lane as one, at so many pixels a second: readable at a glance, whatever is in it.

    It's as long as all that it stands for. The seams between its launches are its texture, where there's room.
    """
    begin, span = step[0].begin, step[-1].end - step[0].begin
    spent = sum(box.end - box.begin for box in step)
    ends = [begin + so_far for so_far in itertools.accumulate(box.end - box.begin for box in step[:-1])]
    if step[0].lane == "host" or spent > _FULL * span:  # between two orders, the host does its own work
        spent = span
        ends = [box.end for box in step[:-1]]
    has_room = spent * scale / len(step) >= _NARROW
    seams = tuple(ends) if has_room else ()
    says = f"step {step[0].mark}: {many(len(step), 'launch', 'launches')}, {duration(spent)} in all"
    return step[0]._replace(end=begin + spent, says=says, seams=seams)


def busiest(
    example: Example = six_layers, *, card: str = "NVIDIA T4", batch: Any = (64, 1024, 16_384), width: Any = 1024,
    precision: Any = "float32", feeding: Any = FEEDING, order: Any = ORDERS[0], cards: Any = 1,
    link: Any = "PCI Express",
) -> Scene:  # fmt: skip
    """Three steps of training, with a lane for each worker and a knob for each setting that has several values.

    `example` makes a loss, a model, an optimizer's rule, and data, from a width, rows and a dtype. `batch` is the whole
    batch: with several `cards`, each has its part. ``"bf16"`` takes float16's figures: tensor cores compute both alike.
    `order` is ``"in order"``, ``"shuffled"`` or both. Raises `ValueError` for an unknown feeding, order or link, and
    for more cards than the link joins.

    >>> busiest(batch=(64, 4096), feeding="stays on the GPU").at(batch="4,096")
    'A step takes 29.5 ms simulated (NVIDIA T4): host 1.22 ms, compute 29.5 ms. Computing is the busiest.'
    """
    wanted = {"batch": batch, "width": width, "precision": precision, "feeding": feeding, "order": order,
              "cards": cards, "link": link}  # fmt: skip
    settings = {name: list(x) if isinstance(x, (tuple, list)) else [x] for name, x in wanted.items()}
    works = functools.cache(functools.partial(work, example, card))

    def step(batch: int, width: int, precision: str, feeding: str, order: str, cards: int, link: str) -> Step:
        gathers = order == ORDERS[1] and feeding == FEEDING[3]
        one = works(width, max(1, batch // cards), precision, gathers)
        return one_step(one, card, feeding, cards, link, order)

    chosen = [dict(zip(settings, values)) for values in itertools.product(*settings.values())]
    steps, sentences = [step(**setting) for setting in chosen], []
    for one, setting in zip(steps, chosen):
        verdict = f"{_WHO[one.busiest]} is the busiest."
        if setting["cards"] > 1:
            gain = step(**{**setting, "cards": 1}).seconds / one.seconds
            verdict += f" {setting['cards']} cards are {gain:.2f} times as fast as 1."
        elif setting["feeding"] in FEEDING[:2] and one.seconds > 1.1 * max(one.lanes.values()):
            verdict += " The GPU copies, then computes, never both."
        lanes = ", ".join(f"{lane} {duration(time)}" for lane, time in one.lanes.items() if time)
        sentences.append(f"A step takes {duration(one.seconds)} simulated ({card}): {lanes}. {verdict}")
    knobs = [Knob(name, [f"{x:,}" if isinstance(x, int) else x for x in options]) for name, options in settings.items()]
    return Scene(_drawing(steps, card), knobs, sentences)


def _whole_pixels(end: float) -> Callable[[float], float]:
    """Where a time is. Lesson 15's picture has hundreds of settings, so digits count."""
    axis = Axis(0, end, LEFT, RIGHT)
    return lambda time: round(axis(time))


def _drawing(steps: Sequence[Step], card: str) -> Part:
    """The lanes of each setting, each on a scale of its own, and a frame around the busiest one."""
    rows = []
    for lane in [lane for lane in _WHO if any(step.lanes[lane] for step in steps)]:
        times = [duration(step.lanes[lane]) if step.lanes[lane] else "nothing" for step in steps]
        busy = [f"{time}, busiest" if step.busiest == lane else time for time, step in zip(times, steps)]
        rows.append(Row(lane, "copy to GPU" if lane == "copy" else lane, Each(busy)))
    lanes = Lanes(rows, top=10)
    known: dict[tuple[Box, ...], int] = {}  # one card has no link, so many settings look alike
    which = [known.setdefault(tuple(step.boxes), len(known)) for step in steps]
    ends = dict(zip(which, (step.end for step in steps)))
    groups = [Part("g", *lanes.boxes(boxes, _whole_pixels(ends[n])), data_n=n) for boxes, n in known.items()]
    waits = any(box.look == "waits" for step in steps for box in step.boxes)
    about = Each(f"the whole width is {_SHOWN} steps, {duration(step.end)}, simulated ({card})" for step in steps)
    title = f"Three steps of training, a lane each: {', '.join(_WHAT[row.lane] for row in rows)}"
    picture = drawing(
        640, lanes.bottom + FOOT, title,
        *lanes.busiest([step.busiest for step in steps]), *lanes.names(), *lanes.key(about, waits),
        Part("path", class_="axis", d=f"M{LEFT} {lanes.bottom + 4}v8H{RIGHT}v-8"),
        Part("g", *groups, only=Each((n, n) for n in which)),
    )  # fmt: skip
    picture.attributes["role"] = "group"
    return picture
