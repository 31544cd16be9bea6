"""Coordinates of a recording from its stimulus set."""

from typing import TypeVar

import pandas as pd
import xarray as xr

from bsjax.core.labels import remedy
from bsjax.core.messages import some
from bsjax.data.types.assembly_base import DataAssembly
from bsjax.data.types.plain import plain_values

Array = TypeVar("Array", bound=xr.DataArray)
Assembly = TypeVar("Assembly", bound=DataAssembly)

_ROWS, _ID = "presentation", "stimulus_id"


def merge_stimulus_set(assembly: Array, stimulus_set: pd.DataFrame) -> Array:
    """Make every column of a stimulus set a coordinate on presentation, by ``stimulus_id``.

    A coordinate that the assembly has already, on whatever dimension, stays as it is. The stimulus set may hold
    stimuli that were not shown.

    Args:
        assembly: any assembly with ``stimulus_id`` on presentation.
        stimulus_set: a table with a column ``stimulus_id``.

    Returns:
        The assembly with more coordinates; values and attributes are the same.

    Raises:
        ValueError: no ``stimulus_id`` on either side; ids that are missing, that the stimulus set does not have or has
            more than once, or that are text on one side and numbers on the other; a column with the name of a
            dimension, or one of two with the same name.

    Example:
        >>> recording = DataAssembly([5., 7., 6.], dims=["presentation"], coords={
        ...     "stimulus_id": ("presentation", ["b", "a", "b"])})
        >>> stimuli = pd.DataFrame({"stimulus_id": ["a", "b"], "object_name": ["dog", "car"]})
        >>> merge_stimulus_set(recording, stimuli)["object_name"].values.tolist()
        ['car', 'dog', 'car']
    """
    ids, known = _identifiers(assembly, stimulus_set)
    rows = known.get_indexer(ids)
    absent = ids[rows < 0].unique()
    if len(absent):
        raise ValueError(
            f"{len(absent)} of {len(ids.unique())} stimulus ids are not in the stimulus set: {some(absent)}. "
            + remedy(ids, known, ("assembly", "stimulus_set"))
        )
    columns = pd.Index(stimulus_set.columns)
    repeated = columns[columns.duplicated()].unique()
    if len(repeated):
        raise ValueError(f"the stimulus set has more than one column {some(repeated)}: rename them")
    new = [name for name in columns if name not in assembly.coords]
    dims = [name for name in new if name in assembly.dims]
    if dims:
        raise ValueError(
            f"column {some(dims)} of the stimulus set has the name of a dimension of the assembly: rename it"
        )
    return assembly.assign_coords({name: (_ROWS, plain_values(stimulus_set[name].array)[rows]) for name in new})


def attach_stimulus_set(assembly: Assembly, stimulus_set: pd.DataFrame, merge: bool | None = None) -> Assembly:
    """Give an assembly its stimulus set: as attributes, and its columns as coordinates.

    Args:
        assembly: any assembly.
        stimulus_set: its stimuli. They become the attribute ``stimulus_set``, and their identifier
            ``stimulus_set_identifier``.
        merge: make coordinates of the columns; by default for all classes but properties, metadata and spike times.

    Raises:
        ValueError: as ``merge_stimulus_set``.

    Example:
        >>> from bsjax.data import PropertyAssembly, StimulusSet
        >>> assembly = PropertyAssembly([[0.5]], dims=["neuroid", "neuroid_property"])
        >>> gratings = StimulusSet([{"stimulus_id": "g1"}], identifier="gratings")
        >>> attach_stimulus_set(assembly, gratings).attrs["stimulus_set_identifier"]
        'gratings'
    """
    if assembly.merges_stimulus_set if merge is None else merge:
        assembly = merge_stimulus_set(assembly, stimulus_set)
    given = {"stimulus_set": stimulus_set, "stimulus_set_identifier": getattr(stimulus_set, "identifier", None)}
    return assembly.assign_attrs(given)


def _identifiers(assembly: xr.DataArray, stimulus_set: pd.DataFrame) -> tuple[pd.Index, pd.Index]:
    if _ID not in assembly.coords or assembly.coords[_ID].dims != (_ROWS,):
        present = ", ".join(map(str, assembly.coords)) or "none"
        lost = (
            f"; the file had one coordinate on {_ROWS} whose name was lost: if it holds the ids, use assembly = "
            f"assembly.assign_coords({_ID}=({_ROWS!r}, assembly[{_ROWS!r}].values))"
            if _ROWS in assembly.coords
            else ""
        )
        raise ValueError(f"the assembly has no {_ID} on {_ROWS} (coordinates present: {present}){lost}")
    if _ID not in stimulus_set.columns:
        raise ValueError(f"the stimulus set has no column {_ID} (columns present: {some(stimulus_set.columns, 10)})")
    # As objects, so that 1 and "1" are different.
    ids = pd.Index(assembly.coords[_ID].values, dtype=object)
    known = pd.Index(plain_values(stimulus_set[_ID].array), dtype=object)
    for index, where in ((ids, "the assembly"), (known, "the stimulus set")):
        if index.hasnans:
            raise ValueError(f"{_ID} is missing in {int(index.isna().sum())} of {len(index)} rows of {where}")
    repeated = known[known.duplicated()].unique()
    if len(repeated):
        raise ValueError(f"{_ID} repeats in the stimulus set: {some(repeated)}; each stimulus needs one row")
    return ids, known
