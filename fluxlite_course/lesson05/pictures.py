"""Lesson 06's kitchen: the host's orders queue up, and the GPU works through them."""

from fluxlite.receipts import Seconds, duration
from simgpu.profile import Receipt

from ..scenes import Each, Knob, Scene, drawing, label, launches
from ..scenes.boxes import box, ticket

MOST = 24  # launches that still have room in the picture
HOST, QUEUE, GPU, DONE = range(4)
# Each station: where its box begins, how wide it is, its title and its colour.
_STATIONS = (
    (6, 96, "host", "host"), (122, 186, "queue", "wait"), (328, 96, "GPU", "gpu"), (444, 186, "done", "rest"),
)  # fmt: skip
_TOP, _ROW = 40, 38


def orders(receipt: Receipt) -> Scene:
    """A receipt's launches as tickets: ordered by the host, waiting in the queue, in work, done.

    There's a state for each moment at which something changes. Raises `ValueError` for more than 24 launches, or for a
    receipt without times.

    >>> orders(fl.estimate(lambda x: (x + x) * x, np.ones(4, np.float32)).receipt).sentences[-1]
    'After 33 µs simulated (NVIDIA T4): the host has given all 2 orders, 0 wait in the queue, ...'
    """
    found = launches(receipt)
    if len(found) > MOST:
        raise ValueError(f"this picture has room for {MOST} launches, got {len(found)}: take fewer")
    begin = float(found[0].asked or 0)
    times = [[float(time or 0) - begin for time in (each.went_on, each.start, each.end)] for each in found]
    changes = sorted({0.0, *(time for went_on, _, end in times for time in (went_on, end))})
    moments = [time for number, time in enumerate(changes) if not number or time - changes[number - 1] > 1e-9]
    # For each moment, where each ticket is: before it leaves a station, it's there.
    stations = [[sum(time <= now + 1e-12 for time in each) for each in times] for now in moments]
    rows = (len(found) + 3) // 4
    # The next ticket lies on top of the host's pile.
    tickets = [
        ticket(
            number + 1, Each(_STATIONS[at[number]][3] for at in stations), Each(_place(at, number) for at in stations)
        )
        for number in reversed(range(len(found)))
    ]
    words = [_words(at) for at in stations]
    boxes = [
        box(x, _TOP, wide, rows * _ROW + 44, title,
            label(wide / 2, rows * _ROW + 32, Each(each[number] for each in words), "middle"), look=f"{look} hollow")
        for number, (x, wide, title, look) in enumerate(_STATIONS)
    ]  # fmt: skip
    picture = drawing(
        640, _TOP + rows * _ROW + 52, "Orders: with the host, in the queue, on the GPU, done", *boxes, *tickets
    )
    kind, card = receipt.seconds.kind, receipt.seconds.card
    sentences = [_said(at, Seconds(time, kind, card)) for at, time in zip(stations, moments)]
    knob = Knob(f"time, {kind}", [duration(time) for time in moments], slider=True, ms=600)
    return Scene(picture, [knob], sentences)


def _place(stations: list[int], number: int) -> tuple[float, float]:
    """Where a ticket is: four of them in a row, but with the host they're a pile."""
    station = stations[number]
    x, wide = _STATIONS[station][:2]
    if station in (HOST, GPU):
        return x + wide / 2, _TOP + 28
    row, column = divmod(stations[:number].count(station), 4)
    return x + 27 + 44 * column, _TOP + 28 + _ROW * row


def _words(stations: list[int]) -> tuple[str, str, str, str]:
    """What stands in each station's box."""
    host, queue, gpu, done = (stations.count(station) for station in range(4))
    return "orders" if host else "is through", f"{queue} waiting", "works" if gpu else "idle", f"{done} done"


def _said(stations: list[int], time: Seconds) -> str:
    waiting, done = stations.count(QUEUE), stations.count(DONE)
    host = "the host is still giving orders" if HOST in stations else f"the host has given all {len(stations)} orders"
    gpu = f"the GPU works on number {stations.index(GPU) + 1}" if GPU in stations else "the GPU has nothing to do"
    queue = f"{waiting} {'waits' if waiting == 1 else 'wait'} in the queue"
    return f"After {time}: {host}, {queue}, {gpu}, {done} {'is' if done == 1 else 'are'} done."
