"""One warp of a kernel and the memory it touches, step by step, with buttons. Two kernels stand side by side."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

from fluxlite.messages import many
from simgpu.jit.tracing import Touch, Trace

from ..draw import widgets
from ..draw.pictures import BLUE, GREY, ORANGE, Picture, plots, show

_WIDTH, _HEIGHT = 6.2, 7.4  # of one kernel's column, in inches
_MOST_ROWS, _MOST_COLUMNS = 34, 32
_PALE = {BLUE: "#cfe4f3", ORANGE: "#fbdcc8"}


def warp_picture(traces: Trace | Mapping[str, Trace], number: int = 0) -> Picture:
    """A still of access `number` of a warp: where it is among all threads, and what its lanes touch in memory.

    A trace comes from ``kernel.trace(blocks, threads, args)``. Several are drawn side by side: ``{"along rows": …,
    "along columns": …}``. A cell is an element, with the number of the lane that touches it. Pale cells are the rest of
    the sectors that come along. Of shared memory, a column is a bank. Raises `IndexError` for a number out of range.
    """
    columns = _columns_of(traces)
    chosen = {title: _at(trace, number, title) for title, trace in columns.items()}
    figure, axes = plots(2, len(columns), _HEIGHT, _WIDTH * len(columns), squeeze=False, height_ratios=[1, 5])
    for k, (title, touch) in enumerate(chosen.items()):
        _draw_grid(axes[0][k], title, columns[title])
        _draw_memory(axes[1][k], touch)
    return show(figure, " ".join(f"{title}: " * (len(columns) > 1) + touch.sentence for title, touch in chosen.items()))


def _columns_of(traces: Any) -> Mapping[str, Trace]:
    """The traces by their titles. Raises `TypeError` for a kernel, which has to be traced first."""
    columns = traces if isinstance(traces, Mapping) else {getattr(traces, "name", ""): traces}
    for trace in columns.values():
        if not isinstance(trace, Trace):
            name = getattr(trace, "name", "kernel") if hasattr(trace, "figures") else "kernel"
            got = f"{type(trace).__name__}: warp({name}.trace(blocks, threads, (x, out)))"
            raise TypeError(f"warp takes a trace, or several by their titles, got {got}")
    return columns


def _at(trace: Trace, number: int, title: str) -> Touch:
    if not 0 <= number < len(trace):
        raise IndexError(f"{title} has {len(trace)} accesses of this warp, 0 to {len(trace) - 1}; got {number}")
    return trace[number]


def warp(traces: Trace | Mapping[str, Trace], number: int = 0) -> Warp:
    """What a warp touches, step by step: ``warp_picture(traces, number)`` with buttons.

    ``warp(kernel.trace(1, 32, (x, out)))`` shows one kernel, ``warp({"rows": …, "columns": …})`` several.
    Raises `IndexError` for a number that isn't there, and `ImportError` without ipywidgets.
    """
    return Warp(traces, number)


class Warp(widgets.Shown):
    """The widget that `warp` returns. Controls: ``.before``, ``.after``, ``.number``; set ``w.number.value = 3``."""

    def __init__(self, traces: Trace | Mapping[str, Trace], number: int) -> None:
        module = widgets.ipywidgets("warp_picture(trace)")
        for title, trace in _columns_of(traces).items():
            _at(trace, number, title)  # raises before we show anything
        self._traces, last = traces, min(map(len, _columns_of(traces).values())) - 1
        self._last = last
        self.before = module.Button(description="◀ before", tooltip="the access before")
        self.after = module.Button(description="next ▶", tooltip="the next access")
        self.number = module.IntSlider(number, 0, max(1, last), description="Access", continuous_update=False)
        self.picture, self.code = module.HTML(), module.HTML()
        controls = module.HBox([self.before, self.after, self.number])
        super().__init__(module.VBox([controls, self.picture, self.code]))
        self.before.on_click(lambda button: self._go(-1))
        self.after.on_click(lambda button: self._go(1))
        self.follow(self._draw, self.number)

    @property
    def call(self) -> str:
        """The plain call for the current picture."""
        return f"from fluxlite_course.lesson08 import warp_picture; warp_picture(trace, {self.number.value})"

    def _go(self, steps: int) -> None:
        self.number.value = min(max(self.number.value + steps, 0), self._last)

    def _draw(self) -> None:
        still = warp_picture(self._traces, min(self.number.value, self._last))
        self.page = self.picture.value = still._repr_html_()
        self.sentence, self.code.value = still.sentence, widgets.plain(self.call)


def _draw_grid(axes: Any, title: str, trace: Trace) -> None:
    """All blocks on the left, the chosen one dark; its threads on the right, the chosen warp dark."""
    axes.set_axis_off()
    axes.set(xlim=(0, 10), ylim=(2.9, -0.9), aspect="auto")
    axes.set_title(title, loc="left", fontweight="bold")
    x, y, z = trace.block
    lanes = [divmod(lane, x) for lane in range(trace.warp * 32, min((trace.warp + 1) * 32, x * y * z))]
    first = max(0, lanes[0][0] - 8)
    warp, block = {(row - first, column) for row, column in lanes}, {divmod(trace.chosen, trace.grid[0])}
    for left, width, its, what, shape, most, chosen, about in (
        (0.0, 4.2, "", "block", trace.grid, (8, 16), block, f"number {trace.chosen:,}"),
        (5.2, 4.6, "its ", "thread", trace.block, (16, 64), warp, f"warp {trace.warp}"),
    ):
        x, y, z = shape
        rows, columns = min(y * z, most[0]), min(x, most[1])
        some = f" ({columns * rows:,} drawn)" if columns * rows < x * y * z else ""
        axes.text(left, -0.2, f"{its}{many(x * y * z, what)}{some}: {about}", fontsize=11)
        w, h = min(width / columns, 0.6), min(2.4 / rows, 0.6)
        colours = [[BLUE if (row, column) in chosen else "#e3e8ec" for column in range(columns)] for row in range(rows)]
        _mosaic(axes, colours, (left, left + w * columns, h * rows, 0.0), "white")


def _mosaic(axes: Any, colours: list[list[str]], extent: tuple[float, float, float, float], between: str) -> None:
    """Cells of these colours, with lines between them. One image is quicker to draw than a thousand rectangles."""
    from matplotlib.colors import to_rgb

    left, right, bottom, top = extent
    axes.imshow([[to_rgb(colour) for colour in row] for row in colours], extent=extent, aspect="auto", zorder=1)
    rows, columns, thin = len(colours), len(colours[0]), {"colors": between, "linewidth": 1.0, "zorder": 2}
    axes.hlines([top + (bottom - top) * k / rows for k in range(rows + 1)], left, right, **thin)
    axes.vlines([left + (right - left) * k / columns for k in range(columns + 1)], top, bottom, **thin)


def _draw_memory(axes: Any, touch: Touch) -> None:
    width, size = _columns(touch), math.prod(touch.shape)
    lanes: dict[int, list[int]] = {}
    for lane, element in touch.elements.items():
        lanes.setdefault(element, []).append(lane)
    along = set() if touch.is_shared else _sectors(touch, size)
    first_row, first_column = _window(lanes, width, -(-size // width))
    rows, columns = min(-(-size // width) - first_row, _MOST_ROWS), min(width - first_column, _MOST_COLUMNS)
    colour = ORANGE if touch.way == "read" else BLUE
    cells = [[(row + first_row) * width + column + first_column for column in range(columns)] for row in range(rows)]
    look = {**dict.fromkeys(along, _PALE[colour]), **dict.fromkeys(lanes, colour)}
    colours = [[look.get(element, "white" if element < size else "#d9d9d9") for element in row] for row in cells]
    _mosaic(axes, colours, (0, columns, rows, 0), "#c9ced4")
    for element in lanes.keys() & set(itertools.chain(*cells)):
        place = element % width - first_column + 0.5, element // width - first_row + 0.5
        text = {1: str(lanes[element][0]), 32: "all"}.get(len(lanes[element]), "…")
        axes.text(*place, text, ha="center", va="center", fontsize=8, color="white", zorder=3)
    axes.set(xlim=(-0.1, max(columns, 8)), ylim=(max(rows, 4) + 0.1, -0.1), aspect="equal", yticks=[], xticks=[])
    axes.set_frame_on(False)
    axes.set_xlabel(_label(touch, rows * columns >= size, first_row, first_column), fontsize=11, color=GREY, loc="left")


def _columns(touch: Touch) -> int:
    """How many elements a row of the picture has: as many as the array's rows, or as there are banks."""
    if touch.is_shared:
        return max(1, 32 * 4 // touch.itemsize)
    return touch.shape[-1] if len(touch.shape) > 1 else 32


def _window(lanes: dict[int, list[int]], width: int, rows: int) -> tuple[int, int]:
    """The first row and column to draw, so that what is touched is in view."""
    top, left = min(lanes) // width, min(element % width for element in lanes)
    row = 0 if rows <= _MOST_ROWS else min(top, rows - _MOST_ROWS)
    return row, 0 if width <= _MOST_COLUMNS else min(left // 8 * 8, width - _MOST_COLUMNS)


def _sectors(touch: Touch, size: int) -> set[int]:
    """The elements that come along: those in the same sectors. Only for an array whose rows lie one after the other."""
    each = max(1, 32 // touch.itemsize)
    offset = next(iter(touch.addresses.values())) // touch.itemsize - next(iter(touch.elements.values()))
    along: set[int] = set()
    for address in touch.addresses.values():
        begin = address // 32 * each - offset
        along.update(element for element in range(begin, begin + each) if 0 <= element < size)
    return along


def _label(touch: Touch, whole: bool, row: int, column: int) -> str:
    what = f"shared memory {touch.array}, a column for each bank" if touch.is_shared else f"{touch.array} {touch.shape}"
    where = "" if whole else f", drawn from row {row}, column {column} on"
    return f"{touch.text}\n{what}{where}\n{touch.cost}"
