"""Nearest positive semi-definite matrix and matrix square root, differentiable also for repeated eigenvalues."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from bsjax.engine.precision import at_full_precision
from bsjax.engine.primitives.decompositions import eigh
from bsjax.engine.tolerances import rounding

Eigenvalues = Float[Array, " d"]
Matrix = Float[Array, "d d"]


@jax.custom_jvp
@at_full_precision
def nearest_semidefinite(matrix: Matrix) -> Matrix:
    """The positive semi-definite matrix nearest to a symmetric matrix in the Frobenius norm.

    Negative eigenvalues are raised to the rounding error of zero, so that none of the result is negative.

    Args:
        matrix: square matrix; its symmetric part is used.

    Returns:
        An exactly symmetric matrix; the symmetric part itself if it is positive definite.

    Source: Higham 1988.

    Example:
        >>> print(nearest_semidefinite(jnp.array([[1.0, 0.0], [0.0, -1.0]])).round(3))
        [[1. 0.]
         [0. 0.]]
    """
    matrix = 0.5 * (matrix + matrix.T)
    values, vectors = eigh(matrix)
    least = _rounding(values)
    kept = (vectors * jnp.maximum(values, least)[None]) @ vectors.T
    return jnp.where(values[0] > least, matrix, 0.5 * (kept + kept.T))


@nearest_semidefinite.defjvp
@at_full_precision
def _nearest_jvp(primals: tuple[Matrix], tangents: tuple[Matrix]) -> tuple[Matrix, Matrix]:
    (matrix,), (change,) = primals, tangents
    values, vectors = eigh(0.5 * (matrix + matrix.T))
    return nearest_semidefinite(matrix), change_of_nearest(values, vectors, change)


def change_of_nearest(values: Eigenvalues, vectors: Matrix, change: Matrix) -> Matrix:
    """Derivative of ``nearest_semidefinite`` along ``change``, from the eigenvalues and eigenvectors of the matrix.
    Source: Daleckii & Krein 1965 (the derivative of a function of a matrix, by divided differences of eigenvalues).
    """
    positive = values > _rounding(values)
    kept = jnp.where(positive, values, 0.0)
    mixed = positive[:, None] != positive[None, :]
    gap = jnp.where(mixed, values[:, None] - values[None, :], 1.0)
    both = (positive[:, None] & positive[None, :]).astype(values.dtype)
    slopes = jnp.where(mixed, (kept[:, None] - kept[None, :]) / gap, both)
    return _in_eigenvectors(slopes, vectors, change)


@jax.custom_jvp
@at_full_precision
def semidefinite_root(matrix: Matrix) -> Matrix:
    """The symmetric square root of a positive semi-definite matrix; negative eigenvalues count as zero.

    The derivative is zero within the null space of the matrix.

    Example:
        >>> print(semidefinite_root(jnp.array([[4.0, 0.0], [0.0, 0.0]])))
        [[2. 0.]
         [0. 0.]]
    """
    values, vectors = eigh(matrix)
    return (vectors * jnp.sqrt(jnp.maximum(values, 0.0))[None]) @ vectors.T


@semidefinite_root.defjvp
@at_full_precision
def _root_jvp(primals: tuple[Matrix], tangents: tuple[Matrix]) -> tuple[Matrix, Matrix]:
    (matrix,), (change,) = primals, tangents
    values, vectors = eigh(matrix)
    roots = jnp.sqrt(jnp.maximum(values, 0.0))
    positive = values > _rounding(values)
    either: Bool[Array, "d d"] = positive[:, None] | positive[None, :]
    slopes = jnp.where(either, 1.0 / jnp.where(either, roots[:, None] + roots[None, :], 1.0), 0.0)
    return semidefinite_root(matrix), _in_eigenvectors(slopes, vectors, change)


def _in_eigenvectors(slopes: Matrix, vectors: Matrix, change: Matrix) -> Matrix:
    change = 0.5 * (change + change.T)
    return vectors @ (slopes * (vectors.T @ change @ vectors)) @ vectors.T


def _rounding(values: Eigenvalues) -> Float[Array, ""]:
    """Rounding error of eigenvalues, below which they count as zero."""
    return rounding(values, len(values)) * jnp.max(jnp.abs(values))
