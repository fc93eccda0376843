"""Lesson 06's trial: the 13.6 seconds as a bar, and a map of the prices at which each suspect took most of them."""

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fluxlite.devices.receipts import duration

from ..scenes import Each, Knob, Part, Scene, drawing, label, rounded
from ..scenes.axes import Axis, across, upward

MISSING = 30.648 - 17.032  # seconds that the GPU's run took longer
LAUNCHES, COPIES = 96_000, 16_224  # what his program asked for, by the receipt
STARTING = (0.5, 2, 4, 6, 8, 10, 12)  # seconds more than the CPU's run needed to start
A_LAUNCH = (15, 30, 50, 70, 100, 125, 140)  # microseconds: the first is CuPy's, today
A_COPY = (13, 50, 100)  # microseconds
_LEFT, _RIGHT = 8, 632
_BAR = Axis(0, 16, _LEFT, _RIGHT)
_TOP, _HIGH = 34, 40
_PRICES, _STARTS = Axis(0, 145, 86, 616), Axis(0, 14, 404, 150)
_SUSPECTS = ("starting up", "the orders", "the copies", "something else")


Corners = tuple[tuple[float, float], ...]


class Setting(NamedTuple):
    """What the suspects took, in seconds, at one setting of the sliders."""

    starting: float
    launches: float
    copies: float

    @property
    def left(self) -> float:
        """What none of them explains. Below 0, it's more than there was."""
        return MISSING - sum(self)

    @property
    def most(self) -> str:
        """Who took most. Empty if the setting can't be."""
        if self.left < 0:
            return ""
        shares = (*self, self.left)
        return _SUSPECTS[shares.index(max(shares))]


def trial() -> Scene:
    """The suspects of the 13.6 seconds, each with a knob from what it costs today to what it may have cost in 2018.

    Dragging the dot on the map moves the two sliders.

    >>> trial().at(**{"starting up": "10 s"})
    'Starting up took 10 s more. 96,000 orders of 15 µs took 1.4 s, and 16,224 copies of 13 µs 0.2 s. ...'
    """
    chosen = [(s, launch, copy) for copy, s, launch in itertools.product(A_COPY, STARTING, A_LAUNCH)]
    settings = [Setting(s, LAUNCHES * launch * 1e-6, COPIES * copy * 1e-6) for s, launch, copy in chosen]
    picture = drawing(
        640, 462, "The 13.6 seconds: how much of them each suspect explains, and who took most, by their prices",
        *_filled_bar(settings), Part("g", *_map(settings), *_here(chosen), data_drag="both"),
    )  # fmt: skip
    knobs = [
        Knob("one copy", [f"{copy} µs" for copy in A_COPY]),
        Knob("starting up", [f"{s:g} s" for s in STARTING], slider=True),
        Knob("one order", [f"{launch} µs" for launch in A_LAUNCH], slider=True),
    ]
    places = [(_PRICES(launch), _STARTS(starting)) for starting, launch, _ in chosen]
    return Scene(picture, knobs, [_sentence(*each) for each in zip(chosen, settings)], [0, 1, 0], along=places)


def _sentence(chosen: tuple[float, float, float], found: Setting) -> str:
    starting, launch, copy = chosen
    took = (
        f"Starting up took {starting:g} s more. {LAUNCHES:,} orders of {launch} µs took {found.launches:.1f} s, "
        f"and {COPIES:,} copies of {copy} µs {found.copies:.1f} s. "
    )
    if found.left < 0:
        return f"{took}That's {sum(found):.1f} s, more than the 13.6 s: so it wasn't like that."
    return f"{took}{found.left:.1f} of the 13.6 s are left. Most was {found.most}."


def _filled_bar(settings: list[Setting]) -> Iterator[Part]:
    """The bar of 13.6 seconds, as far as the suspects fill it."""
    looks = {"starting up": "rest", "the orders": "host", "the copies": "gpu"}
    for place, look in enumerate(looks.values()):
        begins = rounded(_BAR(min(sum(one[:place]), 16)) for one in settings)
        ends = rounded(_BAR(min(sum(one[: place + 1]), 16)) for one in settings)
        widths = rounded(end - begin for begin, end in zip(begins, ends))
        yield Part("rect", class_=f"{look} glide", x=Each(begins), y=_TOP, width=Each(widths), height=_HIGH)
    yield Part("rect", class_="box", x=_LEFT, y=_TOP, width=_BAR(MISSING) - _LEFT, height=_HIGH)
    yield label(_LEFT, 20, "the 13.6 s that the GPU's run took longer (published)")
    yield label(_RIGHT, 20, Each(_outcome(one) for one in settings), "bold end")
    for x, (name, look) in zip((_LEFT, 150, 270), looks.items()):
        yield Part("rect", class_=look, x=x, y=_TOP + _HIGH + 14, width=14, height=14)
        yield label(x + 20, _TOP + _HIGH + 26, name)


def _outcome(found: Setting) -> str:
    if found.left < 0:
        return "too much: it can't be"
    return f"{duration(found.left)} left"


def _map(settings: list[Setting]) -> Iterator[Part]:
    """Who took most, by the price of an order and the time to start up."""
    open_ = [MISSING - one.copies for one in settings]
    regions: dict[str, list[Corners]] = {
        "host": [((s / 2, 0), (s, 0), (s / 2, s / 2), (s / 3, s / 3)) for s in open_],
        "rest": [((0, s / 2), (s / 3, s / 3), (s / 2, s / 2), (0, s)) for s in open_],
        "box": [((0, 0), (s / 2, 0), (s / 3, s / 3), (0, s / 2)) for s in open_],
    }
    for look, corners in regions.items():
        class_ = "box" if look == "box" else f"{look} band"
        yield Part("path", class_=class_, d=Each(_outline(each) for each in corners))
    # The dot stands at the prices, so the words stand between them.
    yield label(_PRICES(81), _STARTS(3) + 5, "the orders took most", "host bold middle")
    yield label(_PRICES(33), _STARTS(7) + 5, "starting up took most", "rest bold middle")
    yield label(_PRICES(27), _STARTS(3) + 5, "something else did", "middle")
    yield label(_PRICES(105), _STARTS(9) + 5, "more than 13.6 s: it can't be", "middle")
    yield from across(_PRICES, _STARTS.begin, "one order, µs")
    yield from upward(_STARTS, _PRICES.begin, "starting up, s")


def _outline(corners: Corners) -> str:
    """A region's path. A corner is in seconds: what the orders took, and starting up."""
    points = [(_PRICES(launches / LAUNCHES * 1e6), _STARTS(starting)) for launches, starting in corners]
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in points) + "Z"


def _here(chosen: Sequence[tuple[float, float, float]]) -> Iterator[Part]:
    """Where on the map the sliders are."""
    xs = Each(_PRICES(launch) for _, launch, _ in chosen)
    ys = Each(_STARTS(starting) for starting, _, _ in chosen)
    yield Part("circle", class_="ink glide", r=8, cx=xs, cy=ys)
    wide, high = _PRICES.end - _PRICES.begin, _STARTS.begin - _STARTS.end
    yield Part("rect", class_="field", x=_PRICES.begin, y=_STARTS.end, width=wide, height=high)
