"""The cards that can be simulated: how much each does in a second, and what each step costs its host.

Each figure says where it's from, and printing a preset shows that: a maker's *datasheet*; *published* by others, who
measured it; *measured* by us, on a computer without a card; or *guessed*. Rates are a datasheet's peak times the share
of it that programs reach, which is guessed. ``python -m benchmarks.sensitivity`` shows what would change if a guessed
figure were off by two. `fluxlite.calibrate` fits the figures to a card's measurements. A preset never changes: new
figures make a preset with a new version, and earlier ones can still be asked for, as in ``"NVIDIA T4 (version 1)"``.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ..arguments import in_words

GiB = 2**30

# Figures of the host. They're the same for all cards, since it's the host that takes this time.
_HOST = {
    "launch": (
        "published", "ufuncs through CuPy: add 18.6 to 20.2 µs (cupy pull request 8457, 2025), abs 11.4 µs (3298); sum "
        "without CUB 12.1 µs (CuPy's documentation, performance)"
    ),
    "library": (
        "published", "matmul 18.8 µs on an A100's host (cupy pull request 3810), sum with CUB 20.6 µs (CuPy's "
        "documentation, performance)"
    ),
    "tape": (
        "measured", "50 np.tanh of 6 numbers with their gradient, less the same calls by hand: 3.7 to 4.4 µs a call, "
        "half of it on the way back; AMD EPYC, Python 3.11, NumPy 2.4 (python -m benchmarks.tape)"
    ),
    "floor": ("guessed", "the shortest kernel"),
    "latency": ("guessed", "of any copy between host and card, however small"),
    "first_use": ("guessed", "loading a kernel from CuPy's cache on disk; compiling it takes about 10 times as long"),
    "start": ("guessed", "once: the driver's context on the card, cuBLAS, the first pinned memory"),
    "queue": ("guessed", "about a thousand launches wait; then the host does"),
}  # fmt: skip
_LINK = ("guessed", "PCI Express carries 16, 32 or 64 GB/s each way (generation 3, 4, 5 with 16 lanes): 3/4 of it")
# Where nothing says that there's peer access, we guess that there's none.
_PEERS = {
    "NVIDIA T4": ("guessed", "none between those in cloud machines, which have no NVLink"),
    "RTX 2080 Ti": ("published", "none without an NVLink bridge (tensorflow issue 24677, 2019)"),
    "L4": ("published", "none in a cloud machine with several (llm-d-infra pull request 181, 2025)"),
    "RTX 4090": ("published", "none with NVIDIA's driver; a changed one gives it (tinygrad, open-gpu-kernel-modules)"),
    "A100": ("guessed", "as with the NVLink bridge of its datasheet; over PCI Express alone, the machine decides"),
    "H100": ("guessed", "NVLink between the cards of one machine, as in its datasheet"),
    "H200": ("guessed", "NVLink between the cards of one machine, as in its datasheet"),
}
_PAGEABLE = ("guessed", "such memory is first copied on the host, so the host's memory limits the rate, too")


class Figure(NamedTuple):
    """One figure of a preset: what kind it is, and where it's from."""

    name: str
    value: str
    kind: str
    source: str


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
    launch: float = 15e-6  # the host's time for one launch through CuPy, Python included
    library: float = 20e-6  # the same for a kernel of cuBLAS or CUB: products, and most sums
    tape: float = 4e-6  # the host's time to record a call for the gradient, and to follow it back
    floor: float = 3e-6  # no kernel is faster
    latency: float = 13e-6  # of any copy, however small
    first_use: float = 20e-3  # loading a kernel
    start: float = 0.5  # before the first use of all
    queue: int = 1024  # so many launches can wait for the card
    peers: bool = False  # whether one such card can read the memory of another beside it: peer access
    version: int = 2
    source: str = ""  # of the datasheet's figures

    @property
    def staging(self) -> float:
        """The rate at which the host copies from memory to memory.

        A copy from pageable memory goes first into pinned memory, and from there over the link: one after the other.
        """
        return 1 / max(1 / self.pageable - 1 / self.pinned, 1e-15)

    @property
    def figures(self) -> list[Figure]:
        """Each figure with its kind and its source."""
        names = [name for name in self._fields if name not in ("name", "version", "source")]
        if not self.source:
            return [Figure(name, _text(name, getattr(self, name)), "given", "calibrate, or you") for name in names]
        sheet, share = ("datasheet", self.source), ("datasheet x guess", f"a share of the peak in {self.source}")
        kinds = {"memory": sheet, "multiprocessors": sheet, "pageable": _PAGEABLE, "pinned": _LINK, **_HOST}
        kinds["peers"] = _PEERS.get(self.name, ("guessed", "none: a card for players"))
        if self.version == 1:
            kinds |= dict.fromkeys(("launch", "library"), ("guessed", "before anything published was looked up"))
        return [Figure(name, _text(name, getattr(self, name)), *kinds.get(name, share)) for name in names]

    def __repr__(self) -> str:
        """A table of the figures, with the kind of each."""
        rows = "".join(f"\n{x.name:<16} {x.value:>14}  {x.kind}" for x in self.figures)
        return f"{self.name}, version {self.version}{rows}\nsources: see .figures"


def _text(name: str, value: float) -> str:
    if name == "peers":
        return "yes" if value else "no"
    if name in ("multiprocessors", "queue"):
        return f"{value:,}"
    if name == "memory":
        return f"{value / 1e9:.1f} GB"
    if name.startswith("float") or name in ("bandwidth", "pageable", "pinned"):
        is_bytes = not name.startswith("float")
        return f"{value / 1e9:,.0f} GB/s" if is_bytes else f"{value / 1e12:,.2f} TFLOP/s"
    return f"{value * 1e6:,.0f} µs" if value < 1e-3 else f"{value * 1e3:,.0f} ms"


# The links, pageable and pinned.
_PCIE_3 = (6e9, 12e9)
_PCIE_4 = (10e9, 24e9)
_PCIE_5 = (12e9, 48e9)

PRESETS = {
    preset.name: preset
    for preset in (
        # Shares: 0.74 of the operations (a 2048 x 2048 product in 2.87 ms); 0.4 of the tensor cores' within 70 W.
        Preset("NVIDIA T4", 16 * GiB, 40, 320e9 * 0.75, 65e12 * 0.4, 8.1e12 * 0.74, 8.1e12 / 32 * 0.9, *_PCIE_3,
               source="NVIDIA T4 Tensor Core GPU datasheet, 2019: 16 GB GDDR6, 320+ GB/s, 8.1 TFLOPS single precision, "
               "65 TFLOPS mixed, PCI Express 3; Turing architecture white paper, 2018: 40 multiprocessors, float64 at "
               "1/32"),
        Preset("GTX 1650", 4 * GiB, 14, 128e9 * 0.8, 5.97e12 * 0.8, 2.98e12 * 0.8, 2.98e12 / 32 * 0.9, *_PCIE_3,
               source="NVIDIA GeForce GTX 1650 specifications page, 2019: 4 GB GDDR5, 128 GB/s, 896 cores at 1,665 "
               "MHz, two operations each in a cycle; 14 multiprocessors, float16 at twice the rate without tensor "
               "cores, float64 at 1/32"),
        Preset("RTX 2080 Ti", 11 * GiB, 68, 616e9 * 0.8, 53.8e12 * 0.6, 13.4e12 * 0.8, 13.4e12 / 32 * 0.9, *_PCIE_3,
               source="NVIDIA Turing architecture white paper, 2018, RTX 2080 Ti (reference): 11 GB GDDR6, 616 GB/s, "
               "13.4 TFLOPS, tensor cores 53.8 TFLOPS adding up in float32, 68 multiprocessors, float64 at 1/32"),
        # 0.5 of the operations, since all of them at once would need more than its 72 W.
        Preset("L4", 24 * 10**9, 58, 300e9 * 0.8, 121e12 * 0.4, 30.3e12 * 0.5, 30.3e12 / 64 * 0.9, *_PCIE_4,
               source="NVIDIA L4 Tensor Core GPU datasheet, 2023: 24 GB, 300 GB/s, 30.3 TFLOPS float32, tensor cores "
               "242 TFLOPS with sparse matrices, so 121, PCI Express 4, 72 W; Ada architecture white paper, 2022: "
               "AD104 with 58 of its multiprocessors, float64 at 1/64"),
        Preset("RTX 4090", 24 * 10**9, 128, 1008e9 * 0.85, 165.2e12 * 0.6, 82.6e12 * 0.7, 82.6e12 / 64 * 0.9, *_PCIE_4,
               source="NVIDIA Ada GPU architecture white paper, 2022, GeForce RTX 4090: 24 GB GDDR6X, 1,008 GB/s, 82.6 "
               "TFLOPS float32, tensor cores 165.2 TFLOPS adding up in float32, 128 multiprocessors, float64 at 1/64, "
               "PCI Express 4"),
        # CuPy doesn't use TF32 by itself. Products in float64 use the tensor cores.
        Preset("A100", 40 * GiB, 108, 1555e9 * 0.85, 312e12 * 0.6, 19.5e12 * 0.85, 19.5e12 * 0.85, *_PCIE_4, peers=True,
               source="NVIDIA A100 Tensor Core GPU datasheet, 2021, the PCIe card with 40 GB: 1,555 GB/s, 19.5 TFLOPS "
               "float32, tensor cores 312 TFLOPS, in float64 19.5; 108 multiprocessors; PCI Express 4"),
        Preset("H100", 80 * 10**9, 132, 3.35e12 * 0.85, 989e12 * 0.6, 67e12 * 0.75, 67e12 * 0.85, *_PCIE_5, peers=True,
               source="NVIDIA H100 Tensor Core GPU datasheet, 2023, SXM: 80 GB, 3.35 TB/s, float32 67 TFLOPS, tensor "
               "cores 1,979 with sparse matrices, so 989, in float64 67; 132 multiprocessors; PCI Express 5"),
        Preset("H200", 141 * 10**9, 132, 4.8e12 * 0.85, 989e12 * 0.6, 67e12 * 0.75, 67e12 * 0.85, *_PCIE_5, peers=True,
               source="NVIDIA H200 Tensor Core GPU datasheet, 2024, SXM: 141 GB, 4.8 TB/s, float32 67 TFLOPS, tensor "
               "cores 1,979 with sparse matrices, so 989, in float64 67; 132 multiprocessors; PCI Express 5"),
    )
}  # fmt: skip

# Version 1: 8 µs for every launch, nothing for the tape or the start, and float64 without tensor cores.
_FIRST_FLOAT64 = {"A100": 9.7e12 * 0.85, "H200": 34e12 * 0.85}
_EARLIER = {
    (name, 1): card._replace(
        version=1, launch=8e-6, library=8e-6, tape=0.0, start=0.0, float64=_FIRST_FLOAT64.get(name, card.float64)
    )
    for name, card in PRESETS.items()
    if name in ("NVIDIA T4", "GTX 1650", "RTX 2080 Ti", "A100", "H200")
}


def preset(name: Any, version: int | None = None) -> Preset:
    """The card with this name; a preset is returned unchanged. Raises `ValueError`, which lists the names.

    ``preset("NVIDIA T4", 1)`` and ``preset("NVIDIA T4 (version 1)")`` are the same earlier version.

    >>> preset("NVIDIA T4", version=1).launch, preset("NVIDIA T4").launch
    (8e-06, 1.5e-05)
    """
    if isinstance(name, Preset):
        return name
    card = name if isinstance(name, str) else ""
    if version is None and (found := re.fullmatch(r"(.+) \(version (\d+)\)", card)):
        card, version = found[1], int(found[2])
    latest = PRESETS.get(card)
    if latest is None:
        cards = ", ".join(PRESETS)
        raise ValueError(f"like=… is a preset, or one of {cards}: there's no preset for {in_words(name)}")
    if version in (None, latest.version):
        return latest
    if (card, version) not in _EARLIER:
        raise ValueError(f"{card} has no version {version}; the latest is {latest.version}")
    return _EARLIER[card, version]
