"""Preprocessing of decoded images into the array that a network takes.

A preprocessing is any callable that takes a list of images, each uint8 ``(height, width, 3)``, and returns
one array whose first axis is the image, or a tuple or dict of such arrays for a network of several
inputs. Those here resize as Brain-Score does: PIL's bilinear filter,
straight to the square that the network sees, whatever the image's own proportions.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

import numpy as np
from PIL import Image

from bsjax.activations.network import Batch

Preprocessing = Callable[[Sequence[np.ndarray]], Batch]
"""A list of uint8 ``(height, width, 3)`` images -> a batch: images along the first axis of each of its arrays."""

IMAGENET_MEAN = (0.485, 0.456, 0.406)
"""Mean of the red, green and blue channel over ImageNet's training images, for values in [0, 1]."""

IMAGENET_STD = (0.229, 0.224, 0.225)
"""Their standard deviation."""


def preprocess_images(
    images: Sequence[np.ndarray],
    size: int,
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
    layout: Literal["NCHW", "NHWC"] = "NHWC",
) -> np.ndarray:
    """Resize to a square, scale to [0, 1], standardise, and stack.

    Args:
        images: uint8 RGB, each ``(height, width, 3)``; sizes may differ.
        size: side of the square in pixels; the proportions of the image are not kept.
        mean: subtracted from each channel, in units of [0, 1].
        std: each channel is divided by it, in units of [0, 1].
        layout: ``"NCHW"`` as torch expects, or ``"NHWC"`` as JAX and flax do.

    Returns:
        float32, ``(images, 3, size, size)`` or ``(images, size, size, 3)``.

    Raises:
        ValueError: ``layout`` is neither of the two.

    Example:
        >>> import numpy as np
        >>> image = np.full((30, 20, 3), 255, dtype=np.uint8)
        >>> preprocess_images([image, image], size=8, layout="NCHW").shape
        (2, 3, 8, 8)
    """
    if layout not in ("NCHW", "NHWC"):
        raise ValueError(f"layout must be 'NCHW' or 'NHWC', got {layout!r}")
    batch = np.stack([_resized(image, size) for image in images]).astype(np.float32) / np.float32(255)
    if mean is not None:
        batch -= np.asarray(mean, np.float32)
    if std is not None:
        batch /= np.asarray(std, np.float32)
    return np.ascontiguousarray(batch.transpose(0, 3, 1, 2)) if layout == "NCHW" else batch


def _resized(image: np.ndarray, size: int) -> np.ndarray:
    if image.shape[:2] == (size, size):
        return image
    return np.asarray(Image.fromarray(image).resize((size, size), Image.Resampling.BILINEAR))


def imagenet_preprocessing(size: int = 224, layout: Literal["NCHW", "NHWC"] = "NCHW") -> Preprocessing:
    """The preprocessing of networks trained on ImageNet: square of ``size`` pixels, ImageNet's mean and
    deviation.

    Example:
        >>> import numpy as np
        >>> imagenet_preprocessing(size=4)([np.zeros((9, 9, 3), np.uint8)])[0, :, 0, 0].tolist()
        [-2.117..., -2.035..., -1.804...]
    """
    return partial(preprocess_images, size=size, mean=IMAGENET_MEAN, std=IMAGENET_STD, layout=layout)


def unit_preprocessing(size: int = 224, layout: Literal["NCHW", "NHWC"] = "NHWC") -> Preprocessing:
    """A square of ``size`` pixels, values in [0, 1], nothing else.

    Example:
        >>> import numpy as np
        >>> unit_preprocessing(size=4)([np.full((9, 9, 3), 255, np.uint8)])[0, 0, 0].tolist()
        [1.0, 1.0, 1.0]
    """
    return partial(preprocess_images, size=size, layout=layout)
