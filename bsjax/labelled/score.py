"""Scores: the number that a comparison comes out as, how sure it is, and where it comes from."""

from __future__ import annotations

import json
import operator
from collections import UserDict
from collections.abc import Callable, MutableMapping
from dataclasses import FrozenInstanceError, dataclass, field, fields
from functools import total_ordering
from html import escape
from pathlib import Path
from textwrap import shorten
from typing import Any, Self, SupportsFloat

import numpy as np
import xarray as xr

from bsjax.core.files import as_json, write_atomically
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
from bsjax.labelled.settings import in_words
from bsjax.labelled.uncertainty import Interval, Uncertainty

_LONGEST_CELL = 500


@total_ordering
@dataclass(frozen=True, eq=False)
class Score:
    """A score. It reads as a number (``float(score)``, comparisons) and keeps what the number was made from.

    ``+ - * / **``, ``abs`` and ``round`` with numbers and other scores give a score of that value and nothing else, as
    in Brain-Score: the other fields say what *this* value was made from. The error stays where it is exact, which it is
    for a number that is added or multiplied, and is None elsewhere.

    Attributes:
        value: the score, a float; a labelled array for a score that is resolved in time (``time_bin``). Given another
            score, what that holds is taken over, save what is given beside it; a given error has its own
            ``error_kind`` and ``uncertainty``.
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
        uncertainty: how else the score could have come out, which :meth:`interval` is made from; None where nothing
            is known of that but ``error``.

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
        >>> 2 * score
        Score(1.0000 ± 0.0200)
    """

    # NumPy's numbers leave arithmetic to the score.
    __array_priority__ = 1000

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
    uncertainty: Uncertainty | None = None

    def __new__(cls, *given: Any, **named: Any) -> Self:
        score = super().__new__(cls)
        names = {f.name for f in fields(cls)[: len(given)]} | named.keys()
        if "error" in names:  # what is known of another one does not hold for it
            names |= {"error_kind", "uncertainty"}
        if names:  # of a copy there are none, and nothing is checked
            object.__setattr__(score, "_given", names)
        return score

    def __post_init__(self) -> None:
        given: set[str] = vars(self).pop("_given")
        if isinstance(whole := self.value, Score):
            for f in fields(self):
                if f.name == "value" or f.name not in given:
                    object.__setattr__(self, f.name, getattr(whole, f.name))
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

    def __int__(self) -> int:
        return int(float(self))

    def __format__(self, spec: str) -> str:
        # As of a number where its form is given: f"{score:.2f}".
        return format(float(self), spec) if spec else str(self)

    @property
    def sizes(self) -> dict[str, int]:
        """Dimensions that the value has; none for a plain number."""
        return {str(d): n for d, n in self.value.sizes.items()} if isinstance(self.value, xr.DataArray) else {}

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Score) and (self.sizes or other.sizes):
            return bool(np.array_equal(self.value, other.value))
        number = None if self.sizes else _number(other)
        return NotImplemented if number is None else self.value == number

    def __lt__(self, other: object) -> bool:
        number = _number(other)
        return NotImplemented if number is None else float(self) < number

    def __hash__(self) -> int:
        # What is equal has one hash, numbers too.
        return hash(tuple(np.ravel(self.value).tolist())) if self.sizes else hash(float(self))

    def __repr__(self) -> str:
        reason = self.provenance.reason
        why = f": {reason}" if reason and np.isnan(self.value).all() else ""
        return f"Score({_with_error(self)}{', ' + self.formula if self.formula else ''}{why})"

    def interval(self, level: float = 0.95, kind: str | None = None) -> Interval | None:
        """A confidence interval: where the score could have been, had other stimuli, neuroids or subjects been drawn.

        Args:
            level: how often such an interval holds the true value, between 0 and 1.
            kind: ``"percentile"``, ``"bca"`` or ``"studentised"``, which take draws, or ``"t"``, from the standard
                error; by default the best of those that are known for the score, see ``uncertainty.kinds``.

        Returns:
            Its ends, its kind, and what could have been drawn otherwise; the ends of a score that is resolved in time
            are labelled arrays. They are NaN where what is known is too little, such as draws that are equal up to
            rounding: ``error_kind`` says what. None where nothing is known of how else the score could have come out:
            where there is no error, or one that is a standard deviation of single values such as trials or halves.

        Raises:
            ValueError: no such level, or a kind that takes draws where there are none; the message says how to get
                them.

        Source: Efron & Tibshirani 1993; Nadeau & Bengio 2003 (of splits that share stimuli).

        Example:
            >>> from bsjax.labelled.uncertainty import Uncertainty
            >>> known = Uncertainty(("subjects",), 0.1, "standard error over 9 subjects", dof=8)
            >>> str(Score(0.5, uncertainty=known).interval(0.95))
            '[0.2694, 0.7306], 95 % t over subjects'
        """
        known = self.uncertainty
        if known is None and self.error is not None and "standard deviation" not in self.error_kind:
            over = self.error_kind or "what its error is over"
            known = Uncertainty((over,), self.error, "its error, taken as normal")
        return None if known is None else known.interval(self.value, level, kind)

    @property
    def exceeds_ceiling(self) -> bool:
        """Whether a normalised score lies above its ceiling. It keeps its value: nothing is clipped."""
        return self.ceiling is not None and bool(np.any(np.asarray(self.value) > 1))

    @property
    def attrs(self) -> MutableMapping[str, Any]:
        """Brain-Score's view, to be read: ``"raw"``, ``"ceiling"``, ``"error"``, and the details of the provenance.

        ``"raw"`` is the score before its normalisation, where there is one.

        Raises:
            FrozenInstanceError: something is written there; the message says what to do.

        Example:
            >>> similarity, ceiling = Score(0.4), Score(0.8)
            >>> Score(similarity / ceiling, unceiled=similarity, ceiling=ceiling).attrs
            {'raw': Score(0.4000), 'ceiling': Score(0.8000)}
        """
        raw = self.raw if self.unceiled is None else self.unceiled
        view = {"raw": raw, "ceiling": self.ceiling, "error": self.error}
        return _Attributes({k: v for k, v in view.items() if v is not None} | dict(self.provenance.details))

    @property
    def values(self) -> np.ndarray:
        """The value as an array, without dimensions for a plain number."""
        return np.asarray(self.value)

    def item(self) -> float:
        """The value as a float.

        Raises:
            ValueError: there are several.
        """
        return float(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.values, dtype=dtype, copy=True if copy is None else copy)

    def __add__(self, other: object) -> Score:
        return _combined(operator.add, self, other)

    def __radd__(self, other: object) -> Score:
        return _combined(operator.add, other, self)

    def __sub__(self, other: object) -> Score:
        return _combined(operator.sub, self, other)

    def __rsub__(self, other: object) -> Score:
        return _combined(operator.sub, other, self)

    def __mul__(self, other: object) -> Score:
        return _combined(operator.mul, self, other)

    def __rmul__(self, other: object) -> Score:
        return _combined(operator.mul, other, self)

    def __truediv__(self, other: object) -> Score:
        return _combined(operator.truediv, self, other)

    def __rtruediv__(self, other: object) -> Score:
        return _combined(operator.truediv, other, self)

    def __pow__(self, other: object) -> Score:
        return _combined(operator.pow, self, other)

    def __rpow__(self, other: object) -> Score:
        return _combined(operator.pow, other, self)

    def __neg__(self) -> Score:
        return self * -1

    def __pos__(self) -> Score:
        return self * 1

    def __abs__(self) -> Score:
        return _without_error(abs(self.value), self)

    def __round__(self, digits: int = 0) -> Score:
        return _without_error(np.round(self.value, digits), self)

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

    def save(self, path: str | Path) -> Path:
        """Write the score to a file, as JSON, with all that it holds; :meth:`load` gives it back.

        Args:
            path: the file; folders above it are made, and a file that is there is replaced by the whole new one.

        Raises:
            ValueError: as :meth:`to_dict`.
            OSError: the file cannot be written; one that was there is as it was.

        Example:
            >>> import tempfile
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     Score.load(Score(0.5, formula="r").save(f"{folder}/score.json"))
            Score(0.5000, r)
        """
        return write_atomically(path, as_json(self.to_dict(), indent=1))

    @classmethod
    def load(cls, path: str | Path) -> Score:
        """The score that :meth:`save` wrote.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it holds no score; the message says what is wrong.
        """
        content = Path(path).read_bytes()
        try:
            return cls.from_dict(json.loads(content))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise ValueError(f"{path} holds no score: {error}") from error

    def _repr_html_(self) -> str:
        rows = [("score", _with_error(self)), ("formula", self.formula), ("error is", self.error_kind)]
        interval = None if self.uncertainty is None else self.interval()
        if interval is not None:
            rows.insert(1, ("interval", str(interval)))
        if self.unceiled is not None:
            rows.append(("before normalisation", _with_error(self.unceiled)))
        if self.ceiling is not None:
            over = " (exceeded)" if self.exceeds_ceiling else ""
            rows.append(("ceiling", _with_error(self.ceiling) + over))
            rows.append(("ceiling by", self.ceiling.provenance.computed_by))
        if self.n_units is not None:
            rows.append(("units", f"{self.n_units}, {self.n_undefined} of them undefined somewhere"))
        rows += [(str(name), shorten(in_words(value), _LONGEST_CELL)) for name, value in self.provenance.items()]
        cells = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th><td>{escape(value)}</td></tr>"
            for name, value in rows
            if value
        )
        return f"<table>{cells}</table>"


class _Attributes(UserDict[str, Any]):
    """What Brain-Score keeps in the ``attrs`` of a score, to be read."""

    def __init__(self, there: dict[str, Any]) -> None:
        self.data = there

    def __setitem__(self, name: str, value: Any) -> None:
        raise FrozenInstanceError(
            f"attrs[{name!r}] of a score cannot be changed: make another score, Score(score, error=..., ceiling=..., "
            "unceiled=...), or Score(score, provenance=score.provenance.with_details(...)) for what has no field. "
            "bsjax.compat.score.Score can be written to, as in Brain-Score"
        )

    def __delitem__(self, name: str) -> None:
        self[name] = None


# What a number on the other side does to an error; elsewhere that is not exact.
_ERRORS: dict[Callable[[Any, Any], Any], Callable[[Any, Any], Any]] = {
    operator.add: lambda error, _: error,
    operator.sub: lambda error, _: error,
    operator.mul: lambda error, number: error * abs(number),
    operator.truediv: lambda error, number: error / abs(number),
}


def _combined(op: Callable[[Any, Any], Any], one: Any, two: Any) -> Score:
    """``op(one, two)`` of two scores, or of a score and a number."""
    plain = [side.value if isinstance(side, Score) else _number(side) for side in (one, two)]
    if plain[0] is None or plain[1] is None:
        return NotImplemented
    score = one if isinstance(one, Score) else two
    numbers = [side if isinstance(side, xr.DataArray) else np.float64(side) for side in plain]
    with np.errstate(all="ignore"), xr.set_options(arithmetic_join="exact"):
        value = op(*numbers)
        two_scores = isinstance(one, Score) and isinstance(two, Score)
        if two_scores or op not in _ERRORS or (op is operator.truediv and score is two):
            return _without_error(value, *(side for side in (one, two) if isinstance(side, Score)))
        number = numbers[1] if score is one else numbers[0]
        error = None if score.error is None else _ERRORS[op](score.error, number)
    return Score(value, error=error, error_kind=score.error_kind)


def _without_error(value: Any, *scores: Score) -> Score:
    lost = any(score.error is not None for score in scores)
    return Score(value, error_kind="none: arithmetic with scores does not carry their errors over" if lost else "")


def _number(other: Any) -> float | None:
    if isinstance(other, Score):
        return float(other)
    if isinstance(other, int):
        return other  # which a float may not hold
    single = isinstance(other, int | float | np.number) or (isinstance(other, np.ndarray) and not other.ndim)
    return float(other) if single else None


def _with_error(score: Score) -> str:
    if score.sizes:
        over = " x ".join(f"{n} {dim}" for dim, n in score.sizes.items())
        return f"{over}: {np.min(score.value):.4f} to {np.max(score.value):.4f}"
    ends = None if score.uncertainty is None else score.interval()
    within = "" if ends is None or np.isnan(ends.low) else f" [{ends.low:.4f}, {ends.high:.4f}]"
    return f"{float(score):.4f}" + ("" if score.error is None else f" ± {float(score.error):.4f}") + within


def _field_to_plain(value: Any, name: str) -> Any:
    if isinstance(value, Score | Provenance | Uncertainty):
        return value.to_dict()
    if isinstance(value, xr.DataArray):
        return labelled_to_plain(value, name)
    return number_to_plain(value) if isinstance(value, float) else to_plain(value, name)


def _field_from_plain(plain: Any, name: str) -> Any:
    if name == "provenance":
        return Provenance.from_dict(plain)
    if plain is not None and name in ("unceiled", "ceiling"):
        return Score.from_dict(plain)
    if plain is not None and name == "uncertainty":
        return Uncertainty.from_dict(plain)
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
    if isinstance(given, bool | np.bool) or not isinstance(given, SupportsFloat) or getattr(given, "ndim", 0):
        raise ValueError(f"{name} must be a number or a labelled array of numbers, got {said(given)}")
    try:
        return float(given)
    except (TypeError, OverflowError) as error:
        raise ValueError(f"{name} must be a number that a float can hold, got {said(given)}: {error}") from error


def _count(given: Any, name: str) -> int:
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < 0:
        raise ValueError(f"{name} must be a whole number from 0, got {said(given)}")
    return int(given)


def as_score(given: Any, name: str) -> Score:
    """A score; a plain number is one without more.

    Args:
        given: what a function has given.
        name: what it is, for messages.

    Raises:
        ValueError: nothing was given, or something else.

    Example:
        >>> as_score(0.5, "the ceiling"), as_score(Score(0.5), "the ceiling")
        (Score(0.5000), Score(0.5000))
    """
    if given is None:
        raise ValueError(f"{name} must be a Score, or a number, got None: the function that gives it returns nothing")
    return given if isinstance(given, Score) else Score(_numbers(given, name))


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
    "unceiled": as_score,
    "ceiling": as_score,
    "formula": _a(str),
    "n_units": _count,
    "n_undefined": _count,
    "provenance": Provenance.of,
    "uncertainty": _a(Uncertainty),
}
