"""The provenance of a score: model, benchmark, data, metric, numerics, machine and time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import cache
from importlib import import_module
from types import NoneType
from typing import Any, Self, TypedDict, get_type_hints

import msgspec
import numpy as np

from bsjax.core.version import __version__
from bsjax.labelled.plain_values import check, checked, from_plain, said, to_plain
from bsjax.labelled.settings import in_words

SCHEMA = 1
_PACKAGES = ("jax", "jaxlib", "numpy", "scipy")
SEEDS = ("seed", "random_state")
_GROUPS = ("seeds", "versions", "details", "settings")
_WHEN = ("start", "seconds")


@dataclass(frozen=True, eq=False, kw_only=True)
class Provenance(Mapping[str, Any]):
    """What a score was made from. Unknown fields are None or empty.

    It also reads as a flat dict of all known entries: the fields that are set, and the entries of ``settings``,
    ``seeds``, ``versions`` and ``details`` by their own names (a setting with the name of a field is
    ``settings.name``). Records with the same entries are equal; ``start`` and ``seconds`` are not compared, because
    they do not affect the number.

    Attributes:
        schema: version of this record; other versions are refused.
        model: identifier of the model.
        model_digest: digest of its weights and code.
        layers: region (or task) -> the layers that were recorded for it.
        benchmark: identifier of the benchmark.
        benchmark_version: version of the benchmark.
        data: digest of the recordings or the behaviour; name -> digest if there are several.
        parent: the benchmark that this benchmark is averaged under.
        region: the recorded region.
        metric: name of the metric.
        settings: all settings of the metric, by the names that ``load_metric`` takes.
        dtype: the precision of the computation.
        device: the device of the computation.
        seeds: name -> seed of random draws.
        versions: package -> version.
        start: start of the computation, in UTC and ISO 8601.
        seconds: duration of the computation.
        reason: why the score, or a part of it, is undefined, if known.
        details: any further entries, e.g. ``n_stimuli``.

    Raises:
        ValueError: a field has the wrong type, or two entries have the same name.

    Example:
        >>> made = Provenance(metric="pls", seeds={"random_state": 1}, details={"n_stimuli": 40})
        >>> made.metric, made["random_state"], "dtype" in made
        ('pls', 1, False)
        >>> Provenance.from_dict(made.to_dict()) == made
        True
    """

    schema: int = SCHEMA
    model: str | None = None
    model_digest: str | None = None
    layers: Mapping[str, list[str]] | None = None
    benchmark: str | None = None
    benchmark_version: int | None = None
    data: str | Mapping[str, Any] | None = None
    parent: str | None = None
    region: str | None = None
    metric: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    dtype: str | None = None
    device: str | None = None
    seeds: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    start: str | None = None
    seconds: float | None = None
    reason: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    _flat: dict[str, Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.schema != SCHEMA or isinstance(self.schema, bool):
            raise ValueError(
                f"the schema of a provenance must be {SCHEMA}, got {self.schema!r}: another bsjax wrote it"
            )
        for name, given in _all_checked(dict(zip(_KINDS, map(vars(self).get, _KINDS), strict=True))).items():
            object.__setattr__(self, name, given)
        flat = {name: getattr(self, name) for name in _FIELDS if getattr(self, name) is not None}
        for group in _GROUPS:
            own = getattr(self, group)
            if group == "settings":  # metrics choose the names of their settings freely
                own = {f"settings.{name}" if name in flat else name: value for name, value in own.items()}
            twice = sorted(flat.keys() & own.keys())
            if twice:
                raise ValueError(f"provenance.{group} has what is said elsewhere: {', '.join(map(repr, twice))}")
            flat |= own
        try:
            # The other fields hold only text or numbers.
            check({"data": self.data, **self.settings, **self.seeds, **self.details}, "provenance")
        except RecursionError as error:
            raise ValueError("provenance holds itself, or is nested more deeply than can be written") from error
        object.__setattr__(self, "_flat", flat)

    @classmethod
    def of(cls, given: Any, what: str = "provenance") -> Provenance:
        """A record as it is, or made from a plain dict: entries go to the field of their name, others to ``details``.

        Raises:
            ValueError: it is not a dict with text keys, or a value cannot be written as JSON.

        Example:
            >>> Provenance.of({"metric": "pls", "random_state": 1, "n_stimuli": 40}).details
            {'n_stimuli': 40}
        """
        if isinstance(given, cls):
            return given
        if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
            raise ValueError(f"{what} must be a dict with keys of text, got {said(given)}")
        own: dict[str, Any] = {"seeds": {}, "versions": {}, "details": {}}
        for key, value in given.items():
            if key in _FIELDS and _fits(key, value):
                own[key] = value
            else:
                is_version = key in ("bsjax", *_PACKAGES) and isinstance(value, str)
                group = "seeds" if key in SEEDS else "versions" if is_version else "details"
                own[group][key] = value
        # The name of the field in earlier versions.
        if isinstance(own["details"].get("undefined"), str) and "reason" not in own:
            own["reason"] = own["details"].pop("undefined")
        return cls(**own)

    @property
    def computed_by(self) -> str:
        """The metric with its settings and seeds, in words; empty if no metric is known.

        Example:
            >>> Provenance(metric="ridge", settings={"alpha": 1.0}, seeds={"random_state": 1}).computed_by
            'ridge (alpha = 1, random_state = 1)'
        """
        said = in_words({**self.settings, **self.seeds})
        return (self.metric or "") + (f" ({said})" if self.metric and said else "")

    def with_details(self, **details: Any) -> Self:
        """A copy with added or replaced details.

        Example:
            >>> Provenance(metric="pls").with_details(n_stimuli=40)["n_stimuli"]
            40
        """
        return replace(self, details={**self.details, **details})

    def with_entries(self, **entries: Any) -> Self:
        """A copy with more entries, which go to the field of their name, others to ``details``.

        Example:
            >>> made = Provenance(metric="pls").with_entries(region="IT", n_stimuli=40)
            >>> made.region, made.details
            ('IT', {'n_stimuli': 40})
        """
        more = Provenance.of(entries)
        said_of = {name: getattr(more, name) for name in _FIELDS}
        groups = {name: {**getattr(self, name), **getattr(more, name)} for name in _GROUPS}
        return replace(self, **{name: value for name, value in said_of.items() if value is not None}, **groups)

    def __getitem__(self, name: str) -> Any:
        return self._flat[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._flat)

    def __len__(self) -> int:
        return len(self._flat)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        try:
            return self._compared() == Provenance.of(other)._compared()
        except ValueError:
            return False

    def __hash__(self) -> int:
        return hash(self._compared())

    def __repr__(self) -> str:
        return f"Provenance({self._flat})"

    def _compared(self) -> str:
        # As text, so that NaN equals NaN and arrays are compared as a whole.
        return json.dumps(to_plain({k: v for k, v in self._flat.items() if k not in _WHEN}, ""), sort_keys=True)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for strict JSON, in the order of the fields; ``from_dict`` restores the record.

        Example:
            >>> Provenance(metric="pls", details={"bins": (70, 170)}).to_dict()
            {'schema': 1, 'metric': 'pls', 'details': {'bins': {'$tuple': [70, 170]}}}
        """
        known = {name: getattr(self, name) for name in _KINDS}
        plain = {name: to_plain(value, name) for name, value in known.items() if value is not None and value != {}}
        return {"schema": self.schema, **plain}

    @classmethod
    def from_dict(cls, plain: Any) -> Provenance:
        """The record from a dict that ``to_dict`` wrote; a dict without ``schema``, of an earlier version, is read too.

        Raises:
            ValueError, TypeError, KeyError: it describes no provenance; the message says what is wrong.

        Example:
            >>> Provenance.from_dict({"schema": 1, "colour": "red"})
            Traceback (most recent call last):
            ...
            ValueError: not a provenance: unknown keys 'colour'
        """
        if not isinstance(plain, dict) or "schema" not in plain:
            return cls.of(from_plain(plain))
        unknown = sorted(map(repr, plain.keys() - {"schema", *_KINDS}))
        if unknown:
            raise ValueError(f"not a provenance: unknown keys {', '.join(unknown)}")
        return cls(**{name: from_plain(value) for name, value in plain.items()})


@cache
def versions_in_use() -> dict[str, str]:
    """The versions of bsjax and of the packages that compute."""
    return {"bsjax": __version__, **{name: import_module(name).__version__ for name in _PACKAGES}}


def _checked(given: Any, name: str) -> Any:
    """A field in the form that is kept: Python numbers, copied dicts, lists of layers."""
    given = given.item() if isinstance(given, np.generic) else given
    return checked(given, _KINDS[name], f"provenance.{name}")


def _all_checked(given: dict[str, Any]) -> dict[str, Any]:
    """All fields, checked at once; if one is wrong, each is checked alone for a message that names it."""
    if set(map(type, given.values())) <= {str, int, float, dict, NoneType}:
        with suppress(msgspec.ValidationError):
            return dict(msgspec.convert(given, _FIELD_KINDS))
    return {name: _checked(value, name) for name, value in given.items() if value is not None or name in _GROUPS}


def _fits(name: str, value: Any) -> bool:
    try:
        return _checked(value, name) is not None
    except ValueError:
        return False


# The type of each field, in the order of the fields.
_KINDS = {f.name: get_type_hints(Provenance)[f.name] for f in fields(Provenance) if f.init and f.name != "schema"}
_FIELD_KINDS: Any = TypedDict("_FIELD_KINDS", _KINDS)  # pyright: ignore[reportArgumentType]
_FIELDS = [name for name in _KINDS if name not in _GROUPS]
