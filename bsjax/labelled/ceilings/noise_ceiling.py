"""Noise ceilings of representational similarity from several subjects who saw the same stimuli."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from inspect import isroutine, unwrap
from typing import Any, Literal, NamedTuple

import numpy as np
import xarray as xr

from bsjax.labelled.aggregate import mean_score
from bsjax.labelled.align import STIMULUS, refuse_single, two_dimensional, unique_ids, unlabelled
from bsjax.labelled.metric import Metric, name_of
from bsjax.labelled.resampling.draws import Drawn
from bsjax.labelled.score import Score
from bsjax.labelled.settings import keep, whole_number
from bsjax.labelled.similarity.rdms.drawn_rdms import BOUNDS, ceilings_in_draws
from bsjax.labelled.similarity.rdms.subject_responses import (
    FEWEST_STIMULI,
    LEFT,
    RIGHT,
    SUBJECT,
    by_subject,
    pairs_of_stack,
)
from bsjax.metrics import shuffled_agreement
from bsjax.metrics.ceilings.noise_ceiling import POOLINGS, Pooling, rdm_noise_ceiling, rsa_noise_ceiling
from bsjax.metrics.similarity.rdms.rdm import rdm as correlation_distance
from bsjax.metrics.similarity.rdms.rdm import rdms_of_subjects
from bsjax.metrics.similarity.rdms.rdm_comparison import COMPARISONS

_FROM_SCIPY = {"spearmanr": "spearman", "pearsonr": "corr"}


class AgainstChance(NamedTuple):
    """The agreement of subjects, compared with their agreement when stimuli are shuffled.

    Attributes:
        observed: the mean over subjects of the agreement with the others.
        null: the same for each shuffle.
        p: the share of shuffles, including the observed order, with at least that agreement.
    """

    observed: float
    null: np.ndarray
    p: float


@dataclass(frozen=True)
class RSACeiling(Metric):
    """Similarity of each subject's dissimilarity matrix (RDM) to the mean RDM of all subjects, and of the others.

    By default the value is the upper bound: the mean over subjects of the similarity with the mean RDM of *all*
    subjects, which includes the subject's own. The lower bound is the similarity with the mean RDM of the *other*
    subjects. The true model is expected between the two. ``raw`` has both for each subject, (bound, subject), and
    :func:`both_ends` makes a score of each.

    By default, dissimilarities are averaged as they are, as in Brain-Score, and the "upper bound" is not strict: other
    RDMs can exceed it by up to a tenth. ``pooling="matched"`` averages on the scale of the comparison, as rsatoolbox
    does; for ranks it can still be exceeded. For new work, use ``pooling="bound"``, which no RDM exceeds; see
    ``bsjax.metrics.highest_similarity`` for how tight it is.

    A stimulus without values of a subject is left out of that subject's RDM, and the mean RDM is over the subjects who
    have the pair. A stimulus with only some values of a subject is an error. A subject with a constant pattern for a
    stimulus has no RDM: its values are NaN, it is left out of the means and counted in ``n_undefined``.

    Args:
        rdm: a kernel that makes an RDM of responses ``(stimuli, units)`` with ``where=`` (the units that count); by
            default 1 - Pearson correlation, ``bsjax.metrics.similarity.rdm``.
        similarity_func: the comparison of two RDMs: ``"spearman"`` (the default), ``"corr"``, ``"cosine"``,
            ``"rho-a"``, ``"tau-a"``, or SciPy's ``spearmanr`` or ``pearsonr``.
        pooling: ``"raw"`` as in Brain-Score, ``"matched"`` as in rsatoolbox, or ``"bound"``.
        bound: the bound that is the value, ``"upper"`` or ``"lower"``.
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    Raises:
        ValueError: an unknown similarity, pooling or bound, or an ``rdm`` that is not a kernel.

    Source: Nili et al. 2014.

    Example:
        >>> rdms = [[[0, 1, 2], [1, 0, 3], [2, 3, 0]], [[0, 1, 3], [1, 0, 2], [3, 2, 0]]]
        >>> score = RSACeiling()(xr.DataArray(rdms, dims=["subject", "stimulus_left", "stimulus_right"]))
        >>> print(f"{float(score):.3f} {float(score.raw.sel(bound='lower').mean()):.3f}")
        0.866 0.500
    """

    identifier = "rsa_ceiling"

    squared = False  # see ``SubjectSimilarity``

    rdm: Callable[..., Any] | None = correlation_distance
    similarity_func: str | Callable[..., Any] | None = None
    pooling: Pooling = "raw"
    dtype: str | None = None
    bound: Literal["upper", "lower"] = "upper"

    def __post_init__(self) -> None:
        rdm = correlation_distance if self.rdm is None else self.rdm
        if not isroutine(unwrap(rdm)):
            raise ValueError(
                "rdm must be a function of (stimuli, units) and where=, such as bsjax.metrics.similarity.rdm, "
                f"got {type(rdm).__name__}"
            )
        name = self.similarity_func or "spearman"
        if callable(name):
            name = _FROM_SCIPY.get(name_of(name), name_of(name))
        if name not in COMPARISONS:
            raise ValueError(
                f"similarity_func must be one of {', '.join(COMPARISONS)}, or scipy.stats.spearmanr or "
                f"pearsonr, got {name!r}"
            )
        if self.pooling not in POOLINGS:
            raise ValueError(f"pooling must be one of {', '.join(POOLINGS)}, got {self.pooling!r}")
        if self.bound not in BOUNDS:
            raise ValueError(f"bound must be 'upper' or 'lower', got {self.bound!r}")
        keep(self, rdm=rdm, similarity_func=name)

    @property
    def method(self) -> str:
        """The comparison of two RDMs."""
        return str(self.similarity_func)

    def __call__(self, assembly: xr.DataArray) -> Score:
        """A bound on the similarity with the subjects' RDMs; both bounds of each subject are in ``raw``.

        Args:
            assembly: responses (presentation, neuroid) with ``stimulus_id``, and ``subject`` on neuroid; or RDMs
                (subject, stimulus_left, stimulus_right), NaN where a subject lacks a pair.

        Raises:
            ValueError: a coordinate is missing, stimuli repeat or are fewer than three, there are fewer than two
                subjects, only some values of a subject and stimulus are missing, RDMs are not symmetric, there are too
                many stimuli for the upper bound of tau-a, or the computation needs more memory than is available.
        """
        settings: dict[str, Any] = {"method": self.method, "pooling": self.pooling}
        if not isinstance(assembly, xr.DataArray):
            raise unlabelled(assembly, "assembly")
        if {LEFT, RIGHT} & set(assembly.dims):
            (subjects, pairs), stimuli = pairs_of_stack(assembly), assembly.sizes[LEFT]
            missing = np.isnan(pairs)
            kernel, arrays = rdm_noise_ceiling, (np.nan_to_num(pairs), ~missing if missing.any() else None)
        else:
            subjects, arrays = by_subject(two_dimensional(assembly, "assembly"), "assembly")
            stimuli = arrays.values.shape[1]
            kernel, settings["dissimilarity"] = rsa_noise_ceiling, self.rdm
        _check_sizes(subjects, stimuli)
        what = f"rsa_ceiling of {len(subjects):,} subjects and {stimuli:,} stimuli"
        raw = self.run_kernel(kernel, *arrays, takes=what, advice="fewer stimuli or subjects", **settings).astype(float)
        both = xr.DataArray(raw, dims=["bound", SUBJECT], coords={"bound": list(BOUNDS), SUBJECT: subjects})
        lost = int(np.isnan(raw).any(axis=0).sum())
        made = {"formula": "r", "n_units": len(subjects), "n_undefined": lost, "provenance": self.provenance()}
        return mean_score(both.sel(bound=self.bound, drop=True), SUBJECT, raw=both, **made)

    def drawn_values(self, drawn: Drawn, assembly: xr.DataArray) -> dict[str, Any]:
        """Its values in every draw of stimuli and subjects, see :func:`bsjax.labelled.metric.scored`."""
        return ceilings_in_draws(self, *self._square_rdms(assembly), drawn)

    def against_chance(self, assembly: xr.DataArray, draws: int = 1000, seed: int = 0) -> AgainstChance:
        """Tests whether subjects agree more than with the stimuli of each shuffled.

        The statistic is the mean agreement of each subject's RDM with the mean of the others, on the scale of the
        comparison, see ``bsjax.metrics.shuffled_agreement``. It is the lower bound, except that mean ranks are not
        ranked again. Subjects without an RDM are left out.

        Args:
            assembly: as for a call, without missing stimuli.
            draws: number of shuffles.
            seed: seed of the shuffles.

        Raises:
            ValueError: as for a call, or a subject lacks a stimulus.
        """
        draws = whole_number(draws, "draws", 1)
        rdms, _, subjects = self._square_rdms(assembly)
        s, n, _ = rdms.shape
        _check_sizes(subjects, n)
        orders = np.tile(np.arange(n, dtype=np.int32), (1 + draws, s, 1))
        orders[1:] = np.random.default_rng(seed).permuted(orders[1:], axis=-1)
        observed, *null = self.run_kernel(shuffled_agreement, rdms, orders, method=self.method).astype(float)
        p = (1 + np.sum(np.array(null) >= observed)) / (1 + draws)
        return AgainstChance(float(observed), np.array(null), math.nan if math.isnan(observed) else float(p))

    def _square_rdms(self, assembly: xr.DataArray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """RDMs (subjects, stimuli, stimuli), and identifiers of both; refuses subjects that lack stimuli."""
        if {LEFT, RIGHT} & set(assembly.dims):
            subjects, pairs = pairs_of_stack(assembly)
            lacking = np.isnan(pairs).any()
            rdms = np.asarray(assembly.transpose(SUBJECT, LEFT, RIGHT).values, float)
            stimuli = assembly.coords.get(f"{STIMULUS}_left", assembly[LEFT]).values
        else:
            assembly = two_dimensional(assembly, "assembly")
            stimuli, (subjects, responses) = unique_ids(assembly, "assembly"), by_subject(assembly, "assembly")
            lacking = responses.seen is not None
            rdms = self.run_kernel(rdms_of_subjects, responses.values, responses.units, dissimilarity=self.rdm)
        if lacking:
            raise ValueError(
                "a subject lacks stimuli, and those of all are shuffled: select the stimuli that all subjects have"
            )
        return rdms, stimuli, subjects


def both_ends(ceiling: Score) -> tuple[Score, Score]:
    """The lower and the upper bound of a ceiling, as two scores with their own errors over subjects.

    Args:
        ceiling: from ``RSACeiling`` or ``SubjectAgreement``, whose ``raw`` is (bound, subject).

    Raises:
        ValueError: the score has no two bounds.

    Example:
        >>> rdms = [[[0, 1, 2], [1, 0, 3], [2, 3, 0]], [[0, 1, 3], [1, 0, 2], [3, 2, 0]]]
        >>> stack = xr.DataArray(rdms, dims=["subject", "stimulus_left", "stimulus_right"])
        >>> [round(float(end), 3) for end in both_ends(RSACeiling(pooling="bound")(stack))]
        [0.5, 0.866]
    """
    raw = ceiling.raw
    if raw is None or set(raw.dims) != {"bound", SUBJECT}:
        has = "no raw values" if raw is None else f"raw values over {', '.join(map(str, raw.dims))}"
        raise ValueError(f"both ends are those of a ceiling with raw values over bound and {SUBJECT}; this has {has}")
    made = {"raw": raw, "formula": ceiling.formula, "n_units": ceiling.n_units, "n_undefined": ceiling.n_undefined}

    def end(bound: str) -> Score:
        settings = {**ceiling.provenance.settings, "bound": bound}
        provenance = replace(ceiling.provenance, settings=settings)
        return mean_score(raw.sel(bound=bound, drop=True), SUBJECT, provenance=provenance, **made)

    return end("lower"), end("upper")


def _check_sizes(subjects: np.ndarray, stimuli: int) -> None:
    refuse_single(subjects)
    if stimuli < FEWEST_STIMULI:
        raise ValueError(f"rsa_ceiling needs at least {FEWEST_STIMULI} stimuli, there are {stimuli}")
