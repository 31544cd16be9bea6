"""Procedural grey images of six kinds that drive oriented filters, from a seed."""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bsjax.benchmarks.prepare.rendered_images import rendered_images
from bsjax.core.identity.source import own_source
from bsjax.core.identity.values import identity_of
from bsjax.data import StimulusSet

Field = NDArray[np.float64]
"""Luminance before normalisation of mean and contrast, shape ``(pixels, pixels)``, on any scale."""


def noise(rng: np.random.Generator, x: Field, y: Field) -> Field:
    """Noise with a 1/f amplitude spectrum, like natural images."""
    return _spectral_noise(rng, len(x), 1)


def grating(rng: np.random.Generator, x: Field, y: Field) -> Field:
    """A sine grating over the whole image, 0.25 to 3 cycles per degree over an image of 8 degrees."""
    angle, phase = rng.uniform(0, np.pi), rng.uniform(0, 2 * np.pi)
    cycles = 2 * np.exp(rng.uniform(0, np.log(12)))  # per image
    return np.sin(2 * np.pi * cycles * _along(angle, x, y) + phase)


def plaid(rng: np.random.Generator, x: Field, y: Field) -> Field:
    """The sum of two gratings."""
    return grating(rng, x, y) + rng.uniform(0.5, 1) * grating(rng, x, y)


def bars(rng: np.random.Generator, x: Field, y: Field) -> Field:
    """One to six light and dark bars of any orientation; later ones cover earlier ones."""
    image = np.zeros_like(x)
    pixel = x[0, 1] - x[0, 0]
    for _ in range(rng.integers(1, 7)):
        angle = rng.uniform(0, np.pi)
        x0, y0 = rng.uniform(-0.4, 0.4, size=2)
        half_width = max(pixel, rng.uniform(0.01, 0.08))  # at least one pixel, so that no bar vanishes
        across = np.abs(_along(angle, x - x0, y - y0)) < half_width
        along = np.abs(_along(angle + np.pi / 2, x - x0, y - y0)) < rng.uniform(0.1, 0.5)
        image[across & along] = rng.choice([-1.0, 1.0])
    return image


def contours(rng: np.random.Generator, x: Field, y: Field) -> Field:
    """Contour lines of a smooth random landscape, with all orientations."""
    landscape = np.zeros_like(x)
    for _ in range(6):
        phase, cycles = rng.uniform(0, 2 * np.pi), rng.uniform(0.3, 1.5)
        landscape += np.sin(2 * np.pi * cycles * _along(rng.uniform(0, np.pi), x, y) + phase)
    return np.cos(rng.uniform(3, 9) * landscape) ** 9


def patches(rng: np.random.Generator, x: Field, y: Field) -> Field:
    """Three to twelve patches of grating under Gaussian windows."""
    image = np.zeros_like(x)
    for _ in range(rng.integers(3, 13)):
        x0, y0 = rng.uniform(-0.45, 0.45, size=2)
        window = np.exp(-((x - x0) ** 2 + (y - y0) ** 2) / (2 * rng.uniform(0.04, 0.15) ** 2))
        image += window * grating(rng, x, y)
    return image


KINDS: dict[str, Callable[[np.random.Generator, Field, Field], Field]] = {
    kind.__name__: kind for kind in (noise, grating, plaid, bars, contours, patches)
}


def _along(angle: float, x: Field, y: Field) -> Field:
    """Position along a direction, in units of the image width."""
    return np.cos(angle) * x + np.sin(angle) * y


def render(kind: str, seed: tuple[int, ...], n_pixels: int) -> NDArray[np.uint8]:
    """One image.

    Args:
        kind: a key of ``KINDS``.
        seed: seed of NumPy's default generator; the same seed gives the same image.
        n_pixels: width and height.

    Returns:
        Grey values, shape ``(n_pixels, n_pixels)``, with a mean near 128 and a standard deviation of 15 to 25 % of the
        range before clipping. A fifth of the contrast power is smooth background noise with amplitude 1/f².

    Example:
        >>> image = render("grating", (0, 3), 32)
        >>> image.shape, bool((image == render("grating", (0, 3), 32)).all())
        ((32, 32), True)
    """
    rng = np.random.default_rng(seed)
    y, x = np.meshgrid(*[np.linspace(-0.5, 0.5, n_pixels)] * 2, indexing="ij")
    # background noise, so that no filter is silent for most images
    clouds = _spectral_noise(rng, n_pixels, 2)
    field = _standardised(KINDS[kind](rng, x, y)) + 0.5 * _standardised(clouds)
    field = _standardised(field) * rng.uniform(0.15, 0.25)
    return np.round(255 * np.clip(0.5 + field, 0, 1)).astype(np.uint8)


def _spectral_noise(rng: np.random.Generator, n_pixels: int, exponent: float) -> Field:
    frequencies = np.fft.fftfreq(n_pixels)
    radius = np.hypot(frequencies[:, None], frequencies[None, :])
    radius[0, 0] = np.inf  # no mean
    return np.fft.ifft2(np.fft.fft2(rng.normal(size=(n_pixels, n_pixels))) / radius**exponent).real


def _standardised(field: Field) -> Field:
    return (field - field.mean()) / field.std()


def procedural_stimuli(
    identifier: str, n_per_kind: int, n_pixels: int, visual_degrees: float, seed: int
) -> StimulusSet:
    """A stimulus set of procedural images that cycles through the kinds.

    The images are rendered once, see :func:`bsjax.benchmarks.prepare.rendered_images.rendered_images`, and again when
    the code changes.

    Args:
        identifier: identifier of the stimulus set.
        n_per_kind: number of images of each of the six kinds.
        n_pixels: width and height of an image.
        visual_degrees: width of an image in degrees of visual angle.
        seed: seed that determines the images.

    Returns:
        Columns ``stimulus_id``, ``object_name`` (the kind) and ``degrees``.
    """
    key = identity_of([own_source("benchmarks"), np.__version__, n_per_kind, n_pixels, seed])
    places = [(kind, kind_number, number) for number in range(n_per_kind) for kind_number, kind in enumerate(KINDS)]
    renderings = [partial(render, kind, (seed, *place), n_pixels) for kind, *place in places]
    files = rendered_images(f"procedural-{key}", renderings, compress_level=6)
    ids = [f"{kind}-{number:03d}" for kind, _, number in places]
    columns = {"stimulus_id": ids, "object_name": [kind for kind, *_ in places], "degrees": visual_degrees}
    return StimulusSet(columns, identifier=identifier, stimulus_paths=dict(zip(ids, files, strict=True)))
