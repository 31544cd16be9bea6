"""HMAX: an untrained hierarchy of simple and complex cells from V1 to IT, alternating templates and maxima."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bsjax.adapters import from_jax, unit_preprocessing
from bsjax.models.builtin.shapes import overlapping_shapes
from bsjax.models.commitment import ModelCommitment

_PIXELS = 96  # 12 per degree
_SIDES = (96, 68, 48, 34, 24, 17)  # of the image in each band: half an octave apart
_ORIENTATIONS = 4
# Side, standard deviation of the envelope and wavelength of the two filters of a band, in pixels; aspect ratio.
_GABORS = ((7, 2.8, 3.5), (9, 3.6, 4.6))
_ASPECT = 0.3
_POOL, _STRIDE = 8, 4
_TEMPLATE_SIDES = (4, 8)
_TEMPLATES = 128  # of each size
_VARIANCE = 0.5  # of the match to a template
_N_IMAGES = 32
# Contrast, as a standard deviation, below which responses are not normalised.
_NO_CONTRAST = 0.02
_LUMA = (0.2126, 0.7152, 0.0722)


class HMAX(NamedTuple):
    """Filters and templates of the hierarchy.

    Attributes:
        gabors: for each filter size ``(side, side, 1, orientations)``, zero mean, unit length.
        templates: for each template size ``(side, side, orientations, templates)``: patches of C1 responses.
    """

    gabors: tuple[jax.Array, ...]
    templates: tuple[jax.Array, ...]


def hmax(seed: int = 0) -> ModelCommitment:
    """HMAX with six scale bands, four orientations and 256 templates, in a field of 8 degrees at 96 x 96 pixels.

    - ``s1``, simple cells: Gabor filters of 7 x 7 and 9 x 9 pixels; the absolute value of their response divided by
      the local contrast. Filters are applied to the image in six bands, each 1/√2 times the size of the previous one,
      so that preferred spatial frequencies range from 3.4 down to 0.5 cycles per degree, the range of macaque V1 (De
      Valois et al. 1982).
    - ``c1``, complex cells: the maximum over 8 x 8 positions and both filter sizes, every 4 positions, which gives
      tolerance to phase and to small shifts and changes of size.
    - ``s2``: the similarity of a patch of c1 (4 x 4 or 8 x 8 positions, all orientations) to each template, exp(-d² /
      (2 σ² (side / 4)²)) with the Euclidean distance d and σ² = 0.5.
    - ``c2``: the maximum of each template's similarity over all positions and bands, which is invariant to position
      and size.

    Filter sizes, wavelengths, pooling and template sizes are those of band 1 of Serre et al. (2007a). Resizing the
    image for each band, and the tolerance that grows with the template, follow Mutch & Lowe (2008). The templates are
    patches of c1 responses to seeded random images of overlapping shapes, so the model needs no file and has seen no
    photograph.

    V1 and V2 are mapped to ``c1`` (V1's output is mostly complex cells, and Serre et al. put c1 into V1 and V2), V4 to
    ``s2`` and IT to ``c2``, close to Serre et al. (2007b).

    Args:
        seed: for the images and the patches; another seed gives another model, with the seed in its identifier.

    References:
        Riesenhuber, M., & Poggio, T. (1999). Hierarchical models of object recognition in cortex. Nature
        Neuroscience, 2(11), 1019-1025.

        Serre, T., Wolf, L., Bileschi, S., Riesenhuber, M., & Poggio, T. (2007a). Robust object recognition with
        cortex-like mechanisms. IEEE Transactions on Pattern Analysis and Machine Intelligence, 29(3), 411-426.

        Serre, T., Oliva, A., & Poggio, T. (2007b). A feedforward architecture accounts for rapid categorization.
        PNAS, 104(15), 6424-6429.

        Mutch, J., & Lowe, D. G. (2008). Object class recognition and localization using sparse features with
        limited receptive fields. International Journal of Computer Vision, 80(1), 45-57.

        De Valois, R. L., Albrecht, D. G., & Thorell, L. G. (1982). Spatial frequency selectivity of cells in macaque
        visual cortex. Vision Research, 22(5), 545-559.

    Example:
        >>> hmax().activations_model.layers()["c2"]
        (256,)
    """
    identifier = "hmax" if seed == 0 else f"hmax-{seed}"
    activations = from_jax(
        hmax_responses, identifier, preprocess=unit_preprocessing(_PIXELS), parameters=make_hmax(seed)
    )
    return ModelCommitment(
        identifier,
        activations,
        layers=["s1", "c1", "s2", "c2"],
        region_layer_map={"V1": "c1", "V2": "c1", "V4": "s2", "IT": "c2"},
    )


@lru_cache(maxsize=2)
def make_hmax(seed: int = 0) -> HMAX:
    """The filters and templates of :func:`hmax`, cached within the process.

    Example:
        >>> [templates.shape for templates in make_hmax().templates]
        [(4, 4, 4, 128), (8, 8, 4, 128)]
    """
    rng = np.random.default_rng(seed)
    gabors = tuple(jnp.asarray(_gabors(*size)) for size in _GABORS)
    images = np.stack([overlapping_shapes(rng, _PIXELS) for _ in range(_N_IMAGES)])
    bands = jax.jit(_bands_of_c1)(gabors, jnp.asarray(images))
    seen = [np.asarray(band) for band in bands]
    return HMAX(gabors, tuple(jnp.asarray(_patches(rng, seen, side)) for side in _TEMPLATE_SIDES))


def hmax_responses(model: HMAX, images: jax.Array) -> dict[str, jax.Array]:
    """Responses of all four layers.

    Args:
        model: from :func:`make_hmax`.
        images: RGB in [0, 1], ``(images, 96, 96, 3)``.

    Returns:
        ``s1``, ``c1`` and ``s2``, ``(images, units)``, with bands from fine to coarse. Each band of ``s1`` has its two
        filter sizes, flattened from orientation, row and column. ``c1`` is flattened from row, column and orientation.
        ``s2`` has all bands of one template size before those of the other, flattened from row, column and template.
        ``c2`` is ``(images, templates)``. All values lie in [0, 1].

    Example:
        >>> shapes = jax.eval_shape(hmax_responses, make_hmax(), jnp.zeros((1, 96, 96, 3)))
        >>> {layer: array.shape[1] for layer, array in shapes.items()}
        {'c1': 4604, 'c2': 256, 's1': 145320, 's2': 151680}
    """
    luma = images @ jnp.asarray(_LUMA, images.dtype)
    s1 = [_s1(model.gabors, image) for image in _bands(luma)]
    c1 = [_c1(sizes) for sizes in s1]
    distances = [
        [_distances(templates, band) for band in c1 if band.shape[1] >= len(templates)] for templates in model.templates
    ]
    nearest = [jnp.min(jnp.stack([band.min((1, 2)) for band in bands]), axis=0) for bands in distances]
    return {
        "s1": _flat([size for sizes in s1 for size in sizes]),
        "c1": _flat(c1),
        "s2": jnp.exp(-_flat([band for bands in distances for band in bands])),
        "c2": jnp.exp(-jnp.concatenate(nearest, axis=1)),  # the largest response
    }


def _bands_of_c1(gabors: tuple[jax.Array, ...], luma: jax.Array) -> list[jax.Array]:
    return [_c1(_s1(gabors, image)) for image in _bands(luma)]


def _bands(luma: jax.Array) -> list[jax.Array]:
    """The image at every scale, ``(images, 1, side, side)``, with gray as 0."""
    contrast = (2 * luma - 1)[:, None]
    return [jax.image.resize(contrast, (len(luma), 1, side, side), "linear") for side in _SIDES]


def _s1(gabors: tuple[jax.Array, ...], image: jax.Array) -> list[jax.Array]:
    """Responses of each filter size, ``(images, orientations, side, side)``, in [0, 1]."""
    responses = []
    for filters in gabors:
        side = len(filters)
        linear = _filtered(image, filters)
        # Energy around the local mean, since the filters have zero mean.
        energy = _windowed(image**2, jax.lax.add, side, 1) - _windowed(image, jax.lax.add, side, 1) ** 2 / side**2
        responses.append(jnp.abs(linear) / jnp.sqrt(jnp.maximum(energy, 0) + (side * _NO_CONTRAST) ** 2))
    return responses


def _c1(s1: list[jax.Array]) -> jax.Array:
    """The maximum over positions and filter sizes, ``(images, side / 4, side / 4, orientations)``."""
    return jnp.moveaxis(_windowed(jnp.maximum(*s1), jax.lax.max, _POOL, _STRIDE), 1, -1)


def _distances(templates: jax.Array, c1: jax.Array) -> jax.Array:
    """Squared distance of patches to templates, relative to the tolerance, ``(images, rows, columns, templates)``.

    The tolerance is that of 4 x 4 patches, scaled by the number of positions.
    """

    def sums(values: jax.Array, weights: jax.Array) -> jax.Array:
        layout = ("NHWC", "HWIO", "NHWC")
        return jax.lax.conv_general_dilated(
            values, weights, (1, 1), "VALID", dimension_numbers=layout, precision="highest"
        )

    ones = jnp.ones((*templates.shape[:3], 1), c1.dtype)
    own = jnp.sum(templates**2, axis=(0, 1, 2))[None, None, None]
    squared = sums(c1**2, ones) - 2 * sums(c1, templates) + own
    return jnp.maximum(squared, 0) / (2 * _VARIANCE * (len(templates) / 4) ** 2)


def _filtered(image: jax.Array, filters: jax.Array) -> jax.Array:
    """The image, ``(images, 1, side, side)``, convolved with each filter; padded with gray.

    Uses a Fourier transform, which for one channel is seven times as fast on CPU as XLA's convolution.
    """
    n, side = image.shape[-1], len(filters)
    shape = (n + side - 1, n + side - 1)  # nothing wraps around
    transfer = jnp.fft.rfft2(jnp.moveaxis(filters[:, :, 0], -1, 0), shape)[None]
    whole = jnp.fft.irfft2(jnp.fft.rfft2(image, shape) * transfer, shape)
    inside = slice(side // 2, side // 2 + n)
    return whole[..., inside, inside]


def _windowed(image: jax.Array, combine: Callable[..., jax.Array], window: int, stride: int) -> jax.Array:
    """Sum or maximum over square windows of ``(images, channels, rows, columns)``, one axis after the other."""
    nothing = -jnp.inf if combine is jax.lax.max else 0.0
    for sides in ((window, 1), (1, window)):
        strides = tuple(stride if side > 1 else 1 for side in sides)
        image = jax.lax.reduce_window(image, nothing, combine, (1, 1, *sides), (1, 1, *strides), "SAME")
    return image


def _flat(parts: list[jax.Array]) -> jax.Array:
    return jnp.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)


def _gabors(side: int, deviation: float, wavelength: float) -> np.ndarray:
    """Even filters of all orientations, ``(side, side, 1, orientations)``; the first has vertical stripes."""
    axis = np.arange(side) - (side - 1) / 2
    y, x = np.meshgrid(axis, axis, indexing="ij")
    angles = np.arange(_ORIENTATIONS) * np.pi / _ORIENTATIONS
    u = x[..., None] * np.cos(angles) + y[..., None] * np.sin(angles)
    v = y[..., None] * np.cos(angles) - x[..., None] * np.sin(angles)
    filters = np.exp(-(u**2 + (_ASPECT * v) ** 2) / (2 * deviation**2)) * np.cos(2 * np.pi * u / wavelength)
    filters -= filters.mean((0, 1))
    filters /= np.sqrt((filters**2).sum((0, 1)))
    return filters[:, :, None].astype(np.float32)


def _patches(rng: np.random.Generator, bands: list[np.ndarray], side: int) -> np.ndarray:
    """Patches of c1 at random positions, bands and images, ``(side, side, orientations, templates)``."""
    wide_enough = [band for band in bands if band.shape[1] >= side]
    patches = []
    for _ in range(_TEMPLATES):
        band = wide_enough[rng.integers(len(wide_enough))]
        image = rng.integers(len(band))
        row, column = rng.integers(band.shape[1] - side + 1, size=2)
        patches.append(band[image, row : row + side, column : column + side])
    return np.stack(patches, axis=-1)
