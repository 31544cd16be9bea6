"""What the calibrations share: labelled arrays, and the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr


def labelled(values: Any, **coords: Mapping[str, Any]) -> xr.DataArray:
    """An array with, for each of its dimensions in their order, the coordinates on it.

    Examples:
        >>> labelled([1.0, 2.0], presentation={"stimulus_id": [7, 8]})["stimulus_id"].dims
        ('presentation',)
    """
    flat = {name: (dim, each) for dim, named in coords.items() for name, each in named.items()}
    return xr.DataArray(np.asarray(values), flat, list(coords))


def asked(doc: str | None, sets: int, **flags: str) -> tuple[int, Callable[[str], bool], argparse.Namespace]:
    """The number of data sets, whether a row is asked for, and the flags, from the command line."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--sets", type=int, default=sets)
    parser.add_argument("--rows", default="", help="beginnings of rows, with ; between them")
    for name, words in flags.items():
        parser.add_argument(f"--{name}", action="store_true", help=words)
    given = parser.parse_args()
    return given.sets, lambda row: row.startswith(tuple(given.rows.split(";"))), given
