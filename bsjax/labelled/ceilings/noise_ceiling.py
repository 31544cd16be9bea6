"""Ceilings of representational similarity from several subjects who saw the same stimuli."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import xarray as xr

from bsjax.engine.compilation import Program
from bsjax.engine.memory_limit import refuse_unless_it_fits, taken_by
from bsjax.engine.precision import precision
from bsjax.labelled.aggregate import over
from bsjax.labelled.align import two_dimensional
from bsjax.labelled.provenance import metric_provenance
from bsjax.labelled.score import Score
from bsjax.labelled.similarity.subject_responses import FEWEST_STIMULI, LEFT, RIGHT, SUBJECT, by_subject, pairs_of_stack
from bsjax.metrics import compiled
from bsjax.metrics.ceilings.noise_ceiling import POOLINGS, Pooling, rdm_noise_ceiling, rsa_noise_ceiling
from bsjax.metrics.similarity.rdm import rdm as correlation_distance
from bsjax.metrics.similarity.rdm_comparison import COMPARISONS

_FROM_SCIPY = {"spearmanr": "spearman", "pearsonr": "corr"}


class RSACeiling:
    """How similar each subject's dissimilarity matrix (RDM) is to the mean RDM of all subjects, and of the others.

    The value is the upper bound: the mean over subjects of the similarity with the mean RDM of *all*, which holds the
    subject's own. ``raw`` has (bound, subject), so that ``score.raw.sel(bound="lower").mean()`` is the lower bound: the
    similarity with the mean RDM of the *other* subjects. The true model is expected between the two.

    By default dissimilarities are averaged as they are. That is no upper bound to what an RDM can attain in ranks: the
    mean of the ranks often does better. ``pooling="matched"`` averages on the scale of the comparison, as rsatoolbox
    does, and is the bound that is meant.

    Ragged input: a stimulus of which a subject has no value is left out of that subject's RDM, and the mean RDM is over
    the subjects who have the pair. A stimulus of which a subject has only some values is an error. A subject with a
    stimulus whose pattern is constant has no RDM: its values are NaN, it counts in no mean, and is in ``n_undefined``.

    Args:
        rdm: how responses become an RDM, a kernel of ``(stimuli, units)`` and ``where=`` (which units count); by
            default 1 - Pearson correlation, ``bsjax.metrics.similarity.rdm``.
        similarity_func: how two RDMs are compared: ``"spearman"`` (the default), ``"corr"``, ``"cosine"``, ``"rho-a"``,
            ``"tau-a"``, or SciPy's ``spearmanr`` or ``pearsonr``.
        pooling: ``"raw"`` as in Brain-Score, or ``"matched"``.
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    Raises:
        ValueError: an unknown similarity or pooling, or an ``rdm`` that is no kernel.

    Source: Nili et al. 2014.

    Example:
        >>> rdms = [[[0, 1, 2], [1, 0, 3], [2, 3, 0]], [[0, 1, 3], [1, 0, 2], [3, 2, 0]]]
        >>> score = RSACeiling()(xr.DataArray(rdms, dims=["subject", "stimulus_left", "stimulus_right"]))
        >>> print(f"{float(score):.3f} {float(score.raw.sel(bound='lower').mean()):.3f}")
        0.866 0.500
    """

    identifier = "rsa_ceiling"

    def __init__(
        self,
        rdm: Callable[..., Any] | None = None,
        similarity_func: str | Callable[..., Any] | None = None,
        pooling: Pooling = "raw",
        dtype: str | None = None,
    ) -> None:
        if rdm is not None and not (callable(rdm) and hasattr(rdm, "__name__")):
            raise ValueError(
                "rdm must be a function of (stimuli, units) and where=, such as bsjax.metrics.similarity.rdm, "
                f"got {type(rdm).__name__}"
            )
        name = "spearman" if similarity_func is None else getattr(similarity_func, "__name__", similarity_func)
        name = _FROM_SCIPY.get(str(name), name) if callable(similarity_func) else name
        if name not in COMPARISONS:
            raise ValueError(
                f"similarity_func must be one of {', '.join(COMPARISONS)}, or scipy.stats.spearmanr or "
                f"pearsonr, got {name!r}"
            )
        if pooling not in POOLINGS:
            raise ValueError(f"pooling must be one of {', '.join(POOLINGS)}, got {pooling!r}")
        self.rdm = correlation_distance if rdm is None else rdm
        self.method = name
        self.pooling = pooling
        self.dtype = dtype

    def __call__(self, assembly: xr.DataArray) -> Score:
        """The upper bound to the similarity with the subjects' RDMs, and both bounds of each subject in ``raw``.

        Args:
            assembly: responses (presentation, neuroid) with ``stimulus_id``, and ``subject`` on neuroid; or RDMs
                (subject, stimulus_left, stimulus_right), NaN where a subject lacks a pair.

        Raises:
            ValueError: a coordinate is missing, stimuli repeat or are fewer than three, there are fewer than two
                subjects, some values of a subject and stimulus are missing, RDMs are not symmetric, or it takes more
                memory than there is.
        """
        if {LEFT, RIGHT} & set(assembly.dims):
            return self._of_rdms(assembly)
        subjects, responses = by_subject(two_dimensional(assembly, "assembly"), "assembly")
        _check_sizes(len(subjects), assembly.sizes["presentation"])
        with precision(self.dtype) as dtype:
            kernel = compiled(rsa_noise_ceiling, method=self.method, pooling=self.pooling, dissimilarity=self.rdm)
            rest = responses.units, responses.seen
            _check_room(
                kernel, (jax.ShapeDtypeStruct(responses.values.shape, dtype), *rest), *responses.values.shape[:2]
            )
            raw = np.asarray(kernel(responses.values.astype(dtype), *rest))
        return self._score(raw, subjects, dtype)

    def _of_rdms(self, assembly: xr.DataArray) -> Score:
        subjects, pairs = pairs_of_stack(assembly)
        _check_sizes(len(subjects), assembly.sizes[LEFT])
        missing = np.isnan(pairs)
        there = ~missing if missing.any() else None
        with precision(self.dtype) as dtype:
            kernel = compiled(rdm_noise_ceiling, method=self.method, pooling=self.pooling)
            shapes = jax.ShapeDtypeStruct(pairs.shape, dtype), there
            _check_room(kernel, shapes, len(subjects), assembly.sizes[LEFT])
            raw = np.asarray(kernel(np.nan_to_num(pairs.astype(dtype)), there))
        return self._score(raw, subjects, dtype)

    def _score(self, raw: np.ndarray, subjects: np.ndarray, dtype: np.dtype) -> Score:
        raw = raw.astype(float)
        return over(
            xr.DataArray(raw[1], dims=[SUBJECT]),
            SUBJECT,
            raw=xr.DataArray(raw, dims=["bound", SUBJECT], coords={"bound": ["lower", "upper"], SUBJECT: subjects}),
            formula="r",
            n_units=raw.shape[1],
            n_undefined=int(np.isnan(raw).any(axis=0).sum()),
            provenance=metric_provenance(self.identifier, dtype, similarity=self.method, pooling=self.pooling),
        )


def _check_room(kernel: Program, arrays: tuple[Any, ...], subjects: int, stimuli: int) -> None:
    what = f"rsa_ceiling of {subjects:,} subjects and {stimuli:,} stimuli"
    refuse_unless_it_fits(taken_by(kernel, arrays), what, "fewer stimuli or subjects")


def _check_sizes(subjects: int, stimuli: int) -> None:
    if subjects < 2:
        raise ValueError(f"rsa_ceiling compares subjects with one another and needs at least 2, there are {subjects}")
    if stimuli < FEWEST_STIMULI:
        raise ValueError(f"rsa_ceiling needs at least {FEWEST_STIMULI} stimuli, there are {stimuli}")
