"""Models and benchmarks that stay built while jobs use them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from bsjax.scoring.beside import Beside
from bsjax.scoring.job import Job, built_benchmark, built_model


class Kept:
    """What was built last, by its key; a failure is not kept.

    Args:
        most: how many; the one that was used longest ago goes before another is built.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._built: OrderedDict[Hashable, Any] = OrderedDict()

    def get(self, key: Hashable, build: Callable[[], Any]) -> Any:
        """What has this key, built if it is not kept."""
        if key not in self._built:
            while len(self._built) >= self._most:
                self._built.popitem(last=False)
            self._built[key] = build()
        self._built.move_to_end(key)
        return self._built[key]


def model_of(job: Job, kept: Kept, images: Callable[..., None] | None = None, ahead: Sequence[str] = ()) -> Any:
    """The model of a job.

    Args:
        job: the job.
        kept: models that are built already.
        images: called with the progress of each extraction.
        ahead: layers and regions that are recorded along when images pass through the network, as other jobs ask for
            them.
    """
    model = kept.get(
        (job.model, replace(job.options, benchmark=(), beside=Beside())),
        lambda: built_model(job, images),
    )
    if not ahead:
        return model
    of_regions = getattr(model, "region_layer_map", {})
    layers = dict.fromkeys(layer for name in ahead for layer in of_regions.get(name, [name]))
    with suppress(ValueError, AttributeError):  # of a model that extracts nothing
        return model.with_options(ahead=tuple(layers))
    return model


def benchmark_of(job: Job, kept: Kept) -> Any:
    """The benchmark of a job, of those that are kept or built."""
    return kept.get(
        (job.benchmark, replace(job.options, extraction=(), beside=Beside())),
        lambda: built_benchmark(job),
    )
