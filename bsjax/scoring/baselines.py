"""Scores of a model together with those of nuisance baselines, which know image content, order or structure alone."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bsjax.models import load_model
from bsjax.scoring.resolution import found_models

if TYPE_CHECKING:
    from bsjax.benchmarks import Benchmark
    from bsjax.labelled import Score
    from bsjax.models import BrainModel

BASELINES = ("pixels", "image-statistics", "gabor-v1", "random-network", "stimulus-order")
"""The default baselines."""


def baseline_names(baselines: bool | str | Iterable[str]) -> list[str]:
    """Identifiers of the requested baselines.

    Args:
        baselines: True for all of ``BASELINES``, which can record any region; False for none; or identifiers and globs.

    Raises:
        KeyError: an identifier is unknown.

    Example:
        >>> baseline_names("stimulus-*"), baseline_names(False)
        (['stimulus-order'], [])
    """
    wanted: Any = (list(BASELINES) if baselines else []) if isinstance(baselines, bool) else baselines
    return list(found_models(wanted)) if wanted else []


def baseline_models(baselines: bool | str | BrainModel | Iterable[str | BrainModel] = True) -> dict[str, BrainModel]:
    """The requested baselines, by identifier.

    Args:
        baselines: as for :func:`baseline_names`, or model objects.

    Raises:
        KeyError: an identifier is unknown.
        ValueError: an object is not a brain model.

    Example:
        >>> list(baseline_models())
        ['pixels', 'image-statistics', 'gabor-v1', 'random-network', 'stimulus-order']
    """
    wanted: Any = baseline_names(baselines) if isinstance(baselines, bool) else baselines
    return {
        name: load_model(model) if isinstance(model, str) else model for name, model in found_models(wanted).items()
    }


def scored_with_baselines(
    score_function: Callable[[BrainModel, Benchmark], Score],
    model: BrainModel,
    benchmark: Benchmark,
    baselines: bool | str | BrainModel | Iterable[str | BrainModel] = True,
) -> Score:
    """Score a model, and store the scores of baselines on the same benchmark in the provenance.

    Warns if a baseline scores as high as the model, or within one standard error of their difference (treating both
    errors as independent). The score is then no evidence that the model has anything the baseline lacks.

    Args:
        score_function: scores a model on the benchmark.
        model: the model to score. It is skipped if it is one of the baselines.
        benchmark: the benchmark to score on.
        baselines: as for :func:`baseline_models`.

    Returns:
        The model's score. ``provenance["baselines"]`` maps each baseline to its score, and
        ``provenance["baseline_errors"]`` to its error, None where there is none. A baseline that cannot be scored on
        the benchmark is left out, with a warning that gives the reason.

    Example:
        >>> from bsjax import load_benchmark
        >>> score = scored_with_baselines(lambda model, benchmark: benchmark(model), load_model("gabor-v1"),
        ...     load_benchmark("Simulated.V1-ridge"), ["pixels", "image-statistics"])
        >>> max(score.provenance["baselines"].values()) < float(score)
        True
    """
    score = score_function(model, benchmark)
    scores: dict[str, Score] = {}
    for name, baseline in baseline_models(baselines).items():
        if name == model.identifier:
            continue
        try:
            scores[name] = score_function(baseline, benchmark)
        except Exception as error:  # a failing baseline must not cost the model its score
            warnings.warn(f"no score for the baseline {name} on {benchmark.identifier}: {error}", stacklevel=2)
    for name, other in scores.items():
        ours, theirs = _number(score.value), _number(other.value)
        errors = [_number(each.error) for each in (score, other) if each.error is not None]
        if theirs >= ours - math.hypot(*errors):
            warnings.warn(
                f"the baseline {name} scores {theirs:z.4f} on {benchmark.identifier}, {model.identifier} {ours:z.4f}, "
                f"with an error of {math.hypot(*errors):z.4f} of the difference: what {model.identifier} shares with "
                f"{name} may explain its score",
                stacklevel=2,
            )
    details = {
        "baselines": {name: _plain(other.value) for name, other in scores.items()},
        "baseline_errors": {name: _plain(other.error) for name, other in scores.items()},
    }
    return replace(score, provenance=score.provenance.with_details(**details))


def _number(value: Any) -> float:
    """The score; for a score resolved in time, its mean."""
    return float(np.mean(np.asarray(value)))


def _plain(value: Any) -> Any:
    """The score as a float; for a score resolved in time, as an array."""
    return value if value is None else np.asarray(value) if np.ndim(value) else float(value)
