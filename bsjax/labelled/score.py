"""What a comparison comes out as: a number, how sure it is, and where it comes from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import total_ordering
from html import escape
from typing import Any, SupportsFloat

import numpy as np
import xarray as xr

from bsjax.labelled.plain_values import (
    check_labelled,
    from_plain,
    labelled_from_plain,
    labelled_to_plain,
    number_from_plain,
    number_to_plain,
    said,
    to_plain,
)
from bsjax.labelled.provenance import Provenance


@total_ordering
@dataclass(frozen=True, eq=False)
class Score:
    """A score. It reads as a number (``float(score)``, comparisons) and keeps what the number was made from.

    Attributes:
        value: the score, a float; a labelled array for a score that is resolved in time (``time_bin``).
        error: its uncertainty, on the scale and in the shape of ``value``; None where none is estimated, as from a
            single value.
        error_kind: what ``error`` is, in words.
        raw: the values before they were aggregated, e.g. one correlation per split and neuroid.
        unceiled: the score before its normalisation by the ceiling; None for one that is not normalised.
        ceiling: the ceiling it is normalised by; None for one that is not normalised.
        formula: how ``value`` comes from the correlation r and the ceiling c, e.g. ``"r²/c"``.
        n_units: how many units (neuroids) were scored; None where the comparison is of whole populations.
        n_undefined: how many of those have an undefined value somewhere (constant responses) that was left out; how
            many splits have none, or whether the value has none, where the comparison is of whole populations.
        provenance: what it takes to get the same number again, a :class:`~bsjax.labelled.Provenance`. A plain dict
            becomes one; its values are such that JSON can hold them: None, text, numbers, dates, arrays, and lists,
            tuples and dicts of them.

    Raises:
        ValueError: a field has another type than is said here; the message names the field.

    Example:
        >>> score = Score(0.5, error=0.01, error_kind="standard error over 10 splits", formula="r")
        >>> score > 0.4, float(score)
        (True, 0.5)
        >>> score
        Score(0.5000 ± 0.0100, r)
        >>> Score.from_dict(score.to_dict()) == score
        True
    """

    value: float | xr.DataArray
    error: float | xr.DataArray | None = None
    error_kind: str = ""
    raw: xr.DataArray | None = None
    unceiled: Score | None = None
    ceiling: Score | None = None
    formula: str = ""
    n_units: int | None = None
    n_undefined: int = 0
    provenance: Provenance = field(default_factory=Provenance)

    def __post_init__(self) -> None:
        for f in fields(self):
            given = getattr(self, f.name)
            if given is not None or f.default is not None:
                object.__setattr__(self, f.name, _CHECKS[f.name](given, f.name))
        ours, theirs = (getattr(side, "sizes", {}) for side in (self.value, self.error))
        if self.error is not None and tuple(ours.items()) != tuple(theirs.items()):
            ours, theirs = (dict(sizes) or "a number" for sizes in (ours, theirs))
            raise ValueError(f"error must have the shape of value, which is {ours}, got {theirs}")

    def __float__(self) -> float:
        if np.size(self.value) != 1:
            over = ", ".join(f"{n} {dim}" for dim, n in self.sizes.items())
            raise ValueError(
                f"this score has {over}: take a single value from score.value, e.g. its mean or one of them"
            )
        return float(self.value)

    @property
    def sizes(self) -> dict[str, int]:
        """Dimensions that the value has; none for a plain number."""
        return {str(d): n for d, n in self.value.sizes.items()} if isinstance(self.value, xr.DataArray) else {}

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Score) and (self.sizes or other.sizes):
            return bool(np.array_equal(self.value, other.value))
        number = _number(other)
        return NotImplemented if number is None else float(self) == number

    def __lt__(self, other: object) -> bool:
        number = _number(other)
        return NotImplemented if number is None else float(self) < number

    def __hash__(self) -> int:
        return hash(tuple(np.ravel(self.value).tolist()))

    def __repr__(self) -> str:
        reason = self.provenance.reason
        why = f": {reason}" if reason and np.isnan(self.value).all() else ""
        return f"Score({_with_error(self)}{', ' + self.formula if self.formula else ''}{why})"

    @property
    def exceeds_ceiling(self) -> bool:
        """Whether a normalised score lies above its ceiling. It keeps its value: nothing is clipped."""
        return self.ceiling is not None and bool(np.any(np.asarray(self.value) > 1))

    @property
    def attrs(self) -> dict[str, Any]:
        """Brain-Score's view: ``score.attrs["raw"]``, ``["ceiling"]``, ``["error"]``; only those there are."""
        raw = self.raw if self.unceiled is None else self.unceiled
        view = {"raw": raw, "ceiling": self.ceiling, "error": self.error}
        return {name: value for name, value in view.items() if value is not None}

    def to_xarray(self) -> xr.DataArray:
        """The value as an ``xarray.DataArray`` (0-d for a plain number), everything else in its attributes."""
        named = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("value", "provenance")}
        attrs = {name: value for name, value in named.items() if value is not None}
        array = self.value if isinstance(self.value, xr.DataArray) else xr.DataArray(self.value)
        return array.rename("score").assign_attrs({**attrs, **self.provenance})

    def to_dict(self) -> dict[str, Any]:
        """Plain values that strict JSON can hold; ``from_dict`` gives the same score back.

        NaN, infinities, tuples, dates, NumPy and labelled arrays are kept at any depth of the provenance, and labelled
        arrays with their dtypes, coordinates and those of their attributes that can be written.

        Raises:
            ValueError: something that cannot be written was put into the provenance since the score was made.
        """
        return {f.name: _field_to_plain(getattr(self, f.name), f.name) for f in fields(self)}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Score:
        """The score that ``to_dict`` described.

        Raises:
            ValueError, TypeError, KeyError: it describes none; the message says what is wrong.

        Example:
            >>> Score.from_dict({"value": "high"})
            Traceback (most recent call last):
            ...
            ValueError: value must be a number, or one of 'nan', 'inf', '-inf', got 'high'
        """
        known = [f.name for f in fields(cls)]
        if not isinstance(plain, dict):
            raise ValueError(f"not a score: expected a dict, got {type(plain).__name__}")
        if set(plain) - set(known) or "value" not in plain:
            raise ValueError(f"not a score: expected the keys {sorted(known)}, got {sorted(map(str, plain))}")
        try:
            return cls(**{name: _field_from_plain(value, name) for name, value in plain.items()})
        except RecursionError as error:
            raise ValueError("not a score: it is nested more deeply than can be read") from error

    def _repr_html_(self) -> str:
        rows = [("score", _with_error(self)), ("formula", self.formula), ("error is", self.error_kind)]
        if self.unceiled is not None:
            rows.append(("before normalisation", _with_error(self.unceiled)))
        if self.ceiling is not None:
            over = " (exceeded)" if self.exceeds_ceiling else ""
            rows.append(("ceiling", _with_error(self.ceiling) + over))
        if self.n_units is not None:
            rows.append(("units", f"{self.n_units}, {self.n_undefined} of them undefined somewhere"))
        rows += [(str(name), str(value)) for name, value in self.provenance.items()]
        cells = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th><td>{escape(value)}</td></tr>"
            for name, value in rows
            if value
        )
        return f"<table>{cells}</table>"


def _number(other: object) -> float | None:
    if isinstance(other, Score):
        return float(other)
    return float(other) if isinstance(other, (int, float, np.number)) else None


def _with_error(score: Score) -> str:
    if score.sizes:
        over = " x ".join(f"{n} {dim}" for dim, n in score.sizes.items())
        return f"{over}: {np.min(score.value):.4f} to {np.max(score.value):.4f}"
    return f"{float(score):.4f}" + ("" if score.error is None else f" ± {float(score.error):.4f}")


def _field_to_plain(value: Any, name: str) -> Any:
    if isinstance(value, Score | Provenance):
        return value.to_dict()
    if isinstance(value, xr.DataArray):
        return labelled_to_plain(value, name)
    return number_to_plain(value) if isinstance(value, float) else to_plain(value, name)


def _field_from_plain(plain: Any, name: str) -> Any:
    if name == "provenance":
        return Provenance.from_dict(plain)
    if plain is not None and name in ("unceiled", "ceiling"):
        return Score.from_dict(plain)
    if plain is not None and (name == "raw" or (name in ("value", "error") and isinstance(plain, dict))):
        return labelled_from_plain(plain, name)
    if plain is not None and name in ("value", "error"):
        return number_from_plain(plain, name)
    return from_plain(plain)


def _numbers(given: Any, name: str) -> float | xr.DataArray:
    if isinstance(given, xr.DataArray):
        if given.dtype.kind not in "iuf" or not given.size:
            raise ValueError(f"{name} must hold numbers, got {given.size} values of dtype {given.dtype}")
        check_labelled(given, name)
        return given
    if isinstance(given, bool | np.bool | Score) or not isinstance(given, SupportsFloat) or getattr(given, "ndim", 0):
        raise ValueError(f"{name} must be a number or a labelled array of numbers, got {said(given)}")
    try:
        return float(given)
    except (TypeError, OverflowError) as error:
        raise ValueError(f"{name} must be a number that a float can hold, got {said(given)}: {error}") from error


def _count(given: Any, name: str) -> int:
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < 0:
        raise ValueError(f"{name} must be a whole number from 0, got {said(given)}")
    return int(given)


def _a(kind: type) -> Callable[[Any, str], Any]:
    def check(given: Any, name: str) -> Any:
        if not isinstance(given, kind):
            raise ValueError(f"{name} must be a {kind.__name__}, got {said(given)}")
        return given

    return check


def _labelled(given: Any, name: str) -> xr.DataArray:
    check_labelled(_a(xr.DataArray)(given, name), name)
    return given


# What each field must be, or None where that is its default; a check returns what is kept.
_CHECKS: dict[str, Callable[[Any, str], Any]] = {
    "value": _numbers,
    "error": _numbers,
    "error_kind": _a(str),
    "raw": _labelled,
    "unceiled": _a(Score),
    "ceiling": _a(Score),
    "formula": _a(str),
    "n_units": _count,
    "n_undefined": _count,
    "provenance": Provenance.of,
}
