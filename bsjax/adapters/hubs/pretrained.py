"""Common ground of the hubs of pretrained torch networks: PIL transforms, random weights, missing weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from PIL import Image

from bsjax.core.extras import import_extra

RANDOM = "Random weights need no file: weights=None, by name ?weights=none"
"""What to do where weights lack."""


def transform_images(images: Sequence[np.ndarray], transform: Callable[[Image.Image], Any]) -> np.ndarray:
    """A batch of images, each of which went through a library's own transform.

    Args:
        images: uint8 RGB, each ``(height, width, 3)``.
        transform: PIL image -> tensor ``(channels, height, width)``.

    Raises:
        ValueError: the transform makes tensors of different shapes.

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
    """In every such block of one seed, torch draws the same random numbers; outside of it, as if there was none."""
    torch = import_extra("torch", "torch")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


def not_found(what: str, places: str, error: BaseException, advice: str = RANDOM) -> FileNotFoundError:
    """The error for what is neither here nor can be fetched, in one line.

    Args:
        what: that was looked for.
        places: where.
        error: what the library raised.
        advice: what to do.

    Example:
        >>> print(not_found("weights of alexnet", "in ~/.cache and at x.org", OSError("No route. Sorry"), "Wait"))
        no weights of alexnet in ~/.cache and at x.org (No route). Wait
    """
    reason = " ".join(str(getattr(error, "reason", error)).split()).split(". ")[0].rstrip(".")
    return FileNotFoundError(f"no {what} {places} ({reason}). {advice}")
