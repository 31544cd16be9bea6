"""Comparisons of dissimilarity matrices in every draw of stimuli and of subjects."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from bsjax.engine.memory_limit import within_limit
from bsjax.engine.precision import in_dtype, precision
from bsjax.labelled.resampling import Drawn, places_of
from bsjax.metrics import compiled
from bsjax.metrics.ceilings.noise_ceiling import Pooling
from bsjax.metrics.resampling.subject_rdms import noise_ceiling_bootstraps
from bsjax.metrics.resampling.weighted_rdms import compare_weighted_rdms

_FEWER = "fewer stimuli or subjects"


def similarities_in_draws(
    model: np.ndarray,
    subjects: np.ndarray,
    stimuli: np.ndarray,
    names: np.ndarray,
    drawn: Drawn,
    *,
    method: str,
    squared: bool = False,
    dtype: str | None = None,
) -> xr.DataArray:
    """A model's mean similarity to the subjects in each draw, of each pass, see ``Drawn.labelled``.

    Args:
        model: dissimilarities ``(pairs,)``, in the order of ``rdm_pairs``.
        subjects: the same of each subject ``(subjects, pairs)``.
        stimuli, names: identifiers of the stimuli and of the subjects.
        drawn: what the draws hold.
        method: of the comparison.
        squared: whether the mean is of squares, with their signs.
        dtype: to compute in.

    Raises:
        ValueError: a comparison that takes no weights, or neuroids are to be drawn.
    """
    _check(drawn)

    def values(together: Sequence[str]) -> np.ndarray:
        counts = np.ones((1, len(stimuli)), np.int32)
        if "stimuli" in together:
            counts = drawn.in_order("stimuli", stimuli).astype(np.int32)
        with precision(dtype) as chosen:
            kernel = compiled(compare_weighted_rdms, method=method)
            given = in_dtype(model[None], chosen), in_dtype(subjects, chosen), counts
            each = within_limit(kernel, given, _what(drawn, stimuli, names), _FEWER)[:, 0]
        each = np.sign(each) * each**2 if squared else each
        return _weighted_mean(each, _subject_counts(drawn, together, names))

    return drawn.in_passes(values)


def ceilings_in_draws(
    rdms: np.ndarray,
    stimuli: np.ndarray,
    names: np.ndarray,
    drawn: Drawn,
    *,
    bound: int,
    method: str,
    pooling: Pooling,
    squared: bool = False,
    dtype: str | None = None,
) -> xr.DataArray:
    """A noise ceiling of RSA in each draw, of each pass, see ``Drawn.labelled``.

    Args:
        rdms: ``(subjects, stimuli, stimuli)``.
        stimuli, names, drawn, squared, dtype: as of :func:`similarities_in_draws`.
        bound: 0 for the lower one, 1 for the upper one.
        method, pooling: of the ceiling.

    Raises:
        ValueError: neuroids are to be drawn, or subjects of a ceiling that no RDM exceeds.
    """
    _check(drawn)

    def values(together: Sequence[str]) -> np.ndarray:
        held = np.arange(len(stimuli), dtype=np.int32)[None]
        if "stimuli" in together:
            held = places_of(drawn.in_order("stimuli", stimuli)).astype(np.int32)
        counts = _subject_counts(drawn, together, names)
        with precision(dtype) as chosen:
            held = np.broadcast_to(held, (drawn.plan.draws, held.shape[1]))
            weights = in_dtype(counts, chosen) if "subjects" in together else None
            kernel = compiled(noise_ceiling_bootstraps, method=method, pooling=pooling)
            given = in_dtype(rdms, chosen), held, weights
            each = within_limit(kernel, given, _what(drawn, stimuli, names), _FEWER)[:, bound]
        each = np.sign(each) * each**2 if squared else each
        return _weighted_mean(each, counts)

    return drawn.in_passes(values)


def _what(drawn: Drawn, stimuli: np.ndarray, names: np.ndarray) -> str:
    return f"{drawn.plan.draws} draws of the RDMs of {len(names):,} subjects and {len(stimuli):,} stimuli"


def _check(drawn: Drawn) -> None:
    if "neuroids" in drawn.plan.factors:
        raise ValueError("RDMs of subjects can be drawn over stimuli and subjects, not over neuroids")


def _subject_counts(drawn: Drawn, together: Sequence[str], names: np.ndarray) -> np.ndarray:
    if "subjects" in together:
        return drawn.in_order("subjects", names)
    return np.ones((drawn.plan.draws, len(names)), int)


def _weighted_mean(each: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Over the subjects of each draw that have a value."""
    there = counts * np.isfinite(each)
    total, size = (there * np.nan_to_num(each)).sum(axis=1), there.sum(axis=1)
    return np.where(size > 0, total / np.maximum(size, 1), np.nan)
