"""Correlations that training decides: of targets that vary among the training stimuli, by features that do.

A target that does not vary there is predicted the same for all stimuli, and so are stimuli that differ only in features
that do not vary there. What a fit makes of either is rounding, which correlates with anything. It is told by the values
that the fit is made from, and not by the predictions: those of a large penalty are small as well, and right.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, UInt

from bsjax.engine.batches import batched_map
from bsjax.engine.programs.fallbacks import cond
from bsjax.engine.tolerances import CONSTANT, ROTATED, rounding


def determined(
    x: Float[Array, "n p"], y: Float[Array, "n q"], x_test: Float[Array, "m p"]
) -> Callable[[Bool[Array, "folds n"], Bool[Array, "folds m"]], Bool[Array, "folds q"]]:
    """Tells, from the stimuli that train each fold and those that it is tested on, which targets training decides.

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


def determined_on_split(
    x_train: Float[Array, "n p"], y_train: Float[Array, "n q"], x_test: Float[Array, "m p"]
) -> Bool[Array, " q"]:
    """Which targets a fit to all of these stimuli decides for all of those."""
    everything = (jnp.ones((1, len(x)), bool) for x in (x_train, x_test))
    return determined(x_train, y_train, x_test)(*everything)[0]


def varies(y: Float[Array, "n q"], trains: Bool[Array, "folds n"]) -> Bool[Array, "folds q"]:
    """Whether a target varies among the stimuli that train each fold."""
    y = jax.lax.stop_gradient(y)
    off = rounding(y, CONSTANT) * jnp.max(jnp.abs(y), axis=0)
    return batched_map(lambda train: _differ(y, train, off), trains)


def told_apart(
    x: Float[Array, "n p"], x_test: Float[Array, "m p"]
) -> Callable[[Bool[Array, "folds n"], Bool[Array, "folds m"]], Bool[Array, " folds"]]:
    """Tells whether the test stimuli of a fold differ in any of the features that vary among those that train it."""
    x, x_test = jax.lax.stop_gradient((x, x_test))
    # Features may have been rotated.
    off = rounding(x, CONSTANT) * jnp.abs(x[0]) + rounding(x, ROTATED) * jnp.max(jnp.abs(x - x[:1]))

    def told(trains: Bool[Array, "folds n"], tests: Bool[Array, "folds m"]) -> Bool[Array, " folds"]:
        # Mostly two stimuli of each tell, and no others have to be looked at.
        trained, tested = (_ends_differ(*side, off) for side in ((x, trains), (x_test, tests)))
        both = trains, tests
        by_two = jnp.any(trained & tested, axis=1)

        def by_all() -> Bool[Array, " folds"]:
            return batched_map(lambda of: jnp.any(_differ(x, of[0], off) & _differ(x_test, of[1], off)), both)

        return cond(~jnp.all(by_two), by_all, lambda: by_two)

    return told


def _differ(values: Float[Array, "n u"], where: Bool[Array, " n"], off: Float[Array, " u"]) -> Bool[Array, " u"]:
    """Whether any of the marked rows is another than the first of them."""
    differs = jnp.abs(values - values[_first(where[None])]) > off[None]
    return jnp.any(differs & where[:, None], axis=0)


def _ends_differ(
    values: Float[Array, "n u"], where: Bool[Array, "folds n"], off: Float[Array, " u"]
) -> Bool[Array, "folds u"]:
    """Whether the first and the last of the rows that are marked for a fold differ."""
    last = jnp.uint32(len(values) - 1) - _first(where[:, ::-1])
    return jnp.abs(values[_first(where)] - values[last]) > off[None]


def _first(where: Bool[Array, "folds n"]) -> UInt[Array, " folds"]:
    return jax.lax.argmax(where, 1, jnp.uint32)
