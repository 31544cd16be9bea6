"""Reading a file of MATLAB with SciPy, whose reader can crash on a damaged one.

python -P mat_reading.py PATH    prints what the file holds, or what was wrong, for ``pickle`` to read
"""

import pickle
import sys
from pathlib import Path
from typing import Any


def read_mat(path: Path) -> dict[str, Any]:
    """The variables of a file, by name, read in a process of its own.

    Raises:
        ValueError: it is damaged.
    """
    from bsjax.data.own_process import try_reading

    variables, wrong = pickle.loads(try_reading(path, "a file of MATLAB", __file__))
    if wrong:
        raise ValueError(wrong)
    return variables


if __name__ == "__main__":
    from scipy.io import loadmat

    try:
        answer: tuple[Any, str] = loadmat(sys.argv[1]), ""
    except Exception as error:
        answer = None, f"{type(error).__name__}: {error}"
    sys.stdout.buffer.write(pickle.dumps(answer))
