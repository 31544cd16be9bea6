"""Reading of image files."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
from PIL import Image

from bsjax.core.file_reading import reading_as

Result = TypeVar("Result")


def load_image(path: str | Path) -> np.ndarray:
    """Read an image file as RGB.

    Grey and palette images are converted. Alpha is ignored and colours are kept as stored, which is equivalent to
    Brain-Score's pasting on black. The camera's orientation tag is ignored, too.

    Args:
        path: a file in any format that Pillow reads with 8 bits per channel.

    Returns:
        uint8 array (height, width, 3).

    Raises:
        FileNotFoundError: the file is missing.
        ValueError: the file cannot be read as an image, or has more than 8 bits per channel; the message names the
            path.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Image.new("L", (3, 2), 7).save(f"{folder}/grey.png")
        ...     image = load_image(f"{folder}/grey.png")
        >>> image.shape, image[0, 0].tolist()
        ((2, 3, 3), [7, 7, 7])
    """
    return _read(path, _as_rgb)


def image_size(path: str | Path) -> tuple[int, int]:
    """Width and height of an image in pixels, read from the file's header only.

    Raises:
        FileNotFoundError: the file is missing.
        ValueError: the file is not an image; the message names the path.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Image.new("RGB", (3, 2)).save(f"{folder}/image.png")
        ...     image_size(f"{folder}/image.png")
        (3, 2)
    """
    return _read(path, lambda image: image.size)


def _as_rgb(image: Image.Image) -> np.ndarray:
    if image.mode.startswith(("I", "F")):
        raise ValueError(f"pixels of mode {image.mode} have more than 8 bits a channel; save it with 8")
    if image.mode == "P" and "transparency" in image.info:
        image = image.convert("RGBA")  # without this step Pillow warns; the colours are the same
    return np.array(image.convert("RGB"))


def _read(path: str | Path, use: Callable[[Image.Image], Result]) -> Result:
    if not Path(path).exists():
        raise FileNotFoundError(f"no image file at {path}")
    with reading_as("an image", path, ""), Image.open(path) as image:
        return use(image)
