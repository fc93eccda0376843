"""A receipt's launches with their times, for the films."""

from __future__ import annotations

from typing import NamedTuple

from simgpu.events import LAUNCH
from simgpu.profile import Counts


class Order(NamedTuple):
    """One launch, in seconds: when the host asks for it and goes on, and when the GPU starts and ends it, and which."""

    asked: float
    went_on: float
    start: float
    end: float
    device: str


def launches(receipt: Counts) -> list[Order]:
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
