"""The tables of benchmarks: ``*.toml`` in this folder, and ``rows.toml`` of each family with code of its own.

A table has families, ``[[family]]``, whose fields apply to all their rows, ``[[family.row]]``; a row may override them.
``[defaults]`` apply to all families. The fields are those of :class:`~bsjax.benchmarks.rows.row.BenchmarkRow`; all
others become its ``settings``. Two more fields make several rows:

- ``vary = {name = [...], ...}``: one row for each combination of these values;
- ``each = [{name = ..., ...}, ...]``: one row for each of these sets of values.

``{name}`` in a text is replaced by the value; a text that consists of it alone becomes the value itself. The table's
``[names]`` are available in all rows. ``{subject}`` is filled in when the benchmark of a subject is built.

Reading the tables loads neither xarray nor JAX, so that listing benchmarks is fast.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from bsjax.benchmarks.rows.row import BenchmarkRow
from bsjax.core.discovery.families import family_files

_FIELDS = {each.name for each in fields(BenchmarkRow)} - {"settings", "plugin"}
_LISTS = ("data", "citation", "needs")
_LATER = {"subject": "{subject}"}
_BEHAVIOUR = ("behavioural", "engineering")


@cache
def builtin_rows() -> dict[str, BenchmarkRow]:
    """The rows of all benchmarks that ship with bsjax, by identifier, in the order of the tables.

    Raises:
        ValueError: two rows have the same identifier.

    Example:
        >>> row = builtin_rows()["Papale2025.V4-ridge"]
        >>> row.metric, row.data, row.summary
        ('ridge_split', ('Papale2025_train', 'Papale2025_test'), 'macaque V4, spikes, two animals, object \
photographs; ridge regression, alpha 1')
    """
    tables = {path: "bsjax.benchmarks" for path in sorted(Path(__file__).parent.glob("*.toml"), reverse=True)}
    tables |= {path: f"bsjax.benchmarks.families.{name}" for name, path in family_files("rows.toml").items()}
    rows: dict[str, BenchmarkRow] = {}
    for path, package in tables.items():
        for row in read_rows(path, package):
            if row.identifier in rows:
                raise ValueError(f"{path} has another row {row.identifier!r}, which there is already")
            rows[row.identifier] = row
    return rows


def read_rows(path: Path, package: str) -> Iterator[BenchmarkRow]:
    """The rows of one table.

    Args:
        path: file of the table.
        package: package that the names of builders are relative to, except those of ``kinds``.

    Raises:
        ValueError: a row lacks an identifier, or a name in braces has no value.
    """
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    for family in table["family"]:
        shared = {**table.get("defaults", {}), **{name: value for name, value in family.items() if name != "row"}}
        for own in family["row"]:
            row = {**shared, **own}
            vary, each = row.pop("vary", {}), row.pop("each", [{}])
            for names, values in product(each, product(*vary.values())):
                known = {**_LATER, **table.get("names", {}), **names, **dict(zip(vary, values, strict=True))}
                try:
                    written = _filled(row, known)
                    yield _row(written, known, table.get("words", {}), package)
                except KeyError as error:
                    raise ValueError(f"{path}: {row.get('identifier', 'a row')!r} lacks {error}") from None


def filled_for(value: Any, subject: str) -> Any:
    """A row's value with the subject's name filled in.

    Example:
        >>> filled_for((("assign_subject", "{subject}"),), "sub-01")
        (('assign_subject', 'sub-01'),)
    """
    return _filled(value, {"subject": subject})


def _row(written: dict[str, Any], known: Mapping[str, Any], words: Mapping[str, str], package: str) -> BenchmarkRow:
    if "summary" not in written:
        split = f" (split {known['split']})" if "split" in known else ""
        written["summary"] = f"{written['about']}; {words[written['metric']]}{split}"
    for name in _LISTS:
        given = written.get(name, ())
        written[name] = (given,) if isinstance(given, str) else given
    of_subjects = [_filled(written["data"], {"subject": subject}) for subject in written.get("subjects", ("",))]
    written["data"] = tuple(dict.fromkeys(name for names in of_subjects for name in names))
    builder = written.pop("builder", "")
    if builder:
        written["builder"] = f"{'bsjax.benchmarks' if builder.startswith('kinds.') else package}.{builder}"
    else:
        module = "published_behaviours" if written["kind"] in _BEHAVIOUR else "published_recordings"
        written["builder"] = f"bsjax.benchmarks.kinds.{module}:{written['kind']}"
    common = {name: value for name, value in written.items() if name in _FIELDS}
    return BenchmarkRow(**common, settings={name: value for name, value in written.items() if name not in _FIELDS})


def _filled(value: Any, names: Mapping[str, Any]) -> Any:
    """Texts with names filled in, at any depth; lists become tuples."""
    if isinstance(value, str):
        whole = value[1:-1] if value.startswith("{") and value.endswith("}") else ""
        return _filled(names[whole], {}) if whole in names and whole not in _LATER else value.format_map(names)
    if isinstance(value, Mapping):
        return {key: _filled(each, names) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return tuple(_filled(each, names) for each in value)
    return value
