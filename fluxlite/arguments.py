"""Now in `messages`."""

from .messages import *  # noqa: F403
from .messages import Function, in_words  # noqa: F401
