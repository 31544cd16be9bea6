"""Coordinates of responses with more features than stimuli, at the full precision of the features."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from bsjax.engine.primitives.decompositions import qr
from bsjax.engine.primitives.products import transposed
from bsjax.engine.primitives.triangular import solve_lower
from bsjax.engine.tolerances import DEPENDENT, rounding


def takes_axes(x: Float[Array, "n p"]) -> bool:
    """Whether to represent stimuli by their coordinates along axes (float32) instead of by inner products (float64).

    Inner products are cheaper, but they square differences between features. In float32 this loses components weaker
    than about a hundredth of the strongest.
    """
    return x.dtype.itemsize == 4


@jax.custom_jvp
def stimulus_axes(x: Float[Array, "n p"]) -> tuple[Float[Array, "p d"], Float[Array, "n d"]]:
    """Orthonormal axes that span the features of all stimuli, and the coordinates of each stimulus along them.

    Derivatives are valid for functions of inner products, of these and of new stimuli, which do not depend on
    rotations of the axes within their span.

    Args:
        x: centred features, at least, or nearly, as many as stimuli.

    Returns:
        ``min(stimuli, features)`` axes, of which superfluous ones may be zero, and the coordinates.

    Example:
        >>> axes, along = stimulus_axes(jnp.array([[3.0, 0.0, 4.0]]))
        >>> print(jnp.abs(along), bool(jnp.allclose(along @ axes.T, jnp.array([[3.0, 0.0, 4.0]]))))
        [[5.]] True
    """
    axes, along = qr(transposed(x))
    return axes, along.T


@stimulus_axes.defjvp
def _stimulus_axes_jvp(primals: tuple[Array], changes: tuple[Array]) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    axes, along = stimulus_axes(*primals)
    along_change = changes[0] @ axes
    # Changes outside the span rotate the axes: x = along @ axes.T, where along is triangular.
    d = axes.shape[1]
    square = along[:d]
    weak = jnp.abs(jnp.diagonal(square)) <= rounding(along, DEPENDENT) * jnp.max(jnp.abs(along))
    square = jnp.where(weak[:, None] | weak[None], jnp.eye(d, dtype=along.dtype), square)
    away = jnp.where(weak[:, None], 0.0, changes[0][:d] - along_change[:d] @ axes.T)
    return (axes, along), (solve_lower(square, away).T, along_change)
