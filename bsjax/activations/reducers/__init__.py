"""Fewer units a layer: reducers that are applied to each batch as it arrives.

Chosen by name with :func:`make_reducer`, or made: :class:`PCA`, :class:`SparseRandomProjection`,
:class:`SpatialPooling`, :class:`Subsampling`. They go to an adapter (``from_torch(..., reducer=PCA(100, stimuli))``)
or to ``activations.with_options(reducer=...)``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from bsjax.activations.reducers.pca import PCA
from bsjax.activations.reducers.pooling import SpatialPooling
from bsjax.activations.reducers.random_projection import SparseRandomProjection
from bsjax.activations.reducers.reducer import Reducer, Reduction
from bsjax.activations.reducers.subsampling import Subsampling
from bsjax.core.registry import UnknownIdentifier, nearest

__all__ = ["PCA", "Reducer", "Reduction", "SparseRandomProjection", "SpatialPooling", "Subsampling", "make_reducer"]

REDUCERS: dict[str, Callable[..., Reducer]] = {
    "pca": PCA,
    "sparse_random_projection": SparseRandomProjection,
    "spatial_pooling": SpatialPooling,
    "subsampling": Subsampling,
}


def make_reducer(name: str, **settings: Any) -> Reducer | None:
    """A reducer by name.

    Args:
        name: ``"pca"``, ``"sparse_random_projection"``, ``"spatial_pooling"``, ``"subsampling"``, or ``"none"``; also
            with a number that stands for its first setting: ``"pca:100"``.
        settings: what it takes, e.g. ``stimuli=`` of PCA.

    Returns:
        The reducer, None for ``"none"``.

    Raises:
        KeyError: no such reducer.
        ValueError: a setting that it does not take, lacks, or that is out of range.

    Example:
        >>> make_reducer("sparse_random_projection:500", seed=1)
        SparseRandomProjection(n_components=500, seed=1)
    """
    kind, colon, number = name.partition(":")
    if kind == "none" and not settings:
        return None
    if kind not in REDUCERS:
        near = ", ".join(nearest(kind, REDUCERS))
        known = ", ".join([*REDUCERS, "none"])
        raise UnknownIdentifier(f"unknown reducer {kind!r}; {f'nearest: {near}; ' if near else ''}there are {known}")
    make = REDUCERS[kind]
    if colon:
        if not number.isdigit():
            raise ValueError(f"expected a whole number after the colon in reducer {name!r}")
        settings = {next(iter(inspect.signature(make).parameters)): int(number), **settings}
    try:
        inspect.signature(make).bind(**settings)
    except TypeError as error:
        takes = ", ".join(inspect.signature(make).parameters)
        raise ValueError(f"reducer {kind!r}: {error}; it takes {takes}") from None
    return make(**settings)
