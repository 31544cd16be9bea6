"""Reading of MATLAB files with SciPy, whose reader can crash on damaged files.

Run as a script, ``python -P mat_files.py PATH`` reads the file in a separate process, to find out whether it crashes.
"""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any


def read_mat(path: Path) -> dict[str, Any]:
    """The variables of a MATLAB file, by name, after a trial in a separate process.

    Raises:
        ValueError: reading the file crashes or does not end. SciPy's own errors are raised unchanged.
    """
    from scipy.io import loadmat  # imported here because the import is slow

    from bsjax.data.files.trial_process import try_reading

    try_reading(path, "a file of MATLAB", __file__)
    return loadmat(path)


if __name__ == "__main__":
    from scipy.io import loadmat

    with suppress(Exception):  # ordinary errors are raised again when the caller reads the file
        loadmat(sys.argv[1])
