"""Arrangement of responses, with rows in any order, into an array with one axis per stimulus parameter."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from bsjax.labelled.align import STIMULUS, coordinate, finite_values, listed, two_dimensional

_DECIMALS = 9  # smaller differences between parameters are rounding
_SHOWN = 5


class Grid(NamedTuple):
    """Responses by stimulus parameter.

    Attributes:
        values: ``(units, *levels)``, one axis per parameter.
        levels: parameter -> its ascending levels, or the ranks of a ranked parameter.
    """

    values: np.ndarray
    levels: dict[str, np.ndarray]


def on_grid(
    responses: xr.DataArray, axes: Sequence[str], *, ranked: tuple[str, str] | None = None, fixed: Sequence[str] = ()
) -> Grid:
    """Arranges responses in the full grid of their stimuli.

    Args:
        responses: (presentation, neuroid), each stimulus once, rows in any order.
        axes: the presentation coordinates that span the grid, in the order of its axes.
        ranked: ``(name, within)``: the levels of ``name`` depend on the level of ``within``, so that their ranks span
            the grid, e.g. the radii of gratings that are fixed numbers of cycles.
        fixed: coordinates that must be constant if they are present.

    Raises:
        ValueError: a coordinate is missing, a fixed one varies, points of the grid are missing or repeated, or values
            are not finite.

    Example:
        >>> assembly = xr.DataArray([[4.], [1.], [3.], [2.]], dims=["presentation", "neuroid"], coords={
        ...     "family": ("presentation", ["b", "a", "b", "a"]), "sample": ("presentation", [2, 1, 1, 2])})
        >>> on_grid(assembly, ["family", "sample"]).values
        array([[[1., 2.],
                [3., 4.]]])
    """
    responses = two_dimensional(responses, "responses")
    for name in fixed:
        if name in responses.coords and len(levels := np.unique(_parameter(responses, name))) > 1:
            raise ValueError(f"responses must be to one {name}, they are to {listed(levels, 'of them')}: select one")
    parameters = {name: _parameter(responses, name) for name in axes}
    if ranked:
        name, within = ranked
        parameters[name] = _ranks(parameters[name], parameters[within])
    levels, codes = {}, []
    for name, values in parameters.items():
        levels[name], code = np.unique(values, return_inverse=True)
        codes.append(code)
    shape = [len(values) for values in levels.values()]
    cell = np.asarray(np.ravel_multi_index(codes, shape)) if len(responses) else np.empty(0, int)
    counts = np.bincount(cell, minlength=int(np.prod(shape)))
    if not len(responses) or (counts != 1).any():
        raise ValueError(_incomplete(counts, levels, responses, cell, ranked))
    values = np.asarray(finite_values(responses, "responses"))[np.argsort(cell)]
    return Grid(values.T.reshape(-1, *shape), levels)


def _parameter(responses: xr.DataArray, name: str) -> np.ndarray:
    values = coordinate(responses, name, "presentation", "responses")
    return np.round(values.astype(float), _DECIMALS) if values.dtype.kind in "fiu" else values.astype(str)


def _ranks(values: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """The rank of each value, from 0, among the distinct values of its group."""
    ranks = np.empty(len(values))
    for group in np.unique(groups):
        ranks[groups == group] = np.unique(values[groups == group], return_inverse=True)[1]
    return ranks


def _incomplete(
    counts: np.ndarray,
    levels: dict[str, np.ndarray],
    responses: xr.DataArray,
    cell: np.ndarray,
    ranked: tuple[str, str] | None,
) -> str:
    """The error message for a grid with missing or repeated points."""
    names = [f"rank of {name} within {ranked[1]}" if ranked and name == ranked[0] else name for name in levels]
    grid = " x ".join(f"{len(values)} {name}" for name, values in zip(names, levels.values(), strict=True))
    problems = []
    missing, repeated = np.flatnonzero(counts == 0), np.flatnonzero(counts > 1)
    if len(missing):
        shape = [len(values) for values in levels.values()]
        points = [
            ", ".join(f"{name} {values[i]}" for name, values, i in zip(names, levels.values(), point, strict=True))
            for point in zip(*np.unravel_index(missing[:_SHOWN], shape), strict=True)
        ]
        problems.append(f"{len(missing)} are missing ({'; '.join(points)}{' ...' if len(missing) > _SHOWN else ''})")
    if len(repeated):
        rows = np.isin(cell, repeated)
        ids = responses[STIMULUS].values[rows] if STIMULUS in responses.coords else np.flatnonzero(rows)
        problems.append(
            f"{len(repeated)} are there more than once, in {listed(ids, 'rows')}: average repetitions first "
            "(bsjax.data.average_repetition)"
        )
    return (
        f"responses must hold each stimulus of a full grid once, {grid}; of {len(counts)} points "
        f"{', and '.join(problems) or 'none is there'}"
    )
