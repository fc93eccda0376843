"""The layers: plain objects whose fields are arrays."""
