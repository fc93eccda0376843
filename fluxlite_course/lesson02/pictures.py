"""A model's leaves on their way to the GPU, one by one: two memories above, and the lanes below."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import fluxlite as fl
from fluxlite import explain, messages
from fluxlite.devices.receipts import duration
from fluxlite.words import many
from simgpu.events import HOST_TO_DEVICE
from simgpu.profile import Moment, Receipt

from ..scenes import Each, Knob, Part, Scene, label
from ..scenes.lanes import TOP, Lanes, Row, Time, film
from ..scenes.receipts import NAMES, Program, moments_of

CARD = "NVIDIA T4"
MOST_LINES = 10
_HOST, _GPU, _BOX = 126, 360, 154  # where the two memories begin, and how wide they are
_BELONGS = 526  # where the names of the new model's parts begin
_FIRST, _PITCH, _HIGH = 38, 30, 24  # the first line, from one to the next, and a leaf's height
_TIE = 40  # how wide the bridge between tied leaves is
_INDENT, _LETTERS = 13, 14  # a step to the right, and how many letters have room in a name at the edge
_LANES = ("host", "copies to")
_UNTIL_NOTHING = [0, 45e-6, 90e-6]  # moments, in seconds, of a move that moves nothing


class Leaf(NamedTuple):
    """An array: its path, what's written on it, where it's drawn in a memory, and the copy that takes it across.

    Arrays that are tied have the same copy. One that's out of reach has none.
    """

    path: str
    words: str
    x: float
    width: float
    line: int
    copy: int | None


class Line(NamedTuple):
    """A part of the model that isn't a leaf: its name, its type, how deep inside it is, and whether it's a shut box.

    On a narrow screen, only the name is shown.
    """

    name: str
    what: str
    depth: int
    is_shut: bool


class Drawn(NamedTuple):
    """A model as lines, and the leaves on them. `ends` has for each line the last copy that its part waits for."""

    lines: list[Line]
    leaves: list[Leaf]
    ends: list[int]


def leaf_by_leaf(model: Any) -> Scene:
    """What `gpu` does with a model whose arrays are on the CPU: its leaves cross one by one, on a simulated NVIDIA T4.

    Raises `ValueError` for a model that's on a GPU already, for one without arrays, and for one with more parts than
    there's room for.

    >>> leaf_by_leaf(fl.Chain(fl.Dense(2, 1, np.tanh))).sentences[-1]
    'After 43 µs simulated (NVIDIA T4): 2 copies, 12 bytes. All 2 arrays are on the GPU, in a new model.'
    """
    drawn, receipt = _drawn(model), _moved(model)
    return _scene(drawn, [receipt], [_is_out_of_reach(drawn)])


def functor_switch() -> Scene:
    """The same for a model whose class isn't registered, and for one with `@functor`: a knob switches it.

    >>> functor_switch().at(time="103 µs")
    'After 0 s simulated (NVIDIA T4): 0 copies, 0 bytes. To gpu, m is a shut box: you get m back, on the CPU.'
    """

    class Net:
        def __init__(self) -> None:
            self.first, self.rest = fl.Dense(4, 3), [fl.Dense(3, 3), fl.Dense(3, 2)]

    stayed = _moved(Net())
    fl.functor(Net)
    m = Net()
    return _scene(_drawn(m), [stayed, _moved(m)], [True, False], [Knob("@functor", ["off", "on"])])


def _moved(model: Any) -> Receipt:
    """The receipt of `gpu(model)`. What it says once, it'll still say when you move the model yourself."""
    before = dict(messages.said)
    with messages.put_aside():  # the picture says it
        receipt = fl.estimate(lambda: fl.gpu(model), like=CARD).receipt
    messages.said.clear()
    messages.said.update(before)
    return receipt


def _is_out_of_reach(drawn: Drawn) -> bool:
    return all(leaf.copy is None for leaf in drawn.leaves)


# -- the model, as lines and leaves ------------------------------------------------------------------------------------


def _drawn(model: Any) -> Drawn:
    root = explain(model).root
    if any(place != "CPU" for place in root.places):
        raise ValueError("an array of it is on a GPU already; to see all of them go there, give cpu(model)")
    parts = list(_parts(root, is_apart=True))
    if len(parts) > MOST_LINES:
        parts = list(_parts(root))
    if not any(_arrays(row) for row, *_ in parts):
        raise ValueError("it has no arrays inside: give a model, such as Chain(Dense(10, 5, sigmoid), Dense(5, 2))")
    if len(parts) > MOST_LINES:
        raise ValueError(f"there's room for {MOST_LINES} parts, and this model has {len(parts)}: give one of them")
    copies: dict[str, int] = {}
    lines, leaves, ends = list[Line](), list[Leaf](), list[int]()
    for number, (row, name, depth) in enumerate(parts):
        lines.append(_line(row, name, depth))
        leaves += _leaves(_arrays(row), row.name, number, copies)
    for number in range(len(lines)):
        inside = range(number, _end(number, lines))
        found = [leaf.copy for leaf in leaves if leaf.line in inside and leaf.copy is not None]
        ends.append(max(found, default=-1))
    return Drawn(lines, leaves, ends)


def _end(number: int, lines: Sequence[Line]) -> int:
    """The number of the first line that's no longer in the part on this line."""
    depth = lines[number].depth
    return next((n for n in range(number + 1, len(lines)) if lines[n].depth <= depth), len(lines))


def _line(row: Any, name: str, depth: int) -> Line:
    what = row.what.partition(",")[0].partition(" of ")[0].removesuffix(" object").removeprefix("function ")
    most = _LETTERS - depth * _INDENT // 7
    words = f"{name}: {what}" if name and what else name or what
    if len(words) > most:
        words = words[: most - 1] + "…"
    kept = len(name) or len(words)  # the whole model has no name
    return Line(words[:kept], words[kept:], depth, row.shut)


def _parts(row: Any, name: str = "", depth: int = 0, is_apart: bool = False) -> Iterator[tuple[Any, str, int]]:
    """Each part that isn't an array, its name, and its depth; without a list that's an object's only part.

    A shut box has the arrays of all that's in it. If it `is_apart`, each object in it has its own.
    """
    arrays = _arrays(row)
    owners = {owner: list(some) for owner, some in itertools.groupby(arrays, lambda array: _owner(array, row))}
    if is_apart and row.shut and len(owners) > 1:
        yield replace(row, rows=owners.get(row.name, [])), name, depth
        for owner, some in owners.items():
            if owner != row.name:
                inside = owner.removeprefix(row.name).lstrip(".")
                yield replace(row, name=owner, what="", rows=some, shut=False), inside, depth + 1
        return
    yield row, name, depth
    inside = row.rows[0] if len(row.rows) == 1 and _is_only_a_list(row.rows[0]) else row
    for part in inside.rows:
        is_function = part.what.startswith("function ") and not arrays  # a layer's own function isn't drawn
        if part.rows or is_function:
            name = part.name.removeprefix(row.name).removeprefix(inside.name).lstrip(".")
            yield from _parts(part, name, depth + 1, is_apart)


def _owner(array: Any, box: Any) -> str:
    """The path of the object in a shut box that has an array, or the box's own."""
    path = array.name.rpartition(".")[0]
    return path if len(path) > len(box.name) else box.name


def _is_only_a_list(row: Any) -> bool:
    """Whether a part is a list or tuple of other parts, as the layers of a `Chain` are."""
    return row.what.startswith(("list of ", "tuple of ")) and not row.shut and not _arrays(row)


def _arrays(row: Any) -> list[Any]:
    return [part for part in row.rows if part.place and not part.rows]


def _leaves(arrays: Sequence[Any], inside: str, line: int, copies: dict[str, int]) -> Iterator[Leaf]:
    """A line's leaves, side by side. `copies` has the number of each array's copy, by path, and gets these."""
    width = min(70, (_BOX - 8) / max(len(arrays), 1) - 4)
    for place, row in enumerate(arrays):
        name = row.name.removeprefix(inside).lstrip(".").removeprefix("['").removesuffix("']")
        words = name if 6.5 * len(name) < width else ""
        yield Leaf(row.name, words, 6 + place * (width + 4), width, line, _copy_of(row, copies))


def _copy_of(row: Any, copies: dict[str, int]) -> int | None:
    """The number of the copy that takes an array across. A tied array goes with the one that it's tied to."""
    if row.remarks and row.remarks[-1] == "stays":
        return None
    tied = [path for path in copies if row.remarks[0].startswith((f"tied to {path}:", f"tied to {path},"))]
    number = copies[tied[0]] if tied else len(set(copies.values()))
    copies[row.name] = number
    return number


# -- the picture -------------------------------------------------------------------------------------------------------


class State(NamedTuple):
    """A moment of a move: what time it is, the copies of the receipt, and whether the model is a shut box."""

    time: float
    copies: list[Moment]
    is_shut: bool

    @property
    def needed(self) -> float:
        """The time that the move has taken. Where nothing moves, the clock goes on, but the move is done at once."""
        return 0.0 if self.is_shut else self.time

    @property
    def landed(self) -> list[Moment]:
        return [copy for copy in self.copies if copy.end is not None and copy.end <= self.time]

    @property
    def flies(self) -> int | None:
        """The number of the copy that's on its way."""
        found = [n for n, copy in enumerate(self.copies) if (copy.start or 0) <= self.time < (copy.end or 0)]
        return found[-1] if found else None

    @property
    def ordered(self) -> int:
        """How many copies the host has ordered."""
        return sum((copy.went_on or 0) <= self.time for copy in self.copies)


def _scene(drawn: Drawn, receipts: Sequence[Receipt], shut: Sequence[bool], knobs: Sequence[Knob] = ()) -> Scene:
    programs = [Program(receipt) for receipt in receipts]
    moments = max((program.times for program in programs), key=len)
    times = moments_of(moments if len(moments) > 1 else _UNTIL_NOTHING)
    times = [Time(time.name, [*time.now] * len(programs), [*time.end] * len(programs)) for time in times]
    states = [
        State(time.now[0], [moment for moment in program.moments if moment.kind == HOST_TO_DEVICE], is_shut)
        for program, is_shut in zip(programs, shut) for time in times
    ]  # fmt: skip
    bottom = _FIRST + _PITCH * len(drawn.lines) + 4
    lanes = Lanes([Row(name, NAMES.get(name, name)) for name in _LANES], bottom + 34 + TOP)
    boxes = [[box for box in program.boxes() if box.lane in _LANES] for program in programs]
    scene = film(
        f"gpu(m), leaf by leaf, simulated ({CARD})", lanes, boxes, times, [_sentence(drawn, state) for state in states],
        about=f"simulated ({CARD})", knobs=knobs, ms=500, telling=[len(programs) - 1] * len(knobs) + [len(times) - 1],
        above=[
            # A leaf that crosses passes below those that are there.
            *_memories(bottom), *_ties(drawn, states), *reversed(list(_flights(drawn, states))),
            *_old_model(drawn, states, bottom), *_new_model(drawn, states),
        ],
    )  # fmt: skip
    scene.picture.attributes["data-drag"] = ""  # you drag the leaves across, too
    return scene


def _sentence(drawn: Drawn, state: State) -> str:
    landed = state.landed
    copies = f"{many(len(landed), 'copy')}, {many(sum(copy.bytes for copy in landed), 'byte')}."
    after = f"After {duration(state.needed)} simulated ({CARD}): {copies}"
    if state.is_shut:
        return f"{after} To gpu, m is a shut box: you get m back, on the CPU."
    there = len(landed)  # a tied array is one, and takes one copy
    arrays = len(state.copies) + sum(leaf.copy is None for leaf in drawn.leaves)
    if there == arrays:
        return f"{after} All {there} arrays are on the GPU, in a new model."
    if state.flies is None:
        left = ", and the others in a shut box" if there == len(state.copies) else ""
        return f"{after} On the GPU: {there} of {arrays} arrays{left}."
    return f"{after} {' and '.join(leaf.path for leaf in drawn.leaves if leaf.copy == state.flies)}: on its way."


def _memories(bottom: int) -> Iterator[Part]:
    for x, name in ((_HOST, "host"), (_GPU, "GPU")):
        yield Part("rect", class_=f"{name.lower()} line", x=x, y=4, rx=10, width=_BOX, height=bottom - 4)
        yield _text(x + _BOX / 2, 24, name, " memory", f"bold middle {name.lower()}")
    yield label(8, 24, "m", "bold")


def _old_model(drawn: Drawn, states: Sequence[State], bottom: int) -> Iterator[Part]:
    """The model that's there before, its leaves in the host's memory, and the frame of a shut box; the receipt."""
    for number, line in enumerate(drawn.lines):
        yield from _name(8, number, drawn.lines)
        if line.is_shut:
            count = _end(number, drawn.lines) - number
            yield _frame(4, _line_y(number) - 2, _HOST + _BOX + 4, _PITCH * count - 2)
    for leaf in drawn.leaves:
        yield Part("g", *_box(leaf, "host"), transform=f"translate({_HOST + leaf.x:g} {_line_y(leaf.line)})")
    if any(state.is_shut for state in states) and not any(line.is_shut for line in drawn.lines):
        shown = Each(None if state.is_shut else "none" for state in states)
        yield _frame(2, 32, _HOST + _BOX + 6, bottom - 34, display=shown)
    yield label(8, bottom + 26, "receipt", "name")
    words = [
        f"{many(len(state.landed), 'copy')} · {many(sum(copy.bytes for copy in state.landed), 'byte')} · "
        f"{duration(state.needed)}"
        for state in states
    ]
    yield label(_HOST, bottom + 26, Each(words), "bold")


def _frame(x: float, y: float, width: float, height: float, **more: Any) -> Part:
    return Part("rect", class_="rest line dashed", x=x, y=y, width=width, height=height, rx=6, **more)


def _new_model(drawn: Drawn, states: Sequence[State]) -> Iterator[Part]:
    """The model that `gpu` builds: a part is there as soon as the host has ordered the copies of all its leaves."""
    title = Each("gpu(m) is m" if state.is_shut else "gpu(m)" for state in states)
    yield label(_BELONGS, 24, title, "bold")
    for number in range(len(drawn.lines)):
        seen = [0 if state.is_shut else 1 if state.ordered > drawn.ends[number] else 0.3 for state in states]
        yield Part("g", *_name(_BELONGS, number, drawn.lines), opacity=Each(seen), class_="glide")


def _ties(drawn: Drawn, states: Sequence[State]) -> Iterator[Part]:
    """A bridge from each leaf to the one that it's tied to, in each memory: together they're one array."""
    firsts: dict[int | None, Leaf] = {}
    for leaf in drawn.leaves:
        first = firsts.setdefault(leaf.copy, leaf)
        if leaf.copy is None or first is leaf:
            continue
        there = Each(int(_place(leaf, state) == 2) for state in states)
        for left, more in ((_HOST, {"class_": "host"}), (_GPU, {"class_": "gpu glide", "opacity": there})):
            ends = [f"{left + end.x + end.width / 2:g} {_line_y(end.line) + _HIGH / 2:g}" for end in (first, leaf)]
            yield Part("path", d=f"M{'L'.join(ends)}", stroke_width=_TIE, **more)


def _flights(drawn: Drawn, states: Sequence[State]) -> Iterator[Part]:
    """Each copy of a leaf: with the leaf, between the two memories, in the GPU's."""
    for leaf in drawn.leaves:
        if leaf.copy is None:
            continue
        places = [_place(leaf, state) for state in states]
        look = Each("gpu" if there == 2 else "op copy" for there in places)
        words = Each("middle small inside" if there == 2 else "middle small" for there in places)
        xs = (_HOST + leaf.x, (_HOST + _BOX + _GPU - leaf.width) / 2, _GPU + leaf.x)
        yield Part(
            "g", *_box(leaf, look, words), class_="glide", opacity=Each(int(there > 0) for there in places),
            transform=Each(f"translate({xs[there]:g} {_line_y(leaf.line)})" for there in places),
        )  # fmt: skip


def _place(leaf: Leaf, state: State) -> int:
    """Where the copy of a leaf is: 0 with the leaf, 1 on its way, 2 there."""
    if state.is_shut or leaf.copy is None or leaf.copy >= len(state.copies):
        return 0
    if leaf.copy < len(state.landed):
        return 2
    return int(leaf.copy == state.flies)


def _box(leaf: Leaf, look: Any, words: Any = "middle small inside") -> Iterator[Part]:
    yield Part("g", Part("rect", width=leaf.width, height=_HIGH, rx=_HIGH / 2), class_=look)
    if leaf.words:
        yield label(leaf.width / 2, 16, leaf.words, words)


def _name(x: float, number: int, lines: Sequence[Line]) -> Iterator[Part]:
    """A part's name, and the line that leads to it from the part that it's in."""
    line = lines[number]
    left, y = x + _INDENT * line.depth, _line_y(number)
    if line.depth:
        above = max(n for n in range(number) if lines[n].depth < line.depth)
        yield Part("path", class_="box", d=f"M{left - 8} {_line_y(above) + 21}V{y + 12}h6")
    yield _text(left, y + 17, line.name, line.what)


def _text(x: float, y: float, words: str, more: str, look: str | None = None) -> Part:
    """Words, and more of them if the screen isn't narrow."""
    return Part("text", Part("tspan", text=words), Part("tspan", text=more, class_="wide"), x=x, y=y, class_=look)


def _line_y(number: int) -> int:
    return _FIRST + _PITCH * number
