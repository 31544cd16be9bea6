"""Similarities by matching single units of two representations."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from bsjax.engine.host_calls import host_call
from bsjax.engine.precision import at_full_precision
from bsjax.engine.programs.platforms import primitive
from bsjax.metrics.numerics import deviations, inverse_root, masked_mean


@at_full_precision
def one_to_one(
    x: Float[Array, "n p"], y: Float[Array, "n q"], *, where: Bool[Array, " n"] | None = None
) -> Float[Array, ""]:
    r"""Mean correlation of units that are matched one to one, by the assignment with the largest mean.

    .. math:: \max_\pi \frac{1}{m} \sum_{i=1}^m \mathrm{corr}(x_i, y_{\pi(i)}),\quad m = \min(p, q)

    A rotation of the units changes it: it asks whether single units, not only populations, are alike. Unrelated
    responses to few stimuli score far above 0, because matches are chosen and evaluated on the same stimuli.

    Args:
        x: responses ``(stimuli, units)``.
        y: responses ``(stimuli, units)`` to the same stimuli in the same order; units may differ in number.
        where: True where a stimulus counts; all if None.

    Returns:
        A scalar from -1 to 1 in the dtype of the inputs; a unit that is constant over stimuli correlates by 0 with
        any. NaN where a side has only such units. The gradient is that at a fixed assignment.

    Source: Li et al. 2015, "Convergent Learning"; Khosla & Williams 2024.

    Example:
        >>> x = jnp.array([[0.0, 1.0, 4.0], [1.0, 3.0, 1.0], [2.0, 0.0, 0.0], [5.0, 1.0, 2.0]])
        >>> print(f"{one_to_one(x, 2.0 * x[:, ::-1]):.3f}")
        1.000
    """
    correlations, constant = _correlations(x, y, where)
    few = correlations if x.shape[1] <= y.shape[1] else correlations.T
    partner = assignment(jax.lax.stop_gradient(few))
    matched = jnp.take_along_axis(few, partner[:, None], axis=1)
    return jnp.where(constant, jnp.nan, jnp.mean(matched))


@at_full_precision
def semi_matching(
    x: Float[Array, "n p"], y: Float[Array, "n q"], *, where: Bool[Array, " n"] | None = None
) -> Float[Array, ""]:
    r"""Mean correlation of each unit of ``y`` with the unit of ``x`` that correlates best with it.

    .. math:: \frac{1}{q} \sum_j \max_i \mathrm{corr}(x_i, y_j)

    Several units of ``y`` may share a unit of ``x``, so that it is not symmetric. Matches are chosen and evaluated on
    the same stimuli, see :func:`one_to_one`; ``neuron_to_neuron`` chooses them on training stimuli.

    Args:
        x: responses ``(stimuli, units)`` among which partners are chosen.
        y: responses ``(stimuli, units)`` to the same stimuli in the same order.
        where: True where a stimulus counts; all if None.

    Returns:
        A scalar from -1 to 1 in the dtype of the inputs, over the units of ``y`` that vary; NaN where none does, or
        where no unit of ``x`` does.

    Source: Li et al. 2015, "Convergent Learning"; Khosla & Williams 2024.

    Example:
        >>> x = jnp.array([[0.0, 1.0, 4.0], [1.0, 3.0, 1.0], [2.0, 0.0, 0.0], [5.0, 1.0, 2.0]])
        >>> print(f"{semi_matching(x, x[:, :1]):.3f}")
        1.000
    """
    correlations, constant = _correlations(x, y, where)
    varies = ~deviations(y, None if where is None else where[:, None], axis=0).constant[0]
    found, _ = masked_mean(jnp.max(correlations, axis=0), varies, axis=0)
    return jnp.where(constant, jnp.nan, found[0])


def _correlations(
    x: Float[Array, "n p"], y: Float[Array, "n q"], where: Bool[Array, " n"] | None
) -> tuple[Float[Array, "p q"], Bool[Array, ""]]:
    """Correlations of all pairs of units, 0 for constant ones, and whether a side has only constant units."""
    counted = None if where is None else where[:, None]
    sides = [deviations(side, counted, axis=0) for side in (x, y)]
    one, other = (side.values * inverse_root(side.squares, ~side.constant) for side in sides)
    return one.T @ other, jnp.all(sides[0].constant) | jnp.all(sides[1].constant)


@primitive
def assignment(gains: Float[Array, "m q"]) -> Int[Array, " m"]:
    """A different column for each row, so that the sum of the chosen entries is the largest.

    Args:
        gains: no more rows than columns; finite numbers.

    Source: Kuhn 1955 (the Hungarian algorithm); Crouse 2016 (shortest augmenting paths, on a CPU).

    Example:
        >>> print(assignment(jnp.array([[1.0, 2.0], [0.0, 3.0]])))
        [0 1]
    """
    from optax.assignment import hungarian_algorithm

    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        rows, columns = hungarian_algorithm(-gains)
    return jnp.zeros(len(gains), jnp.int32).at[rows].set(columns.astype(jnp.int32))


@assignment.on("cpu")
def _on_host(gains: Float[Array, "m q"]) -> Int[Array, " m"]:
    return host_call(_assigned, gains, shape=gains.shape[:1], dtype=np.int32)


def _assigned(gains: np.ndarray) -> np.ndarray:
    from scipy.optimize import linear_sum_assignment

    found = np.zeros(gains.shape[:-1], np.int32)
    for place in np.ndindex(gains.shape[:-2]):
        if np.isfinite(gains[place]).all():
            found[place] = linear_sum_assignment(gains[place], maximize=True)[1]
    return found
