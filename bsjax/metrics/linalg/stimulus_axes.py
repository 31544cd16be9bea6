"""Coordinates of wide responses: as many as stimuli, with all digits of the features."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from bsjax.engine.primitives.decompositions import qr
from bsjax.engine.primitives.products import transposed
from bsjax.engine.primitives.triangular import solve_lower
from bsjax.engine.tolerances import DEPENDENT, rounding


def takes_axes(x: Float[Array, "n p"]) -> bool:
    """Whether stimuli are to be told by their coordinates, where they are too few to be told by their features.

    In float64 they are told by inner products, which are cheaper. Those square what the features differ by, so that in
    float32 they hide what is weaker than the strongest by a hundredth.
    """
    return x.dtype.itemsize == 4


@jax.custom_jvp
def stimulus_axes(x: Float[Array, "n p"]) -> tuple[Float[Array, "p d"], Float[Array, "n d"]]:
    """Orthonormal axes that span the features of all stimuli, and what each stimulus comes to along them.

    Derivatives are those of functions of inner products, of these stimuli and of new ones: how axes turn among
    themselves makes no difference to them.

    Args:
        x: centred, with at least as many features as stimuli, or nearly so.

    Returns:
        As many axes as stimuli or features, whichever are fewer; those that the stimuli do not need may be zero.

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
    # What leaves the span turns the axes, by as much as they carry: x = along @ axes.T, where along is triangular.
    d = axes.shape[1]
    square = along[:d]
    weak = jnp.abs(jnp.diagonal(square)) <= rounding(along, DEPENDENT) * jnp.max(jnp.abs(along))
    square = jnp.where(weak[:, None] | weak[None], jnp.eye(d, dtype=along.dtype), square)
    away = jnp.where(weak[:, None], 0.0, changes[0][:d] - along_change[:d] @ axes.T)
    return (axes, along), (solve_lower(square, away).T, along_change)
