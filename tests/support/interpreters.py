"""The Pythons on this machine that bsjax is made for, whatever is installed in them."""

import shutil
import subprocess
import sys
from pathlib import Path

_NAMES = ("python3.11", "python3.12", "python3.13", "python3.14")


def _found() -> list[str]:
    places = [sys.executable, *filter(None, map(shutil.which, _NAMES))]
    for folder in (Path.home() / ".pyenv" / "versions", Path.home() / ".local" / "share" / "uv" / "python"):
        places += [str(place) for name in _NAMES for place in folder.glob(f"*/bin/{name}")]
    code = "import sys; print(sys.version_info >= (3, 11), *sys.version_info[:2])"
    found: dict[str, str] = {}
    for place in places:
        done = subprocess.run([place, "-c", code], capture_output=True, text=True, check=False)
        if done.stdout.startswith("True"):
            found.setdefault(done.stdout, place)
    return list(found.values())


INTERPRETERS = _found()
