"""Schedules: the learning rate as a function of the step. ``train(…, schedule=cosine(0.01, 1000))`` calls it.

Each is a plain function that gives a plain function: ``rate(step)``, with steps counted from 0. So you can plot one,
and write your own: ``lambda step: 0.1 / (1 + step)``. ParameterSchedulers.jl has them for Flux.
"""

import math
from collections.abc import Callable

from ..words import check_callable, check_number, check_whole, explained

Schedule = Callable[[int], float]


@explained()
def step_decay(eta: float, every: int, factor: float = 0.1) -> Schedule:
    """`eta`, times `factor` after each `every` steps (PyTorch: ``StepLR``)."""
    _check(every, eta=eta, factor=factor)

    def rate(step: int) -> float:
        return eta * factor ** (step // every)

    return rate


@explained()
def exponential_decay(eta: float, factor: float) -> Schedule:
    """`eta`, times `factor` after each step (ParameterSchedulers: ``Exp``; PyTorch: ``ExponentialLR``)."""
    return step_decay(eta, 1, factor)


@explained()
def cosine(eta: float, steps: int, lowest: float = 0.0) -> Schedule:
    """Down from `eta` to `lowest` along half a cosine; after `steps` steps it stays there (``CosAnneal``)."""
    _check(steps, eta=eta, lowest=lowest)

    def rate(step: int) -> float:
        return _between(eta, lowest, min(step / steps, 1))

    return rate


@explained()
def warm_up(steps: int, after: Schedule) -> Schedule:
    """Up in a straight line for `steps` steps, to where the schedule `after` begins; then that one.

    Step 0 isn't lost at a rate of 0: it has ``1 / steps`` of what `after` begins with.
    """
    _check(steps)
    check_callable("after, a schedule such as cosine(0.01, 1000),", after)

    def rate(step: int) -> float:
        if step < steps:
            return after(0) * (step + 1) / steps
        return after(step - steps)

    return rate


@explained()
def one_cycle(eta: float, steps: int, up: float = 0.3, start: float = 0.04, end: float = 4e-6) -> Schedule:
    """Up to `eta` and down again, once, along cosines (Smith and Topin, 2019; PyTorch: ``OneCycleLR``).

    It climbs from ``start * eta`` during the share `up` of the steps; the last, ``steps - 1``, has ``end * eta``, and
    so have those after it. With ``up=1`` it only climbs.
    """
    _check(steps, eta=eta, up=up, start=start, end=end)
    if up > 1:
        raise ValueError(f"up is a share of the steps, at most 1, got {up}")
    top = up * steps - 1
    last = steps - 1

    def rate(step: int) -> float:
        step = min(step, last)
        if step <= top:
            share = 1.0  # it climbs; where its first step is the top, it begins there
            if top:
                share = step / top
            return _between(start * eta, eta, share)
        return _between(eta, end * eta, (step - top) / (last - top))

    return rate


def _between(first: float, last: float, share: float) -> float:
    return last + (first - last) * (1 + math.cos(math.pi * share)) / 2


def _check(steps: int, **numbers: float) -> None:
    check_whole("the number of steps", steps, 1)
    for name, number in numbers.items():
        check_number(name, number)
