"""``score_sources``: many layers or models against one target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import jax
import xarray as xr

from bsjax.core.watching import steps
from bsjax.engine.memory_limit import memory_limit
from bsjax.labelled.layers import SharedTarget, scored_together
from bsjax.scoring.arrays import by_name
from bsjax.scoring.display.bars import shown

if TYPE_CHECKING:
    from bsjax.labelled import Score


def score_sources(
    metric: str | Callable[[Any, Any], Score],
    sources: Mapping[str, xr.DataArray | Callable[[], xr.DataArray]],
    target: xr.DataArray,
    memory: int | str | None = None,
    *,
    progress: bool | None = None,
) -> dict[str, Score]:
    """Score many sources, such as the layers of a model, against one target.

    Every score equals that of the source scored alone. Splits and other quantities of the target are computed once.
    Sources of one shape share one compiled program. For regressions and CKA, sources of similar width share it too,
    padded by columns of zeros that do not affect the score.

    Sources in host memory are scored one after the other, in the order given, so that only one is in memory at a time.
    Sources on a device (JAX arrays, such as activations on an accelerator) stay there, and those of one shape, from
    one model or several, are scored in one call. In a block of ``bsjax.engine.sharding.use_devices`` they are divided
    among the devices.

    Args:
        metric: ``metric(source, target) -> Score``, or a name of :func:`bsjax.list_metrics`.
        sources: name -> (presentation, neuroid) with ``stimulus_id``; or a function without arguments that loads it
            when its turn comes, so that one is in memory at a time.
        target: (presentation, neuroid) with ``stimulus_id``.
        memory: limit in bytes for one comparison, also as ``"2GB"``; by default the free memory. Larger sources are
            read in blocks if the metric allows it, and otherwise refused (``bsjax.memory_limit``).
        progress: True shows progress, False hides it. By default it is shown on a terminal and in notebooks.

    Returns:
        Name -> score, in the order of ``sources``.

    Raises:
        KeyError: the metric is unknown.
        ValueError: raised by the metric, with the name of the source.

    Example:
        >>> import numpy as np, xarray as xr
        >>> import bsjax
        >>> from bsjax.scoring import score_sources
        >>> rng = np.random.default_rng(0)
        >>> def responses(values):
        ...     coords = {"stimulus_id": ("presentation", range(len(values)))}
        ...     return xr.DataArray(values, coords, ["presentation", "neuroid"])
        >>> brain = rng.normal(size=(100, 5))
        >>> late = brain @ rng.normal(size=(5, 20))
        >>> layers = {"early": responses(rng.normal(size=(100, 20))), "late": responses(late)}
        >>> ridge = bsjax.load_metric("ridge", crossvalidation_kwargs={"stratification_coord": None})
        >>> scores = score_sources(ridge, layers, responses(brain))
        >>> scores["late"] > 0.99 > 0.5 > scores["early"]
        True
    """
    scores: dict[str, Score] = {}
    with shown(progress=progress), nullcontext() if memory is None else memory_limit(memory):
        shared = SharedTarget(metric, target, folds=False)
        together: dict[str, xr.DataArray] = {}
        for name, source in steps(by_name(sources, "sources").items(), "sources", len(sources)):
            if isinstance(source, xr.DataArray) and isinstance(source.data, jax.Array):
                together[name] = source
                continue
            scores |= _scores(shared, together)
            together = {}
            # Hold no reference to a source, so that it is freed before the next is loaded.
            scores |= _scores(shared, {name: _loaded(source)})
        return scores | _scores(shared, together)


def _loaded(source: Any) -> Any:
    """The responses, or what a function that loads them gives."""
    return source() if callable(source) else source


def _scores(target: SharedTarget, sources: Mapping[str, xr.DataArray]) -> dict[str, Score]:
    scores: dict[str, Score] = {}
    for name, one in scored_together(target, sources).items():
        if isinstance(one, ValueError):
            raise ValueError(f"{name}: {one}") from one
        scores[name] = one.score
    return scores
