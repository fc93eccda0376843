"""The picture of a receipt: a lane each for the host, the computing, and the copies in and out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .devices.events import FIRST_USE
from .seconds import duration

if TYPE_CHECKING:
    from .receipts import Moment, Receipt

LANES = ("host", "compute", "copies in", "copies out")
# Bars can be told apart without colours, by their lane and their pattern.
_LOOKS: dict[str, dict[str, Any]] = {
    "order": {"facecolor": "#f2c14e", "edgecolor": "#8a6508"},
    "load": {"facecolor": "#d9cbe8", "edgecolor": "#5b3a87", "hatch": "...."},
    "wait": {"facecolor": "white", "edgecolor": "#b3261e", "hatch": "////"},
    "work": {"facecolor": "#4f83c4", "edgecolor": "#1b3a63"},
}


def drawn(receipt: Receipt, first: int, count: int) -> Any:
    """The picture that `Receipt.plot` gives."""
    shown = receipt.timeline()[first : first + count]
    if not shown or shown[0].start is None:
        raise ValueError(
            "a timeline needs events of a simulated GPU: when a real one works is not visible on this device"
            if receipt.launches is None
            else f"there are no events from number {first} on"
        )
    from matplotlib.figure import Figure

    from .jupyter.display import show

    bars = _bars(shown)
    begin, end = min(x for x, _, _, _ in bars), max(y for _, y, _, _ in bars)
    factor, unit = (1e3, "ms") if end - begin > 2e-3 else (1e6, "µs")
    figure = Figure(figsize=(9, 2.6))
    axes = figure.subplots()
    for start, stop, lane, look in bars:
        width = max((stop - start) * factor, (end - begin) * factor / 2000)  # what is shorter could not be seen
        axes.broken_barh([((start - begin) * factor, width)], (_height(lane), 0.8), linewidth=0.6, **_LOOKS[look])
    axes.set_ylim(0.8, len(LANES) + 1)
    axes.set_yticks([_height(lane) + 0.4 for lane in LANES], LANES)
    axes.set_xlabel(f"{unit}, {receipt.seconds.kind} ({receipt.seconds.card})")
    for name, look in (("asks", "order"), ("loads a kernel", "load"), ("waits", "wait"), ("works", "work")):
        axes.broken_barh([], (0, 0), label=name, **_LOOKS[look])
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    return show(figure, _sentence(receipt, shown, bars, first))


def _height(lane: str) -> int:
    return len(LANES) - LANES.index(lane)


def _bars(shown: list[Moment]) -> list[tuple[float, float, str, str]]:
    """From, to, lane and look: what the device does, and what the host does meanwhile, asking or waiting."""
    bars: list[tuple[float, float, str, str]] = []
    for moment in shown:
        asked, went_on, start, end = (float(x or 0.0) for x in moment[:4])
        if moment.lane == "host":
            bars.append((asked, went_on, "host", "load" if moment.kind == FIRST_USE else "wait"))
            continue
        bars.append((start, end, moment.lane, "work"))
        waits = moment.lane != "compute" and went_on >= end  # a copy from or to memory that is not pinned
        bars.append((start if waits else asked, went_on, "host", "wait" if waits else "order"))
    return [bar for bar in bars if bar[1] > bar[0]]


def _sentence(receipt: Receipt, shown: list[Moment], bars: list, first: int) -> str:
    total = len(receipt.timeline()) + receipt.events_left_out
    spent = {key: sum(y - x for x, y, lane, look in bars if key in (lane, look)) for key in (*LANES, *_LOOKS)}
    span = max(bar[1] for bar in bars) - min(bar[0] for bar in bars)
    part = f"{first + 1:,} to {first + len(shown):,} of " if len(shown) < total else ""
    which = f"events {part}{total:,}" if part else f"{total:,} events"
    copies = spent["copies in"] + spent["copies out"]
    loading = f"loads kernels for {duration(spent['load'])}, " if spent["load"] else ""
    return (
        f"Timeline, simulated ({receipt.seconds.card}), {which}: in {duration(span)} the host {loading}asks for "
        f"{duration(spent['order'])} and waits for {duration(spent['wait'])}; the GPU computes for "
        f"{duration(spent['compute'])} and copies for {duration(copies)}."
    )
