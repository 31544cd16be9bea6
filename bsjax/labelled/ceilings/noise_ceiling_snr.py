"""The reliability of each neuroid from the variances of signal and noise of its single trials."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from bsjax.labelled.aggregate import NEUROID, neuroid_coords
from bsjax.labelled.align import two_dimensional
from bsjax.labelled.metric import Metric
from bsjax.labelled.resampling.draws import Drawn
from bsjax.labelled.score import Score
from bsjax.labelled.settings import whole_number
from bsjax.labelled.similarity.trials import as_trials, by_repetition, median_over_neuroids, of_neuroids
from bsjax.metrics import signal_and_noise_variances
from bsjax.metrics.ceilings.noise_ceiling_snr import Variances, share_of_signal


@dataclass(frozen=True)
class NoiseCeilingSNR(Metric):
    r"""Reliability of each neuroid's average over trials, :math:`s^2 / (s^2 + 1/n)` with its noise-ceiling SNR s.

    Like ``internal_consistency``, it estimates the correlation between two such averages, and it can replace it in
    ``explained_variance`` and ``r_over_sqrt_ceiling``. It needs no random halves, uses all pairs of trials, accepts
    ragged trials, and extrapolates to any number of trials. Its square root is the correlation that a perfect model
    reaches, which ``StoredNoiseCeiling`` reads from published data.

    The value is the median over neuroids. ``raw`` has one value per neuroid, with the coordinates ``ncsnr``, the
    standard deviation of the signal over that of the noise of a single trial, and ``n_stimuli``, which
    ``noise_corrected_explained_variance`` needs. A neuroid whose variance over stimuli does not exceed that expected
    from noise has 0. Because of this clipping, the ceiling of hardly responsive neuroids is too high on average.

    A stimulus with a single trial counts for the averages, but not for the noise. NaN marks a missing cell, which is
    left out for that neuroid. A neuroid that is constant, or has fewer than four repeated stimuli, is undefined. Data
    that do not fit in memory are processed in blocks of neuroids.

    Args:
        split_coord: the coordinate of the repetitions.
        trials: number of averaged trials; None for the number in the data, where 1/n is averaged over stimuli.
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    Raises:
        ValueError: ``trials`` is not a whole number of at least 1.

    Source: Allen et al. 2022, "A massive 7T fMRI dataset to bridge cognitive neuroscience and artificial intelligence".

    Example:
        >>> values = np.array([[0.0, 3.0, 5.0, 8.0], [2.0, 5.0, 3.0, 6.0]]).reshape(8, 1)
        >>> trials = xr.DataArray(values, dims=["presentation", "neuroid"], coords={
        ...     "stimulus_id": ("presentation", list("abcdabcd")), "repetition": ("presentation", [0] * 4 + [1] * 4)})
        >>> ceiling = NoiseCeilingSNR()(trials)
        >>> ceiling, ceiling.raw["ncsnr"].values.round(3)
        (Score(0.8333, s²/(s²+1/n)), array([1.581]))
    """

    identifier = "noise_ceiling_snr"

    split_coord: str = "repetition"
    trials: int | None = None
    dtype: str | None = None

    def __post_init__(self) -> None:
        if self.trials is not None:
            whole_number(self.trials, "trials", 1)

    def __call__(self, assembly: xr.DataArray) -> Score:
        """The reliability of the assembly's average over repetitions.

        Args:
            assembly: single trials (presentation, neuroid) with ``stimulus_id`` and ``repetition``; or an array
                (repetitions, stimuli, neuroids), NaN where a stimulus was shown less often.

        Raises:
            ValueError: a coordinate is missing, a trial is repeated, nothing is repeated, or a single neuroid needs
                more memory than is available.
        """
        return self._reliability(assembly)

    def drawn_values(self, drawn: Drawn, assembly: xr.DataArray) -> dict[str, Any]:
        """Its values in every draw, not clipped at 0, because clipping would reduce the spread of the draws."""
        return drawn.one_by_one(partial(self._reliability, bounded=False), [assembly])

    def _reliability(self, assembly: xr.DataArray, bounded: bool = True) -> Score:
        assembly = two_dimensional(as_trials(assembly, self.split_coord), "assembly")
        trials = by_repetition(assembly, self.split_coord)
        parts, enough = of_neuroids(self, signal_and_noise_variances, trials)
        averaged = None if self.trials is None else float(self.trials)
        reliable = self.run_kernel(share_of_signal, Variances(*parts), trials_averaged=averaged, bounded=bounded)
        raw = np.where(enough, reliable.astype(float), np.nan)
        signal, noise, _, stimuli = (part.astype(float) for part in parts)
        with np.errstate(divide="ignore", invalid="ignore"):
            snr = np.sqrt(np.maximum(signal, 0.0) / noise)
        coords = neuroid_coords(assembly) | {"ncsnr": (NEUROID, snr), "n_stimuli": (NEUROID, stimuli.astype(int))}
        return median_over_neuroids(self, raw, coords, trials, "s²/(s²+1/n)")
