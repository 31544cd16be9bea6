"""Fixational eye movements: small shifts that make responses to an image vary over trials."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy

from bsjax.activations.inputs.shown_items import Item


@dataclass(frozen=True)
class Microsaccades:
    """Trials that differ in gaze position, on a spiral of shifts around the centre; the first trial is not shifted.

    Of n trials, trial i is shifted by the radius ``r = sqrt(i / n) * extent`` at the angle ``2 pi sqrt(i / n)``.
    Shifts are thus spread evenly over a disc of fixed size. Images are shifted after preprocessing, with bilinear
    interpolation; beyond the border, the edge pixels are repeated.

    Attributes:
        number_of_trials: number of presentations of each image.
        visual_degrees: width of the model's visual field.
        extent: radius of the disc in degrees of visual angle.

    Raises:
        ValueError: there is less than one trial, or degrees are not positive.

    Example:
        >>> x, y = zip(*Microsaccades(number_of_trials=10, visual_degrees=8).shifts)
        >>> [round(224 * share, 3) for share in x[:4]]  # pixels of an image of 224
        [0.0, -0.179, -0.592, -0.733]
    """

    number_of_trials: int
    visual_degrees: float
    extent: float = 0.05

    def __post_init__(self) -> None:
        if self.number_of_trials < 1:
            raise ValueError(f"number_of_trials must be at least 1, got {self.number_of_trials}")
        if not (self.visual_degrees > 0 and self.extent > 0):
            raise ValueError(f"visual_degrees and extent must be positive, got {self.visual_degrees}, {self.extent}")

    @property
    def shifts(self) -> list[tuple[float, float]]:
        """The shift of each trial to the right and down, as fractions of the image's height."""
        root = np.sqrt(np.arange(self.number_of_trials) / self.number_of_trials)
        radius, angle = root * self.extent / self.visual_degrees, 2 * np.pi * root
        return list(zip((radius * np.cos(angle)).tolist(), (radius * np.sin(angle)).tolist(), strict=True))

    def trials_of(self, item: Item) -> list[Item]:
        """The item as it is shown on each trial."""
        return [replace(item, shift=shift) for shift in self.shifts]

    def coords(self, n_stimuli: int, height: int) -> dict[str, np.ndarray]:
        """The shift of each presentation; trials of a stimulus are consecutive.

        Args:
            n_stimuli: number of stimuli.
            height: of the preprocessed image in pixels.

        Returns:
            ``microsaccade_shift_x_pixels`` and so on: x and y, in pixels and in degrees.
        """
        shares = dict(zip("xy", np.tile(np.array(self.shifts), (n_stimuli, 1)).T, strict=True))
        units = {"pixels": height, "degrees": self.visual_degrees}
        return {
            f"microsaccade_shift_{axis}_{unit}": share * scale
            for axis, share in shares.items()
            for unit, scale in units.items()
        }


def spatial_axes(array: np.ndarray) -> tuple[int, int]:
    """The row and column axes of a batch of preprocessed images, next to an axis of one or three channels.

    Raises:
        ValueError: the axes cannot be identified.

    Example:
        >>> spatial_axes(np.zeros((2, 3, 8, 8))), spatial_axes(np.zeros((2, 8, 8, 3)))
        ((2, 3), (1, 2))
    """
    n = array.ndim
    if n >= 4 and array.shape[-3] in (1, 3):
        return n - 2, n - 1
    if n >= 4 and array.shape[-1] in (1, 3):
        return n - 3, n - 2
    raise ValueError(
        f"images can be shifted if they are preprocessed to (..., channels, rows, columns) or (..., rows, columns, "
        f"channels) with 1 or 3 channels, got shape {array.shape}"
    )


def image_height(batch: Any) -> int:
    """Number of rows of the preprocessed images in a batch.

    Raises:
        ValueError: the batch is not a single array of images.
    """
    if not isinstance(batch, np.ndarray):
        made = type(batch).__name__
        raise ValueError(f"images can be shifted if the preprocessing makes one array of them, it makes a {made}")
    return batch.shape[spatial_axes(batch)[0]]


def shifted(batch: Any, shifts: list[tuple[float, float]]) -> Any:
    """Shift each image of a batch.

    Args:
        batch: preprocessed images, ``(images, ...)``.
        shifts: of each, to the right and down, as fractions of the height.

    Example:
        >>> image = np.arange(4.0).reshape(1, 1, 1, 4) * np.ones((1, 1, 4, 1))
        >>> shifted(image, [(0.25, 0.0)])[0, 0, 0]
        array([0., 0., 1., 2.])
    """
    if not any(x or y for x, y in shifts):
        return batch
    height = image_height(batch)
    rows, columns = spatial_axes(batch)
    moved = np.empty_like(batch)
    for number, (x, y) in enumerate(shifts):
        by = np.zeros(batch.ndim - 1)
        by[[rows - 1, columns - 1]] = np.array([y, x]) * height
        moved[number] = scipy.ndimage.shift(batch[number], by, order=1, mode="nearest")
    return moved
