"""Synthetic images of overlapping shapes."""

import numpy as np


def overlapping_shapes(rng: np.random.Generator, n_pixels: int) -> np.ndarray:
    """A gray image of rectangles and ellipses of all sizes that occlude each other: edges, bars, corners and curves.

    Small shapes outnumber large ones as in natural images, where the number of objects falls with the cube of their
    size.

    Returns:
        float32 in [0, 1], ``(n_pixels, n_pixels)``.

    Source: Lee, Mumford & Huang 2001, "Occlusion models for natural images".

    Example:
        >>> image = overlapping_shapes(np.random.default_rng(0), 32)
        >>> image.shape, bool(0 <= image.min() < image.max() <= 1)
        ((32, 32), True)
    """
    y, x = np.meshgrid(*[np.linspace(-0.5, 0.5, n_pixels)] * 2, indexing="ij")
    image, smallest, largest = np.full((n_pixels, n_pixels), 0.5, np.float32), 0.04, 0.5
    for _ in range(150):
        u = rng.uniform()
        size = (smallest**-2 * (1 - u) + largest**-2 * u) ** -0.5
        angle, aspect = rng.uniform(0, np.pi), rng.uniform(0.3, 1)
        x0, y0 = rng.uniform(-0.6, 0.6, 2)
        across = ((x - x0) * np.cos(angle) + (y - y0) * np.sin(angle)) / size
        along = ((y - y0) * np.cos(angle) - (x - x0) * np.sin(angle)) / (aspect * size)
        is_ellipse = rng.uniform() < 0.5
        inside = across**2 + along**2 < 1 if is_ellipse else np.maximum(np.abs(across), np.abs(along)) < 1
        image[inside] = rng.uniform()
    return image
