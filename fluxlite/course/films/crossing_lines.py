"""Lesson 08's lines: a training step of the sine-wave RNN on a CPU and on a T4, with more and more waves at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...jupyter.frames import Frames, frames
from ...messages import many
from ...pictures import GREY, Picture, look, plots, show
from ...receipts import Seconds, duration

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
    if 0.8 < ratio < 1.25:
        verdict = "That's about the same."
    else:
        winner, times_faster = (gpu, ratio) if ratio > 1 else (cpu, 1 / ratio)
        verdict = f"The {winner} is faster, by a factor of about {times_faster:.2g}."
    return f"{many(at, 'wave')} at once. {times} {verdict}"


def crossing_lines(lines: Mapping[str, Times], cpu: str, gpu: str) -> Frames:
    """`waves` with a slider for the number of waves, from the numbers that `cpu`'s line has."""
    sizes = sorted(set(lines[cpu]) & set(lines[gpu]))
    return frames([waves(lines, size, cpu, gpu) for size in sizes], [f"{size:,}" for size in sizes], "waves")
