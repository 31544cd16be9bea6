"""Data standards of assemblies, and the checks of them, each returning the problems it finds."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.core.messages import some

IDENTIFIERS = {"presentation": "stimulus_id", "neuroid": "neuroid_id"}


@dataclass(frozen=True)
class Standard:
    """The data standard of a class of assemblies.

    Attributes:
        dims: the dimensions that it needs.
        optional: further dimensions that it may have; None for any.
        identifiers: coordinates that it needs -> the dimension of each.
        unique: identifiers that must not repeat.
        numbers: whether its values must be numbers.
        complete: whether no value may be missing.
    """

    dims: tuple[str, ...] = ()
    optional: tuple[str, ...] | None = None
    identifiers: Mapping[str, str] = field(default_factory=dict)
    unique: tuple[str, ...] = ()
    numbers: bool = False
    complete: bool = False


def problems_of(assembly: xr.DataArray, standard: Standard) -> list[str]:
    """Violations of a data standard, one line each.

    Example:
        >>> problems_of(xr.DataArray([0.0, float("nan")], dims=["trial"]), Standard(("event",), complete=True))
        ['expected a dimension event, got trial', '1 of 2 values is NaN, first at trial number 1']
    """
    problems = []
    wanted = ", ".join(standard.dims) + "".join(f"[, {dim}]" for dim in standard.optional or ())
    lacking = set(standard.dims) - set(assembly.dims)
    strange = set() if standard.optional is None else set(assembly.dims) - {*standard.dims, *standard.optional}
    if lacking or strange:
        kind = "a dimension" if standard.optional is None else "the dimensions"
        problems.append(f"expected {kind} {wanted}, got {', '.join(map(str, assembly.dims)) or 'none'}")
    problems += [f"dimension {dim} is empty" for dim, size in assembly.sizes.items() if size == 0]
    for name, dim in standard.identifiers.items():
        problems += identifier_problems(assembly, name, dim, unique=name in standard.unique)
    if standard.numbers and assembly.dtype.kind not in "biuf":
        problems.append(f"expected numbers, got values of dtype {assembly.dtype}")
    if standard.complete:
        problems += missing_problems(assembly)
    return problems + stimulus_set_problems(assembly)


def identifier_problems(assembly: xr.DataArray, name: str, dim: str, unique: bool = False) -> list[str]:
    """Problems of an identifier that is missing, not on ``dim``, incomplete, or repeated although ``unique``.

    Example:
        >>> identifier_problems(xr.DataArray([0.0], dims=["neuroid"]), "neuroid_id", "neuroid")
        ["no coordinate 'neuroid_id' on neuroid (coordinates present: none)"]
    """
    if name not in assembly.coords:
        present = ", ".join(map(str, assembly.coords)) or "none"
        return [f"no coordinate {name!r} on {dim} (coordinates present: {present})"]
    coord = assembly.coords[name]
    if coord.dims != (dim,):
        return [f"coordinate {name!r} lies on {', '.join(map(str, coord.dims)) or 'no dimension'}, expected {dim}"]
    values = pd.Index(coord.values)
    problems = []
    if values.hasnans:
        problems.append(f"coordinate {name!r} is missing in {int(values.isna().sum())} of {len(values)} rows")
    repeated = values[values.duplicated()].unique() if unique else []
    if len(repeated):
        advice = "give each its own, also over animals and sessions, e.g. 'Fritz-1'"
        problems.append(f"coordinate {name!r} repeats {some(repeated)}: {advice}")
    return problems


def missing_problems(assembly: xr.DataArray) -> list[str]:
    """Problem of missing values: their number and the place of the first.

    Example:
        >>> missing_problems(xr.DataArray([1.0, float("nan")], dims=["event"]))
        ['1 of 2 values is NaN, first at event number 1']
    """
    if assembly.dtype.kind not in "fO":
        return []
    missing = np.argwhere(np.asarray(pd.isna(assembly.values)))
    if not len(missing):
        return []
    where = []
    for dim, position in zip(assembly.dims, missing[0], strict=True):
        name = IDENTIFIERS.get(str(dim), str(dim))
        known = name in assembly.coords and assembly.coords[name].dims == (dim,)
        where.append(f"{name} {assembly.coords[name].values[position]}" if known else f"{dim} number {position}")
    verb = "is" if len(missing) == 1 else "are"
    return [f"{len(missing)} of {assembly.size} values {verb} NaN, first at {', '.join(where)}"]


def stimulus_set_problems(assembly: xr.DataArray) -> list[str]:
    """Problem of stimulus ids that are missing in the assembly's own stimulus set.

    Example:
        >>> ids = {"stimulus_id": ("presentation", ["a", "b"])}
        >>> stimuli = pd.DataFrame({"stimulus_id": ["a"]})
        >>> stimulus_set_problems(xr.DataArray([0, 1], ids, ["presentation"], attrs={"stimulus_set": stimuli}))
        ['1 stimulus ids are not in its stimulus_set: b']
    """
    stimulus_set = assembly.attrs.get("stimulus_set")
    if not isinstance(stimulus_set, pd.DataFrame) or "stimulus_id" not in stimulus_set:
        return []
    if "stimulus_id" not in assembly.coords:
        return []
    absent = pd.Index(assembly["stimulus_id"].values).unique().difference(pd.Index(stimulus_set["stimulus_id"]))
    return [f"{len(absent)} stimulus ids are not in its stimulus_set: {some(absent)}"] if len(absent) else []


def rdm_problems(assembly: xr.DataArray) -> list[str]:
    """Problems of dissimilarity matrices with all identifiers: other stimuli in rows than columns, or asymmetry.

    Example:
        >>> sides = {"left": ["a", "b"], "right": ["b", "a"]}
        >>> ids = {f"stimulus_id_{side}": (f"stimulus_{side}", names) for side, names in sides.items()}
        >>> rdm_problems(xr.DataArray(np.zeros((2, 2)), ids, ["stimulus_left", "stimulus_right"]))
        ['rows and columns must be the same stimuli in the same order']
    """
    if not np.array_equal(assembly["stimulus_id_left"].values, assembly["stimulus_id_right"].values):
        return ["rows and columns must be the same stimuli in the same order"]
    values = assembly.transpose(..., "stimulus_left", "stimulus_right").values
    alike = np.allclose(values, values.swapaxes(-1, -2), rtol=1e-4, atol=1e-6, equal_nan=True)
    return [] if alike else ["the matrix is not symmetric"]
