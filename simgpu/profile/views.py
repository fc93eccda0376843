"""How a receipt is shown: as text, as an HTML table, by line, and next to another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from .counts import Counts
from .seconds import Seconds, duration

MOST_NAMES = 8
MOST_LINES = 20


class Table(str):
    """Text that prints as it is when it's the value of a notebook cell or after ``>>>``."""

    def __repr__(self) -> str:
        return str(self)


def as_text(receipt: Counts) -> str:
    return "\n".join([*(f"{name:<17} {text}" for name, text in _rows(receipt)), _time(receipt)])


def as_html(receipt: Counts) -> str:
    cells = "".join(
        f'<tr><th scope="row" style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:left">{escape(text)}</td></tr>'
        for name, text in _rows(receipt)
    )
    below = "caption-side:bottom;text-align:left"  # the last line, as in the text
    return f'<table><caption style="{below}">{escape(_time(receipt))}</caption>{cells}</table>'


def _rows(receipt: Counts) -> Iterator[tuple[str, str]]:
    hidden = f"not visible on {receipt.hidden_on}"
    yield "launches", hidden if receipt.launches is None else f"{receipt.launches:,}{_operations(receipt)}"
    if receipt.memsets:
        yield "memsets", f"{receipt.memsets:,}"
    yield from _by_hand(receipt)
    yield "host to device", str(receipt.host_to_device)
    yield "device to host", str(receipt.device_to_host)
    if receipt.device_to_device.count:
        yield "device to device", str(receipt.device_to_device)
    yield "synchronizations", f"{receipt.synchronizations:,}"
    if receipt.first_uses:
        yield "first uses", f"{receipt.first_uses:,}"
    yield "peak memory", hidden if receipt.peak_memory is None else f"{receipt.peak_memory:,} bytes"
    if receipt.events_left_out:
        yield "timeline", f"the first {len(receipt.timeline()):,} events; {receipt.events_left_out:,} more left out"


def _by_hand(receipt: Counts) -> Iterator[tuple[str, str]]:
    """The kernels written by hand: each once, as its latest launch was."""
    latest = {figures.name: figures for figures in receipt.kernels}
    for name, figures in list(latest.items())[:MOST_NAMES]:
        yield f"  {name}", figures.summary


def _operations(receipt: Counts) -> str:
    """The launches by operation, the most frequent first."""
    names = sorted(receipt.launched.items(), key=lambda item: (-item[1], item[0]))
    text = ", ".join(f"{name} {count:,}" for name, count in names[:MOST_NAMES])
    return f": {text}{', …' if len(names) > MOST_NAMES else ''}" if names else ""


def _time(receipt: Counts) -> str:
    if receipt.simulated_seconds is None:
        return str(receipt.seconds)
    return f"{receipt.seconds}; {duration(receipt.wall_seconds)} of this machine's time to simulate it"


# -- By line ---------------------------------------------------------------------------------------


class Lines(list):
    """What each line of the program cost. Prints as a table of the first twenty."""

    def __repr__(self) -> str:
        rows = [("launches", "copies", "bytes", "waits", "device's time", "line")]
        for costs in self[:MOST_LINES]:
            counts = [f"{number:,}" for number in (costs.launches, costs.copies, costs.bytes, costs.waits)]
            rows.append((*counts, "not visible" if costs.seconds is None else duration(costs.seconds), costs.line))
        left = len(self) - MOST_LINES
        return _aligned(rows, ">>>>>") + (f"\nand {left:,} more lines" if left > 0 else "")


def _aligned(rows: Sequence[Sequence[str]], sides: str) -> str:
    """Columns, each to the left or to the right ("<" or ">"), and at the end of each row a text as it is."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join(
        "  ".join([*(f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths)), row[-1]])
        for row in rows
    )


# -- Two receipts ----------------------------------------------------------------------------------


def comparison(this: Counts, other: Counts) -> Table:
    first, second = _figures(this), _figures(other)
    rows = [("", "this", "other", "difference")]
    for name in first:
        a, b = first[name], second[name]
        if a or b or name == "launches":
            rows.append((name, _figure(a), _figure(b), _difference(a, b)))
    return Table(_aligned(rows, "<>>"))


def _figures(receipt: Counts) -> dict[str, Any]:
    copies = {
        f"{name.replace('_', ' ')}, {part}": getattr(getattr(receipt, name), part)
        for name in ("host_to_device", "device_to_host", "device_to_device")
        for part in ("count", "bytes", "implicit")
    }
    return {
        "launches": receipt.launches, "memsets": receipt.memsets, **copies,
        "synchronizations": receipt.synchronizations, "first uses": receipt.first_uses,
        "peak memory, bytes": receipt.peak_memory, "time": receipt.seconds,
    }  # fmt: skip


def _figure(x: Any) -> str:
    return "not visible" if x is None else str(x) if isinstance(x, Seconds) else f"{x:,}"


def _difference(a: Any, b: Any) -> str:
    """The difference as a number; for times of one kind, as a factor. Times of two kinds aren't compared."""
    if a is None or b is None:
        return "unknown"
    if isinstance(a, Seconds):
        if (a.kind, a.card) != (b.kind, b.card):
            return "two kinds of time"
        return f"x {b / a:.3g}" if a else "same" if a == b else "more"
    return f"{b - a:+,}" if a != b else "same"
