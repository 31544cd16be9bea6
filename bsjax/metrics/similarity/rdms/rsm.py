"""Representational similarity matrices (RSMs) over responsive units."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from bsjax.engine.precision import at_full_precision
from bsjax.metrics.numerics import deviations, masked_mean
from bsjax.metrics.similarity.rdms.rdm import rdm


@at_full_precision
def responsive_rsm(x: Float[Array, "n p"], *, threshold: float = 3.1) -> Float[Array, "n n"]:
    r"""Pearson correlation between the patterns of two stimuli, over the units with a large mean response.

    A unit is selected if it varies over stimuli and its mean response :math:`m_u` over stimuli is far from zero:

    .. math:: |m_u| > t \cdot \mathrm{sd}_{u'}(m_{u'}),

    where the standard deviation is over all units that vary. Selected units are standardised to mean 0 and standard
    deviation 1 over stimuli before patterns are correlated.

    Args:
        x: responses ``(stimuli, units)``.
        threshold: t, in standard deviations of the units' mean responses.

    Returns:
        Symmetric ``(stimuli, stimuli)``, 1 on the diagonal. All NaN if no unit is selected; NaN for a stimulus whose
        standardised pattern is constant over units.

    Source: Coggan & Tong 2024 (selection of voxels).

    Example:
        >>> import jax.numpy as jnp
        >>> from bsjax.metrics import compiled
        >>> x = jnp.array([[5.0, 9.0, 0.1, 0.0], [7.0, 8.0, 0.0, 0.0], [6.0, 7.0, 0.2, 0.0]])
        >>> print(compiled(responsive_rsm, threshold=1.0)(x).round(2))
        [[ 1. -1. -1.]
         [-1.  1.  1.]
         [-1.  1.  1.]]
    """
    centred, squares, mean, count, constant = deviations(x, None, axis=0)
    varying = ~constant
    overall, _ = masked_mean(mean, varying, axis=1)
    variance, _ = masked_mean((mean - overall) ** 2, varying, axis=1)
    responsive = varying & (jnp.abs(mean) > threshold * jnp.sqrt(variance))
    sd = jnp.sqrt(jnp.where(responsive, squares / count, jnp.ones_like(squares)))
    standardised = jnp.where(responsive, centred / sd, jnp.zeros_like(centred))
    similarity = 1.0 - rdm(standardised, where=responsive[0])
    return jnp.where(jnp.any(responsive), similarity, jnp.full_like(similarity, jnp.nan))
