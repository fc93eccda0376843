"""Lesson 06's kitchen: the host's orders queue up, and the GPU works through them."""

from fluxlite.receipts import Seconds, duration
from simgpu.profile import Receipt

from ..draw.frames import Frames, frames, launches
from ..draw.pictures import BLUE, GREEN, GREY, ORANGE, Picture, show
from ..draw.shapes import sheet

MOST = 24  # launches that still have room in the picture


def order_at(receipt: Receipt, seconds: float) -> Picture:
    """Which of a receipt's launches are ordered, waiting, in work or done, `seconds` after the first order.

    Raises `ValueError` for more than 24 launches, or for a receipt without times.
    """
    orders = launches(receipt)
    if len(orders) > MOST:
        raise ValueError(f"this picture has room for {MOST} launches, got {len(orders)}: take fewer")
    now, numbered = orders[0].asked + seconds, list(enumerate(orders, 1))
    asked = [number for number, order in numbered if order.went_on > now][:1]
    waiting = [number for number, order in numbered if order.went_on <= now < order.start]
    working = [number for number, order in numbered if order.start <= now < order.end]
    done = [number for number, order in numbered if order.end <= now]
    columns = (
        ("the host gives orders", GREY, asked), ("the queue", ORANGE, waiting),
        ("the GPU works on", BLUE, working), ("done", GREEN, done),
    )  # fmt: skip
    lines = (len(orders) + 3) // 4
    figure, axes = sheet(10, 1.1 + 0.35 * lines, (-0.5, 19.5), (3.9 - 0.7 * lines, 5))
    for column, (title, colour, numbers) in enumerate(columns):
        axes.text(column * 5 + 2, 4.4, title, ha="center", fontsize=13, weight="bold")
        box = {"boxstyle": "round", "facecolor": "white", "edgecolor": colour, "linewidth": 2}
        for place, number in enumerate(numbers):
            x, y = column * 5 + place % 4 + 0.5, 3.4 - 0.7 * (place // 4)
            axes.text(x, y, str(number), ha="center", va="center", fontsize=12, bbox=box)
    time = Seconds(seconds, receipt.seconds.kind, receipt.seconds.card)
    host = "the host is still giving orders" if asked else f"the host has given all {len(orders)} orders"
    gpu = f"the GPU works on number {working[0]}" if working else "the GPU has nothing to do"
    queue = f"{len(waiting)} {'waits' if len(waiting) == 1 else 'wait'} in the queue"
    ready = f"{len(done)} {'is' if len(done) == 1 else 'are'} done"
    return show(figure, f"After {time}: {host}, {queue}, {gpu}, {ready}.")


def orders(receipt: Receipt) -> Frames:
    """`order_at` for each moment at which something changes, to leaf through or to play."""
    found = launches(receipt)
    moments = sorted({0.0, *(time - found[0].asked for order in found for time in (order.went_on, order.end))})
    moments = [moment for number, moment in enumerate(moments) if not number or moment - moments[number - 1] > 1e-9]
    pictures = [order_at(receipt, moment) for moment in moments]
    return frames(pictures, [duration(moment) for moment in moments], f"time, {receipt.seconds.kind}", ms=600)
