"""Digests of data, which identify exactly what a score or a ceiling was computed from."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.core.digests.arrays import array_digest, file_digest
from bsjax.data import StimulusSet


def data_digest(data: xr.DataArray | pd.DataFrame) -> str:
    """Digest of an assembly (values, dimensions and coordinates) or of a stimulus set (ids and file contents).

    Any change to a number, to the order or name of a stimulus, repetition or neuroid, or to an image changes the
    digest. Attributes and file locations do not matter.

    Args:
        data: an assembly, without its stimulus set, which has a digest of its own; or a stimulus set. Missing or
            unreadable files count as unknown, because stored activations are scored without image files.

    Returns:
        ``"sha256:"`` and the first 16 hexadecimal digits.

    Example:
        >>> from bsjax import NeuroidAssembly
        >>> assembly = NeuroidAssembly([[1.0]], dims=["presentation", "neuroid"])
        >>> data_digest(assembly) == data_digest(assembly.copy())
        True
        >>> data_digest(assembly) == data_digest(assembly + 1)
        False
    """
    if isinstance(data, pd.DataFrame):
        paths = StimulusSet(data).stimulus_paths
        parts = [(str(name), _of_file(paths.get(name))) for name in data["stimulus_id"]]
    else:
        arrays = {"": data, **{str(name): data[name] for name in sorted(data.coords, key=str)}}
        parts = [(name, array.dims, array.shape, _content(array.values)) for name, array in arrays.items()]
    return f"sha256:{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]}"


def _of_file(path: Path | None) -> str | None:
    try:
        return None if path is None else file_digest(path)
    except OSError:
        return None


def _content(values: np.ndarray) -> str:
    """Digest of values; for text it does not depend on the width of the dtype."""
    if values.dtype.hasobject or values.dtype.kind in "UT":
        return hashlib.sha256(json.dumps([str(value) for value in values.ravel()]).encode()).hexdigest()
    return (array_digest(values) or b"").hex()
