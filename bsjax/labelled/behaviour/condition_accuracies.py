"""Comparison of a model's and people's accuracies between conditions, such as altered or occluded images."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.labelled.aggregate import mean_score, nan_mean
from bsjax.labelled.align import STIMULUS, aligned, coordinate, listed, origins_of, quantity, require
from bsjax.labelled.behaviour.responses import PRESENTATION, SUBJECT, answered, equal, one_choice, read, refuse_where
from bsjax.labelled.behaviour.subject_halves import SPLITS, over_halves, random_halves
from bsjax.labelled.metric import InPrecision, WithCeiling
from bsjax.labelled.score import Score
from bsjax.labelled.settings import keep, whole_number
from bsjax.metrics.behaviour.confusions import condition_similarity, delta_reliability, delta_similarity

_CONDITION = ["occluder_type", "occluder_color"]


@dataclass(frozen=True)
class BakerAccuracyDelta(WithCeiling):
    r"""Similarity of the accuracy that an image alteration costs a model and people.

    .. math:: \max(0, 1 - |h - m| / |h|)

    Here ``m`` is the model's drop in accuracy from the first of the ``image_types`` to the second (averaged over the
    categories ``animal``), and ``h`` is the mean drop of a random half of the subjects. The score is the mean over
    ``splits`` halves, its error their population standard deviation, and ``raw`` has one value per split.

    Trials without a response (NaN) are left out. A subject without trials of an image type is left out of every half
    and counted in ``n_undefined``; ``n_units`` counts all subjects. A half whose drop is 0 scores 0. If no half drops,
    there is nothing to compare with, and the score is NaN.

    Args:
        image_types: the types of whole and of altered images, e.g. ``["w", "f"]``.
        splits: number of random halves of the subjects.
        random_state: seed of the halves.
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    Raises:
        ValueError: not two different image types.

    Source: Baker & Elder 2022.
    """

    identifier = "baker_accuracy_delta"
    zero_by_chance = False
    needs = ("image_type", SUBJECT)
    needs_of_source = ("image_type", "animal")

    image_types: Sequence[str] = field(hash=False)
    splits: int = SPLITS
    random_state: int = 0
    dtype: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.image_types, str) or len(set(self.image_types)) != 2:
            raise ValueError(
                f"image_types must be two different ones, whole and altered, e.g. ['w', 'f'], got {self.image_types!r}"
            )
        keep(self, image_types=list(self.image_types), splits=whole_number(self.splits, "splits", 1))

    def __call__(self, source: xr.DataArray, target: xr.DataArray) -> Score:
        """Compares a model with people.

        Args:
            source: the model's choices, one per presentation, with ``image_type`` and ``animal``, which is the truth.
            target: whether people were right (1) or wrong (0), with ``image_type`` and ``subject``.

        Raises:
            ValueError: a coordinate or an image type is missing, or the model has no image of a category.
        """
        source = one_choice(source, "source")
        types, animal = read(source, self.needs_of_source, "source")
        drop, animals = self._drops(types, animal, equal(source.values, animal), "source")
        lacking = f"source has no image of one of the image types {self.image_types} for"
        refuse_where(np.isnan(drop), animals, "animal", lacking)
        drops, mask, first = self._people(target, "target")
        raw = self.run_kernel(delta_similarity, drop.mean(), drops, mask, first)
        return over_halves(raw, "max(0, 1-|h-m|/|h|)", self.provenance(), mask)

    def ceiling(self, assembly: xr.DataArray) -> Score:
        """Similarity of the drops of two halves of the people: ``2c/(1+c)`` per split, then the median over splits.

        Args:
            assembly: as ``target``.

        Raises:
            ValueError: a coordinate or an image type is missing, or there is only one subject.
        """
        drops, mask, first = self._people(assembly, "assembly")
        raw = self.run_kernel(delta_reliability, drops, mask, first)
        return over_halves(raw, "2c/(1+c)", self.provenance(ceiling={}), mask, center="median")

    def _people(self, assembly: xr.DataArray, what: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The drop of each person, a mask of defined drops, and a mask of the first half in each split."""
        assembly = one_choice(assembly, what)
        types, subject = read(assembly, self.needs, what)
        mask = answered(assembly.values)
        right = np.where(mask, np.where(mask, assembly.values, 0).astype(float) != 0, np.nan)
        drops, subjects = self._drops(types, subject, right, what)
        people = origins_of(subjects, assembly, SUBJECT, PRESENTATION, what)
        return drops, ~np.isnan(drops), random_halves(people, self.splits, self.random_state, what)

    def _drops(
        self, types: np.ndarray, groups: np.ndarray, right: np.ndarray, what: str
    ) -> tuple[np.ndarray, np.ndarray]:
        """Accuracy on the first image type minus that on the second, per group; NaN if a type is missing."""
        missing = [name for name in self.image_types if name not in set(types)]
        if missing:
            known = listed(pd.unique(types), "types")
            raise ValueError(f"{what} has no image_type {', '.join(map(repr, missing))}; there are: {known}")
        whole, altered = self.image_types
        accuracies: Any = pd.Series(right.astype(float)).groupby([groups, types]).mean()
        means = accuracies.unstack()
        return (means[whole] - means[altered]).to_numpy(), means.index.to_numpy()


class ConditionAccuracySimilarity(InPrecision, WithCeiling):
    """Correlation, over occluder conditions, of a model's accuracy with each person's.

    Pearson's r is computed over the conditions that a person has done, which are the combinations of ``occluder_type``
    and ``occluder_color``; fully visible images do not count. The score is the mean over people, its error the standard
    error, and ``raw`` has one correlation per person. A person with an undefined correlation (equal accuracies in all
    conditions on either side) is left out and counted in ``n_undefined``.

    Args:
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    Source: Coggan & Tong (2024); the ceiling: Nili et al. (2014), PLoS Computational Biology.
    """

    identifier = "condition_accuracy_similarity"
    needs = (STIMULUS, SUBJECT, "object_class", "human_accuracy", "visibility", *_CONDITION)
    needs_of_source = (STIMULUS,)

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
        require(target, {PRESENTATION: self.needs}, "target")
        choices = aligned(source, target).values
        right = choices == coordinate(target, "object_class", PRESENTATION, "target")
        return self._correlations(_by_condition(target, right, "target"), _people(target, "target"), None)

    def ceiling(self, assembly: xr.DataArray) -> Score:
        """How well the mean accuracies of the other people predict each person's.

        Args:
            assembly: as ``target``.

        Raises:
            ValueError: a coordinate is missing, or there is only one person.
        """
        each = _people(assembly, "assembly")
        if len(each) < 2:
            raise ValueError(f"a ceiling needs at least two subjects; assembly has {len(each)}")
        others = [nan_mean(each.drop(index=subject).to_numpy().T) for subject in each.index]
        return self._correlations(pd.DataFrame(others, each.index, each.columns), each, {})

    def _correlations(self, one: pd.DataFrame, two: pd.DataFrame, ceiling: dict[str, Any] | None) -> Score:
        mask = np.isfinite(one.to_numpy()) & np.isfinite(two.to_numpy())
        raw = self.run_kernel(condition_similarity, *(np.where(mask, side.to_numpy(), 0) for side in (one, two)), mask)
        return mean_score(
            xr.DataArray(raw.astype(float), dims=[SUBJECT], coords={SUBJECT: two.index.to_numpy()}),
            SUBJECT,
            what="people",
            formula="r",
            n_units=len(raw),
            provenance=self.provenance(ceiling=ceiling),
        )


def _people(trials: xr.DataArray, what: str) -> pd.DataFrame:
    """Each person's accuracy per condition, from their own trials."""
    return _by_condition(trials, quantity(trials, "human_accuracy", PRESENTATION, what), what)


def _by_condition(trials: xr.DataArray, right: np.ndarray, what: str) -> pd.DataFrame:
    """Accuracies (people, conditions) on occluded images; NaN where a person has no trials."""
    names = [SUBJECT, *_CONDITION]
    table = pd.DataFrame(dict(zip(names, read(trials, names, what), strict=True))).assign(right=right.astype(float))
    occluded = table[quantity(trials, "visibility", PRESENTATION, what) < 1]
    return occluded.pivot_table(index=SUBJECT, columns=_CONDITION, values="right", aggfunc="mean", dropna=False)
