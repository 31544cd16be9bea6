"""The ceiling that most benchmarks use: the split-half reliability of repeated recordings."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from sklearn.model_selection import ShuffleSplit

from bsjax.engine.batches import batched_map
from bsjax.engine.memory_limit import refuse_unless_it_fits, taken_by
from bsjax.engine.precision import in_dtype, precision
from bsjax.engine.sharding import Shards, sharded
from bsjax.labelled.aggregate import NEUROID, SPLIT, coords_on, nan_median, over_splits
from bsjax.labelled.align import TIME_BIN, three_dimensional, two_dimensional
from bsjax.labelled.ceilings.drawn import UNBOUNDED, reliability_in_draws
from bsjax.labelled.ceilings.trials import Trials, by_repetition, too_few_repeated
from bsjax.labelled.metric import Metric
from bsjax.labelled.provenance import Provenance, metric_provenance
from bsjax.labelled.resampling import Drawn
from bsjax.labelled.score import Score
from bsjax.labelled.settings import whole_number
from bsjax.labelled.similarity.representational import RepresentationalSimilarity
from bsjax.labelled.uncertainty import Uncertainty, as_value
from bsjax.metrics import compiled, spearman_brown_bias, split_half_consistency
from bsjax.metrics.ceilings.consistency import FEWEST_STIMULI, complete_split_half_consistency, pearson_of_halves
from bsjax.metrics.similarity.similarity import Similarity


@dataclass(frozen=True)
class InternalConsistency(Metric):
    """Split-half reliability of single-trial responses, corrected to all repetitions by Spearman-Brown.

    In each split the repetitions of every stimulus are halved, each half is averaged, the halves are correlated over
    stimuli per neuroid, and ``2r / (1 + r)`` estimates the reliability of the average of all repetitions. The value is
    the mean over splits of the median over neuroids; ``raw`` has the corrected correlations.

    How halves are drawn: where every stimulus has the same repetition labels, a random half of the *labels* is the same
    half for all stimuli and neuroids, with Brain-Score's splits and seed. Where repetitions are ragged (stimuli with
    different numbers of them), each stimulus's own repetitions are halved at random (the smaller half first where their
    number is odd), for all neuroids alike; a stimulus with a single repetition has no halves and is left out. NaN marks
    a missing cell: it is left out of its half's average, and a stimulus of which a neuroid has no cell in a half is
    left out for that neuroid.

    Of fewer than four repeated stimuli the ceiling is NaN, and so it is where halves correlate by -1, which has no
    correction: over two stimuli every correlation is 1 or -1.

    The correction bends with the correlation, so that noise in it makes the ceiling too low on average: with 30 stimuli
    and halves that correlate by 0.2, by 0.04. ``score.provenance["expected_bias"]`` says by how much, to first order
    and at the median neuroid (``bsjax.metrics.spearman_brown_bias``). The value is not changed by it.

    Args:
        consistency_metric: how two halves are compared, in place of the correlation per neuroid: a representational
            similarity, e.g. ``load_metric("rdm")``; the ceiling is then one number per split.
        split_coord: the coordinate of the repetitions.
        splits: how many random halvings.
        random_state: their seed.
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.
        aggregate: must be None. In Brain-Score it collapses what a ``consistency_metric`` gives for two halves; here
            that is one number already, and the mean over splits follows.

    Raises:
        ValueError: ``consistency_metric`` is no representational similarity, ``aggregate`` is given, or ``splits`` is
            no number of at least 1.

    Source: Spearman 1910; Brown 1910; Schrimpf et al. 2018.
    """

    identifier = "internal_consistency"

    consistency_metric: RepresentationalSimilarity | None = None
    split_coord: str = "repetition"
    splits: int = 10
    random_state: int = 1
    dtype: str | None = None
    aggregate: None = None

    def __post_init__(self) -> None:
        if not isinstance(self.consistency_metric, RepresentationalSimilarity | None):
            raise ValueError(
                "consistency_metric must be a representational similarity such as load_metric('rdm'), "
                f"got {type(self.consistency_metric).__name__}"
            )
        if self.aggregate is not None:
            raise ValueError(
                f"aggregate must be None, got {self.aggregate!r}: a consistency_metric gives one number per split, "
                "see score.raw for them"
            )
        whole_number(self.splits, "splits", 1)

    @property
    def _similarity(self) -> Similarity | None:
        return None if self.consistency_metric is None else self.consistency_metric.similarity

    def __call__(self, assembly: xr.DataArray) -> Score:
        """The reliability of the assembly's average over repetitions, in each time bin of a temporal ceiling.

        Args:
            assembly: single trials (presentation, neuroid), or (presentation, neuroid, time_bin) of a temporal ceiling,
                with ``stimulus_id`` and ``repetition``.

        Raises:
            ValueError: other dimensions, a coordinate is missing, a trial is there twice, nothing is repeated, or it
                takes more memory than there is.
        """
        assembly, bins = self._by_bin(assembly)
        trials = by_repetition(assembly, self.split_coord)
        raw, made = self._of_halves(trials, bins or 1)
        return reliability_over_splits(raw, assembly, made, trials.repeated(), in_time=bins is not None)

    def _by_bin(self, assembly: xr.DataArray) -> tuple[xr.DataArray, int | None]:
        """Trials as they are compared, and how many time bins there are, None where they have none."""
        return two_dimensional(assembly, "assembly"), None

    def drawn_values(self, drawn: Drawn, assembly: xr.DataArray) -> dict[str, Any]:
        """Its values in every draw, see :func:`bsjax.labelled.resampling.scored`; all have the same halves."""
        assembly, in_time = self._by_bin(assembly)
        trials, bins = by_repetition(assembly, self.split_coord), in_time or 1
        similarity = self._similarity
        if similarity is not None and (bins > 1 or similarity.bootstraps is None):
            raise ValueError(
                f"the {self.identifier} of {self.consistency_metric!r} has no draws"
                + (" of several time bins" if bins > 1 else ": there is no bootstrap of this comparison of RDMs")
            )
        passes = reliability_in_draws(
            trials,
            self._halves(trials),
            drawn,
            assembly,
            bins=bins,
            similarity_bootstraps=None if similarity is None else similarity.bootstraps,
            dtype=self.dtype,
        )
        if in_time is None:
            return {"values": drawn.labelled(passes)}
        whole = {name: values.reshape(len(values), bins) for name, values in passes.items()}
        return {"values": drawn.labelled(whole, [TIME_BIN])}

    def _of_halves(self, trials: Trials, bins: int) -> tuple[np.ndarray, Provenance]:
        """Corrected comparisons ``(bins, splits)`` or ``(bins, splits, neuroids)``, and their provenance.

        The bins are so many equal parts of the columns of the trials, which all have the same halves.
        """
        first = self._halves(trials)
        rest: tuple[Any, ...] = jax.ShapeDtypeStruct(trials.shape, bool), first
        # Neuroids are compared each by itself, halves by a similarity as a whole.
        if self._similarity is None:
            kernel, shards = (
                compiled(split_half_consistency, compare=pearson_of_halves),
                Shards((2, 2, None), repeats=-1),
            )
        else:
            compare = _SimilarityOfHalves(self._similarity.kernel, bins)
            kernel, shards = compiled(split_half_consistency, compare=compare), Shards((None, None, 0), repeats=0)
        # A half that is the same labels everywhere, with no cell missing, needs no means of trials: many times as fast.
        complete = trials.balanced and self._similarity is None and trials.whole
        if complete:
            kernel, rest = compiled(complete_split_half_consistency), (first[:, :, 0],)
            shards = Shards((2, None), repeats=-1)
        repetitions, n, width = trials.shape
        what = f"{self.identifier} of {repetitions:,} repetitions of {n:,} stimuli, {width:,} responses to each"
        with precision(self.dtype) as dtype:
            # Before trials are put in order, which may take a copy of them.
            takes = taken_by(kernel, (jax.ShapeDtypeStruct(trials.shape, dtype), *rest), shards)
            refuse_unless_it_fits(takes, what)
            if not complete:
                rest = np.isfinite(trials.values), first
            raw = sharded(kernel, (in_dtype(trials.values, dtype), *rest), shards)
        details: dict[str, Any] = {}
        if self._similarity is None:
            raw = raw.reshape(self.splits, bins, -1)
            bias = _expected_bias(raw, trials.repeated())
            details = {} if bias is None else {"expected_bias": bias}
        made = metric_provenance(self, dtype, details=details, reason=too_few_repeated(trials))
        return raw.swapaxes(0, 1), made

    def _halves(self, trials: Trials) -> np.ndarray:
        """The first half of each split: of labels where all stimuli have the same, else of each stimulus's own."""
        there = trials.there
        if trials.balanced:
            first = np.zeros((self.splits, *there.shape), bool)
            splitter = ShuffleSplit(self.splits, train_size=0.5, random_state=self.random_state)
            for split, (half, _) in enumerate(splitter.split(np.arange(len(there)))):
                first[split, half] = True
            return first
        rng = np.random.default_rng(self.random_state)
        keys = np.where(there, rng.random((self.splits, *there.shape)), np.inf)
        return (keys.argsort(axis=1).argsort(axis=1) < there.sum(axis=0) // 2) & there


class TemporalInternalConsistency(InternalConsistency):
    """``InternalConsistency`` in every time bin, with the same halves in all of them.

    The value and its error have the dimension ``time_bin``; ``raw`` has (time_bin, split, neuroid), or (time_bin,
    split) for a ``consistency_metric``. All bins are computed at once.

    Ragged repetitions and NaN are as in ``InternalConsistency``: a trial without a value in one bin is missing there
    alone, and does not change the halves of the other bins.

    Args:
        consistency_metric, split_coord, splits, random_state, dtype, aggregate: as in ``InternalConsistency``.

    Example:
        >>> values = np.tile(np.sin(np.arange(12.0)).reshape(4, 1, 3), (2, 1, 1))  # the same in both repetitions
        >>> trials = xr.DataArray(values, dims=["presentation", "neuroid", "time_bin"], coords={
        ...     "stimulus_id": ("presentation", list("abcdabcd")), "repetition": ("presentation", [0] * 4 + [1] * 4)})
        >>> TemporalInternalConsistency()(trials).value.round(3).values.tolist()
        [1.0, 1.0, 1.0]
    """

    identifier = "internal_consistency_temporal"

    def _by_bin(self, assembly: xr.DataArray) -> tuple[xr.DataArray, int]:
        # Bins stand side by side as if they were more neuroids.
        assembly = three_dimensional(assembly, "assembly").transpose("presentation", TIME_BIN, "neuroid")
        return assembly, assembly.sizes[TIME_BIN]


def reliability_over_splits(
    raw: np.ndarray, assembly: xr.DataArray, made: Provenance, stimuli: int, in_time: bool = False
) -> Score:
    """The mean over splits of the median over neuroids, of corrected ``(bins, splits[, neuroids])``.

    It is undefined in a bin where halves of a split correlate by -1: the mean over the other splits would be too high.
    Splits of the trials say nothing of other stimuli: of one neuroid the error is that over stimuli of a correlation of
    normal responses, corrected as it is.
    """
    if (raw < UNBOUNDED).any():
        beyond = ((nan_median(raw) if raw.ndim == 3 else raw) < UNBOUNDED).any(axis=1)
        if beyond.any():
            made = replace(made, reason="halves of a split correlate by -1, of which 2r/(1+r) is no number")
        raw = np.where(beyond.reshape(-1, *[1] * (raw.ndim - 1)), np.nan, raw)
    dims = [TIME_BIN, SPLIT, NEUROID][: raw.ndim]
    values = raw if in_time else raw[0]
    dims = dims if in_time else dims[1:]
    score = over_splits(values, coords_on(assembly, *dims), made, dims=dims, formula="2r/(1+r)")
    if score.sampling_uncertainty is not None or raw.ndim < 3 or np.isnan(np.asarray(score.value)).all():
        return score
    r = np.asarray(score.value) / (2.0 - np.asarray(score.value))
    spread = as_value(score.value, 2.0 * (1.0 - r) / (1.0 + r) / np.sqrt(stimuli - 1.0))
    known = Uncertainty(("stimuli",), spread, f"one neuroid's halves over {stimuli}", dof=stimuli - 2)
    if known.none_because(score.value):
        return score
    return replace(score, error=spread, error_kind=known.words, uncertainty=known)


def _expected_bias(corrected: np.ndarray, stimuli: int) -> float | None:
    """How much the correction is off on average: the median over neuroids, at the correlations that were found."""
    each = corrected.mean(axis=0).reshape(-1).astype(float)
    with precision("float64"):
        bias = np.asarray(compiled(spearman_brown_bias)(each / (2.0 - each), float(stimuli)))
    return float(np.median(bias[np.isfinite(bias)])) if np.isfinite(bias).any() else None


@dataclass(frozen=True)
class _SimilarityOfHalves:
    """A similarity over the stimuli that both halves have, in each of ``bins`` equal parts of the columns."""

    similarity: Callable[..., Any]
    bins: int

    def __call__(self, a: Any, b: Any) -> Any:
        parts = [jnp.moveaxis(half.reshape(half.shape[0], self.bins, -1), 1, 0) for half in (a, b)]
        return batched_map(self._of_one_bin, parts)

    def _of_one_bin(self, parts: list[Any]) -> Any:
        a, b = parts
        there = jnp.all(jnp.isfinite(a) & jnp.isfinite(b), axis=1)
        a, b = (jnp.where(there[:, None], half, jnp.zeros_like(half)) for half in (a, b))
        r = self.similarity(a, b, where=there)
        return jnp.where(jnp.sum(there) < FEWEST_STIMULI, jnp.full_like(r, jnp.nan), r)
