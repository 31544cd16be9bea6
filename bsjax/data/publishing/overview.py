"""Overview of an assembly or a stimulus set: sizes, coordinates, repetitions, missing values."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

_EXAMPLES = 3
_LONGEST = 44  # maximal number of characters of examples


@dataclass(frozen=True)
class Column:
    """One coordinate of an assembly, or column of a stimulus set.

    Attributes:
        name: its name.
        dims: its dimensions; empty for a single value.
        dtype: the type of its values: "text", or NumPy's name.
        n_distinct: number of distinct values, without missing ones.
        n_missing: number of missing values.
        examples: its smallest and largest number, or its first few values.
    """

    name: str
    dims: tuple[str, ...]
    dtype: str
    n_distinct: int
    n_missing: int
    examples: str


@dataclass(frozen=True)
class Overview:
    """The contents of an assembly or a stimulus set.

    Attributes:
        kind: the class.
        identifier: its name, or "".
        sizes: dimension -> size; for a stimulus set, the number of stimuli.
        dtype: the type of the values; "" for a stimulus set.
        n_missing: number of missing values (NaN) of an assembly, or of stimuli without a file.
        columns: its coordinates or columns, in the order of their dimensions.
        repeats: number of presentations -> number of stimuli with that many; empty for a stimulus set.
        attributes: name -> value in words.
    """

    kind: str
    identifier: str
    sizes: dict[str, int]
    dtype: str
    n_missing: int
    columns: list[Column]
    repeats: dict[int, int] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """The overview as text.

        Example:
            >>> from bsjax.data import StimulusSet
            >>> stimuli = StimulusSet({"stimulus_id": ["a", "b"], "size": [1.5, 2.0]}, identifier="Two2024")
            >>> print("\\n".join(overview(stimuli).lines()))
            StimulusSet Two2024: 2 stimuli
            2 stimuli have no file here
            columns
              stimulus_id  text       2 distinct  a, b
              size         float64    2 distinct  1.5 to 2
        """
        return [*self._head(), *self._table(), *self._tail()]

    def _head(self) -> list[str]:
        name = f"{self.kind} {self.identifier}".strip()
        sizes = " × ".join(f"{size:,} {dim}" for dim, size in self.sizes.items()) or "a single value"
        lines = [f"{name}: {sizes}{f', {self.dtype}' if self.dtype else ''}"]
        if self.repeats:
            lines.append(f"presentations per stimulus: {_repeats(self.repeats)}")
        if self.n_missing and self.dtype:
            total = int(np.prod(list(self.sizes.values())))
            lines.append(f"missing values: {self.n_missing:,} of {total:,} ({self.n_missing / total:.1%})")
        elif self.n_missing:
            lines.append(f"{self.n_missing:,} {_plural(self.n_missing, 'stimulus has', 'stimuli have')} no file here")
        return lines

    def _table(self) -> list[str]:
        lines = []
        widths = [
            max((len(cell) for cell in cells), default=0) for cells in zip(*map(_cells, self.columns), strict=True)
        ]
        above: tuple[str, ...] | None = None
        for column in self.columns:
            if column.dims != above:
                above = column.dims
                on = f"coordinates on {' × '.join(above)}" if above else "single values"
                lines.append(on if self.dtype else "columns")
            name, dtype, distinct, examples = _cells(column)
            missing = f"; {column.n_missing:,} missing" if column.n_missing else ""
            row = f"  {name:{widths[0]}}  {dtype:{widths[1]}}  {distinct:>{widths[2]}}  {examples}{missing}"
            lines.append(row.rstrip())
        return lines

    def _tail(self) -> list[str]:
        if not self.attributes:
            return []
        width = max(map(len, self.attributes))
        return ["attributes", *(f"  {name:{width}}  {value}" for name, value in self.attributes.items())]


def overview(data: xr.DataArray | pd.DataFrame) -> Overview:
    """Summarise the contents of an assembly or a stimulus set.

    Lazily loaded values are read in blocks and never held all at once.

    Raises:
        ValueError: the data are neither.

    Example:
        >>> responses = xr.DataArray([[1.0], [float("nan")]], dims=["presentation", "neuroid"],
        ...                          coords={"stimulus_id": ("presentation", ["a", "a"])})
        >>> seen = overview(responses)
        >>> seen.sizes, seen.n_missing, seen.repeats
        ({'presentation': 2, 'neuroid': 1}, 1, {2: 1})
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


def presentations_per_stimulus(assembly: xr.DataArray) -> dict[int, int]:
    """Number of presentations -> number of stimuli with that many, ascending; empty without ``stimulus_id``.

    Example:
        >>> ids = {"stimulus_id": ("presentation", ["a", "b", "a"])}
        >>> presentations_per_stimulus(xr.DataArray([0, 1, 2], ids, ["presentation"]))
        {1: 1, 2: 1}
    """
    if "stimulus_id" not in assembly.coords or assembly.coords["stimulus_id"].ndim != 1:
        return {}
    counts = Counter(pd.Series(assembly.coords["stimulus_id"].values).value_counts().tolist())
    return dict(sorted(counts.items()))


def _of_assembly(assembly: xr.DataArray) -> Overview:
    # in the order of the dimensions, single values last
    coords = sorted(
        assembly.coords.items(), key=lambda item: [assembly.dims.index(dim) for dim in item[1].dims] or [assembly.ndim]
    )
    return Overview(
        kind=type(assembly).__name__,
        identifier=str(assembly.attrs.get("identifier", "")),
        sizes={str(dim): size for dim, size in assembly.sizes.items()},
        dtype=_dtype(assembly.dtype),
        n_missing=count_missing(assembly),
        columns=[_column(str(name), tuple(map(str, coord.dims)), coord.values) for name, coord in coords],
        repeats=presentations_per_stimulus(assembly),
        attributes={
            str(name): _in_words(value)
            for name, value in assembly.attrs.items()
            if name not in ("identifier", "stimulus_set")
        },
    )


def _of_stimuli(stimuli: pd.DataFrame) -> Overview:
    paths = getattr(stimuli, "stimulus_paths", {})
    ids = stimuli["stimulus_id"] if "stimulus_id" in stimuli else []
    return Overview(
        kind=type(stimuli).__name__,
        identifier=str(getattr(stimuli, "identifier", None) or ""),
        sizes={_plural(len(stimuli), "stimulus", "stimuli"): len(stimuli)},
        dtype="",
        n_missing=sum(not (stimulus_id in paths and paths[stimulus_id].is_file()) for stimulus_id in ids),
        columns=[_column(str(name), ("row",), stimuli[name].to_numpy()) for name in stimuli.columns],
    )


def _column(name: str, dims: tuple[str, ...], values: np.ndarray) -> Column:
    flat = pd.Series(np.ravel(values))
    there = flat.dropna()
    distinct = np.asarray(there.unique())
    examples = _range(distinct) if values.dtype.kind in "iuf" else _first(distinct)
    return Column(name, dims, _dtype(values.dtype, there), len(distinct), len(flat) - len(there), examples)


def _dtype(dtype: Any, values: pd.Series | None = None) -> str:
    if dtype.kind in "UST" or dtype.kind == "O" and (values is None or all(isinstance(v, str) for v in values)):
        return "text"
    return str(dtype)


def _range(distinct: np.ndarray) -> str:
    if len(distinct) <= 1:
        return "".join(f"{value:g}" for value in distinct)
    return f"{distinct.min():g} to {distinct.max():g}"


def _first(distinct: Any) -> str:
    words = [_cut(str(value), _LONGEST // 2) for value in distinct[:_EXAMPLES]]
    more = ", …" if len(distinct) > _EXAMPLES else ""
    return _cut(", ".join(words), _LONGEST) + more


def _repeats(repeats: dict[int, int]) -> str:
    if len(repeats) == 1:
        [(times, stimuli)] = repeats.items()
        return f"{times:,} for {_all(stimuli)}"
    total = sum(times * stimuli for times, stimuli in repeats.items())
    stimuli = sum(repeats.values())
    span = f"{min(repeats):,} to {max(repeats):,}, {total / stimuli:.1f} on average, of {stimuli:,} stimuli"
    if len(repeats) > 6:
        return span
    return span + " (" + ", ".join(f"{times:,}: {n:,}" for times, n in repeats.items()) + ")"


def _all(stimuli: int) -> str:
    return "the only stimulus" if stimuli == 1 else f"each of {stimuli:,} stimuli"


def _in_words(value: Any) -> str:
    if isinstance(value, pd.DataFrame):
        return f"a table of {len(value):,} rows"
    if isinstance(value, xr.DataArray):
        return f"{type(value).__name__}, " + " × ".join(f"{size:,} {dim}" for dim, size in value.sizes.items())
    return _cut(" ".join(str(value).split()), 100)


def _cells(column: Column) -> tuple[str, str, str, str]:
    return column.name, column.dtype, f"{column.n_distinct:,} distinct", column.examples


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _plural(n: int, one: str, many: str) -> str:
    return one if n == 1 else many
