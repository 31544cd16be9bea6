"""CKA with kernels other than the linear one, and linear CKA corrected for sampled units."""

from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from bsjax.engine.precision import at_full_precision
from bsjax.metrics.arrays import Features, Mask, PerStimulus, Scalar, Targets
from bsjax.metrics.numerics import deviations, nonzero, safe_sqrt, squared_distances
from bsjax.metrics.similarity.cka import SIDES, cka_ratio, of_sides, standardised, unbiased_hsic

Kernel = Literal["rbf", "laplacian"]


@at_full_precision
def kernel_cka(
    x: Features,
    y: Targets,
    *,
    kernel: Kernel = "rbf",
    bandwidth: float = 1.0,
    unbiased: bool = True,
    where: Mask | None = None,
) -> Scalar:
    r"""CKA with a kernel of distances between response patterns: nearby stimuli count more than in linear CKA.

    .. math:: K_{ij} = \exp\bigl(-d_{ij}^2 / 2 \sigma^2\bigr)\ \text{(rbf)},\quad
        K_{ij} = \exp(-d_{ij} / \sigma)\ \text{(laplacian)},\quad \sigma = b \sqrt{\langle d^2 \rangle}

    with Euclidean distances :math:`d` and their mean square over all pairs of different stimuli. For a large bandwidth
    :math:`b`, the RBF kernel gives linear CKA.

    Args:
        x: responses ``(stimuli, units)``.
        y: responses ``(stimuli, units)`` to the same stimuli in the same order; units may differ in number.
        kernel: ``"rbf"`` or ``"laplacian"``.
        bandwidth: b, in root-mean-square distances.
        unbiased: which estimator of HSIC, see :func:`cka`.
        where: True where a stimulus counts; all if None.

    Returns:
        A scalar in the dtype of the inputs; NaN where a side is constant over stimuli and, if unbiased, for fewer than
        4 stimuli.

    Raises:
        ValueError: the kernel is not known, or the bandwidth is not positive.

    Source: Kornblith et al. 2019 (RBF CKA); Song et al. 2012 (unbiased HSIC).

    Example:
        >>> x = jnp.array([[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [5.0, 1.0], [3.0, 4.0]])
        >>> print(f"{kernel_cka(x, 2.0 * x[:, ::-1]):.3f}")
        1.000
    """
    if kernel not in ("rbf", "laplacian"):
        raise ValueError(f"the kernel must be 'rbf' or 'laplacian', and is {kernel!r}")
    if not bandwidth > 0:
        raise ValueError(f"the bandwidth must be positive, and is {bandwidth}")
    counted = jnp.ones(len(x), x.dtype) if where is None else where.astype(x.dtype)
    n = jnp.sum(counted)
    grams = [_less_one(side, where, counted, kernel, bandwidth) for side in (x, y)]
    if not unbiased:
        grams = [_centred(gram, counted) for gram in grams]
    products = jnp.stack([jnp.sum(grams[a] * grams[b]) for a, b in SIDES])
    if not unbiased:
        return cka_ratio(products, products, n < 2)
    sums = of_sides([jnp.sum(gram, axis=1) for gram in grams])
    return cka_ratio(unbiased_hsic(products, *sums, n), products, n < 4)


def _less_one(
    x: Features, where: Mask | None, counted: PerStimulus, kernel: Kernel, bandwidth: float
) -> Float[Array, "n n"]:
    """The kernel of every two stimuli minus 1, which changes no HSIC, and is exact where all stimuli are near."""
    centred = standardised(x, where)
    pairs = counted[:, None] * counted[None, :] * (1.0 - jnp.eye(len(x), dtype=x.dtype))
    distances = squared_distances(centred, centred) * pairs
    mean = jnp.sum(distances) / nonzero(jnp.sum(pairs))
    scaled = distances / (bandwidth**2 * nonzero(mean))
    return jnp.expm1(-0.5 * scaled if kernel == "rbf" else -safe_sqrt(scaled))


def _centred(gram: Float[Array, "n n"], counted: PerStimulus) -> Float[Array, "n n"]:
    """A Gram matrix of centred features."""
    means = gram @ counted / nonzero(jnp.sum(counted))
    overall = means @ counted / nonzero(jnp.sum(counted))
    return (gram - means[:, None] - means[None, :] + overall) * counted[:, None] * counted[None, :]


@at_full_precision
def cka_of_sampled_units(x: Features, y: Targets, *, where: Mask | None = None) -> Scalar:
    r"""Linear CKA of two populations from samples of their units and of stimuli.

    Few recorded neurons make the HSIC of a side with itself too large, since noise-like differences between neurons do
    not average out, and CKA too low. Here the HSIC of a side with itself leaves out the products of a unit with itself:

    .. math:: \mathrm{HSIC}(K, K) = \frac{1}{p (p - 1)} \sum_{u \ne v} \mathrm{HSIC}(x_u x_u^T, x_v x_v^T)

    with the unbiased estimator of HSIC (see :func:`cka`). Numerator and denominator are unbiased for stimuli and units.
    Units are not scaled: their variances are part of the population.

    Args:
        x: responses ``(stimuli, units)`` of a sample of units.
        y: responses ``(stimuli, units)`` of another sample, to the same stimuli in the same order.
        where: True where a stimulus counts; all if None.

    Returns:
        A scalar in the dtype of the inputs, about 1 for two samples of one population; it may exceed 1. NaN where
        a side has a single unit, is constant over stimuli, or has no positive HSIC with itself, and for fewer than 4
        stimuli.

    Source: Chun, Canatar, Chung & Lee 2025, "Estimating Neural Representation Alignment from Sparsely Sampled Inputs
        and Features".

    Example:
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> latent = rng.normal(size=(200, 5))
        >>> x, y = (latent @ rng.normal(size=(5, 50)) + rng.normal(size=(200, 50)) for _ in range(2))
        >>> print(f"{cka_of_sampled_units(jnp.asarray(x), jnp.asarray(y)):.1f}")
        1.0
    """
    n = jnp.asarray(len(x), x.dtype) if where is None else jnp.sum(where).astype(x.dtype)
    counted = None if where is None else where[:, None]
    sides = [deviations(standardised(side, where), counted, axis=0).values for side in (x, y)]
    products, of_units = [], []
    squares = [jnp.sum(side**2, axis=1) for side in sides]
    for a, b in SIDES:
        products.append(jnp.sum((sides[a].T @ sides[b]) ** 2) - jnp.vecdot(squares[a], squares[b]))
    for side in sides:
        # Centred: the sums of rows of the Gram matrix of a unit, without its diagonal, are the negative squares.
        powers, fourth = jnp.sum(side**2, axis=0), jnp.sum(side**4, axis=0)
        own = jax.vmap(unbiased_hsic, in_axes=(0, 1, 1, None))(powers**2 - fourth, -(side**2), -(side**2), n)
        of_units.append(jnp.sum(own))
    sums = of_sides([-each for each in squares])
    hsic = unbiased_hsic(jnp.stack(products), *sums, n) - jnp.stack([jnp.zeros_like(n), *of_units])
    # As means over pairs of units: of both sides, and of different units of one side.
    p, q = x.shape[1], y.shape[1]
    scale = jnp.asarray([1.0 / (p * q), 1.0 / max(p * (p - 1), 1), 1.0 / max(q * (q - 1), 1)], x.dtype)
    terms = jnp.stack(products) * scale
    return cka_ratio(hsic * scale, terms, (n < 4) | (min(p, q) < 2))
