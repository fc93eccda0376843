"""The cards that can be simulated: how much each does in a second, and what each step costs its host.

A rate is the maker's peak figure times the share that programs reach. The peaks have sources. The shares and the host's
costs are estimates, until `fluxlite.calibrate` fits them to measurements. A preset never changes: new figures make a
preset with a new version.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..arguments import in_words

GiB = 2**30


class Preset(NamedTuple):
    """What a card can do. Memory is in bytes, times in seconds, rates in bytes or operations per second."""

    name: str
    memory: int
    multiprocessors: int
    bandwidth: float  # of the card's memory
    float16: float  # operations per second; cards with tensor cores use them for products
    float32: float
    float64: float
    pageable: float  # the link to the host, from memory that the system may move, like NumPy's arrays
    pinned: float  # the same from memory that stays in place
    launch: float = 8e-6  # the host's time for one launch through CuPy, Python included
    floor: float = 3e-6  # no kernel is faster
    latency: float = 13e-6  # of any copy, however small
    first_use: float = 20e-3  # loading a kernel from CuPy's cache on disk; compiling it takes 10 times as long
    version: int = 1


# The links, pageable and pinned: PCI Express carries 16, 32 or 64 GB/s each way in generation 3, 4 or 5 (16 lanes).
# About 3/4 of that arrives. Pageable memory is first copied on the host, so the host's memory limits its rate.
_PCIE_3 = (6e9, 12e9)
_PCIE_4 = (10e9, 24e9)
_PCIE_5 = (12e9, 48e9)

PRESETS = {
    preset.name: preset
    for preset in (
        # NVIDIA T4 Tensor Core GPU datasheet, 2019: 16 GB GDDR6, 320+ GB/s, 8.1 TFLOPS single precision, 65 TFLOPS
        # mixed; 40 multiprocessors, float64 at 1/32: Turing architecture white paper, 2018. PCI Express 3.
        # Shares: 0.74 of the operations (a 2048 x 2048 product in 2.87 ms); 0.4 of the tensor cores' within 70 W.
        Preset("NVIDIA T4", 16 * GiB, 40, 320e9 * 0.75, 65e12 * 0.4, 8.1e12 * 0.74, 8.1e12 / 32 * 0.9, *_PCIE_3),
        # NVIDIA GeForce GTX 1650 specifications page, 2019: 4 GB GDDR5, 128 GB/s, 896 cores at 1,665 MHz, two
        # operations each in a cycle; 14 multiprocessors, float16 at twice the rate without tensor cores, float64 1/32
        Preset("GTX 1650", 4 * GiB, 14, 128e9 * 0.8, 5.97e12 * 0.8, 2.98e12 * 0.8, 2.98e12 / 32 * 0.9, *_PCIE_3),
        # NVIDIA Turing architecture white paper, 2018, RTX 2080 Ti (reference): 11 GB GDDR6, 616 GB/s, 13.4 TFLOPS,
        # tensor cores 53.8 TFLOPS adding up in float32, 68 multiprocessors, float64 1/32
        Preset("RTX 2080 Ti", 11 * GiB, 68, 616e9 * 0.8, 53.8e12 * 0.6, 13.4e12 * 0.8, 13.4e12 / 32 * 0.9, *_PCIE_3),
        # NVIDIA A100 Tensor Core GPU datasheet, 2021, the PCIe card with 40 GB: 1,555 GB/s, 19.5 TFLOPS float32
        # (CuPy does not use TF32 by itself), float64 9.7, tensor cores 312; 108 multiprocessors; PCI Express 4
        Preset("A100", 40 * GiB, 108, 1555e9 * 0.85, 312e12 * 0.6, 19.5e12 * 0.85, 9.7e12 * 0.85, *_PCIE_4),
        # NVIDIA H200 Tensor Core GPU datasheet, 2024, SXM: 141 GB (decimal), 4.8 TB/s, float32 67 TFLOPS, float64 34,
        # tensor cores 1,979 with sparse matrices, so 989; 132 multiprocessors; PCI Express 5
        Preset("H200", 141 * 10**9, 132, 4.8e12 * 0.85, 989e12 * 0.6, 67e12 * 0.75, 34e12 * 0.85, *_PCIE_5),
    )
}


def preset(name: Any) -> Preset:
    """The card with this name; a preset is returned unchanged. Raises `ValueError`, which lists the names."""
    if isinstance(name, Preset):
        return name
    if not isinstance(name, str) or name not in PRESETS:
        cards = ", ".join(PRESETS)
        raise ValueError(f"like=… is a preset, or one of {cards}: there's no preset for {in_words(name)}")
    return PRESETS[name]
