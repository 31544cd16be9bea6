"""Generative modelling of signal and noise (GSN) in labelled recordings, and the ceiling of RSA that follows."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.engine.running import run
from bsjax.labelled.aggregate import NEUROID, jackknife_error, neuroid_coords
from bsjax.labelled.align import STIMULUS, origins_of
from bsjax.labelled.metric import Metric
from bsjax.labelled.resampling.draws import by_whole, left_out_together
from bsjax.labelled.score import Score
from bsjax.labelled.settings import whole_number
from bsjax.labelled.similarity.trials import as_trials, whole_trials
from bsjax.metrics import noise_ceiling_snr
from bsjax.metrics.ceilings.signal_and_noise import shrinkage_levels, signal_and_noise_at, simulated_rsa_ceilings
from bsjax.metrics.similarity.rdms.dissimilarities import dissimilarity_named
from bsjax.metrics.similarity.rdms.rdm_comparison import comparison_named

OTHER = "neuroid_right"


def fit_signal_and_noise(
    assembly: xr.DataArray, *, split_coord: str = "repetition", folds: int = 5, seed: int = 0, dtype: str | None = None
) -> xr.Dataset:
    """The distributions of signal and noise that generate a recording: their means and covariances over neuroids.

    See :func:`bsjax.metrics.ceilings.signal_and_noise.signal_and_noise` for the estimation. The signal covariance shows
    the signal that neuroids share without the noise that they share. The covariance of trial averages confounds the
    two. Use it for principal components, dimensionality, or simulated recordings.

    Args:
        assembly: single trials (presentation, neuroid) with ``stimulus_id`` and ``repetition``. Stimuli may have
            different numbers of trials; a trial has all neuroids or none.
        split_coord: the coordinate of the repetitions.
        folds: number of folds of the stimuli to choose the shrinkage of the covariances by cross-validation.
        seed: seed of the folds.
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    Returns:
        ``signal_mean`` and ``ncsnr`` (neuroid), ``signal_covariance`` and ``noise_covariance`` (neuroid,
        neuroid_right), symmetric and positive semi-definite. The attributes ``shrinkage_of_averages`` and
        ``shrinkage_of_noise`` are the shares of the covariances between neuroids that remain.

    Raises:
        ValueError: a coordinate is missing, a trial is repeated or lacks some neuroids, nothing is repeated, or there
            are fewer than two stimuli per fold.

    Source: Kay et al. 2025, "Disentangling signal and noise in neural responses through generative modeling".

    Example:
        >>> rng = np.random.default_rng(0)
        >>> values = np.tile(rng.normal(size=(20, 3)), (2, 1)) + 0.5 * rng.normal(size=(40, 3))
        >>> trials = xr.DataArray(values, dims=["presentation", "neuroid"], coords={
        ...     "stimulus_id": ("presentation", [*range(20)] * 2), "repetition": ("presentation", [0] * 20 + [1] * 20)})
        >>> found = fit_signal_and_noise(trials)
        >>> found["noise_covariance"].dims, bool((found["ncsnr"] > 1).all())
        (('neuroid', 'neuroid_right'), True)
    """
    trials = _whole_trials(assembly, split_coord, folds, seed)
    levels = run(shrinkage_levels, trials.values, trials.mask, trials.held_out, dtype=dtype)
    model = run(signal_and_noise_at, trials.values, trials.mask, levels, dtype=dtype)
    present = np.broadcast_to(trials.mask[:, :, None], trials.values.shape)
    snr = run(noise_ceiling_snr, trials.values, present, dtype=dtype).astype(float)
    mean, signal, noise, _ = (part.astype(float) for part in model)
    of_data, of_noise = map(float, levels)
    coords = neuroid_coords(assembly)
    right = {f"{name}_right": (OTHER, values) for name, (_, values) in coords.items() if name != NEUROID}
    both = [NEUROID, OTHER]
    return xr.Dataset(
        {
            "signal_mean": (NEUROID, mean),
            "ncsnr": (NEUROID, snr),
            "signal_covariance": (both, signal),
            "noise_covariance": (both, noise),
        },
        coords={name: coord for name, coord in coords.items() if name != "ncsnr"} | right,
        attrs={"shrinkage_of_averages": of_data, "shrinkage_of_noise": of_noise},
    )


@dataclass(frozen=True)
class SignalAndNoiseRSACeiling(Metric):
    """Similarity of a recording's RDM to that of its noise-free signal, by simulation from the GSN model.

    The covariances of signal and noise are estimated from single trials (``fit_signal_and_noise``). Recordings of new
    stimuli are simulated from them, and the RDM of their averages is compared with that of their signals. The value,
    the median over simulations, is the expected RSA score of the true model with this recording's number of trials:
    normalise by ``ceil_score`` or ``squared_ceil_score``. It applies to each recording alone, whereas ``rsa_ceiling``
    uses the agreement of subjects, who differ in more than noise. Split halves of the trials do not give it, because
    the correlation of RDMs does not follow the Spearman-Brown formula.

    The error is a jackknife over groups of stimuli, which are left out of the estimates, with the same simulations and
    the same shrinkage. Stimuli of one object are in one group where responses cluster by objects. The published method
    also scales the signal covariance until split halves of simulated recordings are as similar as those of the data.
    This scaling is not done here.

    Args:
        similarity_func: the comparison of two RDMs, as for ``rsa_ceiling``: ``"spearman"``, ``"corr"``, ``"cosine"``,
            ``"rho-a"`` or ``"tau-a"``. It should be that of the metric.
        dissimilarity: the dissimilarity of two patterns, by default 1 - Pearson correlation.
        trials: number of averaged trials; None for the number in the data.
        draws: number of simulated recordings.
        stimuli: number of stimuli in each; the value hardly depends on it.
        groups: number of groups of stimuli for the error; 0 for no error.
        folds: as for ``fit_signal_and_noise``.
        seed: seed of simulations, groups and folds.
        split_coord: the coordinate of the repetitions.
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    Raises:
        ValueError: an unknown comparison or dissimilarity, or numbers that are too small.

    Source: Kay et al. 2025, "Disentangling signal and noise in neural responses through generative modeling".

    Example:
        >>> rng = np.random.default_rng(0)
        >>> values = np.tile(rng.normal(size=(20, 30)), (2, 1)) + 0.5 * rng.normal(size=(40, 30))
        >>> trials = xr.DataArray(values, dims=["presentation", "neuroid"], coords={
        ...     "stimulus_id": ("presentation", [*range(20)] * 2), "repetition": ("presentation", [0] * 20 + [1] * 20)})
        >>> 0.8 < float(SignalAndNoiseRSACeiling("corr", groups=0)(trials)) < 1
        True
    """

    identifier = "gsn_rsa_ceiling"

    similarity_func: str = "spearman"
    dissimilarity: str = "correlation"
    trials: int | None = None
    draws: int = 50
    stimuli: int = 50
    groups: int = 10
    folds: int = 5
    seed: int = 0
    split_coord: str = "repetition"
    dtype: str | None = None

    def __post_init__(self) -> None:
        comparison_named(self.similarity_func)
        dissimilarity_named(self.dissimilarity)
        whole_number(1 if self.trials is None else self.trials, "trials", 1)
        whole_number(self.draws, "draws", 1)
        whole_number(self.stimuli, "stimuli", 3)
        whole_number(self.groups, "groups", 0)
        whole_number(self.folds, "folds", 2)

    def __call__(self, assembly: xr.DataArray) -> Score:
        """The ceiling; ``raw`` has the similarity in each simulation.

        Args:
            assembly: single trials (presentation, neuroid) with ``stimulus_id`` and ``repetition``; a trial has all
                neuroids or none.

        Raises:
            ValueError: as for ``fit_signal_and_noise``, or the computation needs more memory than is available.
        """
        assembly = as_trials(assembly, self.split_coord)
        trials = _whole_trials(assembly, self.split_coord, self.folds, self.seed)
        by, labels = left_out_together(assembly, trials.stimuli)
        together = trials.origins if by is None else labels
        _, n, units = trials.values.shape
        # All stimuli, followed by all stimuli without each group.
        chosen = np.concatenate([np.ones((1, n), bool), ~_parts(together, self.groups, self.seed + 1)])
        normals = np.random.default_rng(self.seed).standard_normal((self.draws, 2, self.stimuli, units))
        takes, fewer = f"{self.identifier} of {units:,} neuroids and {n:,} stimuli", "fewer neuroids"
        settings: dict[str, Any] = {
            "trials_averaged": None if self.trials is None else float(self.trials),
            "method": self.similarity_func,
            "dissimilarity": self.dissimilarity,
        }
        values, mask, held_out, *_ = trials
        levels = self.run_kernel(shrinkage_levels, values, mask, held_out, takes=takes, advice=fewer)
        arrays = values, mask, chosen, levels, normals
        found = self.run_kernel(simulated_rsa_ceilings, *arrays, takes=takes, advice=fewer, **settings).astype(float)
        value, *without = np.median(found, axis=1)
        why = "there is no signal that two neuroids or more have" if np.isnan(value) else None
        return Score(
            float(value),
            **(by_whole(by, jackknife_error(np.array(without))) if self.groups else {}),
            raw=xr.DataArray(found[0], dims=["draw"]),
            formula="r",
            n_units=units,
            provenance=self.provenance(reason=why),
        )


class _WholeTrials(NamedTuple):
    """Single trials, their mask, the stimuli that each fold holds out, all stimuli, and the originals of copies."""

    values: np.ndarray
    mask: np.ndarray
    held_out: np.ndarray
    stimuli: np.ndarray
    origins: np.ndarray


def _whole_trials(assembly: xr.DataArray, split_coord: str, folds: int, seed: int) -> _WholeTrials:
    assembly = as_trials(assembly, split_coord)
    trials = whole_trials(assembly, split_coord, "assembly")
    values, mask = trials.values, trials.mask
    origins = origins_of(trials.stimuli, assembly, STIMULUS, "presentation", "assembly")
    stimuli = len(pd.unique(origins))
    if stimuli < 2 * folds:
        raise ValueError(f"{folds} folds need at least {2 * folds} stimuli, there are {stimuli}: choose fewer folds")
    held_out = _parts(origins, folds, seed)
    return _WholeTrials(np.where(mask[:, :, None], values, 0.0), mask, held_out, trials.stimuli, origins)


def _parts(labels: np.ndarray, parts: int, seed: int) -> np.ndarray:
    """Masks (parts, stimuli) of random parts of the stimuli, with all of one label, as copies, in one part."""
    which, different = pd.factorize(labels)
    parts = min(parts, len(different))
    part = np.arange(len(different)) % max(parts, 1)
    return (np.random.default_rng(seed).permutation(part) == np.arange(parts)[:, None])[:, which]
