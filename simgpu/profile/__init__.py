"""What a program asks of a simulated GPU, and how long that takes: `receipt` counts it, `estimate` says it beforehand.

Read `recording.py` (a receipt listens), `counts.py` (what it holds) and `seconds.py`; `views.py` shows it as text,
`timelines.py` and `pictures.py` as a picture.
"""

from .counts import Counts as Counts
from .counts import Moment as Moment
from .pictures import LANES as LANES
from .seconds import Seconds as Seconds
from .seconds import duration as duration
from .timelines import Timeline as Timeline
from .timelines import bars_of as bars_of
