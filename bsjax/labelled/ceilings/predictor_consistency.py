"""Split-half reliability with the repetitions of each image halved by themselves."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from bsjax.engine.precision import precision
from bsjax.labelled.align import STIMULUS, two_dimensional
from bsjax.labelled.ceilings.consistency import reliability_over_splits
from bsjax.labelled.ceilings.drawn import reliability_in_draws
from bsjax.labelled.ceilings.trials import Trials, by_repetition, too_few_repeated
from bsjax.labelled.metric import Metric
from bsjax.labelled.provenance import metric_provenance
from bsjax.labelled.resampling import Drawn
from bsjax.labelled.score import Score
from bsjax.labelled.settings import whole_number
from bsjax.metrics import compiled, split_half_consistency

_FEWEST_IMAGES = 10


@dataclass(frozen=True)
class SplitHalfPredictorConsistency(Metric):
    """Split-half reliability in which each image's own repetitions are halved at random, corrected by Spearman-Brown.

    As ``InternalConsistency``, save that halves are drawn image by image (Brain-Score's stream of random numbers: the
    images in sorted order, split after split), so that images may have different repetitions throughout. The first half
    has the smaller part of an odd number. Per neuroid the halves are correlated over images, and ``2r / (1 + r)`` is
    the reliability of the average; the value is the mean over splits of the median over neuroids, ``raw`` has (split,
    neuroid).

    Ragged input: an image with fewer than two repetitions is left out. NaN marks a missing cell, which is left out of
    its half's average; an image of which a neuroid has no cell in a half is left out for that neuroid. With fewer than
    ten images that are repeated the ceiling is NaN.

    Args:
        n_splits: how many random halvings.
        seed: of the halvings.
        image_level: the coordinate of the images; where the default ``image_id`` is absent, ``stimulus_id``.
        rep_level: the coordinate of the repetitions.
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    Source: Spearman 1910; Brown 1910.

    Example:
        >>> values = np.arange(20.0) % 10  # ten images, noiseless: the same in both repetitions
        >>> trials = xr.DataArray(values[:, None], dims=["presentation", "neuroid"], coords={
        ...     "image_id": ("presentation", values.astype(int)), "repetition": ("presentation", [0] * 10 + [1] * 10)})
        >>> SplitHalfPredictorConsistency()(trials)
        Score(1.0000, 2r/(1+r))
    """

    identifier = "predictor_consistency"

    n_splits: int = 10
    seed: int = 0
    image_level: str = "image_id"
    rep_level: str = "repetition"
    dtype: str | None = None

    def __post_init__(self) -> None:
        whole_number(self.n_splits, "n_splits", 1)

    def __call__(self, X: xr.DataArray) -> Score:
        """The reliability of the assembly's average over repetitions.

        Args:
            X: single trials (presentation, neuroid), with a single time bin or none.

        Raises:
            ValueError: a coordinate is missing, an image has a repetition twice, or nothing is repeated.
        """
        assembly, trials = self._arranged(X)
        repeated = trials.there.sum(axis=0) > 1
        first = self._halves(trials.there & repeated)
        with precision(self.dtype) as dtype:
            values = trials.values.astype(dtype)
            raw = np.array(compiled(split_half_consistency)(values, np.isfinite(values), first))
        why = too_few_repeated(trials, _FEWEST_IMAGES)
        if why is not None:
            raw[:] = np.nan
        made = metric_provenance(self, dtype, reason=why)
        return reliability_over_splits(raw[None], assembly, made, trials.repeated())

    def drawn_values(self, drawn: Drawn, X: xr.DataArray) -> dict[str, Any]:
        """Its values in every draw, see :func:`bsjax.labelled.resampling.scored`; all have the same halves."""
        assembly, trials = self._arranged(X)
        first = self._halves(trials.there & (trials.there.sum(axis=0) > 1))
        return {"values": drawn.labelled(reliability_in_draws(trials, first, drawn, assembly, dtype=self.dtype))}

    def _arranged(self, assembly: xr.DataArray) -> tuple[xr.DataArray, Trials]:
        assembly = two_dimensional(assembly, "assembly")
        fall_back = self.image_level == "image_id" and "image_id" not in assembly.coords
        return assembly, by_repetition(assembly, self.rep_level, STIMULUS if fall_back else self.image_level)

    def _halves(self, there: np.ndarray) -> np.ndarray:
        """Which repetitions of each image are the first half: (splits, repetitions, images)."""
        rng = np.random.default_rng(self.seed)
        counts = np.tile(there.sum(axis=0), self.n_splits)
        # Images in a row that have as many repetitions are drawn together: it is the same stream as one by one.
        starts = np.flatnonzero(np.diff(counts, prepend=-1))
        place = np.full((len(counts), len(there)), len(there))
        for start, stop in zip(starts, [*starts[1:], len(counts)], strict=True):
            n = int(counts[start])
            order = rng.permuted(np.broadcast_to(np.arange(n), (int(stop - start), n)), axis=1)
            place[start:stop, :n] = order.argsort(axis=1)
        chosen = (place < (counts // 2)[:, None]).reshape(self.n_splits, there.shape[1], len(there))
        # From the n-th repetition that an image has to the repetition's place among all.
        nth = np.maximum(there.cumsum(axis=0) - 1, 0)
        return np.take_along_axis(chosen.swapaxes(1, 2), nth[None], axis=1) & there
