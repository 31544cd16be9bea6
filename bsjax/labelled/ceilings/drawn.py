"""Split-half reliability in every draw of stimuli, neuroids and subjects."""

from collections.abc import Callable

import numpy as np
import xarray as xr

from bsjax.engine.memory_limit import within_limit
from bsjax.engine.precision import in_dtype, precision
from bsjax.labelled.aggregate import drawn_scores, nan_mean
from bsjax.labelled.ceilings.trials import Trials
from bsjax.labelled.resampling import Drawn
from bsjax.metrics import compiled
from bsjax.metrics.ceilings.consistency import split_half_bootstraps, split_half_similarity_bootstraps

_FEWER = "fewer stimuli or neuroids"
UNBOUNDED = -1e6
"""A mean below it is of halves that correlate by -1 or hardly more: their correction is as low as one likes."""


def reliability_in_draws(
    trials: Trials,
    first: np.ndarray,
    drawn: Drawn,
    assembly: xr.DataArray,
    *,
    bins: int = 1,
    similarity_bootstraps: Callable[..., object] | None = None,
    dtype: str | None = None,
) -> dict[str, np.ndarray]:
    """The ceiling in each draw, of each pass over the draws: ``(draws,)``, or ``(draws, bins)`` of several time bins.

    Args:
        trials: with the columns of all time bins, bin after bin.
        first: which repetitions are the first half, ``(splits, repetitions, stimuli)``; the same in all draws.
        drawn: what the draws hold.
        assembly: the trials, with the coordinates of neuroids and subjects.
        bins: how many time bins.
        similarity_bootstraps: compares halves as a whole, in place of the correlation of each neuroid.
        dtype: to compute in.

    Raises:
        ValueError: it takes more memory than there is.
    """
    present, passes = np.isfinite(trials.values), {}
    repetitions, n, width = trials.shape
    what = f"{drawn.plan.draws} draws of {repetitions:,} repetitions of {n:,} stimuli, {width:,} responses to each"
    for name, together in drawn.plan.passes.items():
        counts = np.ones((1, len(trials.stimuli)), np.int32)
        if "stimuli" in together:
            counts = drawn.in_order("stimuli", trials.stimuli).astype(np.int32)
        with precision(dtype) as chosen:
            given = in_dtype(trials.values, chosen), present, first, counts
            if similarity_bootstraps is not None:
                units = drawn.places(together, assembly)
                if units is not None:
                    given = *given[:3], np.broadcast_to(counts, (drawn.plan.draws, counts.shape[1])), units
                kernel = compiled(split_half_similarity_bootstraps, bootstraps=similarity_bootstraps)
                passes[name] = nan_mean(within_limit(kernel, given, what, _FEWER))
                continue
            raw = within_limit(compiled(split_half_bootstraps), given, what, _FEWER)
        parts = [drawn_scores(part, drawn, together, assembly) for part in np.split(raw, bins, axis=2)]
        found = np.broadcast_to(np.stack(parts, axis=1), (drawn.plan.draws, bins))
        found = np.where(found < UNBOUNDED, np.nan, found)
        passes[name] = found[:, 0] if bins == 1 else found
    return passes
