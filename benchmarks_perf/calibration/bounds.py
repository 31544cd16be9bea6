"""How often a score is further from the exact one than its error bound says, and how much larger bounds are.

``python -m benchmarks_perf.calibration.bounds --problems 10000`` scores small problems of varied shape and kind in
float32 and float64, compares each with an exact answer in extended precision, and keeps the counts in ``bounds.json``:
violations (there must be none), scores without a useful bound, and the median ratio of bound and error.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from scipy.optimize import nnls
from scipy.stats import rankdata
from sklearn.linear_model import LassoLars

from benchmarks_perf import report
from bsjax import load_metric
from bsjax.labelled.metric import with_error_bound
from bsjax.scoring.arrays import assemblies_of

_SPLITS = {"splits": 2, "train_size": 0.75, "stratification_coord": None}
_SHAPES = ((10, 4, 3), (24, 8, 5), (24, 60, 4))
# Those with fewer features than training stimuli, for metrics whose weights are not unique otherwise.
_FEW = _SHAPES[:2]
_EXACT = np.longdouble
_DTYPES = ("float32", "float64")
KEPT = Path(__file__).with_name("bounds.json")
# Problems of an iterative fit, which takes long, for so many of the others.
_FOR_ONE = 8


class Outcome(NamedTuple):
    """One score: its error, and its bound; NaN if there is no useful one. Both NaN where the score is undefined."""

    error: float
    bound: float


def counts(found: list[Outcome]) -> dict[str, Any]:
    """What is kept and printed of all scores of a metric in a precision."""
    error, bound = np.array(found).T
    bounded, defined = np.isfinite(bound), np.isfinite(error)
    ratios = bound[bounded] / np.maximum(error[bounded], np.finfo(float).tiny)
    return {
        "problems": len(error),
        "undefined": int((~defined).sum()),
        "without_useful_bound": int((defined & ~bounded).sum()),
        "bounded": int(bounded.sum()),
        "violations": int((error[bounded] > bound[bounded]).sum()),
        "median_bound": float(np.median(bound[bounded])),
        "largest_error": float(np.max(error[bounded], initial=0.0)),
        "median_bound_over_error": float(np.median(ratios)),
    }


def problem(seed: int, shape: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Features and responses of one of ten kinds: noise, ties, low rank, extreme scales, outliers, ..."""
    rng, (n, p, q) = np.random.default_rng([seed, *shape]), shape
    latent = rng.normal(size=(n, min(p, 5)))
    x = latent @ rng.normal(size=(latent.shape[1], p)) + rng.normal(size=(n, p))
    y = latent @ rng.normal(size=(latent.shape[1], q)) + rng.uniform(0.1, 3) * rng.normal(size=(n, q))
    small = 10.0 ** rng.uniform(-9, -1)
    kind = seed % 10
    if kind == 1:  # noise only
        y = rng.normal(size=(n, q))
    if kind == 2:  # low rank, nearly or exactly
        x = latent[:, :2] @ rng.normal(size=(2, p)) + (small * rng.normal(size=(n, p)) if seed % 20 < 10 else 0.0)
    if kind == 3:  # tiny or huge
        x, y = x * 10.0 ** rng.integers(-12, 12), y * 10.0 ** rng.integers(-12, 12)
    if kind == 4:  # ties
        x, y = np.round(x), np.round(y)
    if kind == 5:  # repeated stimuli, nearly or exactly
        x[n // 2 :], y[: n // 3] = x[: n - n // 2] + (small if seed % 20 < 10 else 0.0) * x[n // 2 :], y[0] + small
    if kind == 6:  # large means
        x, y = x + rng.normal(size=p) / small, y + 100.0
    if kind == 7:  # a stimulus apart
        x[0] *= 10.0 ** rng.uniform(1, 4)
    if kind == 8:  # heavy tails
        x, y = rng.standard_cauchy(size=(n, p)), rng.standard_cauchy(size=(n, q)) + x[:, :1]
    if kind == 9:  # units of very different variance
        x = x * 10.0 ** rng.uniform(-4, 2, size=p)
    return x, y


def _cosine(a: np.ndarray, b: np.ndarray) -> Any:
    return (a * b).sum(0) / np.sqrt((a * a).sum(0) * (b * b).sum(0))


def _cka(x: np.ndarray, y: np.ndarray, *, unbiased: bool) -> Any:
    sides = []
    for side in (x - x.mean(0), y - y.mean(0)):
        gram, n = side @ side.T, len(side)
        if unbiased:
            np.fill_diagonal(gram, 0)
            means = gram.sum(0) / (n - 2)
            gram = gram - means[:, None] - means + means.sum() / (n - 1)
            np.fill_diagonal(gram, 0)
        sides.append(gram.ravel())
    return _cosine(*sides)


def _rdm(x: np.ndarray, y: np.ndarray, *, dissimilarity: str, comparison: str) -> Any:
    vectors = []
    for side in (x, y):
        if dissimilarity in ("correlation", "cosine"):
            side = side - side.mean(1)[:, None] if dissimilarity == "correlation" else side
            side = side / np.sqrt((side * side).sum(1))[:, None]
        pairs = ((side[:, None] - side[None]) ** 2).sum(2)[np.triu_indices(len(side), 1)]
        pairs = rankdata(pairs) if comparison == "spearman" else pairs
        vectors.append(pairs if comparison == "cosine" else pairs - pairs.mean())
    return _cosine(*vectors)


def _least_squares(x: np.ndarray, y: np.ndarray, alpha: Any) -> np.ndarray:
    """Weights of ridge regression by a QR decomposition: Gram-Schmidt, each column twice."""
    p = x.shape[1]
    rows = np.concatenate([x, np.sqrt(_EXACT(alpha)) * np.eye(p, dtype=_EXACT)])
    right = np.concatenate([y, np.zeros((p, y.shape[1]), _EXACT)])
    q, r = rows.copy(), np.zeros((p, p), _EXACT)
    for k in range(p):
        for _ in range(2):
            along = q[:, :k].T @ q[:, k]
            r[:k, k] += along
            q[:, k] -= q[:, :k] @ along
        r[k, k] = np.sqrt((q[:, k] ** 2).sum())
        q[:, k] /= r[k, k]
    weights = q.T @ right
    for k in reversed(range(p)):
        weights[k] = (weights[k] - r[k, k + 1 :] @ weights[k + 1 :]) / r[k, k]
    return weights


def _sparse(x: np.ndarray, y: np.ndarray, alpha: float, l1_ratio: float, positive: bool) -> np.ndarray:
    """Weights of an elastic net: which are not zero by active sets, their values in extended precision.

    NaN where they do not satisfy the conditions of the minimum, which hold for no other weights.
    """
    n, p = x.shape
    l1, l2 = (n * _EXACT(alpha) * _EXACT(share) for share in (l1_ratio, 1 - l1_ratio))
    rows = np.concatenate([x, np.sqrt(l2) * np.eye(p, dtype=_EXACT)])
    gram, made = rows.T @ rows, np.zeros((p, y.shape[1]), _EXACT)
    for j, target in enumerate(np.concatenate([y, np.zeros((p, y.shape[1]), _EXACT)]).T):
        plain = rows.astype(float), target.astype(float)
        lars = LassoLars(float(l1) / len(rows), fit_intercept=False)
        signs = np.sign(nnls(*plain)[0] if positive else lars.fit(*plain).coef_)
        kept, right = np.flatnonzero(signs), rows.T @ target
        system = gram[np.ix_(kept, kept)]
        for _ in range(6 * bool(len(kept))):
            left = right[kept] - l1 * signs[kept] - system @ made[kept, j]
            made[kept, j] += np.linalg.lstsq(system.astype(float), left.astype(float))[0]
        slopes = right - gram @ made[:, j]
        pulls = slopes if positive else np.abs(slopes)
        unsure = 1e-13 * np.abs(right).max()
        minimal = (pulls <= l1 + unsure).all() and (np.sign(made[:, j]) == signs).all()
        minimal &= bool((np.abs(slopes[kept] - l1 * signs[kept]) <= unsure).all())
        made[:, j] = made[:, j] if minimal else np.nan
    return made


def _correlations(x: np.ndarray, y: np.ndarray, splits: Any, fit: Callable[..., np.ndarray]) -> np.ndarray:
    raw = []
    for train, test in splits:
        mean_x, mean_y = x[train].mean(0), y[train].mean(0)
        predicted = (x[test] - mean_x) @ fit(x[train] - mean_x, y[train] - mean_y)
        raw.append(_cosine(predicted - predicted.mean(0), y[test] - y[test].mean(0)))
    return np.array(raw, float)


@dataclass(frozen=True, eq=False)
class Case:
    """A metric with settings, and its exact answer: of both sides, or of the training data to weights."""

    name: str
    settings: dict[str, Any]
    answer: Callable[..., Any]
    regression: bool = False
    iterative: bool = False
    shapes: tuple[tuple[int, int, int], ...] = _SHAPES

    def __str__(self) -> str:
        return ", ".join([self.name, *map(str, self.settings.values())])

    def metric(self, dtype: str) -> Any:
        """The metric that is scored."""
        splits = {"crossvalidation_kwargs": _SPLITS} if self.regression else {}
        return load_metric(self.name, dtype=dtype, **self.settings, **splits)

    def exact(self, source: xr.DataArray, target: xr.DataArray) -> float:
        """The exact score; NaN where it is undefined, or rounding of the data decides it."""
        double = self.metric("float64")
        score: Any = double(source, target)
        x, y = (side.values.astype(_EXACT) for side in (source, target))
        if not self.regression:
            return float(self.answer(x, y)) if np.isfinite(float(score)) else np.nan
        found, none = _correlations(x, y, double.folds_of(target), self.answer), np.isnan(score.raw.values)
        if np.isnan(found[~none]).any():  # no exact answer is known
            return np.nan
        return float(np.nanmean(np.nanmedian(np.where(none, np.nan, found), axis=1)))


_RDMS = (("correlation", "spearman"), ("euclidean", "spearman"), ("correlation", "corr"), ("sqeuclidean", "cosine"))
CASES = (
    Case("cka", {}, partial(_cka, unbiased=True)),
    Case("cka_biased", {}, partial(_cka, unbiased=False)),
    *(
        Case("rdm", {"dissimilarity": one, "comparison": other}, partial(_rdm, dissimilarity=one, comparison=other))
        for one, other in _RDMS
    ),
    Case("ridge", {}, partial(_least_squares, alpha=1.0), True),
    Case("linear_predictivity", {}, partial(_least_squares, alpha=0.0), True, False, _FEW),
    Case("elastic_net", {"alpha": 0.1}, partial(_sparse, alpha=0.1, l1_ratio=0.5, positive=False), True, True),
    Case("lasso", {"alpha": 0.1}, partial(_sparse, alpha=0.1, l1_ratio=1.0, positive=False), True, True, _FEW),
    Case("nnls", {}, partial(_sparse, alpha=0.0, l1_ratio=0.0, positive=True), True, True, _FEW),
)


def outcome(case: Case, dtype: str, source: xr.DataArray, target: xr.DataArray, exact: float) -> Outcome:
    """The error and the bound of one score; both NaN if the score or the exact answer is."""
    metric = case.metric(dtype)
    score = metric(source, target)
    error, bound = abs(float(score) - exact), np.nan
    if not np.isfinite(error):
        return Outcome(np.nan, np.nan)
    with suppress(ValueError):
        bound = with_error_bound(score, metric, source, target).provenance["error_bound"]
    return Outcome(error, bound)


def outcomes(case: Case, shape: tuple[int, int, int], seeds: range, dtypes: tuple[str, ...]) -> Iterator[list[Outcome]]:
    """Those of every problem, in each precision."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for seed in seeds:
            x, y = problem(seed, shape)
            source, target = assemblies_of({"X": x, "Y": y})
            exact = case.exact(source, target)
            yield [outcome(case, dtype, source, target, exact) for dtype in dtypes]


def main() -> int:
    """Measure, print and keep; the number of violations is the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=10_000)
    asked = parser.parse_args().problems
    shares = {case: 1 if case.iterative else _FOR_ONE for case in CASES}
    unit = -(-asked // sum(share * len(case.shapes) for case, share in shares.items()))
    rows = []
    for case, share in shares.items():
        every = [one for shape in case.shapes for one in outcomes(case, shape, range(share * unit), _DTYPES)]
        for dtype, found in zip(_DTYPES, zip(*every, strict=True), strict=True):
            rows.append({"metric": str(case), "dtype": dtype, **counts(list(found))})
            print(rows[-1], flush=True)
    violations = sum(row["violations"] for row in rows)
    problems = sum(row["problems"] for row in rows) // len(_DTYPES)
    result = {"row": "bounds", "problems": problems, "violations": violations, "bounds": rows}
    KEPT.write_text(json.dumps(result | {"environment": report.environment()}, indent=2) + "\n")
    print(f"{violations} violations in {problems:,} problems, kept in {KEPT.name}")
    return violations


if __name__ == "__main__":
    sys.exit(main())
