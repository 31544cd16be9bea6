"""Preprocessing of decoded images into the input of a network.

A preprocessing is any callable that takes a list of images, each uint8 ``(height, width, 3)``, and returns one array
with images on the first axis, or a tuple or dict of such arrays for a network with several inputs. As in Brain-Score,
the functions here resize with PIL's bilinear filter straight to the square input of the network, without preserving
the aspect ratio.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
from PIL import Image

from bsjax.activations.network import Batch

Preprocessing = Callable[[Sequence[Any]], Batch]
"""A list of uint8 ``(height, width, 3)`` images -> a batch, with images on the first axis of each array.

A preprocessing that reads files itself has a method ``load(item)``, whose result replaces the decoded image, and an
example of such a result as its attribute ``probe``. One whose code cannot be identified has a method ``digest()``.
"""

IMAGENET_MEAN = (0.485, 0.456, 0.406)
"""Mean of the red, green and blue channel over ImageNet's training images, for values in [0, 1]."""

IMAGENET_STD = (0.229, 0.224, 0.225)
"""Standard deviation of the same values."""

_FILTERS = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC}


def preprocess_images(
    images: Sequence[np.ndarray],
    size: int,
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
    layout: Literal["NCHW", "NHWC"] = "NHWC",
    shorter_side: int | None = None,
    resample: Literal["bilinear", "bicubic"] = "bilinear",
) -> np.ndarray:
    """Resize to a square, scale to [0, 1], standardise, and stack.

    Args:
        images: uint8 RGB, each ``(height, width, 3)``; sizes may differ.
        size: side of the square in pixels.
        mean: subtracted from each channel, in units of [0, 1].
        std: each channel is divided by it, in units of [0, 1].
        layout: ``"NCHW"`` as torch expects, or ``"NHWC"`` as JAX and flax do.
        shorter_side: if given, the image's shorter side is resized to this many pixels, and the square is cropped from
            the centre. Otherwise the image is resized straight to the square, without preserving the aspect ratio.
        resample: PIL's filter for resizing.

    Returns:
        float32, ``(images, 3, size, size)`` or ``(images, size, size, 3)``.

    Raises:
        ValueError: ``layout`` or ``resample`` is unknown, or the square does not fit into the shorter side.

    Example:
        >>> import numpy as np
        >>> image = np.full((30, 20, 3), 255, dtype=np.uint8)
        >>> preprocess_images([image, image], size=8, layout="NCHW").shape
        (2, 3, 8, 8)
    """
    if layout not in ("NCHW", "NHWC"):
        raise ValueError(f"layout must be 'NCHW' or 'NHWC', got {layout!r}")
    if resample not in _FILTERS:
        raise ValueError(f"resample must be 'bilinear' or 'bicubic', got {resample!r}")
    if shorter_side is not None and shorter_side < size:
        raise ValueError(f"a square of {size} pixels does not fit into a shorter side of {shorter_side}")
    first = layout == "NCHW"
    batch = np.empty((len(images), 3, size, size) if first else (len(images), size, size, 3), np.float32)
    centre, spread = (None if each is None else np.empty(batch.shape[1:], np.float32) for each in (mean, std))
    for channels, values in ((centre, mean), (spread, std)):
        if channels is not None and values is not None:
            channels[:] = np.reshape(values, (3, 1, 1) if first else (1, 1, 3))
    # One image after the other, since it stays in the processor's cache.
    for pixels, image in zip(batch, images, strict=True):
        square = _square(image, size, shorter_side, _FILTERS[resample])
        pixels[:] = square.transpose(2, 0, 1) if first else square
        pixels /= np.float32(255)
        if centre is not None:
            pixels -= centre
        if spread is not None:
            pixels /= spread
    return batch


def _square(image: np.ndarray, size: int, shorter_side: int | None, resample: Image.Resampling) -> np.ndarray:
    if shorter_side is None:
        return _resized(image, size, size, resample)
    height, width = image.shape[:2]
    short = min(height, width)
    # Rounded as in torchvision: the longer side down, the position of the square half to even.
    height, width = int(shorter_side * height / short), int(shorter_side * width / short)
    top, left = round((height - size) / 2), round((width - size) / 2)
    return _resized(image, height, width, resample)[top : top + size, left : left + size]


def _resized(image: np.ndarray, height: int, width: int, resample: Image.Resampling) -> np.ndarray:
    if image.shape[:2] == (height, width):
        return image
    return np.asarray(Image.fromarray(image).resize((width, height), resample))


def imagenet_preprocessing(size: int = 224, layout: Literal["NCHW", "NHWC"] = "NCHW") -> Preprocessing:
    """The standard preprocessing for ImageNet: a square of ``size`` pixels, standardised by mean and deviation.

    Args:
        size: width and height in pixels.
        layout: the order of the axes: images, channels, rows and columns (``"NCHW"``), or channels last (``"NHWC"``).

    Returns:
        A function from paths of images to an array of float32.

    Example:
        >>> import numpy as np
        >>> imagenet_preprocessing(size=4)([np.zeros((9, 9, 3), np.uint8)])[0, :, 0, 0].tolist()
        [-2.117..., -2.035..., -1.804...]
    """
    return partial(preprocess_images, size=size, mean=IMAGENET_MEAN, std=IMAGENET_STD, layout=layout)


def unit_preprocessing(size: int = 224, layout: Literal["NCHW", "NHWC"] = "NHWC") -> Preprocessing:
    """Preprocessing to a square of ``size`` pixels with values in [0, 1].

    Args:
        size: width and height in pixels.
        layout: the order of the axes: images, channels, rows and columns (``"NCHW"``), or channels last (``"NHWC"``).

    Returns:
        A function from paths of images to an array of float32.

    Example:
        >>> import numpy as np
        >>> unit_preprocessing(size=4)([np.full((9, 9, 3), 255, np.uint8)])[0, 0, 0].tolist()
        [1.0, 1.0, 1.0]
    """
    return partial(preprocess_images, size=size, layout=layout)
