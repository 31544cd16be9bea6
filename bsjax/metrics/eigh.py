"""Eigendecomposition of a symmetric matrix, by the fastest routine of the device."""

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jax.typing import ArrayLike
from jaxtyping import Array, Float

# From here on XLA's decomposition on CPU takes more than twice as long as SciPy's divide and conquer.
_LARGE = 1500


def eigh(matrix: Float[Array, "n n"]) -> tuple[Float[Array, " n"], Float[Array, "n n"]]:
    """Eigenvalues, ascending, and eigenvectors as columns of a symmetric matrix.

    Large matrices on CPU are decomposed by SciPy behind a host call; all others by XLA. Not differentiable: whoever
    needs a derivative takes that of what is computed with the eigenvectors, which is defined where eigenvalues repeat.

    Args:
        matrix: symmetric; only one triangle may be read.

    Example:
        >>> import jax.numpy as jnp
        >>> values, vectors = eigh(jnp.array([[2.0, 0.0], [0.0, 1.0]]))
        >>> print(values)
        [1. 2.]
    """
    matrix = jax.lax.stop_gradient(matrix)
    if matrix.shape[0] < _LARGE:
        return _in_xla(matrix)
    return jax.lax.platform_dependent(matrix, cpu=_on_host, default=_in_xla)


def _in_xla(matrix: Float[Array, "n n"]) -> tuple[Float[Array, " n"], Float[Array, "n n"]]:
    values, vectors = jnp.linalg.eigh(matrix)
    return values, vectors


def _on_host(matrix: Float[Array, "n n"]) -> tuple[Float[Array, " n"], Float[Array, "n n"]]:
    # Bits go out and come back: a host call may run on a thread where the local float64 context is off, and there
    # float64 would silently lose its digits on the way.
    n, words = matrix.shape[0], matrix.dtype.itemsize // 4
    bits = jax.lax.bitcast_convert_type(matrix, jnp.uint32).reshape(n, n * words)
    shape = jax.ShapeDtypeStruct((n + 1, n * words), jnp.uint32)
    host = _scipy_eigh_64 if words == 2 else _scipy_eigh_32
    result = jax.pure_callback(host, shape, bits, vmap_method="sequential")
    per_number = (n + 1, n, words) if words == 2 else (n + 1, n)
    both = jax.lax.bitcast_convert_type(result.reshape(per_number), matrix.dtype)
    return both[0], both[1:]


def _scipy_eigh_64(bits: ArrayLike) -> np.ndarray:
    return _scipy_eigh(np.ascontiguousarray(bits).view(np.float64))


def _scipy_eigh_32(bits: ArrayLike) -> np.ndarray:
    return _scipy_eigh(np.ascontiguousarray(bits).view(np.float32))


def _scipy_eigh(matrix: np.ndarray) -> np.ndarray:
    if not np.isfinite(matrix).all():  # LAPACK may not return from NaN
        return np.full((len(matrix) + 1, len(matrix)), np.nan, matrix.dtype).view(np.uint32)
    values, vectors = scipy.linalg.eigh(matrix, driver="evd", check_finite=False)
    # LAPACK returns columns after one another, which cannot be viewed as words.
    return np.ascontiguousarray(np.concatenate([values[None], vectors])).view(np.uint32)
