"""Lesson 08's lines of time by the number of waves, and its table: the same work on this CPU and a simulated card."""

import html
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import fluxlite as fl
from fluxlite.messages import many
from fluxlite.receipts import Seconds, duration
from simgpu import preset

from ..crossing import winner
from ..draw.frames import Frames, frames
from ..draw.pictures import GREY, Picture, look, plots, show

AT_LEAST = 0.05  # seconds of runs for a case: a short one needs many, or another program is in all of them
Case = tuple[Callable[..., Any], tuple[Any, ...]]  # a function, and the arrays to call it with


class Row(NamedTuple):
    """One case: its launches, its time on this CPU, and its time on the card."""

    name: str
    launches: int
    cpu: Seconds
    gpu: Seconds

    @property
    def winner(self) -> str:
        """Who's faster, and by how much."""
        return winner(float(self.cpu) / float(self.gpu))


class BothSides(NamedTuple):
    """What `both_sides` found, as a table with a `Row` for each case."""

    rows: list[Row]
    card: str

    def __repr__(self) -> str:
        gpu, wide = f"{self.card}, simulated", max(len(row.name) for row in self.rows)
        head = f"{'':{wide}}  launches  this CPU, measured  {gpu}  faster"
        lines = [
            f"{row.name:{wide}}  {row.launches:>8,}  {duration(row.cpu):>18}  {duration(row.gpu):>{len(gpu)}}"
            f"  {row.winner}"
            for row in self.rows
        ]
        return "\n".join([head, *lines])

    def _repr_html_(self) -> str:
        """The same as an HTML table, whose lines don't break on a small screen."""
        heads = ["", "launches", "this CPU, measured", f"{self.card}, simulated", "faster"]
        head = "".join(f'<th scope="col">{html.escape(each)}</th>' for each in heads)
        rows = "".join(
            f'<tr><th scope="row" style="text-align:left">{html.escape(row.name)}</th><td>{row.launches:,}</td>'
            f"<td>{duration(row.cpu)}</td><td>{duration(row.gpu)}</td><td>{row.winner}</td></tr>"
            for row in self.rows
        )
        return f"<table><tr>{head}</tr>{rows}</table>"


def both_sides(cases: Mapping[str, Case], card: str = "NVIDIA T4", repeats: int = 3) -> BothSides:
    """Run each case on this machine's CPU, with a stopwatch, and estimate it for a simulated `card`.

    A case is a function and its arrays, on the CPU. It runs once to warm up, then `repeats` times, or more if it's
    short. We keep the shortest time: what another program takes away only makes a time longer. The estimate computes
    no values, only shapes. Raises `ValueError` for no cases, and for an unknown card.

    >>> x = np.ones((4, 4), np.float32)
    >>> table = both_sides({"a product": (np.matmul, (x, x))})
    >>> table.rows[0].launches, table.rows[0].cpu.kind, table.rows[0].gpu
    (1, 'measured', 23 µs simulated (NVIDIA T4))
    """
    if not cases or repeats < 1:
        got = f"{len(cases)} cases, {repeats} repeats"
        raise ValueError(f"both_sides takes at least one case and one repeat, got {got}")
    card = preset(card).name
    return BothSides([_row(name, run, arrays, card, repeats) for name, (run, arrays) in cases.items()], card)


def _row(name: str, run: Callable[..., Any], arrays: tuple[Any, ...], card: str, repeats: int) -> Row:
    found = fl.estimate(run, *arrays, like=card, shapes_only=True)
    run(*arrays)
    times: list[float] = []
    while len(times) < repeats or sum(times) < AT_LEAST:
        begin = time.perf_counter()
        run(*arrays)
        times.append(time.perf_counter() - begin)
    return Row(name, found.receipt.launches or 0, Seconds(min(times), "measured"), found.seconds)


# -- the lines: a step on a CPU and on a T4, with more and more waves ----------------------------------------------


Times = Mapping[int, Seconds]  # by the number of waves: how long a step takes


def waves(lines: Mapping[str, Times], at: int, cpu: str, gpu: str) -> Picture:
    """The lines by name, and which of `cpu` and `gpu` is faster with `at` waves. Each line has its own kind of time."""
    figure, axes = plots(height=4.2)
    for name, times in lines.items():
        kind = next(iter(times.values())).kind
        axes.loglog(list(times), [1e6 * float(time) for time in times.values()], label=f"{name}, {kind}", **look(kind))
    _marked(axes, lines[cpu][at], lines[gpu][at], at)
    axes.set_xscale("log", base=2)
    axes.set(xlabel="waves at once (log)", ylabel="µs per step (log)")
    ticks = [n for n in lines[cpu] if n in (1, 2**4, 2**8, 2**12, 2**16, 2**20)]
    axes.set_xticks(ticks, [f"{n:,}" for n in ticks])
    longest = max(1e6 * float(time) for times in lines.values() for time in times.values())
    heights = [10**k for k in range(1, 12) if 10**k < 2 * longest]
    axes.set_yticks(heights, [f"{height:,}" for height in heights])
    axes.set(ylim=(10, max(500_000, 2 * longest)), xlim=(0.6, 10 * max(lines[cpu])))  # and room for the factor
    axes.minorticks_off()
    axes.legend(loc="upper left", fontsize=12)
    return show(figure, _said(lines[cpu][at], lines[gpu][at], at, cpu, gpu))


def _marked(axes: Any, on_cpu: Seconds, on_gpu: Seconds, at: int) -> None:
    """A line from the faster to the slower of the two at the slider's place, with the factor that a log scale hides."""
    low, high = sorted((1e6 * float(on_cpu), 1e6 * float(on_gpu)))
    axes.axvline(at, color=GREY, linewidth=0.8)
    axes.plot([at, at], [low, high], color="#1a1a1a", linewidth=5, alpha=0.5, solid_capstyle="butt")
    if high / low > 1.25:
        axes.annotate(
            f"× {high / low:.2g}", (at, (low * high) ** 0.5), (10, 0), textcoords="offset points", va="center",
            fontsize=15, bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
        )  # fmt: skip


def _said(on_cpu: Seconds, on_gpu: Seconds, at: int, cpu: str, gpu: str) -> str:
    times = f"The {cpu} takes {duration(on_cpu)} ({on_cpu.kind}), the {gpu} {duration(on_gpu)} ({on_gpu.kind})."
    ratio = float(on_cpu) / float(on_gpu)
    winner, factor = (gpu, ratio) if ratio > 1 else (cpu, 1 / ratio)
    verdict = f"The {winner} is faster, by a factor of about {factor:.2g}."
    if 0.8 < ratio < 1.25:
        verdict = "That's about the same."
    return f"{many(at, 'wave')} at once. {times} {verdict}"


def crossing_lines(lines: Mapping[str, Times], cpu: str, gpu: str) -> Frames:
    """`waves` with a slider for the number of waves, from the numbers that `cpu`'s line has."""
    sizes = sorted(set(lines[cpu]) & set(lines[gpu]))
    return frames([waves(lines, size, cpu, gpu) for size in sizes], [f"{size:,}" for size in sizes], "waves")
