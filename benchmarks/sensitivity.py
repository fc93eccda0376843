"""What would change if a figure of the simulated T4 were half or double: which statements of the course survive.

    python -m benchmarks.sensitivity            prints the table
    python -m benchmarks.sensitivity --write    writes notebooks/SIMULATED.md, with each figure's source

Everything is computed with `estimate`, from shapes alone, so it's the same everywhere.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import fluxlite as fl
from fluxlite.devices.receipts import duration
from fluxlite.writing import write_whole
from fluxlite_course.crossing import arrays, crossover
from fluxlite_course.sine_wave import training_step
from simgpu.presets import PRESETS, Preset, preset

FILE = Path(__file__).resolve().parents[1] / "notebooks" / "SIMULATED.md"
CARD = "NVIDIA T4"
VALUES = "## Which values aren't NumPy's"
STEPS = 20 * 200  # of lesson 04: points and epochs
MATRIX = np.zeros((2048, 2048), np.float32)


class Statement(NamedTuple):
    """What the course says, the number behind it, and how to tell whether it still holds."""

    says: str
    number: Callable[[Preset], float]
    holds: Callable[[float], bool]
    text: Callable[[float], str]


def seconds(card: Preset, run: Callable, *given: Any, **options: Any) -> float:
    """How long a call takes on a card; only shapes are computed."""
    return float(fl.estimate(run, *given, like=card, shapes_only=True, **options).seconds)


def step(card: Preset, hidden: int = 6, batch: int = 1) -> float:
    """One training step of the sine wave's network."""
    return seconds(card, training_step, *arrays(hidden, batch))


def crossing(card: Preset, batch: int) -> float:
    """The hidden size from which the card wins; twice the largest in the table if it doesn't."""
    return crossover(batch, card).crossing or 8192.0


def unwaited(card: Preset) -> float:
    """How much longer a product takes than asking for it, 2048 x 2048."""

    def asked(x: Any) -> float:
        start = fl.clock()
        x @ x
        return fl.clock() - start

    found = fl.estimate(asked, MATRIX, like=card, shapes_only=True)
    return float(found.seconds) / found.result


def copying(card: Preset) -> float:
    """How much longer the product takes when both matrices come from the host, and the result goes back."""
    copied = seconds(card, lambda: fl.cpu(fl.gpu(MATRIX) @ fl.gpu(MATRIX)))
    return copied / seconds(card, lambda x: x @ x, MATRIX)


def ahead(card: Preset) -> float:
    """How long an epoch takes whose batches are copied ahead, as a part of one with moves by hand."""
    batches, W = [np.zeros((2048, 512), np.float32)] * 8, np.zeros((512, 512), np.float32)

    def epoch(W: Any, moved: Callable) -> None:
        for x in moved(batches):
            np.tanh(x @ W)

    by_hand = seconds(card, lambda W: epoch(W, lambda batches: map(fl.gpu, batches)), W)
    return seconds(card, lambda W: epoch(W, fl.CuIterator), W) / by_hand


def first(card: Preset) -> float:
    """How much longer the first call of an operation takes than a later one."""
    later, x = lambda x: x + x, np.zeros(4, np.float32)
    return seconds(card, later, x, first_use=True) / seconds(card, later, x)


def _times(value: float) -> str:
    return f"{float(f'{value:.3g}'):,g}x"


STATEMENTS = {
    "total": Statement(
        "200 epochs of the sine wave take seconds, not milliseconds", lambda card: STEPS * step(card),
        lambda seconds: 0.5 < seconds < 10, duration,
    ),
    "small": Statement(
        "a small network with a batch of one is many times slower on the GPU",
        lambda card: 1 / crossover(1, card).faster[8], lambda slower: slower > 3, _times,
    ),
    "one": Statement(
        "with a batch of one the GPU loses up to a hidden size of 128", lambda card: crossing(card, 1),
        lambda size: size > 128, lambda size: f"{size:.0f}",
    ),
    "crossing": Statement(
        "with a batch of 64 the lines cross between 128 and 1,024", lambda card: crossing(card, 64),
        lambda size: 128 < size < 1024, lambda size: f"{size:.0f}",
    ),
    "batch": Statement(
        "a larger batch lets the GPU win earlier: the crossing at 1,024, divided by the one at a batch of one",
        lambda card: crossing(card, 1024) / crossing(card, 1), lambda part: part < 0.5, lambda part: f"{part:.2f}",
    ),
    "large": Statement(
        "a large network is many times as fast on the GPU", lambda card: crossover(64, card).faster[4096],
        lambda faster: faster > 10, _times,
    ),
    "together": Statement(
        "64 waves together take hardly longer than one", lambda card: step(card, batch=64) / step(card),
        lambda ratio: ratio < 1.5, _times,
    ),
    "unwaited": Statement(
        "a product that isn't waited for looks absurdly quick", unwaited, lambda ratio: ratio > 20, _times,
    ),
    "copies": Statement(
        "copying the matrices takes longer than their product", copying, lambda ratio: ratio > 2, _times
    ),
    "first": Statement(
        "the first call of an operation takes far longer than a later one", first, lambda ratio: ratio > 100, _times,
    ),
    "ahead": Statement(
        "copying batches ahead shortens an epoch where the GPU takes the time", ahead, lambda part: part < 0.95,
        lambda part: f"{part:.2f}",
    ),
}  # fmt: skip


def figures() -> dict[str, str]:
    """The figures that aren't a maker's own, with the kind of each. Peer access is none: it's there or not."""
    found = [figure for figure in preset(CARD).figures if figure.kind != "datasheet" and figure.name != "peers"]
    return {figure.name: figure.kind for figure in found}


def _of_peers(card: Preset) -> str:
    peers = next(figure for figure in card.figures if figure.name == "peers")
    return f"Peer access ({peers.kind}): {peers.source}"


def varied(name: str, factor: float) -> Preset:
    """The card with one figure that many times as large."""
    card = preset(CARD)
    return card._replace(**{name: type(getattr(card, name))(getattr(card, name) * factor)})


def row(name: str) -> list[str]:
    """What the statements' numbers are if this figure is half, and double; ``**`` around those that no longer hold."""
    cells = []
    for statement in STATEMENTS.values():
        found = [statement.number(varied(name, factor)) for factor in (0.5, 2.0)]
        texts = [statement.text(x) if statement.holds(x) else f"**{statement.text(x)}**" for x in found]
        cells.append("=" if texts == [statement.text(statement.number(preset(CARD)))] * 2 else " / ".join(texts))
    return cells


def table() -> str:
    """The whole table, in Markdown."""
    kinds = figures()
    lines = [
        f"| figure | kind | {' | '.join(STATEMENTS)} |",
        f"|---|---|{'---|' * len(STATEMENTS)}",
        f"| as it is | | {' | '.join(s.text(s.number(preset(CARD))) for s in STATEMENTS.values())} |",
        *(f"| {name} | {kind} | {' | '.join(row(name))} |" for name, kind in kinds.items()),
    ]
    return "\n".join(lines)


def sources() -> str:
    """The figures of all cards with their kinds, and where they're from."""
    shared = {"launch", "library", "tape", "floor", "latency", "first_use", "start", "queue", "pageable", "pinned"}
    common = [figure for figure in preset(CARD).figures if figure.name in shared]
    names = [figure.name for figure in preset(CARD).figures if figure.name not in shared - {"pageable", "pinned"}]
    values = {card: [f.value.partition(" ") for f in PRESETS[card].figures if f.name in names] for card in PRESETS}
    heads = [f"{name}, {unit}" if unit else name for name, (_, _, unit) in zip(names, values[CARD])]
    cards = [f"| {card} | {' | '.join(number for number, _, _ in found)} |" for card, found in values.items()]
    return "\n".join([
        f"| card | {' | '.join(heads)} |", f"|---|{'---|' * len(heads)}", *cards, "",
        *(f"- **{name}**: {card.source}. {_of_peers(card)}." for name, card in PRESETS.items()), "",
        "| figure of all cards | value on a T4 | kind | from |", "|---|---|---|---|",
        *(f"| {f.name} | {f.value} | {f.kind} | {f.source} |" for f in common),
    ])  # fmt: skip


def document() -> str:
    said = "\n".join(f"- **{name}**: {statement.says}." for name, statement in STATEMENTS.items())
    return f"""# How the simulation knows

How can a program say what a step costs on a card that isn't there? It computes the values with NumPy, and counts what
CuPy would ask a card for: launches, copies, waits, bytes, operations. Then it multiplies by that card's figures. This
page says where each figure is from, what would change if it were off by two, and which values aren't NumPy's.
`python -m benchmarks.sensitivity --write` wrote it.

## Where the figures are from

A figure is from a maker's *datasheet*; *published* by others,
who measured it; *measured* by us, on a computer without a card; or *guessed*. We measured none of them on a card. Rates
of a card's memory and of its operations are a datasheet's peak times a share that we guess.
`print(fl.simulated.preset("NVIDIA T4"))` shows the same for one card; `fluxlite.calibrate` replaces the figures with
measured ones.

{sources()}

## What if a figure were off by two?

Each row is the simulated {CARD} with one figure halved, and then doubled. What no longer holds is **bold**; `=` says
that nothing changes.

{said}

{table()}

{_after(VALUES)}"""


def _after(heading: str) -> str:
    """The rest of the page, from a heading on: it's written by hand."""
    text = FILE.read_text(encoding="utf-8")
    return text[text.index(f"{heading}\n") :]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.sensitivity", description="What changes with each figure of the simulated T4."
    )
    parser.add_argument("--write", action="store_true", help="write notebooks/SIMULATED.md in place of printing")
    if parser.parse_args(arguments).write:
        write_whole(FILE, document().encode("utf-8"))
        print(f"wrote {FILE}")
    else:
        print(table())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
