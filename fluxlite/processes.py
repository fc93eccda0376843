"""Whether another program can be started from here: in a browser, Python is the only one."""

import subprocess
import sys

NOT_HERE = "no other program can be started here"


def can_start_programs() -> bool:
    """Try it: with a Python that does nothing."""
    try:
        subprocess.run([sys.executable, "-IS", "-c", ""], capture_output=True)
    except OSError:
        return False
    return True
