"""The uncertainty of a score, and the confidence intervals that follow from it.

Uncertainty is over the choice of stimuli, neuroids or subjects. It is held as the score's values in bootstrap draws, or
as a standard error where that is known without draws. Scores whose draws hold the same stimuli, neuroids and subjects
are paired draw by draw, e.g. a score and its ceiling, or two models on one benchmark.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, get_args

import numpy as np
import scipy
from msgspec import Meta, Struct, structs

from bsjax.data.types.libraries import xr
from bsjax.labelled.plain_values import Labelled, Number, Value, checked, field_to_plain, value_of

if TYPE_CHECKING:
    import jax

DRAW, FACTOR, UNIT, BOTH = "draw", "factor", "unit", "both"
IntervalKind = Literal["studentised", "bca", "percentile", "t"]
KINDS: tuple[IntervalKind, ...] = get_args(IntervalKind)
# A function of two numbers, or of two arrays of one shape, in NumPy or JAX.
Function = Callable[[Any, Any], Any]

# Names of the kinds for tables and text.
_WORDS = {"percentile": "percentile", "bca": "BCa", "studentised": "studentised", "t": "t"}
_VALUES = ("standard_error", "dof", "draws", "errors", "influence")
# The seed for a ceiling with independent draws; it must differ from the seeds of a score's draws.
_ALONE = 2**61 - 1
# Relative to the score, a smaller standard error is rounding, also in float32.
_ROUNDING = 4 * float(np.finfo(np.float32).eps)


class Interval(NamedTuple):
    """A confidence interval.

    Attributes:
        low, high: its ends, labelled arrays for a time-resolved score; NaN where the data do not suffice.
        level: its coverage, e.g. 0.95.
        kind: how it was computed: "percentile", "bca" and "studentised" from draws, "t" from the standard error.
        over: the factors that it generalises over, e.g. ``("stimuli",)``.

    Example:
        >>> str(Interval(0.25, 0.5, 0.95, "bca", ("stimuli",)))
        '[0.2500, 0.5000], 95 % BCa over stimuli'
    """

    low: Any
    high: Any
    level: float
    kind: IntervalKind
    over: tuple[str, ...]

    def __contains__(self, value: object) -> bool:
        return bool(np.all((self.low <= value) & (value <= self.high)))

    def __str__(self) -> str:
        if np.ndim(self.low):
            return f"{np.size(self.low)} intervals, {self.words}"
        ends = "none" if np.isnan(self.low) else f"[{float(self.low):z.4f}, {float(self.high):z.4f}]"
        return f"{ends}, {self.words}"

    @property
    def words(self) -> str:
        """The level, kind and factors in words."""
        return f"{100 * self.level:g} % {_WORDS[self.kind]} over {' and '.join(self.over)}"


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """The uncertainty of a score over the choice of stimuli, neuroids or subjects.

    Attributes:
        over: the factors that could have been sampled differently: "stimuli", "neuroids", "subjects". Empty if only
            ``error`` is known.
        standard_error: the standard error of the score; a labelled array if the score is one.
        method: how it is estimated, in words.
        dof: degrees of freedom of a t distribution; None for a normal distribution.
        draws: the score in each draw, dims ("draw", *those of the score). For two factors, which are drawn both
            together and each alone, with ``factor`` in front: "both", and the two of ``over``.
        errors: the standard error within each draw.
        influence: the contribution of each drawn unit, or each split, to the score, ("unit", *those of the score), in
            the sorted order of their identifiers. The sum of squares is the variance of the score.
        plan: the digest of the plan of the draws, or of the splits. Scores with the same plan are paired.
        kind: the default kind of interval.
        sizes: the numbers of units of the two drawn factors, if known; for one factor, its number if that is not
            ``dof + 1``, as with strata.
        error: the spread that the score reports instead of the standard error, such as Brain-Score's over splits; see
            ``error_kind`` if it is None.
        error_kind: what ``error`` is, in words, or why none is reported. If both are empty, the score reports the
            standard error.

    Raises:
        ValueError: neither a drawn factor nor an error is given, or the kind is unknown.

    Example:
        >>> Uncertainty(("subjects",), 0.1, "standard error over 9 subjects", dof=8).interval(0.5)
        Interval(low=0.26..., high=0.73..., level=0.95, kind='t', over=('subjects',))
    """

    over: tuple[str, ...]
    standard_error: float | xr.DataArray
    method: str
    dof: float | None = None
    draws: xr.DataArray | None = None
    errors: xr.DataArray | None = None
    influence: xr.DataArray | None = None
    plan: str = ""
    kind: str = ""
    sizes: tuple[int | None, int | None] = (None, None)
    error: float | xr.DataArray | None = None
    error_kind: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "over", tuple(self.over))
        object.__setattr__(self, "sizes", tuple(self.sizes))
        object.__setattr__(self, "dof", None if self.dof is None else float(self.dof))
        if not self.over and self.error is None and not self.error_kind:
            raise ValueError("an uncertainty needs to say what was sampled, e.g. over=('stimuli',)")
        if self.kind and self.kind not in KINDS:
            raise ValueError(f"the kind of an interval must be one of {', '.join(KINDS)}, got {self.kind!r}")

    @classmethod
    def of_error(cls, error: float | xr.DataArray | None, error_kind: str) -> Uncertainty:
        """The uncertainty of a score with an error alone, or without one for the reason in ``error_kind``.

        Raises:
            ValueError: the error is negative.

        Example:
            >>> Uncertainty.of_error(0.3, "as published").standard_error
            0.3
        """
        known = math.nan if error is None else error
        if np.any(np.asarray(known) < 0):
            raise ValueError(f"the error of a score must be 0 or above, got {error!r}")
        return cls((), known, "normal approximation from its error", error=error, error_kind=error_kind)

    @property
    def kinds(self) -> tuple[IntervalKind, ...]:
        """The kinds of interval that are available, the default first."""
        drawn = self.draws is not None and FACTOR not in self.draws.dims
        known = {"studentised": self.errors is not None, "bca": self.influence is not None, "percentile": True}
        found: list[IntervalKind] = [kind for kind in KINDS if kind == "t" or (drawn and known[kind])]
        return tuple(sorted(found, key=lambda kind: kind != self.kind))

    @property
    def is_paired(self) -> bool:
        """Whether scores of one ``plan`` can be paired, by draws or by influences."""
        return bool(self.plan) and (self.draws is not None or self.influence is not None)

    @property
    def words(self) -> str:
        """The ``error_kind`` of a score that reports the standard error."""
        return f"standard error over {' and '.join(self.over)}, {self.method}"

    def none_because(self, value: float | np.ndarray | xr.DataArray) -> str:
        """Why a score has neither an error nor an interval; empty if it has them.

        Values that differ only by rounding do not show how much the score could vary.

        Args:
            value: the score, or another magnitude that its rounding errors are relative to.
        """
        error = np.asarray(self.standard_error, float)
        if np.isnan(error).all() or (self.dof is not None and self.dof < 1):
            return f"no standard error over {' and '.join(self.over)} follows from {self.method}"
        if self.is_rounding(value)[np.isfinite(error)].all():
            return f"values over {' and '.join(self.over)} are equal up to rounding ({self.method})"
        return ""

    def is_rounding(self, value: float | np.ndarray | xr.DataArray) -> np.ndarray:
        """Whether each standard error may be rounding, relative to the score or another magnitude."""
        return np.asarray(self.standard_error, float) <= _ROUNDING * np.abs(np.asarray(value, float))

    def reported(self, value: float | np.ndarray | xr.DataArray) -> tuple[float | xr.DataArray | None, str]:
        """The ``error`` and ``error_kind`` of a score: the standard error unless another error is given."""
        if self.error is not None or self.error_kind:
            return self.error, self.error_kind
        none = self.none_because(value)
        return (None, f"none: {none}") if none else (self.standard_error, self.words)

    def as_fields(self, size: float | np.ndarray) -> dict[str, Any]:
        """The ``error``, ``error_kind`` and ``uncertainty`` of a score; the uncertainty is None if there is no error.

        Args:
            size: the magnitude of the values, which rounding errors are relative to.
        """
        none = self.none_because(size)
        error, words = (None, f"none: {none}") if none else self.reported(size)
        return {"error": error, "error_kind": words, "uncertainty": None if none else self}

    def interval(self, value: float | xr.DataArray, level: float = 0.95, kind: str | None = None) -> Interval:
        """The interval of a score.

        Args:
            value: value of the score.
            level: the coverage, between 0 and 1.
            kind: one of ``kinds``; the first by default.

        Raises:
            ValueError: an invalid level, or a kind that is not available.
        """
        if not 0 < level < 1:
            raise ValueError(f"the level of an interval must be between 0 and 1, got {level!r}")
        if kind is not None and kind not in self.kinds:
            raise ValueError(
                f"no {kind} interval can be made of {self.method}; there are: {', '.join(self.kinds)}. "
                "Draws are taken on request: bsjax.score(..., resampling=bsjax.Resampling())"
            )
        chosen: Any = kind or self.kinds[0]
        low, high = self._ends(np.asarray(value, float), level, chosen)
        if self.none_because(value):
            low, high = np.full_like(low, np.nan), np.full_like(high, np.nan)
        over = self.over or (self.error_kind or "what its error is over",)
        return Interval(as_value(value, low), as_value(value, high), level, chosen, over)

    def _ends(self, value: np.ndarray, level: float, kind: str) -> np.ndarray:
        error = np.asarray(self.standard_error, float)
        if kind == "t" or self.draws is None:
            tail = (1 + level) / 2
            reach = (scipy.special.ndtri(tail) if self.dof is None else scipy.special.stdtrit(self.dof, tail)) * error
            return np.stack([value - reach, value + reach])
        # Imported here, because an interval from a standard error, and a score that is read, need no JAX.
        import jax.numpy as jnp

        from bsjax.engine.precision import precision
        from bsjax.metrics.inference import intervals

        with precision("float64"):
            about, draws = jnp.asarray(value), jnp.asarray(self.draws.values, float)
            if kind == "studentised" and self.errors is not None:
                errors = jnp.asarray(self.errors.values, float)
                return np.asarray(intervals.studentised_interval(about, jnp.asarray(error), draws, errors, level=level))
            if kind == "bca" and self.influence is not None:
                moved = intervals.acceleration(jnp.asarray(self.influence.values, float))
                return np.asarray(intervals.bca_interval(about, draws, moved, level=level))
            return np.asarray(intervals.percentile_interval(draws, level=level))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for strict JSON; ``from_dict`` restores all but ``error``, which is stored with the score."""
        known = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("error", "error_kind")}
        known |= {"over": list(self.over), "sizes": None if self.sizes == (None, None) else list(self.sizes)}
        plain = {name: field_to_plain(value, f"uncertainty.{name}") for name, value in known.items()}
        return {name: value for name, value in plain.items() if value not in (None, "")}

    @classmethod
    def from_dict(cls, plain: Any) -> Uncertainty:
        """The uncertainty from a dict that ``to_dict`` wrote.

        Raises:
            ValueError, TypeError, KeyError: the dict describes no uncertainty.

        Example:
            >>> known = Uncertainty(("stimuli",), 0.1, "jackknife of 10 groups", dof=9)
            >>> Uncertainty.from_dict(known.to_dict()).to_dict() == known.to_dict()
            True
        """
        read = structs.asdict(checked(plain, _Written, "the uncertainty"))
        arrays = {name: value_of(read[name], f"uncertainty.{name}") for name in _VALUES}
        return cls(**read | arrays)


class _Written(Struct, forbid_unknown_fields=True):
    """The schema of ``Uncertainty.to_dict``."""

    over: Annotated[list[str], Meta(min_length=1)]
    standard_error: Value
    method: str
    dof: Number | None = None
    draws: Labelled | None = None
    errors: Labelled | None = None
    influence: Labelled | None = None
    plan: str = ""
    kind: str = ""
    sizes: tuple[int | None, int | None] = (None, None)


def of_draws(
    value: float | xr.DataArray,
    draws: xr.DataArray,
    over: tuple[str, ...],
    method: str,
    *,
    dof: float | None = None,
    sizes: tuple[int | None, int | None] = (None, None),
    **known: Any,
) -> Uncertainty:
    """The uncertainty of a score from its values in draws.

    The standard error is the spread over draws. If influences are known, it comes from them instead, because draws hold
    copies of stimuli, which makes similarities vary more than new stimuli would. For two factors, drawn together and
    each alone, the variance is :math:`2 (V_1 + V_2) - V_{12}`, limited to its possible range, because drawing both
    counts the noise in the data twice.

    Args:
        value: the score.
        draws: its values, see :class:`Uncertainty`.
        over, method, dof, sizes: as in :class:`Uncertainty`.
        **known: other fields.

    Source: Schütt et al. 2023, "Statistical inference on representational geometries".

    Example:
        >>> draws = xr.DataArray([0.1, 0.2, 0.3], dims=["draw"])
        >>> round(of_draws(0.2, draws, ("stimuli",), "bootstrap").standard_error, 6)
        0.1
    """
    values = np.asarray(draws.values, float)
    axis = draws.dims.index(DRAW)
    few = np.isfinite(values).sum(axis=axis) < 2
    filled = np.where(np.expand_dims(few, axis), 0.0, values)
    spread, influence = np.where(few, math.nan, np.nanvar(filled, axis=axis, ddof=1)), known.get("influence")
    if FACTOR in draws.dims:
        import jax.numpy as jnp

        from bsjax.engine.precision import precision
        from bsjax.metrics.resampling.two_factor import crossed_dof, two_factor_variance

        both, first, second = np.moveaxis(spread, [dim for dim in draws.dims if dim != DRAW].index(FACTOR), 0)
        with precision("float64"):
            variances = (jnp.asarray(each) for each in (both, first, second))
            spread = np.asarray(two_factor_variance(*variances, n_first=sizes[0], n_second=sizes[1]))
        if sizes[0] is not None and sizes[1] is not None and spread.ndim == 0:
            apart = (np.asarray(each) for each in (first, second, both))
            dof = float(crossed_dof(*apart, sizes=(sizes[0], sizes[1])))
    elif dof:  # n units drawn with replacement underestimate the variance by the factor (n - 1) / n
        spread = spread * (sizes[0] or dof + 1) / dof
    if influence is not None:
        spread = np.sum(np.asarray(influence.values, float) ** 2, axis=0)
    return Uncertainty(over, as_value(value, np.sqrt(spread)), method, dof=dof, draws=draws, sizes=sizes, **known)


def derivatives(function: Function, one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The derivatives of a function with respect to each of its two arguments.

    Example:
        >>> tuple(map(float, derivatives(lambda a, b: a / b, np.array(1.0), np.array(0.5))))
        (2.0, -4.0)
    """
    import jax

    from bsjax.engine.precision import precision
    from bsjax.engine.programs.compilation import compiled
    from bsjax.engine.transfers import to_host

    # TPUs have no float64; float32 is accurate enough for an error.
    with precision(None if jax.default_backend() == "tpu" else "float64"):
        return to_host(compiled(_derivatives, function=function)(one, other))


def _derivatives(one: jax.Array, other: jax.Array, *, function: Function) -> tuple[jax.Array, jax.Array]:
    import jax
    import jax.numpy as jnp

    _, by_one = jax.jvp(lambda number: function(number, other), (one,), (jnp.ones_like(one),))
    _, by_other = jax.jvp(lambda number: function(one, number), (other,), (jnp.ones_like(other),))
    return by_one, by_other


def carried_over(
    value: float | xr.DataArray,
    function: Function,
    by_either: tuple[np.ndarray, np.ndarray],
    one: tuple[np.ndarray, Uncertainty],
    other: tuple[np.ndarray, Uncertainty | None],
) -> Uncertainty:
    """The uncertainty of a function of two scores, such as a score and its ceiling.

    Draws of one plan hold the same stimuli, neuroids and subjects, so the function is computed in each draw. Otherwise
    each side is drawn independently; a side without draws is drawn from a normal distribution with its standard error.
    If the first side has no draws, its error is carried over to first order, from the values one standard error above
    and below.

    Args:
        value: value of the function.
        function: of both values, any shape.
        by_either: its derivatives at the values.
        one, other: values and uncertainties; None for an exact value.

    Example:
        >>> known = Uncertainty(("stimuli",), 0.1, "jackknife", dof=9)
        >>> halves, by_either = ((np.array(0.5), known), (np.array(0.5), None)), (np.array(2.0), np.array(-2.0))
        >>> round(carried_over(1.0, lambda a, b: a / b, by_either, *halves).standard_error, 6)
        0.2
    """
    (first, ours), (second, theirs) = one, other
    paired = theirs is not None and bool(ours.plan) and ours.plan == theirs.plan
    over = ours.over if theirs is None else tuple(dict.fromkeys([*ours.over, *theirs.over]))
    influence = _joint_influence(ours, theirs, by_either, paired)
    known: dict[str, Any] = {
        "dof": min((side.dof for side in (ours, theirs) if side is not None and side.dof is not None), default=None),
        # A bias of draws relative to their score persists after normalisation.
        "kind": ours.kind if paired or theirs is None or ours.kind == "t" else "",
    }
    if ours.draws is None:
        if influence is not None and paired:
            error = np.sqrt(np.sum(influence.values**2, axis=0))
        else:
            # By differences, because a derivative may be zero where the value is, as for a square.
            spread, of_second = (
                0.0 if side is None else np.asarray(side.standard_error, float) for side in (ours, theirs)
            )
            above, below = (function(first + step * spread, second) for step in (1, -1))
            error = np.hypot((above - below) / 2, by_either[1] * of_second)
        method = ours.method if theirs is None else f"{ours.method}; of the ceiling {theirs.method}"
        plan = "" if influence is None else ours.plan
        return Uncertainty(over, as_value(value, error), method, influence=influence, plan=plan, **known)
    at, said = _second_in_draws(second, ours.draws, theirs, paired)
    if theirs is not None and not (paired and theirs.draws is not None):
        influence = None
    if influence is None and known["kind"] == "bca":
        known["kind"] = ""
    draws = ours.draws.copy(data=function(np.asarray(ours.draws.values, float), at))
    known |= {"plan": ours.plan, "influence": influence, "sizes": ours.sizes}
    return replace(of_draws(value, draws, ours.over, ours.method + said, **known), over=over)


def _second_in_draws(
    value: np.ndarray, drawn: xr.DataArray, uncertainty: Uncertainty | None, paired: bool
) -> tuple[np.ndarray, str]:
    """The value of the second side in the draws of the first, and words for the method."""
    if uncertainty is None:
        return np.broadcast_to(value, drawn.shape), ""
    rng, draws, n = np.random.default_rng(_ALONE), uncertainty.draws, drawn.sizes[DRAW]
    alone = f", the ceiling drawn by itself ({uncertainty.method})"
    if draws is not None and (paired or FACTOR not in draws.dims):
        chosen = draws if paired else draws.isel({DRAW: rng.integers(0, draws.sizes[DRAW], n)})
        words = ", the ceiling drawn with it" if paired else alone
        return np.asarray(chosen.broadcast_like(drawn).transpose(*drawn.dims).values, float), words
    noise = rng.standard_normal(n).reshape([n if dim == DRAW else 1 for dim in drawn.dims])
    return value + np.asarray(uncertainty.standard_error, float) * noise * np.ones(drawn.shape), alone


def mean_of_paired(parts: Sequence[Uncertainty | None]) -> Uncertainty | None:
    """The uncertainty of a mean of scores with the same draws, from their mean in each draw.

    Returns:
        None if any score has no draws, or draws of another plan, or if there are none.

    Example:
        >>> draws = xr.DataArray([0.1, 0.2, 0.3], dims=["draw"])
        >>> one = Uncertainty(("stimuli",), 0.1, "3 bootstrap draws", draws=draws, plan="a")
        >>> mean_of_paired([one, one]).words, mean_of_paired([one, None])
        ('standard error over stimuli, 3 bootstrap draws', None)
    """
    known = [part for part in parts if part is not None and part.plan and part.draws is not None]
    arrays = [part.draws for part in known if part.draws is not None]
    if (
        len(known) < len(parts)
        or len({(part.plan, array.shape) for part, array in zip(known, arrays, strict=True)}) != 1
    ):
        return None
    first = known[0]
    draws = arrays[0].copy(data=np.mean([np.asarray(array.values, float) for array in arrays], axis=0))
    dofs = [part.dof for part in known if part.dof is not None]
    influences = [part.influence.values for part in known if part.influence is not None]
    influence = None
    if first.influence is not None and len(influences) == len(known) and len({len(one) for one in influences}) == 1:
        influence = first.influence.copy(data=np.mean(influences, axis=0))
    known_as: dict[str, Any] = {"plan": first.plan, "influence": influence, "kind": first.kind, "sizes": first.sizes}
    return of_draws(0.0, draws, first.over, first.method, dof=min(dofs, default=None), **known_as)


def _joint_influence(
    ours: Uncertainty, theirs: Uncertainty | None, by_either: tuple[np.ndarray, np.ndarray], paired: bool
) -> xr.DataArray | None:
    if ours.influence is None:
        return None
    own = ours.influence.copy(data=by_either[0] * ours.influence.values)
    if theirs is None:
        return own
    if not paired and own.ndim == 1:  # an independent ceiling contributes the same to all models
        alone = xr.DataArray(np.ravel(by_either[1] * np.asarray(theirs.standard_error, float)), dims=[UNIT])
        return xr.concat([own, alone], UNIT) if np.isfinite(alone).all() else None
    if not paired or theirs.influence is None or theirs.influence.sizes[UNIT] != own.sizes[UNIT]:
        return None
    return own.copy(data=own.values + by_either[1] * theirs.influence.values)


def as_value(value: float | np.ndarray | xr.DataArray, numbers: np.ndarray) -> float | xr.DataArray:
    """Numbers with the labels of a score's value; a float if the value is one."""
    return float(numbers) if isinstance(value, float | int | np.ndarray | np.generic) else value.copy(data=numbers)
