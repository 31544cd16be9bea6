"""Figure files: their formats and how they are written."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bsjax.core.extras import import_extra
from bsjax.core.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def check_format(path: str | Path) -> None:
    """Check that a figure can be written to a file, before the work begins.

    Args:
        path: of the file.

    Raises:
        ImportError: matplotlib is not installed; the message contains the command to install it.
        ValueError: the suffix of the file is not that of a known format.

    Example:
        >>> check_format("profile.doc")
        Traceback (most recent call last):
        ...
        ValueError: cannot draw to profile.doc: give a file that ends in .png, .pdf or .svg
    """
    import_extra("matplotlib.figure", "plots")
    if Path(path).suffix.lower() not in (".png", ".pdf", ".svg"):
        raise ValueError(f"cannot draw to {path}: give a file that ends in .png, .pdf or .svg")


def saved(panel: Any, path: str | Path | None) -> Any:
    """Write the figure of some axes, if there is a path; gives the axes."""
    if path is not None:
        save(panel.figure, path)
    return panel


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure atomically, in the format of the suffix."""
    path = Path(path)
    picture = io.BytesIO()
    # No dates or random names, so that equal results give equal files.
    kind = path.suffix.lower()
    metadata = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}.get(kind, {})
    # Text in an .svg stays text, for search and screen readers.
    settings = {"svg.hashsalt": "bsjax", "svg.fonttype": "none"}
    with import_extra("matplotlib", "plots").rc_context(settings):
        figure.savefig(picture, format=kind[1:], dpi=160, metadata=metadata)
    write_atomically(path, picture.getvalue())
