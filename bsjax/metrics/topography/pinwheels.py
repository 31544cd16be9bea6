"""Pinwheels: points of a map of preferred orientation around which all orientations are arranged.

A map holds the vector sum of the responses at each place of a grid: the cosine and sine of twice the preferred
orientation, times the selectivity.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from bsjax.engine.precision import at_full_precision
from bsjax.metrics.arrays import Scalar
from bsjax.metrics.numerics import divide_or_nan

OrientationMap = Float[Array, "h w 2"]
Squares = Float[Array, "r c"]


def winding_numbers(vectors: OrientationMap) -> Squares:
    r"""How often the preferred orientation turns by 180 degrees around each square of four neighbouring places.

    .. math:: \frac{1}{2 \pi} \sum_{\text{corners}} \Delta \phi,\quad \Delta \phi \in [-\pi, \pi)

    Args:
        vectors: the map ``(rows, columns, 2)``, with a phase :math:`\phi` of twice the orientation at each place.

    Returns:
        ``(rows - 1, columns - 1)`` in the dtype of the map: 1 or -1 at a pinwheel, else 0; NaN where a corner is NaN.

    Source: Kaschube et al. 2010, "Universality in the evolution of orientation columns in the visual cortex".

    Example:
        >>> x, y = jnp.meshgrid(jnp.arange(-1.5, 2.0), jnp.arange(-1.5, 2.0))
        >>> print(winding_numbers(jnp.stack([x, y], axis=2)))
        [[0. 0. 0.]
         [0. 1. 0.]
         [0. 0. 0.]]
    """
    phases = jnp.arctan2(vectors[..., 1], vectors[..., 0])
    corners = (phases[:-1, :-1], phases[:-1, 1:], phases[1:, 1:], phases[1:, :-1])
    turns = sum(_wrapped(corners[(k + 1) % 4] - corners[k]) for k in range(4))
    return jnp.round(turns / (2 * np.pi)) + 0.0  # no negative zero


def _wrapped(phase: Squares) -> Squares:
    return jnp.mod(phase + np.pi, 2 * np.pi) - np.pi


@at_full_precision
def hypercolumn_size(vectors: OrientationMap) -> Scalar:
    r"""The wavelength of a map: :math:`\Lambda = 2 \pi / \bar k`, with the mean frequency of its power spectrum.

    The map is tapered by a Hann window in both directions, so that its borders do not add frequencies.

    Args:
        vectors: the map ``(rows, columns, 2)``; NaN counts as zero.

    Returns:
        A scalar in places of the grid; NaN for a map of zeros.

    Source: Kaschube et al. 2002, "Genetic influence on quantitative features of neocortical architecture".

    Example:
        >>> phase = 2 * jnp.pi * jnp.arange(64.0)[:, None] / 16 + jnp.zeros((64, 64))
        >>> print(hypercolumn_size(jnp.stack([jnp.cos(phase), jnp.sin(phase)], axis=2)).round())
        16.0
    """
    vectors = jnp.where(jnp.isnan(vectors), 0.0, vectors)
    windows, frequencies = zip(*(_window_and_frequencies(n, vectors.dtype) for n in vectors.shape[:2]), strict=True)
    tapered = vectors * (windows[0][:, None] * windows[1][None, :])[..., None]
    waves = jnp.fft.fft2(jax.lax.complex(tapered[..., 0], tapered[..., 1]))
    power = jnp.real(waves) ** 2 + jnp.imag(waves) ** 2
    frequency = jnp.sqrt(frequencies[0][:, None] ** 2 + frequencies[1][None, :] ** 2)
    total, moment = jnp.sum(power), jnp.sum(power * frequency)
    return divide_or_nan(total, moment, moment <= 0)


def _window_and_frequencies(n: int, dtype: Any) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """A Hann window over ``n`` places, and the frequencies of their Fourier transform."""
    place = jnp.arange(n, dtype=dtype)
    return jnp.sin(np.pi * (place + 1) / (n + 1)) ** 2, jnp.minimum(place, n - place) / n


def pinwheel_density(vectors: OrientationMap) -> Scalar:
    r"""Number of pinwheels per hypercolumn: their density times :math:`\Lambda^2`, see ``hypercolumn_size``.

    For random maps of one wavelength (Gaussian random fields) it is :math:`\pi`, which is also that of visual cortex of
    several species. A map needs several places per wavelength, else neighbouring pinwheels are not told apart.

    Args:
        vectors: the map ``(rows, columns, 2)``; NaN where there is no recording.

    Returns:
        A scalar in the dtype of the map; NaN for a map of zeros, and where no square of places is complete.

    Source: Kaschube et al. 2010; Wolf & Geisel 1998 (random maps).

    Example:
        >>> phase = 2 * jnp.pi * jnp.arange(64.0)[:, None] / 16 + jnp.zeros((64, 64))
        >>> print(pinwheel_density(jnp.stack([jnp.cos(phase), jnp.sin(phase)], axis=2)))  # stripes
        0.0
    """
    turns = winding_numbers(vectors)
    known = ~jnp.isnan(turns)
    area = jnp.sum(known).astype(turns.dtype)
    count = jnp.sum(jnp.where(known, jnp.abs(turns), 0.0))
    return divide_or_nan(count, area, area == 0) * hypercolumn_size(vectors) ** 2
