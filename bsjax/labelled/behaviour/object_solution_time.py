"""Object solution times: whether a model and the brain solve images in the same order."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
import xarray as xr

from bsjax.engine.precision import precision
from bsjax.engine.programs.compilation import compiled
from bsjax.labelled.aggregate import of_splits, over_splits
from bsjax.labelled.align import (
    STIMULUS,
    TIME_BIN,
    aligned,
    at_positions,
    coordinate,
    float_values,
    listed,
    quantity,
    three_dimensional,
    with_dims,
)
from bsjax.labelled.behaviour.responses import refuse_where
from bsjax.labelled.metric import CrossValidated
from bsjax.labelled.score import Score
from bsjax.labelled.settings import keep
from bsjax.labelled.splits import CrossValidation
from bsjax.metrics.behaviour.object_solution_time import ost_correlation
from bsjax.metrics.behaviour.softmax_decoder import SoftmaxDecoder, initial_weights
from bsjax.metrics.optimisation.minibatches import epoch_orders

_LABEL = "image_label"


@dataclass(frozen=True)
class OSTCorrelation(CrossValidated):
    """Rank correlation of a model's object solution times with measured ones.

    In each split and time bin, a softmax read-out of the model's recordings is fitted on the training images. Its
    choice probabilities for the test images give a d' per image (``I1``). An image's solution time is when that d'
    first reaches the d' of the brain at its own solution time (``i1`` of the target), by linear interpolation between
    time bins. The score is the Spearman correlation with the measured times over the test images that both solve,
    averaged over splits; ``raw`` has one correlation per split.

    Images are left out if their measured time or level is NaN, or if the model never solves them. A model that does not
    change over time (or has a single time bin) solves all images at once or never, so its score is NaN. An object
    without test images in a split gives no false alarms there, and d' leaves it out.

    Args:
        crossvalidation_kwargs: arguments of ``CrossValidation``; by default ten random splits of 90 % to 10 % of the
            images, not stratified, seed 1.
        decoder: the read-out, or its settings.
        seed: seed of its initial weights and of the order of its training images.
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    Source: Kar et al. 2019; Kubilius & Schrimpf et al. 2019.

    Example:
        >>> OSTCorrelation().crossvalidation.test_size
        0.1
    """

    identifier = "ost"
    normalisation = "ceil_score"

    crossvalidation_kwargs: Mapping[str, Any] | None = field(default=None, hash=False)
    decoder: Any = field(default=None, hash=False)
    seed: int = 0
    dtype: str | None = None

    def __post_init__(self) -> None:
        kwargs = {"stratification_coord": None, **(self.crossvalidation_kwargs or {})}
        decoder = self.decoder if isinstance(self.decoder, SoftmaxDecoder) else SoftmaxDecoder(**(self.decoder or {}))
        keep(self, crossvalidation=CrossValidation.from_kwargs(kwargs, test_size=0.1), decoder=decoder)

    def __call__(self, source_recordings: xr.DataArray, target_osts: xr.DataArray) -> Score:
        """Scores how well the order of the model's solution times agrees with that of the measured ones.

        Args:
            source_recordings: (presentation, neuroid, time_bin) with ``stimulus_id``, ``image_label`` (the object) and
                ``time_bin_start``; rows and time bins in any order.
            target_osts: solution times (presentation), in the unit of ``time_bin_start``, with ``stimulus_id`` and
                ``i1``, the d' at which each image counts as solved. The splits depend on the order of its rows.

        Raises:
            ValueError: images differ or repeat, a coordinate is missing, recordings are NaN, or an object has no
                training images in a split.
        """
        target_osts = with_dims(target_osts, "target_osts (of one decoder)", "presentation")
        source = three_dimensional(source_recordings, "source_recordings")
        source = aligned(source, target_osts, ("source_recordings", "target_osts"))
        times = coordinate(source, "time_bin_start", TIME_BIN, "source_recordings")
        order = np.argsort(times, kind="stable")
        if (np.diff(times[order]) == 0).any():
            raise ValueError("source_recordings has the same time_bin_start more than once: give each time bin once")
        objects, labels = _labels(source)
        thresholds = quantity(target_osts, "i1", "presentation", "target_osts")
        train, test = self._masks(target_osts, objects, labels)
        recordings = float_values(at_positions(source, {TIME_BIN: order}), "source_recordings")
        with precision(self.dtype):  # random arrays stay on the device
            weights, visits = (_key(part) for part in np.random.RandomState(self.seed).randint(2**31, size=2))
            orders = compiled(epoch_orders, n=len(labels), epochs=self.decoder.epochs)(visits)
            start = compiled(initial_weights, features=source.sizes["neuroid"], classes=len(objects))(weights)
        arrays = recordings.transpose(2, 0, 1), labels.astype(np.int32), train, test, orders, start
        numbers = times[order].astype(float), thresholds, np.asarray(target_osts.values, float)
        raw = self.run_kernel(ost_correlation, *arrays, *numbers, decoder=self.decoder)
        rows = [(np.flatnonzero(ours), np.flatnonzero(theirs)) for ours, theirs in zip(train, test, strict=True)]
        shared = of_splits(rows, target_osts[STIMULUS].values)
        return over_splits(raw, {}, self.provenance(), formula="ρ", shared=shared)

    def _masks(self, target: xr.DataArray, objects: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Masks of the training and test images in each split."""
        splits = self.crossvalidation.of(target, "target_osts")
        train, test = np.zeros((2, len(splits), len(labels)), bool)
        for i, rows in enumerate(splits):
            train[i, rows[0]], test[i, rows[1]] = True, True
        trained = train @ (labels[:, None] == np.arange(len(objects)))
        remedy = f'crossvalidation_kwargs={{"stratification_coord": {_LABEL!r}}} with that coordinate in target_osts'
        remedy = f": use more images of these objects, or {remedy}"
        refuse_where(~trained.all(axis=0), objects, _LABEL, "a split has no training images of", remedy)
        return train, test


def _key(seed: np.integer) -> jax.Array:
    with jax.transfer_guard_host_to_device("allow"):  # for the seed
        return jax.random.key(seed)


def _labels(source: xr.DataArray) -> tuple[np.ndarray, np.ndarray]:
    """The objects, and each image's object as a position among them."""
    labels = coordinate(source, _LABEL, "presentation", "source_recordings")
    if "truth" in source.coords:
        differ = coordinate(source, "truth", "presentation", "source_recordings") != labels
        problem = f"truth and {_LABEL} of source_recordings differ for"
        refuse_where(differ, source[STIMULUS].values, STIMULUS, problem)
    objects, codes = np.unique(labels, return_inverse=True)
    if len(objects) < 2:
        raise ValueError(f"a read-out needs at least two objects, {_LABEL} holds {listed(objects, 'of them')}")
    return objects, codes
