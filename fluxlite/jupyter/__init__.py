"""What the notebooks use beside the library: pictures with words."""

from .display import show

__all__ = ["show"]
