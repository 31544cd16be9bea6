"""Regression metrics on labelled assemblies: cross-validated, or on a fixed split."""

import warnings
from collections.abc import Mapping as MappingABC
from typing import Any

import jax
import numpy as np
import xarray as xr

from bsjax.engine.memory_limit import taken_by
from bsjax.engine.precision import in_dtype, precision
from bsjax.engine.sharding import dealt_out
from bsjax.labelled.aggregate import neuroid_coords, over_neuroids, over_splits
from bsjax.labelled.align import coordinate, finite_values, known_ids, listed, order_of, reordered, two_dimensional
from bsjax.labelled.provenance import metric_provenance
from bsjax.labelled.score import Score
from bsjax.labelled.splits import CrossValidation
from bsjax.labelled.streaming import Sees, in_few_columns, sides_to_stream
from bsjax.metrics import PLS, Mapping, NeuronToNeuron, Ridge, RidgeCV, compiled, make_folds
from bsjax.metrics.regression.crossvalidation import cross_validate_and_report, train_test_and_report

FEWER = "fewer features (a reducer), stimuli or neuroids,"


class CrossRegressedCorrelation:
    """Cross-validated regression from a source onto a target, scored by Pearson correlation.

    Each split fits the mapping on its training stimuli and correlates prediction and measurement of every target
    neuroid over its test stimuli. The score is the mean over splits of the median over neuroids; ``raw`` has one
    correlation per split and neuroid.

    Args:
        mapping: the regression, e.g. ``bsjax.metrics.Ridge(alpha=1.0)``.
        identifier: its name in a score's provenance.
        crossvalidation_kwargs: arguments of ``CrossValidation``; by default ten random splits of 90 % to 10 % of the
            stimuli, stratified by ``object_name``, seed 1.
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    Source: Schrimpf et al. 2018, "Brain-Score: Which Artificial Neural Network for Object Recognition is most
    Brain-Like?"
    """

    def __init__(
        self,
        mapping: Mapping,
        identifier: str = "",
        crossvalidation_kwargs: MappingABC[str, Any] | None = None,
        dtype: str | None = None,
    ) -> None:
        self.mapping = mapping
        self.identifier = identifier or type(mapping).__name__.lower()
        self.crossvalidation = CrossValidation.from_kwargs(crossvalidation_kwargs)
        self.dtype = dtype

    @property
    def sees(self) -> Sees:
        """What it depends on of the source."""
        return _seen_by(self.mapping)

    def __call__(self, source: xr.DataArray, target: xr.DataArray) -> Score:
        """Scores how well ``source`` predicts ``target``.

        Args:
            source: (presentation, neuroid) with ``stimulus_id``; rows in any order.
            target: (presentation, neuroid) with ``stimulus_id`` and what the splits are stratified by. The splits
                depend on the order of its rows, as in Brain-Score. Stimuli may repeat, as in single trials, where
                ``unique_split_values`` keeps their presentations together.

        Raises:
            ValueError: stimuli differ, repeat, or are too few; a coordinate is missing; values are NaN; it takes more
                memory than there is.
        """
        source, target = two_dimensional(source, "source"), two_dimensional(target, "target")
        order = order_of(source, target, target_repeats=self.crossvalidation.unique_split_values)
        n, width = len(target), source.shape[1]
        splits = self.crossvalidation.of(target)
        check_sizes(self.mapping, source, min(len(train) for train, _ in splits), min(len(t) for _, t in splits))
        folds = make_folds(n, splits)
        kernel = compiled(cross_validate_and_report, mapping=self.mapping)
        over, out = ((None, 1, None), -1) if fits_targets_alone(self.mapping) else ((None, None, 0), 0)

        def needed(width: int) -> int:
            with precision(self.dtype) as dtype:
                x, y = (jax.ShapeDtypeStruct(shape, dtype) for shape in ((n, width), target.shape))
                return taken_by(kernel, (x, y, folds), over, out)

        what = f"{self.identifier} of {n:,} stimuli, {width:,} features and {target.shape[1]:,} neuroids"
        if any(sides_to_stream(n, [width], self.sees, needed, what, FEWER)):
            (source,) = in_few_columns(source, sees=self.sees)
        source = reordered(source, order)
        check_strata(source, target, self.crossvalidation.stratification_coord)
        x, y = finite_values(source, "source"), finite_values(target, "target")
        with precision(self.dtype) as dtype:
            raw, report = dealt_out(kernel, (in_dtype(x, dtype), in_dtype(y, dtype), folds), over, out)
        made = metric_provenance(self.identifier, dtype, random_state=self.crossvalidation.random_state)
        coords = {**neuroid_coords(target), **_reported(self.mapping, report, ("split", "neuroid"))}
        return over_splits(raw, coords, made)


class ReversePredictivity:
    """Another regression metric with source and target exchanged: the neuroids predict the model's units.

    Source: Muzellec & Kar 2025, "Reverse predictivity".
    """

    def __init__(self, forward: CrossRegressedCorrelation) -> None:
        self.forward = forward

    def __call__(self, source: xr.DataArray, target: xr.DataArray) -> Score:
        """Scores how well ``target`` predicts ``source``; splits and medians are those of ``source``."""
        return self.forward(target, source)


class TrainTestSplitCorrelation:
    """Regression fitted on given training stimuli, scored by Pearson correlation on given test stimuli.

    The score is the median over neuroids; ``raw`` has one correlation per neuroid.

    Args:
        mapping, identifier, dtype: as in ``CrossRegressedCorrelation``.
    """

    def __init__(self, mapping: Mapping, identifier: str = "", dtype: str | None = None) -> None:
        self.mapping = mapping
        self.identifier = identifier or f"{type(mapping).__name__.lower()}_split"
        self.dtype = dtype

    def __call__(
        self,
        source_train: xr.DataArray,
        source_test: xr.DataArray,
        target_train: xr.DataArray,
        target_test: xr.DataArray,
    ) -> Score:
        """Scores how well the source predicts the target.

        Raises:
            ValueError: stimuli differ, repeat, or are too few; neuroids differ between train and test; NaN values; it
                takes more memory than there is.
        """
        given = {
            "source_train": source_train,
            "source_test": source_test,
            "target_train": target_train,
            "target_test": target_test,
        }
        flat = {name: two_dimensional(assembly, name) for name, assembly in given.items()}
        for side in ("source", "target"):
            _check_same_neuroids(flat[f"{side}_train"], flat[f"{side}_test"], side)
        sources, targets = ("source_train", "source_test"), ("target_train", "target_test")
        orders = [order_of(flat[one], flat[other], (one, other)) for one, other in zip(sources, targets, strict=True)]
        together = [flat[name] for name in sources]
        n_train, n_test = map(len, together)
        check_sizes(self.mapping, together[0], n_train, n_test)
        kernel = compiled(train_test_and_report, mapping=self.mapping)
        over = (None, None, 1, 1) if fits_targets_alone(self.mapping) else None

        def needed(width: int) -> int:
            with precision(self.dtype) as dtype:
                shapes = [(n_train, width), (n_test, width), *(flat[name].shape for name in targets)]
                return taken_by(kernel, [jax.ShapeDtypeStruct(shape, dtype) for shape in shapes], over, -1)

        n, width, sees = n_train + n_test, together[0].shape[1], _seen_by(self.mapping)
        what = f"{self.identifier} of {n:,} stimuli, {width:,} features and {flat[targets[0]].shape[1]:,} neuroids"
        if any(sides_to_stream(n, [width], sees, needed, what, FEWER)):
            together = in_few_columns(*together, sees=sees, names=sources)
        for name, source, order in zip(sources, together, orders, strict=True):
            flat[name] = reordered(source, order)
        values = [finite_values(assembly, name) for name, assembly in flat.items()]
        with precision(self.dtype) as dtype:
            arrays = [in_dtype(v, dtype) for v in values]
            raw, report = (
                jax.tree.map(np.asarray, kernel(*arrays)) if over is None else dealt_out(kernel, arrays, over, -1)
            )
        coords = {**neuroid_coords(flat["target_test"]), **_reported(self.mapping, report, ("neuroid",))}
        return over_neuroids(raw, coords, metric_provenance(self.identifier, dtype))


class ReverseSplitPredictivity:
    """A fixed-split regression metric with source and target exchanged."""

    def __init__(self, forward: TrainTestSplitCorrelation) -> None:
        self.forward = forward

    def __call__(
        self,
        *,
        source_train: xr.DataArray,
        source_test: xr.DataArray,
        target_train: xr.DataArray,
        target_test: xr.DataArray,
    ) -> Score:
        """Scores how well the target predicts the source."""
        return self.forward(
            source_train=target_train,
            source_test=target_test,
            target_train=source_train,
            target_test=source_test,
        )


def _seen_by(mapping: Mapping) -> Sees:
    return "inner products" if isinstance(mapping, PLS | Ridge | RidgeCV) else "features"


def fits_targets_alone(mapping: Mapping) -> bool:
    """Whether each target is predicted without a look at the others, so that devices may share them out."""
    return isinstance(mapping, Ridge | NeuronToNeuron) or (isinstance(mapping, RidgeCV) and mapping.alpha_per_target)


def _reported(mapping: Mapping, report: dict[str, np.ndarray], dims: tuple[str, ...]) -> dict[str, Any]:
    """What the mapping chose, as coordinates of the raw values: of each split, of each neuroid, or one for all."""
    if isinstance(mapping, RidgeCV):
        _warn_of_the_edge(mapping, report["alpha"])
    return {name: (dims[: values.ndim], values) for name, values in report.items()}


def _warn_of_the_edge(mapping: RidgeCV, alpha: np.ndarray) -> None:
    for edge, word in ((min(mapping.alphas), "smallest"), (max(mapping.alphas), "largest")):
        at_edge = np.mean(np.isclose(alpha, edge))
        if at_edge > 0 and len(mapping.alphas) > 1:
            warnings.warn(
                f"the {word} penalty, {edge:g}, was chosen in {at_edge:.0%} of the fits: the best may lie beyond it, "
                "pass a wider range of alphas",
                stacklevel=3,
            )


def check_sizes(mapping: Mapping, source: xr.DataArray, n_train: int, n_test: int) -> None:
    """Refuses too few stimuli or features for the mapping and for a correlation, with what would do."""
    if n_test < 2:
        raise ValueError(
            f"a correlation needs at least 2 test stimuli, the smallest test set has {n_test}: "
            "use more stimuli, a larger test_size, or fewer folds"
        )
    if not isinstance(mapping, PLS):
        return
    largest = min(source.sizes["neuroid"], n_train - 1)
    if mapping.n_components > largest:
        raise ValueError(
            f"pls with {mapping.n_components} components needs as many features and one more training stimulus; there "
            f"are {source.sizes['neuroid']} features and {n_train} training stimuli: pass n_components={largest} or "
            "fewer (the largest possible)"
        )


def check_strata(source: xr.DataArray, target: xr.DataArray, name: str | None) -> None:
    """Where both sides carry the strata they must agree, or the labels are not those of the stimuli."""
    if name is None or name not in source.coords:
        return
    theirs = coordinate(target, name, "presentation", "target")
    differ = coordinate(source, name, "presentation", "source") != theirs
    if differ.any():
        ids = known_ids(target, "target")[differ]
        raise ValueError(f"source and target differ in {name!r} for {listed(ids, 'stimulus_id')}")


def _check_same_neuroids(train: xr.DataArray, test: xr.DataArray, side: str) -> None:
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
