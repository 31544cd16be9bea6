"""Images from files, and the preprocessing of most published models."""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from bsjax.activations.inputs.preprocessing import IMAGENET_MEAN, IMAGENET_STD
from bsjax.activations.inputs.preprocessing import preprocess_images as resized_and_standardised
from bsjax.activations.inputs.shown_items import Item
from bsjax.data.files.images import load_image as decoded

_HALF = (0.5, 0.5, 0.5)


def load_image(image_filepath: str | Path) -> Image.Image:
    """Read an image in RGB.

    Raises:
        FileNotFoundError, ValueError: the file is missing or cannot be read.
    """
    return Image.fromarray(decoded(image_filepath))


def load_images(image_filepaths: Sequence[str | Path]) -> list[Image.Image]:
    """Read images in RGB; errors are those of :func:`load_image`."""
    return [load_image(path) for path in image_filepaths]


def load_preprocess_images(image_filepaths: Sequence[str | Path], image_size: int, **kwargs: Any) -> np.ndarray:
    """Read and preprocess images; arguments are those of :func:`preprocess_images`."""
    return preprocess_images(load_images(image_filepaths), image_size, **kwargs)


def preprocess_images(
    images: Sequence[Image.Image],
    image_size: int,
    *,
    normalize_mean: Sequence[float] = IMAGENET_MEAN,
    normalize_std: Sequence[float] = IMAGENET_STD,
    preprocess_type: str = "imagenet",
    **ignored: Any,
) -> np.ndarray:
    """Preprocess images as most networks expect, float32 ``(images, 3, image_size, image_size)``.

    Args:
        images: images in RGB.
        image_size: side of the square.
        normalize_mean: mean to subtract from each channel, for values in [0, 1].
        normalize_std: standard deviation to divide each channel by.
        preprocess_type: ``"imagenet"``: resize to the square, ignoring proportions. ``"inception"``: resize the shorter
            side to 256/224 of the square and crop the centre, with mean and standard deviation 0.5.
        **ignored: other arguments, ignored as in Brain-Score.

    Raises:
        ValueError: ``preprocess_type`` is unknown.

    Example:
        >>> preprocess_images([Image.new("RGB", (30, 20))], 8, preprocess_type="inception")[0, :, 0, 0].tolist()
        [-1.0, -1.0, -1.0]
    """
    arrays = [np.asarray(image.convert("RGB")) for image in images]
    kind = preprocess_type.lower()
    if kind == "inception":
        shorter_side = int(image_size * 256 / 224)
        return resized_and_standardised(arrays, image_size, _HALF, _HALF, "NCHW", shorter_side)
    if kind != "imagenet":
        raise ValueError(f"preprocess_type must be 'imagenet' or 'inception', got {preprocess_type!r}")
    return resized_and_standardised(arrays, image_size, normalize_mean, normalize_std, "NCHW")


@dataclass(frozen=True)
class OfFiles:
    """A plugin's preprocessing of image paths, in the form that the extraction uses.

    Attributes:
        function: paths -> an array, or a list of arrays or tensors, one per image. With None, the paths are passed on.
    """

    function: Callable[[list[str]], Any] | None

    @property
    def probe(self) -> str:
        """The path of a gray image."""
        return str(_gray_image())

    def load(self, item: Item) -> str:
        """The path of an item, which the function takes."""
        return str(item.path)

    def __call__(self, paths: Sequence[str]) -> np.ndarray:
        """The preprocessed images of a batch."""
        made = list(paths) if self.function is None else self.function(list(paths))
        if isinstance(made, (list, tuple)):
            made = np.stack([_on_host(each) for each in made])
        return _on_host(made)


def _on_host(array: Any) -> np.ndarray:
    return np.asarray(array.detach().cpu() if hasattr(array, "detach") else array)


@cache
def _gray_image() -> Path:
    path = Path(tempfile.mkdtemp(prefix="bsjax-probe-")) / "gray.png"
    Image.new("RGB", (256, 256), (128, 128, 128)).save(path)
    return path
