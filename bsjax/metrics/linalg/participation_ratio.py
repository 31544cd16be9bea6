"""Participation ratio: the effective dimensionality of a Gram matrix."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from bsjax.metrics.numerics import divide_or_nan, nonzero


def participation_ratio(gram: Float[Array, "d d"]) -> Float[Array, ""]:
    r"""Participation ratio of a Gram matrix: its effective number of equally large eigenvalues.
    .. math:: D = \frac{(\sum_i \lambda_i)^2}{\sum_i \lambda_i^2} = \frac{(\mathrm{tr} K)^2}{\|K\|_F^2}

    Returns:
        From 1 to the rank, in the dtype of the matrix; NaN for a matrix of zeros.

    Source: Gao et al. 2017.

    Example:
        >>> print(participation_ratio(jnp.diag(jnp.array([1.0, 1.0, 0.0]))))
        2.0
    """
    total = jnp.trace(gram)
    return divide_or_nan(jnp.ones_like(total), jnp.sum((gram / nonzero(total)) ** 2), total <= 0)
