"""Overview of an assembly or a stimulus set: sizes, coordinates, repetitions, missing values."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.core.messages import counted

_EXAMPLES = 3
_LONGEST = 44  # maximal number of characters of examples


def overview(data: xr.DataArray | pd.DataFrame) -> list[str]:
    """Summarise the contents of an assembly or a stimulus set, as lines of text.

    Lazily loaded values are read in blocks and never held all at once.

    Raises:
        ValueError: the data are neither.

    Example:
        >>> from bsjax.data import StimulusSet
        >>> stimuli = StimulusSet({"stimulus_id": ["a", "b"], "size": [1.5, 2.0]}, identifier="Two2024")
        >>> print("\\n".join(overview(stimuli)))
        StimulusSet Two2024: 2 stimuli
        2 stimuli have no file here
        columns
          stimulus_id  text       2 distinct  a, b
          size         float64    2 distinct  1.5 to 2
    """
    if isinstance(data, pd.DataFrame):
        return _of_stimuli(data)
    if isinstance(data, xr.DataArray):
        return _of_assembly(data)
    raise ValueError(f"expected an assembly or a stimulus set, got {type(data).__name__}")


def count_missing(assembly: xr.DataArray) -> int:
    """Number of values that are NaN or None, counted in blocks of rows.

    Example:
        >>> count_missing(xr.DataArray([1.0, float("nan")]))
        1
    """
    if assembly.dtype.kind not in "fcO" or not assembly.size:
        return 0
    if not assembly.ndim:
        return int(pd.isna(assembly.values))
    per_row = assembly.size // assembly.shape[0]
    rows = max(1, 4_000_000 // max(per_row, 1))
    first = assembly.dims[0]
    parts = (assembly.isel({first: slice(start, start + rows)}) for start in range(0, assembly.shape[0], rows))
    return int(sum(np.count_nonzero(pd.isna(part.values)) for part in parts))


def _of_assembly(assembly: xr.DataArray) -> list[str]:
    name = f"{type(assembly).__name__} {assembly.attrs.get('identifier', '')}".strip()
    sizes = _sizes(assembly) or "a single value"
    lines = [f"{name}: {sizes}, {_dtype(assembly.dtype, [])}", *_repetitions(assembly)]
    missing = count_missing(assembly)
    if missing:
        lines.append(f"missing values: {missing:,} of {assembly.size:,} ({missing / assembly.size:.1%})")
    rows = {str(name): _row(coord.values) for name, coord in assembly.coords.items()}
    # in the order of the dimensions, single values last
    groups = sorted(
        {coord.dims for coord in assembly.coords.values()},
        key=lambda dims: [assembly.dims.index(dim) for dim in dims] or [assembly.ndim],
    )
    for dims in groups:
        lines.append(f"coordinates on {' × '.join(map(str, dims))}" if dims else "single values")
        lines += _table(rows, [str(name) for name, coord in assembly.coords.items() if coord.dims == dims])
    attrs = {str(name): _in_words(value) for name, value in assembly.attrs.items()}
    shown = [name for name in attrs if name not in ("identifier", "stimulus_set")]
    width = max(map(len, shown), default=0)
    return lines + ["attributes"] * bool(shown) + [f"  {name:{width}}  {attrs[name]}" for name in shown]


def _of_stimuli(stimuli: pd.DataFrame) -> list[str]:
    paths = getattr(stimuli, "stimulus_paths", {})
    ids = stimuli["stimulus_id"] if "stimulus_id" in stimuli else []
    absent = sum(not (stimulus_id in paths and paths[stimulus_id].is_file()) for stimulus_id in ids)
    name = f"{type(stimuli).__name__} {getattr(stimuli, 'identifier', None) or ''}".strip()
    lines = [f"{name}: {counted(len(stimuli), 'stimulus', 'stimuli')}"]
    if absent:
        lines.append(f"{absent:,} {'stimulus has' if absent == 1 else 'stimuli have'} no file here")
    rows = {str(name): _row(stimuli[name].to_numpy()) for name in stimuli.columns}
    return [*lines, "columns", *_table(rows, rows)]


def _repetitions(assembly: xr.DataArray) -> list[str]:
    if "stimulus_id" not in assembly.coords or assembly.coords["stimulus_id"].ndim != 1:
        return []
    counts = pd.Series(assembly.coords["stimulus_id"].values).value_counts()
    span = f"{counts.min():,} for each" if counts.min() == counts.max() else f"{counts.min():,} to {counts.max():,}"
    return [f"presentations per stimulus: {span} of {len(counts):,} stimuli"] if len(counts) else []


def _row(values: np.ndarray) -> tuple[str, str, str]:
    """The type, the number of distinct values, and examples: the smallest and largest number, or the first values."""
    flat = pd.Series(np.ravel(values))
    there = flat.dropna()
    distinct = np.asarray(there.unique())
    if values.dtype.kind in "iuf" and len(there):
        examples = " to ".join(f"{end:g}" for end in dict.fromkeys([distinct.min(), distinct.max()]))
    else:
        words = ", ".join(_cut(str(value), _LONGEST // 2) for value in distinct[:_EXAMPLES])
        examples = _cut(words, _LONGEST) + (", …" if len(distinct) > _EXAMPLES else "")
    missing = f"; {len(flat) - len(there):,} missing" if len(there) < len(flat) else ""
    return _dtype(values.dtype, there), f"{len(distinct):,} distinct", f"{examples}{missing}"


def _table(rows: dict[str, tuple[str, str, str]], names: Iterable[str]) -> list[str]:
    """Some of the rows, in columns that fit all."""
    wide = max(map(len, rows), default=0)
    of_type, of_number = (max((len(row[column]) for row in rows.values()), default=0) for column in (0, 1))
    lines = []
    for name in names:
        dtype, distinct, examples = rows[name]
        lines.append(f"  {name:{wide}}  {dtype:{of_type}}  {distinct:>{of_number}}  {examples}".rstrip())
    return lines


def _dtype(dtype: Any, values: Iterable[Any]) -> str:
    is_text = dtype.kind in "UST" or dtype.kind == "O" and all(isinstance(value, str) for value in values)
    return "text" if is_text else str(dtype)


def _in_words(value: Any) -> str:
    if isinstance(value, pd.DataFrame):
        return f"a table of {len(value):,} rows"
    if isinstance(value, xr.DataArray):
        return f"{type(value).__name__}, {_sizes(value)}"
    return _cut(" ".join(str(value).split()), 100)


def _sizes(array: xr.DataArray) -> str:
    return " × ".join(f"{size:,} {dim}" for dim, size in array.sizes.items())


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
