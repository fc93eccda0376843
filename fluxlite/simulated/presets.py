"""The cards that can be simulated.

Memory as the driver reports it is some percent below these figures; the makers' round figures are taken.
"""

from __future__ import annotations

from typing import NamedTuple

GiB = 2**30


class Preset(NamedTuple):
    """What a card is like. `memory` in bytes."""

    name: str
    memory: int


PRESETS = {
    preset.name: preset
    for preset in (
        # NVIDIA T4 Tensor Core GPU datasheet, 2019: "GPU Memory 16 GB GDDR6"
        Preset("NVIDIA T4", 16 * GiB),
        # NVIDIA GeForce GTX 1650 specifications page: "Standard Memory Config 4 GB GDDR5"
        Preset("GTX 1650", 4 * GiB),
        # NVIDIA GeForce RTX 2080 Ti user guide, 2018: "11 GB GDDR6"
        Preset("RTX 2080 Ti", 11 * GiB),
        # NVIDIA A100 Tensor Core GPU datasheet, 2021, the PCIe card of 2020: "40GB HBM2"
        Preset("A100", 40 * GiB),
        # NVIDIA H200 Tensor Core GPU datasheet, 2024: "GPU Memory 141GB", decimal
        Preset("H200", 141 * 10**9),
    )
}


def preset(name: str) -> Preset:
    """The card of this name. Raises `ValueError`, with the names there are."""
    if name not in PRESETS:
        raise ValueError(f"no preset for {name!r}; the cards that can be simulated are {', '.join(PRESETS)}")
    return PRESETS[name]
