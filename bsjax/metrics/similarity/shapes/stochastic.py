"""The shape metric of noisy responses: Gaussians of single trials, after one rotation of all of them."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from bsjax.engine.precision import at_full_precision
from bsjax.engine.primitives.decompositions import eigh
from bsjax.metrics.linalg.singular_values import nuclear_norm, polar_factor
from bsjax.metrics.numerics import deviations, divide_or_nan, rotated_to_few_columns, safe_sqrt
from bsjax.metrics.optimisation.fixed_points import fixed_point, random_rotations
from bsjax.metrics.similarity.shapes.shape import to_unit_norm

# Steps from each start; from the best one, the alternation goes on with more of them.
_STEPS, _MORE_STEPS = 30, 1000
# With more dimensions, random starts are not worth their time.
_FEW, _RANDOM_STARTS = 32, 12
_Rotation = Float[Array, "d e"]


class _Gaussians(NamedTuple):
    """Means, and a factor of each covariance: deviations of the trials, of which the squares sum to it."""

    means: Float[Array, "n d"]
    noise: Float[Array, "n r d"]


@at_full_precision
def stochastic_shape_similarity(
    x: Float[Array, "r n p"],
    y: Float[Array, "s n q"],
    *,
    noise_weight: float = 1.0,
    of_x: Bool[Array, "r n"] | None = None,
    of_y: Bool[Array, "s n"] | None = None,
) -> Float[Array, ""]:
    r"""Similarity of means and of trial-to-trial noise after the best rotation of one representation to the other.

    Each stimulus :math:`i` has the mean :math:`\mu_i` and the covariance :math:`\Sigma_i` of its trials. With the
    2-Wasserstein distance of Gaussians, which compares covariances by the Bures distance,

    .. math:: d^2 = \min_{Q^T Q = I} \sum_i \|\mu_i^x - Q \mu_i^y\|^2
        + w \Bigl(\mathrm{tr}\, \Sigma_i^x + \mathrm{tr}\, \Sigma_i^y
        - 2 \bigl\|(\Sigma_i^x)^{1/2} Q (\Sigma_i^y)^{1/2}\bigr\|_*\Bigr),\quad
        \cos\theta = 1 - \frac{d^2}{2}

    where each side is scaled to :math:`\sum_i \|\mu_i\|^2 + w\, \mathrm{tr}\, \Sigma_i = 1`, and means are centred over
    stimuli. Without noise it is the Procrustes similarity. :func:`angle` makes it a distance. The rotation and, for
    each stimulus, that of the trials are found by turns, from several starts, which never lowers the similarity; where
    noise is larger than the signal, a better rotation may exist.

    Args:
        x: single trials ``(repetitions, stimuli, units)``; with a single repetition, the noise is zero.
        y: single trials of the same stimuli in the same order; repetitions and units may differ in number.
        noise_weight: w; 0 compares means alone.
        of_x, of_y: True where a trial exists; all if None. A stimulus counts if both sides have a trial of it, and has
            no noise on a side with one.

    Returns:
        A scalar from 0 to 1 in the dtype of the inputs; NaN where a side neither varies over stimuli nor over trials.

    Raises:
        ValueError: the weight is negative.

    Source: Duong et al. 2023, "Representational dissimilarity metric spaces for stochastic neural networks".

    Example:
        >>> x = jnp.array([[[0.0, 1.0], [1.0, 3.0], [2.0, 0.0]], [[1.0, 1.0], [1.0, 2.0], [3.0, 0.0]]])
        >>> print(f"{stochastic_shape_similarity(x, 2.0 * x[::-1, :, ::-1]):.3f}")
        1.000
    """
    if not noise_weight >= 0:
        raise ValueError(f"noise_weight must be 0 or more, and is {noise_weight}")
    given = [jnp.ones(side.shape[:2], bool) if of is None else of for side, of in ((x, of_x), (y, of_y))]
    shown = jnp.any(given[0], axis=0) & jnp.any(given[1], axis=0)
    one, other = (_gaussians(side, of & shown[None], noise_weight) for side, of in zip((x, y), given, strict=True))
    fixed: tuple[Any, Any] = jax.lax.stop_gradient((one, other))
    turns = _of_trials(*fixed, _best_rotation(*fixed))
    lengths = jnp.asarray([sum(jnp.sum(part**2) for part in side) for side in (one, other)])
    overlap = nuclear_norm(_overlap(one, other, turns))
    return divide_or_nan(overlap, safe_sqrt(jnp.prod(lengths)), jnp.any(lengths <= 0))


def _gaussians(x: Float[Array, "r n p"], of: Bool[Array, "r n"], noise_weight: float) -> _Gaussians:
    """The Gaussians of all stimuli, scaled together, in few columns; zero for stimuli without a trial."""
    r, n, _ = x.shape
    found, counted = deviations(x, of[:, :, None], axis=0), jnp.any(of, axis=0)[:, None]
    means = deviations(jnp.where(counted, found.mean[0], 0.0), counted, axis=0).values
    noise = found.values * jnp.sqrt(noise_weight / jnp.maximum(found.n - 1.0, 1.0))
    rows = rotated_to_few_columns(to_unit_norm(jnp.concatenate([means[None], noise]).reshape((r + 1) * n, -1)))
    each = rows.reshape(r + 1, n, -1)
    return _Gaussians(each[0], jnp.swapaxes(each[1:], 0, 1))


def _of_trials(one: _Gaussians, other: _Gaussians, rotation: _Rotation) -> Float[Array, "n r s"]:
    """The best rotation of the trials of each stimulus, of which only the covariance counts."""
    return jax.vmap(polar_factor)((one.noise @ rotation) @ jnp.swapaxes(other.noise, 1, 2))


def _overlap(one: _Gaussians, other: _Gaussians, turns: Float[Array, "n r s"]) -> Float[Array, "d e"]:
    """The matrix whose inner product with a rotation is that of both sides."""
    turned = turns @ other.noise
    of_noise = one.noise.reshape(-1, one.noise.shape[2]).T @ turned.reshape(-1, turned.shape[2])
    return one.means.T @ other.means + of_noise


def _best_rotation(one: _Gaussians, other: _Gaussians) -> _Rotation:
    """The rotation at which alternation ends, from the best of several starts."""

    def step(rotation: _Rotation) -> _Rotation:
        return polar_factor(_overlap(one, other, _of_trials(one, other, rotation)))

    def overlap(rotation: _Rotation) -> Float[Array, ""]:
        return nuclear_norm(_overlap(one, other, _of_trials(one, other, rotation)))

    found = jax.vmap(lambda start: fixed_point(step, start, steps=_STEPS))(_starts(one, other))
    return fixed_point(step, found[jnp.argmax(jax.vmap(overlap)(found))], steps=_MORE_STEPS)


def _starts(one: _Gaussians, other: _Gaussians) -> Float[Array, "starts d e"]:
    """The best rotations of means and of covariances, and random ones of principal axes if there are few units."""
    of_means = polar_factor(one.means.T @ other.means)
    covariances = [jnp.swapaxes(side.noise, 1, 2) @ side.noise for side in (one, other)]
    of_noise = polar_factor(jnp.sum(covariances[0] @ of_means @ covariances[1], axis=0))
    starts = jnp.stack([of_means, of_noise, polar_factor(of_means + of_noise)])
    d, e = of_means.shape
    if max(d, e) > _FEW:
        return starts
    moments = [
        side.means.T @ side.means + jnp.sum(each, axis=0) for side, each in zip((one, other), covariances, strict=True)
    ]
    left, right = (eigh(moment)[1] for moment in moments)
    turns = jnp.asarray(random_rotations(_RANDOM_STARTS, max(d, e))[:, :d, :e], starts.dtype)
    return jnp.concatenate([starts, left @ turns @ right.T])
