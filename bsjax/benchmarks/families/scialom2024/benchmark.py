"""Objects drawn with a part of their contours: the data Scialom2024, of Lonnqvist et al. (2025).

People named which of twelve objects an image showed. The images are photographs, their contours, and nine levels of the
contours, from 12 to 100 percent, drawn as dots ("phosphenes") or as short lines ("segments"). ``phosphenes-all`` and
``segments-all`` hold the eleven kinds of images that one group of 25 people saw.

``BehavioralAccuracyDistance`` compares a model's accuracy with people's, ``BehavioralErrorConsistency`` measures
whether it errs where people err, and ``EngineeringAccuracy`` is its accuracy. As in Brain-Score, only the error
consistencies show the images at their size of 8 degrees; in the others each fills the model's field of view.
"""

from __future__ import annotations

import pandas as pd

from bsjax.benchmarks.kinds.behavioural import BehavioralBenchmark
from bsjax.benchmarks.kinds.published_behaviours import behavioural_benchmark
from bsjax.benchmarks.lazy_loading import LazyLoad, content_of
from bsjax.benchmarks.rows.row import BenchmarkRow
from bsjax.core.messages import some
from bsjax.data import BehavioralAssembly, load_dataset


def error_consistency(row: BenchmarkRow) -> BehavioralBenchmark:
    """Whether a model errs on the images that people err on.

    Cohen's kappa with each person, per kind of images, averaged, and divided by the kappa of people with each other.

    Args:
        row: the row of ``"Scialom2024_phosphenes-allBehavioralErrorConsistency"``, or of ``segments-all``.

    Source:
        Lonnqvist et al. (2025), ICML.

    Example:
        >>> from bsjax import load_benchmark
        >>> load_benchmark("Scialom2024_segments-allBehavioralErrorConsistency").visual_degrees
        8
    """
    trials = LazyLoad(lambda: load_dataset(row.data[0]))
    return behavioural_benchmark(row, trials, answers=lambda answers: as_people_saw(answers, content_of(trials)))


def as_people_saw(answers: BehavioralAssembly, people: BehavioralAssembly) -> BehavioralAssembly:
    """A model's answers with the ``condition`` and ``truth`` of people's trials on the same stimuli.

    In the published stimulus tables, all images of a composite set have the set's name as condition; people's trials
    have the actual condition.

    Raises:
        ValueError: a stimulus has several conditions or truths, or is missing from people's trials.

    Example:
        >>> seen = {"stimulus_id": ["a", "b"], "condition": ["RGB", "segments"], "truth": ["Cup", "Cup"]}
        >>> people = BehavioralAssembly(["Cup", "Pan"], dims=["presentation"],
        ...     coords={name: ("presentation", values) for name, values in seen.items()})
        >>> model = BehavioralAssembly(["Cup"], dims=["presentation"], coords={
        ...     "stimulus_id": ("presentation", ["b"]), "condition": ("presentation", ["all"])})
        >>> as_people_saw(model, people)["condition"].values.tolist()
        ['segments']
    """
    names = ["stimulus_id", "condition", "truth"]
    known = pd.DataFrame({name: people[name].values for name in names}).drop_duplicates()
    several = known.loc[known["stimulus_id"].duplicated(), "stimulus_id"].unique()
    if len(several):
        raise ValueError(f"people's trials give several conditions or truths for the stimuli {some(several)}")
    ids = answers["stimulus_id"].values
    rows = pd.Index(known["stimulus_id"]).get_indexer(pd.Index(ids))
    if (rows < 0).any():
        raise ValueError(f"people have not seen the stimuli {some(pd.unique(ids[rows < 0]))}")
    return answers.assign_coords({name: ("presentation", known[name].to_numpy()[rows]) for name in names[1:]})
