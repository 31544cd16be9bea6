"""Recording of layers that are not in the cache yet, each computed once."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from bsjax.activations.cache import ActivationCache, EntryTooLarge, Recipe, Unwritable
from bsjax.activations.inputs.shown_items import Item, items_of, unique_items
from bsjax.activations.neuroids import Units
from bsjax.activations.options import Options, Progress
from bsjax.activations.passes.layer_outputs import Sink, meanwhile
from bsjax.activations.passes.planning import fitted_to_memory
from bsjax.activations.passes.recipes import recipes
from bsjax.activations.passes.results import OnDevice, OnDisk, Result, in_memory
from bsjax.activations.passes.runner import Runner
from bsjax.activations.reducers import Reduction
from bsjax.core.files import warn_once
from bsjax.core.identity.opened import following

Shapes = dict[str, tuple[int, ...]]


class Recorded(NamedTuple):
    """One layer's activations.

    Attributes:
        values: ``(items, units)``, possibly memory-mapped or on an accelerator.
        units: description of the columns.
    """

    values: Any
    units: Units


class Recorder:
    """Reads activations from the cache, or computes them.

    Args:
        runner: the network.
        options: of the extraction.
    """

    def __init__(self, runner: Runner, options: Options) -> None:
        self._runner = runner
        self._options = options
        self._cache = options.the_cache

    def record(self, items: Sequence[Item], ids: Sequence[object], layers: Sequence[str]) -> dict[str, Recorded]:
        """Activations of layers for all items.

        Layers that are neither cached nor being computed by another process are computed in one pass through the
        network. For a layer that another process is computing, this process waits. If the cache cannot be written, a
        warning is issued and activations are computed in memory.

        Args:
            items: with distinct content.
            ids: a stimulus for each item, for messages.
            layers: names of layers.
        """
        below = () if self._cache is None else (self._cache.root,)
        with following(self._runner.followed, apart=[item.path for item in items], below=below):
            return self._record(items, ids, layers)

    def _record(self, items: Sequence[Item], ids: Sequence[object], layers: Sequence[str]) -> dict[str, Recorded]:
        ahead = [layer for layer in self._options.ahead if layer not in layers]
        made = recipes(self._runner, items, [*layers, *ahead], self._options) if self._cache is not None else None
        if made is None:
            self._runner.look_again()
        if self._cache is None or made is None:
            size, room = fitted_to_memory(self._runner, items, layers, self._options)
            # Shapes are taken from the first batch.
            return self._run(items, ids, layers, size, lambda shapes: self._unstored(len(items), shapes, room))
        found: dict[str, Recorded] = {}
        missing = list(layers)
        while True:
            for layer in missing:
                if (values := self._cache.read(made[layer])) is not None:
                    found[layer] = self._recorded(layer, values, values.shape[1:])
            missing = [layer for layer in layers if layer not in found]
            if not missing:
                return found
            if not self._runner.answers_alike(missing, items[0]):
                warn_once(
                    f"model {self._runner.identifier!r} answers the same image differently each time: its activations "
                    "are not kept, and each look draws them anew"
                )
                unstored = Recorder(self._runner, replace(self._options, cache=None))
                return found | unstored.record(items, ids, missing)
            along = self._there(items, [layer for layer in ahead if self._cache.read(made[layer]) is None])
            size, room = fitted_to_memory(self._runner, items, [*missing, *along], self._options)
            try:
                with ExitStack() as claims:
                    shapes = self._shapes(items, [*missing, *along])
                    results, too_large = self._claimed(self._cache, claims, made, len(items), self._reduced(shapes))
                    results |= self._unstored(len(items), {n: s for n, s in too_large.items() if n in missing}, room)
                    if results:
                        done = min(result.rows_done for result in results.values())
                        found |= self._run(items, ids, list(results), size, lambda _, claimed=results: claimed, done)
            except Unwritable as error:
                warn_once(f"{error}; until then they are computed each time")
                unstored = Recorder(self._runner, replace(self._options, cache=None))
                return found | unstored.record(items, ids, missing)
            except ValueError:
                if not along:
                    raise
                ahead = []  # one of them may be the cause
                continue
            if not results:
                self._cache.wait(made[missing[0]])

    def _there(self, items: Sequence[Item], layers: Sequence[str]) -> list[str]:
        """The layers that the network has; for others, the error is raised when they are requested."""
        found = []
        for layer in layers:
            with suppress(ValueError):
                self._shapes(items, [layer])
                found.append(layer)
        return found

    def _shapes(self, items: Sequence[Item], layers: Sequence[str]) -> Shapes:
        """The shape of each layer for one item, from the first item."""
        return self._runner.shapes_of(layers, self._runner.batch_like(items[0]))

    def _reduced(self, shapes: Shapes) -> Shapes:
        reducer, last = self._options.reducer, self._runner.network.channels_last
        return shapes if reducer is None else {n: reducer.reduced_shape(shape, last) for n, shape in shapes.items()}

    def _unstored(self, n: int, shapes: Shapes, room: int | None) -> dict[str, Result]:
        n_bytes = 4 * n * sum(int(np.prod(shape)) for shape in shapes.values())
        if room is not None and n_bytes > room:
            return {layer: OnDisk(n, shape) for layer, shape in shapes.items()}
        return dict(zip(shapes, in_memory(n, list(shapes.values())), strict=True)) if shapes else {}

    def _claimed(
        self, cache: ActivationCache, claims: ExitStack, made: dict[str, Recipe], n: int, shapes: Shapes
    ) -> tuple[dict[str, Result], Shapes]:
        """Writers for layers that are neither being written nor complete; and the layers too large for the cache."""
        results: dict[str, Result] = {}
        too_large: Shapes = {}
        for layer, shape in shapes.items():
            opened = self._runner.followed.notes
            claim = cache.write(made[layer], self._runner.identifier, (n, *shape), np.float32, opened)
            try:
                writer = claims.enter_context(claim)
            except EntryTooLarge as error:
                warnings.warn(str(error), stacklevel=2)
                too_large[layer] = shape
                continue
            if writer is not None:
                results[layer] = writer
        return results, too_large

    def _run(
        self,
        items: Sequence[Item],
        ids: Sequence[object],
        layers: Sequence[str],
        size: int,
        open_results: Callable[[Shapes], dict[str, Result]],
        rows_done: int = 0,
    ) -> dict[str, Recorded]:
        """One pass in batches of ``size``, from the batch with the first row that not all results have."""
        # Start at a batch boundary, so that the network gets the same batches as in an uninterrupted run. Run at least
        # one batch, since only a pass completes an entry whose writer was killed at its end.
        stays = self._stays_on_device()
        first = 0 if stays else min(rows_done, len(items) - 1) // size * size
        begun = time.perf_counter()
        shapes: Shapes = {}
        sinks: dict[str, Sink] = {}

        def store(start: int, n: int, outputs: Mapping[str, Any]) -> None:
            for layer, output in outputs.items():
                sinks[layer].store(start, output, ids[start : start + n])
            if self._options.progress is not None:
                done, seconds = start + n, time.perf_counter() - begun
                self._options.progress(Progress(self._runner.identifier, done, len(items), done - first, seconds))

        # A batch is stored while the network runs the next.
        with meanwhile() as run:
            for filled in self._runner.batches(items, size, first):
                shown = ids[filled.start : filled.start + filled.n]
                outputs = self._runner.outputs(filled.batch, layers, shown)
                if not sinks:
                    shapes = {layer: tuple(output.shape[1:]) for layer, output in outputs.items()}
                    sinks = self._sinks(shapes, open_results)
                outputs = {layer: _rows(output, filled.n, stays) for layer, output in outputs.items()}
                for layer, sink in sinks.items():
                    sink.keep_on_device(filled.start, outputs[layer], shown)
                run(partial(store, filled.start, filled.n, outputs))
                del outputs  # the thread frees them when they are stored
        reduced = self._reduced(shapes)
        finished = {layer: sink.finish() for layer, sink in sinks.items()}
        on_device = {layer: values for layer, values in finished.items() if isinstance(values, jax.Array)}
        self._runner.check_finite(on_device, ids)
        return {layer: self._recorded(layer, values, reduced[layer]) for layer, values in finished.items()}

    def _recorded(self, layer: str, values: Any, shape: tuple[int, ...]) -> Recorded:
        reducer, kept = self._options.reducer, None
        if reducer is not None and reducer.keeps_units:
            [shape] = self._runner.shapes_of([layer]).values()
            kept = reducer.units(shape)
        return Recorded(values.reshape(len(values), -1), Units(layer, shape, kept))

    def _sinks(self, shapes: Shapes, open_results: Callable[[Shapes], dict[str, Result]]) -> dict[str, Sink]:
        stays, reductions = self._stays_on_device(), self._reductions(shapes)
        results = {} if stays and self._cache is None else open_results(self._reduced(shapes))
        return {
            layer: Sink(
                self._runner, layer, shape, reductions.get(layer), results.get(layer), OnDevice() if stays else None
            )
            for layer, shape in shapes.items()
        }

    def _stays_on_device(self) -> bool:
        wanted = self._options.keep_on_device
        if wanted is None:
            wanted = jax.default_backend() != "cpu"
        return wanted and self._options.reducer is None and self._runner.network.on_device

    def _reductions(self, shapes: Shapes) -> dict[str, Reduction]:
        reducer, last = self._options.reducer, self._runner.network.channels_last
        if reducer is None:
            return {}
        fitting: dict[str, Any] = {}
        if reducer.stimuli is not None:
            whole = Recorder(self._runner, replace(self._options, reducer=None, keep_on_device=False))
            items = items_of(reducer.stimuli)
            row_of, first = unique_items(items)
            ids = reducer.stimuli["stimulus_id"].tolist()
            found = whole.record([items[n] for n in first], [ids[n] for n in first], list(shapes))
            fitting = {layer: repeated(recorded.values, row_of) for layer, recorded in found.items()}
        return {layer: reducer.reduction(shape, last, fitting.get(layer)) for layer, shape in shapes.items()}


def repeated(values: Any, row_of: np.ndarray) -> Any:
    """Rows repeated by index; the same array without a copy if each is used once."""
    if len(values) == len(row_of):
        return values
    return values[jax.device_put(row_of)] if isinstance(values, jax.Array) else values[row_of]


def _rows(output: Any, n: int, stays: bool) -> Any:
    """The first rows of a batch, without padding; ``stays`` says whether they stay on the device."""
    if len(output) == n:
        return output
    if not isinstance(output, jax.Array):
        return output[:n]
    # Each slice on a device is a program of its own, compiled to be run once.
    return jax.lax.slice_in_dim(output, 0, n) if stays else np.asarray(output)[:n]
