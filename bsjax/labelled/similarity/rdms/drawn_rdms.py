"""Comparisons of dissimilarity matrices in draws of stimuli and subjects."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import xarray as xr

from bsjax.labelled.resampling.draws import Drawn
from bsjax.metrics.ceilings.noise_ceiling import noise_ceiling_bootstraps
from bsjax.metrics.resampling.draws import places_of
from bsjax.metrics.resampling.weighted_rdms import compare_weighted_rdms

BOUNDS = ("lower", "upper")
_FEWER = "fewer stimuli or subjects"


def similarities_in_draws(
    metric: Any, model: np.ndarray, subjects: np.ndarray, stimuli: np.ndarray, names: np.ndarray, drawn: Drawn
) -> dict[str, xr.DataArray]:
    """A model's mean similarity to the subjects in each draw of each pass, in the form of ``Metric.drawn_values``.

    Args:
        metric: has the ``method`` of the comparison, the ``dtype`` of the computation, and ``squared``: whether the
            mean is of signed squares.
        model: dissimilarities ``(pairs,)``, in the order of ``rdm_pairs``.
        subjects: those of each subject, ``(subjects, pairs)``.
        stimuli, names: identifiers of the stimuli and of the subjects.
        drawn: the draws.

    Raises:
        ValueError: the comparison takes no weights, or the plan draws neuroids.
    """

    def similarities(together: Sequence[str]) -> np.ndarray:
        counts = np.ones((1, len(stimuli)), np.int32)
        if "stimuli" in together:
            counts = drawn.in_order("stimuli", stimuli).astype(np.int32)
        how = {"takes": _what(drawn, stimuli, names), "advice": _FEWER, "method": metric.method}
        return metric.run_kernel(compare_weighted_rdms, model[None], subjects, counts, **how)[:, 0]

    return _means(metric, similarities, names, drawn)


def ceilings_in_draws(
    metric: Any, rdms: np.ndarray, stimuli: np.ndarray, names: np.ndarray, drawn: Drawn
) -> dict[str, xr.DataArray]:
    """A noise ceiling of RSA in each draw of each pass, in the form of ``Metric.drawn_values``.

    Args:
        metric: as for :func:`similarities_in_draws`, with its ``bound`` and ``pooling``.
        rdms: ``(subjects, stimuli, stimuli)``.
        stimuli, names, drawn: as for :func:`similarities_in_draws`.

    Raises:
        ValueError: the plan draws neuroids, or draws subjects with ``pooling="bound"``.
    """

    def ceilings(together: Sequence[str]) -> np.ndarray:
        held = np.arange(len(stimuli), dtype=np.int32)[None]
        if "stimuli" in together:
            held = places_of(drawn.in_order("stimuli", stimuli)).astype(np.int32)
        held = np.broadcast_to(held, (drawn.plan.draws, held.shape[1]))
        weights = _subject_counts(drawn, together, names).astype(float) if "subjects" in together else None
        how = {"takes": _what(drawn, stimuli, names), "advice": _FEWER}
        settings = {"method": metric.method, "pooling": metric.pooling}
        each = metric.run_kernel(noise_ceiling_bootstraps, rdms, held, weights, **how, **settings)
        return each[:, BOUNDS.index(metric.bound)]

    return _means(metric, ceilings, names, drawn)


def _means(
    metric: Any, values: Callable[[Sequence[str]], np.ndarray], names: np.ndarray, drawn: Drawn
) -> dict[str, xr.DataArray]:
    """The mean over the subjects in each draw, without subjects that have no value."""
    if "neuroids" in drawn.plan.factors:
        raise ValueError("RDMs of subjects can be drawn over stimuli and subjects, not over neuroids")

    def means(together: Sequence[str]) -> np.ndarray:
        each = values(together)
        each = np.sign(each) * each**2 if metric.squared else each
        weights = _subject_counts(drawn, together, names) * np.isfinite(each)
        total, size = (weights * np.nan_to_num(each)).sum(axis=1), weights.sum(axis=1)
        return np.where(size > 0, total / np.maximum(size, 1), np.nan)

    return {"values": drawn.in_passes(means)}


def _what(drawn: Drawn, stimuli: np.ndarray, names: np.ndarray) -> str:
    return f"{drawn.plan.draws} draws of the RDMs of {len(names):,} subjects and {len(stimuli):,} stimuli"


def _subject_counts(drawn: Drawn, together: Sequence[str], names: np.ndarray) -> np.ndarray:
    if "subjects" in together:
        return drawn.in_order("subjects", names)
    return np.ones((drawn.plan.draws, len(names)), int)
