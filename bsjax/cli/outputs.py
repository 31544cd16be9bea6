"""Files that commands write: checks before the work, and writing that loses nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from bsjax.cli.terminal import complain
from bsjax.core.discovery import one_line


def check_outputs(files: Mapping[str, Path | None]) -> None:
    """Refuse files that cannot be written, before there is anything to write.

    Args:
        files: option -> the file that it names, if it was given.

    Raises:
        ValueError: one of them cannot be written, or two options name the same file.

    Example:
        >>> check_outputs({"--json": Path("/"), "--figure": None})
        Traceback (most recent call last):
        ...
        ValueError: --json needs a file that can be written: / is a folder
    """
    from bsjax.core.files import check_writable

    options: dict[Path, str] = {}
    for option, path in files.items():
        if path is None:
            continue
        try:
            check_writable(path)
        except OSError as error:
            raise ValueError(f"{option} needs a file that can be written: {one_line(error)}") from error
        if path.resolve() in options and (path.is_file() or not path.exists()):
            raise ValueError(f"{options[path.resolve()]} and {option} both name {path}: give each a file of its own")
        options[path.resolve()] = option


def written(option: str, write: Callable[[], object]) -> bool:
    """Whether a file could be written; if not, it is said why, and what is left to do is done all the same."""
    try:
        write()
    except Exception as error:  # of the disk or of drawing: the numbers are still to be printed
        complain(f"{option}: {one_line(error)}")
        return False
    return True
