"""Copies during computations: for some receipts, when each batch is copied and when it's computed."""

from typing import Any

from fluxlite.receipts import Receipt, duration
from simgpu.events import HOST_TO_DEVICE, LAUNCH
from simgpu.profile import Moment

from ..draw.pictures import BLUE, GREY, ORANGE, Picture, as_written, plots, show

_LANES = {  # from the lower one up
    "compute": (LAUNCH, "launches", {"facecolor": "#d6e6f2", "edgecolor": BLUE}),
    "copy": (HOST_TO_DEVICE, "copies", {"facecolor": "#fbe3d6", "edgecolor": ORANGE, "hatch": "///"}),
}
Spans = dict[str, list[tuple[float, float]]]  # by lane: when the work on each batch starts and ends, in seconds


def lanes(receipts: dict[str, Receipt], batches: int) -> Picture:
    """A picture with a copy lane and a compute lane for each named receipt, on a common time axis.

    Each receipt covers `batches` batches with equally many copies and launches. Raises `ValueError` if that's not so,
    or if a receipt's device doesn't report times.

    >>> x = np.zeros((4, 8), np.float32)
    >>> loader = fl.DataLoader(x, batchsize=2)
    >>> r = fl.estimate(lambda: [np.exp(fl.gpu(batch)) for batch in loader]).receipt
    >>> lanes({"by hand": r}, batches=2)
    2 batches, simulated (NVIDIA T4). by hand: 63 µs in all, 6 µs of them computing.
    """
    found = {name: _spans(name, receipt.timeline(), batches) for name, receipt in receipts.items()}
    cards = {receipt.seconds.card for receipt in receipts.values()}
    if len(cards) != 1:
        raise ValueError(f"receipts of several cards have no common time: {', '.join(sorted(cards))}")
    card = cards.pop()
    figure, grid = plots(len(found), height=1.75 * len(found) + 0.4, width=10, sharex=True, squeeze=False)
    for axes, (name, spans) in zip(grid[:, 0], found.items()):
        _draw(axes, name, spans)
    grid[-1, 0].set_xlabel(f"time, ms, simulated ({as_written(card)})")
    grid[-1, 0].set_xlim(left=0)  # before the first copy, the host packs it
    computing = {name: sum(end - start for start, end in spans["compute"]) for name, spans in found.items()}
    told = [f"{name}: {duration(_end(spans))} in all, {duration(computing[name])} of them computing"
            for name, spans in found.items()]  # fmt: skip
    return show(figure, f"{batches} batches, simulated ({card}). {'; '.join(told)}.")


def _spans(name: str, moments: list[Moment], batches: int) -> Spans:
    if any(moment.start is None for moment in moments):
        raise ValueError(f"{name}: when a real GPU works is not visible; use the receipt of an estimate")
    spans: Spans = {}
    for lane, (kind, what, _) in reversed(_LANES.items()):
        these = [moment for moment in moments if moment.kind == kind]
        each, left = divmod(len(these), batches)
        if left or not each:
            raise ValueError(f"{name}: {len(these)} {what} are not equally many for each of {batches} batches")
        parts = [these[i * each : (i + 1) * each] for i in range(batches)]
        spans[lane] = [(float(part[0].start or 0.0), float(part[-1].end or 0.0)) for part in parts]
    return spans


def _draw(axes: Any, name: str, spans: Spans) -> None:
    for row, (lane, (*_, look)) in enumerate(_LANES.items()):
        for number, (start, end) in enumerate(spans[lane], 1):
            axes.barh(row, (end - start) * 1e3, left=start * 1e3, height=0.7, linewidth=1.5, **look)
            axes.text((start + end) * 500, row, str(number), ha="center", va="center", weight="bold")
    end = _end(spans)
    axes.axvline(end * 1e3, color=GREY, linewidth=1, linestyle=":")
    axes.text(end * 1e3, 1.42, f" {duration(end)}", ha="left", va="top")
    axes.set_yticks([0, 1], _LANES)
    axes.set_title(as_written(name), loc="left", fontsize=13, weight="bold")
    axes.tick_params(axis="y", length=0)


def _end(spans: Spans) -> float:
    return max(end for lane in spans.values() for _, end in lane)
