"""Noise ceilings of RSA in draws of the stimuli and of the subjects."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from bsjax.engine.batches import batched_map
from bsjax.engine.precision import at_full_precision
from bsjax.metrics.ceilings.noise_ceiling import Pooling, rdm_noise_ceiling
from bsjax.metrics.similarity.rdm import rdm_pairs


@at_full_precision
def noise_ceiling_bootstraps(
    rdms: Float[Array, "s n n"],
    stimuli: Int[Array, "draws n"],
    subjects: Float[Array, "draws s"] | None = None,
    *,
    method: str = "spearman",
    pooling: Pooling = "raw",
) -> Float[Array, "draws 2 s"]:
    """``rdm_noise_ceiling`` of every draw of the stimuli and the subjects, on a CPU one in memory at a time.

    A stimulus makes no pair with its copies, and a subject is compared with others without its copies.

    Args:
        rdms: symmetric, of each subject.
        stimuli: those that each draw holds.
        subjects: how often each draw holds each subject; once if None.
        method, pooling: as of ``rdm_noise_ceiling``.

    Returns:
        Lower and upper value of each subject; NaN where they are undefined.

    Example:
        >>> one = jnp.array([[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]])
        >>> both = jnp.stack([one, one + 1.0 - jnp.eye(3)])
        >>> print(noise_ceiling_bootstraps(both, jnp.array([[0, 1, 2]]), method="corr").round(3))
        [[[1. 1.]
          [1. 1.]]]
    """

    def of_draw(draw: tuple[Int[Array, " n"], Float[Array, " s"] | None]) -> Float[Array, "2 s"]:
        held, weights = draw
        apart = rdm_pairs(held[:, None] != held[None, :])
        pairs = rdm_pairs(rdms[:, held][:, :, held])
        where = jnp.broadcast_to(apart, pairs.shape)
        return rdm_noise_ceiling(jnp.where(where, pairs, 0.0), where, method=method, pooling=pooling, weights=weights)

    return batched_map(of_draw, (stimuli, subjects))
