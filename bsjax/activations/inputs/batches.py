"""Batches of fixed size, decoded and preprocessed while the network runs."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from bsjax.activations.inputs.microsaccades import shifted
from bsjax.activations.inputs.preprocessing import Preprocessing
from bsjax.activations.inputs.shown_items import Item
from bsjax.activations.inputs.video import load_item
from bsjax.activations.network import Batch

AHEAD = 2
"""Number of batches that are prepared in advance."""


@dataclass(frozen=True)
class Filled:
    """A batch, of full size unless it is the last of a network that is not compiled.

    Attributes:
        start: index of its first item.
        n: number of rows that are items; the others repeat the last one.
        batch: the network's input.
    """

    start: int
    n: int
    batch: Batch


def batch_size_for(n_items: int, largest: int) -> int:
    """The size of all batches: the largest, or the smallest power of two that holds all items.

    Example:
        >>> batch_size_for(5, 64), batch_size_for(100, 64)
        (8, 64)
    """
    return min(largest, 1 << (n_items - 1).bit_length())


def filled_batches(
    identifier: str, items: Sequence[Item], size: int, preprocess: Preprocessing, first: int = 0, padded: bool = True
) -> Generator[Filled]:
    """The items from ``first`` on, in batches of ``size``; some are prepared in advance in other threads.

    The last batch is padded unless ``padded`` is False.

    Raises:
        FileNotFoundError, ValueError: an image is missing or cannot be read, or the first axis of the preprocessing's
            output is not the image.
    """
    starts = range(first, len(items), size)
    # Decoding and resizing release the GIL, so they overlap with the forward pass.
    decoders = ThreadPoolExecutor(max_workers=min(8, _cores()))
    assembler = ThreadPoolExecutor(max_workers=1)

    def make(start: int) -> Filled:
        part = items[start : start + size]
        images = list(decoders.map(loader_of(preprocess), part))
        return Filled(start, len(part), full_batch(identifier, images, part, size if padded else len(part), preprocess))

    try:
        ahead = deque(assembler.submit(make, start) for start in starts[:AHEAD])
        for start in starts:
            filled = ahead.popleft().result()
            following = start + AHEAD * size
            if following < len(items):
                ahead.append(assembler.submit(make, following))
            yield filled
    finally:
        assembler.shutdown(cancel_futures=True)
        decoders.shutdown(cancel_futures=True)


def loader_of(preprocess: Preprocessing) -> Callable[[Item], Any]:
    """The function that loads an item for a preprocessing: its own ``load``, else decoding of the image or clip."""
    return getattr(preprocess, "load", load_item)


def full_batch(
    identifier: str, images: Sequence[Any], items: Sequence[Item], size: int, preprocess: Preprocessing
) -> Batch:
    """Preprocess and shift decoded images, and pad them to ``size`` with copies of the last.

    Raises:
        ValueError: the first axis of the preprocessing's output is not the image.
    """
    batch = jax.tree.map(np.asarray, preprocess(images))
    for array in jax.tree.leaves(batch):
        if array.shape[:1] != (len(images),):
            raise ValueError(
                f"the preprocessing of model {identifier!r} made shape {array.shape} "
                f"of {len(images)} images; the first axis must be the image"
            )
    batch = shifted(batch, [item.shift for item in items])
    if len(images) == size:
        return batch
    return jax.tree.map(lambda array: np.concatenate([array, np.repeat(array[-1:], size - len(images), axis=0)]), batch)


def batch_shapes(batch: Batch) -> Any:
    """Shape and dtype of all arrays for one image; equal for batches that a network treats alike.

    Example:
        >>> batch_shapes({"pixels": np.zeros((2, 3), np.float32)})
        (('pixels', (3,), 'float32'),)
    """
    leaves = jax.tree_util.tree_flatten_with_path(batch)[0]
    return tuple((jax.tree_util.keystr(path, simple=True), a.shape[1:], str(a.dtype)) for path, a in leaves)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
