"""What a comparison comes out as: a number, how sure it is, and where it comes from."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from functools import total_ordering
from html import escape
from typing import Any

import numpy as np
import xarray as xr


@total_ordering
@dataclass(frozen=True, eq=False)
class Score:
    """A score. It reads as a number (``float(score)``, comparisons) and keeps what the number was made from.

    Attributes:
        value: the score; a labelled array for a score that is resolved in time (``time_bin``).
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
        provenance: versions, dtype, device, seed, digests: what it takes to get the same number again. Where a known
            reason left something undefined, ``"undefined"`` says which.

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
    provenance: dict[str, Any] = field(default_factory=dict)

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
        return {} if isinstance(self.value, float | int) else {str(dim): n for dim, n in self.value.sizes.items()}

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
        why = (
            f": {self.provenance['undefined']}" if np.isnan(self.value).all() and "undefined" in self.provenance else ""
        )
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
        """Plain values, for JSON; ``from_dict`` gives the same score back, NaN and infinities included."""
        plain: dict[str, Any] = {}
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, Score):
                value = value.to_dict()
            elif isinstance(value, xr.DataArray):
                value = _array_to_dict(value)
            elif isinstance(value, float):
                value = _float_to_json(value)
            elif isinstance(value, dict):
                value = {k: _float_to_json(v) if isinstance(v, float) else v for k, v in value.items()}
            plain[f.name] = value
        return plain

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Score:
        """The score that ``to_dict`` described."""
        known = {f.name for f in fields(cls)}
        unknown = set(plain) - known
        if unknown or "value" not in plain:
            raise ValueError(f"not a score: expected the keys {sorted(known)}, got {sorted(plain)}")
        values = dict(plain)
        for name in ("unceiled", "ceiling"):
            if values.get(name) is not None:
                values[name] = cls.from_dict(values[name])
        if values.get("raw") is not None:
            values["raw"] = _array_from_dict(values["raw"])
        for name in ("value", "error"):
            number = values.get(name)
            if number is not None:
                values[name] = _array_from_dict(number) if isinstance(number, dict) else float(number)
        return cls(**values)

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
    return f"{score.value:.4f}" + ("" if score.error is None else f" ± {score.error:.4f}")


def _float_to_json(value: float) -> float | str:
    # JSON has no NaN and no infinity; Python's float() reads these strings back.
    return float(value) if math.isfinite(value) else str(float(value))


def _array_to_dict(array: xr.DataArray) -> dict[str, Any]:
    def flat(values: np.ndarray) -> list[Any]:
        listed = np.asarray(values).ravel().tolist()
        return [_float_to_json(v) if isinstance(v, float) else v for v in listed]

    coords = {
        str(name): {"dims": list(c.dims), "dtype": _dtype_name(c.values), "values": flat(c.values)}
        for name, c in array.coords.items()
    }
    return {
        "dims": list(array.dims),
        "shape": list(array.shape),
        "dtype": str(array.dtype),
        "values": flat(array.values),
        "coords": coords,
    }


def _dtype_name(values: np.ndarray) -> str:
    return "object" if values.dtype.kind in "OUT" else str(values.dtype)


def _array_from_dict(plain: dict[str, Any]) -> xr.DataArray:
    sizes = dict(zip(plain["dims"], plain["shape"], strict=True))

    def shaped(entry: dict[str, Any]) -> np.ndarray:
        listed = entry["values"]
        if entry["dtype"].startswith("float"):
            listed = [float(v) for v in listed]
        return np.array(listed, dtype=entry["dtype"]).reshape([sizes[d] for d in entry["dims"]])

    coords = {name: (tuple(entry["dims"]), shaped(entry)) for name, entry in plain["coords"].items()}
    return xr.DataArray(shaped(plain), coords=coords, dims=plain["dims"])
