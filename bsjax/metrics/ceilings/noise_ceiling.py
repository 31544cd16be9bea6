"""Noise ceilings of representational similarity, from the agreement of subjects' dissimilarity matrices (RDMs)."""

from collections.abc import Callable
from typing import Any, Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from bsjax.engine.batches import batched_map
from bsjax.engine.precision import at_full_precision
from bsjax.engine.tolerances import SAME_DISSIMILARITY, rounding
from bsjax.metrics.ceilings.upper_bound import highest_similarity
from bsjax.metrics.numerics import divide_or_nan
from bsjax.metrics.similarity.rdms.rdm import pairs_seen, rdm, rdm_pairs, rdms_of_subjects
from bsjax.metrics.similarity.rdms.rdm_comparison import Method, compare_scaled, comparison_named, scaled

Drawn = Int[Array, "draws n"]
SubjectWeights = Float[Array, "draws s"]

Pooling = Literal["raw", "matched", "bound"]
POOLINGS: tuple[Pooling, ...] = get_args(Pooling)

# Approximate number of dissimilarities in a median.
_LOOKED_AT = 128


@at_full_precision
def rdm_noise_ceiling(
    rdms: Float[Array, "s m"],
    where: Bool[Array, "s m"] | None = None,
    *,
    method: Method = "spearman",
    pooling: Pooling = "raw",
    weights: Float[Array, " s"] | None = None,
) -> Float[Array, "2 s"]:
    """Lower and upper bound of the noise ceiling of RSA.

    The lower bound compares the RDM of each subject with the pooled RDM of the other subjects, a noisy estimate of the
    truth. The upper bound compares it with the pooled RDM of all subjects, which includes the subject and so overfits
    the data. The mean similarity of the true model to the subjects' RDMs is expected between the means of the two.

    Args:
        rdms: dissimilarities ``(subjects, pairs)``, as returned by ``rdm_pairs``.
        where: True where a subject has the pair; all if None. Each pair is pooled over the subjects that have it, and
            an RDM with missing pairs is scaled over the pairs that it has.
        method: how two RDMs are compared, see ``compare_rdm_vectors``.
        pooling: ``"raw"`` pools the dissimilarities as they are, as Brain-Score does. ``"matched"`` first scales each
            RDM as the comparison does (standardised, of unit length, or ranked), as rsatoolbox does. An RDM more
            similar to all subjects than the pool may still exist: for any comparison with ``"raw"``, for spearman and
            tau-a with ``"matched"``, and where pairs are missing. ``"bound"`` returns the lower values of
            ``"matched"``, and the upper values of ``highest_similarity``, whose mean no RDM exceeds.
        weights: weight of each subject in a pool, as in a bootstrap draw of subjects; 1 if None. A subject is compared
            with the other subjects, without its own copies. Not for ``"bound"``.

    Returns:
        ``(2, subjects)``, lower then upper, in the dtype of the inputs. A subject whose RDM is constant, or has NaN in
        a pair that counts, is NaN and in no pool. The lower bound of a single subject is NaN.

    Raises:
        ValueError: an unknown pooling, weights with ``"bound"``, or as ``highest_similarity``.

    Source: Nili et al. 2014.

    Example:
        >>> import jax.numpy as jnp
        >>> from bsjax.metrics import compiled
        >>> rdms = jnp.array([[1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 4.0], [2.0, 1.0, 3.0, 4.0]])
        >>> print(*(f"{bound:.3f}" for bound in compiled(rdm_noise_ceiling)(rdms).mean(axis=1)))
        0.755 0.867
    """
    if pooling not in POOLINGS:
        raise ValueError(f"pooling must be one of {', '.join(POOLINGS)}, got {pooling!r}")
    if pooling == "bound" and weights is not None:
        raise ValueError(
            "pooling='bound' does not support weights of subjects: draw only stimuli, or pass another pooling"
        )
    missing = jnp.isnan(rdms)
    values = jnp.where(missing, 0.0, rdms)
    mask = jnp.ones_like(missing) if where is None else where
    own = _scaled(values, where, method)
    # Ranks are never NaN, and need not be made where nothing else takes them.
    undefined = missing if comparison_named(method).ranked else missing | jnp.isnan(own)
    defined = ~jnp.any(undefined & mask, axis=1)
    # Zeros for undefined subjects add nothing to a pool; their own values become NaN at the end.
    own = jnp.where(defined[:, None], own, 0.0)
    counted = mask & defined[:, None]
    pooled_from = jnp.where(counted, values if pooling == "raw" else _per_pair(own, where, method), 0.0)
    counted = counted.astype(rdms.dtype)

    def bounds(*of_pools: Float[Array, "_ s"]) -> list[Float[Array, " s"]]:
        counts = [members @ counted for members in of_pools]
        empty = [count == 0 for count in counts]
        pools = [
            jnp.where(none, 0.0, divide_or_nan(members @ pooled_from, count, none))
            for members, count, none in zip(of_pools, counts, empty, strict=True)
        ]
        # All are scaled together, because a TPU takes several seconds to compile ranks, wherever they occur.
        if where is None:
            ours, shared = [own] * len(pools), [None] * len(pools)
            ends = np.cumsum([len(pool) for pool in pools])[:-1]
            pools = jnp.split(_scaled(jnp.concatenate(pools), None, method), ends)
        else:  # over the common pairs
            shared = [mask & ~none for none in empty]
            sides = jnp.concatenate([values] * len(pools) + [jnp.broadcast_to(pool, own.shape) for pool in pools])
            halves = jnp.split(_scaled(sides, jnp.concatenate(2 * shared), method), 2 * len(pools))
            ours, pools = halves[: len(pools)], halves[len(pools) :]
        wide = [jnp.broadcast_to(pool, own.shape) for pool in pools]
        found = [compare_scaled(*sides, method) for sides in zip(ours, wide, shared, strict=True)]
        return [jnp.where(jnp.all(none, axis=1), jnp.nan, one) for none, one in zip(empty, found, strict=True)]

    subjects = rdms.shape[0]
    all_of_them = jnp.ones((1, subjects), rdms.dtype) if weights is None else weights[None]
    others = all_of_them * (1.0 - jnp.eye(subjects, dtype=rdms.dtype))
    if pooling == "bound":
        both = [*bounds(others), highest_similarity(own, where, defined, method=method)]
    else:
        both = bounds(others, all_of_them)
    return jnp.where(defined, jnp.stack(both), jnp.nan)


def _scaled(rdms: Float[Array, "k m"], where: Bool[Array, "k m"] | None, method: Method) -> Float[Array, "k m"]:
    """RDMs on the scale of a comparison; ranks tie dissimilarities within the rounding error of a typical one."""
    if not comparison_named(method).ranked:
        return scaled(rdms, where, method)
    # By their indices: a TPU cannot compile a slice of a long vector with long strides.
    looked_at = jnp.arange(0, rdms.shape[1], max(1, rdms.shape[1] // _LOOKED_AT))
    some = jnp.abs(jax.lax.stop_gradient(rdms[:, looked_at]))
    return scaled(rdms, where, method, rounding(rdms, SAME_DISSIMILARITY) * jnp.median(some, axis=1, keepdims=True))


def _per_pair(own: Array, where: Array | None, method: Method) -> Array:
    """Scaled RDMs, made independent of the number of pairs of each subject where these numbers differ."""
    if where is None:
        return own
    count = jnp.sum(where, axis=1, keepdims=True).astype(own.dtype)
    share = jnp.maximum(count, 1.0) / jnp.maximum(jnp.max(count), 1.0)
    # With equal numbers of pairs the share is 1 and ranks stay half-integers, whose sums and ties are exact.
    return (own - 0.5) / share if comparison_named(method).ranked else own * jnp.sqrt(share)


@at_full_precision
def noise_ceiling_bootstraps(
    rdms: Float[Array, "s n n"], stimuli: Drawn, subjects: SubjectWeights | None = None, **settings: Any
) -> Float[Array, "draws 2 s"]:
    """``rdm_noise_ceiling`` of every draw of stimuli and subjects. On a CPU, only one draw is in memory at a time.

    Copies of a stimulus form no pair, and a subject is not compared with its own copies.

    Args:
        rdms: symmetric RDM of each subject, ``(subjects, stimuli, stimuli)``.
        stimuli: indices of the stimuli in each draw.
        subjects: how often each draw contains each subject; once if None.
        settings: ``method`` and ``pooling`` of ``rdm_noise_ceiling``.

    Returns:
        ``(draws, 2, subjects)``, lower then upper value of each subject; NaN where they are undefined.

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
        return rdm_noise_ceiling(jnp.where(where, pairs, 0.0), where, weights=weights, **settings)

    return batched_map(of_draw, (stimuli, subjects))


@at_full_precision
def rsa_noise_ceiling(
    responses: Float[Array, "s n p"],
    units: Bool[Array, "s p"] | None = None,
    seen: Bool[Array, "s n"] | None = None,
    *,
    method: str = "spearman",
    pooling: Pooling = "raw",
    dissimilarity: Callable[..., Float[Array, "n n"]] = rdm,
) -> Float[Array, "2 s"]:
    """``rdm_noise_ceiling`` of the RDMs of several subjects' responses to the same stimuli.

    Args:
        responses: ``(subjects, stimuli, units)``; subjects with fewer units are padded.
        units: False where padded; all if None.
        seen: True where a subject has responses to a stimulus; all if None.
        method, pooling: see ``rdm_noise_ceiling``.
        dissimilarity: function from responses ``(stimuli, units)`` and a mask of units, ``where=``, to an RDM.

    Returns:
        ``(2, subjects)``, lower then upper; NaN for a subject with a stimulus whose pattern is constant.

    Source: Nili et al. 2014.

    Example:
        >>> import jax.numpy as jnp
        >>> from bsjax.metrics import compiled
        >>> one = jnp.array([[0.0, 1.0, 5.0], [1.0, 3.0, 2.0], [2.0, 0.0, 1.0], [5.0, 1.0, 0.0]])
        >>> print(compiled(rsa_noise_ceiling)(jnp.stack([one, 2.0 * one + 1.0])).round(3))
        [[1. 1.]
         [1. 1.]]
    """
    rdms = rdm_pairs(rdms_of_subjects(responses, units, dissimilarity=dissimilarity))
    return rdm_noise_ceiling(rdms, pairs_seen(seen), method=method, pooling=pooling)
