"""Scores: the result of a comparison, its uncertainty and its provenance."""

from __future__ import annotations

import json
import operator
from collections import UserDict
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import FrozenInstanceError, dataclass, fields, replace
from functools import total_ordering
from html import escape
from pathlib import Path
from textwrap import shorten
from typing import Annotated, Any, SupportsFloat

import numpy as np
from msgspec import UNSET, Meta, Struct, structs

from bsjax.core.files import as_json, write_atomically
from bsjax.data.types.libraries import xr
from bsjax.labelled.plain_values import Labelled, Value, check, checked, field_to_plain, said, value_of
from bsjax.labelled.provenance import Provenance
from bsjax.labelled.settings import in_words
from bsjax.labelled.uncertainty import Interval, Uncertainty

# A field that is not given comes from the given score, or from the defaults.
_NOT_GIVEN: Any = UNSET
_DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(("error", "raw", "unceiled", "ceiling", "n_units", "uncertainty")),
    **{"error_kind": "", "formula": "", "n_undefined": 0, "provenance": Provenance()},
}
_LONGEST_CELL = 500


def _both_sides(op: Callable[[Any, Any], Any]) -> tuple[Callable[[Any, object], Score], Callable[[Any, object], Score]]:
    """The methods of an operator with the score as left operand, and as right operand."""
    return lambda score, other: _combined(op, score, other), lambda score, other: _combined(op, other, score)


@total_ordering
@dataclass(frozen=True, eq=False)
class Score:
    """The score of a comparison. It reads as a number (``float(score)``, comparisons) and keeps what it was made from.

    ``+ - * / **``, ``abs`` and ``round`` with numbers and other scores return a score with the new value and no other
    fields, as in Brain-Score: the other fields describe the original value. The error is kept where it is exact, which
    is for adding, subtracting, multiplying by or dividing by a number; otherwise it is None.

    Attributes:
        value: the score, a float; a labelled array for a time-resolved score (``time_bin``). If a score is given, its
            fields are copied unless they are given too; a given error replaces its ``error_kind`` and
            ``uncertainty`` as well.
        error: its uncertainty, with the scale and shape of ``value``; None where none is estimated, e.g. from a
            single value. If not given, it is taken from ``uncertainty``; if given, ``uncertainty`` reports it.
        error_kind: what ``error`` is, in words, or why there is none. It defaults to that of ``uncertainty``.
        raw: the values before aggregation, e.g. one correlation per split and neuroid.
        unceiled: the score before normalisation by the ceiling; None if it is not normalised.
        ceiling: the ceiling it is normalised by; None if it is not normalised.
        formula: how ``value`` follows from the correlation r and the ceiling c, e.g. ``"r²/c"``.
        n_units: number of scored units (neuroids); None for comparisons of whole populations.
        n_undefined: number of units that are left out because a value is undefined (constant responses). For
            comparisons of whole populations, the number of splits without a value, or 1 for an undefined score.
        provenance: all that is needed to reproduce the number, a :class:`~bsjax.labelled.Provenance`. A plain dict is
            converted; its values must fit into JSON: None, text, numbers, dates, arrays, and lists, tuples and dicts
            of them.
        uncertainty: the sampling uncertainty that :meth:`interval` is computed from; None if unknown. For a score
            that is made with an ``error`` alone, it holds only that error.

    Raises:
        ValueError: a field has the wrong type; the message names the field.

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

    # Makes NumPy scalars defer to the score's operators.
    __array_priority__ = 1000

    value: float | xr.DataArray
    error: float | xr.DataArray | None = _NOT_GIVEN
    error_kind: str = _NOT_GIVEN
    raw: xr.DataArray | None = _NOT_GIVEN
    unceiled: Score | None = _NOT_GIVEN
    ceiling: Score | None = _NOT_GIVEN
    formula: str = _NOT_GIVEN
    n_units: int | None = _NOT_GIVEN
    n_undefined: int = _NOT_GIVEN
    provenance: Provenance = _NOT_GIVEN
    uncertainty: Uncertainty | None = _NOT_GIVEN

    def __post_init__(self) -> None:
        given = {f.name: value for f in fields(self) if (value := getattr(self, f.name)) is not UNSET}
        error_is_given = "error" in given
        if isinstance(whole := given["value"], Score):
            others = ("value", "error", "error_kind", "uncertainty") if error_is_given else ("value",)
            taken = {f.name: getattr(whole, f.name) for f in fields(self) if f.name not in others}
            given = taken | given | {"value": whole.value}
        given = _DEFAULTS | given
        for name, as_field in _CHECKS.items():
            if given[name] is not None or _DEFAULTS.get(name, "") is not None:
                given[name] = as_field(given[name], name)
        given |= _of_uncertainty(given, error_is_given)
        ours, theirs = getattr(given["value"], "sizes", {}), getattr(given["error"], "sizes", {})
        if given["error"] is not None and tuple(ours.items()) != tuple(theirs.items()):
            ours, theirs = (dict(sizes) or "a number" for sizes in (ours, theirs))
            raise ValueError(f"error must have the shape of value, which is {ours}, got {theirs}")
        for name, value in given.items():
            object.__setattr__(self, name, value)

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
        # With a format, as a number: f"{score:.2f}".
        return format(float(self), spec) if spec else str(self)

    @property
    def sizes(self) -> dict[str, int]:
        """Dimensions of the value with their sizes; empty for a plain number."""
        return {} if isinstance(self.value, float | int) else {str(d): n for d, n in self.value.sizes.items()}

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Score) and (self.sizes or other.sizes):
            return bool(np.array_equal(self.value, other.value))
        number = None if self.sizes else _number(other)
        return NotImplemented if number is None else self.value == number

    def __lt__(self, other: object) -> bool:
        number = _number(other)
        return NotImplemented if number is None else float(self) < number

    def __hash__(self) -> int:
        # Equal values have equal hashes, also scores and numbers.
        return hash(tuple(np.ravel(self.value).tolist())) if self.sizes else hash(float(self))

    def __repr__(self) -> str:
        reason = self.provenance.reason
        why = f": {reason}" if reason and np.isnan(self.value).all() else ""
        return f"Score({_with_error(self)}{', ' + self.formula if self.formula else ''}{why})"

    def interval(self, level: float = 0.95, kind: str | None = None) -> Interval | None:
        """A confidence interval over the stimuli, neuroids or subjects that could have been sampled.

        Args:
            level: the coverage, between 0 and 1.
            kind: ``"percentile"``, ``"bca"`` or ``"studentised"``, which need draws, or ``"t"``, from the standard
                error; by default the best kind that is available for the score, see ``uncertainty.kinds``.

        Returns:
            Its ends, kind, level and the factors it generalises over; the ends of a time-resolved score are labelled
            arrays. The ends are NaN where the data do not suffice, e.g. if all draws are equal up to rounding;
            ``error_kind`` says why. None if no sampling uncertainty is known: without an error, or with a standard
            deviation of single values such as trials or halves.

        Raises:
            ValueError: an invalid level, or a kind that needs draws where there are none; the message says how to get
                them.

        Source: Efron & Tibshirani 1993; Nadeau & Bengio 2003 (of splits that share stimuli).

        Example:
            >>> from bsjax.labelled.uncertainty import Uncertainty
            >>> known = Uncertainty(("subjects",), 0.1, "standard error over 9 subjects", dof=8)
            >>> str(Score(0.5, uncertainty=known).interval(0.95))
            '[0.2694, 0.7306], 95 % t over subjects'
        """
        known = self.sampling_uncertainty
        if known is None and self.error is not None and "standard deviation" not in self.error_kind:
            known = self.uncertainty
        return None if known is None else known.interval(self.value, level, kind)

    @property
    def sampling_uncertainty(self) -> Uncertainty | None:
        """The ``uncertainty`` if it names factors that could have been sampled differently; None for a bare error."""
        return self.uncertainty if self.uncertainty is not None and self.uncertainty.over else None

    @property
    def exceeds_ceiling(self) -> bool:
        """Whether a normalised score exceeds its ceiling. The value is not clipped."""
        return self.ceiling is not None and bool(np.any(np.asarray(self.value) > 1))

    @property
    def attrs(self) -> MutableMapping[str, Any]:
        """Brain-Score's attributes, read-only: ``"raw"``, ``"ceiling"``, ``"error"`` and the provenance's details.

        ``"raw"`` is the score before normalisation, if it is normalised.

        Raises:
            FrozenInstanceError: an attribute is assigned; the message says what to do instead.

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
        """The value as an array; 0-d for a plain number."""
        return np.asarray(self.value)

    def item(self) -> float:
        """The value as a float.

        Raises:
            ValueError: there are several values.
        """
        return float(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.values, dtype=dtype, copy=True if copy is None else copy)

    __add__, __radd__ = _both_sides(operator.add)
    __sub__, __rsub__ = _both_sides(operator.sub)
    __mul__, __rmul__ = _both_sides(operator.mul)
    __truediv__, __rtruediv__ = _both_sides(operator.truediv)
    __pow__, __rpow__ = _both_sides(operator.pow)

    def __neg__(self) -> Score:
        return self * -1

    def __pos__(self) -> Score:
        return self * 1

    def __abs__(self) -> Score:
        return _without_error(abs(self.value), self)

    def __round__(self, digits: int = 0) -> Score:
        return _without_error(np.round(self.value, digits), self)

    def to_xarray(self) -> xr.DataArray:
        """The value as an ``xarray.DataArray`` (0-d for a plain number), with all other fields as attributes."""
        named = {f.name: getattr(self, f.name) for f in fields(self)} | {"uncertainty": self.sampling_uncertainty}
        attrs = {n: part for n, part in named.items() if n not in ("value", "provenance") and part is not None}
        return xr.DataArray(self.value).rename("score").assign_attrs({**attrs, **self.provenance})

    def to_dict(self) -> dict[str, Any]:
        """The score as plain values for strict JSON; ``from_dict`` restores it.

        NaN, infinities, tuples, dates, NumPy and labelled arrays are kept at any depth of the provenance. Labelled
        arrays keep their dtypes, coordinates and the attributes that can be written.

        Raises:
            ValueError: a value that cannot be written was added to the provenance after the score was made.
        """
        plain = {f.name: getattr(self, f.name) for f in fields(self)} | {"uncertainty": self.sampling_uncertainty}
        return {
            name: value.to_dict() if name in _PARTS and value is not None else field_to_plain(value, name)
            for name, value in plain.items()
        }

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Score:
        """The score from the dict that ``to_dict`` wrote.

        Raises:
            ValueError, TypeError, KeyError: the dict describes no score; the message says what is wrong.

        Example:
            >>> Score.from_dict({"value": "high"})
            Traceback (most recent call last):
            ...
            ValueError: the score is the dict {'value': 'high'}: Expected a number, or 'nan', ... - at `$.value`
        """
        try:
            read = structs.asdict(checked(plain, _Written, "the score"))
            values = {name: value_of(read[name], name) for name in ("value", "error", "raw")}
            parts = {name: kind.from_dict(read[name]) for name, kind in _PARTS.items() if read[name] is not None}
            return cls(**read | values | parts)
        except RecursionError as error:
            raise ValueError("not a score: it is nested more deeply than can be read") from error

    def save(self, path: str | Path) -> Path:
        """Write the complete score to a JSON file; :meth:`load` reads it.

        Args:
            path: the file; missing folders are created. An existing file is replaced atomically.

        Raises:
            ValueError: as :meth:`to_dict`.
            OSError: the file cannot be written; an existing file is left unchanged.

        Example:
            >>> import tempfile
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     Score.load(Score(0.5, formula="r").save(f"{folder}/score.json"))
            Score(0.5000, r)
        """
        return write_atomically(path, as_json(self.to_dict(), indent=1))

    @classmethod
    def load(cls, path: str | Path) -> Score:
        """The score from a file that :meth:`save` wrote.

        Raises:
            FileNotFoundError: the file does not exist.
            ValueError: it holds no score; the message says what is wrong.
        """
        content = Path(path).read_bytes()
        try:
            return cls.from_dict(json.loads(content))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise ValueError(f"{path} holds no score: {error}") from error

    def _repr_html_(self) -> str:
        before, ceiling = self.unceiled, self.ceiling
        rows = {
            "score": _with_error(self),
            "interval": "" if self.sampling_uncertainty is None else str(self.interval()),
            "formula": self.formula,
            "error is": self.error_kind,
            "before normalisation": "" if before is None else _with_error(before),
            "ceiling": "" if ceiling is None else _with_error(ceiling) + " (exceeded)" * self.exceeds_ceiling,
            "ceiling by": "" if ceiling is None else ceiling.provenance.computed_by,
            "units": ""
            if self.n_units is None
            else f"{self.n_units}, {self.n_undefined} of them with undefined values",
        }
        made = {name: shorten(in_words(value), _LONGEST_CELL) for name, value in self.provenance.items()}
        cells = (
            f"<tr><th style='text-align:left'>{escape(name)}</th><td>{escape(value)}</td></tr>"
            for name, value in (*rows.items(), *made.items())
            if value
        )
        return f"<table>{''.join(cells)}</table>"


class _Attributes(UserDict[str, Any]):
    """A read-only view of a score as Brain-Score's ``attrs``."""

    def __init__(self, attributes: dict[str, Any]) -> None:
        self.data = attributes

    def __setitem__(self, name: str, value: Any) -> None:
        raise FrozenInstanceError(
            f"attrs[{name!r}] of a score cannot be changed: make another score, Score(score, error=..., ceiling=..., "
            "unceiled=...), or Score(score, provenance=score.provenance.with_details(...)) for what has no field. "
            "bsjax.compat.score.Score can be written to, as in Brain-Score"
        )

    def __delitem__(self, name: str) -> None:
        self[name] = None


# How an operation with a number changes the error; under other operations the error would not be exact.
_ERRORS: dict[Callable[[Any, Any], Any], Callable[[Any, Any], Any]] = {
    operator.add: lambda error, _: error,
    operator.sub: lambda error, _: error,
    operator.mul: lambda error, number: error * abs(number),
    operator.truediv: lambda error, number: error / abs(number),
}


def _combined(op: Callable[[Any, Any], Any], one: Any, two: Any) -> Score:
    """``op(one, two)`` for two scores, or a score and a number."""
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
    if isinstance(other, int | np.integer):
        return int(other)  # a float may not represent it exactly
    single = isinstance(other, Score | float | np.floating) or (isinstance(other, np.ndarray) and not other.ndim)
    return float(other) if single else None


def _with_error(score: Score) -> str:
    if score.sizes:
        over = " x ".join(f"{n} {dim}" for dim, n in score.sizes.items())
        return f"{over}: {np.min(score.value):z.4f} to {np.max(score.value):z.4f}"
    ends = None if score.sampling_uncertainty is None else score.interval()
    within = "" if ends is None or np.isnan(ends.low) else f" [{ends.low:z.4f}, {ends.high:z.4f}]"
    return f"{float(score):z.4f}" + ("" if score.error is None else f" ± {float(score.error):z.4f}") + within


class _Written(Struct, forbid_unknown_fields=True):
    """The schema of ``Score.to_dict``."""

    value: Value
    error: Value | None = None
    error_kind: str = ""
    raw: Labelled | None = None
    unceiled: dict[str, Any] | None = None
    ceiling: dict[str, Any] | None = None
    formula: str = ""
    n_units: int | None = None
    n_undefined: int = 0
    provenance: dict[str, Any] = {}
    uncertainty: dict[str, Any] | None = None


_PARTS: dict[str, Any] = {"unceiled": Score, "ceiling": Score, "provenance": Provenance, "uncertainty": Uncertainty}


def _of_uncertainty(given: Mapping[str, Any], error_is_given: bool) -> dict[str, Any]:
    """Consistent ``error``, ``error_kind`` and ``uncertainty``: the uncertainty reports a given error."""
    error, error_kind, known = given["error"], given["error_kind"], given["uncertainty"]
    if known is not None and not known.over and error_is_given:  # a bare error, which the given one replaces
        known = None
    if error is not None or error_kind:
        if known is None:
            known = Uncertainty.of_error(error, error_kind)
        elif error is not known.error or error_kind != known.error_kind:
            known = replace(known, error=error, error_kind=error_kind)
    if known is not None:
        error, error_kind = known.reported(given["value"])
    return {"error": error, "error_kind": error_kind, "uncertainty": known}


def _numbers(given: Any, name: str) -> float | xr.DataArray:
    if not isinstance(given, float) and isinstance(given, xr.DataArray):
        if given.dtype.kind not in "iuf" or not given.size:
            raise ValueError(f"{name} must hold numbers, got {given.size} values of dtype {given.dtype}")
        check(given, name)
        return given
    if isinstance(given, bool | np.bool) or not isinstance(given, SupportsFloat) or getattr(given, "ndim", 0):
        raise ValueError(f"{name} must be a number or a labelled array of numbers, got {said(given)}")
    try:
        return float(given)
    except (TypeError, OverflowError) as error:
        raise ValueError(f"{name} must be a number that a float can hold, got {said(given)}: {error}") from error


def as_score(given: Any, name: str) -> Score:
    """A score as it is, or a plain number as a score.

    Args:
        given: the result of a function.
        name: its name in messages.

    Raises:
        ValueError: it is None, or neither a score nor a number.

    Example:
        >>> as_score(0.5, "the ceiling"), as_score(Score(0.5), "the ceiling")
        (Score(0.5000), Score(0.5000))
    """
    if given is None:
        raise ValueError(f"{name} must be a Score, or a number, got None: the function that gives it returns nothing")
    return given if isinstance(given, Score) else Score(_numbers(given, name))


def _labelled(given: Any, name: str) -> xr.DataArray:
    if not isinstance(given, xr.DataArray):
        raise ValueError(f"{name} must be a DataArray, got {said(given)}")
    check(given, name)
    return given


def _of(kind: type) -> Callable[[Any, str], Any]:
    def checked_kind(given: Any, name: str) -> Any:
        if not isinstance(given, kind):
            raise ValueError(f"{name} must be a {kind.__name__}, got {said(given)}")
        return given

    return checked_kind


def _count(given: Any, name: str) -> int:
    return checked(given.item() if isinstance(given, np.integer) else given, Annotated[int, Meta(ge=0)], name)


# The check of each field, which returns the value to keep. None is accepted where it is the default.
_CHECKS: dict[str, Callable[[Any, str], Any]] = {
    **dict.fromkeys(("value", "error"), _numbers),
    **dict.fromkeys(("error_kind", "formula"), _of(str)),
    **dict.fromkeys(("unceiled", "ceiling"), as_score),
    **dict.fromkeys(("n_units", "n_undefined"), _count),
    **{"raw": _labelled, "provenance": Provenance.of, "uncertainty": _of(Uncertainty)},
}
