"""What a simulated card does in a second, and what each step costs its host. The figures are in ``cards.toml``.

Each says where it's from, and printing a preset shows that. ``python -m benchmarks.sensitivity`` shows what would
change if a guessed figure were off by two. `calibrate` fits the figures to a card's measurements. A preset
never changes: new figures make a preset with a new version.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from .words import in_words

_TABLES = tomllib.loads(Path(__file__).with_name("cards.toml").read_text(encoding="utf-8"))
# Where nothing says that there's peer access, we guess that there's none.
_NO_PEERS = {"value": False, "kind": "guessed", "source": "none: a card for players"}


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
        peers = _TABLES["cards"].get(self.name, {}).get("peers", _NO_PEERS)
        kinds = {"memory": sheet, "multiprocessors": sheet, "peers": (peers["kind"], peers["source"])}
        kinds |= _TABLES["host"]
        return [Figure(name, _text(name, getattr(self, name)), *kinds.get(name, share)) for name in names]

    def __repr__(self) -> str:
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


def _made(name: str, row: dict[str, Any]) -> Preset:
    rates = {rate: row[rate]["peak"] * row[rate]["share"] for rate in ("bandwidth", "float16", "float32", "float64")}
    rates |= _TABLES["links"][row["link"]]
    peers = row.get("peers", _NO_PEERS)["value"]
    return Preset(name, row["memory"], row["multiprocessors"], **rates, peers=peers, source=row["source"])


PRESETS = {name: _made(name, row) for name, row in _TABLES["cards"].items()}
# For kernels written by hand: how fast each card's clock is, and which kind of multiprocessor it has.
CLOCKS = {name: (row["clock"], row["architecture"]) for name, row in _TABLES["cards"].items()}


def preset(name: Any) -> Preset:
    """The card with this name; a preset is returned unchanged. Raises `ValueError`, which lists the names.

    >>> preset("NVIDIA T4").launch
    1.5e-05
    """
    if isinstance(name, Preset):
        return name
    if not isinstance(name, str) or name not in PRESETS:
        cards = ", ".join(PRESETS)
        raise ValueError(f"like=… is a preset, or one of {cards}: there's no preset for {in_words(name)}")
    return PRESETS[name]
