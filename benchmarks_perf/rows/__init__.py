"""What is measured: a table of metrics beside their peers, and a file for each row that is of another kind."""

from collections.abc import Callable
from functools import partial
from typing import Any

from . import extraction, geirhos2021, transforms, wide_layer
from .measure import measured_in_full
from .table import TABLE, Row

ROWS: dict[str, Callable[..., dict[str, Any]]] = {
    **{name: partial(measured_in_full, row) for name, row in TABLE.items()},
    "extraction": extraction.measure,
    "wide_layer": wide_layer.measure,
    "geirhos2021": geirhos2021.measure,
    "transforms": transforms.measure,
}

__all__ = ["ROWS", "TABLE", "Row"]
