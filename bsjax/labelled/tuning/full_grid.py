"""Arrangement of labelled rows, in any order, along the axes of a full grid: of stimuli, or of units in space."""

from collections.abc import Mapping, Sequence
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
        parameters = {f"rank of {key} within {within}" if key == name else key: parameters[key] for key in axes}
    ids = responses[STIMULUS].values if STIMULUS in responses.coords else np.arange(len(responses))
    once = ": average repetitions first (bsjax.data.average_repetition)"
    order, levels = along_grid(parameters, ids, "responses", once)
    values = np.asarray(finite_values(responses, "responses"))[order]
    return Grid(values.T.reshape(-1, *map(len, levels)), dict(zip(axes, levels, strict=True)))


def along_grid(
    parameters: Mapping[str, np.ndarray], ids: np.ndarray, what: str, advice: str = ""
) -> tuple[np.ndarray, list[np.ndarray]]:
    """The order that sorts rows along the axes of a full grid, and the ascending levels of each axis.

    Args:
        parameters: axis -> the value of each row.
        ids: identifiers of the rows, for messages.
        what: what has the rows, for messages.
        advice: what to do about repeated rows, for messages.

    Raises:
        ValueError: points of the grid are missing or repeated.

    Example:
        >>> order, levels = along_grid({"x": np.array([1, 0, 1, 0]), "y": np.array([5, 5, 3, 3])}, np.arange(4), "a")
        >>> order.tolist(), [each.tolist() for each in levels]
        ([3, 1, 2, 0], [[0, 1], [3, 5]])
    """
    levels, codes = zip(*(np.unique(values, return_inverse=True) for values in parameters.values()), strict=True)
    shape = [len(values) for values in levels]
    cell = np.asarray(np.ravel_multi_index(codes, shape)) if len(ids) else np.empty(0, int)
    counts = np.bincount(cell, minlength=int(np.prod(shape)))
    missing, repeated = np.flatnonzero(counts == 0), np.flatnonzero(counts > 1)
    problems = [] if len(ids) else ["none is there"]
    if len(missing):
        places = np.transpose(np.unravel_index(missing[:_SHOWN], shape))
        points = (zip(parameters, levels, place, strict=True) for place in places)
        shown = "; ".join(", ".join(f"{name} {values[i]}" for name, values, i in point) for point in points)
        problems.append(f"{len(missing)} are missing ({shown}{' ...' if len(missing) > _SHOWN else ''})")
    if len(repeated):
        problems.append(
            f"{len(repeated)} are there more than once, in {listed(ids[np.isin(cell, repeated)], 'rows')}{advice}"
        )
    if problems:
        grid = " x ".join(f"{n} {name}" for n, name in zip(shape, parameters, strict=True))
        raise ValueError(
            f"{what} must hold each point of a full grid once, {grid}; of {len(counts)} points "
            f"{', and '.join(problems)}"
        )
    return np.argsort(cell), list(levels)


def _parameter(responses: xr.DataArray, name: str) -> np.ndarray:
    values = coordinate(responses, name, "presentation", "responses")
    return np.round(values.astype(float), _DECIMALS) if values.dtype.kind in "fiu" else values.astype(str)


def _ranks(values: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """The rank of each value, from 0, among the distinct values of its group."""
    ranks = np.empty(len(values))
    for group in np.unique(groups):
        ranks[groups == group] = np.unique(values[groups == group], return_inverse=True)[1]
    return ranks
