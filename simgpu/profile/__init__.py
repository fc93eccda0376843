"""What a program asks of a simulated GPU, and how long that takes: `receipt` counts it, `estimate` predicts it.

Read `recording.py` (a receipt listens, counts, and shows itself as text) and `seconds.py`. `pictures.py` draws it.
"""

from .pictures import LANES, Moment, Picture, Timeline, bars_of  # noqa: F401
from .recording import Receipt  # noqa: F401
from .seconds import Seconds, duration  # noqa: F401
