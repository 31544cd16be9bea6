"""Merging of stimulus set columns into the coordinates of a recording."""

from typing import TypeVar

import pandas as pd
import xarray as xr

from bsjax.core.labels import remedy, require_columns
from bsjax.core.messages import some
from bsjax.data.types.assembly_base import DataAssembly
from bsjax.data.types.plain import plain_values

Array = TypeVar("Array", bound=xr.DataArray)
Assembly = TypeVar("Assembly", bound=DataAssembly)

_ROWS, _ID = "presentation", "stimulus_id"


def merge_stimulus_set(assembly: Array, stimulus_set: pd.DataFrame) -> Array:
    """Turn every column of a stimulus set into a coordinate on presentation, matched by ``stimulus_id``.

    A coordinate that the assembly already has, on any dimension, is unchanged. The stimulus set may hold stimuli that
    were not shown.

    Args:
        assembly: any assembly with ``stimulus_id`` on presentation.
        stimulus_set: a table with a column ``stimulus_id``.

    Returns:
        The assembly with further coordinates; values and attributes are the same.

    Raises:
        ValueError: ``stimulus_id`` is missing on either side; ids are missing, are not in the stimulus set, repeat in
            it, or are text on one side and numbers on the other; or a column has the name of a dimension or of another
            column.

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
    """Attach a stimulus set to an assembly as attributes, and its columns as coordinates.

    Args:
        assembly: any assembly.
        stimulus_set: its stimuli. They become the attribute ``stimulus_set``, and their identifier
            ``stimulus_set_identifier``.
        merge: whether columns become coordinates; by default for all classes except properties, metadata and spike
            times.

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
    require_columns(stimulus_set, [_ID], "the stimulus set")
    # Compare as objects, so that 1 and "1" differ.
    ids = pd.Index(assembly.coords[_ID].values, dtype=object)
    known = pd.Index(plain_values(stimulus_set[_ID].array), dtype=object)
    for index, where in ((ids, "the assembly"), (known, "the stimulus set")):
        if index.hasnans:
            raise ValueError(f"{_ID} is missing in {int(index.isna().sum())} of {len(index)} rows of {where}")
    repeated = known[known.duplicated()].unique()
    if len(repeated):
        raise ValueError(f"{_ID} repeats in the stimulus set: {some(repeated)}; each stimulus needs one row")
    return ids, known
