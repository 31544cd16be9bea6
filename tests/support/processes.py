"""Programs in processes of their own."""

import os
import subprocess
import sys
from pathlib import Path

from tests.support.paths import REPOSITORY


def printed_by(*command: object, cwd: Path = REPOSITORY, timeout: float = 590, **environment: str) -> str:
    """What Python with these arguments prints, such as ``"-c", program``, in this environment and more.

    It has ended well; the seconds are a bound for what would wait without end.
    """
    words = [sys.executable, *map(str, command)]
    done = subprocess.run(words, cwd=cwd, env=os.environ | environment, capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-5000:]
    return done.stdout
