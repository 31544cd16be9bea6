"""The one cross-validation kernel and the one train/test kernel, for any mapping."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from bsjax.metrics.correlation import pearson
from bsjax.metrics.folds import Folds, no_folds
from bsjax.metrics.mapping import Mapping


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
    prepared = mapping.prepare(x, y)
    params = mapping.fit(prepared, jnp.asarray(folds.held_out), jnp.asarray(folds.held_out_mask))
    test = jnp.asarray(folds.test)
    predicted = mapping.predict(params, prepared.embedding[test])
    return pearson(predicted, y[test], axis=1, where=jnp.asarray(folds.test_mask)[:, :, None])


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
    prepared = mapping.prepare(x_train, y_train)
    folds = no_folds()
    params = mapping.fit(prepared, jnp.asarray(folds.held_out), jnp.asarray(folds.held_out_mask))
    predicted = mapping.predict(params, mapping.embed(prepared, x_test)[None])
    return pearson(predicted[0], y_test)
