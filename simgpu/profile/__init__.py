"""What a program asks of a simulated GPU, and how long that takes: `receipt` counts it, `estimate` says it beforehand.

Read `recording.py` (a receipt listens, and shows itself as text), `counts.py` (what it holds) and `seconds.py`;
`pictures.py` shows it as a picture.
"""

from .counts import Counts as Counts
from .counts import Moment as Moment
from .pictures import LANES as LANES
from .pictures import Timeline as Timeline
from .pictures import bars_of as bars_of
from .seconds import Seconds as Seconds
from .seconds import duration as duration
