"""What is measured: one file a family of rows."""

from collections.abc import Callable
from typing import Any

from . import extraction, predictivity, wide_layer

ROWS: dict[str, Callable[..., dict[str, Any]]] = {
    **dict.fromkeys(predictivity.ROWS, predictivity.measure),
    "extraction": extraction.measure,
    "wide_layer": wide_layer.measure,
}

__all__ = ["ROWS"]
