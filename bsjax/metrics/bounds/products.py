"""Inner products between stimuli in a limited precision, with a bound of their errors."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from bsjax.engine.tolerances import rounding
from bsjax.metrics.arrays import Features, PerStimulus, Scalar

FAILURE = 1e-6
"""Largest probability that an interval does not hold the exact value."""
PROBES = 32
"""Number of random vectors that errors of products are estimated with."""
_BOUNDS = 4  # of both sides, as a whole and by row


class Products(NamedTuple):
    """Inner products of different stimuli, zero on the diagonal, and upper bounds of the length of their errors."""

    values: Float[Array, "n n"]
    off: Scalar
    off_rows: PerStimulus


def products_within(x: Features, probes: Float[Array, "n k"], working: str) -> Products:
    r"""Inner products of different rows, multiplied in another dtype, with bounds of their errors.

    For an error matrix :math:`E` and k independent standard normal vectors, the columns of :math:`Z`, the square
    :math:`\|E Z\|_F^2` is a sum :math:`\sum_i \sigma_i^2 \chi^2_k` over the singular values of :math:`E`. By Chernoff's
    inequality, and :math:`\prod_i (1 + 2 s \sigma_i^2) \ge 1 + 2 s \|E\|_F^2`, for :math:`t < 1`

    .. math:: P\bigl(\|E Z\|_F^2 \le t k \|E\|_F^2\bigr) \le (t e^{1 - t})^{k / 2}

    and the same for each row of :math:`E`. So :math:`\|E\|_F \le \|E Z\|_F / \sqrt{t k}`, whatever causes the error:
    rounding of inputs, products and sums in any order. :math:`E Z = X (X^T Z) - \hat K Z` takes k products with vectors
    in float64, whose own rounding errors are bounded by the standard model of floating-point arithmetic.

    Args:
        x: rows, in float64.
        probes: standard normal numbers, independent of the rows, ``(stimuli, PROBES)``.
        working: dtype of the products.

    Returns:
        Products in float64, and bounds that all hold, for two sides, with a probability of at least ``1 - FAILURE``.

    Source: Freivalds 1979 (check of a product by random vectors); Laurent & Massart 2000 (tails of chi-square); Higham
    2002, "Accuracy and Stability of Numerical Algorithms", section 3.5.

    Example:
        >>> import jax
        >>> with jax.enable_x64(True):
        ...     x, probes = (np.random.default_rng(seed).normal(size=(40, PROBES)) for seed in (0, 1))
        ...     made = products_within(jnp.asarray(x), jnp.asarray(probes), "float32")
        ...     error = jnp.linalg.norm(made.values - (1 - jnp.eye(40)) * (x @ x.T))
        ...     print(bool(error < made.off < 5 * error))
        True
    """
    n, p = x.shape
    rough = x.astype(working)
    values = jnp.where(jnp.eye(n, dtype=bool), 0.0, (rough @ rough.T).astype(x.dtype))
    squares = jnp.sum(x**2, axis=1)
    missed = x @ (x.T @ probes) - squares[:, None] * probes - values @ probes
    terms = jnp.sqrt(squares * jnp.sum(squares)) + jnp.sqrt(jnp.sum(values**2, axis=1))
    unsure = rounding(x, 2 * (n + p)) * jnp.sqrt(jnp.sum(probes**2)) * terms
    of_rows = jnp.sqrt(jnp.sum(missed**2, axis=1))
    whole = jnp.sqrt(jnp.sum(of_rows**2)) + jnp.sqrt(jnp.sum(unsure**2))
    least, least_of_row = (_least_length(FAILURE / _BOUNDS / many) for many in (1, n))
    return Products(values, whole / least, (of_rows + unsure) / least_of_row)


def _least_length(failure: float) -> float:
    """The length that the image of a matrix of unit length has with this probability of a smaller one."""
    from scipy.special import lambertw  # imported here because the import is slow

    share = -float(np.real(lambertw(-(failure ** (2 / PROBES)) / np.e)))
    return float(np.sqrt(PROBES * share))
