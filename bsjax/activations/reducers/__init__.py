"""Reducers, which reduce the number of units of a layer, batch by batch.

Choose one by name with :func:`make_reducer`, or create it: :class:`PCA`, :class:`SparseRandomProjection`,
:class:`SpatialPooling`, :class:`Subsampling`. Pass it to an adapter (``from_torch(..., reducer=PCA(100, stimuli))``)
or to ``activations.with_options(reducer=...)``.
"""

import inspect
from collections.abc import Callable
from typing import Any

from bsjax.activations.reducers.pca import PCA
from bsjax.activations.reducers.pooling import SpatialPooling
from bsjax.activations.reducers.random_projection import SparseRandomProjection
from bsjax.activations.reducers.reducer import Reducer, Reduction
from bsjax.activations.reducers.subsampling import Subsampling
from bsjax.core.registry import UnknownIdentifier, hint

__all__ = ["PCA", "Reducer", "Reduction", "SparseRandomProjection", "SpatialPooling", "Subsampling", "make_reducer"]

REDUCERS: dict[str, Callable[..., Reducer]] = {
    "pca": PCA,
    "sparse_random_projection": SparseRandomProjection,
    "spatial_pooling": SpatialPooling,
    "subsampling": Subsampling,
}


def make_reducer(name: str, **settings: Any) -> Reducer | None:
    """Create a reducer by name.

    Args:
        name: ``"pca"``, ``"sparse_random_projection"``, ``"spatial_pooling"``, ``"subsampling"``, or ``"none"``;
            optionally with a number for its first setting: ``"pca:100"``.
        settings: its arguments, e.g. ``stimuli=`` for PCA.

    Returns:
        The reducer, None for ``"none"``.

    Raises:
        KeyError: no such reducer.
        ValueError: a setting is unknown, missing or out of range.

    Example:
        >>> make_reducer("sparse_random_projection:500", seed=1)
        SparseRandomProjection(n_components=500, seed=1)
    """
    kind, colon, number = name.partition(":")
    if kind == "none" and not settings:
        return None
    if kind not in REDUCERS:
        known = ", ".join([*REDUCERS, "none"])
        raise UnknownIdentifier(f"unknown reducer {kind!r}{hint(kind, REDUCERS)}; there are {known}")
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
