"""Figures that notebooks show without pyplot, whose state and display stay untouched."""

from __future__ import annotations

import io
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

_DPI = 160


def drawn(figure: Any, kind: str, metadata: dict[str, Any] | None = None) -> bytes:
    """The picture of a figure, in a format such as "png"."""
    picture = io.BytesIO()
    figure.savefig(picture, format=kind, dpi=_DPI, metadata=metadata)
    return picture.getvalue()


class ShownAxes(Axes):
    """Axes that a notebook shows as the picture of their figure."""

    def _repr_png_(self) -> bytes:
        return drawn(self.figure, "png")


class ShownFigure(Figure):
    """A figure that a notebook shows as a picture, and so do its axes."""

    def _repr_png_(self) -> bytes:
        return drawn(self, "png")

    def add_subplot(self, *args: Any, **kwargs: Any) -> Any:
        """Add axes that a notebook shows."""
        return super().add_subplot(*args, **{"axes_class": ShownAxes, **kwargs})
