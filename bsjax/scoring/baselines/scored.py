"""A model's score beside those of models that nobody takes for a brain."""

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
"""Models that are scored beside another where nothing else is said."""


def baseline_names(baselines: bool | str | Iterable[str]) -> list[str]:
    """Identifiers of the baselines asked for.

    Args:
        baselines: True for all of ``BASELINES``, which record any region, False for none; or identifiers and globs.

    Raises:
        KeyError: an unknown identifier.

    Example:
        >>> baseline_names("stimulus-*"), baseline_names(False)
        (['stimulus-order'], [])
    """
    wanted: Any = (list(BASELINES) if baselines else []) if isinstance(baselines, bool) else baselines
    return list(found_models(wanted)) if wanted else []


def baseline_models(baselines: bool | str | BrainModel | Iterable[str | BrainModel] = True) -> dict[str, BrainModel]:
    """The baselines asked for, by identifier.

    Args:
        baselines: as for :func:`baseline_names`, or models of your own.

    Raises:
        KeyError: an unknown identifier.
        ValueError: something that is no brain model.

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
    """The score of a model, with those of baselines on the same benchmark in its provenance.

    It warns of a baseline that scores as high as the model, or so little less that it is within one standard error of
    their difference (as if they were independent): then the score says nothing of the model that the baseline lacks.

    Args:
        score_function: scores a model on the benchmark.
        model: of which the score is wanted. It is no baseline of itself.
        benchmark: to score on.
        baselines: as for :func:`baseline_models`.

    Returns:
        The model's score, whose ``provenance["baselines"]`` is baseline -> its score, and
        ``provenance["baseline_errors"]`` baseline -> its error, None where there is none. A baseline that cannot do
        what the benchmark asks is left out, with a warning that says why.

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
        except Exception as error:  # whatever a baseline cannot do, the model's score is still wanted
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
    """A score, or the mean of one that is resolved in time."""
    return float(np.mean(np.asarray(value)))


def _plain(value: Any) -> Any:
    """A number, or an array of what is resolved in time."""
    return value if value is None else np.asarray(value) if np.ndim(value) else float(value)
