"""What ran when: one lane each for the host, the computing, and the copies in and out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..events import DEVICE_TO_HOST, FIRST_USE, SYNCHRONIZE
from .counts import Counts, Moment
from .pictures import LANES as LANES
from .pictures import Bar, Picture, drawn
from .seconds import duration


class Timeline:
    """A receipt's events, seen one window at a time. `waits` are the numbers of the synchronizations.

    Raises `ValueError` if a device doesn't report when it works.
    """

    def __init__(self, receipt: Counts) -> None:
        self.receipt, self.moments = receipt, receipt.timeline()
        if any(moment.start is None for moment in self.moments[:1]) or not self.moments and receipt.launches is None:
            raise ValueError(
                "a timeline needs events of a simulated GPU: when a real one works is not visible on this device"
            )
        self.waits = [number for number, moment in enumerate(self.moments) if moment.kind == SYNCHRONIZE]

    def picture(self, first: int = 0, count: int = 200, only_waits: bool = False) -> Picture:
        """The picture that `Receipt.plot` returns."""
        return drawn(*self.seen(first, count, only_waits), self.receipt.seconds.card)

    def seen(
        self, first: int = 0, count: int = 200, only_waits: bool = False
    ) -> tuple[list[Bar], tuple[float, float], str]:
        """What the picture shows: its bars, from when to when they are, in seconds, and its sentence."""
        shown = self.window(first, count, only_waits)
        bars = [bar for moment in shown for bar in bars_of(moment) if bar.end > bar.start]
        if not bars:
            raise ValueError("these events take no time, so there is nothing to draw")
        span = min(bar.start for bar in bars), max(bar.end for bar in bars)
        if only_waits:
            bars = [bar for bar in bars if bar.look != "order"]
        what = f"{self._what(shown, first, only_waits)}: in {duration(span[1] - span[0])}"
        return bars, span, f"{what} {_sentence(shown, bars)}"

    def window(self, first: int, count: int, only_waits: bool) -> list[Moment]:
        """The events to draw; for waits, that includes the events between them, which the host waits for."""
        if first < 0 or count < 1:
            raise ValueError(f"first is at least 0 and count at least 1, got first={first}, count={count}")
        numbers: Any = self.waits if only_waits else range(len(self.moments))
        chosen = numbers[first : first + count]
        if not chosen:
            what = "waits" if only_waits else "events"
            raise ValueError(f"there are no {what} from number {first} on: this receipt has {len(numbers):,} {what}")
        begin = chosen[0]
        if only_waits:
            begin = self.waits[first - 1] + 1 if first else 0
        return self.moments[begin : chosen[-1] + 1]

    def _what(self, shown: list[Moment], first: int, only_waits: bool) -> str:
        seen = [moment for moment in shown if moment.kind == SYNCHRONIZE] if only_waits else shown
        total = len(self.waits) if only_waits else len(self.moments) + self.receipt.events_left_out
        part = _part(first, len(seen), total, "wait" if only_waits else "event")
        return f"Timeline, simulated ({self.receipt.seconds.card}), {part}"


def _sentence(shown: list[Moment], bars: list[Bar]) -> str:
    longest, line = max(_waits(shown), default=(0.0, ""), key=lambda wait: wait[0])
    return (
        f"the host {_doings(bars, _HOST_DOES, 'does nothing')}; the GPU {_doings(bars, _GPU_DOES, 'has no work')}."
        + (f" The longest wait, {duration(longest)}, is in {line}." if longest else "")
    )


_HOST_DOES = {"load": "loads new operations", "order": "asks", "wait": "waits"}
_GPU_DOES = {"compute": "computes", "copies in": "copies in", "copies out": "copies out"}


def _doings(bars: list[Bar], what: dict[str, str], nothing: str) -> str:
    """``asks for 16 µs and waits for 29 µs``: how long for each look or lane, leaving out zeros."""
    spent = {name: sum(b.end - b.start for b in bars if key in (b.lane, b.look)) for key, name in what.items()}
    parts = [f"{name} for {duration(time)}" for name, time in spent.items() if time]
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if parts[1:] else parts) or nothing


def _part(first: int, count: int, total: int, what: str) -> str:
    """``waits 3 to 4 of 10``, ``wait 3 of 10``, or ``10 waits`` if that's all of them."""
    if count == total:
        return f"1 {what}" if total == 1 else f"{total:,} {what}s"
    until = f"s {first + 1:,} to {first + count:,}" if count > 1 else f" {first + 1:,}"
    return f"{what}{until} of {total:,}"


def _waiting(moment: Moment) -> tuple[float, float] | None:
    """From when to when the host waits for this, or None if it goes on."""
    asked, went_on, start, end = (float(x or 0.0) for x in moment[:4])
    if moment.kind == SYNCHRONIZE:
        return asked, went_on
    if moment.lane.startswith("copies") and went_on >= end:  # from or to pageable memory
        # A copy out is preceded by a synchronization, which is an event of its own.
        return start if moment.kind == DEVICE_TO_HOST else asked, went_on
    return None


def _waits(shown: list[Moment]) -> Iterable[tuple[float, str]]:
    """How long each wait is, and on which line. Reading a number is one wait, for the device and for the copy."""
    copying = 0.0
    for moment in shown:
        start, end = _waiting(moment) or (0.0, 0.0)
        if moment.kind == DEVICE_TO_HOST:  # the next event is its synchronization
            copying = end - start
        elif end > start or copying:
            yield end - start + copying, moment.line
            copying = 0.0


def bars_of(moment: Moment) -> Iterable[Bar]:
    """What the device does, and what the host does meanwhile, requesting or waiting. Empty spans are left out."""
    asked, went_on, start, end = (float(x or 0.0) for x in moment[:4])
    waiting = _waiting(moment)
    if waiting is not None:
        yield Bar(*waiting, "host", "wait")
    else:
        yield Bar(asked, went_on, "host", "load" if moment.kind == FIRST_USE else "order")
    if moment.lane != "host":
        yield Bar(start, end, moment.lane, "work", moment.device.index)
