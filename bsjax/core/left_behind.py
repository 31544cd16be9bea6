"""Files that operating systems and programs leave in folders and archives, which no reader counts."""

from pathlib import Path, PurePath, PurePosixPath

_NAMES = {"__macosx", "thumbs.db", "ehthumbs.db", "desktop.ini", "icon\r", "$recycle.bin", "system volume information"}


def is_left_behind(path: str | PurePath) -> bool:
    """Whether a file is none that anybody put there: it, or a folder that it is in, is hidden or an operating system's.

    Args:
        path: as seen from the folder or the archive that is read.

    Example:
        >>> [is_left_behind(name) for name in ("images/._a.png", "__MACOSX/a.png", "Thumbs.db", "images/a.png")]
        [True, True, True, False]
    """
    parts = PurePosixPath(str(path).replace("\\", "/")).parts
    return any(part.startswith(".") or part.lower() in _NAMES for part in parts)


def files_in(folder: str | Path, pattern: str = "*") -> list[Path]:
    """The files in a folder that somebody put there, sorted.

    Args:
        folder: the folder.
        pattern: as of ``Path.glob``; ``"**/*"`` for those in its folders, too.

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
