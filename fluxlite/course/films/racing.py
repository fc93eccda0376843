"""Where the race is at each moment: what the CPU, the host and the GPU have done by then."""

from __future__ import annotations

from typing import NamedTuple

from ...receipts import duration
from .moments import Order

MOMENTS = 13


class Reached(NamedTuple):
    """How far both are after `seconds`: operations done on the CPU, and launches ordered and done on the GPU."""

    seconds: float
    operations: int
    on_cpu: int
    given: int
    done: int
    first: str

    @property
    def sentence(self) -> str:
        """The same in words."""
        after, operations, on_cpu, given, done, first = self
        if on_cpu == done == operations:
            return f"After {duration(after)}: both have done all {operations} operations, the {first} first."
        cpu = f"all {operations}" if on_cpu == operations else f"{on_cpu} of {operations}"
        return (
            f"After {duration(after)}: the CPU has done {cpu} operations. "
            f"The host has ordered {given} launches, and the GPU has done {done} of them."
        )


def reached(orders: list[Order], cpu: float, seconds: float) -> Reached:
    """How far the race of these orders is after `seconds`, if the CPU takes `cpu` seconds for all of it."""
    begin, end = orders[0].asked, max(order.end for order in orders)
    given = sum(order.went_on - begin <= seconds for order in orders)
    done = sum(order.end - begin <= seconds for order in orders)
    on_cpu = min(len(orders), int(len(orders) * seconds / cpu + 1e-9))
    return Reached(seconds, len(orders), on_cpu, given, done, "CPU" if cpu < end - begin else "GPU")


def instants(orders: list[Order], cpu: float, count: int) -> list[float]:
    """So many moments of the race, in seconds, from its start until both are done."""
    length = max(cpu, max(order.end for order in orders) - orders[0].asked)
    return [length * number / (count - 1) for number in range(count)]
