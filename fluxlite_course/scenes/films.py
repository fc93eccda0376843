"""Films: frames to leaf through with a slider, or to play."""

from collections.abc import Iterable, Sequence

from simgpu.events import LAUNCH
from simgpu.profile import Moment, Receipt

from .parts import Each, Part, drawing
from .scene import Knob, Scene


def film(
    size: tuple[int, int], title: str, knobs: Knob | Sequence[Knob], frames: Sequence[Iterable[Part]],
    sentences: Sequence[str], ground: Iterable[Part] = (), first: Sequence[int] = (),
) -> Scene:  # fmt: skip
    """A scene with a drawing of its own for each state, over what all of them share, the `ground`.

    Where parts only move or change, an `Each` in them does more: it's smaller, and can glide.

    >>> ball = lambda x: [Part("circle", cx=x, cy=9, r=5, class_="gpu")]
    >>> film((40, 20), "A ball", Knob("time", ["0 s", "1 s"], slider=True), [ball(9), ball(30)], ["Left.", "Right."])
    Left.
    """
    groups = [Part("g", *parts, data_n=number) for number, parts in enumerate(frames)]
    shown = Part("g", *groups, only=Each((number, number) for number in range(len(groups))))
    return Scene(drawing(*size, title, *ground, shown), [knobs] if isinstance(knobs, Knob) else knobs, sentences, first)


def launches(receipt: Receipt) -> list[Moment]:
    """The launches of a receipt, in order, each with its times, in seconds. One entry is one launch.

    Raises `ValueError` if there are none, or if their times aren't known.
    """
    found = [moment for moment in receipt.timeline() if moment.kind == LAUNCH]
    if not found or found[0].start is None:
        raise ValueError("the film needs launches whose times are known: take the receipt of a simulated GPU")
    orders = []
    for moment in found:  # a call that launches twice shares its times out evenly
        asked, went_on, start, end = (float(time or 0) for time in moment[:4])
        n, order, work = moment.times, (went_on - asked) / moment.times, (end - start) / moment.times
        orders += [
            moment._replace(asked=asked + i * order, went_on=asked + (i + 1) * order, start=start + i * work,
                            end=start + (i + 1) * work, times=1)
            for i in range(n)
        ]  # fmt: skip
    return orders
