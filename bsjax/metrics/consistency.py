"""Split-half internal consistency of repeated recordings: how well the data predict themselves."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from bsjax.metrics.correlation import pearson
from bsjax.metrics.numerics import divide_or_nan


def spearman_brown(r: Float[Array, "*shape"], *, factor: float = 2.0) -> Float[Array, "*shape"]:
    r"""Reliability of ``factor`` times as much data: :math:`k r / (1 + (k - 1) r)`.

    Args:
        r: reliability, e.g. the correlation between two halves of the data.
        factor: how many times as much data; 2 from halves to the whole.

    Returns:
        The shape of ``r``; NaN where the denominator is zero (``r = -1`` for halves).

    Source: Spearman 1910; Brown 1910.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{spearman_brown(jnp.array(0.5)):.3f}")
        0.667
    """
    denominator = 1.0 + (factor - 1.0) * r
    return divide_or_nan(factor * r, denominator, denominator == 0)


def half_means(
    trials: Float[Array, "r n u"], present: Bool[Array, "r n u"], first: Bool[Array, "r n"]
) -> tuple[Float[Array, "n u"], Float[Array, "n u"]]:
    """Means over the two halves of the repetitions; NaN where a half of a cell has no trial.

    Args:
        trials: single trials ``(repetitions, stimuli, units)``; what is not present may hold anything.
        present: True where a trial exists.
        first: True where a repetition of a stimulus belongs to the first half, else to the second.
    """
    values = jnp.where(present, trials, jnp.zeros_like(trials))
    means = []
    for half in (first, ~first):
        chosen = present & half[:, :, None]
        count = jnp.sum(chosen, axis=0).astype(trials.dtype)
        total = jnp.sum(jnp.where(chosen, values, jnp.zeros_like(values)), axis=0)
        means.append(divide_or_nan(total, count, count == 0))
    return means[0], means[1]


def pearson_of_halves(a: Float[Array, "n u"], b: Float[Array, "n u"]) -> Float[Array, " u"]:
    """Pearson correlation of two halves per unit, over the stimuli that both halves have."""
    return pearson(a, b, axis=0, where=jnp.isfinite(a) & jnp.isfinite(b))


def split_half_consistency(
    trials: Float[Array, "r n u"],
    present: Bool[Array, "r n u"],
    first: Bool[Array, "splits r n"],
    *,
    compare: Callable[[Float[Array, "n u"], Float[Array, "n u"]], Float[Array, "..."]] = pearson_of_halves,
) -> Float[Array, "splits ..."]:
    """Internal consistency: halves of the repetitions are averaged, compared, and corrected to the whole data.

    ``spearman_brown(compare(mean of first half, mean of second half))`` for every split, one split in memory at a time.

    Args:
        trials: single trials ``(repetitions, stimuli, units)``; what is not present may hold anything.
        present: True where a trial exists: repetitions may be ragged over stimuli and cells may be missing.
        first: which repetitions of each stimulus form the first half in each split; the others form the second.
        compare: how two halves are compared; per unit by Pearson correlation, or a representational similarity.

    Returns:
        ``(splits, units)``, or ``(splits,)`` where ``compare`` gives one number. NaN where it is undefined.

    Example:
        >>> import jax.numpy as jnp
        >>> trials = jnp.stack([jnp.arange(5.0)[:, None]] * 4)
        >>> first = jnp.array([True, True, False, False])[None, :, None] & jnp.ones((1, 4, 5), bool)
        >>> print(split_half_consistency(trials, jnp.ones_like(trials, bool), first))
        [[1.]]
    """

    def one_split(half: Bool[Array, "r n"]) -> Float[Array, "..."]:
        return spearman_brown(compare(*half_means(trials, present, half)))

    return jax.lax.map(one_split, first)
