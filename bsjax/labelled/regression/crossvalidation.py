"""Regression metrics on labelled assemblies: cross-validated, or on a fixed split."""

import dataclasses
import math
import re
import warnings
from collections.abc import Callable, Sequence
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass, field
from functools import lru_cache, partial
from operator import itemgetter
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from bsjax.core.watching import steps
from bsjax.engine.memory_limit import neuroids_at_a_time, taken_by
from bsjax.engine.padding import padded, padded_width
from bsjax.engine.precision import default_dtype, precision
from bsjax.engine.programs.dry_runs import freeing_copies
from bsjax.engine.sharding import Shards, sharded
from bsjax.engine.sources import of_sources
from bsjax.engine.streaming import sides_to_stream
from bsjax.engine.transfers import to_host
from bsjax.labelled.aggregate import (
    NEUROID,
    SPLIT,
    Shared,
    coords_on,
    deviations_of_splits,
    drawn_scores,
    nan_mean,
    nan_median,
    neuroid_coords,
    of_splits,
    over_neuroids,
    over_splits,
)
from bsjax.labelled.align import (
    STIMULUS,
    aligned,
    bins_of,
    coordinate,
    finite_values,
    known_ids,
    listed,
    of_stimuli,
    order_of,
    reordered,
    two_dimensional,
)
from bsjax.labelled.metric import CrossValidated, Metric, OfPairs, OfTimes
from bsjax.labelled.regression.stimulus_coordinates import N_FEATURES
from bsjax.labelled.regression.target_blocks import (
    Fitted,
    blocks_of,
    joined,
    part_of,
    prepared,
    prepared_width,
    spread_of,
)
from bsjax.labelled.resampling.draws import Drawn
from bsjax.labelled.resampling.permutations import Permuted
from bsjax.labelled.score import Score
from bsjax.labelled.settings import keep, settings_of
from bsjax.labelled.splits import CrossValidation, Splits, WithTarget
from bsjax.labelled.streaming import compress
from bsjax.metrics import Mapping, compiled, cross_validated_r2, make_folds
from bsjax.metrics.bounds.regression import cross_validation_within
from bsjax.metrics.regression.crossvalidation import (
    EFFECTIVE_DIMENSIONALITY,
    cross_validate_and_report,
    train_test_and_report,
)
from bsjax.metrics.regression.folds import Folds, no_folds
from bsjax.metrics.regression.mapping import Traits
from bsjax.metrics.resampling.permutation import cross_validation_permutations
from bsjax.metrics.resampling.refits import cross_validation_bootstraps, drawn_folds, train_test_bootstraps

FEWER = "fewer features (a reducer), stimuli or neuroids,"
SIDES = ("source_train", "source_test", "target_train", "target_test")
PARTS = (("source_train", "target_train"), ("source_test", "target_test"))
_INNER_SPLITS = 5
# The largest number of parts into which fits to draws are cut, and the operations of a part, a second or more.
_MOST_PARTS, _OPERATIONS = 20, 3e10


class RegressionMetric(Metric):
    """The base class of metrics that fit a mapping: frozen dataclasses with these among their fields."""

    mapping: Mapping
    settings: Any
    # What is known of the mapping, see ``Traits``.
    traits: Traits
    # The default identifier, formatted with the name of the mapping.
    called: ClassVar[str] = "{}"
    normalisation = "explained_variance"

    def __post_init__(self) -> None:
        named = self.identifier or self.called.format(type(self.mapping).__name__.lower())
        settings, traits = self.mapping if self.settings is None else self.settings, self.mapping.traits
        keep(self, identifier=named, settings=settings, traits=traits, depends_on=traits.depends_on)
        ignores_means = traits.ignores_means or traits.depends_on == "inner products"
        keep(self, ignores_means=ignores_means, fits_neuroids_alone=traits.fits_targets_alone)

    def own_settings(self) -> dict[str, Any]:
        """All settings, with those of the mapping by their own names."""
        return settings_of(self, part="mapping")

    def _refitted(self, kernel: Callable[..., Any], x: Any, *rest: Any) -> np.ndarray:
        """The result of a kernel that refits the mapping to each draw or permutation of the stimuli."""
        what = f"{self.mapping!r} of draws of {len(x):,} stimuli with {x.shape[1]:,} features"
        return self.run_kernel(kernel, x, *rest, takes=what, advice=FEWER, mapping=self.mapping)

    def _refitted_in_parts(self, kernel: Callable[..., Any], *arrays: Any, draws: tuple[Any, ...]) -> np.ndarray:
        """The results of a kernel whose last arguments are ``draws``, folds first; long runs tell how far they are."""
        fitted, (n, width) = draws[0].fitted, arrays[0].shape
        count, fits = len(fitted), fitted.size * n**3
        # Each part repeats the work on all features, here at most a twentieth of the whole. Parts of one size share a
        # program, so that the first of them tells how long all will take.
        size = -(-count // int(max(1, min(_MOST_PARTS, fits / _OPERATIONS, fits / (40 * n**2 * width)))))
        rows = [np.minimum(np.arange(start, start + size), count - 1) for start in range(0, count, size)]
        parts = [
            self._refitted(kernel, *arrays, *jax.tree.map(itemgetter(part), draws))
            for part in steps(rows, f"{self.identifier} fitted to draws", count, each=size)
        ]
        return np.concatenate(parts)[:count]

    def _after_permutations(self, permuted: Permuted, x: Any, y: Any, folds: Folds, rows: np.ndarray) -> xr.DataArray:
        """The mean over folds of the median over neuroids, refitted after every permutation."""
        # The inverse permutation is applied to the targets, so that work on the features is shared.
        orders = np.argsort(rows, axis=1).astype(np.int32)
        raw = self._refitted(cross_validation_permutations, x, y, folds, orders).astype(float)
        return permuted.in_passes(lambda _: nan_mean(nan_median(raw)))


@dataclass(frozen=True)
class CrossValidatedRegression(CrossValidated, RegressionMetric):
    """The base class of cross-validated metrics that fit a mapping."""

    mapping: Mapping
    identifier: str = ""
    crossvalidation_kwargs: MappingABC[str, Any] | None = field(default=None, hash=False)
    dtype: str | None = None
    settings: Any = field(default=None, hash=False)

    def __post_init__(self) -> None:
        RegressionMetric.__post_init__(self)
        CrossValidated.__post_init__(self)

    def _over_folds(
        self,
        kernel: Callable[..., Any],
        source: xr.DataArray,
        target: xr.DataArray,
        coords: MappingABC[str, Any],
        dims: Sequence[str],
    ) -> Score:
        """The mean over splits of values with these dimensions, by a kernel that fits the mapping to every fold."""
        order = order_of(source, target, target_repeats=self.crossvalidation.unique_split_values)
        splits, n, (width, *bins) = self.crossvalidation.of(target), len(target), source.shape[1:]
        n_train, n_test = _smallest(splits)
        check_sizes(self.mapping, source.sizes[NEUROID], math.prod([n_train, *bins]), n_test)
        source = reordered(source, order)
        check_strata(source, target, self.crossvalidation.stratification_coord)
        (x,), (y,) = self.values_of_side(source=source), self.values_of_side(target=target)
        stimuli = f"{n:,} stimuli" + "".join(f" in {each} bins" for each in bins)
        what = f"{self.identifier} of {stimuli}, {width:,} features and {target.shape[1]:,} neuroids"
        raw = self.run_kernel(kernel, x, y, make_folds(n, splits), takes=what, advice=FEWER, mapping=self.mapping)
        shared = of_splits(splits, target[STIMULUS].values)
        return over_splits(raw, coords, self.provenance(), dims=dims, shared=shared)


class CrossRegressedCorrelation(CrossValidatedRegression):
    """Cross-validated regression from a source onto a target, scored by Pearson correlation.

    Each split fits the mapping on its training stimuli, and correlates the predicted with the measured responses of
    every target neuroid over its test stimuli. The score is the mean over splits of the median over neuroids; ``raw``
    has one correlation per split and neuroid.

    Args:
        mapping: the regression, e.g. ``bsjax.metrics.Ridge(alpha=1.0)``.
        identifier: its name in a score's provenance.
        crossvalidation_kwargs: arguments of ``CrossValidation``; by default ten random splits of 90 % to 10 % of the
            stimuli, stratified by ``object_name``, seed 1.
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.
        settings: settings of the mapping for the provenance; by default its fields.

    Source: Schrimpf et al. 2018, "Brain-Score: Which Artificial Neural Network for Object Recognition is most
    Brain-Like?"
    """

    def check_width(self, source: xr.DataArray, target: xr.DataArray) -> None:
        """Refuses a source with too few features, or a target with too few stimuli in a split.

        Raises:
            ValueError: the mapping or a correlation needs more.
        """
        check_sizes(self.mapping, source.sizes[NEUROID], *_smallest(self.crossvalidation.of(target)))

    def with_target(self, target: xr.DataArray, folds: bool) -> "WithTarget":
        """This metric for many sources, with the target's splits, and those of the training stimuli, made once.

        See ``bsjax.labelled.layers.SharedTarget``.

        Raises:
            ValueError: too few stimuli for the splits.
        """
        target = two_dimensional(target, "target")
        splits = self.crossvalidation.of(target)
        whole = self.at(splits)
        if not folds:
            return WithTarget(whole, target, None)
        inner = [self.at(_splits_within(self.crossvalidation, target, train)) for train, _ in splits]

        def on_folds(sources: Sequence[xr.DataArray], scores: Sequence[Score]) -> list[tuple[np.ndarray, np.ndarray]]:
            within = np.array([[float(one) for one in metric.of_many(sources, target)] for metric in inner]).T
            return [(of_source, np.asarray(one.raw, float)) for of_source, one in zip(within, scores, strict=True)]

        return WithTarget(whole, target, on_folds)

    def __call__(self, source: xr.DataArray, target: xr.DataArray) -> Score:
        """Scores how well ``source`` predicts ``target``.

        Args:
            source: (presentation, neuroid) with ``stimulus_id``; rows in any order.
            target: (presentation, neuroid) with ``stimulus_id`` and the stratification coordinate of the splits. The
                splits depend on the order of its rows, as in Brain-Score. Stimuli may repeat, as in single trials, if
                ``unique_split_values`` keeps their presentations together.

        Raises:
            ValueError: stimuli differ, repeat, or are too few; a coordinate is missing; values are NaN; or the
                computation needs more memory than is available.
        """
        return self.of_many([source], target)[0]

    def of_many(self, sources: Sequence[xr.DataArray], target: xr.DataArray) -> list[Score]:
        """The score of every source; sources of one shape on a device are computed in one program.

        Args:
            sources, target: as for a call.

        Raises:
            ValueError: as for a call.
        """
        sources, target = [two_dimensional(source, "source") for source in sources], two_dimensional(target, "target")
        orders = [order_of(one, target, target_repeats=self.crossvalidation.unique_split_values) for one in sources]
        splits = self.crossvalidation.of(target)
        made = self._fitted(sources, orders, target, splits, make_folds(len(target), splits))
        shared = of_splits(splits, target[STIMULUS].values)
        return [self._score(fitted, target, shared) for fitted in made]

    def of_targets(self, source: xr.DataArray, targets: Sequence[xr.DataArray]) -> list[Score]:
        """The score of a source with every target, e.g. the neuroids of each subject.

        Where neuroids are fitted alone, those of targets with the same rows and splits are fitted together, so that the
        source is factorised once. Each score is that of a single call, up to rounding errors.

        Args:
            source, targets: as for a call.

        Raises:
            ValueError: as for a call.
        """
        if not self.fits_neuroids_alone:
            return super().of_targets(source, targets)
        source, flat = two_dimensional(source, "source"), [two_dimensional(each, "target") for each in targets]
        alike: dict[Any, list[int]] = {}
        splits = [self.crossvalidation.of(target) for target in flat]
        shared = [of_splits(of, target[STIMULUS].values) for of, target in zip(splits, flat, strict=True)]
        for place, target in enumerate(flat):
            labels = [tuple(coordinate(target, name, "presentation", "target").tolist()) for name in self.split_coords]
            alike.setdefault((shared[place].key, *labels), []).append(place)
        scores: dict[int, Score] = {}
        for first, *others in alike.values():
            places = [first, *others]
            ends = np.cumsum([0, *[flat[place].sizes[NEUROID] for place in places]])
            whole = flat[first]
            if others:
                values = np.concatenate([flat[place].values for place in places], axis=1)
                whole = xr.DataArray(values, coords_on(whole, "presentation"), whole.dims)
            order = order_of(source, whole, target_repeats=self.crossvalidation.unique_split_values)
            of = splits[first]
            [fitted] = self._fitted([source], [order], whole, of, make_folds(len(whole), of))
            for place, start, end in zip(places, ends, ends[1:], strict=False):
                scores[place] = self._score(part_of(fitted, slice(start, end)), flat[place], shared[place])
        return [scores[place] for place in range(len(flat))]

    def _score(self, fitted: Fitted, target: xr.DataArray, shared: Shared) -> Score:
        """The score of a target from its correlations and report, which may be padded."""
        raw, reported, details = _unpadded(self.traits, fitted, target, ("split", "neuroid"))
        coords = {**neuroid_coords(target), **reported}
        return over_splits(raw, coords, self.provenance(details=details), shared=shared)

    def of_pairs(self, stimuli: int, features: int) -> OfPairs | None:
        """Fits many pairs at once, where the mapping solves small systems of stimuli and chooses nothing.

        A batch of what works on features, iterates or chooses is no faster.
        """
        traits = self.traits
        if not traits.fits_targets_alone or traits.depends_on != "inner products" or traits.reported:
            return None
        ids = np.arange(stimuli)
        splits = self.folds_of(of_stimuli(ids))
        n_train, n_test = _smallest(splits)
        check_sizes(self.mapping, features, n_train, n_test)
        shared = of_splits(splits, ids)

        def score(found: tuple[np.ndarray, Any]) -> Score:
            raw = found[0].astype(float)
            sure = np.asarray(np.isfinite(raw).all(axis=(1, 2)))
            dims = ["pair", SPLIT, NEUROID]
            made = over_splits(np.where(sure[:, None, None], raw, 0.0), {}, self.provenance(), dims=dims, shared=shared)
            known = made.sampling_uncertainty
            sure &= False if known is None else ~known.is_rounding(made.value)
            return dataclasses.replace(made, value=xr.DataArray(np.where(sure, made.value, np.nan), dims=["pair"]))

        return OfPairs(
            cross_validate_and_report,
            score,
            {"mapping": self.mapping},
            (make_folds(stimuli, splits),),
            (traits.ignores_zero_features, False),
            together=True,
            warn=lambda width: warn_of_interpolation(self.mapping, self.identifier, width, n_train),
        )

    def of_times(self, source: xr.DataArray, target: xr.DataArray) -> OfTimes:
        """The scores of all times of a source with all times of a target.

        Where neuroids are fitted alone, those of all times of the target are fitted together, so that a time of the
        source is factorised once.
        """
        with precision(self.dtype) as dtype:  # on the device, all times of the source are computed in one program
            each = bins_of(source, "source")
            sources = [one.copy(data=jnp.asarray(self.values_of_side(source=one)[0], dtype)) for one in each]
        targets = bins_of(target, "target")
        together = [xr.concat(targets, NEUROID)] if self.fits_neuroids_alone else targets
        raw = [[np.asarray(score.raw) for score in self.of_many(sources, one)] for one in together]
        of_times = np.concatenate(raw, axis=2).reshape(len(sources), -1, len(targets), targets[0].sizes[NEUROID])
        scores = np.moveaxis(nan_median(of_times), 1, 2)  # (source times, target times, splits)
        splits = self.crossvalidation.of(targets[0])
        return OfTimes(nan_mean(scores), deviations_of_splits(scores, of_splits(splits, targets[0][STIMULUS].values)))

    def explained_variance(self, source: xr.DataArray, target: xr.DataArray) -> np.ndarray:
        """The cross-validated R² of each neuroid, averaged over splits, see ``bsjax.metrics.cross_validated_r2``."""
        source, target = two_dimensional(source, "source"), two_dimensional(target, "target")
        splits = self.crossvalidation.of(target)
        folds = make_folds(len(target), splits)
        needed = self._needed(cross_validated_r2, target, folds)
        x = self._features(source, order_of(source, target), target, splits, needed)
        (y,) = self.values_of_side(target=target)
        with precision(self.dtype) as dtype:
            widths = _padded_widths(self.traits, len(y), x.shape[1], y.shape[1])
            sides = [padded(values, width, dtype) for values, width in zip((x, y), widths, strict=True)]
            found = to_host(compiled(cross_validated_r2, mapping=self.mapping)(*sides, folds))
        return nan_mean(found[:, : y.shape[1]].astype(float).T)

    @property
    def has_error_bound(self) -> bool:
        """Whether the mapping bounds the error of its weights."""
        return self.mapping.bounds_weights

    def exact_within(self, source: xr.DataArray, target: xr.DataArray) -> tuple[float, float]:
        """An interval that holds the exact score, from weights in this metric's dtype; see ``Metric``.

        The medians over neuroids, and the means over splits, of lower and upper ends hold those of exact correlations.
        """
        if not self.has_error_bound:
            return super().exact_within(source, target)
        source, target = two_dimensional(source, "source"), two_dimensional(target, "target")
        order = order_of(source, target, target_repeats=self.crossvalidation.unique_split_values)
        x, y = finite_values(reordered(source, order), "source"), finite_values(target, "target")
        folds = make_folds(len(y), self.crossvalidation.of(target))
        given = {"mapping": self.mapping, "working": np.dtype(self.dtype or default_dtype()).name}
        what = f"the error bound of {self.identifier} of {len(y):,} stimuli and {x.shape[1]:,} features"
        double = dataclasses.replace(self, dtype="float64")
        ends = double.run_kernel(cross_validation_within, x, y, folds, takes=what, advice=FEWER, **given)
        low, high = (float(nan_mean(nan_median(end))) for end in ends)
        return low, high

    def drawn_values(self, drawn: Drawn, source: xr.DataArray, target: xr.DataArray) -> dict[str, Any]:
        """Its values in every draw, see :func:`bsjax.labelled.metric.scored`.

        The regression is refitted to each draw of the stimuli with the same splits, so that all copies of a stimulus
        are on one side. Draws hold fewer distinct stimuli than the data and therefore score lower; the interval uses
        only their spread.
        """
        source, target = two_dimensional(source, "source"), two_dimensional(target, "target")
        order = order_of(source, target, target_repeats=self.crossvalidation.unique_split_values)
        splits, (y,) = self.crossvalidation.of(target), self.values_of_side(target=target)
        counts = {True: drawn.in_order("stimuli", target[STIMULUS])} if "stimuli" in drawn.counts else {}
        counts |= {False: np.ones((1, len(target)), np.int32)}
        asked = {"stimuli" in together for together in drawn.plan.passes.values()}
        folds = {each: drawn_folds(counts[each], make_folds(len(target), splits)) for each in asked}

        needed = [self._needed(cross_validation_bootstraps, target, each) for each in folds.values()]
        x = self._features(source, order, target, splits, lambda width: max(of(width) for of in needed))
        raws = {
            each: self._refitted_in_parts(cross_validation_bootstraps, x, y, draws=(held,))
            for each, held in folds.items()
        }
        values = drawn.in_passes(lambda together: drawn_scores(raws["stimuli" in together], drawn, together, target))
        return {"values": values}

    def permuted_values(self, permuted: Permuted, source: xr.DataArray, target: xr.DataArray) -> dict[str, Any]:
        """Its values after permutations, see :func:`bsjax.labelled.resampling.calibration.with_null`.

        The regression is refitted to each permutation with the same splits of the features, so that work on the
        features alone is done once. Single trials are scored anew after each permutation, with their own splits.
        """
        target = two_dimensional(target, "target")
        if self.crossvalidation.unique_split_values and len(set(target[STIMULUS].values)) < len(target):
            return super().permuted_values(permuted, source, target)
        source = two_dimensional(source, "source")
        order, splits = order_of(source, target), self.crossvalidation.of(target)
        folds, rows = make_folds(len(target), splits), permuted.permutations[0].in_order(order)
        needed = self._needed(cross_validate_and_report, target, folds, _shards(self.traits))
        x = self._features(source, order, target, splits, needed)
        (y,) = self.values_of_side(target=target)
        return {"values": self._after_permutations(permuted, x, y, folds, rows)}

    def _fitted(
        self,
        sources: Sequence[xr.DataArray],
        orders: Sequence[np.ndarray | None],
        target: xr.DataArray,
        splits: Splits,
        folds: Folds,
    ) -> list[Fitted]:
        """The correlations and the report of each source, in blocks of neuroids where these are fitted alone."""
        (n, neuroids), traits = target.shape, self.traits
        spread = spread_of(n, neuroids) if traits.fits_targets_alone else None
        most = [neuroids if spread is None else -(-neuroids // spread.least_blocks(n, neuroids))]
        needed = self._needed(cross_validate_and_report, target, folds, _shards(traits))

        def cut(width: int) -> None:
            what = f"{self.identifier} of {n:,} stimuli, {width:,} features and neuroids one at a time"
            most.append(neuroids_at_a_time(partial(needed, width), most[0], what, FEWER))

        of_all = (
            needed if spread is None else lambda width: needed(prepared_width(n, width, traits.depends_on), most[0])
        )
        values = [
            self._features(source, order, target, splits, of_all, cut if traits.fits_targets_alone else None)
            for source, order in zip(sources, orders, strict=True)
        ]
        (y,) = self.values_of_side(target=target)
        if min(most) == neuroids:
            return self._of_block(values, y, folds, neuroids)
        blocks = blocks_of(neuroids, min(most))
        of_blocks = [y[:, block] for block in blocks]
        fit = partial(self._of_block, folds=folds, neuroids=blocks[0].stop)
        if spread is None:
            made = [fit(values, block) for block in freeing_copies(of_blocks)]
        else:
            prepare = partial(prepared, depends_on=traits.depends_on)
            made = zip(*[spread(fit, x, prepare, of_blocks) for x in values], strict=True)
        return [joined(parts, blocks) for parts in zip(*made, strict=True)]

    def _of_block(
        self, sources: Sequence[np.ndarray | jax.Array], y: np.ndarray | jax.Array, folds: Folds, neuroids: int
    ) -> list[Fitted]:
        """The correlations and the report of each source with neuroids that are padded to this number or more."""
        traits, xs, of_y = self.traits, [], neuroids
        with precision(self.dtype) as dtype:
            for x in sources:
                of_x, of_y = _padded_widths(traits, len(y), x.shape[1], neuroids)
                xs.append(padded(x, of_x, dtype))
            rest = padded(y, of_y, dtype), folds
            return of_sources(cross_validate_and_report, xs, rest, _shards(traits), mapping=self.mapping)

    def _needed(
        self, kernel: Callable[..., Any], target: xr.DataArray, folds: Any, shards: Shards | None = None
    ) -> Callable[..., int]:
        """A function from the number of features to the bytes that a kernel needs, for all neuroids or fewer."""

        traits, (n, all_neuroids) = self.traits, target.shape

        def needed(width: int, neuroids: int = all_neuroids) -> int:
            with precision(self.dtype) as dtype:
                features, targets = _padded_widths(traits, n, width, neuroids)
                x, y = jax.ShapeDtypeStruct((n, features), dtype), jax.ShapeDtypeStruct((n, targets), dtype)
                return taken_by(compiled(kernel, mapping=self.mapping), (x, y, folds), shards)

        return needed

    def _features(
        self,
        source: xr.DataArray,
        order: np.ndarray | None,
        target: xr.DataArray,
        splits: Splits,
        needed: Callable[[int], int],
        cut: Callable[[int], None] | None = None,
    ) -> np.ndarray | jax.Array:
        """The values of a source in the order of the target, compressed if they need too much memory."""
        n, width = source.shape
        n_train, n_test = _smallest(splits)
        check_sizes(self.mapping, source.sizes[NEUROID], n_train, n_test)
        warn_of_interpolation(self.mapping, self.identifier, source.attrs.get(N_FEATURES, width), n_train)

        what = f"{self.identifier} of {n:,} stimuli, {width:,} features and {target.shape[1]:,} neuroids"
        if any(sides_to_stream(n, [width], self.depends_on, needed, what, FEWER, cut)):
            (source,) = compress(source, depends_on=self.depends_on)
        source = reordered(source, order)
        check_strata(source, target, self.crossvalidation.stratification_coord)
        return self.values_of_side(source=source)[0]


@dataclass(frozen=True)
class ReversePredictivity(Metric):
    """A regression metric with source and target exchanged: the neuroids predict the model's units.

    Args:
        forward: the metric; its splits and medians apply to the predicted side, which is the source.

    Source: Muzellec & Kar 2025, "Reverse predictivity".
    """

    forward: Metric

    def __post_init__(self) -> None:
        keep(self, identifier=self.forward.identifier, dtype=self.forward.dtype)

    def __call__(self, *assemblies: xr.DataArray, **named: xr.DataArray) -> Score:
        """Scores how well the target predicts the source.

        Args:
            *assemblies: source and target; on a fixed split, source training and test data, then target training and
                test data.
            **named: the same by name.
        """
        half, other = len(assemblies) // 2, {"source": "target", "target": "source"}
        exchanged = {re.sub("^(source|target)", lambda side: other[side[0]], name): named[name] for name in named}
        return self.forward(*assemblies[half:], *assemblies[:half], **exchanged)


@dataclass(frozen=True)
class TrainTestSplitCorrelation(RegressionMetric):
    """Regression fitted on given training stimuli, scored by Pearson correlation on given test stimuli.

    The score is the median over neuroids; ``raw`` has one correlation per neuroid.

    Args:
        mapping, identifier, dtype, settings: as in ``CrossRegressedCorrelation``.
    """

    called = "{}_split"

    mapping: Mapping
    identifier: str = ""
    dtype: str | None = None
    settings: Any = field(default=None, hash=False)

    def __call__(
        self,
        source_train: xr.DataArray,
        source_test: xr.DataArray,
        target_train: xr.DataArray,
        target_test: xr.DataArray,
    ) -> Score:
        """Scores how well the source predicts the target.

        Raises:
            ValueError: stimuli differ, repeat, or are too few; neuroids differ between training and test; values are
                NaN; or the computation needs more memory than is available.
        """
        flat = on_fixed_split(source_train, source_test, target_train, target_test)
        orders = [order_of(flat[one], flat[other], (one, other)) for one, other in PARTS]
        together = [flat[source] for source, _ in PARTS]
        n_train, n_test = map(len, together)
        check_sizes(self.mapping, together[0].sizes[NEUROID], n_train, n_test)
        warn_of_interpolation(self.mapping, self.identifier, together[0].shape[1], n_train)
        kernel = compiled(train_test_and_report, mapping=self.mapping)
        traits = self.traits
        of_features, of_targets, _ = _shards(traits).axes
        shards = Shards((of_features, of_features, of_targets, of_targets))
        n, width, neuroids = n_train + n_test, together[0].shape[1], flat["target_train"].shape[1]

        def needed(width: int) -> int:
            with precision(self.dtype) as dtype:
                widths = _padded_widths(traits, n_train, width, neuroids)
                shapes = [(stimuli, width) for width in widths for stimuli in (n_train, n_test)]
                return taken_by(kernel, [jax.ShapeDtypeStruct(shape, dtype) for shape in shapes], shards)

        what = f"{self.identifier} of {n:,} stimuli, {width:,} features and {neuroids:,} neuroids"
        if any(sides_to_stream(n, [width], traits.depends_on, needed, what, FEWER)):
            together = compress(*together, depends_on=traits.depends_on, names=SIDES[:2])
        for name, source, order in zip(SIDES[:2], together, orders, strict=True):
            flat[name] = reordered(source, order)
        values = self._values_of_sides(flat)
        with precision(self.dtype) as dtype:
            widths = np.repeat(_padded_widths(traits, n_train, values[0].shape[1], neuroids), 2)
            arrays = [padded(side, width, dtype) for side, width in zip(values, widths.tolist(), strict=True)]
            made = sharded(kernel, arrays, shards)
        raw, reported, details = _unpadded(traits, made, flat["target_test"], ("neuroid",))
        coords = {**neuroid_coords(flat["target_test"]), **reported}
        return over_neuroids(raw, coords, self.provenance(details=details))

    def drawn_values(self, drawn: Drawn, *assemblies: xr.DataArray) -> dict[str, Any]:
        """Its values in every draw, see :func:`bsjax.labelled.metric.scored`.

        Training stimuli are drawn separately by the same plan, and the regression is refitted to each draw.
        """
        flat = on_fixed_split(*assemblies)
        arrays = self._values_of_sides(matched(flat))
        test, train = flat["target_test"], flat["target_train"]
        raws = {}
        for drawn_stimuli in {"stimuli" in together for together in drawn.plan.passes.values()}:
            held = np.ones((1, len(train)), np.int32), np.ones((1, len(test)), np.int32)
            if drawn_stimuli:
                ids = train[STIMULUS].values
                labels = drawn.plan.labels(ids, [train, flat["source_train"]], "training stimuli")
                of_train = drawn.plan.counts("stimuli", ids, **labels)
                held = of_train, drawn.in_order("stimuli", test[STIMULUS])
            draws = drawn_folds(held[0], no_folds()), held[1]
            raws[drawn_stimuli] = self._refitted_in_parts(train_test_bootstraps, *arrays, draws=draws)[:, None]
        values = drawn.in_passes(lambda together: drawn_scores(raws["stimuli" in together], drawn, together, test))
        return {"values": values}

    def _values_of_sides(self, flat: MappingABC[str, xr.DataArray]) -> list[np.ndarray | jax.Array]:
        """The values of the four sides; training and test data lose the same means."""
        return [
            part
            for names in (SIDES[:2], SIDES[2:])
            for part in self.values_of_side(**{name: flat[name] for name in names})
        ]

    def permuted_values(self, permuted: Permuted, *assemblies: xr.DataArray) -> dict[str, Any]:
        """Its values after permutations of the training stimuli, and of the test stimuli, among themselves."""
        flat = on_fixed_split(*assemblies)
        orders = [order_of(flat[source], flat[target], (source, target)) for source, target in PARTS]
        train, test = (one.in_order(order) for one, order in zip(permuted.permutations, orders, strict=True))
        x_train, x_test, y_train, y_test = map(np.asarray, self._values_of_sides(matched(flat)))
        x, y = np.concatenate([x_train, x_test]), np.concatenate([y_train, y_test])
        n, whole = len(x_train), np.arange(len(x))
        taken = np.concatenate([train, n + test], axis=1)
        folds = make_folds(len(x), [(whole[:n], whole[n:])])
        return {"values": self._after_permutations(permuted, x, y, folds, taken)}


def of_neuroids(score: Score, target: xr.DataArray, neuroids: np.ndarray) -> Score:
    """The score of a subset of the neuroids of a regression, as if they were scored alone.

    This is exact if the metric ``fits_neuroids_alone``, so that the neuroids of several subjects can be fitted at once.

    Args:
        score: the score of a regression.
        target: the subset of the neuroids.
        neuroids: their positions among those of ``score``.
    """
    if score.raw is None or NEUROID not in score.raw.dims:  # one value for all neuroids together
        return score
    chosen = score.raw.isel({NEUROID: neuroids})
    coords: dict[str, Any] = {str(name): (c.dims, c.values) for name, c in chosen.coords.items() if name != SPLIT}
    of = over_splits if SPLIT in chosen.dims else over_neuroids
    return of(chosen.values, {**coords, **neuroid_coords(target)}, score.provenance)


def check_sizes(mapping: Mapping, features: int, n_train: int, n_test: int) -> None:
    """Refuses too few stimuli or features for the mapping or for a correlation, with advice."""
    check_test_size(n_test)
    traits = mapping.traits
    if features < traits.least_features or n_train < traits.least_training_stimuli:
        raise ValueError(
            f"{mapping!r} needs at least {traits.least_features} features and {traits.least_training_stimuli} training "
            f"stimuli; there are {features} features and {n_train} training stimuli: {traits.advice(features, n_train)}"
        )


def warn_of_interpolation(mapping: Mapping, name: str, features: int, n_train: int) -> None:
    """Warns if there are so few training stimuli that the mapping fits any targets exactly."""
    if mapping.interpolates(features, n_train):
        warnings.warn(
            f"{name} has {features:,} features for {n_train:,} training stimuli and no penalty: it reproduces whatever "
            "was measured there, noise included. Take a metric with a penalty (ridgecv), fewer features (a reducer) or "
            "more stimuli",
            stacklevel=4,
        )


def check_test_size(n_test: int) -> None:
    """Refuses fewer than three test stimuli: two points always correlate by 1 or -1."""
    if n_test < 3:
        raise ValueError(
            f"a correlation needs at least 3 test stimuli, the smallest test set has {n_test}: "
            'use more stimuli, fewer folds, or a larger part of them: crossvalidation_kwargs={"test_size": 0.3}'
        )


def check_strata(source: xr.DataArray, target: xr.DataArray, name: str | None) -> None:
    """Refuses sides whose strata differ, which shows that labels are assigned to the wrong stimuli."""
    if name is None or name not in source.coords:
        return
    theirs = coordinate(target, name, "presentation", "target")
    differ = coordinate(source, name, "presentation", "source") != theirs
    if differ.any():
        ids = known_ids(target, "target")[differ]
        raise ValueError(f"source and target differ in {name!r} for {listed(ids, 'stimulus_id')}")


def on_fixed_split(*assemblies: xr.DataArray) -> dict[str, xr.DataArray]:
    """The four sides of a fixed split by name, as (presentation, neuroid); refuses other neuroids in test."""
    flat = {name: two_dimensional(assembly, name) for name, assembly in zip(SIDES, assemblies, strict=True)}
    for side in ("source", "target"):
        check_same_neuroids(flat[f"{side}_train"], flat[f"{side}_test"], side)
    return flat


def matched(flat: MappingABC[str, xr.DataArray]) -> dict[str, xr.DataArray]:
    """The four sides, with the stimuli of each source in the order of its target."""
    return {**flat, **{source: aligned(flat[source], flat[target], (source, target)) for source, target in PARTS}}


def check_same_neuroids(train: xr.DataArray, test: xr.DataArray, side: str) -> None:
    """Refuses training and test data with different neuroids or another order of them."""
    if train.sizes["neuroid"] != test.sizes["neuroid"]:
        raise ValueError(
            f"{side}_train has {train.sizes['neuroid']} neuroids and {side}_test {test.sizes['neuroid']}: "
            "they must be the same"
        )
    if "neuroid_id" in train.coords and "neuroid_id" in test.coords:
        ids, others = train["neuroid_id"].values, test["neuroid_id"].values
        if not np.array_equal(ids, others):
            raise ValueError(
                f"{side}_train and {side}_test hold different neuroids or another order of them, first "
                f"{listed(ids[ids != others], 'neuroid_id')}"
            )


@lru_cache
def _shards(traits: Traits) -> Shards:
    """Shards along features and targets where columns of zeros change nothing, else along folds."""
    features = 1 if traits.ignores_zero_features else None
    targets = 1 if traits.ignores_zero_targets or traits.fits_targets_alone else None
    if features is None and targets is None:
        return Shards((None, None, 0), repeats=0)
    return Shards((features, targets, None))


def _padded_widths(traits: Traits, stimuli: int, features: int, targets: int) -> tuple[int, int]:
    return (
        padded_width(stimuli, features) if traits.ignores_zero_features else features,
        padded_width(stimuli, targets) if traits.ignores_zero_targets else targets,
    )


def _unpadded(
    traits: Traits, made: tuple[np.ndarray, dict[str, np.ndarray]], target: xr.DataArray, dims: tuple[str, ...]
) -> tuple[np.ndarray, dict[str, Any], dict[str, float]]:
    """Raw values of the neuroids, the mapping's reports per split or neuroid, and its reports on the features."""
    (raw, report), neuroids = made, slice(target.sizes["neuroid"])
    if not report:
        return raw[..., neuroids], {}, {}
    # Rounded to digits that do not depend on padding, devices or the other sources.
    of_features = {name: float(f"{report[name][0]:.6g}") for name in report if name == EFFECTIVE_DIMENSIONALITY}
    report = {name: values for name, values in report.items() if name not in of_features}
    for message in traits.warnings(report):
        warnings.warn(message, stacklevel=3)
    whole = {name: values[..., neuroids] if values.ndim >= len(dims) else values for name, values in report.items()}
    labelled = {name: values for name, values in whole.items() if values.ndim <= len(dims)}
    coords = {name: (dims[: values.ndim], values) for name, values in labelled.items()}
    for name in whole.keys() - labelled.keys():  # of each feature space too
        coords |= {f"{name}_{place}": (dims, values) for place, values in enumerate(np.moveaxis(whole[name], -2, 0))}
    return raw[..., neuroids], coords, of_features


def _smallest(splits: Splits) -> tuple[int, int]:
    """The smallest numbers of training and of test stimuli in any split."""
    train, test = zip(*splits, strict=True)
    return min(map(len, train)), min(map(len, test))


def _splits_within(settings: CrossValidation, target: xr.DataArray, train: np.ndarray) -> Splits:
    """Splits of the training stimuli of one split, as rows of the whole target."""
    inner = dataclasses.replace(settings, splits=min(settings.splits, _INNER_SPLITS))
    try:
        splits = inner.of(target.isel(presentation=train))
        check_test_size(_smallest(splits)[1])
    except ValueError as error:
        raise ValueError(
            f"no splits within the {len(train)} training stimuli of a split, which the nested score needs "
            f"(nested=False leaves it out): {error}"
        ) from None
    return [(train[inner_train], train[inner_test]) for inner_train, inner_test in splits]
