"""A population of V1 neurons with the variability of recorded ones: Gabor filters with a suppressive surround."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bsjax.adapters import from_jax, unit_preprocessing
from bsjax.models.brain_model import RecordingTarget
from bsjax.models.builtin.gabor_v1 import envelope_in_wavelengths
from bsjax.models.commitment import ModelCommitment

VISUAL_DEGREES = 8
_PIXELS = 224  # 28 per degree: more than two pixels per cycle at the highest spatial frequency
_SITES = ((-0.5, -0.5), (-0.5, 0.5), (0.5, -0.5), (0.5, 0.5))  # y and x, degrees
_NEURONS = 128  # filters at each site
_PATCH = 140  # pixels, 5 degrees: the input of the neurons at a site
_LUMA = (0.2126, 0.7152, 0.0722)

# Medians, and spreads in octaves, unless stated otherwise.
_FREQUENCY, _FREQUENCY_SPREAD, _FREQUENCIES = 2.8, 1.15, (0.45, 11.0)  # cycles per degree
_BANDWIDTH, _BANDWIDTH_SPREAD, _BANDWIDTHS = 1.5, 0.45, (0.8, 2.6)  # mean and standard deviation, octaves
_WIDTH, _WIDTH_SPREAD, _WIDTHS = 40.0, 0.45, (18.0, 90.0)  # degrees of orientation
_SURROUND, _SURROUND_SPREAD, _SURROUNDS = 0.6, 0.6, (0.25, 2.0)  # standard deviation, degrees
_SUPPRESSION = 0.9  # mean of an exponential distribution


class Neurons(NamedTuple):
    """Filters and surrounds of the neurons at a site.

    Attributes:
        filters: quadrature pairs, ``(2, neurons, pixels)``; the response to the optimal grating is 1.
        surrounds: Gaussian weights, ``(neurons, pixels)``; 1 for a grating of full contrast over the whole patch.
        suppression: strength of the surround, ``(neurons,)``.
    """

    filters: jax.Array
    surrounds: jax.Array
    suppression: jax.Array


def v1_population(seed: int = 0) -> ModelCommitment:
    r"""1024 model cells of macaque V1 at four sites near the centre of gaze, with randomly drawn filters.

    The sites are half a degree above or below and left or right of the centre of a field of 8 degrees. Each has 128
    Gabor filters. Each filter gives a simple cell of random phase (layer ``simple``, the half-rectified output) and a
    complex cell (layer ``complex``, the energy of a quadrature pair). Both are divisively normalised by the
    surrounding contrast: :math:`e / (1 + w \sum_p g_p c_p^2)` with the filter's response e, the contrast c of the
    pixels, Gaussian weights g and a strength w. Gratings larger than the receptive field therefore suppress the
    response (Cavanaugh et al. 2002).

    Parameters are drawn at random and not fitted: uniform orientations; log-normal spatial frequencies with a median
    of 2.8 cycles per degree; bandwidths around 1.5 octaves and 40 degrees, the medians in macaque V1 (De Valois et al.
    1982); surrounds of 0.6 degrees (log-normal) and strengths of 0.9 (exponential). A match with the recorded
    distribution of spatial frequencies is therefore built in. The model shows which scores a V1-like population gets,
    and that the measurements recover its known properties.

    Args:
        seed: for the draw; another seed gives another model, with the seed in its identifier.

    References:
        De Valois, R. L., Albrecht, D. G., & Thorell, L. G. (1982). Spatial frequency selectivity of cells in
        macaque visual cortex. Vision Research, 22(5), 545-559.

        Cavanaugh, J. R., Bair, W., & Movshon, J. A. (2002). Nature and interaction of signals from the receptive
        field center and surround in macaque V1 neurons. Journal of Neurophysiology, 88(5), 2530-2546.

    Example:
        >>> v1_population().activations_model.layers()
        {'simple': (4, 128), 'complex': (4, 128)}
    """
    identifier = "v1-population" if seed == 0 else f"v1-population-{seed}"
    activations = from_jax(
        v1_responses, identifier, preprocess=unit_preprocessing(_PIXELS), parameters=draw_neurons(seed)
    )
    return ModelCommitment(
        identifier,
        activations,
        layers=["simple", "complex"],
        region_layer_map={RecordingTarget.V1: ["complex", "simple"]},
        visual_degrees=VISUAL_DEGREES,
    )


def v1_responses(neurons: Neurons, images: jax.Array) -> dict[str, jax.Array]:
    """Responses of simple and complex cells.

    Args:
        neurons: from :func:`draw_neurons`.
        images: RGB in [0, 1], ``(images, 224, 224, 3)``.

    Returns:
        ``simple`` and ``complex``, ``(images, sites, neurons)``, at least 0.

    Example:
        >>> shapes = jax.eval_shape(v1_responses, draw_neurons(0), jnp.zeros((1, 224, 224, 3)))
        >>> shapes["complex"].shape
        (1, 4, 128)
    """
    contrast = 2 * (images @ jnp.asarray(_LUMA, images.dtype)) - 1
    centres = [[round(_PIXELS / 2 + degrees * _PIXELS / VISUAL_DEGREES) for degrees in site] for site in _SITES]
    half = _PATCH // 2
    patches = [contrast[:, y - half : y + half, x - half : x + half].reshape(len(images), -1) for y, x in centres]
    seen = jnp.stack(patches, axis=1)
    even, odd = jnp.einsum("isp,qnp->qisn", seen, neurons.filters, precision="highest")
    around = jnp.einsum("isp,np->isn", seen**2, neurons.surrounds, precision="highest")
    squares = even**2 + odd**2
    # Avoid the infinite derivative of the root at 0, the energy of a uniform image.
    energy = jnp.where(squares > 0, jnp.sqrt(jnp.where(squares > 0, squares, 1)), 0)
    suppressed = 1 + neurons.suppression[None, None] * around
    return {"simple": jax.nn.relu(even) / suppressed, "complex": energy / suppressed}


def draw_neurons(seed: int) -> Neurons:
    """The filters and surrounds of a site, drawn at random.

    Example:
        >>> neurons = draw_neurons(0)
        >>> neurons.filters.shape, neurons.suppression.shape
        ((2, 128, 19600), (128,))
    """
    rng = np.random.default_rng(seed)

    def log_normal(median: float, spread: float, limits: tuple[float, float]) -> np.ndarray:
        return np.clip(median * 2 ** rng.normal(0, spread, _NEURONS), *limits)

    frequency = log_normal(_FREQUENCY, _FREQUENCY_SPREAD, _FREQUENCIES)
    octaves = np.clip(rng.normal(_BANDWIDTH, _BANDWIDTH_SPREAD, _NEURONS), *_BANDWIDTHS)
    width = log_normal(_WIDTH, _WIDTH_SPREAD, _WIDTHS)
    surround = log_normal(_SURROUND, _SURROUND_SPREAD, _SURROUNDS)
    angle, phase = rng.uniform(0, np.pi, _NEURONS), rng.uniform(0, 2 * np.pi, _NEURONS)
    suppression = rng.exponential(_SUPPRESSION, _NEURONS)

    axis = (np.arange(_PATCH) + 0.5 - _PATCH / 2) * VISUAL_DEGREES / _PIXELS
    y, x = (grid.ravel() for grid in np.meshgrid(axis, axis, indexing="ij"))
    filters = np.empty((2, _NEURONS, len(x)), np.float32)
    for n in range(_NEURONS):
        across, along = envelope_in_wavelengths(octaves[n], width[n])
        u, v = x * np.cos(angle[n]) + y * np.sin(angle[n]), y * np.cos(angle[n]) - x * np.sin(angle[n])
        envelope = np.exp(-((u * frequency[n] / across) ** 2 + (v * frequency[n] / along) ** 2) / 2)
        for quadrature in (0, 1):
            wave = np.cos(2 * np.pi * frequency[n] * u + phase[n] - quadrature * np.pi / 2)
            gabor = envelope * wave
            gabor -= envelope * gabor.sum() / envelope.sum()  # no response to a uniform field
            filters[quadrature, n] = gabor / (gabor @ wave)
    surrounds = np.exp(-(x**2 + y**2) / (2 * surround[:, None] ** 2))
    surrounds *= 2 / surrounds.sum(axis=1, keepdims=True)  # the mean square of a grating is 1/2
    return Neurons(
        *(jnp.asarray(values, jnp.float32) for values in (filters, surrounds, suppression)),
    )
