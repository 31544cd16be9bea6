"""The covariance of noise between units, estimated from residuals, and patterns whitened by it."""

from typing import Literal

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from bsjax.engine.precision import at_full_precision
from bsjax.engine.primitives.triangular import solve_lower
from bsjax.metrics.arrays import Scalar
from bsjax.metrics.linalg.positive_definite import cholesky_if_well_posed
from bsjax.metrics.numerics import deviations, divide_or_nan, inverse_root, nonzero

Covariance = Float[Array, "u u"]

Noise = Literal["full", "diag", "shrinkage_eye", "shrinkage_diag"]
NOISES = ("full", "diag", "shrinkage_eye", "shrinkage_diag")

Residuals = Float[Array, "m u"]
Rows = Bool[Array, " m"]


@at_full_precision
def noise_covariance(
    residuals: Residuals,
    *,
    method: Noise = "shrinkage_diag",
    where: Rows | None = None,
    dof: Scalar | int | None = None,
) -> Covariance:
    r"""The covariance of noise between units, from residuals.

    ================== ============================================================================================
    ``full``           :math:`S = X^T X / \mathrm{dof}` of the centred residuals
    ``diag``           its diagonal
    ``shrinkage_eye``  a mean of S and a multiple of the identity, with the least expected squared error
    ``shrinkage_diag`` the same of S and its diagonal: correlations shrink, variances do not
    ================== ============================================================================================

    Args:
        residuals: ``(rows, units)``, e.g. of a general linear model, or of trials about the mean of their stimulus.
        method: which estimate.
        where: True where a row counts; all if None.
        dof: degrees of freedom of the residuals; by default the number of rows minus 1.

    Returns:
        ``(units, units)``, in the dtype of the residuals. A constant unit has a variance of 0, and patterns cannot be
        whitened by such a covariance.

    Raises:
        ValueError: an unknown method.

    Source: Ledoit & Wolf 2004 (``shrinkage_eye``); Schäfer & Strimmer 2005 (``shrinkage_diag``).

    Example:
        >>> x = jnp.array([[1.0, 2.0], [-1.0, 0.0], [2.0, -1.0], [-2.0, -1.0]])
        >>> print(noise_covariance(x, method="diag").round(2))
        [[3.33 0.  ]
         [0.   2.  ]]
    """
    if method not in NOISES:
        raise ValueError(f"unknown estimate of the covariance of noise {method!r}; there are: {', '.join(NOISES)}")
    centred, _, _, count, constant = deviations(residuals, None if where is None else where[:, None], axis=0)
    rows = count[0, 0]
    free = rows - 1.0 if dof is None else jnp.asarray(dof, residuals.dtype)
    if method == "diag":
        return jnp.diag(jnp.sum(centred**2, axis=0) / free)
    products = centred.T @ centred
    if method == "shrinkage_eye":
        return _to_identity(centred, products / rows, rows) * (rows / free)
    return products / free * (1.0 if method == "full" else _kept_of_each(centred, constant[0], products, rows, free))


def _to_identity(x: Residuals, covariance: Covariance, rows: Scalar) -> Covariance:
    one = jnp.eye(x.shape[1], dtype=x.dtype)
    mean = jnp.trace(covariance) / x.shape[1]
    spread = jnp.sum((covariance - mean * one) ** 2)
    error = (jnp.sum(jnp.sum(x**2, axis=1) ** 2) / rows - jnp.sum(covariance**2)) / rows
    share = jnp.clip(error / nonzero(spread), 0.0, 1.0)
    return share * mean * one + (1.0 - share) * covariance


def _kept_of_each(
    x: Residuals, constant: Bool[Array, " u"], products: Covariance, rows: Scalar, free: Scalar
) -> Covariance:
    """The part of each covariance that remains: 1 on the diagonal."""
    one = jnp.eye(x.shape[1], dtype=x.dtype)
    scale = inverse_root(jnp.diagonal(products) / free, ~constant)
    squares = (x * scale[None]) ** 2
    of_means = jnp.sum((products * scale[:, None] * scale[None] / (rows - 1.0)) ** 2 * (1.0 - one))
    of_rows = jnp.sum(jnp.sum(squares, axis=1) ** 2 - jnp.sum(squares**2, axis=1)) / (rows - 1.0)
    share = jnp.clip(rows / free**2 * (of_rows - of_means) / nonzero(of_means), 0.0, 1.0)
    return one + (1.0 - share) * (1.0 - one)


def whitened(patterns: Float[Array, "*batch u"], covariance: Covariance) -> Float[Array, "*batch u"]:
    """Patterns times the inverse of a factor of the covariance; NaN if it has no inverse."""
    factor, well_posed = cholesky_if_well_posed(covariance)
    found = solve_lower(factor, patterns.reshape(-1, patterns.shape[-1]).T).T.reshape(patterns.shape)
    return jnp.where(well_posed, found, jnp.nan)


def standardised_by(patterns: Float[Array, "*batch u"], covariance: Covariance) -> Float[Array, "*batch u"]:
    """``whitened`` by a diagonal covariance; NaN if a variance is 0."""
    variances = jnp.diagonal(covariance)
    return divide_or_nan(
        patterns, *(jnp.broadcast_to(each, patterns.shape) for each in (jnp.sqrt(nonzero(variances)), variances <= 0))
    )
