"""A receipt's timeline: all its events, and a window over them; its launches, for films of what a GPU does."""

import itertools
from collections.abc import Iterator
from typing import NamedTuple

from simgpu.events import LAUNCH
from simgpu.profile import LANES, Moment, Picture, Receipt, Timeline, bars_of

from .axes import Axis
from .parts import Each, Part, drawing, label, rounded
from .scene import Knob, Scene

MOST_EVENTS = 300  # with more, a page would be too large to carry around
EVENTS, WAITS = "all events", "only waits"
_WINDOWS = (5, 20, 50)
_PLACES = 20
_WIDTH, _LEFT, _LANE, _TOP, _BAR = 620, 10, 64, 32, 30
_BOTTOM = _TOP + _LANE * len(LANES)
_TICKS = 6  # at most this many steps, of round numbers
_NAMES = {"order": "asks", "load": "first use", "wait": "waits", "work": "works"}


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


class _View(NamedTuple):
    """A setting of the knobs: its sentence, the events shown, and from when to when, in seconds."""

    waits: bool
    sentence: str
    events: tuple[int, int] = (0, -1)
    begin: float = 0.0
    end: float = 1e-9


def timeline(receipt: Receipt, count: int = 50) -> Scene | Picture:
    """What ran when, in a lane each, and a window over it: which events, how many, and from which number on.

    With more than 300 events, it's ``receipt.plot(count=count)``, which doesn't move. Raises `ValueError` for a receipt
    without events, or without a simulated GPU's times.

    >>> r = fl.estimate(lambda x: float((x + x).sum()), np.ones(4, np.float32)).receipt
    >>> timeline(r, count=5).at(show="only waits")
    'Timeline, simulated (NVIDIA T4), 1 wait: in ...'
    """
    line, number = Timeline(receipt), len(receipt.timeline())
    if not 0 < number <= MOST_EVENTS or receipt.events_left_out:
        return receipt.plot(count=count)
    step = -(-number // _PLACES)
    places = range(0, number, step)
    sizes = sorted({size for size in (*_WINDOWS, count) if size < number} | {number})
    knobs = [
        Knob("show", [EVENTS, WAITS]),
        Knob("how many events", [f"all {number}" if size == number else str(size) for size in sizes]),
        Knob("from event", [str(place + 1) for place in places], slider=True),
    ]
    views = [_view(line, *setting) for setting in itertools.product((False, True), sizes, places)]
    start = 0, sizes.index(min(count, number)), 0
    return Scene(_drawing(line, views), knobs, [view.sentence for view in views], start)


def _view(timeline: Timeline, only_waits: bool, count: int, first: int) -> _View:
    last = min(first + count, len(timeline.moments)) - 1
    if only_waits:  # those among these events
        among = [number for number, wait in enumerate(timeline.waits) if first <= wait <= last]
        if not among:
            return _View(True, f"Events {first + 1} to {last + 1}: the host waits at none of them.")
        first, count, last = among[0], len(among), timeline.waits[among[-1]]
    try:
        _, (begin, end), sentence = timeline.window(first, count, only_waits)
    except ValueError as error:
        return _View(only_waits, f"Nothing to show: {error}.")
    if only_waits:
        first = timeline.waits[first - 1] + 1 if first else 0
    return _View(only_waits, sentence, (first, last), begin, end)


def _drawing(timeline: Timeline, views: list[_View]) -> Part:
    card = timeline.receipt.seconds.card
    unit, factor = ("ms", 1e3) if max(view.end for view in views) > 2e-3 else ("µs", 1e6)
    bars = Part(
        "g", *_bars(timeline), only=Each(view.events for view in views), transform=Each(
            f"scale({_WIDTH / ((view.end - view.begin) * 1e6):.5g} 1) translate({-view.begin * 1e6:.1f} 0)"
            for view in views), class_=Each("waits" if view.waits else None for view in views),
    )  # fmt: skip
    # An SVG in an SVG lets nothing stick out, and needs no id for that.
    inner = Part("svg", bars, x=_LEFT, y=_TOP, width=_WIDTH, height=_BOTTOM - _TOP)
    names = [label(_LEFT, _TOP + _LANE * row + 23, lane) for row, lane in enumerate(LANES)]
    looks = {bar.look for moment in timeline.moments for bar in bars_of(moment) if bar.end > bar.start}
    about = f"{unit} since the receipt was opened, simulated ({card})"
    return drawing(
        640, _BOTTOM + 62, f"Timeline, simulated ({card}): the host, computing, copies in and copies out, a lane each",
        *_legend([look for look in _NAMES if look in looks]), *names, inner, *_axis(views, factor),
        label(320, _BOTTOM + 54, Each(about if view.events[1] >= 0 else view.sentence for view in views), "middle"),
    )  # fmt: skip


def _bars(timeline: Timeline) -> Iterator[Part]:
    for number, moment in enumerate(timeline.moments):
        for bar in bars_of(moment):
            if bar.end > bar.start:
                start, end = rounded((bar.start * 1e6, bar.end * 1e6))  # in microseconds
                y, (width,) = _LANE * (LANES.index(bar.lane) + 1) - _BAR - 4, rounded([end - start])
                yield Part("rect", class_=f"bar {bar.look}", x=start, y=y, width=width, height=_BAR, data_n=number)


def _axis(views: list[_View], factor: float) -> Iterator[Part]:
    yield Part("path", class_="axis", d=f"M{_LEFT} {_BOTTOM}h{_WIDTH}")
    axes = [Axis(view.begin * factor, view.end * factor, _LEFT, _LEFT + _WIDTH) for view in views]
    times = [axis.round_numbers(_TICKS) if view.events[1] >= 0 else [] for axis, view in zip(axes, views)]
    for tick in range(max(map(len, times))):
        shown = [some[tick] if tick < len(some) else None for some in times]
        places = [None if time is None else axis(time) for axis, time in zip(axes, shown)]
        yield Part("path", class_="axis", d=Each(None if x is None else f"M{x:g} {_BOTTOM}v6" for x in places))
        text = Each(None if time is None else f"{time:g}" for time in shown)
        yield label(Each(places), _BOTTOM + 26, text, "middle wide" if tick % 2 else "middle")


def _legend(looks: list[str]) -> Iterator[Part]:
    for number, look in enumerate(looks):
        x = _LEFT + 152 * number
        yield Part("rect", class_=f"bar {look}", x=x, y=4, width=26, height=18)
        yield label(x + 34, 20, _NAMES[look])
