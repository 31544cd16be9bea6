"""Cross-validation and train/test kernels, for any mapping."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from bsjax.engine.batches import batched_map
from bsjax.engine.precision import at_full_precision
from bsjax.metrics.arrays import Features, Targets
from bsjax.metrics.correlation import pearson
from bsjax.metrics.determined import determined, determined_on_split, told_apart, varies
from bsjax.metrics.regression.centring import training_mask
from bsjax.metrics.regression.folds import Folds
from bsjax.metrics.regression.mapping import EFFECTIVE_DIMENSIONALITY as EFFECTIVE_DIMENSIONALITY
from bsjax.metrics.regression.mapping import Mapping, Report, of_features


def cross_validate(x: Features, y: Targets, folds: Folds, *, mapping: Mapping) -> Float[Array, "folds q"]:
    """Cross-validated predictivity: the correlation of predicted and measured targets on each fold's test stimuli.

    Args:
        x: features ``(stimuli, features)``.
        y: targets ``(stimuli, targets)``, rows in the order of ``x``.
        folds: the held-out and test stimuli of each fold (``make_folds``).
        mapping: the regression, e.g. ``Ridge(alpha=1.0)``.

    Returns:
        Pearson r ``(folds, targets)``, in the dtype of the inputs. NaN where a target or its prediction is constant
        over the test stimuli. NaN also where training does not determine the prediction: for a target that is constant
        over the training stimuli of a fold, and for test stimuli that differ only in features that are constant there.

    Source: Schrimpf et al. 2018, Brain-Score.

    Example:
        >>> import jax.numpy as jnp, numpy as np
        >>> from bsjax.metrics import Ridge, make_folds
        >>> x = jnp.asarray(np.random.RandomState(0).randn(40, 3))
        >>> folds = make_folds(40, [(np.arange(30), np.arange(30, 40))])
        >>> print(cross_validate(x, x @ jnp.ones((3, 2)), folds, mapping=Ridge(alpha=1e-3)).round(3))
        [[1. 1.]]
    """
    return cross_validate_and_report(x, y, folds, mapping=mapping)[0]


@at_full_precision
def cross_validate_and_report(
    x: Features, y: Targets, folds: Folds, *, mapping: Mapping
) -> tuple[Float[Array, "folds q"], Report]:
    """``cross_validate``, with a report.

    The report has the parameters that the mapping's traits name as ``reported``, for each fold. If the mapping prepares
    a Gram matrix, the report also has the effective dimensionality of the features.
    """
    predicted, report = predictions(x, y, folds, mapping)
    test, mask = where_tested(folds)
    told = determined(x, y, x)(*members(folds, len(x)))
    return jnp.where(told, pearson(predicted, y[test], axis=1, where=mask[:, :, None]), jnp.nan), report


@at_full_precision
def cross_validate_over_time(
    x: Float[Array, "n p t"], y: Float[Array, "n q t"], folds: Folds, *, mapping: Mapping
) -> Float[Array, "folds t q"]:
    """Cross-validated predictivity with one set of weights for all time bins, correlated in each bin separately.

    All bins of all stimuli are samples of a single regression, so weights and means are shared over time.

    Args:
        x: features ``(stimuli, features, time bins)``.
        y: targets ``(stimuli, targets, time bins)``.
        folds: folds over stimuli.
        mapping: the regression.

    Returns:
        Pearson r ``(folds, time bins, targets)`` over the test stimuli of each fold; NaN as in ``cross_validate``.

    Source: Schrimpf et al. 2018, Brain-Score.

    Example:
        >>> import jax.numpy as jnp, numpy as np
        >>> from bsjax.metrics import Ridge, make_folds
        >>> x = jnp.asarray(np.random.RandomState(0).randn(40, 3, 2))
        >>> folds = make_folds(40, [(np.arange(30), np.arange(30, 40))])
        >>> print(cross_validate_over_time(x, 2.0 * x, folds, mapping=Ridge(alpha=1e-3)).shape)
        (1, 2, 3)
    """
    bins = x.shape[2]
    samples = Folds(*_at_all_times(folds.held_out, folds.held_out_mask, bins))
    if folds.test is not None:
        samples = Folds(*samples[:2], *_at_all_times(folds.test, folds.test_mask, bins))
    of_x, of_y = _bins_as_samples(x), _bins_as_samples(y)
    predicted, _ = predictions(of_x, of_y, samples, mapping)
    test, mask = where_tested(folds)
    by_bin = predicted.reshape(*test.shape, bins, -1)
    trains, tests = members(samples, len(of_x))
    of_bins = (jnp.arange(len(of_x)) % bins)[None] == jnp.arange(bins)[:, None]
    pairs = trains.repeat(bins, axis=0), (tests[:, None] & of_bins[None]).reshape(-1, len(of_x))
    told = told_apart(of_x, of_x)(*pairs).reshape(-1, bins, 1) & varies(of_y, trains)[:, None]

    def of_fold(fold: tuple[Array, ...]) -> Float[Array, "t q"]:
        guess, rows, tested, told = fold
        r = pearson(guess, jnp.swapaxes(y[rows], 1, 2), axis=0, where=tested[:, None, None])
        return jnp.where(told, r, jnp.nan)

    # One fold after the other: a correlation needs several arrays as large as its inputs.
    return batched_map(of_fold, (by_bin, test, mask, told))


def train_test(
    x_train: Features, x_test: Float[Array, "m p"], y_train: Targets, y_test: Float[Array, "m q"], *, mapping: Mapping
) -> Float[Array, " q"]:
    """Predictivity on a fixed split: fitted on the training stimuli, correlated on the test stimuli.

    Args:
        x_train, x_test: features of the training and test stimuli.
        y_train, y_test: targets of the training and test stimuli.
        mapping: the regression, e.g. ``PLS(n_components=25)``.

    Returns:
        Pearson r ``(targets,)``; NaN where a target or its prediction is constant over the test stimuli, and where
        training does not determine the prediction, as in ``cross_validate``.

    Source: Schrimpf et al. 2018, Brain-Score.

    Example:
        >>> import numpy as np
        >>> from bsjax.metrics import Ridge
        >>> rng = np.random.default_rng(0)
        >>> x = jnp.asarray(rng.normal(size=(60, 5)))
        >>> y = x @ jnp.asarray(rng.normal(size=(5, 2)))
        >>> train_test(x[:40], x[40:], y[:40], y[40:], mapping=Ridge(0.01)).round(3).tolist()
        [1.0, 1.0]
    """
    return train_test_and_report(x_train, x_test, y_train, y_test, mapping=mapping)[0]


@at_full_precision
def train_test_and_report(
    x_train: Features, x_test: Float[Array, "m p"], y_train: Targets, y_test: Float[Array, "m q"], *, mapping: Mapping
) -> tuple[Float[Array, " q"], Report]:
    """``train_test``, with a report as in ``cross_validate_and_report``."""
    predicted, report = mapping.predict_split(x_train, y_train, x_test)
    told = determined_on_split(x_train, y_train, x_test)
    return jnp.where(told, pearson(predicted, y_test), jnp.nan), report


def predictions(x: Features, y: Targets, folds: Folds, mapping: Mapping) -> tuple[Float[Array, "folds m q"], Report]:
    """Predictions of each fold for its test stimuli, and the mapping's report."""
    held_out, mask = jnp.asarray(folds.held_out), jnp.asarray(folds.held_out_mask)
    if folds.test is None:
        return mapping.cross_predict(x, y, held_out, mask)
    prepared = mapping.prepare(x, y)
    params = mapping.fit(prepared, held_out, mask)
    predicted = mapping.predict(params, prepared.embedding[where_tested(folds)[0]])
    report = {name: getattr(params, name) for name in mapping.traits.reported}
    return predicted, report | of_features(mapping.gram(prepared), len(held_out))


def where_tested(folds: Folds) -> tuple[Int[Array, "folds m"], Bool[Array, "folds m"]]:
    """Indices of the test stimuli of every fold, and their mask."""
    pair = folds[:2] if folds.test is None else folds[2:]
    return jnp.asarray(pair[0]), jnp.asarray(pair[1])


def members(folds: Folds, n: int) -> tuple[Bool[Array, "folds n"], Bool[Array, "folds n"]]:
    """Masks of the training and of the test stimuli of each fold."""
    held_out, mask = jnp.asarray(folds.held_out), jnp.asarray(folds.held_out_mask)
    trains = training_mask(n, held_out, mask, jnp.dtype("float32")) > 0
    if folds.test is None:
        return trains, ~trains
    return trains, training_mask(n, *where_tested(folds), jnp.dtype("float32")) < 1


def _bins_as_samples(values: Float[Array, "n u t"]) -> Float[Array, "nt u"]:
    """Samples ordered by stimulus, then by time bin, so that the bins of a stimulus are contiguous."""
    return jnp.swapaxes(values, 1, 2).reshape(-1, values.shape[1])


def _at_all_times(index: Any, mask: Any, bins: int) -> tuple[Int[Array, "folds mt"], Bool[Array, "folds mt"]]:
    """Rows of stimuli in all time bins, in the order of ``_bins_as_samples``."""
    rows = bins * jnp.asarray(index)[:, :, None] + jnp.arange(bins, dtype=jnp.int32)[None, None]
    mask = jnp.broadcast_to(jnp.asarray(mask)[:, :, None], rows.shape)
    return rows.reshape(len(rows), -1), mask.reshape(len(rows), -1)
