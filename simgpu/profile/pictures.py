"""A timeline as a picture: SVG text without a background, with letters in the colour of the page around it."""

import math
from collections import defaultdict
from collections.abc import Iterable
from html import escape
from typing import Any, NamedTuple

import numpy as np

from ..events import DEVICE_TO_HOST, FIRST_USE, SYNCHRONIZE
from ..words import many
from .seconds import duration

LANES = ("host", "compute", "copies in", "copies out")
MOST_BARS = 400  # most events have two, the host's and the device's; if there are more, we draw shares
COLUMNS = 150
# Name, fill, edge, and the dashes that make stripes, so that you needn't see colours.
LOOKS = {
    "order": ("asks", "#2577b5", "#185480", ""),
    "load": ("first use", "none", "#2577b5", "5 3"),
    "wait": ("waits", "none", "#c4501a", "1.5 3.5"),
    "work": ("works", "#0b8163", "#075c46", ""),
}
_RIGHT, _TOP, _ROW, _BAR = 700, 34, 38, 28


class Moment(NamedTuple):
    """One event of a receipt. Times are in seconds since the receipt was opened.

    `asked` is when the host requested it, and `went_on` when the host could continue. `start` and `end` are when the
    device worked on it, in its `lane`: ``"compute"``, ``"copies in"`` or ``"copies out"``. A wait is in the lane
    ``"host"``, and so is loading a kernel at its first use. On a real GPU we know only `asked`: the others are None.
    """

    asked: float
    went_on: float | None
    start: float | None
    end: float | None
    lane: str
    kind: str
    name: str
    times: int
    bytes: int
    explicit: bool
    device: Any
    line: str


class Bar(NamedTuple):
    """One activity: from when to when, in seconds, in which lane, and on which card."""

    start: float
    end: float
    lane: str
    look: str
    card: int = 0


class Picture:
    """A picture, `svg`, and a `sentence` that says what's in it, for screen readers."""

    def __init__(self, svg: str, sentence: str) -> None:
        self.svg, self.sentence = svg, sentence

    def _repr_html_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return self.sentence


def draw(bars: list[Bar], span: tuple[float, float], sentence: str, name: str) -> Picture:
    """These bars in this span of time. The host has one lane; each card has lanes of its own."""
    begin, end = span
    cards = sorted({bar.card for bar in bars if bar.lane != "host"} or {0})
    rows = [("host", 0), *((lane, card) for card in cards for lane in LANES[1:])]
    left, bottom = 84 if len(cards) == 1 else 136, _TOP + _ROW * len(rows)
    scale = (_RIGHT - left) / (end - begin)
    boxes: dict[Any, list] = defaultdict(list)
    for bar in sorted(bars, key=lambda bar: list(LOOKS).index(bar.look)):  # so the host's looks come in one order
        box = left + (bar.start - begin) * scale, (bar.end - bar.start) * scale, 0.0, 1.0
        boxes[rows.index((bar.lane, bar.card)), bar.look].append(box)
    about = f"since the receipt was opened, simulated ({name})"
    if as_shares := len(bars) > MOST_BARS:  # columns that are as high as their busy shares, look on look
        edges = np.linspace(left, _RIGHT, COLUMNS + 1)
        above: Any = defaultdict(lambda: np.zeros(COLUMNS))
        for (row, look), several in boxes.items():
            shares = shares_of([(x, x + width) for x, width, *_ in several], edges)
            columns = zip(edges, np.diff(edges), above[row], np.maximum(shares, 0.05))  # lower ones would be invisible
            boxes[row, look] = [column for column, share in zip(columns, shares) if share > 0.001]
            above[row] = above[row] + shares
        about += f"; height: the share of each {duration((end - begin) / COLUMNS)}"
    parts = [_boxes(look, _TOP + _ROW * row + 33, found, as_shares) for (row, look), found in boxes.items()]
    for row, (lane, card) in enumerate(rows):
        lane = lane if len(cards) == 1 or not row else f"GPU {card}: {lane}"
        parts.append(_text(left - 8, _TOP + _ROW * row + 23, lane, "end"))
    for place, look in enumerate(dict.fromkeys(look for _, look in boxes)):
        x = left + 105 * place
        parts += _boxes(look, 21, [(x, 24, 0.0, 0.6)]), _text(x + 31, 18, LOOKS[look][0], "start")
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {bottom + 46}" role="img" '
        f'aria-label="{escape(sentence)}" style="width:100%;max-width:60em" font-family="sans-serif" font-size="13" '
        f'fill="currentColor">{"".join(parts)}{_axis(begin, end, left, bottom, about)}</svg>'
    )
    return Picture(svg, sentence)


def _boxes(look: str, floor: int, boxes: list[tuple[float, ...]], as_shares: bool = False) -> str:
    """Boxes have a left end and a width, and, with a bar's height as 1, a place above the lane's floor and a height."""
    _, fill, edge, stripes = LOOKS[look]
    around: dict[str, str] = defaultdict(str)  # by the colour of their edges
    along = ""
    for x, width, above, height in boxes:
        # The edges of columns are stripes, too, and a narrow bar would have nothing but edges.
        has_edge = stripes if as_shares else width > 2 or fill == "none"
        if has_edge:
            stroke = edge
        elif as_shares:
            stroke = "none"
        else:
            stroke = fill
        around[stroke] += f"M{x:.2f} {floor - _BAR * above:.2f}h{width:.2f}v{-_BAR * height:.2f}h{-width:.2f}z"
        along += f"M{x:.2f} {floor - _BAR * height / 2:.2f}h{width:.2f}"
    if as_shares:
        more = 'shape-rendering="crispEdges"'
    else:
        more = 'stroke-width=".8"'
    parts = [f'<path class="{look}" d="{d}" fill="{fill}" stroke="{stroke}" {more}/>' for stroke, d in around.items()]
    if stripes and not as_shares:
        dashes = f'stroke-width="{_BAR * height:g}" stroke-dasharray="{stripes}"'
        parts.append(f'<path d="{along}" stroke="{edge}" {dashes}/>')
    return "".join(parts)


def shares_of(spans: list[tuple[float, float]], edges: np.ndarray) -> np.ndarray:
    """For each column, the share that these spans cover. The spans don't overlap."""
    ends = np.sort(np.ravel(spans))  # begin, end, begin, end
    busy = np.cumsum(np.diff(ends, prepend=ends[0]) * (np.arange(len(ends)) % 2))
    return np.diff(np.interp(edges, ends, busy)) / np.diff(edges)


def _axis(begin: float, end: float, left: int, y: int, about: str) -> str:
    """A line with at most eight round numbers, and their unit."""
    factor, unit = (1e3, "ms") if end > 2e-3 else (1e6, "µs")
    power = math.floor(math.log10((end - begin) * factor / 4))
    step = next(10.0**power * n for n in (1, 2, 5) if (end - begin) * factor < 10.0**power * n * 8)
    scale = (_RIGHT - left) / (end - begin)
    parts = [f'<path d="M{left} {y}H{_RIGHT}" stroke="currentColor"/>']
    for number in range(math.ceil(begin * factor / step), math.floor(end * factor / step) + 1):
        x = left + (number * step / factor - begin) * scale
        text = f"{number * step:,.{max(0, -power)}f}"
        parts += f'<path d="M{x:.2f} {y}v5" stroke="currentColor"/>', _text(x, y + 20, text, "middle")
    return "".join([*parts, _text(360, y + 40, f"{unit} {about}", "middle")])


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.2f}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'


class Timeline:
    """A receipt's events, window by window. Raises `ValueError` if a device doesn't report when it works."""

    def __init__(self, receipt: Any) -> None:
        self.receipt, self.moments = receipt, receipt.timeline()
        if any(moment.start is None for moment in self.moments[:1]) or not self.moments and receipt.launches is None:
            raise ValueError(
                "a timeline needs events of a simulated GPU: when a real one works isn't visible on this device"
            )
        self.waits = [number for number, moment in enumerate(self.moments) if moment.kind == SYNCHRONIZE]

    def window(self, first: int = 0, count: int = 200, only_waits: bool = False) -> tuple[list[Bar], Any, str]:
        """What a picture of these events shows: its bars, from when to when, in seconds, and its sentence."""
        if first < 0 or count < 1:
            raise ValueError(f"first is at least 0 and count at least 1, got first={first}, count={count}")
        what, numbers = "event", list(range(len(self.moments)))
        if only_waits:
            what, numbers = "wait", self.waits
        chosen = numbers[first : first + count]
        if not chosen:
            there = f"this receipt has {len(numbers):,} {what}s"
            raise ValueError(f"there are no {what}s from number {first} on: {there}")
        begin = numbers[first - 1] + 1 if first else 0  # waits with the events before them, which the host waits for
        shown = self.moments[begin : chosen[-1] + 1]
        bars = [bar for moment in shown for bar in bars_of(moment) if bar.end > bar.start]
        if not bars:
            raise ValueError("these events take no time, so there is nothing to draw")
        span = min(bar.start for bar in bars), max(bar.end for bar in bars)
        total = len(numbers)
        if only_waits:
            bars = [bar for bar in bars if bar.look != "order"]
        else:
            total += self.receipt.events_left_out
        if len(chosen) == total:
            part = many(total, what)
        elif len(chosen) == 1:
            part = f"{what} {first + 1:,} of {total:,}"
        else:
            part = f"{what}s {first + 1:,} to {first + len(chosen):,} of {total:,}"
        host = _spent(bars, {"load": "loads new operations", "order": "asks", "wait": "waits"}) or "does nothing"
        gpu = _spent(bars, {"compute": "computes", **{lane: lane for lane in LANES[2:]}}) or "has no work"
        sentence = f"Timeline, simulated ({self.receipt.seconds.card}), {part}: in {duration(span[1] - span[0])} "
        sentence += f"the host {host}; the GPU {gpu}."
        longest, line = max(_waits(shown), default=(0.0, ""), key=lambda wait: wait[0])
        if longest:
            sentence += f" The longest wait, {duration(longest)}, is in {line}."
        return bars, span, sentence


def _spent(bars: list[Bar], what: dict[str, str]) -> str:
    """``asks for 16 µs and waits for 29 µs``: how long for each look or lane, without zeros."""
    spent = {name: sum(b.end - b.start for b in bars if key in (b.lane, b.look)) for key, name in what.items()}
    parts = [f"{name} for {duration(time)}" for name, time in spent.items() if time]
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def _waits(shown: list[Moment]) -> Iterable[tuple[float, str]]:
    """How long each wait is, and its line. To read a number is one wait, for the device and for the copy."""
    copying = 0.0
    for moment in shown:
        host = next(iter(bars_of(moment)))
        seconds = host.end - host.start if host.look == "wait" else 0.0
        if moment.kind == DEVICE_TO_HOST:  # the next event is its synchronization
            copying = seconds
        elif seconds or copying:
            yield seconds + copying, moment.line
            copying = 0.0


def bars_of(moment: Moment) -> Iterable[Bar]:
    """What the host does for this event, which asks, loads or waits, and then what the device does."""
    asked, went_on, start, end = (float(x or 0.0) for x in moment[:4])
    if moment.kind == SYNCHRONIZE:
        yield Bar(asked, went_on, "host", "wait")
    elif moment.lane.startswith("copies") and went_on >= end:  # from or to pageable memory
        # Before a copy out comes a synchronization, which is an event of its own.
        yield Bar(start if moment.kind == DEVICE_TO_HOST else asked, went_on, "host", "wait")
    else:
        yield Bar(asked, went_on, "host", "load" if moment.kind == FIRST_USE else "order")
    if moment.lane != "host":
        yield Bar(start, end, moment.lane, "work", moment.device.index)
