"""The living machine: what a cell did, moment by moment, from its receipt. ``%%machine`` above a cell shows it."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from simgpu.events import DEVICE_TO_HOST, FIRST_USE, GRAPH, HOST_TO_DEVICE, IN_GRAPH
from simgpu.profile import Moment, Receipt, bars_of, duration

from .parts import Each, Part, drawing, label, rounded
from .scene import Knob, Scene

MOST_EVENTS, MOST_LINES = 40, 16  # with more, a page would be too large, and nobody would look at the rest
QUESTION = "Where does the first copy go?"
GUESSES = ("not yet", "to the GPU", "back to the host", "no copy at all")
_LANES = ("host", "queue", "compute", "copies in", "copies out")
_LEFT, _RIGHT, _LANE, _CUT = 104, 632, 31, 26
_HOST, _GPU, _BOX, _HIGH = 8, 434, 198, 172  # where the two boxes begin, how wide and how high they are
_ARROWS = {HOST_TO_DEVICE: "M214 {}h204l-12 -9v18l12 -9", DEVICE_TO_HOST: "M426 {}h-204l12 -9v18l-12 -9"}


class _Now(NamedTuple):
    """A moment of the picture: the line, what the host and the GPU do, whose orders wait, what's being worked on."""

    time: float
    line: int
    host: str
    gpu: str
    queue: list[int]
    works: list[int]
    said: str


def machine(receipt: Receipt, source: str, lines: Sequence[int], guess: bool = False, used: int = 0) -> Scene:
    """What a cell did: its `source`, two memories, the queue, the lanes. `lines` has the cell's line of each event.

    `used` is how many bytes of the GPU's memory were in use before. With `guess`, you say where the first copy goes
    before you see it. The receipt has events of a simulated GPU, with their times.

    >>> r = fl.estimate(lambda x: x + x, np.ones(4, np.float32)).receipt
    >>> machine(r, "y = x + x", lines=[1])
    After 0 s simulated (NVIDIA T4): in line 1, the host asks: add; orders in the queue: 0; the GPU waits for orders.
    """
    everything, lines, seams = _with_graphs_in_one(receipt.timeline(), lines)
    moments = everything[:MOST_EVENTS]
    nows = _nows(moments, lines)
    more = len(everything) + receipt.events_left_out - len(moments)
    rest = f"The first {MOST_EVENTS} events; {more:,} more followed." if more else ""
    said = [f"After {duration(now.time)} simulated ({receipt.seconds.card}): {now.said} {rest}".strip() for now in nows]
    knobs = [Knob("time", [duration(now.time) for now in nows], slider=True, ms=600)]
    code = source.rstrip().splitlines()[:MOST_LINES]
    top, again = 24 + 21 * len(code), len(GUESSES) if guess else 1
    lanes = [lane for lane in _LANES if lane in {"host", "queue", "compute", *(moment.lane for moment in moments)}]
    parts = [*_outcome(moments, nows * again, len(code), top),
             *_lanes(moments, nows * again, lanes, seams, top + _HIGH + (44 if guess else 16))]  # fmt: skip
    if guess:
        knobs = [Knob(QUESTION, GUESSES), *knobs]
        verdicts = [_verdict(moments, option) for option in GUESSES for _ in nows]
        said = [f"{verdict} {sentence if n >= len(nows) else ''}".strip() for n, (verdict, sentence) in
                enumerate(zip(verdicts, said * again))]  # fmt: skip
        only = Each((int(n >= len(nows)),) * 2 for n in range(len(verdicts)))
        parts = [Part("g", _choices(top), Part("g", *parts, data_n=1), only=only)]
        parts.append(label(320, top + _HIGH + 28, Each(verdicts), "bold middle"))
    bottom = top + _HIGH + (44 if guess else 16) + _LANE * len(lanes) + 20
    is_cut = any(moment.kind == FIRST_USE for moment in moments)
    key = f"pale orange: waits for orders.{' Dotted: loading, only once, and drawn short.' * is_cut}"
    words = [label(_RIGHT, bottom, f"simulated ({receipt.seconds.card})", "end small")]
    words.append(label(8, bottom, rest or key, "small"))  # there's no room for both
    title = f"A cell, and what it did on the host and on the GPU, simulated ({receipt.seconds.card})"
    shown = [label(30, 18 + 21 * n, line[:70].replace(" ", "\xa0"), "code") for n, line in enumerate(code)]
    picture = drawing(640, bottom + 10, title, *_boxes(top, used), *shown, *parts, *words)
    if guess:  # before the guess, the picture ends below the question
        ends = (top + _HIGH + 40, bottom + 10)
        picture.attributes["viewBox"] = Each(f"0 0 640 {ends[n >= len(nows)]}" for n in range(len(said)))
    return Scene(picture, knobs, said)


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


def _nows(moments: list[Any], lines: Sequence[int]) -> list[_Now]:
    """A state for each time at which something begins or ends."""
    times = sorted({time or 0.0 for moment in moments for time in moment[:4]} | {0.0})
    bars = [(bar, moment) for moment in moments for bar in bars_of(moment) if bar.lane == "host"]
    found = []
    for time in times:
        host, gpu = ("is done",) * 2 if time == times[-1] else ("has asked for all", "waits for orders")
        at = ""
        line = lines[max((n for n, moment in enumerate(moments) if moment.asked <= time), default=0)]
        for bar, moment in bars:
            if bar.start <= time < bar.end:
                does = {"load": f"loads {moment.name.split()[0][:14]}", "wait": "waits"}
                at, host = f"in line {line}, ", does.get(bar.look, f"asks: {_name(moment)}")
        queue = [n for n, moment in enumerate(moments) if _queue_time(moment) <= time < moment.start]
        works = [n for n, moment in enumerate(moments) if moment.lane != "host" and moment.start <= time < moment.end]
        gpu = f"works: {_name(moments[works[-1]])}" if works else "is about to begin" if queue else gpu
        said = f"{at}the host {host}; orders in the queue: {len(queue)}; the GPU {gpu}."
        found.append(_Now(time, line, host, gpu, queue, works, said))
    return found


def _queue_time(moment: Moment) -> float:
    """When its order enters the queue. A copy back waits there from the beginning, and the host with it."""
    return moment.asked if moment.kind == DEVICE_TO_HOST else moment.went_on or 0.0


def _name(moment: Moment) -> str:
    if moment.kind == GRAPH:
        return " ".join(moment.name.split()[:3])  # graph of 26
    return f"copy {_size(moment.bytes)}" if moment.lane != "compute" else moment.name[:12]


def _size(nbytes: int) -> str:
    power = 0 if nbytes < 1000 else 1 if nbytes < 999_500 else 2
    return f"{nbytes / 1000**power:.3g} {('B', 'kB', 'MB')[power]}"


def _verdict(moments: list[Moment], guess: str) -> str:
    if guess == GUESSES[0]:
        return f"{QUESTION} Click, then press ▶."
    kind: Any = next((moment.kind for moment in moments if moment.kind in _ARROWS), None)
    right = dict(zip(_ARROWS, GUESSES[1:])).get(kind, GUESSES[3])
    happens = f"The first copy goes {right}." if kind else "Nothing is copied."
    return f"✓ You're right. {happens}" if guess == right else f"✗ Not this time. {happens}"


def _boxes(top: int, used: int) -> Iterator[Part]:
    before = f"{_size(used)} in use before" if used else "memory"
    for x, name, memory in ((_HOST, "host", "memory"), (_GPU, "GPU", before)):
        yield Part("rect", class_=f"{name.lower()} line", x=x, y=top, rx=10, width=_BOX, height=_HIGH)
        yield label(x + 12, top + 24, name, f"bold {name.lower()}")
        yield label(x + _BOX - 12, top + 23, memory, "end small")
        yield Part("path", class_="grid", d=f"M{x + 10} {top + 124}h{_BOX - 20}")


def _choices(top: int) -> Part:
    """The three answers, to click on, in the gap between the boxes."""
    shapes = (_ARROWS[HOST_TO_DEVICE].format(0), _ARROWS[DEVICE_TO_HOST].format(0), "M311 -9l18 18m0 -18l-18 18")
    choices = [Part(
        "g", Part("rect", class_="hollow rest", x=212, y=-26, width=216, height=48, rx=8),
        label(320, -7, words, "middle"), Part("path", class_="line rest", d=shape, transform="translate(0 9)"),
        data_pick=f"0:{n + 1}", transform=f"translate(0 {top + 32 + 56 * n})",
    ) for n, (shape, words) in enumerate(zip(shapes, GUESSES[1:]))]  # fmt: skip
    return Part("g", *choices, data_n=0)


def _outcome(moments: list[Moment], nows: list[_Now], code: int, top: int) -> Iterator[Part]:
    """The line that runs, what the host and the GPU do now, orders and copies on their way, and the lanes."""
    line = Each(f"translate(0 {21 * (min(max(now.line, 1), code) - 1)})" for now in nows)
    running = Part("rect", class_="host faint", x=4, y=3, width=632, height=21, rx=4), label(12, 18, "▸", "host")
    yield Part("g", *running, transform=line, class_="glide")
    waits = Each(None if now.host == "waits" else "none" for now in nows)
    yield Part("rect", class_="wait line glow", x=_HOST, y=top, rx=10, width=_BOX, height=_HIGH, display=waits)
    looks = Each("bold wait" if now.host == "waits" else None for now in nows)
    yield label(_HOST + 12, top + 153, Each(now.host for now in nows), looks)
    looks = Each("bold wait" if now.gpu == "waits for orders" else None for now in nows)
    x = Each(_GPU + (46 if now.works else 12) for now in nows)
    yield label(x, top + 153, Each(now.gpu for now in nows), looks)
    yield label(320, top + 128, Each(f"queue: {len(now.queue)}" for now in nows), "middle small")
    landed = dict.fromkeys(_ARROWS, 0)
    for number, n in enumerate(_orders(moments), 1):
        yield _moving(str(number), 27, [_ticket(now, n, moments[n], top + 137) for now in nows])
        kind = moments[n].kind
        if kind in landed:
            dashes = None if moments[n].explicit else "5 4"
            flies = Each(None if n in now.works else "none" for now in nows)
            arrow = _ARROWS[kind].format(top + 79)
            yield Part("path", class_="rest line", d=arrow, display=flies, stroke_dasharray=dashes)
            places = [_parcel(now, moments[n], min(landed[kind], 5), top + 36) for now in nows]
            yield _moving(_size(moments[n].bytes), 84, places, dashes)
            landed[kind] += 1


def _ticket(now: _Now, n: int, moment: Moment, y: int) -> tuple[int, int, str]:
    """Where an order is: with the host, in the queue, or with the GPU; without a look where it can't be seen."""
    if now.time < _queue_time(moment):
        return _HOST + _BOX - 34, y, "host" if now.time >= moment.asked else ""
    if n in now.queue:
        place = now.queue.index(n)
        return _GPU - 34 - 29 * min(place, 6), y, "host" if place < 7 else ""
    return _GPU + 12, y, "gpu" if n in now.works else ""


def _parcel(now: _Now, moment: Any, slot: int, y: int) -> tuple[int, int, str]:
    """Where a copy is: where it begins, between the two memories, or in its place in the other one."""
    there = moment.kind == HOST_TO_DEVICE
    if now.time >= moment.end:
        return (_GPU if there else _HOST) + 12 + 90 * (slot % 2), y + 29 * (slot // 2), "gpu" if there else "host"
    look = "host" if there else "gpu"
    if now.time >= moment.start:
        return 278, y + 30, look
    return 110 if there else 446, y + 30, look if there and now.time >= moment.asked else ""


def _moving(words: str, width: int, places: list[tuple[int, int, str]], dashes: str | None = None) -> Part:
    shown = [look for _, _, look in places if look] or ["host"]
    box = Part("rect", width=width, height=24, rx=5, class_=Each(look or shown[-1] for _, _, look in places),
               stroke_dasharray=dashes)  # fmt: skip
    return Part(
        "g", box, label(width / 2, 17, words, "inside middle small"), class_="glide",
        transform=Each(f"translate({x} {y})" for x, y, _ in places), opacity=Each(int(bool(p[2])) for p in places),
    )  # fmt: skip


def _orders(moments: list[Moment]) -> list[int]:
    return [n for n, moment in enumerate(moments) if moment.lane != "host"]


def _lanes(
    moments: list[Moment], nows: list[_Now], lanes: list[str], seams: dict[int, list[float]], top: int
) -> Iterator[Part]:
    """What ran when, in a lane each. What's still to come is veiled, and we mark where the GPU has no work.

    `seams` say when each kernel of a graph is done, by the graph's number.
    """
    where, numbers = _time_axis(moments, nows), _orders(moments)
    foot = {lane: top + _LANE * (row + 1) - 4 for row, lane in enumerate(lanes)}
    for lane in lanes:
        yield label(8, foot[lane] - 5, lane)
        yield Part("path", class_="grid", d=f"M{_LEFT} {foot[lane] + 2}H{_RIGHT}")
    most, seen = max(1, *(len(now.queue) for now in nows)), sorted({now.time: now for now in nows}.values())
    for now, after in zip(seen, seen[1:]):
        x, (width,) = where(now.time), rounded([where(after.time) - where(now.time)])
        waiting, idle = round(22 * len(now.queue) / most), 22 * (not now.works)
        for look, lane, high in (("rest band", "queue", waiting), ("wait band", "compute", idle)):
            if high:
                yield Part("rect", class_=look, x=x, y=foot[lane] - high, width=width, height=high)
    for n, moment in enumerate(moments):
        for bar in bars_of(moment):
            if bar.end > bar.start:
                x, width = rounded((where(bar.start), max(where(bar.end) - where(bar.start), 2)))
                y = foot[bar.lane] - 22
                yield Part("rect", class_=f"bar {bar.look}", x=x, y=y, width=width, height=22)
                if bar.lane == "compute" and n in seams:
                    share = width / (bar.end - bar.start)
                    cuts = rounded(x + (end - bar.start) * share for end in seams[n][:-1])
                    d = "".join(f"M{cut} {y + 17}v5" for cut in cuts)
                    yield Part("g", Part("path", d=d), class_="apart")
                if bar.look == "wait" and width > 46:
                    yield label(x + width / 2, y + 16, "waits", "bold middle small")
                elif bar.look in ("order", "work") and width > 17 and n in numbers:
                    yield label(x + width / 2, y + 16, numbers.index(n) + 1, "inside middle small")
    high = _LANE * len(lanes)
    veil = Part("rect", class_="hollow", stroke="none", opacity=0.5, width=_RIGHT - _LEFT + 4, height=high - 4)
    cursor = Part("path", class_="cursor", d=f"M0 0v{high}")
    at = Each(f"translate({where(now.time)} {top})" for now in nows)
    moving = Part("g", veil, cursor, transform=at, class_="glide")
    yield Part("svg", moving, width=_RIGHT + 4, height=top + high)


def _time_axis(moments: list[Moment], nows: list[_Now]) -> Callable[[float], Any]:
    """Where a time is, from left to right. Loading at a first use takes so long that we cut it short."""
    times = sorted({now.time for now in nows})
    pieces = list(zip(times, times[1:]))
    loads: list[Any] = [moment for moment in moments if moment.kind == FIRST_USE]
    cut = [any(load.asked <= a and b <= load.went_on for load in loads) for a, b in pieces]
    rest = sum(b - a for (a, b), is_cut in zip(pieces, cut) if not is_cut) or 1.0
    each = min(_CUT, 0.5 * (_RIGHT - _LEFT) / max(sum(cut), 1))
    scale = (_RIGHT - _LEFT - each * sum(cut)) / rest
    ways = [each if is_cut else (b - a) * scale for (a, b), is_cut in zip(pieces, cut)]
    at = dict(zip(times, rounded(itertools.accumulate(ways, initial=_LEFT))))
    return at.__getitem__
