"""Detection of predictions that the training stimuli do not determine.

A target that is constant over the training stimuli is predicted to be constant. Test stimuli that differ only in
features that are constant over the training stimuli get the same prediction. The differences that a fit makes in
either case are rounding errors, whose correlations are meaningless. Such cases are detected from the values that the
fit is made from. The predictions themselves do not tell: those of a large penalty are also small, but valid.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, UInt

from bsjax.engine.batches import batched_map
from bsjax.engine.programs.fallbacks import cond
from bsjax.engine.tolerances import CONSTANT, ROTATED, rounding
from bsjax.metrics.arrays import Features, Mask, Targets


def determined(
    x: Features, y: Targets, x_test: Float[Array, "m p"]
) -> Callable[[Bool[Array, "folds n"], Bool[Array, "folds m"]], Bool[Array, "folds q"]]:
    """Returns a function from masks of training and test stimuli to the targets that training determines in each fold.

    Args:
        x, y: features and targets that folds are fitted to.
        x_test: features that they are tested on, ``x`` itself in a cross-validation.

    Example:
        >>> x, y = jnp.array([[1.0], [2.0], [4.0], [7.0]]), jnp.array([[0.0, 1.0], [0.0, 2.0], [1.0, 5.0], [2.0, 7.0]])
        >>> train = jnp.array([[True, True, False, False]])
        >>> print(determined(x, y, x)(train, ~train))
        [[False  True]]
    """
    told = told_apart(x, x_test)
    return lambda trains, tests: told(trains, tests)[:, None] & varies(y, trains)


def determined_on_split(x_train: Features, y_train: Targets, x_test: Float[Array, "m p"]) -> Bool[Array, " q"]:
    """The targets that a fit to all training stimuli determines for the test stimuli."""
    everything = (jnp.ones((1, len(x)), bool) for x in (x_train, x_test))
    return determined(x_train, y_train, x_test)(*everything)[0]


def varies(y: Targets, trains: Bool[Array, "folds n"]) -> Bool[Array, "folds q"]:
    """Whether each target varies over the training stimuli of each fold."""
    y = jax.lax.stop_gradient(y)
    off = rounding(y, CONSTANT) * jnp.max(jnp.abs(y), axis=0)
    return batched_map(lambda train: _differ(y, train, off), trains)


def told_apart(
    x: Features, x_test: Float[Array, "m p"]
) -> Callable[[Bool[Array, "folds n"], Bool[Array, "folds m"]], Bool[Array, " folds"]]:
    """Returns a function that tells whether test stimuli differ in a feature that varies over the training stimuli."""
    x, x_test = jax.lax.stop_gradient((x, x_test))
    # The second term allows for features that were rotated.
    off = rounding(x, CONSTANT) * jnp.abs(x[0]) + rounding(x, ROTATED) * jnp.max(jnp.abs(x - x[:1]))

    def told(trains: Bool[Array, "folds n"], tests: Bool[Array, "folds m"]) -> Bool[Array, " folds"]:
        # Two stimuli of each fold mostly suffice; all are compared only if they do not.
        trained, tested = (_ends_differ(*side, off) for side in ((x, trains), (x_test, tests)))
        both = trains, tests
        by_two = jnp.any(trained & tested, axis=1)

        def by_all() -> Bool[Array, " folds"]:
            return batched_map(lambda of: jnp.any(_differ(x, of[0], off) & _differ(x_test, of[1], off)), both)

        return cond(~jnp.all(by_two), by_all, lambda: by_two)

    return told


def _differ(values: Float[Array, "n u"], where: Mask, off: Float[Array, " u"]) -> Bool[Array, " u"]:
    """Whether any marked row differs from the first marked row, for each column."""
    differs = jnp.abs(values - values[_first(where[None])]) > off[None]
    return jnp.any(differs & where[:, None], axis=0)


def _ends_differ(
    values: Float[Array, "n u"], where: Bool[Array, "folds n"], off: Float[Array, " u"]
) -> Bool[Array, "folds u"]:
    """Whether the first and the last marked row of each fold differ, for each column."""
    last = jnp.uint32(len(values) - 1) - _first(where[:, ::-1])
    return jnp.abs(values[_first(where)] - values[last]) > off[None]


def _first(where: Bool[Array, "folds n"]) -> UInt[Array, " folds"]:
    return jax.lax.argmax(where, 1, jnp.uint32)
