"""Comparison of predictions with single trials, corrected for the noise of the trials."""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from bsjax.labelled.aggregate import NEUROID, neuroid_coords
from bsjax.labelled.align import aligned, coordinate, finite_values, matched, of_stimuli, two_dimensional
from bsjax.labelled.metric import Metric
from bsjax.labelled.score import Score
from bsjax.labelled.similarity.trials import by_repetition, median_over_neuroids, of_neuroids
from bsjax.metrics import noise_corrected_r2


@dataclass(frozen=True)
class NoiseCorrectedR2(Metric):
    r"""Squared correlation of predictions with each neuroid's expected responses, corrected for trial noise.

    It is for given predictions: of a model without free parameters, or of one that was fitted to other trials. With the
    variance of the trials known, the noise is subtracted from both the numerator and the denominator of :math:`r^2`
    (see :func:`bsjax.metrics.ceilings.noise_corrected.noise_corrected_r2`), so that the estimate is not biased by few
    trials or stimuli. It needs no ceiling: 1 is a perfect prediction. Nothing is clipped.

    The value is the median over neuroids, with its error from a bootstrap over neuroids. ``raw`` has one value per
    neuroid. Because it is a square, a prediction and its opposite score the same.

    ``noise_corrected_explained_variance`` is the same correction for the cross-validated correlations of a benchmark.

    Stimuli may have different numbers of trials. NaN marks a missing cell, which is left out for that neuroid. A
    neuroid whose averages vary no more than expected from noise, or with fewer than four repeated stimuli, is
    undefined: NaN, counted in ``n_undefined``. Data that do not fit in memory are processed in blocks of neuroids.

    Args:
        split_coord: the coordinate of the repetitions.
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    Source: Pospisil & Bair 2021, "The unbiased estimation of the fraction of variance explained by a model".

    Example:
        >>> values = np.array([[0.0, 3.0, 5.0, 8.0], [2.0, 5.0, 3.0, 6.0]]).reshape(8, 1)
        >>> trials = xr.DataArray(values, dims=["presentation", "neuroid"], coords={
        ...     "stimulus_id": ("presentation", list("abcdabcd")), "repetition": ("presentation", [0] * 4 + [1] * 4),
        ...     "neuroid_id": ("neuroid", ["n"])})
        >>> prediction = xr.DataArray([[2.0], [0.0], [1.0], [3.0]], dims=["presentation", "neuroid"], coords={
        ...     "stimulus_id": ("presentation", list("cabd")), "neuroid_id": ("neuroid", ["n"])})
        >>> NoiseCorrectedR2()(prediction, trials)
        Score(1.0133, noise-corrected r²)
    """

    identifier = "noise_corrected_r2"

    split_coord: str = "repetition"
    dtype: str | None = None

    def __call__(self, prediction: xr.DataArray, trials: xr.DataArray) -> Score:
        """Scores how much of the neuroids' tuning the predictions explain.

        Args:
            prediction: (presentation, neuroid), one row per stimulus, with ``stimulus_id`` and ``neuroid_id``.
            trials: single trials (presentation, neuroid) of the same stimuli and neuroids, with ``stimulus_id``,
                ``repetition`` and ``neuroid_id``.

        Raises:
            ValueError: a coordinate is missing, the stimuli or neuroids differ, a prediction is not finite or repeated,
                a trial is repeated, nothing is repeated, or a single neuroid needs more memory than is available.
        """
        prediction, trials = two_dimensional(prediction, "prediction"), two_dimensional(trials, "trials")
        repeated = by_repetition(trials, self.split_coord)
        prediction = aligned(prediction, of_stimuli(repeated.stimuli), ("prediction", "trials"))
        have, wanted = (
            coordinate(side, "neuroid_id", NEUROID, what)
            for side, what in ((prediction, "prediction"), (trials, "trials"))
        )
        order = matched(have, wanted, ("prediction", "trials"), "neuroid_id", "neuroids")
        predicted = np.asarray(finite_values(prediction, "prediction"))[:, order]
        (corrected,), enough = of_neuroids(self, noise_corrected_r2, repeated, predicted)
        raw = np.where(enough, corrected.astype(float), np.nan)
        return median_over_neuroids(self, raw, neuroid_coords(trials), repeated, "noise-corrected r²")
