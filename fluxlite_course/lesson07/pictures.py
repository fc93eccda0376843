"""Lesson 07's lines of time by the number of waves, and its table: the same work on this CPU and a simulated card."""

import html
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import fluxlite as fl
from fluxlite.messages import many
from fluxlite.receipts import Seconds, duration
from simgpu import preset

from ..crossing import winner
from ..scenes import Each, Knob, Part, Scene, drawing, label
from ..scenes.axes import Axis, across, curve, upward

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
_LOOKS = {"measured": "host", "recorded": "host recorded", "simulated": "gpu simulated", "published": "rest"}
_LEFT, _RIGHT, _TOP, _BOTTOM = 100, 620, 116, 380


def crossing_lines(lines: Mapping[str, Times], cpu: str, gpu: str) -> Scene:
    """Lines of time per step by the number of waves, and which of `cpu` and `gpu` is faster, with a slider over waves.

    The slider has the numbers that both lines have. Each line has its own kind of time.

    >>> lines = {name: {1: fl.Seconds(1e-4, kind)} for name, kind in (("CPU", "recorded"), ("T4", "simulated"))}
    >>> crossing_lines(lines, "CPU", "T4")
    1 wave at once. The CPU takes 100 µs (recorded), the T4 100 µs (simulated). That's about the same.
    """
    sizes = sorted(set(lines[cpu]) & set(lines[gpu]))
    every = [1e6 * float(time) for times in lines.values() for time in times.values()]
    xs = Axis(min(sizes), 4 * max(sizes), _LEFT, _RIGHT, log=True)
    ys = Axis(10, max(500_000, 2 * max(every)), _BOTTOM, _TOP, log=True)
    curves = [
        curve([xs(n) for n in times], [ys(1e6 * float(time)) for time in times.values()], _LOOKS[_kind(times)])
        for times in lines.values()
    ]
    gaps = [(xs(n), ys(1e6 * float(lines[cpu][n])), ys(1e6 * float(lines[gpu][n]))) for n in sizes]
    faster = [_faster(lines[cpu][n], lines[gpu][n], cpu, gpu) for n in sizes]
    ticks = [n for n in sizes if n in (1, 2**6, 2**10, 2**16, 2**20)]
    picture = drawing(
        640, 440, "Time of a training step, by the number of waves trained at once, both axes logarithmic",
        *(part for row, (name, times) in enumerate(lines.items()) for part in _key(row, name, _kind(times))),
        *across(xs, _BOTTOM, "waves at once (log)", ticks, "{:,}".format),
        *upward(ys, _LEFT, "time per step (log)", text=lambda micro: duration(micro / 1e6)),
        Part("path", class_="gap", d=Each(f"M{x} {begin}V{end}" for x, begin, end in gaps)), *curves,
        label(_RIGHT, 24, Each(f"× {factor:.2g}" if name else "" for name, factor in faster), "bold big end"),
        label(_RIGHT, 50, Each(f"{name} is faster" if name else "about the same" for name, _ in faster), "end"),
    )  # fmt: skip
    said = [_said(lines[cpu][n], lines[gpu][n], n, cpu, gpu) for n in sizes]
    return Scene(picture, [Knob("waves", [f"{n:,}" for n in sizes], slider=True, ms=700)], said)


def _kind(times: Times) -> str:
    return next(iter(times.values())).kind


def _key(row: int, name: str, kind: str) -> Iterator[Part]:
    """A line's name and kind, beside a piece of it."""
    y = 16 + 26 * row
    yield curve([_LEFT, _LEFT + 48], [y, y], _LOOKS[kind])
    yield label(_LEFT + 60, y + 5, f"{name}, {kind}")


def _faster(on_cpu: Seconds, on_gpu: Seconds, cpu: str, gpu: str) -> tuple[str, float]:
    """Which of the two is faster, and by how much; no name where it's about the same."""
    ratio = float(on_cpu) / float(on_gpu)
    return "" if 0.8 < ratio < 1.25 else gpu if ratio > 1 else cpu, max(ratio, 1 / ratio)


def _said(on_cpu: Seconds, on_gpu: Seconds, at: int, cpu: str, gpu: str) -> str:
    times = f"The {cpu} takes {duration(on_cpu)} ({on_cpu.kind}), the {gpu} {duration(on_gpu)} ({on_gpu.kind})."
    name, factor = _faster(on_cpu, on_gpu, cpu, gpu)
    verdict = f"The {name} is faster, by a factor of about {factor:.2g}." if name else "That's about the same."
    return f"{many(at, 'wave')} at once. {times} {verdict}"
