"""The table of benchmarks on published recordings, ``recordings.toml``: its rows, written out.

Reading it loads neither xarray nor JAX, so that benchmarks can be listed at once.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from bsjax.benchmarks.rows.publications import publication

_FOLDER = Path(__file__).parent
# lists of a family, and what stands for each of their values in its other fields
_VARY = {"sets": "set", "regions": "region", "splits_of": "split"}
_LATER = {"subject": "{subject}"}  # is filled in for each subject when its benchmark is built


@dataclass(frozen=True, kw_only=True)
class Row:
    """One benchmark on published recordings; ``recordings.toml`` says what the fields mean."""

    identifier: str
    kind: str
    recorded: str
    citation: str
    data: tuple[str, ...]
    region: str
    metric: str
    ceiling: str
    visual_degrees: float
    number_of_trials: int
    version: int
    parent: str
    summary: str
    split: str = ""
    metric_kwargs: Mapping[str, Any]
    stratify: str | bool | None = None
    splits: int | None = None
    preprocess_indices: str = ""
    alphas: tuple[float, ...] = ()
    ceiling_kwargs: Mapping[str, Any]
    normalisation: str = "explained_variance"
    time_bins: tuple[tuple[float, float], ...] = ()
    steps: tuple[tuple[Any, ...], ...] = ()
    target_steps: tuple[tuple[Any, ...], ...] = ()
    ceiling_steps: tuple[tuple[Any, ...], ...] = ()
    subjects: tuple[str, ...] = ()
    pool: str = ""

    @property
    def bibtex(self) -> str:
        """The publication of the data."""
        return publication(self.citation)


@cache
def recording_rows() -> dict[str, Row]:
    """The rows by identifier, in the order of the table.

    Raises:
        ValueError: a field that there is none of, or one identifier for two rows.

    Example:
        >>> row = recording_rows()["Papale2025.V4-ridge"]
        >>> row.metric, row.data, row.summary
        ('ridge_split', ('Papale2025_train', 'Papale2025_test'), 'macaque V4, spikes of two animals, object \
photographs; ridge regression, alpha 1')
    """
    table = tomllib.loads((_FOLDER / "recordings.toml").read_text(encoding="utf-8"))
    rows: dict[str, Row] = {}
    for family in table["family"]:
        for row in _written_out(family, table):
            if row.identifier in rows:
                raise ValueError(f"recordings.toml has two rows {row.identifier!r}")
            rows[row.identifier] = row
    return rows


def for_subject(row: Row, value: Any, subject: str) -> Any:
    """A field of a row with the name of a subject filled in."""
    return _filled(value, {**_LATER, "subject": subject})


def _written_out(family: Mapping[str, Any], table: Mapping[str, Any]) -> Iterator[Row]:
    shared = {name: value for name, value in family.items() if name != "row"}
    known = {field.name for field in fields(Row)}
    for own in family["row"]:
        row = {"metric_kwargs": {}, "ceiling_kwargs": {}, **shared, **own}
        unknown = sorted(set(row) - known - set(_VARY))
        if unknown:
            raise ValueError(f"recordings.toml: {own['identifier']!r} has the unknown field {', '.join(unknown)}")
        row["alphas"] = table["alphas"][row["alphas"]] if "alphas" in row else ()
        row["data"] = [row["data"]] if isinstance(row["data"], str) else row["data"]
        lists = {name: row.pop(several, [""]) for several, name in _VARY.items()}
        for values in product(*lists.values()):
            here = dict(zip(lists, values, strict=True))
            filled = _filled(row, here | _LATER)
            split = f" (split {here['split']})" if here["split"] else ""
            summary = f"{filled['recorded']}; {table['words'][row['metric']]}{split}"
            yield Row(**filled, region=here["region"], split=here["split"], summary=summary)


def _filled(value: Any, names: Mapping[str, str]) -> Any:
    """Strings with the names filled in, at any depth; lists become tuples."""
    if isinstance(value, str):
        return value.format_map(names)
    if isinstance(value, Mapping):
        return {key: _filled(each, names) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return tuple(_filled(each, names) for each in value)
    return value
