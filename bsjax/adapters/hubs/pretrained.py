"""Shared helpers for hubs of pretrained torch networks: transforms, random weights, and missing weights."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from PIL import Image

from bsjax.core.extras import import_extra

RANDOM = "Random weights need no file: weights=None, by name ?weights=none"
"""Advice for missing weights."""


def transform_images(images: Sequence[np.ndarray], transform: Callable[[Image.Image], Any]) -> np.ndarray:
    """Apply a library's transform to each image, and stack the results.

    Args:
        images: uint8 RGB, each ``(height, width, 3)``.
        transform: PIL image -> tensor ``(channels, height, width)``.

    Raises:
        ValueError: the transformed images have different shapes.

    Example:
        >>> image = np.zeros((4, 6, 3), np.uint8)
        >>> transform_images([image, image], lambda image: np.asarray(image, np.float32).transpose(2, 0, 1)).shape
        (2, 3, 4, 6)
    """
    made = [np.asarray(transform(Image.fromarray(image))) for image in images]
    shapes = sorted({array.shape for array in made})
    if len(shapes) > 1:
        raise ValueError(
            f"the transform makes tensors of different shapes, {', '.join(map(str, shapes))}: resize first"
        )
    return np.stack(made)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch's random numbers within a block, and restore its state afterwards."""
    torch = import_extra("torch", "torch")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


def not_found(what: str, places: str, error: BaseException, advice: str = RANDOM) -> FileNotFoundError:
    """The one-line error for something that is not stored locally and cannot be downloaded.

    Args:
        what: the missing thing.
        places: where it was looked for.
        error: raised by the library.
        advice: what to do.

    Example:
        >>> print(not_found("weights of alexnet", "in ~/.cache and at x.org", OSError("No route. Sorry"), "Wait"))
        no weights of alexnet in ~/.cache and at x.org (No route). Wait
    """
    reason = " ".join(str(getattr(error, "reason", error)).split()).split(". ")[0].rstrip(".")
    return FileNotFoundError(f"no {what} {places} ({reason}). {advice}")
