"""What the guide's examples print: the stored outputs of the solved notebooks' cells that are tagged ``example:ID``.

nbval runs every notebook and compares, so that's what they print.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def texts(cell: dict[str, Any]) -> Iterator[str]:
    """What a cell printed, and its value as text. Pages and pictures have no text here."""
    for output in cell["outputs"]:
        if output["output_type"] == "stream":
            yield "".join(output["text"])
        elif "text/plain" in output.get("data", {}) and "text/html" not in output["data"]:
            yield "".join(output["data"]["text/plain"])


def entries() -> dict[str, str]:
    """By the example's id, in a project's folder."""
    found: dict[str, list[str]] = {}
    for path in sorted(Path("notebooks").glob("[0-9]*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            tags = cell["metadata"].get("tags", [])
            if cell["cell_type"] == "code" and "nbval-ignore-output" not in tags:
                for tag in (tag for tag in tags if tag.startswith("example:")):
                    found.setdefault(tag.removeprefix("example:"), []).append("\n".join(texts(cell)))
    lines = {id: re.sub(r"\s*\n\s*", " | ", "\n".join(outputs).strip()) for id, outputs in found.items()}
    return {id: re.sub(r" +", " ", text) for id, text in lines.items() if text}
