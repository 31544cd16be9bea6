"""Eigendecomposition of a symmetric matrix."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def eigh(matrix: Float[Array, "n n"]) -> tuple[Float[Array, " n"], Float[Array, "n n"]]:
    """Eigenvalues, ascending, and eigenvectors as columns of a symmetric matrix; NaN where it is not finite.

    On CPU by LAPACK's divide and conquer. Not differentiable: whoever needs a derivative takes that of what is computed
    with the eigenvectors, which is defined where eigenvalues repeat.

    Args:
        matrix: symmetric; only its lower triangle is read.

    Example:
        >>> import jax.numpy as jnp
        >>> values, vectors = eigh(jnp.array([[2.0, 0.0], [0.0, 1.0]]))
        >>> print(values)
        [1. 2.]
    """
    matrix = jax.lax.stop_gradient(matrix)
    finite = jnp.all(jnp.isfinite(matrix))  # LAPACK may not return from NaN
    values, vectors = jnp.linalg.eigh(jnp.where(finite, matrix, jnp.zeros_like(matrix)), symmetrize_input=False)
    return jnp.where(finite, values, jnp.nan), jnp.where(finite, vectors, jnp.nan)
