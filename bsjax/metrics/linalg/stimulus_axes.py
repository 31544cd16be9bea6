"""Coordinates of wide responses: as many as stimuli, with all digits of the features."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from bsjax.engine.primitives.products import transposed


def takes_axes(x: Float[Array, "n p"]) -> bool:
    """Whether stimuli are to be told by their coordinates, where they are too few to be told by their features.

    In float64 they are told by inner products, which are cheaper. Those square what the features differ by, so that in
    float32 they hide what is weaker than the strongest by a hundredth.
    """
    return x.dtype.itemsize == 4


def stimulus_axes(x: Float[Array, "n p"]) -> tuple[Float[Array, "p d"], Float[Array, "n d"]]:
    """Orthonormal axes that span the features of all stimuli, and what each stimulus comes to along them.

    Args:
        x: centred, with at least as many features as stimuli, or nearly so.

    Returns:
        As many axes as stimuli or features, whichever are fewer.

    Example:
        >>> import jax.numpy as jnp
        >>> axes, along = stimulus_axes(jnp.array([[3.0, 0.0, 4.0]]))
        >>> print(jnp.abs(along), bool(jnp.allclose(along @ axes.T, jnp.array([[3.0, 0.0, 4.0]]))))
        [[5.]] True
    """
    axes, along = jnp.linalg.qr(transposed(x))
    return axes, along.T
