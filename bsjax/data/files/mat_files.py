"""MATLAB files, read by SciPy, whose reader can crash on a damaged one.

python -P mat_reading.py PATH    reads the file, to find out whether that ends well: run in a process of its own
"""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any


def read_mat(path: Path) -> dict[str, Any]:
    """The variables of a file, by name. A process of its own reads it first.

    Raises:
        ValueError: reading it crashes, or does not come to an end. What SciPy raises of other damage stays as it is.
    """
    from scipy.io import loadmat  # when it is needed: it takes long to import

    from bsjax.data.files.trial_process import try_reading

    try_reading(path, "a file of MATLAB", __file__)
    return loadmat(path)


if __name__ == "__main__":
    from scipy.io import loadmat

    with suppress(Exception):  # what merely raises is found again, and said, by the reader of the file
        loadmat(sys.argv[1])
