"""What is measured: one file a family of rows."""

from collections.abc import Callable
from typing import Any

from . import extraction, geirhos2021, predictivity, wide_layer

ROWS: dict[str, Callable[..., dict[str, Any]]] = {
    **dict.fromkeys(predictivity.ROWS, predictivity.measure),
    "extraction": extraction.measure,
    "wide_layer": wide_layer.measure,
    "geirhos2021": geirhos2021.measure,
}

__all__ = ["ROWS"]
