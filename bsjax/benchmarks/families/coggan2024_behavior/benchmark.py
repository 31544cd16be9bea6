"""Recognition of occluded objects by people: Coggan & Tong (2024).

30 people named eight objects behind 18 kinds of occluders (nine shapes, black or white), and without one. Each person
saw images of their own, so that a model is compared with a person by the accuracies in the 18 conditions.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pandas as pd
import xarray as xr
from jaxtyping import Array, Bool, Float

from bsjax.benchmarks.ceilings import Ceiling
from bsjax.benchmarks.kinds.behavioural import BehavioralBenchmark
from bsjax.benchmarks.lazy_loading import LazyLoad
from bsjax.benchmarks.prepare.choices import most_probable
from bsjax.benchmarks.rows.behaviours import behavior_rows, fields_of
from bsjax.data import load_dataset, load_stimulus_set
from bsjax.engine.compilation import compiled
from bsjax.engine.precision import precision
from bsjax.labelled import Score
from bsjax.labelled.aggregate import nan_mean, over
from bsjax.labelled.align import aligned, coordinate
from bsjax.labelled.behaviour.responses import PRESENTATION, SUBJECT
from bsjax.labelled.provenance import metric_provenance
from bsjax.metrics.correlation import pearson

_CONDITION = ["occluder_type", "occluder_color"]


class ConditionAccuracySimilarity:
    """Correlation over kinds of occluders of a model's accuracy with each person's.

    Pearson's r over the conditions that a person has done, each combination of ``occluder_type`` and
    ``occluder_color``; images that are wholly visible do not count. The value is the mean over people, the error its
    standard error, and ``raw`` has one correlation a person. A person for whom it is undefined (equal accuracies in all
    conditions on either side) is left out and counted in ``n_undefined``.

    Args:
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    Source: Coggan & Tong (2024); the ceiling: Nili et al. (2014), PLoS Computational Biology.
    """

    def __init__(self, dtype: str | None = None) -> None:
        self.dtype = dtype

    def __call__(self, source: xr.DataArray, target: xr.DataArray) -> Score:
        """Compares a model with every person on the images that the person saw.

        Args:
            source: the model's choices (presentation), with ``stimulus_id``.
            target: people's trials (presentation) on the same stimuli, in any order, with ``subject``,
                ``object_class`` (the truth), ``human_accuracy`` (1, 0, or NaN without an answer), ``visibility`` (1 for
                an image without occluder), ``occluder_type`` and ``occluder_color``.

        Raises:
            ValueError: a coordinate is missing, or the two hold different stimuli.
        """
        choices = aligned(source, target).values
        right = choices == coordinate(target, "object_class", PRESENTATION, "target")
        return self._correlations(_by_condition(target, right, "target"), _people(target, "target"))

    def ceiling(self, assembly: xr.DataArray) -> Score:
        """How well the mean accuracies of the other people predict those of each.

        Args:
            assembly: as ``target``.

        Raises:
            ValueError: a coordinate is missing, or there is one person only.
        """
        each = _people(assembly, "assembly")
        if len(each) < 2:
            raise ValueError(f"a ceiling compares people with each other; assembly has {len(each)} subject")
        others = [nan_mean(each.drop(index=subject).to_numpy().T) for subject in each.index]
        return self._correlations(pd.DataFrame(others, each.index, each.columns), each)

    def _correlations(self, one: pd.DataFrame, two: pd.DataFrame) -> Score:
        there = np.isfinite(one.to_numpy()) & np.isfinite(two.to_numpy())
        with precision(self.dtype) as dtype:
            sides = (jnp.asarray(np.where(there, side.to_numpy(), 0), dtype) for side in (one, two))
            raw = np.asarray(compiled(_rows_correlated)(*sides, there), float)
            made = metric_provenance("condition_accuracy_similarity", dtype)
        return over(
            xr.DataArray(raw, dims=[SUBJECT], coords={SUBJECT: two.index.to_numpy()}),
            SUBJECT,
            what="people",
            formula="r",
            n_units=len(raw),
            provenance=made,
        )


def condition_accuracy(identifier: str) -> BehavioralBenchmark:
    """Whether the occluders that make objects hard to recognise for people make them hard for a model.

    The score is the square of correlation over ceiling, with the sign of the correlation.

    Args:
        identifier: ``"tong.Coggan2024_behavior-ConditionWiseAccuracySimilarity"``.

    Raises:
        KeyError: no such benchmark.

    Example:
        >>> condition_accuracy("tong.Coggan2024_behavior-ConditionWiseAccuracySimilarity").normalisation
        'squared_ceil_score'
    """
    row = behavior_rows()[identifier]
    trials = LazyLoad(lambda: load_dataset(row["dataset"]))
    metric = ConditionAccuracySimilarity()
    return BehavioralBenchmark(
        identifier,
        trials,
        "probabilities",
        metric,
        fitting_stimuli=lambda: load_stimulus_set(row["fitting_stimuli"]),
        answers=most_probable,
        ceiling_func=Ceiling(metric.ceiling, trials),
        **fields_of(row),
        normalisation="squared_ceil_score",
        about="the accuracy of each of 30 people, behind each of 18 occluders",
    )


def _rows_correlated(
    x: Float[Array, "rows n"], y: Float[Array, "rows n"], there: Bool[Array, "rows n"]
) -> Float[Array, " rows"]:
    return pearson(x, y, axis=1, where=there)


def _people(trials: xr.DataArray, what: str) -> pd.DataFrame:
    """Each person's accuracy in every condition, from their own trials."""
    return _by_condition(trials, coordinate(trials, "human_accuracy", PRESENTATION, what).astype(float), what)


def _by_condition(trials: xr.DataArray, right: np.ndarray, what: str) -> pd.DataFrame:
    """Accuracies (people, conditions) of the trials on occluded objects; NaN where a person has none."""
    columns = {name: coordinate(trials, name, PRESENTATION, what) for name in (SUBJECT, *_CONDITION)}
    occluded = coordinate(trials, "visibility", PRESENTATION, what).astype(float) < 1
    table = pd.DataFrame({**columns, "right": right.astype(float)})[occluded]
    return table.pivot_table(index=SUBJECT, columns=_CONDITION, values="right", aggfunc="mean", dropna=False)
