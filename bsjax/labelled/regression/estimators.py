"""Regression by any object with ``fit`` and ``predict``, such as a scikit-learn pipeline, on the host."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float

from bsjax.engine.precision import precision
from bsjax.labelled.aggregate import neuroid_coords, of_splits, over_neuroids, over_splits
from bsjax.labelled.align import STIMULUS, aligned, finite_values, two_dimensional
from bsjax.labelled.metric import CrossValidated, Metric
from bsjax.labelled.regression.crossvalidation import check_strata, check_test_size, matched, on_fixed_split
from bsjax.labelled.score import Score
from bsjax.metrics import compiled, pearson
from bsjax.metrics.determined import determined_on_split


@dataclass(frozen=True)
class EstimatorRegression(CrossValidated):
    """Cross-validated regression by an estimator, with the splits, correlations and score of the other regressions.

    The estimator is fitted once per split by its own code on the host, which is many times slower than a compiled
    mapping; ``score.provenance["computed"]`` says so. For frequent use, write a mapping (``bsjax.register_mapping``).

    Args:
        estimator: has ``fit(x, y)`` and ``predict(x)`` for ``(stimuli, features)`` and ``(stimuli, neuroids)``. It is
            copied for each split by ``sklearn.base.clone`` if it has ``get_params``, and otherwise refitted in place.
        crossvalidation_kwargs: arguments of ``CrossValidation``; by default ten random splits of 90 % to 10 % of the
            stimuli, stratified by ``object_name``, seed 1.
        dtype: precision of the estimator's input, ``"float32"`` or ``"float64"``; by default float64 on CPU and
            float32 elsewhere.

    Example:
        >>> from sklearn.linear_model import Ridge
        >>> from bsjax import load_metric
        >>> values = np.random.default_rng(0).normal(size=(60, 4))
        >>> x = xr.DataArray(values, {"stimulus_id": ("presentation", range(60))}, ["presentation", "neuroid"])
        >>> unstratified = {"stratification_coord": None}
        >>> score = load_metric("regression", estimator=Ridge(0.1), crossvalidation_kwargs=unstratified)(x, 2 * x)
        >>> score.provenance["computed"], score > 0.99
        ('on the host, by Ridge(alpha=0.1)', True)
    """

    identifier = "regression"

    estimator: Any
    crossvalidation_kwargs: Mapping[str, Any] | None = field(default=None, hash=False)
    dtype: str | None = None

    def __post_init__(self) -> None:
        _check(self.estimator)
        super().__post_init__()

    def __call__(self, source: xr.DataArray, target: xr.DataArray) -> Score:
        """Scores how well ``source`` predicts ``target``; see ``CrossRegressedCorrelation``.

        Raises:
            ValueError: stimuli differ, repeat, or are too few; a coordinate is missing; values are NaN; or predictions
                have another shape than the targets.
        """
        source, target = two_dimensional(source, "source"), two_dimensional(target, "target")
        source = aligned(source, target, target_repeats=self.crossvalidation.unique_split_values)
        splits = self.crossvalidation.of(target)
        check_test_size(min(len(test) for _, test in splits))
        check_strata(source, target, self.crossvalidation.stratification_coord)
        x, y = finite_values(source, "source"), finite_values(target, "target")
        with precision(self.dtype) as dtype:
            x, y = np.asarray(x, dtype), np.asarray(y, dtype)
            raw = [_correlations(self.estimator, x[train], x[test], y[train], y[test]) for train, test in splits]
        made = self.provenance(details=_on_host(self.estimator))
        return over_splits(
            np.array(raw), neuroid_coords(target), made, shared=of_splits(splits, target[STIMULUS].values)
        )


@dataclass(frozen=True)
class EstimatorSplitRegression(Metric):
    """Regression by an estimator on a fixed split.

    Args:
        estimator, dtype: as in ``EstimatorRegression``.
    """

    identifier = "regression_split"

    estimator: Any
    dtype: str | None = None

    def __post_init__(self) -> None:
        _check(self.estimator)

    def __call__(
        self,
        source_train: xr.DataArray,
        source_test: xr.DataArray,
        target_train: xr.DataArray,
        target_test: xr.DataArray,
    ) -> Score:
        """Scores how well the source predicts the target; see ``TrainTestSplitCorrelation``.

        Raises:
            ValueError: stimuli differ, repeat, or are too few; neuroids differ between training and test; values are
                NaN; or predictions have another shape than the targets.
        """
        flat = on_fixed_split(source_train, source_test, target_train, target_test)
        check_test_size(len(flat["target_test"]))
        values = [finite_values(side, name) for name, side in matched(flat).items()]
        with precision(self.dtype) as dtype:
            raw = _correlations(self.estimator, *(np.asarray(side, dtype) for side in values))
        made = self.provenance(details=_on_host(self.estimator))
        return over_neuroids(raw, neuroid_coords(flat["target_test"]), made)


def _check(estimator: Any) -> None:
    missing = [name for name in ("fit", "predict") if not callable(getattr(estimator, name, None))]
    if missing or isinstance(estimator, type):
        what = f"the class {estimator.__name__}" if isinstance(estimator, type) else type(estimator).__name__
        raise ValueError(
            f"estimator must be an object with fit and predict, such as sklearn.linear_model.Ridge(), got {what}"
        )


def _on_host(estimator: Any) -> dict[str, str]:
    return {"computed": f"on the host, by {' '.join(repr(estimator).split())}"}


def _correlations(
    estimator: Any, x_train: np.ndarray, x_test: np.ndarray, y_train: np.ndarray, y_test: np.ndarray
) -> np.ndarray:
    """Correlations of predicted with measured test responses, per target."""
    from sklearn.base import clone

    cloned: Any = clone(estimator) if hasattr(estimator, "get_params") else estimator
    predicted = np.asarray((cloned.fit(x_train, y_train) or cloned).predict(x_test), y_test.dtype)
    if predicted.ndim == 1:  # a single target
        predicted = predicted[:, None]
    if predicted.shape != y_test.shape:
        raise ValueError(
            f"{type(estimator).__name__} predicts an array of shape {predicted.shape} for targets of shape "
            f"{y_test.shape}: it must predict all neuroids at once (see sklearn.multioutput.MultiOutputRegressor)"
        )
    return np.asarray(compiled(_pearson)(predicted, x_train, x_test, y_train, y_test))


def _pearson(
    predicted: Float[Array, "m q"],
    x_train: Float[Array, "n p"],
    x_test: Float[Array, "m p"],
    y_train: Float[Array, "n q"],
    y_test: Float[Array, "m q"],
) -> Float[Array, " q"]:
    """Pearson correlations; NaN where the training data do not determine a prediction."""
    return jnp.where(determined_on_split(x_train, y_train, x_test), pearson(predicted, y_test), jnp.nan)
