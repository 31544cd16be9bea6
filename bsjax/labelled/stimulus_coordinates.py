"""Features of any width brought to one shape without a change to the score, so that all layers share a program.

A regression with a free intercept (PLS, ridge) and CKA see the features only through the inner products between
stimuli, and do not see a constant that is added to a feature. So the centred features :math:`X`, stimuli x features,
may give way to the triangle :math:`L` with :math:`L L^T = X X^T`, as wide as there are stimuli. It is made in blocks of
features: :math:`[L_{k-1}, X_k]^T = Q R`, :math:`L_k = R^T`, so that one small program serves every width, only one
block is ever in double precision, and no digit is lost to a Gram matrix.

An RDM of Pearson correlations also takes the mean over units off every stimulus. With the rows of :math:`X` centred,
:math:`[L, -L]` has the same correlations between stimuli, and rows that are centred again.
"""

from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float

from bsjax.labelled.align import finite_values, two_dimensional
from bsjax.labelled.precision import precision
from bsjax.metrics import compiled
from bsjax.metrics.numerics import is_constant, transposed

Sees = Literal["inner products", "correlations", "features"]
"""What a metric depends on: inner products between stimuli, correlations over units, or the features themselves."""

_BLOCK = 8  # widths of the triangle in a block: wider costs memory, narrower costs work on the triangle again


def in_stimulus_coordinates(source: xr.DataArray, sees: Sees, dtype: str | None = None) -> xr.DataArray:
    """An assembly that scores as ``source`` does, in a shape that does not depend on how wide ``source`` is.

    Args:
        source: (presentation, neuroid).
        sees: what the metric depends on.
        dtype: in which the metric computes, as for the metric.

    Returns:
        For n stimuli: (n, n) of inner products that are those of ``source``'s centred features, where there are
        at least n; narrower features get columns of zeros up to a power of two, but stay narrower than n - 1,
        because ridge regression works on the smaller side. (n, 2n) for correlations of at least n features. Else
        the source itself. Coordinates are those of the presentations.

    Raises:
        ValueError: other dimensions, or values that are not finite.

    Example:
        >>> import numpy as np, xarray as xr
        >>> x = np.random.default_rng(0).normal(size=(5, 1000))
        >>> z = in_stimulus_coordinates(xr.DataArray(x, dims=["presentation", "neuroid"]), "inner products").values
        >>> centred = x - x.mean(axis=0)
        >>> z.shape, np.allclose(z @ z.T, centred @ centred.T)
        ((5, 5), True)
    """
    source = two_dimensional(source, "source")
    n, width = source.shape
    if sees == "features" or (sees == "correlations" and width < n):
        return source
    values = finite_values(source, "source")
    with precision(dtype) as chosen:
        if sees == "correlations":
            mean = np.asarray(values.mean(axis=1, keepdims=True, dtype=chosen))
            triangle = _without_constant_rows(_triangle(values, chosen, less=mean), mean, width)
            values = np.concatenate([triangle, -triangle], axis=1)
        elif width >= n:
            values = _triangle(values, chosen, centre_columns=True)
        elif width < n - 2:
            padded = min(1 << (width - 1).bit_length(), n - 2)
            values = np.pad(np.asarray(values), ((0, 0), (0, padded - width)))
    of_presentations = {name: c for name, c in source.coords.items() if c.dims == ("presentation",)}
    return xr.DataArray(values, dims=["presentation", "neuroid"], coords=of_presentations)


def _triangle(
    values: np.ndarray | jax.Array, dtype: np.dtype, *, less: np.ndarray | float = 0.0, centre_columns: bool = False
) -> np.ndarray:
    """The triangle of ``values - less``, ``(n, n)``."""
    n, width = values.shape
    step = _BLOCK * n
    absorb = compiled(_absorb, centre_columns=centre_columns)
    triangle = jnp.zeros((n, n), dtype)
    for start in range(0, width, step):
        block = jnp.asarray(values[:, start : start + step], dtype) - less
        triangle = absorb(triangle, jnp.pad(block, ((0, 0), (0, step - block.shape[1]))))
    return np.asarray(triangle)


def _absorb(triangle: Float[Array, "n n"], block: Float[Array, "n b"], *, centre_columns: bool) -> Float[Array, "n n"]:
    """The triangle of all features so far and those of a block."""
    if centre_columns:
        mean = jnp.mean(block, axis=0, keepdims=True)
        centred = block - mean
        squares = jnp.sum(centred**2, axis=0, keepdims=True)
        # what centring leaves of a feature that does not vary is rounding
        constant = is_constant(squares, mean, jnp.full_like(mean, block.shape[0]))
        block = jnp.where(constant, jnp.zeros_like(block), centred)
    return jnp.linalg.qr(transposed(jnp.concatenate([triangle, block], axis=1)), mode="r").T


def _without_constant_rows(triangle: np.ndarray, mean: np.ndarray, width: int) -> np.ndarray:
    """Zeros for a stimulus whose response is the same in all units, of which centring leaves rounding."""
    squares = jnp.asarray(np.sum(triangle**2, axis=1, keepdims=True))
    constant = is_constant(squares, jnp.asarray(mean), jnp.full_like(squares, width))
    return np.where(constant, 0.0, triangle).astype(triangle.dtype)
