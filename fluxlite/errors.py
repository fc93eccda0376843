"""Now in `messages`."""

from .messages import *  # noqa: F403
