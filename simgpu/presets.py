"""What a simulated card does in a second, and what each step costs its host. The figures are in ``cards.toml``.

Each figure says where it's from, and a printed preset shows that. ``python -m benchmarks.sensitivity`` shows what would
change if a guess were off by a factor of two. `calibrate` fits the figures to a card's measurements. A preset never
changes: new figures make a preset with a new version.
"""

import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .words import in_words

_TABLES = tomllib.loads(Path(__file__).with_name("cards.toml").read_text(encoding="utf-8"))
# If nothing says that there's peer access, we guess that there's none.
_NO_PEERS = {"value": False, "kind": "guessed", "source": "none: a card for gamers"}


class Figure(NamedTuple):
    """One figure of a preset, its kind, and where it's from."""

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
    pageable: float  # the link to the host, for memory that the system may move, such as NumPy's
    pinned: float  # the same for memory that stays in place
    launch: float = 15e-6  # the host's time for one launch through CuPy, including Python
    library: float = 20e-6  # the same for a kernel from cuBLAS or CUB: products, and most sums
    tape: float = 4e-6  # the host's time to record a call for the gradient, and to follow it back
    floor: float = 3e-6  # no kernel is faster
    latency: float = 13e-6  # of any copy, however small
    first_use: float = 20e-3  # loading a kernel
    start: float = 0.5  # before the first use of all
    queue: int = 1024  # how many launches can wait for the card
    peers: bool = False  # whether one such card can read the memory of another one beside it: peer access
    version: int = 3
    source: str = ""  # of the datasheet's figures
    graph: float = 5e-6  # the host's time to launch a graph, however many kernels it has
    node: float = 1.5e-6  # no kernel in a graph is faster

    @property
    def staging(self) -> float:
        """The rate from memory to memory on the host: a pageable copy goes into pinned memory, then over the link."""
        return 1 / max(1 / self.pageable - 1 / self.pinned, 1e-15)

    @property
    def figures(self) -> list[Figure]:
        """Each figure with its kind and its source."""
        names = [name for name in self._fields if name not in ("name", "version", "source")]
        if not self.source:
            return [Figure(name, _text(name, getattr(self, name)), "given", "calibrate, or you") for name in names]
        sheet, share = ("datasheet", self.source), ("datasheet x guess", f"a share of the peak in {self.source}")
        peers = _TABLES["cards"].get(self.name, {}).get("peers", _NO_PEERS)
        kinds = _TABLES["host"] | {"memory": sheet, "multiprocessors": sheet, "peers": (peers["kind"], peers["source"])}
        return [Figure(name, _text(name, getattr(self, name)), *kinds.get(name, share)) for name in names]

    def __repr__(self) -> str:
        rows = "".join(f"\n{x.name:<16} {x.value:>14}  {x.kind}" for x in self.figures)
        return f"{self.name}, version {self.version}{rows}\nsources: see .figures"


def _text(name: str, value: float) -> str:
    if name == "peers":
        if value:
            return "yes"
        return "no"
    if name in ("multiprocessors", "queue"):
        return f"{value:,}"
    if name == "memory":
        return f"{value / 1e9:.1f} GB"
    if name.startswith("float") or name in ("bandwidth", "pageable", "pinned"):
        if name.startswith("float"):
            return f"{value / 1e12:,.2f} TFLOP/s"
        return f"{value / 1e9:,.0f} GB/s"
    if value < 10e-6:
        return f"{value * 1e6:.2g} µs"
    if value < 1e-3:
        return f"{value * 1e6:,.0f} µs"
    return f"{value * 1e3:,.0f} ms"


_OF_A_ROW = (
    "memory", "multiprocessors", "bandwidth", "float16", "float32", "float64", "link", "clock", "architecture",
    "source",
)  # fmt: skip


def _from_row(name: str, row: dict[str, Any]) -> Preset:
    missing = [figure for figure in _OF_A_ROW if figure not in row]
    if missing:
        raise ValueError(f"simgpu/cards.toml: {name} has no {', '.join(missing)}")
    if row["link"] not in _TABLES["links"]:
        raise ValueError(f"simgpu/cards.toml: {name} has the link {row['link']!r}, which [links] hasn't got")
    rates = {rate: row[rate]["peak"] * row[rate]["share"] for rate in ("bandwidth", "float16", "float32", "float64")}
    rates |= _TABLES["links"][row["link"]]
    peers = row.get("peers", _NO_PEERS)["value"]
    return Preset(name, row["memory"], row["multiprocessors"], **rates, peers=peers, source=row["source"])


PRESETS = {name: _from_row(name, row) for name, row in _TABLES["cards"].items()}
# What a multiprocessor of each architecture has: see `Card` of jit/figures.py.
ARCHITECTURES = _TABLES["architectures"]
CUPYS_VERSION, CUDAS_VERSION = "14.2.0", 12090  # of the libraries whose rules these are
# CUDA C++ Programming Guide, technical specifications: what's the same for all cards.
SAME_FOR_ALL = {
    "WarpSize": 32, "MaxThreadsPerBlock": 1024, "MaxBlockDimX": 1024, "MaxBlockDimY": 1024, "MaxBlockDimZ": 64,
    "MaxGridDimX": 2**31 - 1, "MaxGridDimY": 65535, "MaxGridDimZ": 65535, "MaxSharedMemoryPerBlock": 48 * 1024,
    "MaxRegistersPerBlock": 65536, "MaxRegistersPerMultiprocessor": 65536, "TotalConstantMemory": 65536,
    "ConcurrentKernels": 1, "Integrated": 0, "ManagedMemory": 1, "UnifiedAddressing": 1,
}  # fmt: skip


def multiprocessor(card: str) -> tuple[float, dict[str, Any]]:
    """A card's clock, and its architecture's figures. For a card that isn't listed, we guess a T4's."""
    row = _TABLES["cards"].get(card, _TABLES["cards"]["NVIDIA T4"])
    return row["clock"], ARCHITECTURES[row["architecture"]]


def preset(name: Any) -> Preset:
    """The card with this name; a preset is returned as it is. `ValueError` for an unknown name lists the known ones.

    >>> preset("NVIDIA T4").launch
    1.5e-05
    >>> preset("NVIDIA GeForce RTX 4090").name
    'RTX 4090'
    """
    if isinstance(name, Preset):
        return name
    if isinstance(name, str):
        short = name.removeprefix("NVIDIA ").removeprefix("GeForce ")  # drivers say NVIDIA GeForce RTX 4090
        for known in (short, f"NVIDIA {short}"):
            if known in PRESETS:
                return PRESETS[known]
    cards = ", ".join(PRESETS)
    raise ValueError(f"like=… is a preset, or one of {cards}: there's no preset for {in_words(name)}")


# -- A preset that fits the times of a real card ---------------------------------------------------

_FLOATS = ("float16", "float32", "float64")
_ROUNDS = 30


def calibrate(recorded: dict, *, name: str | None = None, like: Any = "NVIDIA T4") -> Preset:
    """A preset that fits the times in `recorded`. Figures that weren't measured come from the preset `like`.

    Use it as ``estimate(…, like=calibrate(recorded))`` or ``simulate_gpu(like=…)``. `recorded` is a dict, as read from
    a JSON file: ``"card"``, the name; optionally ``"memory"`` in bytes and ``"multiprocessors"``; and
    ``"measurements"``, a list of dicts. Each has ``"repeats"``, a list of seconds after a warm-up, and ``"what"``:

    ``"launch"``: launching one small kernel, without waiting. ``"library"``: the same for a small matrix product.
    ``"first use"``: the extra time of the first call.
    ``"elementwise"``, with ``"bytes"`` read and written: one kernel such as ``x + x``, launched and waited for.
    ``"product"``, with ``"n"`` and ``"dtype"``: an n by n matrix product, launched and waited for.
    ``"copy"``, with ``"bytes"`` and ``"pinned"``, true or false: to the device or back, asked for and waited for.

    We use the median of the repeats. A measurement that doesn't fit the others counts less. The new preset's
    `version` is one more than that of the preset with this name. Raises `ValueError` for what it can't read.

    >>> copies = [
    ...     {"what": "copy", "bytes": n, "pinned": False, "repeats": [4e-5 + n / 5e9]} for n in (10**3, 10**6, 10**8)
    ... ]
    >>> mine = calibrate({"card": "mine", "measurements": copies})
    >>> f"{mine.latency * 1e6:.1f} µs and {mine.pageable / 1e9:.2f} GB/s"
    '25.0 µs and 5.00 GB/s'
    """
    base = preset(like)
    card = str(name or recorded.get("card", base.name))
    version = PRESETS[card].version + 1 if card in PRESETS else 1
    known = {name: recorded.get(name, getattr(base, name)) for name in ("memory", "multiprocessors")}
    fitted = base._replace(name=card, version=version, source="", **known)
    measured = [(entry, _median(entry)) for entry in recorded["measurements"]]
    for what in ("launch", "library", "first use"):
        times = [time for entry, time in measured if entry["what"] == what]
        if times:
            fitted = fitted._replace(**{what.replace(" ", "_"): float(np.median(times))})  # type: ignore[arg-type]
    return _fit_kernels(_fit_copies(fitted, measured), measured)


Measured = list[tuple[dict, float]]
_FIELDS = {
    "launch": (), "library": (), "first use": (), "elementwise": ("bytes",), "product": ("n", "dtype"),
    "copy": ("bytes", "pinned"),
}  # fmt: skip


def _median(entry: dict) -> float:
    """The median of a measurement's repeats. Raises `ValueError` if it isn't a measurement."""
    what = entry.get("what")
    if what not in _FIELDS:
        raise ValueError(f"a measurement is one of {', '.join(_FIELDS)}; got {what!r}")
    missing = [name for name in (*_FIELDS[what], "repeats") if name not in entry]
    if missing or not entry["repeats"] or min(entry["repeats"]) <= 0:
        raise ValueError(f"a measurement of {what!r} needs {', '.join(missing) or 'repeats, seconds above 0'}: {entry}")
    if what == "product" and entry["dtype"] not in _FLOATS:
        raise ValueError(f"products are measured in {', '.join(_FLOATS)}, got {entry['dtype']!r}")
    return float(np.median(entry["repeats"]))


def _fit_copies(card: Preset, measured: Measured) -> Preset:
    """time = latency + bytes / link, with one latency and two links."""
    copies = [(entry, time) for entry, time in measured if entry["what"] == "copy"]
    rows = np.array([[1.0, e["bytes"] * (not e["pinned"]), e["bytes"] * bool(e["pinned"])] for e, _ in copies])
    times = [max(time - card.launch, time / 10) for _, time in copies]  # if launching wasn't measured, not below 0
    return _fit(card, ("latency", "pageable", "pinned"), lambda theta: rows, times)


def _fit_kernels(card: Preset, measured: Measured) -> Preset:
    """time = launch + the longest of: the floor, bytes / bandwidth, operations / rate."""
    hosts = {"elementwise": card.launch, "product": card.library}
    kernels = [(_work(entry, card), time - hosts[entry["what"]]) for entry, time in measured if entry["what"] in hosts]
    table = np.array([work for work, _ in kernels])

    def longest(theta: np.ndarray) -> np.ndarray:
        """For each kernel only the term that determines its time, given these figures."""
        return table * (np.arange(len(theta)) == (table * theta).argmax(axis=1)[:, None])

    return _fit(card, ("floor", "bandwidth", *_FLOATS), longest, [time for _, time in kernels])


def _work(entry: dict, card: Preset) -> list[float]:
    """1 for the floor, the bytes, and the operations in each precision."""
    if entry["what"] == "elementwise":
        return [1.0, entry["bytes"], 0.0, 0.0, 0.0]
    n, dtype = entry["n"], entry["dtype"]
    share = min(1.0, (-(-n // 64)) ** 2 / card.multiprocessors)
    return [1.0, 3 * n * n * np.dtype(dtype).itemsize, *(2 * n**3 / share * (name == dtype) for name in _FLOATS)]


def _fit(card: Preset, names: Sequence[str], rows_for: Callable, times: Sequence[float]) -> Preset:
    """The card with figures `theta`, of these names (of a rate, one divided by it). ``rows_for(theta) @ theta`` is then
    near `times`, relatively, by repeated least squares: what's further off than the others weighs less, and a figure
    that no measurement depends on keeps its value."""
    if not times:
        return card
    rates = np.array([name not in ("latency", "floor") for name in names])
    theta = np.array([getattr(card, name) for name in names]) ** np.where(rates, -1.0, 1.0)
    target, weights = np.array(times, dtype=float), np.ones(len(times))
    for _ in range(_ROUNDS):
        rows = rows_for(theta)
        decides = rows.any(axis=0)
        scale = weights / (rows @ theta)
        # In units of `theta`, since the figures differ widely in size.
        found = np.linalg.lstsq(rows[:, decides] * theta[decides] * scale[:, None], target * scale, rcond=None)[0]
        theta[decides] *= np.maximum(found, 0.01)
        off = np.abs(target / (rows_for(theta) @ theta) - 1)
        weights = np.minimum(1.0, (2 * np.median(off) + 1e-9) / np.maximum(off, 1e-12))
    return card._replace(**dict(zip(names, (theta ** np.where(rates, -1.0, 1.0)).tolist())))  # type: ignore[arg-type]
