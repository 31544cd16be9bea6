"""Pictures as files: which formats there are, and how they are written."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from bsjax.core.extras import import_extra
from bsjax.core.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def check_format(path: str | Path) -> None:
    """Whether a picture can be drawn to a file, asked before the work that it shows.

    Raises:
        ImportError: matplotlib is not installed; the message has the command.
        ValueError: the file's ending names no format of pictures.

    Example:
        >>> check_format("profile.doc")
        Traceback (most recent call last):
        ...
        ValueError: cannot draw to profile.doc: give a file that ends in .png, .pdf or .svg
    """
    import_extra("matplotlib.figure", "plots")
    if Path(path).suffix.lower() not in (".png", ".pdf", ".svg"):
        raise ValueError(f"cannot draw to {path}: give a file that ends in .png, .pdf or .svg")


def save(figure: Figure, path: str | Path) -> None:
    """Write a picture whole, in the format that the ending of its name says."""
    path = Path(path)
    picture = io.BytesIO()
    # Neither a date nor random names, so that equal results make equal files.
    kind = path.suffix.lower()
    metadata = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}.get(kind, {})
    # Text in an .svg stays text, to be found and read aloud.
    settings = {"svg.hashsalt": "bsjax", "svg.fonttype": "none"}
    with import_extra("matplotlib", "plots").rc_context(settings):
        figure.savefig(picture, format=kind[1:], dpi=160, metadata=metadata)
    write_atomically(path, picture.getvalue())
