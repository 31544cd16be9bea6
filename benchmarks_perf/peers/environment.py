"""Builds the virtual environment of a peer once, and again only when its requirements change."""

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path


def find_python(major: int, minor: int) -> str:
    """An interpreter of that version, for peers whose pinned requirements install on no other."""
    if sys.version_info[:2] == (major, minor):
        return sys.executable
    found = shutil.which(f"python{major}.{minor}")
    if found is None:
        raise FileNotFoundError(
            f"this peer installs on Python {major}.{minor} only, and python{major}.{minor} is not on the "
            "PATH; install it, or measure without the peer (--without-peer)"
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
    stamp, interpreter = folder / "built-from", folder / "bin" / "python"
    if stamp.exists() and stamp.read_text() == digest:
        return interpreter
    progress(f"building the environment {folder.parent.name}/{folder.name} (once, a minute or two)")
    # The stamp comes last: an interrupted build has none and is cleared away here.
    subprocess.run([python(), "-m", "venv", "--clear", str(folder)], check=True)
    install = [str(interpreter), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    subprocess.run([*install, "-r", str(requirements)], check=True)
    subprocess.run([*install, "--no-deps", *without_dependencies], check=True)
    stamp.write_text(digest)
    return interpreter
