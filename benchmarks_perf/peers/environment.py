"""Builds the virtual environment of a peer once, and again only when its requirements change."""

import functools
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

_HERE = Path(__file__).parent
_ENVIRONMENTS = Path(__file__).parents[2] / ".venv-peers"

# Environment -> packages that are installed without what they ask for, after its requirements.
_WITHOUT_DEPENDENCIES = {"brainscore": ("brainscore-core==2.5.0", "brainscore-vision==2.4.2"), "scientific": ()}


def interpreter(name: str, progress: Callable[[str], None]) -> Path:
    """A peer's Python: of the environment ``$BSJAX_PEER_<NAME>``, else of one that is built here.

    Args:
        name: ``"brainscore"`` or ``"scientific"``.
        progress: is told when something is installed, as that takes minutes.

    Raises:
        FileNotFoundError: the variable names no environment, or there is no Python 3.11.
    """
    variable = f"BSJAX_PEER_{name.upper()}"
    ready_made = os.environ.get(variable)
    if not ready_made:
        requirements = _HERE / f"{name}-requirements.txt"
        python = functools.partial(find_python, 3, 11)
        return build(_ENVIRONMENTS / name, python, requirements, _WITHOUT_DEPENDENCIES[name], progress)
    python = Path(ready_made) / "bin" / "python"
    if not python.exists():
        raise FileNotFoundError(f"${variable} must be a virtual environment, but {python} does not exist")
    return python


def find_python(major: int, minor: int) -> str:
    """An interpreter of that version, for peers whose pinned requirements install on no other."""
    if sys.version_info[:2] == (major, minor):
        return sys.executable
    found = shutil.which(f"python{major}.{minor}")
    if found is None:
        raise FileNotFoundError(
            f"the peers install on Python {major}.{minor}, and python{major}.{minor} is not on the "
            "PATH; install it, or measure without peers (--without-peer)"
        )
    return found


def build(
    folder: Path,
    python: Callable[[], str],
    requirements: Path,
    without_dependencies: Sequence[str],
    progress: Callable[[str], None],
) -> Path:
    """Makes the environment ``folder``, unless it stands already, and returns its interpreter.

    Args:
        folder: where the environment is or shall be.
        python: finds the interpreter to make it from; asked only when there is something to make.
        requirements: a pip requirements file.
        without_dependencies: packages installed after it with ``--no-deps``.
        progress: is told when something is installed, as that takes minutes.
    """
    digest = hashlib.sha256(requirements.read_bytes() + "\n".join(without_dependencies).encode()).hexdigest()
    stamp, made = folder / "built-from", folder / "bin" / "python"
    if stamp.exists() and stamp.read_text() == digest:
        return made
    progress(f"building the environment {folder.parent.name}/{folder.name} (once, a minute or two)")
    # The stamp comes last: an interrupted build has none and is cleared away here.
    subprocess.run([python(), "-m", "venv", "--clear", str(folder)], check=True)
    install = [str(made), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    subprocess.run([*install, "-r", str(requirements)], check=True)
    if without_dependencies:
        subprocess.run([*install, "--no-deps", *without_dependencies], check=True)
    stamp.write_text(digest)
    return made
