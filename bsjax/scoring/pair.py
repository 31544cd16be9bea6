"""``score``: one model on one benchmark, or as many as globs and lists stand for."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from bsjax.core.discovery import not_exiting
from bsjax.scoring import resolution as candidates
from bsjax.scoring.grid import plan, run

if TYPE_CHECKING:
    from bsjax.labelled import Score


def score(
    model: candidates.ModelLike | Iterable[candidates.ModelLike],
    benchmark: candidates.BenchmarkLike | Iterable[candidates.BenchmarkLike],
    extraction: Mapping[str, Any] | None = None,
    **benchmark_arguments: object,
) -> Score | dict[tuple[str, str], Score]:
    """Score a model on a benchmark.

    Args:
        model: an identifier (see :func:`bsjax.list_models`), a glob such as ``"*"``, a
            :class:`~bsjax.BrainModel`, or a list of these.
        benchmark: an identifier (see :func:`bsjax.list_benchmarks`), a glob, a benchmark, or a list of these.
        extraction: options for the extraction of the model's activations, those of
            :class:`~bsjax.activations.ExtractedActivations`: ``{"memory": "2GB", "batch_size": 32}``.
        **benchmark_arguments: for the registered benchmarks that take them, e.g. ``data=DIR``.

    Returns:
        The :class:`~bsjax.Score`. If either argument is a glob or a list: a dict from (model identifier,
        benchmark identifier) to scores. There, a pair that fails is left out with a warning that says why.

    Raises:
        KeyError: an unknown identifier; the message names the nearest ones.
        ValueError: something that is neither a model nor a benchmark, an argument that no benchmark takes, or
            data that cannot be compared. For globs and lists, only if no pair at all has a score.
        FileNotFoundError: the benchmark needs data that were not given or are not there.
        RuntimeError: code of the model or the benchmark called ``sys.exit``.

    Example:
        >>> import bsjax
        >>> score = bsjax.score("gabor-v1", "Simulated.V1-ridge")
        >>> 0 < float(score) < 1
        True
        >>> sorted(bsjax.score("pixels", ["Simulated.V1-cka", "Simulated.V1-rdm"]))
        [('pixels', 'Simulated.V1-cka'), ('pixels', 'Simulated.V1-rdm')]
    """
    pairs = plan(model, benchmark, extraction, **benchmark_arguments)
    if not (candidates.is_many(model) or candidates.is_many(benchmark)):
        [pair] = pairs
        with not_exiting():
            return pair.build_benchmark()(pair.build_model())
    outcomes = list(run(pairs))
    failed = [outcome for outcome in outcomes if outcome.error is not None]
    lines = [f"{outcome.model} on {outcome.benchmark}: {outcome.error_line}" for outcome in failed]
    if failed and len(failed) == len(outcomes):
        raise ValueError("no pair has a score:\n" + "\n".join(lines)) from failed[0].error
    for line in lines:
        warnings.warn(f"no score for {line}", stacklevel=2)
    return {(o.model, o.benchmark): o.score for o in outcomes if o.score is not None}
