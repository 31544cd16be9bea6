"""A model of low-level image statistics, as a baseline for luminance, contrast, colour and spatial frequency."""

import jax
import jax.numpy as jnp
import numpy as np

from bsjax.adapters import from_jax, unit_preprocessing
from bsjax.models.brain_model import RecordingTarget
from bsjax.models.builtin.any_region import AnyRegion

_SIZE = 64
_BANDS = (1, 2, 4, 8, 16, 32)  # cycles per image
_ORIENTATIONS = 4
_LUMA = (0.2126, 0.7152, 0.0722)
# Smallest contrast or edge, an eighth of an 8-bit step, which keeps the logarithm of a uniform image finite.
_NOTHING = 1 / 2048


def image_statistics() -> AnyRegion:
    """33 statistics of the whole image at 64 x 64 pixels, as the units of every region.

    The layer ``statistics`` has the mean luma, the logarithm of its contrast (standard deviation), its skewness and
    excess kurtosis; the logarithms of the mean gradient and of its two components, which measure edges; the mean of
    red, green and blue, and the logarithms of their standard deviations; and the logarithms of the amplitude in five
    octaves of spatial frequency from 1 to 32 cycles per image, at four orientations each. The slope of the spectrum is
    a weighted sum of the latter.

    The statistics carry no information about position in the image.

    References:
        Torralba, A., & Oliva, A. (2003). Statistics of natural image categories. Network, 14(3), 391-412.

    Example:
        >>> image_statistics().activations_model.layers()
        {'statistics': (33,)}
    """
    activations = from_jax(
        lambda bands, images: {"statistics": statistics(bands, images)},
        "image-statistics",
        preprocess=unit_preprocessing(_SIZE),
        parameters=jax.device_put(spectral_bands(_SIZE)),
    )
    return AnyRegion(
        "image-statistics",
        activations,
        layers=["statistics"],
        region_layer_map=dict.fromkeys(RecordingTarget, "statistics"),
    )


def statistics(bands: jax.Array, images: jax.Array) -> jax.Array:
    """The statistics of :func:`image_statistics`, ``(images, 33)``.

    Args:
        bands: from :func:`spectral_bands`.
        images: RGB in [0, 1], ``(images, pixels, pixels, 3)``.

    Example:
        >>> gray = jnp.full((1, 16, 16, 3), 0.5)
        >>> numbers = statistics(jnp.asarray(spectral_bands(16)), gray)
        >>> numbers.shape, float(numbers[0, 0])
        ((1, 33), 0.5)
    """
    luma = images @ jnp.asarray(_LUMA, images.dtype)
    mean = luma.mean((1, 2))
    centred = luma - mean[:, None, None]
    contrast = jnp.sqrt((centred**2).mean((1, 2)) + _NOTHING**2)
    standard = centred / contrast[:, None, None]
    moments = [(standard**3).mean((1, 2)), (standard**4).mean((1, 2)) - 3]
    colour = images.mean((1, 2))
    spread = jnp.sqrt(((images - colour[:, None, None]) ** 2).mean((1, 2)) + _NOTHING**2)
    across, down = (jnp.diff(luma, axis=axis)[:, : luma.shape[1] - 1, : luma.shape[2] - 1] for axis in (2, 1))
    steepness = jnp.sqrt(across**2 + down**2 + _NOTHING**2).mean((1, 2))
    edges = [jnp.log(_NOTHING + jnp.abs(each).mean((1, 2))) for each in (across, down)]
    fading = np.hanning(luma.shape[1] + 2)[1:-1]  # otherwise the image borders would act as edges
    window = jnp.asarray(np.outer(fading, fading)[None], luma.dtype)
    spectrum = jnp.abs(jnp.fft.fft2(centred * window)) ** 2 / luma[0].size ** 2
    energy = jnp.einsum("nyx,byx->nb", spectrum, bands, precision="highest")
    alone = [mean, jnp.log(contrast), *moments, jnp.log(steepness), *edges]
    return jnp.concatenate(
        [jnp.stack(alone, axis=1), colour, jnp.log(spread), jnp.log(energy + _NOTHING**2) / 2], axis=1
    )


def spectral_bands(n_pixels: int) -> np.ndarray:
    """Masks of the frequency and orientation bands in the 2-D Fourier transform, float32 ``(20, pixels, pixels)``.

    Bands are ordered by frequency, then by orientation, starting with vertical stripes.

    Example:
        >>> spectral_bands(64).sum(axis=0)[0, :3].tolist()
        [0.0, 1.0, 1.0]
    """
    cycles = np.fft.fftfreq(n_pixels, 1 / n_pixels)
    y, x = np.meshgrid(cycles, cycles, indexing="ij")
    octave = np.digitize(np.hypot(x, y), _BANDS) - 1
    step = np.pi / _ORIENTATIONS
    orientation = np.floor(np.mod(np.arctan2(y, x) + step / 2, np.pi) / step).astype(int)
    number = octave * _ORIENTATIONS + orientation
    inside = (octave >= 0) & (octave < len(_BANDS) - 1)
    numbers = np.arange((len(_BANDS) - 1) * _ORIENTATIONS)
    return (inside & (number == numbers[:, None, None])).astype(np.float32)
