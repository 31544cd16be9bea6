"""The compilers, each in an environment of its own: a plugin changes what ``import jax`` finds."""

import functools
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from ..peers.environment import build, find_python

_HERE = Path(__file__).parent
_ENVIRONMENTS = Path(__file__).parents[2] / ".venv-ahead"

SETTINGS: Mapping[str, str] = {
    "JAX_PLATFORMS": "cpu",  # there is no device: nothing is to look for one
    "TPU_SKIP_MDS_QUERY": "1",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "true",  # only a chip can belong to one process alone
}
"""Environment variables with which a compiler runs where its device is not."""


def interpreter(plugin: str, progress: Callable[[str], None], *, may_build: bool = True) -> Path | None:
    """The Python with the compiler of a platform: of ``$BSJAX_AHEAD_<PLUGIN>``, else of one that is built here.

    Args:
        plugin: ``"cuda"`` or ``"tpu"``.
        progress: is told when something is installed, as that takes minutes.
        may_build: else None is returned where there is none yet.

    Raises:
        FileNotFoundError: the variable names no environment.
    """
    variable = f"BSJAX_AHEAD_{plugin.upper()}"
    ready_made = os.environ.get(variable)
    folder = Path(ready_made) if ready_made else _ENVIRONMENTS / plugin
    python = folder / "bin" / "python"
    if ready_made and not python.exists():
        raise FileNotFoundError(f"${variable} must be a virtual environment, but {python} does not exist")
    if ready_made or not may_build:
        return python if python.exists() else None
    same_version = functools.partial(find_python, *sys.version_info[:2])
    return build(folder, same_version, _HERE / f"{plugin}-requirements.txt", (), progress)
