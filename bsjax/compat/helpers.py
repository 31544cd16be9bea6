"""Small helper functions that plugins import."""

import inspect
import os
from pathlib import Path
from typing import Any

from bsjax.core.files import written_aside
from bsjax.data.remote.web_files import fetch_address


def fullname(obj: object) -> str:
    """Module and name of a function, or of the class of anything else.

    Example:
        >>> fullname(fullname), fullname(3)
        ('bsjax.compat.helpers.fullname', 'builtins.int')
    """
    named: Any = obj if inspect.isfunction(obj) else type(obj)
    return f"{named.__module__}.{named.__name__}"


def accepts(function: Any, name: str) -> bool:
    """Whether a function accepts an argument of this name.

    Example:
        >>> accepts(fullname, "obj"), accepts(fullname, "name"), accepts(lambda **named: named, "name")
        (True, False, True)
    """
    parameters = inspect.signature(function).parameters
    return name in parameters or any(each.kind is each.VAR_KEYWORD for each in parameters.values())


def download_weight_file(url: str, folder: str | None = None) -> str:
    """Download a file from the web to ``$BRAINSCORE_HOME/models`` (``~/.brain-score``), unless it exists; its path.

    Args:
        url: the address.
        folder: subfolder for the file.

    Raises:
        PermissionError, ConnectionError: the file cannot be downloaded completely; nothing is stored.
    """
    home = Path(os.environ.get("BRAINSCORE_HOME") or "~/.brain-score").expanduser()
    path = home / "models" / (folder or "") / Path(url).name
    if not path.exists():
        with written_aside(path) as part:
            if not fetch_address(url, part):
                raise ConnectionError(f"cannot fetch {url} (404: there is no such file)")
    return str(path)
