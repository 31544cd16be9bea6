"""Split-half reliability of repeated recordings, the ceiling of most benchmarks."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import xarray as xr

from bsjax.engine.batches import batched_map
from bsjax.engine.memory_limit import refuse_unless_it_fits, taken_by
from bsjax.engine.precision import in_dtype, precision
from bsjax.engine.running import run
from bsjax.engine.sharding import Shards, sharded
from bsjax.labelled.aggregate import NEUROID, SPLIT, coords_on, drawn_scores, nan_mean, nan_median, over_splits
from bsjax.labelled.align import STIMULUS, TIME_BIN, drawn_from, listed, three_dimensional, two_dimensional
from bsjax.labelled.metric import Metric, OfHalves, as_metric
from bsjax.labelled.provenance import Provenance
from bsjax.labelled.resampling.draws import Drawn
from bsjax.labelled.score import Score
from bsjax.labelled.settings import keep, whole_number
from bsjax.labelled.similarity.trials import Trials, as_trials, by_repetition, too_few_repeated
from bsjax.labelled.splits import shuffles
from bsjax.labelled.uncertainty import Uncertainty, as_value
from bsjax.metrics import compiled, spearman_brown_bias, split_half_consistency
from bsjax.metrics.ceilings.consistency import (
    FEWEST_STIMULI,
    complete_split_half_consistency,
    half_means,
    pearson_of_halves,
    reliability_of_halves,
    split_half_bootstraps,
    split_half_similarity_bootstraps,
)

# A lower mean comes from halves that correlate by almost -1, where the correction is unbounded.
_UNBOUNDED = -1e6


class SplitHalfReliability(Metric):
    """Reliability of single trials by comparing halves of the repetitions, corrected by Spearman-Brown.

    Attributes:
        consistency_metric: comparison of the halves; None for the correlation of each neuroid.
        in_time: whether there is one reliability per time bin.
        fewest: smallest number of repeated stimuli.
    """

    consistency_metric: Metric | None = None
    in_time: bool = False
    fewest: int = FEWEST_STIMULI

    @property
    @abstractmethod
    def _repetitions(self) -> str:
        """The coordinate of the repetitions."""

    @abstractmethod
    def _trials(self, assembly: xr.DataArray) -> Trials:
        """Trials by repetition and stimulus."""

    @abstractmethod
    def _halves(self, trials: Trials) -> np.ndarray:
        """A mask of the repetitions of each stimulus in the first half, ``(splits, repetitions, stimuli)``."""

    def _drawn_ids(self, trials: Trials, assembly: xr.DataArray) -> np.ndarray:
        """The ``stimulus_id`` of each stimulus of the trials, by which it is drawn."""
        return trials.stimuli

    @property
    def _of_halves(self) -> OfHalves | None:
        """The comparison of halves as arrays; None without a metric, or if it must be called with assemblies."""
        return None if self.consistency_metric is None else as_metric(self.consistency_metric).of_halves

    def __call__(self, assembly: xr.DataArray) -> Score:
        """The reliability of the assembly's average over repetitions; per time bin for a temporal ceiling.

        Args:
            assembly: single trials (presentation, neuroid), or (presentation, neuroid, time_bin) for a temporal
                ceiling, with ``stimulus_id`` and ``repetition``; or an array (repetitions, stimuli, neuroids[, time
                bins]).

        Raises:
            ValueError: other dimensions, a coordinate is missing, a trial is repeated, nothing is repeated, or the
                computation needs more memory than is available.
        """
        assembly, trials, bins = self._arranged(assembly)
        if self.consistency_metric is None or self._of_halves is not None:
            raw = self._compared(trials, bins)
        else:
            raw = self._called(as_metric(self.consistency_metric), trials, bins, assembly)
        why = too_few_repeated(trials, self.fewest)
        details = {}
        if self.consistency_metric is None:
            bias = _expected_bias(raw, trials.repeated())
            details = {} if bias is None else {"expected_bias": bias}
        if why:
            raw = np.full_like(raw, np.nan)
        made = self.provenance(details=details, reason=why)
        return _over_splits(raw, assembly, made, trials.repeated(), self.in_time)

    def drawn_values(self, drawn: Drawn, assembly: xr.DataArray) -> dict[str, Any]:
        """Its values in every draw, all with the same halves; see :func:`bsjax.labelled.metric.scored`."""
        halves_by = self._of_halves
        bootstraps = None if halves_by is None else halves_by.bootstraps
        if self.consistency_metric is not None and bootstraps is None:
            return super().drawn_values(drawn, assembly)
        assembly, trials, bins = self._arranged(assembly)
        if self.consistency_metric is not None and bins > 1:
            raise ValueError(
                f"the {self.identifier} of {self.consistency_metric!r} has no draws of several time bins: take one, "
                "or the correlation of each neuroid (no consistency_metric)"
            )
        repetitions, n, width = trials.shape
        takes = f"{drawn.plan.draws} draws of {repetitions:,} repetitions of {n:,} stimuli, {width:,} responses to each"
        halves = trials.values, np.isfinite(trials.values), self._halves(trials)

        def of_draws(together: Sequence[str]) -> np.ndarray:
            counts = np.ones((1, n), np.int32)
            if "stimuli" in together:
                counts = drawn.in_order("stimuli", self._drawn_ids(trials, assembly)).astype(np.int32)
            if halves_by is not None and bootstraps is not None:
                units = drawn.places(together, assembly, halves_by.may_pad)
                counts = counts if units is None else np.broadcast_to(counts, (drawn.plan.draws, n))
                kernel = split_half_similarity_bootstraps
                found = nan_mean(self.run_kernel(kernel, *halves, counts, units, takes=takes, bootstraps=bootstraps))
                return found[:, None] if self.in_time else found
            raw = self.run_kernel(split_half_bootstraps, *halves, counts, takes=takes)
            parts = [drawn_scores(part, drawn, together, assembly) for part in np.split(raw, bins, axis=2)]
            found = np.broadcast_to(np.stack(parts, axis=1), (drawn.plan.draws, bins))
            found = np.where(found < _UNBOUNDED, np.nan, found)
            return found if self.in_time else found[:, 0]

        passes = {name: of_draws(together) for name, together in drawn.plan.passes.items()}
        return {"values": drawn.labelled(passes, [TIME_BIN] if self.in_time else [])}

    def _arranged(self, assembly: xr.DataArray) -> tuple[xr.DataArray, Trials, int]:
        """The assembly, its trials, and the number of equal parts of their columns that are compared separately."""
        assembly = as_trials(assembly, self._repetitions)
        if not self.in_time:
            assembly = two_dimensional(assembly, "assembly")
            return assembly, self._trials(assembly), 1
        # Time bins are placed side by side, like additional neuroids.
        assembly = three_dimensional(assembly, "assembly").transpose("presentation", TIME_BIN, "neuroid")
        return assembly, self._trials(assembly), assembly.sizes[TIME_BIN]

    def _called(self, metric: Metric, trials: Trials, bins: int, assembly: xr.DataArray) -> np.ndarray:
        """Corrected comparisons ``(bins, splits)`` of the stimuli in both halves, by calls of the metric."""
        dims = "presentation", NEUROID
        coords, stimuli = coords_on(assembly, NEUROID), len(trials.stimuli)
        kept = {STIMULUS: trials.stimuli}
        if drawn_from(STIMULUS) in assembly.coords:  # copies of a stimulus in a draw have one original
            originals = dict(zip(assembly[STIMULUS].values, assembly[drawn_from(STIMULUS)].values, strict=True))
            kept[drawn_from(STIMULUS)] = np.array([originals[each] for each in trials.stimuli])
        raw = []
        for first in self._halves(trials):
            halves = self.run_kernel(half_means, trials.values, np.isfinite(trials.values), first)
            both = [np.moveaxis(half.reshape(stimuli, bins, -1), 1, 0) for half in halves]
            for one, two in zip(*both, strict=True):
                has = np.isfinite(one + two).all(axis=1)
                of_bin = {**coords, **{name: ("presentation", values[has]) for name, values in kept.items()}}
                sides = [xr.DataArray(half[has], of_bin, dims) for half in (one, two)]
                raw.append(float(metric(*sides)) if has.sum() >= FEWEST_STIMULI else np.nan)
        return self.run_kernel(reliability_of_halves, np.reshape(raw, (-1, bins)).T)

    def _compared(self, trials: Trials, bins: int) -> np.ndarray:
        """Corrected comparisons ``(bins, splits)`` or ``(bins, splits, neuroids)``."""
        first, mask = self._halves(trials), jax.ShapeDtypeStruct(trials.shape, bool)
        # Correlations are per neuroid; a similarity compares halves as a whole.
        if self._of_halves is not None:
            compare = _SimilarityOfHalves(self._of_halves.kernel, bins)
            kernel, rest = compiled(split_half_consistency, compare=compare), [mask, first]
            shards = Shards((None, None, 0), repeats=0)
        # If halves are the same labels for all stimuli and no cell is missing, a kernel without masks is much faster.
        elif trials.balanced and trials.whole and (first == first[:, :, :1]).all():
            kernel, rest = compiled(complete_split_half_consistency), [first[:, :, 0]]
            shards = Shards((2, None), repeats=-1)
        else:
            kernel, rest = compiled(split_half_consistency, compare=pearson_of_halves), [mask, first]
            shards = Shards((2, 2, None), repeats=-1)
        repetitions, n, width = trials.shape
        what = f"{self.identifier} of {repetitions:,} repetitions of {n:,} stimuli, {width:,} responses to each"
        with precision(self.dtype) as dtype:
            # Checked before trials are sorted, which may copy them.
            takes = taken_by(kernel, (jax.ShapeDtypeStruct(trials.shape, dtype), *rest), shards)
            refuse_unless_it_fits(takes, what)
            rest = [np.isfinite(trials.values) if each is mask else each for each in rest]
            raw = sharded(kernel, (in_dtype(trials.values, dtype), *rest), shards)
        if self.consistency_metric is None:
            raw = raw.reshape(len(first), bins, -1)
        return raw.swapaxes(0, 1)


@dataclass(frozen=True)
class InternalConsistency(SplitHalfReliability):
    """Split-half reliability of single-trial responses, corrected to all repetitions by Spearman-Brown.

    In each split, the repetitions of every stimulus are halved and each half is averaged. The halves are correlated
    over stimuli per neuroid, and ``2r / (1 + r)`` estimates the reliability of the average of all repetitions. The
    score is the mean over splits of the median over neuroids; ``raw`` has the corrected correlations.

    If every stimulus has the same repetition labels, a random half of the *labels* is the first half for all stimuli
    and neuroids, with Brain-Score's splits and seed. If repetitions are ragged (different numbers per stimulus), each
    stimulus's own repetitions are halved at random, the same for all neuroids; of an odd number, the first half is the
    smaller one. A stimulus with a single repetition has no halves and is left out. NaN marks a missing cell. It is left
    out of its half's average, and a stimulus with an empty half for a neuroid is left out for that neuroid.

    With fewer than four repeated stimuli the ceiling is NaN: over two stimuli, every correlation is 1 or -1. It is also
    NaN if halves correlate by -1, which cannot be corrected.

    The correction is a concave function of the correlation, so that noise in the correlation makes the ceiling too low
    on average: by 0.04 with 30 stimuli and halves that correlate by 0.2. ``score.provenance["expected_bias"]`` is this
    bias, to first order and at the median neuroid (``bsjax.metrics.spearman_brown_bias``). The value is not corrected
    for it.

    Args:
        consistency_metric: comparison of two halves instead of the correlation per neuroid, e.g. ``load_metric("rdm")``
            or a metric of your own; the ceiling is then one number per split. A function, and any metric but a
            similarity and a :class:`bsjax.KernelMetric`, is called for each split with both halves as assemblies of the
            stimuli that both have. A :class:`bsjax.KernelMetric` of your own gives NaN if a stimulus has an empty half.
        split_coord: the coordinate of the repetitions.
        splits: number of random halvings.
        random_state: seed of the halvings.
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.
        aggregate: must be None. In Brain-Score it aggregates the values of a ``consistency_metric`` for two halves;
            here that is already one number, and the mean over splits follows.

    Raises:
        ValueError: ``consistency_metric`` does not take two assemblies, ``aggregate`` is given, or ``splits`` is not a
            whole number of at least 1.

    Source: Spearman 1910; Brown 1910; Schrimpf et al. 2018.
    """

    identifier = "internal_consistency"

    consistency_metric: Metric | None = None
    split_coord: str = "repetition"
    splits: int = 10
    random_state: int = 1
    dtype: str | None = None
    aggregate: None = None

    def __post_init__(self) -> None:
        if self.consistency_metric is not None:
            if (sides := as_metric(self.consistency_metric).sides) != 2:
                raise ValueError(
                    f"consistency_metric must compare two assemblies; {self.consistency_metric!r} takes {sides}"
                )
            keep(self, normalisation="r_over_sqrt_ceiling")  # of a score by the same metric
        if self.aggregate is not None:
            raise ValueError(
                f"aggregate must be None, got {self.aggregate!r}: a consistency_metric gives one number per split, "
                "see score.raw for them"
            )
        whole_number(self.splits, "splits", 1)

    @property
    def _repetitions(self) -> str:
        return self.split_coord

    def _trials(self, assembly: xr.DataArray) -> Trials:
        return by_repetition(assembly, self.split_coord)

    def _halves(self, trials: Trials) -> np.ndarray:
        """The first half of each split: of labels if all stimuli have the same, else of each stimulus's own."""
        mask = trials.mask
        if trials.balanced:
            first = np.zeros((self.splits, *mask.shape), bool)
            halves = shuffles(len(mask), self.splits, self.random_state, train_size=0.5)
            for split, (half, _) in enumerate(halves):
                first[split, half] = True
            return first
        rng = np.random.default_rng(self.random_state)
        keys = np.where(mask, rng.random((self.splits, *mask.shape)), np.inf)
        return (keys.argsort(axis=1).argsort(axis=1) < mask.sum(axis=0) // 2) & mask


class TemporalInternalConsistency(InternalConsistency):
    """``InternalConsistency`` in every time bin, with the same halves in all of them.

    The value and its error have the dimension ``time_bin``; ``raw`` is (time_bin, split, neuroid), or (time_bin, split)
    with a ``consistency_metric``. All bins are computed at once.

    Ragged repetitions and NaN are treated as in ``InternalConsistency``. A trial without a value in one bin is missing
    only in that bin, and does not change the halves of the others.

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
    in_time = True


@dataclass(frozen=True)
class SplitHalfPredictorConsistency(SplitHalfReliability):
    """Split-half reliability with halves drawn separately for each image, corrected by Spearman-Brown.

    This is ``InternalConsistency`` with halves drawn image by image, so that images may have entirely different
    repetitions. The random numbers are Brain-Score's: images in sorted order, split after split. Of an odd number of
    repetitions, the first half is the smaller one. Per neuroid, the halves are correlated over images, and
    ``2r / (1 + r)`` is the reliability of the average. The score is the mean over splits of the median over neuroids;
    ``raw`` is (split, neuroid).

    An image with fewer than two repetitions is left out. NaN marks a missing cell, which is left out of its half's
    average; an image with an empty half for a neuroid is left out for that neuroid. With fewer than ten repeated images
    the ceiling is NaN.

    Args:
        n_splits: number of random halvings.
        seed: seed of the halvings.
        image_level: the coordinate of the images; if the default ``image_id`` is absent, ``stimulus_id``.
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
    fewest = 10

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
            X: single trials (presentation, neuroid), with at most one time bin.

        Raises:
            ValueError: a coordinate is missing, an image has the same repetition twice, or nothing is repeated.
        """
        return super().__call__(X)

    @property
    def _repetitions(self) -> str:
        return self.rep_level

    def _trials(self, assembly: xr.DataArray) -> Trials:
        return by_repetition(assembly, self.rep_level, self._images(assembly))

    def _images(self, assembly: xr.DataArray) -> str:
        fall_back = self.image_level == "image_id" and "image_id" not in assembly.coords
        return STIMULUS if fall_back else self.image_level

    def _drawn_ids(self, trials: Trials, assembly: xr.DataArray) -> np.ndarray:
        image = self._images(assembly)
        known: Any = pd.Series(assembly[STIMULUS].values, assembly[image].values)
        different = known.groupby(level=0).nunique()
        if (different > 1).any():
            several = listed(different.index[different > 1], image)
            raise ValueError(f"stimuli are drawn by {STIMULUS}, of which there are several for {several}")
        return known[~known.index.duplicated()].reindex(trials.stimuli).to_numpy()

    def _halves(self, trials: Trials) -> np.ndarray:
        mask = trials.mask & (trials.mask.sum(axis=0) > 1)
        rng = np.random.default_rng(self.seed)
        counts = np.tile(mask.sum(axis=0), self.n_splits)
        # Successive images with equal numbers of repetitions are drawn together, which gives the same random numbers.
        starts = np.flatnonzero(np.diff(counts, prepend=-1))
        place = np.full((len(counts), len(mask)), len(mask))
        for start, stop in zip(starts, [*starts[1:], len(counts)], strict=True):
            n = int(counts[start])
            order = rng.permuted(np.broadcast_to(np.arange(n), (int(stop - start), n)), axis=1)
            place[start:stop, :n] = order.argsort(axis=1)
        chosen = (place < (counts // 2)[:, None]).reshape(self.n_splits, mask.shape[1], len(mask))
        # Position among all repetitions of the n-th repetition of each image.
        nth = np.maximum(mask.cumsum(axis=0) - 1, 0)
        return np.take_along_axis(chosen.swapaxes(1, 2), nth[None], axis=1) & mask


def _over_splits(raw: np.ndarray, assembly: xr.DataArray, made: Provenance, stimuli: int, in_time: bool) -> Score:
    """The mean over splits of the median over neuroids, of corrected ``(bins, splits[, neuroids])``."""
    # A bin in which the halves of any split correlate by -1 is undefined, because the mean over the other splits would
    # be too high. Splits of the trials carry no information on other stimuli. For a single neuroid, the error is
    # therefore that of a correlation of normal responses over stimuli, with the Spearman-Brown correction.
    if (raw < _UNBOUNDED).any():
        beyond = ((nan_median(raw) if raw.ndim == 3 else raw) < _UNBOUNDED).any(axis=1)
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
    """The bias of the correction: the median over neuroids, at the observed correlations."""
    each = corrected.mean(axis=1).reshape(-1).astype(float)
    bias = run(spearman_brown_bias, each / (2.0 - each), float(stimuli), dtype="float64")
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
        finite = jnp.all(jnp.isfinite(a) & jnp.isfinite(b), axis=1)
        a, b = (jnp.where(finite[:, None], half, jnp.zeros_like(half)) for half in (a, b))
        r = self.similarity(a, b, where=finite)
        return jnp.where(jnp.sum(finite) < FEWEST_STIMULI, jnp.full_like(r, jnp.nan), r)
