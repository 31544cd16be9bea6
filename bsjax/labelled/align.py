"""Strict alignment of labelled assemblies by identifier, never by position, into arrays with matching rows."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import jax
import numpy as np
import pandas as pd
import xarray as xr

from bsjax.core.given_arrays import widened
from bsjax.core.labels import meanings, remedy
from bsjax.data.types.assemblies import RDMAssembly
from bsjax.data.types.plain import without_levels
from bsjax.engine.transfers import to_host

STIMULUS = "stimulus_id"
TIME_BIN = "time_bin"
_DRAWN_FROM = "drawn_from"
DRAWN_ROW = "drawn_row"
"""In a draw, the presentation that each row is a copy of; splits into halves keep copies together by it."""
_SHOWN = 5
_OF_RDMS = (
    "give the responses that it was made of, or label it as bsjax.RDMAssembly, with stimulus_id_left on stimulus_left "
    "and stimulus_id_right on stimulus_right, and compare it by load_metric('rdm')"
)
_OF_LABELLED = "give the responses that it was made of, or compare it by load_metric('rdm')"
_ROUNDING = 1e-5  # relative to the largest entry, for matrices computed in float32

# Of an array without names, xarray asks whether it is of dask, whose import takes a tenth of a second.
variable = partial(xr.Variable, fastpath=True)
"""``variable(dims, values)``: an array with names of its dimensions, which xarray takes as it is."""

Assembly = TypeVar("Assembly", bound=xr.DataArray)


def unlabelled(given: Any, what: str) -> ValueError:
    """The error of something else in the place of a labelled array."""
    return ValueError(
        f"{what} must be a labelled array such as a bsjax.NeuroidAssembly, got a {type(given).__name__}: "
        "bsjax.score_arrays compares arrays without labels"
    )


def coordinate(assembly: xr.DataArray, name: str, dim: str, what: str, missing: bool = False) -> np.ndarray:
    """The labels of a required coordinate: identifiers, conditions, or other labels of the rows.

    Args:
        assembly: any assembly.
        name: name of the coordinate.
        dim: its dimension.
        what: the assembly's name in messages.
        missing: whether values may be NaN or None, as in answers or measurements.

    Raises:
        ValueError: the coordinate is missing or lies on another dimension (the message lists those of ``dim``), or
            some of its values are missing.
    """
    if not isinstance(assembly, xr.DataArray):
        raise unlabelled(assembly, what)
    variables = assembly.coords.variables  # ten times as fast as labelled arrays of them
    if name not in variables or variables[name].dims != (dim,):
        raise _lacking(assembly, {dim: [name]}, what)
    values = np.asarray(variables[name].values)
    lost = [] if missing else np.flatnonzero(pd.isna(values))
    if len(lost):
        raise ValueError(f"{what} has no {name} for {listed(lost, f'of its {dim}s')}: give each one, or leave them out")
    return values


def parts_by(assembly: xr.DataArray, name: str, what: str) -> dict[str, xr.DataArray]:
    """The neuroids with each value of a coordinate, in the order in which the values occur.

    Raises:
        ValueError: as ``coordinate``.
    """
    values = coordinate(assembly, name, "neuroid", what)
    return {str(value): assembly.isel(neuroid=np.flatnonzero(values == value)) for value in pd.unique(values)}


def require(assembly: xr.DataArray, needs: Mapping[str, Sequence[str]], what: str, *more: str, hint: str = "") -> None:
    """Refuse an assembly that lacks required coordinates, with one message that names and explains them all.

    Args:
        assembly: any assembly.
        needs: dimension -> its required coordinates. A scalar coordinate is accepted if the dimension was dropped.
        what: the assembly's name in messages.
        more: further problems to report in the same message.
        hint: advice to append to the message.

    Raises:
        ValueError: a coordinate is missing, or ``more`` is given.

    Example:
        >>> trials = xr.DataArray(["dog"], {"stimulus_id": ("presentation", ["a"])}, ["presentation"])
        >>> require(trials, {"presentation": ["stimulus_id", "truth", "subject"]}, "target")
        Traceback (most recent call last):
        ...
        ValueError: target has no coordinates 'truth', 'subject' on dimension 'presentation'; there are: stimulus_id \
(truth: correct answer for the stimulus; subject: identifier of the subject who answered or was recorded)
    """
    variables = assembly.coords.variables
    lacks: dict[str, list[str]] = {}
    for dim, names in needs.items():
        places = ((dim,),) if dim in assembly.dims else ((dim,), ())
        lost = [name for name in dict.fromkeys(names) if name not in variables or variables[name].dims not in places]
        lacks |= {dim: lost} if lost else {}
    if lacks or more:
        raise ValueError(f"{_lacking(assembly, lacks, what, *more)}{hint}")


def _lacking(assembly: xr.DataArray, lacks: Mapping[str, Sequence[str]], what: str, *more: str) -> ValueError:
    said = []
    for dim, names in lacks.items():
        present = ", ".join(str(c) for c, variable in assembly.coords.variables.items() if variable.dims == (dim,))
        known = meanings(names)
        said.append(
            f"no coordinate{'s' * (len(names) > 1)} {', '.join(map(repr, names))} on dimension {dim!r}; there are: "
            f"{present or 'none'}" + (f" ({known})" if known else "")
        )
    return ValueError(f"{what} has {', and '.join([*said, *more])}")


def quantity(assembly: xr.DataArray, name: str, dim: str, what: str) -> np.ndarray:
    """A numeric coordinate in float64; missing values are NaN.

    Raises:
        ValueError: it is missing or lies on another dimension, or its values are not numbers.
    """
    return coordinate(assembly, name, dim, what, missing=True).astype(float)


def drawn_from(name: str) -> str:
    """Name of the coordinate that holds, in a draw, the original identifier of each copy of ``name``."""
    return _DRAWN_FROM if name == STIMULUS else f"{_DRAWN_FROM}_{name}"


def origins(assembly: xr.DataArray, name: str, dim: str, what: str) -> np.ndarray:
    """Identifiers to group rows by: in a draw, all copies of a stimulus have its original identifier.

    Raises:
        ValueError: as ``coordinate``.
    """
    copied = drawn_from(name)
    return coordinate(assembly, copied if copied in assembly.coords else name, dim, what)


def origins_of(ids: Iterable[Any], assembly: xr.DataArray, name: str, dim: str, what: str) -> np.ndarray:
    """The original of each given identifier of an assembly, see ``origins``."""
    known: Any = pd.Series(origins(assembly, name, dim, what), coordinate(assembly, name, dim, what))
    return known[~known.index.duplicated()].reindex(list(ids)).to_numpy()


def two_dimensional(assembly: xr.DataArray, what: str) -> xr.DataArray:
    """The assembly as (presentation, neuroid); a single time bin is dropped.

    Raises:
        ValueError: other dimensions, more than one time bin, no neuroid, or a dissimilarity matrix instead of
            responses.
    """
    if not isinstance(assembly, xr.DataArray):
        raise unlabelled(assembly, what)
    if TIME_BIN in assembly.dims:
        if assembly.sizes["time_bin"] != 1:
            raise ValueError(
                f"{what} has {assembly.sizes[TIME_BIN]} time bins where one is expected: "
                "select one, e.g. assembly.isel(time_bin=0), or average over them"
            )
        assembly = assembly.isel({TIME_BIN: 0}, drop=True)
    if "stimulus_left" in assembly.dims:
        advice = _OF_LABELLED if isinstance(assembly, RDMAssembly) else _OF_RDMS
        raise ValueError(f"{what} is a matrix of stimuli by stimuli where responses are expected: {advice}")
    assembly = _with_neuroids(with_dims(assembly, what, "presentation", "neuroid"), what)
    if _holds_dissimilarities(assembly):
        raise ValueError(
            f"{what} is a matrix of dissimilarities, {' x '.join(map(str, assembly.shape))}, symmetric with zeros on "
            f"its diagonal, where responses are expected: {_OF_RDMS}"
        )
    if assembly.shape[0] == assembly.shape[1] and _same_on_both(assembly):
        raise ValueError(f"{what} has the same identifiers of presentations and neuroids: {_OF_RDMS}")
    return assembly


def _same_on_both(assembly: xr.DataArray) -> bool:
    variables = assembly.coords.variables
    rows, columns = (variables.get(name) for name in (STIMULUS, "neuroid_id"))
    if rows is None or columns is None or (rows.dims, columns.dims) != (("presentation",), ("neuroid",)):
        return False
    # Numbers may count both presentations and neuroids.
    return len(assembly) > 2 and rows.dtype.kind in "OUT" and np.array_equal(rows.values, columns.values)


def _holds_dissimilarities(assembly: xr.DataArray) -> bool:
    n, units = assembly.shape
    if n != units or n < 3 or assembly.dtype.kind not in "fiu":
        return False
    values = assembly.data if isinstance(assembly.data, jax.Array) else assembly.values
    with jax.transfer_guard_host_to_device("allow"):
        diagonal, row = to_host(values[np.arange(n), np.arange(n)]), to_host(values[0])
    if not np.abs(diagonal).max() <= _ROUNDING * np.abs(row).max() or not row.any():
        return False
    values = to_host(values)
    return bool(np.abs(values - values.T).max() <= _ROUNDING * np.abs(values).max())


def three_dimensional(assembly: xr.DataArray, what: str) -> xr.DataArray:
    """The assembly as (presentation, neuroid, time_bin).

    Raises:
        ValueError: other dimensions, or no neuroid.
    """
    return _with_neuroids(with_dims(assembly, what, "presentation", "neuroid", TIME_BIN), what)


def bins_of(assembly: xr.DataArray, what: str) -> list[xr.DataArray]:
    """The responses in each time bin, (presentation, neuroid).

    Raises:
        ValueError: as ``three_dimensional``.
    """
    assembly = three_dimensional(assembly, what)
    return [at_positions(assembly, {TIME_BIN: place}, drop=True) for place in range(assembly.sizes[TIME_BIN])]


def _with_neuroids(assembly: xr.DataArray, what: str) -> xr.DataArray:
    if not assembly.sizes["neuroid"]:
        raise ValueError(f"{what} has no neuroid: there is nothing to compare. Was a selection empty?")
    values = widened(assembly.data)
    return assembly if values is assembly.data else assembly.copy(data=values)


def with_dims(assembly: xr.DataArray, what: str, *dims: str) -> xr.DataArray:
    """The assembly with these dimensions in this order.

    Raises:
        ValueError: it has other dimensions.

    Example:
        >>> chosen = xr.DataArray(np.ones((2, 3)), dims=["choice", "presentation"])
        >>> with_dims(chosen, "choices", "presentation", "choice").shape
        (3, 2)
    """
    if set(assembly.dims) != set(dims):
        *first, last = dims
        needs = f"dimensions {', '.join(first)} and {last}" if first else f"dimension {last} alone"
        raise ValueError(f"{what} must have the {needs}, it has: {', '.join(map(str, assembly.dims)) or 'none'}")
    assembly = without_levels(assembly)
    return assembly if assembly.dims == dims else assembly.transpose(*dims)


def unique_ids(assembly: xr.DataArray, what: str) -> np.ndarray:
    """Unique identifiers of the presentations.

    Raises:
        ValueError: the coordinate is missing, or identifiers are missing or duplicated (they are listed).
    """
    ids = known_ids(assembly, what)
    repeated = pd.Index(ids).duplicated()
    if repeated.any():
        raise ValueError(
            f"{what} holds {listed(pd.unique(ids[repeated]), STIMULUS)} more than once: average the repetitions first "
            "(bsjax.data.average_repetition)"
        )
    return ids


def known_ids(assembly: xr.DataArray, what: str, coord: str = STIMULUS) -> np.ndarray:
    """Identifiers of the presentations, which may repeat.

    Raises:
        ValueError: the coordinate is missing, or identifiers are NaN or None.
    """
    return coordinate(assembly, coord, "presentation", what)


def of_stimuli(ids: np.ndarray) -> xr.DataArray:
    """An array of zeros for these stimuli, in whose order others are aligned."""
    return xr.DataArray(np.zeros(len(ids)), {STIMULUS: ("presentation", ids)}, ["presentation"])


def aligned(
    source: xr.DataArray,
    target: xr.DataArray,
    names: Sequence[str] = ("source", "target"),
    *,
    target_repeats: bool = False,
) -> xr.DataArray:
    """``source`` with its presentations in the order of ``target``, matched by ``stimulus_id``.

    Args:
        source, target: assemblies of the same stimuli.
        names: names of the two in messages.
        target_repeats: whether ``target`` may repeat stimuli; the source's presentation is then repeated as often.

    Raises:
        ValueError: identifiers are missing, duplicated, or on one side only (listed for each side).
    """
    return reordered(source, order_of(source, target, names, target_repeats=target_repeats))


def order_of(
    source: xr.DataArray,
    target: xr.DataArray,
    names: Sequence[str] = ("source", "target"),
    *,
    target_repeats: bool = False,
) -> np.ndarray | None:
    """Row numbers that put ``source`` in the order of ``target``; None if it is in that order already.

    Raises:
        ValueError: as ``aligned``.
    """
    wanted = known_ids(target, names[1]) if target_repeats else unique_ids(target, names[1])
    have = known_ids(source, names[0])
    if np.array_equal(have, wanted):
        return None
    have = unique_ids(source, names[0])
    refuse_different(have, wanted, names, STIMULUS, "stimuli")
    return pd.Index(have).get_indexer(pd.Index(wanted))


def aligned_values(
    source: xr.DataArray, target: xr.DataArray, target_repeats: bool = False
) -> tuple[np.ndarray | jax.Array, np.ndarray | jax.Array]:
    """The responses of two assemblies to the same stimuli, ``(stimuli, units)`` each, in the order of the target.

    Args:
        source, target: (presentation, neuroid) with ``stimulus_id``, rows in any order.
        target_repeats: whether stimuli may repeat in the target, as in single trials.

    Raises:
        ValueError: other dimensions, different or repeated stimuli, or values that are not finite numbers.

    Example:
        >>> x = xr.DataArray([[1.0], [2.0]], {"stimulus_id": ("presentation", ["a", "b"])}, ["presentation", "neuroid"])
        >>> ours, theirs = aligned_values(x, x[::-1])
        >>> ours.ravel().tolist(), theirs.ravel().tolist()
        ([2.0, 1.0], [2.0, 1.0])
    """
    source, target = two_dimensional(source, "source"), two_dimensional(target, "target")
    source = aligned(source, target, target_repeats=target_repeats)
    return finite_values(source, "source"), finite_values(target, "target")


def reordered(assembly: xr.DataArray, order: np.ndarray | None) -> xr.DataArray:
    """The presentations at the row numbers from ``order_of``; without a copy if that is None."""
    return assembly if order is None else at_positions(assembly, {"presentation": order})


def at_positions(assembly: Assembly, positions: Mapping[str, Any], drop: bool = False) -> Assembly:
    """``assembly.isel`` that allows the positions, which come from labels, to move to the device of the values."""
    with jax.transfer_guard_host_to_device("allow"):
        return assembly.isel(positions, drop=drop)


def finite_values(assembly: xr.DataArray, what: str) -> np.ndarray | jax.Array:
    """The values, checked to be finite numbers; values on an accelerator stay there, only their sum is transferred.

    Raises:
        ValueError: not numbers, or NaN or infinite values, with the places of the first ones.
    """
    values = assembly.data if isinstance(assembly.data, jax.Array) else np.asarray(assembly.values)
    if values.dtype.kind not in "fiub":
        raise ValueError(f"{what} must hold numbers, it holds {values.dtype}")
    # A finite sum shows that all its terms are finite, without a copy; a sum that overflows needs the full test.
    if values.dtype.kind != "f" or np.isfinite(_total(values)):
        return values
    bad = np.argwhere(~np.isfinite(to_host(values)))
    if not len(bad):
        return values
    labels = [
        assembly[c].values if c in assembly.coords else np.arange(n)
        for c, n in zip((STIMULUS, "neuroid_id"), values.shape, strict=False)
    ]
    places = [f"stimulus {labels[0][i]}, neuroid {labels[1][j]}" for i, j, *_ in bad[:_SHOWN]]
    raise ValueError(
        f"{what} has {len(bad)} NaN or infinite values and this metric cannot leave them out: "
        f"{'; '.join(places)}{' ...' if len(bad) > _SHOWN else ''}. Drop those stimuli or neuroids."
    )


def float_values(assembly: xr.DataArray, what: str) -> np.ndarray | jax.Array:
    """``finite_values`` as floating-point numbers.

    Raises:
        ValueError: as ``finite_values``.
    """
    values = finite_values(assembly, what)
    return values if values.dtype.kind == "f" else values.astype(float)


def _total(values: np.ndarray | jax.Array) -> Any:
    if isinstance(values, np.ndarray):
        return values.sum()
    with jax.enable_x64(True):  # values on a device may be float64 although x64 is off
        return to_host(values.sum())


def only_in(one: Iterable[Any], other: Iterable[Any], names: Sequence[str], what: str) -> list[str]:
    """Descriptions of the labels that are on one of two sides only.

    Example:
        >>> only_in(["a", "b"], ["b"], ("source", "target"), "stimulus_id")
        ['1 stimulus_id (a) only in source']
    """
    left, right = (pd.Index(pd.unique(np.asarray(side))) for side in (one, other))
    sides = (left[~left.isin(right)], names[0]), (right[~right.isin(left)], names[1])
    return [f"{listed(ids, what)} only in {name}" for ids, name in sides if len(ids)]


def more_than_once(one: Iterable[Any], other: Iterable[Any], names: Sequence[str], what: str) -> list[str]:
    """Descriptions of the labels that repeat on either of two sides.

    Example:
        >>> more_than_once(["a", "b"], ["b", "b"], ("source", "target"), "stimulus_id")
        ['1 stimulus_id (b) more than once in target']
    """
    sides = [(pd.Index(np.asarray(side)), name) for side, name in zip((one, other), names, strict=True)]
    return [f"{listed(i[i.duplicated()].unique(), what)} more than once in {n}" for i, n in sides if not i.is_unique]


def refuse_different(
    one: Iterable[Any], other: Iterable[Any], names: Sequence[str], what: str, called: str | None = None
) -> None:
    """Refuses two sides with different labels.

    Args:
        one, other: the labels of both sides.
        names: names of the sides.
        what: the coordinate that holds the labels.
        called: plural noun for what the labels identify; the coordinate's name by default.

    Raises:
        ValueError: a label is on one side only.
    """
    if only := only_in(one, other, names, what):
        hold = f"{names[0]} and {names[1]} hold different {called or what}"
        raise ValueError(f"{hold}: {'; '.join(only)}. {remedy(one, other, names, what)}")


def matched(one: Iterable[Any], other: Iterable[Any], names: Sequence[str], what: str, called: str) -> np.ndarray:
    """The position in ``one`` of each label of ``other``; both sides must hold the same labels once each.

    Args:
        one, other, names, what, called: as for ``refuse_different``.

    Raises:
        ValueError: a label is on one side only, or repeats.

    Example:
        >>> matched(["a", "b", "c"], ["c", "a", "b"], ("source", "target"), "subject", "subjects")
        array([2, 0, 1])
    """
    if repeated := more_than_once(one, other, names, what):
        raise ValueError(f"{names[0]} and {names[1]} must hold the same {called} once: {'; '.join(repeated)}")
    refuse_different(one, other, names, what, called)
    return pd.Index(np.asarray(one)).get_indexer(pd.Index(np.asarray(other)))


def refuse_single(subjects: Collection[Any]) -> None:
    """Refuses a comparison of subjects with one another if there is only one.

    Raises:
        ValueError: there are fewer than two subjects.
    """
    if len(subjects) < 2:
        raise ValueError(
            f"at least 2 subjects are needed, to compare them, got {', '.join(map(str, subjects)) or 'none'}"
        )


def listed(ids: Iterable[object], name: str) -> str:
    """``3 stimulus_id (a, b, c)``, with at most five of them listed."""
    ids = list(ids)
    more = " ..." if len(ids) > _SHOWN else ""
    return f"{len(ids)} {name} ({', '.join(map(str, ids[:_SHOWN]))}{more})"
