"""A receipt's events as lanes: what the host asked for, what waited in the queue, what was copied and computed, when.

`lanes` draws one receipt, or several programs' one above the other.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fluxlite.words import many
from simgpu.events import DEVICE_TO_HOST, FIRST_USE, GRAPH, HOST_TO_DEVICE, IN_GRAPH, LAUNCH
from simgpu.profile import Moment, Receipt, bars_of, duration

from .lanes import LEFT, RIGHT, Box, Lanes, Row, Time, film, gaps
from .parts import rounded
from .scene import Scene

MOST_EVENTS = 300  # with more, a page would be too large to carry around
ORDER = ("host", "queue", "copies to", "copies back", "compute")
NAMES = {"copies to": "copy to GPU"}  # what stands at the left, where that isn't the lane's own name
_LANE = {"host": "host", "compute": "compute", "copies in": "copies to", "copies out": "copies back"}
_LOOK = {"order": "host", "load": "load", "wait": "waits"}
_CUT = 26  # how wide loading at a first use is drawn
_TIMES = 48  # at most this many moments
_SAME = 1e-12  # seconds: times are sums, and differ in their last digits


def launches(receipt: Receipt) -> list[Moment]:
    """The launches of a simulated GPU's receipt, in order, each with its times in seconds."""
    found = [moment for moment in receipt.timeline() if moment.kind == LAUNCH]
    orders = []
    for moment in found:  # a call that launches twice shares its times out evenly
        asked, went_on, start, end = (float(time or 0) for time in moment[:4])
        n, order, work = moment.times, (went_on - asked) / moment.times, (end - start) / moment.times
        orders += [
            moment._replace(asked=asked + i * order, went_on=asked + (i + 1) * order, start=start + i * work,
                            end=start + (i + 1) * work, times=1)
            for i in range(n)
        ]  # fmt: skip
    return orders


class Now(NamedTuple):
    """A moment: the line, what the host and the GPU do, whose orders wait, what's being worked on, and all in words."""

    time: float
    line: int
    host: str
    gpu: str
    queue: list[int]
    works: list[int]
    said: str


class Program:
    """What a receipt's first `most` events are, for a picture. `lines` has a program's line of each event, if known.

    A graph is one order; `seams` has, by its number, when each thing in it is done.
    """

    def __init__(self, receipt: Receipt, lines: Sequence[int] = (), most: int = MOST_EVENTS) -> None:
        everything, known, self.seams = _with_graphs_in_one(receipt.timeline(), lines or [0] * len(receipt.timeline()))
        self.moments: list[Any] = everything[:most]
        self.lines = known
        self.more = len(everything) + receipt.events_left_out - len(self.moments)
        self.times = sorted({time or 0.0 for moment in self.moments for time in moment[:4]} | {0.0})
        self.end = self.times[-1]
        bars = [(bar, n) for n, moment in enumerate(self.moments) for bar in bars_of(moment) if bar.end > bar.start]
        self.bars = list(_with_waits_in_one(bars, self.moments))

    @property
    def lanes(self) -> list[str]:
        """The lanes in which there's something, and the host's, the queue's and the computing's."""
        used = {"host", "queue", "compute", *(_LANE[moment.lane] for moment in self.moments)}
        return [lane for lane in ORDER if lane in used]

    def orders(self) -> list[int]:
        """The numbers of the events that are orders to the GPU."""
        return [n for n, moment in enumerate(self.moments) if moment.lane != "host"]

    def idle(self) -> list[tuple[float, float]]:
        """When the GPU neither computes nor copies, from the beginning until all is done."""
        works = [(bar.start, bar.end) for bar, _ in self.bars if bar.lane != "host"]
        return list(gaps(works, 0.0, self.end))

    def boxes(self, prefix: str = "") -> Iterator[Box]:
        """All that's to be drawn, in lanes whose names begin with `prefix`."""
        number = {n: str(order) for order, n in enumerate(self.orders(), 1)}
        for bar, n in self.bars:
            moment, time = self.moments[n], duration(bar.end - bar.start)
            look = _LOOK.get(bar.look, "compute" if bar.lane == "compute" else "copy")
            says = {
                "host": f"the host asks: {name_of(moment)}, {time}",
                "load": f"the host loads {moment.name}, once: {time}",
                "waits": f"the host waits for {name_of(moment)}: {time}, {moment.line}",
            }.get(look, f"{name_of(moment)}: {time}")
            mark = "" if prefix or look in ("load", "waits") else number.get(n, "")
            seams = self.seams.get(n, [])[:-1] if look == "compute" else []
            yield Box(prefix + _LANE[bar.lane], bar.start, bar.end, look, says.rstrip(", "), mark, seams=seams)
        for begin, end in self.idle():
            says = f"the GPU has no order to work on: {duration(end - begin)}"
            yield Box(f"{prefix}compute", begin, end, "waits", says)

    def queue(self) -> Iterator[Box]:
        """How many orders wait in the queue, from time to time."""
        changes = [(begin, end, len(self.waiting(begin))) for begin, end in zip(self.times, self.times[1:])]
        most = max((count for *_, count in changes), default=1) or 1
        for count, group in itertools.groupby(changes, key=lambda change: change[2]):
            spans = list(group)
            if count:
                says = f"{many(count, 'order')} in the queue"
                yield Box("queue", spans[0][0], spans[-1][1], "queue", says, str(count), 0.2 + 0.8 * count / most)

    def waiting(self, time: float) -> list[int]:
        """Whose orders wait in the queue."""
        return [n for n, moment in enumerate(self.moments) if queue_time(moment) <= time < moment.start]

    def now(self, time: float) -> Now:
        """What's going on at this time."""
        host, gpu = "has asked for all", "waits for orders"
        if time >= self.end:
            host = gpu = "goes on" if self.more else "is done"
        at = ""
        line = self.lines[max((n for n, moment in enumerate(self.moments) if moment.asked <= time), default=0)]
        for bar, n in self.bars:
            if bar.lane == "host" and bar.start <= time < bar.end:
                moment = self.moments[n]
                does = {"load": f"loads {moment.name.split()[0][:14]}", "wait": "waits"}
                at = f"in line {line}, " if line else ""
                host = does.get(bar.look, f"asks: {name_of(moment)}")
        queue = self.waiting(time)
        works = [n for n in self.orders() if self.moments[n].start <= time < self.moments[n].end]
        if works:
            gpu = f"works: {name_of(self.moments[works[-1]])}"
        elif queue:
            gpu = "is about to begin"
        said = f"{at}the host {host}; orders in the queue: {len(queue)}; the GPU {gpu}."
        return Now(time, line, host, gpu, queue, works, said)

    def where(self) -> Callable[[float], float] | None:
        """Where a time is, if loading at a first use has to be cut short. Else None: the axis is even."""
        loads = [moment for moment in self.moments if moment.kind == FIRST_USE]
        if not loads:
            return None
        pieces = list(zip(self.times, self.times[1:]))
        cut = [any(load.asked <= a and b <= load.went_on for load in loads) for a, b in pieces]
        rest = sum(b - a for (a, b), is_cut in zip(pieces, cut) if not is_cut) or 1.0
        each = min(_CUT, 0.5 * (RIGHT - LEFT) / max(sum(cut), 1))
        scale = (RIGHT - LEFT - each * sum(cut)) / rest
        ways = [each if is_cut else (b - a) * scale for (a, b), is_cut in zip(pieces, cut)]
        places = list(itertools.accumulate(ways, initial=LEFT))
        return lambda time: rounded([np.interp(time, self.times, places)])[0]


def _with_graphs_in_one(
    everything: list[Moment], lines: Sequence[int]
) -> tuple[list[Moment], list[int], dict[int, list[float]]]:
    """The events and their lines, where a graph is one order; and by its number, when each thing in it is done."""
    moments: list[Moment] = []
    kept: list[int] = []
    seams: dict[int, list[float]] = {}
    for moment, line in zip(everything, lines):
        if moment.kind == IN_GRAPH and moments and moments[-1].kind == GRAPH:
            graph, inside = moments[-1], seams.setdefault(len(moments) - 1, [])
            start: Any = graph.start if inside else moment.start
            moments[-1] = graph._replace(start=start, end=moment.end, lane="compute")
            length = ((moment.end or 0) - (moment.start or 0)) / moment.times
            inside += [(moment.start or 0) + (n + 1) * length for n in range(moment.times)]
        else:
            moments.append(moment)
            kept.append(line)
    return moments, kept, seams


def _with_waits_in_one(bars: list[tuple[Any, int]], moments: Sequence[Moment]) -> Iterator[tuple[Any, int]]:
    """The bars, but for a number that's read, one wait: for the GPU, and then for the copy."""
    waits = [(bar, moments[n].kind == DEVICE_TO_HOST) for bar, n in bars if bar.look == "wait"]
    copies = [bar for bar, is_copy in waits if is_copy]
    copy_of = {id(bar): copy for bar, is_copy in waits if not is_copy
               for copy in copies if abs(copy.start - bar.end) < _SAME}  # fmt: skip
    joined = {id(copy) for copy in copy_of.values()}
    for bar, n in bars:
        if id(bar) in joined:
            continue
        copy = copy_of.get(id(bar))
        yield bar if copy is None else bar._replace(end=copy.end), n


def queue_time(moment: Moment) -> float:
    """When its order enters the queue. A copy back waits there from the beginning, and the host with it."""
    return moment.asked if moment.kind == DEVICE_TO_HOST else moment.went_on or 0.0


def name_of(moment: Moment) -> str:
    """What an event is, in a word or two: a function's name, or a copy and its size."""
    if moment.kind == GRAPH:
        return " ".join(moment.name.split()[:3])  # graph of 26
    return f"copy {size(moment.bytes)}" if moment.kind in (HOST_TO_DEVICE, DEVICE_TO_HOST) else moment.name[:12]


def size(nbytes: int) -> str:
    """A number of bytes, with its unit.

    >>> size(12), size(400_000)
    ('12 B', '400 kB')
    """
    power = 0 if nbytes < 1000 else 1 if nbytes < 999_500 else 2
    return f"{nbytes / 1000**power:.3g} {('B', 'kB', 'MB')[power]}"


def times_of(programs: Sequence[Program]) -> list[float]:
    """The moments of a film: whenever something begins or ends, or even ones if that's too often."""
    times = sorted({round(time, 12) for program in programs for time in program.times})
    if len(times) <= _TIMES:
        return times
    return [times[-1] * number / (_TIMES - 1) for number in range(_TIMES)]


def moments_of(times: Sequence[float]) -> list[Time]:
    """These times for `film`, on one axis that ends with the last."""
    return [Time(duration(time), [time], [times[-1] or 1e-9]) for time in times]


def lanes(programs: Receipt | Mapping[str, Receipt], count: int = MOST_EVENTS) -> Scene:
    """What ran when, from the first `count` events of a receipt; or of several, one program above the other.

    It needs the times of a simulated GPU: raises `ValueError` for a receipt without events, or without those.

    >>> r = fl.estimate(lambda x: float((x + x).sum()), np.ones(4, np.float32)).receipt
    >>> lanes({"a sum": r}).sentences[-1]
    'After 63 µs simulated (NVIDIA T4): a sum is done, with 1 wait of the host, 28 µs; the GPU had no order for 44 µs.'
    """
    receipts = {"": programs} if isinstance(programs, Receipt) else dict(programs)
    if any(not receipt.timeline() or receipt.timeline()[0].start is None for receipt in receipts.values()):
        raise ValueError("lanes need events of a simulated GPU: when a real one works isn't visible on this device")
    found = {name: Program(receipt, most=min(count, MOST_EVENTS)) for name, receipt in receipts.items()}
    times, card = times_of(list(found.values())), next(iter(receipts.values())).seconds.card
    rows, boxes = [], []
    for number, (name, program) in enumerate(found.items()):
        # With several programs there's no room for each one's queue.
        kept = [lane for lane in program.lanes if lane != "queue" or len(found) == 1]
        prefix = "" if len(found) == 1 else f"{number} "
        rows += [
            Row(prefix + lane, NAMES.get(lane, lane), heading=name if n == 0 else "") for n, lane in enumerate(kept)
        ]
        boxes += [*program.boxes(prefix), *(program.queue() if len(found) == 1 else ())]
    if len(found) == 1 and "" in found:
        said = [_in_words(time, program, card) for time in times]
    else:
        said = [_summary(time, found, card) for time in times]
    only = next(iter(found.values()))
    return film(
        f"What ran when, a lane each, simulated ({card})", Lanes(rows), [boxes], moments_of(times), said,
        about=f"simulated ({card})", where=only.where() if len(found) == 1 else None, first=[len(times) - 1],
    )  # fmt: skip


def _in_words(time: float, program: Program, card: str | None) -> str:
    rest = f" The first {len(program.moments)} events; {program.more:,} more followed." if program.more else ""
    return f"After {duration(time)} simulated ({card}): {program.now(time).said}{rest}"


def _summary(time: float, programs: Mapping[str, Program], card: str | None) -> str:
    """What each program has waited for by then."""
    said = []
    for name, program in programs.items():
        waits = [bar for bar, _ in program.bars if bar.look == "wait" and bar.start < time]
        lost = sum(min(bar.end, time) - bar.start for bar in waits)
        idle = sum(min(end, time) - begin for begin, end in program.idle() if begin < time)
        count = len(waits)
        is_done = "is done" if time >= program.end else "isn't done"
        had = f"with {many(count, 'wait')} of the host, {duration(lost)}" if count else "and the host never waited"
        said.append(f"{name} {is_done}, {had}; the GPU had no order for {duration(idle)}")
    return f"After {duration(time)} simulated ({card}): {'. '.join(said)}."
