"""The launches of a receipt, for films of what a GPU does."""

from simgpu.events import LAUNCH
from simgpu.profile import Moment, Receipt


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
