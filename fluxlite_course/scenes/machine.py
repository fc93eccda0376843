"""The living machine: what a cell did, moment by moment, from its receipt. ``%%machine`` above a cell shows it.

The cell's lines, the two memories if something is copied, and the lanes.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from simgpu.events import DEVICE_TO_HOST, HOST_TO_DEVICE, LAUNCH
from simgpu.profile import Receipt, duration

from .lanes import TOP, Lanes, Row, film
from .parts import Each, Part, label
from .receipts import NAMES, Now, Program, moments_of, queue_time, size
from .scene import Knob, Scene

MOST_EVENTS = 40  # with more, a page would be too large, and nobody would look at the rest
QUESTION = "Where does the first copy go?"
GUESSES = ("not yet", "to the GPU", "back to the host", "no copy at all")
_HOST, _GPU, _BOX, _HIGH = 8, 434, 198, 150  # where the two boxes begin, how wide and how high they are
_ARROWS = {HOST_TO_DEVICE: "M214 {}h204l-12 -9v18l12 -9", DEVICE_TO_HOST: "M426 {}h-204l12 -9v18l-12 -9"}
_LINE, _LONGEST = 24, 58  # the height of a line of the cell, and how many letters it has room for
_MOST_LINES = 5  # a longer cell shows only the line that runs


def machine(
    receipt: Receipt, source: str, lines: Sequence[int], guess: bool = False, used: tuple[int, int] = (0, 0),
    memories: bool = False,
) -> Scene:  # fmt: skip
    """What a cell did: its `source`, two memories, the lanes. `lines` has the cell's line of each event.

    `used` is how many bytes of the GPU's memory were in use before, and after. With `guess`, you say where the first
    copy goes before you see it. With `memories`, they're drawn even if nothing is copied, and with them the latest
    result. The receipt has events of a simulated GPU, with their times.

    >>> r = fl.estimate(lambda x: x + x, np.ones(4, np.float32)).receipt
    >>> machine(r, "y = x + x", lines=[1])
    After 0 s simulated (NVIDIA T4): in line 1, the host asks: add; orders in the queue: 0; the GPU waits for orders.
    """
    program, card = Program(receipt, lines, MOST_EVENTS), receipt.seconds.card
    nows = [program.now(time) for time in program.times]
    more = f" The first {MOST_EVENTS} events; {program.more:,} more followed." * bool(program.more)
    said = [f"After {duration(now.time)} simulated ({card}): {now.said}{more}" for now in nows]
    code = source.rstrip().splitlines()
    has_memories = guess or memories or any(moment.kind in _ARROWS for moment in program.moments)
    shown = _lines_shown(code)
    top = 8 + _LINE * shown
    below = top + (_HIGH + 10 if has_memories else 0)
    again = len(GUESSES) if guess else 1
    above = [_running(nows * again, code, shown)] * bool(shown)
    if has_memories:
        above += _memories(top, used, nows * again)
        above += _stays(program, nows * again, top, used[0], memories)
        above += _travels(program, nows * again, top)
    if memories:
        above.append(_latest(program, nows * again, top))
    rows = [Row(lane, NAMES.get(lane, lane)) for lane in program.lanes]
    scene = film(
        f"A cell, and what it did on the host and on the GPU, simulated ({card})",
        Lanes(rows, below + TOP), [[*program.boxes(), *program.queue()]],
        moments_of(program.times), said * again, about=_about(program, card), which=[0] * again, ms=600, above=above,
        knobs=[Knob(QUESTION, GUESSES, picked=True)] if guess else (), where=program.where(), is_foretold=True,
        telling=[GUESSES.index(_right(program)), len(nows) - 1] if guess else (),
    )  # fmt: skip
    if guess:
        _ask(scene, program, len(nows), top)
    return scene


def _lines_shown(code: Sequence[str]) -> int:
    """How many of a cell's lines have room: a few have, of many only the one that runs. A single one is in the cell."""
    if len(code) < 2:
        return 0
    if len(code) <= _MOST_LINES:
        return len(code)
    return 1


def _about(program: Program, card: str | None) -> str:
    is_cut = program.where() is not None
    return f"dotted: loading, only once, and drawn short; simulated ({card})" if is_cut else f"simulated ({card})"


def _right(program: Program) -> str:
    """Where the first copy goes, as one of `GUESSES`."""
    kinds = [moment.kind for moment in program.moments if moment.kind in _ARROWS]
    return dict(zip(_ARROWS, GUESSES[1:]))[kinds[0]] if kinds else GUESSES[3]


def _ask(scene: Scene, program: Program, times: int, top: int) -> None:
    """Let a scene begin with the question: until it's answered, all but the two memories is hidden."""
    right = _right(program)
    happens = "Nothing is copied." if right == GUESSES[3] else f"The first copy goes {right}."
    verdicts = [f"{QUESTION} Click on an arrow, then press ▶."]
    verdicts += [f"✓ You're right. {happens}" if one == right else f"✗ Not this time. {happens}" for one in GUESSES[1:]]
    each = [verdict for verdict in verdicts for _ in range(times)]
    scene.sentences = [verdict if n < times else f"{verdict} {said}"
                       for n, (verdict, said) in enumerate(zip(each, scene.sentences))]  # fmt: skip
    only = Each((int(n >= times),) * 2 for n in range(len(each)))
    hidden = Part("g", *scene.picture.inside, data_n=1)
    asked = Part("g", *_frames(top, "memory"), data_n=0)
    asked.inside.append(_choices(top))
    scene.picture.inside = [Part("g", asked, hidden, only=only)]
    whole = int(scene.picture.attributes["viewBox"].split()[3])
    asks, tells = f"0 {top - 4} 640 {_HIGH + 8}", f"0 0 640 {whole}"
    scene.picture.attributes["viewBox"] = Each(asks if n < times else tells for n in range(len(each)))


def _choices(top: int) -> Part:
    """The three answers, to click on, in the gap between the boxes."""
    shapes = (_ARROWS[HOST_TO_DEVICE].format(0), _ARROWS[DEVICE_TO_HOST].format(0), "M311 -9l18 18m0 -18l-18 18")
    choices = [Part(
        "g", Part("rect", class_="hollow rest", x=212, y=-26, width=216, height=46, rx=8),
        label(320, -7, words, "middle"), Part("path", class_="line rest", d=shape, transform="translate(0 9)"),
        data_pick=f"0:{n + 1}", transform=f"translate(0 {top + 28 + 51 * n})",
    ) for n, (shape, words) in enumerate(zip(shapes, GUESSES[1:]))]  # fmt: skip
    return Part("g", *choices)


def _running(nows: list[Now], code: list[str], shown: int) -> Part:
    """The cell's lines, and a bar behind the one that runs; or only that one, if just one is shown."""
    numbers = [min(max(now.line, 1), len(code)) for now in nows]
    bar = Part("rect", class_="host faint", x=_HOST, y=1, width=_GPU + _BOX - _HOST, height=_LINE, rx=4)
    if shown == 1:
        words = Each(_short(code[number - 1].strip()) for number in numbers)
        written = [label(_HOST + 12, 18, Each(f"line {number}" for number in numbers), "small"),
                   label(_HOST + 70, 18, words, "code")]  # fmt: skip
    else:
        bar.attributes |= {"class": "host faint glide"}
        bar.attributes |= {"transform": Each(f"translate(0 {_LINE * (number - 1)})" for number in numbers)}
        written = []
        for number, line in enumerate(code):
            y = 18 + _LINE * number
            written += [label(_HOST + 12, y, f"line {number + 1}", "small"), label(_HOST + 70, y, _short(line), "code")]
    return Part("g", bar, *written)


def _short(line: str) -> str:
    """A line that has room, with all its spaces."""
    short = line if len(line) <= _LONGEST else f"{line[: _LONGEST - 2]} …"
    return short.replace(" ", "\xa0")


def _frames(top: int, used: Each | str) -> Iterator[Part]:
    for x, name, memory in ((_HOST, "host", "memory"), (_GPU, "GPU", used)):
        yield Part("rect", class_=f"{name.lower()} line", x=x, y=top, rx=10, width=_BOX, height=_HIGH)
        yield label(x + 12, top + 22, name, f"bold {name.lower()}")
        yield label(x + _BOX - 12, top + 21, memory, "end small wide")
        yield Part("path", class_="grid", d=f"M{x + 10} {top + 116}h{_BOX - 20}")


def _memories(top: int, used: tuple[int, int], nows: list[Now]) -> Iterator[Part]:
    """The two memories, and what the host and the GPU do now."""
    before, after = (f"{size(nbytes)} in use" for nbytes in used)
    end = max(now.time for now in nows)
    yield from _frames(top, Each(f"{after} after" if now.time >= end else f"{before} before" for now in nows))
    waits = Each(None if now.host == "waits" else "none" for now in nows)
    yield Part("rect", class_="wait line", x=_HOST, y=top, rx=10, width=_BOX, height=_HIGH, display=waits)
    looks = Each("bold wait" if now.host == "waits" else None for now in nows)
    yield label(_HOST + 12, top + 138, Each(now.host for now in nows), looks)
    looks = Each("bold wait" if now.gpu == "waits for orders" else None for now in nows)
    yield label(_GPU + 46, top + 138, Each(now.gpu for now in nows), looks)  # beside the order that's carried out
    yield label(320, top + 114, Each(f"queue: {len(now.queue)}" for now in nows), "middle small")


def _travels(program: Program, nows: list[Now], top: int) -> Iterator[Part]:
    """Orders on their way through the queue, and copies from one memory to the other."""
    landed = dict.fromkeys(_ARROWS, 0)
    for number, n in enumerate(program.orders(), 1):
        moment = program.moments[n]
        yield _moving(str(number), 27, [_ticket(now, n, moment, top + 121) for now in nows], "host")
        kind = moment.kind
        if kind in landed:
            dashes = None if moment.explicit else "5 4"
            flies = Each(None if n in now.works else "none" for now in nows)
            arrow = _ARROWS[kind].format(top + 74)
            yield Part("path", class_="copy line", d=arrow, display=flies, stroke_dasharray=dashes)
            places = [_parcel(now, moment, min(landed[kind], 5), top + 31) for now in nows]
            yield _moving(size(moment.bytes), 84, places, "copy", dashes)
            landed[kind] += 1


def _stays(program: Program, nows: list[Now], top: int, used: int, memories: bool) -> Iterator[Part]:
    """What stays where it was: the array that a copy to the GPU is of, and what the GPU's memory had before."""
    asked = [moment.asked for moment in program.moments if moment.kind == HOST_TO_DEVICE]
    if asked:
        seen = Each(int(now.time >= asked[0]) for now in nows)
        yield _entry("array", 110, top + 61, 84, opacity=seen)
    if used:
        y = top + 57 if memories else top + 86  # the latest result lies below
        yield _entry(f"{size(used)} from before", _GPU + 12, y, _BOX - 24)


def _entry(words: str, x: int, y: int, width: int, **more: Any) -> Part:
    box = Part("rect", class_="entry", width=width, height=24)
    text = label(width / 2, 17, words, "middle small")
    return Part("g", box, text, transform=f"translate({x} {y})", **more)


def _latest(program: Program, nows: list[Now], top: int) -> Part:
    """The latest result, which stays in the GPU's memory."""
    ends = [(moment.end, moment.name) for moment in program.moments if moment.kind == LAUNCH]
    done = [[name for end, name in ends if end <= now.time] for now in nows]
    words = Each(f"result of {names[-1][:12]}" if names else "" for names in done)
    box = Part("g", Part("rect", width=_BOX - 24, height=24), class_="op compute")
    return Part(
        "g", box, label(_BOX / 2 - 12, 17, words, "middle small"), class_="glide",
        transform=f"translate({_GPU + 12} {top + 87})", opacity=Each(int(bool(names)) for names in done),
    )  # fmt: skip


def _ticket(now: Now, n: int, moment: Any, y: int) -> tuple[int, int, bool]:
    """Where an order is, with the host, in the queue, or with the GPU, and whether it's seen."""
    if now.time < queue_time(moment):
        return _HOST + _BOX - 34, y, now.time >= moment.asked
    if n in now.queue:
        place = now.queue.index(n)
        return _GPU - 34 - 29 * min(place, 6), y, place < 7
    return _GPU + 12, y, n in now.works


def _parcel(now: Now, moment: Any, slot: int, y: int) -> tuple[int, int, bool]:
    """Where a copy is: where it begins, between the two memories, or in its place in the other one."""
    there = moment.kind == HOST_TO_DEVICE
    if now.time >= moment.end:
        return (_GPU if there else _HOST) + 12 + 90 * (slot % 2), y + 28 * (slot // 2), True
    if now.time >= moment.start:
        return 278, y + 30, True
    return 110 if there else 446, y + 30, there and now.time >= moment.asked


def _moving(words: str, width: int, places: list[tuple[int, int, bool]], look: str, dashes: str | None = None) -> Part:
    corner = 12 if look == "copy" else None
    box = Part("rect", width=width, height=24, rx=corner, stroke_dasharray=dashes)
    return Part(
        "g", Part("g", box, class_=f"op {look}"), label(width / 2, 17, words, "middle small"), class_="glide",
        transform=Each(f"translate({x} {y})" for x, y, _ in places), opacity=Each(int(seen) for *_, seen in places),
    )  # fmt: skip
