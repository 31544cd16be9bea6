"""Planning of an extraction: memory estimates, and batch sizes that fit a budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np

from bsjax.activations.inputs.batches import AHEAD, batch_size_for
from bsjax.activations.inputs.shown_items import Item
from bsjax.activations.options import Options
from bsjax.activations.passes.layer_outputs import meanwhile
from bsjax.activations.passes.runner import Runner
from bsjax.core.memory import MemoryEstimate, available_memory, peak_during
from bsjax.core.messages import in_words

# Without a budget, results take at most this share of the free memory.
_SHARE = 0.5
# Allowance for later batches, because not all freed memory is reused.
_LATER = 1.15


def estimated(runner: Runner, items: Sequence[Item], layers: Sequence[str], options: Options) -> MemoryEstimate:
    """Estimate the memory for extracting these layers, measured on the first batches.

    Raises:
        ValueError: a layer does not exist, or the budget is too small for batches of one image.
    """
    results, reducer = _sizes(runner, len(items), layers, options)
    if options.memory is None:
        size, room = fitted_to_memory(runner, items, layers, options)
        batches = _of_batches(runner, items, layers, size)
    else:
        # Reuse the measurement that fitted the budget; a second one might exceed it.
        size, batches = _fitting(runner, items, layers, options, options.memory)
        room = _room(options.memory, batches, reducer)
    on_disk = options.the_cache is not None or (room is not None and results > room)
    return MemoryEstimate(size, batches, 0 if on_disk else results, reducer, results if on_disk else 0)


def fitted_to_memory(
    runner: Runner, items: Sequence[Item], layers: Sequence[str], options: Options
) -> tuple[int, int | None]:
    """The batch size that fits the budget, and the bytes of memory left for results, None for no limit.

    Without a budget nothing is measured, and results may take half of the free memory.

    Raises:
        ValueError: the budget is too small for batches of one image.
    """
    if options.memory is None:
        return batch_size_for(len(items), options.batch_size), int(_SHARE * available_memory())
    size, batches = _fitting(runner, items, layers, options, options.memory)
    return size, _room(options.memory, batches, _sizes(runner, len(items), layers, options)[1])


def _fitting(
    runner: Runner, items: Sequence[Item], layers: Sequence[str], options: Options, budget: int
) -> tuple[int, int]:
    """The largest tested batch size that fits the budget, and the bytes that its batches take."""
    _, reducer = _sizes(runner, len(items), layers, options)
    size = batch_size_for(len(items), options.batch_size)
    while True:
        batches = _of_batches(runner, items, layers, size)
        if _room(budget, batches, reducer) >= 0:
            return size, batches
        if size == 1:
            largest = max(layers, key=lambda layer: np.prod(runner.shapes()[layer]))
            raise ValueError(
                f"model {runner.identifier!r} takes {in_words(batches + reducer)} for batches of one image, the memory "
                f"budget is {in_words(budget)}; its largest layer here is {largest!r} with shape "
                f"{runner.shapes()[largest]}: give more memory, or extract fewer layers at once"
            )
        # Memory is roughly proportional to the batch size.
        size = max(1, min(size // 2, int(size * (budget - reducer) / max(batches, 1))))


def _room(budget: int, batches: int, reducer: int) -> int:
    """The part of a budget that is left for results."""
    return budget - int(_LATER * batches) - reducer


def _sizes(runner: Runner, n: int, layers: Sequence[str], options: Options) -> tuple[int, int]:
    """Bytes of the results for all items, and of the reducer."""
    size = 4 * n * sum(widths_of(runner, layers, options)[layer] for layer in layers)
    if options.reducer is None:
        return size, 0
    known, last = runner.shapes_of(layers), runner.network.channels_last
    return size, sum(options.reducer.held_bytes(known[layer], last) for layer in layers)


def widths_of(runner: Runner, layers: Sequence[str], options: Options) -> dict[str, int]:
    """Units of each layer after the reducer.

    Raises:
        ValueError: a layer does not exist.
    """
    shapes = runner.shapes_of(layers)
    if options.reducer is not None:
        last = runner.network.channels_last
        shapes = {layer: options.reducer.reduced_shape(shape, last) for layer, shape in shapes.items()}
    return {layer: int(np.prod(shape)) for layer, shape in shapes.items()}


def _of_batches(runner: Runner, items: Sequence[Item], layers: Sequence[str], size: int) -> int:
    """Peak bytes of batches: the running one, those prepared meanwhile, and the outputs of the last one."""
    some = items[: (AHEAD + 1) * size]

    def check(outputs: Mapping[str, Any], shown: Sequence[Path]) -> None:
        for layer, output in outputs.items():
            runner.checked(layer, output[: len(shown)], tuple(output.shape[1:]), shown)

    def first_batches() -> None:
        with meanwhile() as run:
            for filled in runner.batches(some, size):
                shown = [item.path for item in some[filled.start : filled.start + filled.n]]
                run(partial(check, runner.outputs(filled.batch, layers, shown), shown))

    peak = peak_during(first_batches)
    kept = sum(int(np.prod(runner.shapes()[layer])) for layer in layers)
    if peak is None:  # unknown on this system: assume two layers at a time, outputs, and batches ahead
        sizes = sorted((int(np.prod(shape)) for shape in runner.shapes().values()), reverse=True)
        one = sum(array[:1].nbytes for array in jax.tree.leaves(runner.probe))
        return size * (4 * (sum(sizes[:2]) + 2 * kept) + (AHEAD + 2) * one)
    # Reuse of freed memory can hide the peak; outputs are the minimum.
    return max(peak, size * 4 * kept)
