"""What a package says of itself besides pyproject.toml: addresses, once there are any. Hatchling runs this."""

from __future__ import annotations

import sys
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

sys.path.insert(0, str(Path(__file__).parent))

from links import for_package_index, long_description, published, settings, version  # noqa: E402


class Addresses(MetadataHookInterface):
    """The links beside the project on a package index, and a README whose picture is found from there."""

    def update(self, metadata: dict) -> None:
        root = Path(self.root)
        place = published(settings(root), version(root))
        metadata["readme"] = {"content-type": "text/markdown", "text": long_description(place, root)}
        metadata["urls"] = for_package_index(place)
