"""Comparison of a model's dissimilarity matrix with that of single trials, without the bias of their noise."""

from dataclasses import dataclass, field
from typing import Any, Literal

import jax.numpy as jnp
import numpy as np
import xarray as xr

from bsjax.engine.batches import batched_map
from bsjax.labelled.aggregate import jackknife_error
from bsjax.labelled.align import STIMULUS, aligned, finite_values, of_stimuli, two_dimensional
from bsjax.labelled.kernel_metric import KernelMetric
from bsjax.labelled.resampling.draws import Drawn, by_whole, left_out_together, taken_whole
from bsjax.labelled.score import Score
from bsjax.labelled.settings import keep
from bsjax.labelled.similarity.rdms.stimulus_noise import stimulus_noise, values_in_order
from bsjax.labelled.similarity.trials import as_trials, whole_trials
from bsjax.metrics import compare_rdms, rdm, rdm_pairs
from bsjax.metrics.resampling.draws import label_codes
from bsjax.metrics.resampling.weighted_rdms import METHODS, compare_weighted_rdms
from bsjax.metrics.similarity.rdms.noise_covariance import NOISES, Noise
from bsjax.metrics.similarity.rdms.rdm_comparison import comparison_named, whitened_by
from bsjax.metrics.similarity.rdms.trial_rdms import rdm_of_trials, trial_dissimilarity_named

_GROUPS, _LEAST = 10, 3


@dataclass(frozen=True)
class TrialRDM(KernelMetric):
    """Similarity of a model's RDM to that of single trials.

    The model has no noise: its RDM is of the dissimilarity that the one of the trials estimates, squared Euclidean for
    Mahalanobis and crossnobis, and Poisson for Poisson. Stimuli may have different numbers of trials.

    Draws of stimuli reuse both RDMs, for the comparisons ``"corr"``, ``"cosine"``, ``"spearman"`` and ``"rho-a"``. The
    others have no weights of stimuli, so they have no draws of stimuli, and their error is the jackknife. Neuroids and
    trials are not drawn, because copies would have the same noise.

    Args:
        dissimilarity: of the trials: ``"crossnobis"``, ``"mahalanobis"``, ``"poisson_cv"`` or ``"poisson"``; see
            :func:`bsjax.metrics.rdm_of_trials`. Poisson takes rates, also of the model, which are not negative.
        noise: how the covariance of noise is estimated from the trials: ``"shrinkage_diag"``, ``"shrinkage_eye"``,
            ``"diag"`` or ``"full"``, see :func:`bsjax.metrics.noise_covariance`; None for the identity.
        comparison: a name in ``COMPARISONS`` of ``bsjax.metrics.similarity.rdms.rdm_comparison``.
        split_coord: the coordinate of the repetitions, which are the folds.
        error: ``"jackknife"`` for a standard error over ten groups of stimuli, those of one object together where
            responses cluster by objects; None for none. The covariance of noise stays that of all stimuli.
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.
        sigma_k: covariance of the noise between stimuli, as for ``load_metric("rdm")``; None for independent noise of
            one variance.

    Raises:
        ValueError: an unknown dissimilarity, estimate of noise, comparison or error.

    Source: Walther et al. 2016; Diedrichsen et al. 2021 (whitened comparisons); Schütt et al. 2023.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> model = rng.normal(size=(6, 4))
        >>> ids = {"stimulus_id": ("presentation", list("abcdef"))}
        >>> source = xr.DataArray(model, ids, ["presentation", "neuroid"])
        >>> trials = np.concatenate([model, model]) + 0.1 * rng.normal(size=(12, 4))
        >>> ids = {"stimulus_id": ("presentation", list("abcdef" * 2))}
        >>> ids |= {"repetition": ("presentation", [0] * 6 + [1] * 6)}
        >>> target = xr.DataArray(trials, ids, ["presentation", "neuroid"])
        >>> TrialRDM(noise=None)(source, target)
        Score(0.9916, r)
    """

    identifier = "rdm_of_trials"
    normalisation = "r_over_sqrt_ceiling"
    needs = (STIMULUS, "repetition")

    dissimilarity: str = "crossnobis"
    noise: Noise | None = "shrinkage_diag"
    comparison: str = "whitened_cosine"
    split_coord: str = "repetition"
    error: Literal["jackknife"] | None = None
    dtype: str | None = None
    sigma_k: Any = field(default=None, hash=False)

    def __post_init__(self) -> None:
        trial_dissimilarity_named(self.dissimilarity)
        keep(self, zero_by_chance=comparison_named(self.comparison).zero_by_chance)
        keep(self, sigma_k=stimulus_noise(self.sigma_k))
        self._method(None if self.sigma_k is None else np.asarray(self.sigma_k["values"]))
        if self.noise not in (None, *NOISES):
            raise ValueError(f"noise must be None or one of {', '.join(NOISES)}, got {self.noise!r}")
        if self.error not in (None, "jackknife"):
            raise ValueError(f"error must be 'jackknife' or None, got {self.error!r}")

    def arrays(self, source: xr.DataArray, target: xr.DataArray) -> tuple[Any, ...]:
        """The model's responses, the trials with their mask, the noise between stimuli, and masks of a jackknife."""
        trials = whole_trials(target, self.split_coord)
        if len(trials.stimuli) < _LEAST:
            raise ValueError(f"{self.identifier} needs at least {_LEAST} stimuli, there are {len(trials.stimuli)}")
        source = aligned(two_dimensional(source, "source"), of_stimuli(trials.stimuli))
        noise = None if self.sigma_k is None else values_in_order(self.sigma_k, trials.stimuli)
        kept = None if self.error is None else self._without_groups(trials.stimuli, target)
        return finite_values(source, "source"), np.nan_to_num(trials.values), trials.mask, noise, kept

    def _without_groups(self, stimuli: np.ndarray, target: Any) -> np.ndarray:
        """Masks of the stimuli that remain without each group of a jackknife."""
        labels = left_out_together(as_trials(target, self.split_coord), stimuli)[1]
        codes = label_codes(labels, len(stimuli), "groups")
        count = codes.max() + 1
        groups = max(min(_GROUPS, len(stimuli) // _LEAST, count), 1)
        group = np.random.default_rng(1).permutation(count) % groups
        return group[codes] != np.arange(groups)[:, None]

    def _method(self, noise: Any) -> Any:
        return self.comparison if noise is None else whitened_by(self.comparison, noise)

    def kernel(self, *arrays: Any) -> Any:
        """The similarity of both RDMs, of all stimuli and without each group of them if there is an error."""
        *responses, noise, kept = arrays
        (ours, theirs), method = self._rdms(*responses), self._method(noise)
        value = compare_rdms(ours, theirs, method=method)
        if kept is None:
            return value, jnp.zeros(0, value.dtype)
        return value, batched_map(lambda some: compare_rdms(ours, theirs, where=some, method=method), kept)

    def _rdms(self, x: Any, trials: Any, present: Any) -> tuple[Any, Any]:
        theirs = rdm_of_trials(trials, present, dissimilarity=self.dissimilarity, noise=self.noise)
        return rdm(x, dissimilarity=trial_dissimilarity_named(self.dissimilarity).noise_free), theirs

    def summary(self, values: Any, *assemblies: xr.DataArray) -> Score:
        """The similarity, with its error."""
        value, without = float(values[0]), np.asarray(values[1], float)
        reason = None
        if np.isnan(value):
            reason = (
                "a dissimilarity is undefined: a stimulus without trials in two folds, a negative rate, all of one RDM "
                "equal, or a covariance of noise without an inverse"
            )
        spread = {}
        if len(without):
            spread = by_whole(taken_whole(as_trials(assemblies[-1], self.split_coord)), jackknife_error(without))
        made = self.provenance(reason=reason)
        return Score(value, formula="r", n_undefined=int(np.isnan(value)), provenance=made, **spread)

    def drawn_values(self, drawn: Drawn, *assemblies: xr.DataArray, **kwargs: Any) -> dict[str, Any]:
        """Its values in every draw of the stimuli, see :func:`bsjax.labelled.metric.scored`."""
        if drawn.plan.factors != ("stimuli",) or self.comparison not in METHODS:
            raise ValueError(
                f"{self.identifier} draws stimuli alone, and by the comparisons {', '.join(METHODS)}, not by "
                f"{self.comparison!r}: take error='jackknife'"
            )
        counts = drawn.in_order("stimuli", whole_trials(assemblies[-1], self.split_coord).stimuli).astype(np.int32)
        values = self.run_kernel(_in_draws, *self.arrays(*assemblies), counts, metric=self)
        return {"values": drawn.in_passes(lambda _: values)}


def _in_draws(x: Any, trials: Any, present: Any, *rest: Any, metric: TrialRDM) -> Any:
    ours, theirs = (rdm_pairs(each)[None] for each in metric._rdms(x, trials, present))
    return compare_weighted_rdms(ours, theirs, rest[-1], method=metric.comparison)[:, 0, 0]
