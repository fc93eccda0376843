"""The lanes: what the host, the copies and the GPU do, a lane each, from left to right. All lessons draw it alike.

A lane has boxes: what's done in it, from when to when. Each kind of work has a colour and a shape of its own. Orange is
waiting and nothing else, and it's a line, since nothing is done there. What's simulated is hollow, what's recorded has
dotted edges. A box tells its operation when it's pointed at or focused.

`Lanes` knows where things are, and `film` makes a scene of them in which time goes on.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from fluxlite.devices.receipts import duration

from .axes import Axis
from .parts import Each, Part, drawing, label, rounded
from .scene import Knob, Scene

LEFT, RIGHT = 112, 630  # where time begins and ends
BOX = 26  # a box's height
TOP = 28  # above the first lane, for the time of now
_PITCH, _WITH_NOTES, _HEADING = 36, 42, 30
LOOKS = ("queue", "waits", "host", "load", "copy", "compute", "link")
_ROUNDED = {"copy": BOX / 2, "link": BOX / 2}  # a copy is a capsule
FOOT = 54  # below the last lane, for the axis and the key
_TICKS = 6
_FASTER = 1.3  # how much later each moment is than the one before, once the even steps are over
_SAME = 1e-12


class Box(NamedTuple):
    """What's done in a lane, from when to when, in seconds, and what's said of it.

    `look` is the kind of work: ``"host"``, ``"load"``, ``"queue"``, ``"copy"``, ``"compute"`` or ``"link"``; or it's
    ``"waits"``. `mark` stands inside, if there's room. A box as high as a `share` of its lane stands on its floor.
    `seams` are times at which one thing in it is done and the next one begins.
    """

    lane: str
    begin: float
    end: float
    look: str
    says: str
    mark: str = ""
    share: float = 1.0
    seams: Sequence[float] = ()


class Row(NamedTuple):
    """A lane: the name that boxes have for it, what's written at its left, a heading above, and a note.

    The note is a second line below the name, or at the right of the heading, if there's one.

    `kind` is what kind of time it shows: ``"simulated"``, ``"recorded"`` or ``"measured"``.
    """

    lane: str
    name: str
    note: Any = ""
    heading: Any = ""
    kind: str = "simulated"


class Lanes:
    """Where each lane is, one below the other from `top` on, and what's drawn in it.

    >>> lanes = Lanes([Row("host", "host"), Row("gpu", "compute")], top=28)
    >>> lanes.tops, lanes.bottom
    ({'host': 28, 'gpu': 64}, 100)
    """

    def __init__(self, rows: Sequence[Row], top: int = TOP) -> None:
        self.rows, self.top = rows, top
        self.tops: dict[str, int] = {}
        pitch = _WITH_NOTES if any(row.note and not row.heading for row in rows) else _PITCH
        for row in rows:
            top += _HEADING if row.heading else 0
            self.tops[row.lane] = top
            top += pitch
        self.bottom = top

    def names(self) -> Iterator[Part]:
        """What stands at the left of each lane, and a line on its floor."""
        for row in self.rows:
            y = self.tops[row.lane]
            if row.heading:
                yield label(8, y - 10, row.heading, "bold")
                yield label(RIGHT - 8, y - 10, row.note, "end bold")
            yield label(8, y + (13 if row.note and not row.heading else 18), row.name, "name")
            if row.note and not row.heading:
                yield label(8, y + 30, row.note, "small wide")
            yield Part("path", class_="grid", d=f"M{LEFT} {y + BOX + 2}H{RIGHT}")

    def boxes(self, found: Iterable[Box], where: Callable[[float], float], marks: bool = True) -> Iterator[Part]:
        """The boxes, lane by lane; `where` is a time's place from left to right."""
        kept = sorted(found, key=lambda box: box.begin)
        for row in self.rows:
            inside = [box for box in kept if box.lane == row.lane]
            looks = {look: [_box(box, where) for box in inside if box.look == look] for look in LOOKS}
            parts = [Part("g", *drawn, class_=f"op {look}") for look, drawn in looks.items() if drawn]
            for look in looks:
                times = [time for box in inside if box.look == look for time in box.seams]
                cuts = "".join(f"M{where(time):g} {BOX - 6}v6" for time in times)
                class_ = "seams host" if look == "host" else "seams"
                parts += [Part("path", class_=class_, d=cuts)] if cuts else []
            parts += [part for box in inside for part in _mark(box, where)] if marks else []
            if parts:
                kind = None if row.kind == "simulated" else row.kind
                at = f"translate(0 {self.tops[row.lane]})"
                yield Part("g", *parts, class_=kind, data_lane=row.lane, transform=at)

    def shadows(self, found: Iterable[Box], where: Callable[[float], float]) -> Iterator[Part]:
        """All boxes at once, faintly: what's still to come."""
        drawn: dict[str, str] = {}
        for box in found:
            x, width = _place(box, where)
            high, y = BOX * box.share, self.tops[box.lane] + BOX * (1 - box.share)
            if box.look == "waits":
                high, y = 6.0, self.tops[box.lane] + (BOX - 6.0) / 2
            r = min(_ROUNDED.get(box.look, 0.0), width / 2)
            down, up = f"v{high:g}", ""
            if r:
                down, up = [f"a{r:g} {high / 2:g} 0 0 1 0 {way:g}" for way in (high, -high)]
            along = f"{width - 2 * r:g}"
            drawn[box.look] = drawn.get(box.look, "") + f"M{x + r:g} {y:g}h{along}{down}h-{along}{up}z"
        for look, d in drawn.items():
            yield Part("path", class_="rest" if look == "queue" else f"op {look}", d=d)

    def busiest(self, lane: Any) -> Iterator[Part]:
        """A frame around the busiest lane, in each state, and the word."""
        for row in self.rows:
            shown = Each(None if each == row.lane else "none" for each in lane)
            y = self.tops[row.lane] - 6
            yield Part("rect", class_="busiest", x=2, y=y, width=636, height=_WITH_NOTES - 2, rx=6, display=shown)

    def axis(self, ends: Each | float) -> Iterator[Part]:
        """An axis from 0 to `ends` seconds, which may differ from state to state, with round numbers."""
        y = self.bottom + 4
        yield Part("path", class_="axis", d=f"M{LEFT} {y}H{RIGHT}")
        each = ends if isinstance(ends, Each) else [ends]
        axes = {end: Axis(0, end * unit_of(end)[1], LEFT, RIGHT) for end in each}
        numbers = {end: axis.round_numbers(_TICKS) for end, axis in axes.items()}
        for tick in range(max(map(len, numbers.values()))):
            times = [numbers[end][tick] if tick < len(numbers[end]) else None for end in each]
            places = [None if time is None else axes[end](time) for time, end in zip(times, each)]
            words = [None if time is None else f"{time:g}" for time in times]
            marks = [None if x is None else f"M{x:g} {y}v6" for x in places]
            look = "middle small wide" if tick % 2 else "middle small"
            if isinstance(ends, Each):
                yield Part("path", class_="axis", d=Each(marks))
                yield label(Each(places), y + 20, Each(words), look)
            else:
                yield Part("path", class_="axis", d=marks[0])
                yield label(places[0], y + 20, words[0], look)

    def cursor(self, xs: Sequence[float], words: Sequence[str]) -> Part:
        """A line through all lanes at a place for each state, and what time that is."""
        inwards = Each(min(0, round(600 - x)) for x in xs)  # so that the words stay in the picture
        line = Part("path", class_="cursor", d=f"M0 {self.top - 4}V{self.bottom}")
        moved = Each(f"translate({x:g} 0)" for x in xs)
        time = label(inwards, self.top - 10, Each(words), "middle time")
        return Part("g", line, time, class_="glide", transform=moved)

    def key(self, about: Any, waits: bool) -> Iterator[Part]:
        """What the axis counts, and what orange is."""
        y = self.bottom + 43
        if waits:
            yield Part("rect", class_="waits wide", x=LEFT, y=y - 8, width=26, height=6)
            yield label(LEFT + 33, y, "waits", "small wait wide")
        yield label(RIGHT, y, about, "end small")


def _place(box: Box, where: Callable[[float], float]) -> tuple[float, float]:
    x = where(box.begin)
    return x, rounded([max(where(box.end) - x, 1)])[0]


def _box(box: Box, where: Callable[[float], float]) -> Part:
    x, width = _place(box, where)
    if box.look == "waits":
        return Part("rect", x=x, y=10, width=width, height=6, aria_label=box.says)
    (high,) = rounded([BOX * box.share])
    corner = _ROUNDED.get(box.look)
    return Part("rect", x=x, y=BOX - high or None, width=width, height=high, rx=corner, aria_label=box.says)


def _mark(box: Box, where: Callable[[float], float]) -> Iterator[Part]:
    """What stands in a box, or above the line of a wait, if there's room."""
    x, width = _place(box, where)
    (middle,) = rounded([x + width / 2])
    if box.look == "waits" and width > 48:
        yield label(middle, 6, "waits", "wait middle small wide")
    elif box.mark and width > 8 * len(box.mark) + 6:
        yield label(middle, 18, box.mark, "middle small wide")


def gaps(works: Iterable[tuple[float, float]], begin: float, end: float) -> Iterator[tuple[float, float]]:
    """When nothing is done between `begin` and `end`.

    >>> list(gaps([(1, 2), (2, 3), (5, 6)], 0, 6))
    [(0, 1), (3, 5)]
    """
    free = begin
    for start, stop in sorted(works):
        if start > free:
            yield free, min(start, end)
        free = max(free, stop)
    if free < end:
        yield free, end


def unit_of(seconds: float) -> tuple[str, float]:
    """The unit for an axis of this length, and how many of it are in a second."""
    return ("ms", 1e3) if seconds > 2e-3 else ("µs", 1e6)


class Time(NamedTuple):
    """A moment of a film: what time it is in each setting of the other knobs, and until when the axis goes then."""

    name: str
    now: Sequence[float]
    end: Sequence[float]


def film(
    title: str, lanes: Lanes, settings: Sequence[Sequence[Box]], times: Sequence[Time], sentences: Sequence[str], *,
    about: str, knobs: Sequence[Knob] = (), which: Sequence[int] = (), above: Iterable[Part] = (), ms: int = 300,
    names: Sequence[str] = (), telling: Sequence[int] = (), first: Sequence[int] = (),
    where: Callable[[float], float] | None = None, is_foretold: bool = False,
) -> Scene:  # fmt: skip
    """Lanes in which time goes on: boxes appear from left to right, and dragging moves the time.

    `settings` has boxes, and `which` says for each setting of the other `knobs` which of them are shown; `times` are
    the moments. Where an axis has another end than the first one's, the boxes are drawn smaller. `where` replaces an
    even axis, and then no numbers stand at it. `about` says what the axis counts; `names`, what each state's time is
    called, in the picture and at the slider. If it `is_foretold`, all boxes are there from the beginning, faintly.
    """
    base = times[0].end[0]
    place: Callable[[float], float] = where or Axis(0, base, LEFT, RIGHT).__call__
    states = [(n, time) for n in which or range(len(settings)) for time in times]
    ends = [time.end[n] for n, time in states]
    is_even = len(set(ends)) == 1
    scales = [base / end for end in ends]
    xs = [round(LEFT + (place(time.now[n]) - LEFT) * scale, 1) for (n, time), scale in zip(states, scales)]
    groups = [Part("g", *lanes.boxes(found, place, is_even), data_n=n) for n, found in enumerate(settings)]
    drawn = Part("g", *groups, only=Each((n, n) for n, _ in states)) if len(groups) > 1 else groups[0]
    if not is_even:
        moved = Each(f"translate({LEFT - LEFT * scale:.4g} 0) scale({scale:.5g} 1)" for scale in scales)
        drawn = Part("g", drawn, transform=moved, class_="glide")
    words = names or [time.name for _, time in states]
    later = list(lanes.shadows(settings[0], place)) if is_foretold else []
    counts: Each | str = about
    axis: Iterable[Part] = []
    if where is None:
        units = Each(f"{unit_of(end)[0]}, {about}" for end in ends)
        counts = units[0] if is_even else units
        axis = lanes.axis(base if is_even else Each(ends))
    waits = any(box.look == "waits" for found in settings for box in found)
    key = lanes.key(counts, waits)
    picture = drawing(
        640, lanes.bottom + FOOT, title, *above, *lanes.names(), *axis, *key,
        *([Part("g", *later, class_="faint")] if later else []),
        Part("g", *_past_and_now(lanes, drawn, xs, words), data_drag=""),
    )  # fmt: skip
    picture.attributes["role"] = "group"  # an image would have no parts for a screen reader
    time = Knob("time", [time.name for time in times], slider=True, ms=ms)
    return Scene(picture, [*knobs, time], sentences, first, telling, along=xs, shown=names)


def _past_and_now(lanes: Lanes, drawn: Part, xs: Sequence[float], words: Sequence[str]) -> Iterator[Part]:
    """What has happened, and a line with the time at its end. All of the place takes the pointer."""
    top, bottom = lanes.top - 4, lanes.bottom
    yield Part("rect", class_="field", x=LEFT - 10, y=top, width=RIGHT - LEFT + 18, height=bottom - top + 30)
    # An SVG in an SVG lets nothing stick out: it's as wide as time has gone on, and a box's edge.
    yield Part("svg", drawn, class_="glide", width=Each(x + 1 for x in xs), height=bottom)
    yield lanes.cursor(xs, words)


def until_the_loser(ends: Sequence[float], step: float, span: float) -> list[Time]:
    """The moments of a race: in even steps for `span` seconds, and then faster and faster, until the loser is done.

    `ends` has the loser's time for each setting. The axis is longer than `span` from the beginning, so that it gives
    nothing away. Where a loser takes longer, the axis grows, and all that was is drawn smaller.

    >>> times = until_the_loser([9e-6, 40e-6], step=5e-6, span=10e-6)
    >>> [time.name for time in times]
    ['0 s', '5 µs', '10 µs', '13 µs', '16 µs', '20 µs', '25 µs', '32 µs', '40 µs']
    >>> times[-1].now == [9e-6, 40e-6]
    True
    """
    nows = [number * step for number in range(round(span / step) + 1)]
    last = max(ends)
    count = math.ceil(math.log(last / span) / math.log(_FASTER)) if last > span else 0
    # Where the even steps end. With this share of the width, now moves on as evenly as a slider over the moments.
    share = (len(nows) - 1) / (len(nows) - 1 + count) if count else 0.8
    axes = [span / share] * len(nows)
    for number in range(1, count + 1):
        nows.append(span * (last / span) ** (number / count))
        axes.append(max(axes[0], nows[-1] / (share + (1 - share) * number / count)))
    times = []
    for now in nows:
        # A runner that's done waits at the finish, and so does the axis.
        stops = [next((n for n, time in enumerate(nows) if time >= min(now, end) - _SAME), -1) for end in ends]
        name = duration(float(f"{now:.2g}") if now not in (last, *nows[: len(nows) - count]) else now)
        times.append(Time(name, [min(now, end) for end in ends], [axes[stop] for stop in stops]))
    return times
