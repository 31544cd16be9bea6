"""The one cross-validation kernel and the one train/test kernel, for any mapping."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from bsjax.metrics.correlation import pearson
from bsjax.metrics.folds import Folds, no_folds
from bsjax.metrics.mapping import Mapping

Report = dict[str, Array]


def cross_validate(
    x: Float[Array, "n p"], y: Float[Array, "n q"], folds: Folds, *, mapping: Mapping
) -> Float[Array, "folds q"]:
    """Cross-validated predictivity: the correlation of predicted and measured targets on each fold's test stimuli.

    Args:
        x: features ``(stimuli, features)``.
        y: targets ``(stimuli, targets)``, rows in the order of ``x``.
        folds: which stimuli each fold leaves out and is tested on (``make_folds``).
        mapping: the regression, e.g. ``Ridge(alpha=1.0)``.

    Returns:
        Pearson r ``(folds, targets)``, in the dtype of the inputs; NaN where a target or its prediction is constant
        over the test stimuli.

    Example:
        >>> import jax.numpy as jnp, numpy as np
        >>> from bsjax.metrics import Ridge, make_folds
        >>> x = jnp.asarray(np.random.RandomState(0).randn(40, 3))
        >>> folds = make_folds(40, [(np.arange(30), np.arange(30, 40))])
        >>> print(cross_validate(x, x @ jnp.ones((3, 2)), folds, mapping=Ridge(alpha=1e-3)).round(3))
        [[1. 1.]]
    """
    return cross_validate_and_report(x, y, folds, mapping=mapping)[0]


def cross_validate_and_report(
    x: Float[Array, "n p"], y: Float[Array, "n q"], folds: Folds, *, mapping: Mapping
) -> tuple[Float[Array, "folds q"], Report]:
    """``cross_validate``, and what the mapping has chosen in each fold: its ``reported`` parameters by name."""
    params, embedding = _fit(x, y, folds, mapping)
    test = jnp.asarray(folds.test)
    predicted = mapping.predict(params, embedding[test])
    r = pearson(predicted, y[test], axis=1, where=jnp.asarray(folds.test_mask)[:, :, None])
    return r, {name: getattr(params, name) for name in mapping.reported}


def cross_validate_over_time(
    x: Float[Array, "n p t"], y: Float[Array, "n q t"], folds: Folds, *, mapping: Mapping
) -> Float[Array, "folds t q"]:
    """Cross-validated predictivity with one set of weights for all time bins, correlated in each bin by itself.

    All bins of a stimulus are samples of one regression, so that weights and means are shared over time.

    Args:
        x: features ``(stimuli, features, time bins)``.
        y: targets ``(stimuli, targets, time bins)``.
        folds: over stimuli.
        mapping: the regression.

    Returns:
        Pearson r ``(folds, time bins, targets)`` over each fold's test stimuli.

    Example:
        >>> import jax.numpy as jnp, numpy as np
        >>> from bsjax.metrics import Ridge, make_folds
        >>> x = jnp.asarray(np.random.RandomState(0).randn(40, 3, 2))
        >>> folds = make_folds(40, [(np.arange(30), np.arange(30, 40))])
        >>> print(cross_validate_over_time(x, 2.0 * x, folds, mapping=Ridge(alpha=1e-3)).shape)
        (1, 2, 3)
    """
    n, _, bins = x.shape
    samples = Folds(*_at_all_times(folds.held_out, folds.held_out_mask, n, bins), folds.test, folds.test_mask)
    params, embedding = _fit(_bins_as_samples(x), _bins_as_samples(y), samples, mapping)
    test, _ = _at_all_times(folds.test, folds.test_mask, n, bins)
    predicted = mapping.predict(params, embedding[test])
    by_bin = predicted.reshape(predicted.shape[0], bins, -1, predicted.shape[2])
    measured = jnp.moveaxis(y, 2, 0)[:, jnp.asarray(folds.test)].swapaxes(0, 1)
    return pearson(by_bin, measured, axis=2, where=jnp.asarray(folds.test_mask)[:, None, :, None])


def train_test(
    x_train: Float[Array, "n p"],
    x_test: Float[Array, "m p"],
    y_train: Float[Array, "n q"],
    y_test: Float[Array, "m q"],
    *,
    mapping: Mapping,
) -> Float[Array, " q"]:
    """Predictivity on a fixed split: fitted on the training stimuli, correlated on the test stimuli.

    Args:
        x_train, x_test: features of the training and test stimuli.
        y_train, y_test: targets of the training and test stimuli.
        mapping: the regression, e.g. ``PLS(n_components=25)``.

    Returns:
        Pearson r ``(targets,)``; NaN where a target or its prediction is constant over the test stimuli.
    """
    return train_test_and_report(x_train, x_test, y_train, y_test, mapping=mapping)[0]


def train_test_and_report(
    x_train: Float[Array, "n p"],
    x_test: Float[Array, "m p"],
    y_train: Float[Array, "n q"],
    y_test: Float[Array, "m q"],
    *,
    mapping: Mapping,
) -> tuple[Float[Array, " q"], Report]:
    """``train_test``, and what the mapping has chosen: its ``reported`` parameters by name."""
    prepared = mapping.prepare(x_train, y_train)
    folds = no_folds()
    params = mapping.fit(prepared, jnp.asarray(folds.held_out), jnp.asarray(folds.held_out_mask))
    predicted = mapping.predict(params, mapping.embed(prepared, x_test)[None])
    return pearson(predicted[0], y_test), {name: getattr(params, name)[0] for name in mapping.reported}


def _fit(x: Float[Array, "n p"], y: Float[Array, "n q"], folds: Folds, mapping: Mapping) -> tuple[Any, Array]:
    prepared = mapping.prepare(x, y)
    params = mapping.fit(prepared, jnp.asarray(folds.held_out), jnp.asarray(folds.held_out_mask))
    return params, prepared.embedding


def _bins_as_samples(values: Float[Array, "n u t"]) -> Float[Array, "tn u"]:
    return jnp.moveaxis(values, 2, 0).reshape(-1, values.shape[1])


def _at_all_times(index: Any, mask: Any, n: int, bins: int) -> tuple[Array, Array]:
    """Rows of stimuli in every time bin: bin after bin, as ``_bins_as_samples`` lays them out."""
    offset = n * jnp.arange(bins, dtype=jnp.int32)[:, None]
    rows = jnp.asarray(index)[:, None, :] + offset[None]
    there = jnp.broadcast_to(jnp.asarray(mask)[:, None, :], rows.shape)
    # Padded places hold row 0, wherever they stand.
    flat = (rows.shape[0], -1)
    return jnp.where(there, rows, jnp.zeros_like(rows)).reshape(flat), there.reshape(flat)
