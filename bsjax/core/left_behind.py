"""Files that operating systems and programs leave in folders and archives, and that readers must ignore."""

from pathlib import Path, PurePath, PurePosixPath

_NAMES = {"__macosx", "thumbs.db", "ehthumbs.db", "desktop.ini", "icon\r", "$recycle.bin", "system volume information"}


def is_left_behind(path: str | PurePath) -> bool:
    """Check whether a file, or a folder that contains it, is hidden or made by an operating system.

    Args:
        path: path relative to the folder or archive that is read.

    Example:
        >>> [is_left_behind(name) for name in ("images/._a.png", "__MACOSX/a.png", "Thumbs.db", "images/a.png")]
        [True, True, True, False]
    """
    parts = PurePosixPath(str(path).replace("\\", "/")).parts
    return any(part.startswith(".") or part.lower() in _NAMES for part in parts)


def files_in(folder: str | Path, pattern: str = "*") -> list[Path]:
    """List the files in a folder, sorted, without those left behind by systems.

    Args:
        folder: the folder.
        pattern: pattern as for ``Path.glob``; ``"**/*"`` includes subfolders.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for name in ("a.csv", "._a.csv"):
        ...         _ = Path(folder, name).write_text("")
        ...     [path.name for path in files_in(folder, "*.csv")]
        ['a.csv']
    """
    folder = Path(folder)
    found = (path for path in folder.glob(pattern) if not is_left_behind(path.relative_to(folder)))
    return sorted(path for path in found if path.is_file())
