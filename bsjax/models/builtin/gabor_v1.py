"""A model of primary visual cortex: quadrature Gabor filters as simple and complex cells."""

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np

from bsjax.adapters import from_jax, unit_preprocessing
from bsjax.models.brain_model import RecordingTarget
from bsjax.models.builtin.any_region import AnyRegion

VISUAL_DEGREES = 8
_PIXELS = 96  # 12 per degree: three pixels per cycle at the highest spatial frequency
# Cycles per degree -> receptive fields along each side of the field: smaller fields are sampled more densely.
_FIELDS_PER_SIDE = {0.5: 3, 1.0: 4, 2.0: 5, 4.0: 6}
# Receptive fields of every frequency near the centre of gaze, where most of V1's lie: y and x in degrees.
_FOVEAL = ((-0.5, -0.5), (-0.5, 0.5), (0.5, -0.5), (0.5, 0.5))
_ORIENTATIONS = 6
_OCTAVES = 1.4
_ORIENTATION_WIDTH = 40.0
_LUMA = (0.2126, 0.7152, 0.0722)


def gabor_v1() -> AnyRegion:
    """3060 model cells of macaque V1 at 102 positions and scales in a visual field of 8 degrees.

    Each of 612 Gabor filters, one for each spatial frequency, position and orientation, gives five cells: four simple
    cells with phases of 0, 90, 180 and 270 degrees (layer ``simple``, the half-rectified filter outputs), and a
    complex cell (layer ``complex``, the energy model of Adelson & Bergen 1985: the root of the summed squares of a
    quadrature pair, which does not depend on phase). Spatial frequencies are 0.5, 1, 2 and 4 cycles per degree, and
    orientations are every 30 degrees. Receptive-field centres are on regular grids of 3 x 3 (lowest frequency) to 6 x
    6 (highest), and for each frequency at four positions half a degree above or below and left or right of the centre.

    Bandwidths are the medians of macaque V1: 1.4 octaves of spatial frequency (De Valois, Albrecht & Thorell 1982) and
    40 degrees of orientation (De Valois, Yund & Hepler 1982), both full width at half height. The standard deviation
    of the envelope is therefore 0.42 wavelengths across the stripes and 0.51 along them, within the range that Jones &
    Palmer (1987) and Ringach (2002) fitted to recorded receptive fields.

    A response of 1 is that to the optimal grating at full contrast. Filters do not respond to a uniform field, and all
    cells are linear in contrast. Contrast is that of luma relative to mid-gray.

    All regions are mapped to the same cells, complex and simple. The model is meant as a model of V1, and serves as a
    baseline for higher areas.

    References:
        De Valois, R. L., Albrecht, D. G., & Thorell, L. G. (1982). Spatial frequency selectivity of cells in
        macaque visual cortex. Vision Research, 22(5), 545-559.

        De Valois, R. L., Yund, E. W., & Hepler, N. (1982). The orientation and direction selectivity of cells
        in macaque visual cortex. Vision Research, 22(5), 531-544.

        Adelson, E. H., & Bergen, J. R. (1985). Spatiotemporal energy models for the perception of motion.
        Journal of the Optical Society of America A, 2(2), 284-299.

    Example:
        >>> gabor_v1().activations_model.layers()
        {'simple': (612, 4), 'complex': (612,)}
    """
    activations = from_jax(
        gabor_responses, "gabor-v1", preprocess=unit_preprocessing(_PIXELS), parameters=jax.device_put(_filters())
    )
    return AnyRegion(
        "gabor-v1",
        activations,
        layers=["simple", "complex"],
        region_layer_map=dict.fromkeys(RecordingTarget, ["complex", "simple"]),
        visual_degrees=VISUAL_DEGREES,
    )


@cache
def _filters() -> np.ndarray:
    """The filters of the model, which a process often loads twice: for simulated recordings, and as a model."""
    filters = gabor_filters(_PIXELS, VISUAL_DEGREES, _FIELDS_PER_SIDE, _ORIENTATIONS, _FOVEAL)
    filters.setflags(write=False)
    return filters


def gabor_responses(filters: jax.Array, images: jax.Array) -> dict[str, jax.Array]:
    """Responses of simple and complex cells.

    Args:
        filters: from :func:`gabor_filters`, ``(2, cells, pixels, pixels)``.
        images: RGB in [0, 1], ``(images, pixels, pixels, 3)``.

    Returns:
        ``simple``, ``(images, cells, 4)``: phases 0, 90, 180, 270 degrees; ``complex``, ``(images, cells)``.
        Both are at least 0, and 1 for an optimal grating of full contrast.

    Example:
        >>> filters = jnp.asarray(gabor_filters(32, 4.0, {1.0: 1}, n_orientations=2))
        >>> gabor_responses(filters, jnp.full((1, 32, 32, 3), 0.5))["complex"].shape
        (1, 2)
    """
    n_cells = filters.shape[1]
    luma = images @ jnp.asarray(_LUMA, images.dtype)
    contrast = (2 * luma - 1).reshape(len(images), -1)
    linear = jnp.matmul(contrast, filters.reshape(2 * n_cells, -1).T, precision="highest")
    even, odd = linear[:, :n_cells], linear[:, n_cells:]
    squares = even**2 + odd**2
    # Avoid the infinite derivative of the root at 0, the energy of a uniform image.
    energy = jnp.where(squares > 0, jnp.sqrt(jnp.where(squares > 0, squares, 1)), 0)
    return {"simple": jax.nn.relu(jnp.stack([even, odd, -even, -odd], axis=-1)), "complex": energy}


def gabor_filters(
    n_pixels: int,
    visual_degrees: float,
    fields_per_side: Mapping[float, int],
    n_orientations: int,
    more_fields: Sequence[tuple[float, float]] = (),
) -> np.ndarray:
    """Quadrature pairs of Gabor filters.

    Args:
        n_pixels: side of the square image.
        visual_degrees: its width in degrees of visual angle.
        fields_per_side: spatial frequency in cycles per degree -> receptive-field centres along each side.
        n_orientations: number of orientations, evenly spaced over 180 degrees. The first has vertical stripes.
        more_fields: further centres for each spatial frequency, y and x in degrees from the middle.

    Returns:
        float32 ``(2, cells, n_pixels, n_pixels)``: even and odd filters. Cells are ordered by spatial frequency, then
        orientation, then row and column of the centre, then the further centres. Each filter sums to 0, and its
        product with the grating of its own frequency, orientation and phase is 1.

    Example:
        >>> filters = gabor_filters(48, 8.0, {0.5: 2, 1.0: 3}, n_orientations=4)
        >>> filters.shape
        (2, 52, 48, 48)
    """
    axis = ((np.arange(n_pixels) + 0.5) / n_pixels - 0.5) * visual_degrees
    y, x = np.meshgrid(axis, axis, indexing="ij")
    angles = np.arange(n_orientations) * np.pi / n_orientations
    across, along = envelope_in_wavelengths(_OCTAVES, _ORIENTATION_WIDTH)

    def of_angle(of_frequency: tuple[float, int], angle: float) -> np.ndarray:
        frequency, n_fields = of_frequency
        centres = ((np.arange(n_fields) + 0.5) / n_fields - 0.5) * visual_degrees
        places = np.array([*product(centres, centres), *more_fields])
        y0, x0 = places.T[:, :, None, None]
        u = (x - x0) * np.cos(angle) + (y - y0) * np.sin(angle)
        v = (y - y0) * np.cos(angle) - (x - x0) * np.sin(angle)
        envelope = np.exp(-((u * frequency / across) ** 2 + (v * frequency / along) ** 2) / 2)
        waves = np.stack([np.cos(2 * np.pi * frequency * u), np.sin(2 * np.pi * frequency * u)])
        pair = envelope * waves
        pair -= envelope * _sum(pair) / _sum(envelope)  # no response to a uniform field
        return (pair / _sum(pair * waves)).reshape(2, -1, n_pixels, n_pixels).astype(np.float32)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        parts = pool.map(of_angle, *zip(*product(fields_per_side.items(), angles), strict=True))
        return np.concatenate([*parts], axis=1)


def envelope_in_wavelengths(octaves: float, orientation_width: float) -> tuple[float, float]:
    """Standard deviations of a Gabor filter's Gaussian envelope across and along its stripes, in wavelengths.

    Args:
        octaves: bandwidth of spatial frequency, full width at half height.
        orientation_width: bandwidth of orientation in degrees, full width at half height.

    Example:
        >>> [round(deviation, 2) for deviation in envelope_in_wavelengths(1.4, 40.0)]
        [0.42, 0.51]
    """
    # The spectrum of a Gaussian with standard deviation s is a Gaussian with standard deviation 1 / (2 pi s), whose
    # half height is sqrt(2 log 2) standard deviations from the peak. This holds across and along the stripes.
    half_height = np.sqrt(2 * np.log(2)) / (2 * np.pi)
    across = half_height * (2**octaves + 1) / (2**octaves - 1)
    along = half_height / np.tan(np.radians(orientation_width / 2))
    return float(across), float(along)


def _sum(filters: np.ndarray) -> np.ndarray:
    return filters.sum(axis=(-2, -1), keepdims=True)
