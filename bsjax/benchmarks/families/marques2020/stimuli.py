"""The gratings for measuring V1 neurons, rendered pixel by pixel as in Brain-Score's stimulus sets."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import product

import numpy as np
from numpy.typing import NDArray

from bsjax.benchmarks.prepare.rendered_images import rendered_images
from bsjax.data import StimulusSet

BLANK = "Marques2020_blank"
RECEPTIVE_FIELD = "Marques2020_receptive_field"
ORIENTATION = "Marques2020_orientation"
SPATIAL_FREQUENCY = "Marques2020_spatial_frequency"
SIZE = "Marques2020_size"

COLUMNS = ("position_y", "position_x", "contrast", "radius", "spatial_frequency", "orientation", "phase")
"""Parameters of a grating; within a set, the last varies fastest. Units are degrees of visual angle, degrees of angle,
and cycles per degree. The position is that of the centre, downwards and to the right of the middle of the field."""

POSITIONS = np.linspace(-2.5, 2.5, 21)
"""Positions at which receptive fields are mapped, in degrees."""

DEGREES = 12.0
"""Width of the published images."""

_PIXELS, _BLANK_PIXELS = 672, 448
_GRAY, _WHITE = 128, 255
_CENTRE = (0.5,)
_CONTRAST = (1.0,)
_RADII = np.logspace(-2.25, 3.25, 12, base=2) / 2
_FREQUENCIES = np.logspace(-1.375, 3.875, 22, base=2)
_FOUR_FREQUENCIES = _FREQUENCIES[[4, 8, 12, 16]]
_CYCLES = (2, 3, 4)
_ORIENTATIONS = np.arange(0.0, 180, 15)
_PHASES = np.arange(0.0, 360, 45)
_VERSION = 1  # rises by one whenever a pixel changes


def _orientation_rows() -> list[tuple[float, ...]]:
    """Gratings of two, three and four cycles; the radius follows from the spatial frequency."""
    sizes = [(cycles / 2 / frequency, frequency) for cycles in _CYCLES for frequency in _FOUR_FREQUENCIES]
    return [(0.5, 0.5, 1.0, *size, *turn) for size in sizes for turn in product(_ORIENTATIONS, _PHASES)]


_GRIDS: dict[str, Callable[[], Iterable[tuple[float, ...]]]] = {
    RECEPTIVE_FIELD: lambda: product(
        POSITIONS, POSITIONS, _CONTRAST, (1 / 6,), (3.0,), _ORIENTATIONS[::3], _PHASES[::4]
    ),
    ORIENTATION: _orientation_rows,
    SPATIAL_FREQUENCY: lambda: product(
        _CENTRE, _CENTRE, _CONTRAST, (0.75, 2.25), _FREQUENCIES, _ORIENTATIONS[::2], _PHASES
    ),
    SIZE: lambda: product(_CENTRE, _CENTRE, _CONTRAST, _RADII, _FOUR_FREQUENCIES, _ORIENTATIONS[::2], _PHASES),
}

RENDERED = (BLANK, *_GRIDS)
"""The stimulus sets that :func:`gratings` renders."""


def grid(identifier: str) -> NDArray[np.float64]:
    """The gratings of a set, one per row, with the columns ``COLUMNS``.

    Example:
        >>> {name.removeprefix("Marques2020_"): len(grid(name)) for name in RENDERED if name != BLANK}
        {'receptive_field': 3528, 'orientation': 1152, 'spatial_frequency': 2112, 'size': 2304}
    """
    return np.array(list(_GRIDS[identifier]()))


def gratings(identifier: str, visual_degrees: float = DEGREES) -> StimulusSet:
    """A stimulus set of gratings, or the blank set, for a field of view of any width.

    The images are identical to those that :func:`bsjax.models.place_on_screen` makes from the published images of 12
    degrees and 672 pixels (56 per degree), by cropping them around the middle or padding them with gray. They are
    rendered once per width, see :func:`bsjax.benchmarks.prepare.rendered_images.rendered_images`.

    Args:
        identifier: one of ``RENDERED``.
        visual_degrees: width of the field.

    Returns:
        Columns ``stimulus_id``, ``degrees`` and, for gratings, ``COLUMNS``.

    Raises:
        ValueError: the set is unknown, or the field is smaller than a pixel.
        OSError: the files cannot be written.

    Source: Marques, Schrimpf & DiCarlo 2021.

    Example:
        >>> blank = gratings("Marques2020_blank", visual_degrees=8)
        >>> blank[["stimulus_id", "degrees"]].values.tolist()
        [['blank-0000', 8.0]]
    """
    if identifier not in RENDERED:
        raise ValueError(f"no gratings called {identifier!r}; there are {', '.join(RENDERED)}")
    blank = identifier == BLANK
    rows = np.empty((1, 0)) if blank else grid(identifier)
    side = _side(_BLANK_PIXELS if blank else _PIXELS, visual_degrees)
    folder, renderings = f"{identifier}-{side}px-v{_VERSION}", [partial(render, row, side) for row in rows]
    files = rendered_images(folder, renderings, compress_level=1)
    ids = [f"{identifier.removeprefix('Marques2020_')}-{number:04d}" for number in range(len(rows))]
    columns = {} if blank else dict(zip(COLUMNS, rows.T, strict=True))
    placed = visual_degrees != DEGREES  # then the name is the one that place_on_screen would give
    return StimulusSet(
        {"stimulus_id": ids, "degrees": float(visual_degrees), **columns},
        identifier=f"{identifier}--target{float(visual_degrees)!r}--sourceNone" if placed else identifier,
        stimulus_paths=dict(zip(ids, files, strict=True)),
    )


def render(grating: Sequence[float] | NDArray[np.float64], side: int = _PIXELS) -> NDArray[np.uint8]:
    r"""The image of one grating, or a blank one.

    For :math:`x^2 + y^2 \le r^2`, in degrees from the centre of the grating, the value is :math:`\lfloor 255 (t + 1) /
    2 \rfloor` with :math:`t = c \sin(2 \pi f (x \cos\theta + y \sin\theta) + \phi)`; elsewhere it is 128.

    Args:
        grating: values of ``COLUMNS``; empty for a blank image.
        side: width and height of the field in pixels, 56 per degree.

    Returns:
        Shape ``(side, side)``.

    Example:
        >>> image = render([0.0, 0.0, 1.0, 0.5, 2.0, 0.0, 90.0], side=112)
        >>> image[56, 56].item(), image[56, 70].item(), image[0, 0].item()
        (255, 0, 128)
    """
    image = np.full((side, side), _GRAY, np.uint8)
    if not len(grating):
        return image
    centre_y, centre_x, contrast, radius, frequency, orientation, phase = map(float, grating)
    offset = round((side - _PIXELS) / 2)  # half to even, as place_on_screen does
    (rows, y), (columns, x) = (_within(centre, radius, offset, side) for centre in (centre_y, centre_x))
    y = y[:, None]
    inside = x**2 + y**2 <= radius**2
    # Convert degrees to radians exactly as for the published images: one ulp can change a gray level.
    angle, shift = orientation / 180 * np.pi, phase / 180 * np.pi
    along = np.broadcast_to(x * np.cos(angle) + y * np.sin(angle), inside.shape)[inside]
    wave = np.sin(along * frequency * 2 * np.pi + shift) * contrast
    image[rows, columns][inside] = ((wave + 1) / 2 * _WHITE).astype(np.uint8)
    return image


def _within(centre: float, radius: float, offset: int, side: int) -> tuple[slice, NDArray[np.floating]]:
    """The pixels along one axis that a grating may cover, and their distance from its centre in degrees."""
    pixels = np.arange(max(offset, 0), min(offset + _PIXELS, side))
    degrees = (pixels - offset - _PIXELS / 2) / (_PIXELS / DEGREES) - centre
    near = np.flatnonzero(np.abs(degrees) <= radius)
    if not len(near):
        return slice(0, 0), degrees[:0]
    first, last = near[[0, -1]]
    return slice(int(pixels[first]), int(pixels[last]) + 1), degrees[first : last + 1]


def _side(pixels: int, visual_degrees: float) -> int:
    side = int(np.round(pixels * (visual_degrees / DEGREES))) if 0 < visual_degrees < np.inf else 0
    if not side:
        raise ValueError(f"the field must be wide enough for a pixel, got {visual_degrees:g} degrees")
    return side
