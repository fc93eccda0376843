"""What a program asks of a simulated GPU, and how long that takes: `receipt` counts it, `estimate` says it beforehand.

Read `recording.py` (a receipt listens, and shows itself as text), `counts.py` (what it holds) and `seconds.py`;
`pictures.py` shows it as a picture.
"""

from .counts import Counts, Moment  # noqa: F401
from .pictures import LANES, Timeline, bars_of  # noqa: F401
from .seconds import Seconds, duration  # noqa: F401
