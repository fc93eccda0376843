"""Films: pictures to leaf through, all drawn before anyone moves anything; and when a receipt's launches ran."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from simgpu.events import LAUNCH
from simgpu.profile import Receipt

from . import widgets
from .pictures import Picture


def frames(pictures: Sequence[Picture], labels: Sequence[Any], name: str, first: int = 0, ms: int = 700) -> Frames:
    """Leaf through `pictures` with a slider called `name`, or let them run with its play button.

    Each picture has its label on the slider, and its sentence below it. A screen reader reads that sentence out. The
    arrow keys move the slider, and so do the two buttons beside it, by Space or Enter, where a front end keeps the
    arrow keys for itself. Nothing moves until you press play; then a frame stays for `ms` milliseconds. The plain
    way is to show one of the pictures. Raises `ValueError` if there are no pictures or not one label for each, and
    `ImportError` without ipywidgets.

    >>> from fluxlite_course.draw import plots, show
    >>> bar = lambda height: show(plots()[0], f"A bar, {height} high.")
    >>> frames([bar(1), bar(2)], labels=[1, 2], name="height", first=1)
    A bar, 2 high.
    """
    if not pictures or len(pictures) != len(labels):
        raise ValueError(f"frames takes a label for each picture, got {len(pictures)} pictures, {len(labels)} labels")
    if not -len(pictures) <= first < len(pictures):
        raise ValueError(f"first is the number of one of the {len(pictures)} pictures, got {first}")
    return Frames(pictures, [str(label) for label in labels], name, first % len(pictures), ms)


class Frames(widgets.Shown):
    """The widget that `frames` returns.

    `slider` and `play` are its controls, and `now` is the number of the frame that it shows.
    """

    def __init__(self, pictures: Sequence[Picture], labels: list[str], name: str, first: int, ms: int) -> None:
        module = widgets.ipywidgets("showing one of its pictures")
        self.pictures, last = list(pictures), len(pictures) - 1
        self.play = module.Play(value=first, min=0, max=last, interval=ms, description=f"play {name}")
        self.slider = module.SelectionSlider(
            options=[(label, number) for number, label in enumerate(labels)], value=first, description=name,
            style={"description_width": "initial"}, layout={"width": "32em", "max_width": "100%"},
        )  # fmt: skip
        self.image, self.words = module.HTML(), module.HTML()
        controls = module.HBox([self.play, widgets.with_buttons(self.slider)], layout={"flex_flow": "row wrap"})
        super().__init__(module.VBox([controls, self.image, self.words]))
        self._link = module.link((self.play, "value"), (self.slider, "value"))
        self.follow(self._draw, self.slider)

    @property
    def now(self) -> int:
        return self.slider.value

    def _draw(self) -> None:
        picture = self.pictures[self.now]
        self.page, self.sentence = picture._repr_html_(), picture.sentence
        self.image.value, self.words.value = picture._repr_html_(), widgets.said(picture.sentence)


class Order(NamedTuple):
    """One launch on a `device`, in seconds: when the host asks for it and goes on, when the GPU starts and ends it."""

    asked: float
    went_on: float
    start: float
    end: float
    device: str


def launches(receipt: Receipt) -> list[Order]:
    """The launches of a receipt, in order. Raises `ValueError` if there are none, or if their times aren't known."""
    found = [moment for moment in receipt.timeline() if moment.kind == LAUNCH]
    if not found or found[0].start is None:
        raise ValueError("the film needs launches whose times are known: take the receipt of a simulated GPU")
    orders = []
    for moment in found:
        asked, went_on, start, end = (float(time or 0) for time in moment[:4])
        n = moment.times  # a call that launches twice shares its times out evenly
        order, work, device = (went_on - asked) / n, (end - start) / n, str(moment.device)
        orders += [
            Order(asked + i * order, asked + (i + 1) * order, start + i * work, start + (i + 1) * work, device)
            for i in range(n)
        ]
    return orders
