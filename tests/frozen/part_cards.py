"""The figures of the cards that can be simulated: a saved estimate names the card, so they never change.

Other figures make another version, which is another entry. A new card has none here, until the data is made again.
"""

from __future__ import annotations

from simgpu import PRESETS


def entries() -> dict[str, list[str]]:
    """By the card and its version, each figure with its name."""
    found = {}
    for name, card in PRESETS.items():
        figures = card._asdict()
        for field in ("name", "version", "source"):
            del figures[field]
        found[f"{name}, version {card.version}"] = [f"{field} {value:,.12g}" for field, value in figures.items()]
    return found
