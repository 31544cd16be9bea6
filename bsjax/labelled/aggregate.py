"""Means with their errors, by one rule, over splits, subjects, neuroids or conditions.

Values that are not finite are left out of the mean and of its error, and counted in ``n_undefined``. A single value has
no error: it is None, and ``error_kind`` says so. The same holds for values that are equal up to rounding, because they
do not show how much the score could vary. Otherwise ``error_kind`` names the error, the number of values and its
``ddof``: 1 estimates the spread of the population that the values are drawn from; 0 is the spread of the values
themselves, which Brain-Score uses for splits.

The error follows Brain-Score where Brain-Score has one. In addition, each mean has an uncertainty, from which intervals
are computed: that of the mean as an estimate, under another choice of subjects, neuroids, conditions or stimuli.
"""

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.labelled.align import variable
from bsjax.labelled.provenance import Provenance
from bsjax.labelled.resampling.calibration import provenance_of_mean
from bsjax.labelled.resampling.draws import Drawn
from bsjax.labelled.score import Score
from bsjax.labelled.uncertainty import UNIT, Uncertainty, mean_of_paired

SPLIT, NEUROID = "split", "neuroid"
Center = Literal["mean", "median"]
ErrorKind = Literal["standard error", "standard deviation", "bootstrap"]
_BOOTSTRAPS = 200
# Half the width, in standard errors, of the 95 % interval of a normal distribution.
_REACH = 1.96
# With fewer splits that share stimuli, the uncertainty is not estimated.
_FEWEST_SPLITS = 3
# Number of values that are gathered at a time.
_MOST_GATHERED = 1 << 24


class Shared(NamedTuple):
    """What splits of one data set have in common.

    Attributes:
        times: the factor from the variance over splits (``ddof`` 1) to the variance over the choice of stimuli.
        key: the digest of the splits; scores with the same key are paired split by split.
    """

    times: float
    key: str


def mean_score(
    values: xr.DataArray | Mapping[str, Score],
    axis: str,
    *,
    what: str = "",
    center: Center = "mean",
    kind: ErrorKind = "standard error",
    ddof: int | None = None,
    **changed: Any,
) -> Score:
    """The mean over an axis with its error, by the rule of this module.

    Args:
        values: an array with this dimension; its other dimensions stay in the score. Or a dict of scores, keyed by
            their labels along the axis; their units are summed, and their unnormalised scores and ceilings averaged.
        axis: name of the dimension.
        what: plural noun for the values along it, used in ``error_kind``; the axis plus "s" by default.
        center: ``"mean"`` or ``"median"``.
        kind: kind of error: ``"standard error"`` is sd/√n, ``"standard deviation"`` is sd, and ``"bootstrap"`` the
            spread of the centre over draws with replacement.
        ddof: for the sd; by default 0 for a standard deviation, as in Brain-Score, and 1 for the others.
        **changed: fields of the score to replace, e.g. ``formula``, or ``error`` where the reference has another.

    Example:
        >>> raw = xr.DataArray([0.25, 0.75, np.nan], dims=["subject"])
        >>> score = mean_score(raw, "subject", formula="r")
        >>> score, score.error_kind, score.n_undefined
        (Score(0.5000 ± 0.2500 [-2.6766, 3.6766], r), 'standard error over 2 of 3 subjects, ddof 1', 1)
        >>> mean_score({"s1": Score(0.5, error=0.1), "s2": Score(float("nan"))}, "subject").error_kind
        'none: it takes two subjects with a value, there is 1 of 2'
    """
    how: dict[str, Any] = {"what": what, "center": center, "kind": kind, "ddof": ddof}
    if isinstance(values, Mapping):
        scores, values = values, xr.DataArray([float(score) for score in values.values()], {axis: list(values)}, [axis])
        changed = {**_of_scores(scores, lambda parts: mean_score(parts, axis, **how)), **changed}
    last = values if values.ndim == 1 else values.transpose(..., axis)
    found = _centre_and_error(np.asarray(last.values, float), what or f"{axis}s", center, kind, ddof)
    if "value" in changed:  # the uncertainty of a replaced value is not known here
        found["uncertainty"] = None
    found = _labelled_like(last, [axis], found)
    return Score(**_with_reason({**found, "raw": values, **changed}, what or f"{axis}s"))


def mean_and_deviation(values: xr.DataArray, what: str, formula: str, provenance: Provenance, **changed: Any) -> Score:
    """The mean and standard deviation of one-dimensional values that share their data, such as random halves.

    Args:
        values, what, changed: as in :func:`mean_score`.
        formula, provenance: fields of the score.

    Example:
        >>> mean_and_deviation(xr.DataArray([0.25, 0.75], dims=["split"]), "random halves", "r", Provenance())
        Score(0.5000 ± 0.2500, r)
    """
    made: dict[str, Any] = {"formula": formula, "provenance": provenance, **changed}
    return mean_score(values, str(values.dims[0]), what=what, kind="standard deviation", **made)


def over_splits(
    raw: np.ndarray,
    coords: Mapping[str, Any],
    provenance: Provenance,
    *,
    dims: Sequence[str] = (SPLIT, NEUROID),
    formula: str = "r",
    shared: Shared | None = None,
) -> Score:
    r"""Median over neuroids, if there are any, then mean over splits.

    The error is that of Brain-Score: the standard deviation (``ddof`` 0) over the splits with a value, divided by the
    square root of the number of all splits. Because splits of one data set share stimuli, it understates how much the
    score would vary with new stimuli. The uncertainty corrects for this: it multiplies the variance over splits by a
    factor for the shared stimuli. Splits that share all stimuli, such as halves of the trials, carry no information on
    other stimuli; their uncertainty is over neuroids.

    Args:
        raw: one value per split, and per neuroid and time bin if ``dims`` has them.
        coords: coordinates of its dimensions.
        dims: its dimensions; those other than split and neuroid stay in the score.
        shared: what the splits have in common, from :func:`of_splits` or :func:`of_subsets`; None for halves of the
            trials.

    Source: Nadeau & Bengio 2003; McKean & Schrader 1984 (standard error of a median).
    """
    raw = np.asarray(raw, float)
    dims = list(dims)[: raw.ndim]
    numbers = pd.Index(np.arange(raw.shape[dims.index(SPLIT)]))
    of_arrays = {name: variable(*each) if isinstance(each, tuple) else each for name, each in coords.items()}
    labelled = xr.DataArray(variable(dims, raw), coords={SPLIT: numbers, **of_arrays})
    made: dict[str, Any] = {"raw": labelled, "formula": formula, "provenance": provenance}
    scores, known, split = raw, None, [dim for dim in dims if dim != NEUROID].index(SPLIT)
    if NEUROID in dims:
        by_neuroid = np.moveaxis(raw, dims.index(NEUROID), -1)
        undefined, scores = _undefined(by_neuroid), nan_median(by_neuroid)
        made |= {"n_units": len(undefined), "n_undefined": int(undefined.sum())}
        if shared is None:
            known = _of_median(nan_mean(np.moveaxis(by_neuroid, split, -1)))
    scores = np.moveaxis(scores, split, -1)
    if shared is not None:
        known = _of_shared_stimuli(scores, shared)
    found = _centre_and_error(scores, "splits", ddof=0) | {"uncertainty": known}
    if found["error"] is not None:  # divide by the square root of all splits, including those without a value
        found["error"] = found["error"] * np.sqrt(np.isfinite(scores).mean(axis=-1))
    found = _labelled_like(labelled, [dim for dim in dims if dim in (SPLIT, NEUROID)], found)
    return Score(**_with_reason({**found, **made}, "splits"))


def drawn_scores(raw: np.ndarray, drawn: Drawn, together: Sequence[str], target: xr.DataArray) -> np.ndarray:
    """The score of each draw: the mean over splits of the median over the draw's neuroids.

    Args:
        raw: correlations ``(draws, splits, neuroids)``; with one draw if the stimuli are not drawn.
        drawn: the draws.
        together: the factors that are drawn in this pass.
        target: the neuroids, with the coordinates of the drawn factors.
    """
    columns = drawn.places(together, target)
    if columns is None:
        return nan_mean(nan_median(raw))
    found = np.empty(len(columns))
    block = max(1, _MOST_GATHERED // (raw.shape[1] * columns.shape[1]))
    for start in range(0, len(columns), block):
        at = columns[start : start + block, None, :]
        of_block = raw[start : start + block] if len(raw) > 1 else np.broadcast_to(raw, (len(at), *raw.shape[1:]))
        values = np.take_along_axis(of_block, np.maximum(at, 0), axis=2)
        found[start : start + block] = nan_mean(nan_median(np.where(at < 0, np.nan, values)))
    return found


def of_splits(splits: Sequence[tuple[np.ndarray, np.ndarray]], ids: Any) -> Shared:
    """The variance correction for splits into training and test stimuli: 1/splits + test/train.

    Args:
        splits: rows of the training and of the test stimuli.
        ids: the stimuli.

    Source: Nadeau & Bengio 2003, "Inference for the generalization error".

    Example:
        >>> of_splits([(np.arange(8), np.arange(2))] * 4, np.arange(10)).times
        0.5
    """
    train, test = zip(*splits, strict=True)
    return Shared(1 / len(splits) + sum(map(len, test)) / sum(map(len, train)), _key_of(ids, *train, *test))


def of_subsets(subsets: Sequence[np.ndarray], ids: Any) -> Shared:
    """The variance correction for random subsets of the stimuli: the delete-d jackknife.

    Args:
        subsets: rows of the stimuli in each subset.
        ids: the stimuli.

    Source: Shao & Wu 1989, "A general theory for jackknife variance estimation".

    Example:
        >>> of_subsets([np.arange(90)] * 10, np.arange(100)).times
        9.0
    """
    size, stimuli = round(sum(map(len, subsets)) / len(subsets)), len(ids)
    return Shared(size / (stimuli - size) if size < stimuli else math.nan, _key_of(ids, *subsets))


def deviations_of_splits(values: np.ndarray, shared: Shared) -> np.ndarray | None:
    """A square root of the covariance of means over splits (the last axis), as of ``jackknife_deviations``.

    NaN for a mean over splits of which one has no value; None if there are too few splits.

    Example:
        >>> deviations_of_splits(np.array([0.0, 1.0, 2.0]), Shared(2.0, "")).tolist()
        [-1.0, 0.0, 1.0]
    """
    splits = values.shape[-1]
    if splits < _FEWEST_SPLITS:
        return None
    return math.sqrt(shared.times / (splits - 1)) * (values - values.mean(axis=-1, keepdims=True))


def _key_of(ids: Any, *rows: np.ndarray) -> str:
    digest = hashlib.sha256(repr(np.asarray(ids).tolist()).encode())
    for each in rows:
        digest.update(np.asarray(each, np.int64).tobytes() + b".")
    return f"splits {digest.hexdigest()[:24]}"


def _of_shared_stimuli(values: np.ndarray, shared: Shared) -> Uncertainty | None:
    """The uncertainty of each mean over splits (the last axis), NaN with too few; None if all have too few."""
    finite = np.isfinite(values)
    counts = finite.sum(axis=-1)
    enough = counts >= _FEWEST_SPLITS
    if not enough.any():
        return None
    fewest = int(counts[enough].min())
    known = np.where(finite, values, np.nan)
    variance = np.nanvar(np.where(enough[..., None], known, 0.0), axis=-1, ddof=1)
    error: Any = np.sqrt(shared.times * np.where(enough, variance, np.nan))
    method = f"standard error over {values.shape[-1]} splits, corrected for the stimuli that they share"
    if values.ndim > 1 or math.isnan(shared.times):  # time-resolved scores are not compared pairwise
        return Uncertainty(("stimuli",), error, method, dof=fewest - 1)
    from_mean = np.where(finite, known - np.nanmean(known), 0.0)
    influence = xr.DataArray(variable(UNIT, math.sqrt(shared.times / (fewest - 1)) * from_mean))
    return Uncertainty(("stimuli",), error, method, dof=fewest - 1, influence=influence, plan=shared.key)


def _of_median(values: np.ndarray) -> Uncertainty | None:
    """The uncertainty of each median over neuroids (the last axis), NaN with too few; None if all have too few."""
    counts = np.isfinite(values).sum(axis=-1)
    if counts.max() < 2:
        return None
    n = int(counts[counts > 1].min())
    method = f"standard error of the median over {n} neuroids"
    return Uncertainty(("neuroids",), _error_of_median(values), method, dof=n - 1)


def _error_of_median(values: np.ndarray) -> Any:
    """The standard error of the median over the last axis; NaN for a single value."""
    if values.ndim > 1:
        return np.apply_along_axis(_error_of_median, -1, values)
    defined = values[np.isfinite(values)]
    n = len(defined)
    k = math.floor(n / 2 - _REACH * math.sqrt(n) / 2)
    if k >= 1 and n == len(values):
        ordered = np.sort(values)
        return float(ordered[-k - 1] - ordered[k]) / (2 * _REACH)
    # Too few for order statistics, or some undefined: normal approximation.
    return math.sqrt(math.pi / 2) * float(defined.std(ddof=1)) / math.sqrt(n) if n > 1 else math.nan


def over_neuroids(raw: np.ndarray, coords: Mapping[str, Any], provenance: Provenance) -> Score:
    """Median over neuroids on a fixed split, with its standard error from a bootstrap over neuroids."""
    labelled = xr.DataArray(np.asarray(raw, float), dims=[NEUROID], coords=dict(coords))
    made: dict[str, Any] = {"formula": "r", "n_units": len(raw), "provenance": provenance}
    return mean_score(labelled, NEUROID, center="median", kind="bootstrap", **made)


def error_over(
    values: np.ndarray,
    what: str,
    *,
    center: Center = "mean",
    kind: ErrorKind = "standard error",
    ddof: int | None = None,
) -> dict[str, Any]:
    """The ``error``, ``error_kind`` and ``uncertainty`` of a mean over the last axis, as for :func:`mean_score`.

    With several means, the error is NaN for those without one. The uncertainty is that of the mean (or the median) as
    an estimate. It is None for a standard deviation, which describes values that share their data.

    Example:
        >>> found = error_over(np.array([0.25, 0.75, np.nan]), "subjects")
        >>> found["error"], found["error_kind"], found["uncertainty"].over
        (0.25, 'standard error over 2 of 3 subjects, ddof 1', ('subjects',))
        >>> error_over(np.array([0.25, np.nan]), "splits")["error_kind"]
        'none: it takes two splits with a value, there is 1 of 2'
    """
    values = np.asarray(values, float)
    ddof = int(kind != "standard deviation") if ddof is None else ddof
    finite, total = np.isfinite(values), values.shape[-1]
    counts = finite.sum(axis=-1)
    fewest, most = int(counts.min()), int(counts.max())
    if most < 2:
        return {"error": None, "error_kind": no_error(what, most, total), "uncertainty": None}
    error = _spread(values, center, kind, ddof)
    named = f"standard error of the {center}, {_BOOTSTRAPS} bootstraps" if kind == "bootstrap" else kind
    number = f"{fewest} to {most}" if fewest < most else f"{most}" if most == total else f"{most} of {total}"
    said: dict[str, Any] = {"error": error, "error_kind": f"{named} over {number} {what}, ddof {ddof}"}
    if kind == "standard deviation":  # of values that share their data, such as draws and random halves
        return said | {"uncertainty": None}
    # No formula for the error of a median holds for few values.
    sure: tuple[ErrorKind, int] = ("standard error", 1) if center == "mean" else ("bootstrap", 1)
    of_estimate = error if (kind, ddof) == sure else _spread(values, center, *sure)
    method, dof = f"standard error of the {center} over {most} {what}", int(counts[counts > 1].min()) - 1
    known = Uncertainty((what,), of_estimate, method, dof=dof, **said)
    return known.as_fields(np.max(np.abs(values), axis=-1, where=finite, initial=0.0))


def _spread(values: np.ndarray, center: Center, kind: ErrorKind, ddof: int) -> Any:
    """The error of the centre over the last axis; NaN for a single value."""
    if values.ndim > 1:
        return np.apply_along_axis(_spread, -1, values, center, kind, ddof)
    defined = values[np.isfinite(values)]
    n = len(defined)
    if n < 2:
        return math.nan
    if kind == "bootstrap":
        defined = _CENTERS[center](defined[np.random.default_rng(0).integers(0, n, (_BOOTSTRAPS, n))])
    return float(defined.std(ddof=ddof)) / (math.sqrt(n) if kind == "standard error" else 1)


def _centre_and_error(
    numbers: np.ndarray, what: str, center: Center = "mean", kind: ErrorKind = "standard error", ddof: int | None = None
) -> dict[str, Any]:
    """The fields of a score that is the mean or median over the last axis."""
    centre = _CENTERS[center](numbers)
    return {
        "value": centre if numbers.ndim > 1 else float(centre),
        **error_over(numbers, what, center=center, kind=kind, ddof=ddof),
        "n_undefined": int(_undefined(numbers).sum()),
    }


def spread_or_none(score: Score, what: str) -> Score:
    """The score without its standard deviation if that is 0, because equal values do not show how much they could vary.

    Args:
        score: its error is the standard deviation of some values.
        what: plural noun for these values, used in ``error_kind``.

    Example:
        >>> spread_or_none(Score(0.5, error=0.0), "random halves").error_kind
        'none: values over random halves are equal up to rounding (their standard deviation)'
    """
    if score.error is None:
        return score
    none = Uncertainty((what,), score.error, "their standard deviation").none_because(score.value)
    return replace(score, error=None, error_kind=f"none: {none}", uncertainty=None) if none else score


def _labelled_like(array: xr.DataArray, axes: Sequence[str], found: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a score with the labels of an array's other dimensions; plain numbers if it has none."""
    if array.ndim == len(axes):
        return dict(found)
    left = array.isel(dict.fromkeys(axes, 0))
    left = left.drop_vars(
        [n for n, c in array.coords.items() if set(axes) & set(c.dims) or not c.dims], errors="ignore"
    )

    def labelled(numbers: Any) -> xr.DataArray:
        return xr.DataArray(np.asarray(numbers), left.coords, left.dims)

    error, known = found["error"], found["uncertainty"]
    error = None if error is None else labelled(error)
    known = None if known is None else replace(known, standard_error=labelled(known.standard_error), error=error)
    return {**found, "value": labelled(found["value"]), "error": error, "uncertainty": known}


def _with_reason(fields: dict[str, Any], what: str) -> dict[str, Any]:
    """Fields of a score, with the reason in the provenance if the score is undefined."""
    made = Provenance.of(fields.get("provenance", {}))
    if made.reason is not None or not np.isnan(np.asarray(fields["value"], float)).all():
        return fields
    return {**fields, "provenance": replace(made, reason=f"none of the {what} has a value")}


def no_error(what: str, defined: int, of: int) -> str:
    """The ``error_kind`` of a mean with too few values for an error."""
    return f"none: it takes two {what} with a value, there {'is' if defined == 1 else 'are'} {defined} of {of}"


def _of_scores(scores: Mapping[str, Score], mean: Callable[[dict[str, Score]], Score]) -> dict[str, Any]:
    """The fields of a mean of scores besides its value and error."""
    each = list(scores.values())
    known = mean_of_paired([score.uncertainty for score in each if not np.isnan(score.values).all()])
    drawn = {} if known is None else {"uncertainty": known, "error": None, "error_kind": ""}
    units = [score.n_units for score in each if score.n_units is not None]
    parts = {
        name: {key: part for key, score in scores.items() if (part := getattr(score, name)) is not None}
        for name in ("unceiled", "ceiling")
    }
    return {
        **drawn,
        **{name: mean(part) if len(part) == len(each) else None for name, part in parts.items()},
        "formula": each[0].formula,
        "n_units": sum(units) if units else None,
        # If a whole score is undefined, all its units count as undefined.
        "n_undefined": sum((score.n_units or 1) if math.isnan(float(score)) else score.n_undefined for score in each),
        "provenance": provenance_of_mean(each).with_details(
            scores={name: float(score) for name, score in scores.items()}
        ),
    }


def _undefined(values: np.ndarray) -> np.ndarray:
    """Whether any value at each position of the last axis is not finite."""
    return np.asarray(np.any(~np.isfinite(values.reshape(-1, values.shape[-1])), axis=0))


def jackknife_error(without: np.ndarray) -> dict[str, Any]:
    """The ``error``, ``error_kind`` and ``uncertainty`` of a score by the delete-a-group jackknife over stimuli.

    Source: Quenouille 1956, Biometrika 43.
    """
    groups, defined = len(without), int(np.isfinite(without).sum())
    method, error = f"jackknife of {groups} groups", math.nan
    if groups >= 2 and defined == groups:
        error = float(np.linalg.norm(jackknife_deviations(without)))
    else:
        method += f": without one of them, {defined} of {groups} are defined"
    return Uncertainty(("stimuli",), error, method, dof=groups - 1).as_fields(np.abs(without).max(initial=0.0))


def jackknife_deviations(without: np.ndarray) -> np.ndarray:
    r"""A square root of the covariance that the delete-a-group jackknife estimates for scores.

    The covariance is :math:`\frac{g - 1}{g} \sum_k (s_k - \bar s)(s_k - \bar s)^T`, with the scores :math:`s_k`
    without group k.

    Args:
        without: the scores without each group, groups along the last axis.

    Source: Shao & Wu 1989, Annals of Statistics 17.

    Example:
        >>> jackknife_deviations(np.array([0.0, 1.0])).tolist()
        [-0.3535533905932738, 0.3535533905932738]
    """
    groups = without.shape[-1]
    return np.sqrt((groups - 1) / groups) * (without - without.mean(axis=-1, keepdims=True))


def nan_median(values: np.ndarray) -> np.ndarray:
    """Median of the finite values along the last axis; NaN, without a warning, where there are none."""
    return _of_finite(np.median, np.nanmedian, values)


def nan_mean(values: np.ndarray) -> np.ndarray:
    """Mean of the finite values along the last axis; NaN, without a warning, where there are none."""
    return _of_finite(np.mean, np.nanmean, values)


def _of_finite(of_all: Callable[..., Any], of_some: Callable[..., Any], values: np.ndarray) -> np.ndarray:
    mask = np.isfinite(values)
    if mask.all() and values.shape[-1]:  # NumPy's nan-functions are several times slower
        return np.asarray(of_all(values, axis=-1))
    finite = np.where(mask, values, np.nan)
    empty = np.asarray(np.isnan(finite).all(axis=-1))
    return np.where(empty, np.nan, of_some(np.where(empty[..., None], 0.0, finite), axis=-1))


def coords_on(assembly: xr.DataArray, *dims: str) -> dict[str, tuple[str, np.ndarray]]:
    """The coordinates that lie on any of these dimensions and no others."""
    return {
        str(n): (str(c.dims[0]), c.values) for n, c in assembly.coords.items() if c.dims and set(c.dims) <= set(dims)
    }


def neuroid_coords(assembly: xr.DataArray) -> dict[str, tuple[str, np.ndarray]]:
    """The coordinates on the neuroid dimension."""
    return coords_on(assembly, NEUROID)


_CENTERS: dict[Center, Callable[[np.ndarray], np.ndarray]] = {"mean": nan_mean, "median": nan_median}
