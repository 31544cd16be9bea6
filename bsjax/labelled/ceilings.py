"""Ceilings: how well the data predict themselves, from repeated presentations."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
import pandas as pd
import xarray as xr
from sklearn.model_selection import ShuffleSplit

from bsjax.labelled.aggregate import neuroid_coords, over_splits, provenance
from bsjax.labelled.align import STIMULUS, coordinate, listed, two_dimensional
from bsjax.labelled.precision import precision
from bsjax.labelled.score import Score
from bsjax.labelled.similarity import RepresentationalSimilarity
from bsjax.metrics import compiled, split_half_consistency
from bsjax.metrics.consistency import pearson_of_halves


class InternalConsistency:
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

    Args:
        consistency_metric: how two halves are compared, in place of the correlation per neuroid: a representational
            similarity, e.g. ``load_metric("rdm")``; the ceiling is then one number per split.
        split_coord: the coordinate of the repetitions.
        splits: how many random halvings.
        random_state: their seed.
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    Source: Spearman 1910; Brown 1910; Schrimpf et al. 2018.
    """

    def __init__(
        self,
        consistency_metric: RepresentationalSimilarity | None = None,
        split_coord: str = "repetition",
        splits: int = 10,
        random_state: int = 1,
        dtype: str | None = None,
    ) -> None:
        if consistency_metric is not None and not isinstance(consistency_metric, RepresentationalSimilarity):
            raise ValueError(
                "consistency_metric must be a representational similarity such as load_metric('rdm'), "
                f"got {type(consistency_metric).__name__}"
            )
        self.consistency_metric = consistency_metric
        self.split_coord = split_coord
        self.splits = splits
        self.random_state = random_state
        self.dtype = dtype

    def __call__(self, assembly: xr.DataArray) -> Score:
        """The reliability of the assembly's average over repetitions.

        Args:
            assembly: single trials (presentation, neuroid) with ``stimulus_id`` and ``repetition``.

        Raises:
            ValueError: a coordinate is missing, a trial is there twice, or nothing is repeated.
        """
        assembly = two_dimensional(assembly, "assembly")
        trials, present, balanced = self._by_repetition(assembly)
        first = self._halves_of_labels(present) if balanced else self._halves_of_stimuli(present)
        compare: Callable[..., Any] = pearson_of_halves
        identifier = "internal_consistency"
        if self.consistency_metric is not None:
            compare = _SimilarityOfHalves(self.consistency_metric.kernel)
            identifier += f" ({self.consistency_metric.identifier})"
        with precision(self.dtype) as dtype:
            kernel = compiled(split_half_consistency, compare=compare)
            raw = np.asarray(kernel(jnp.asarray(trials, dtype), present, first))
        coords = neuroid_coords(assembly) if raw.ndim == 2 else {}
        made = provenance(identifier, dtype, random_state=self.random_state)
        return over_splits(raw, coords, made, formula="2r/(1+r)")

    def _by_repetition(self, assembly: xr.DataArray) -> tuple[np.ndarray, np.ndarray, bool]:
        """Trials as (repetitions, stimuli, neuroids), which of them exist, and whether all stimuli have the same."""
        stimuli = coordinate(assembly, STIMULUS, "presentation", "assembly")
        repetitions = coordinate(assembly, self.split_coord, "presentation", "assembly")
        values = np.asarray(assembly.values, float)
        measured = ~np.isnan(values).all(axis=1)  # a presentation without a single value did not happen
        column, ids = pd.factorize(stimuli[measured], sort=True)
        row, labels = pd.factorize(repetitions[measured], sort=True)
        cell = row * len(ids) + column
        repeated = pd.Index(cell).duplicated()
        if repeated.any():
            twice = pd.unique(stimuli[measured][repeated])
            raise ValueError(
                f"assembly holds the same {self.split_coord} more than once for {listed(twice, STIMULUS)}: "
                "number the repetitions of each stimulus, or select one condition"
            )
        shape = (len(labels), len(ids), values.shape[1])
        trials = np.full((shape[0] * shape[1], shape[2]), np.nan)
        trials[cell] = values[measured]
        trials = trials.reshape(shape)
        counts = np.bincount(column, minlength=len(ids))
        if len(ids) == 0 or counts.max() < 2:
            raise ValueError(
                f"internal consistency needs repeated stimuli: no stimulus has two values of {self.split_coord!r}"
            )
        return trials, np.isfinite(trials), bool((counts == len(labels)).all())

    def _halves_of_labels(self, present: np.ndarray) -> np.ndarray:
        r, n, _ = present.shape
        first = np.zeros((self.splits, r, n), bool)
        splitter = ShuffleSplit(self.splits, train_size=0.5, random_state=self.random_state)
        for split, (half, _) in enumerate(splitter.split(np.arange(r))):
            first[split, half] = True
        return first

    def _halves_of_stimuli(self, present: np.ndarray) -> np.ndarray:
        there = present.any(axis=2)
        rng = np.random.default_rng(self.random_state)
        keys = np.where(there, rng.random((self.splits, *there.shape)), np.inf)
        order = keys.argsort(axis=1).argsort(axis=1)
        return (order < there.sum(axis=0) // 2) & there


@dataclass(frozen=True)
class _SimilarityOfHalves:
    """A similarity over the stimuli that both halves have."""

    similarity: Callable[..., Any]

    def __call__(self, a: Any, b: Any) -> Any:
        there = jnp.all(jnp.isfinite(a) & jnp.isfinite(b), axis=1)
        a, b = (jnp.where(there[:, None], half, jnp.zeros_like(half)) for half in (a, b))
        return self.similarity(a, b, where=there)
