"""Objects drawn with a share of their contours: the data Scialom2024, of Lonnqvist et al. (2025).

People named which of twelve objects an image showed: photographs, their contours, and nine shares of the contours, from
12 to 100 percent, drawn as dots ("phosphenes") or as short lines ("segments"). ``phosphenes-all`` and ``segments-all``
hold the eleven kinds of images that one group of 25 people saw.

``BehavioralAccuracyDistance`` asks whether a model is as accurate as people are, ``BehavioralErrorConsistency`` whether
it errs where they err, ``EngineeringAccuracy`` how often it is right. As in Brain-Score, only the error consistencies
show the images at their size of 8 degrees; in the others each fills the model's field.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from bsjax.benchmarks.ceilings import Ceiling
from bsjax.benchmarks.kinds.behavioural import BehavioralBenchmark
from bsjax.benchmarks.kinds.engineering import EngineeringAccuracy
from bsjax.benchmarks.lazy_loading import LazyLoad, content_of
from bsjax.benchmarks.rows.behaviours import behavior_rows, fields_of
from bsjax.core.messages import some
from bsjax.data import BehavioralAssembly, load_dataset, load_stimulus_set
from bsjax.labelled import load_metric


def accuracy_distance(identifier: str) -> BehavioralBenchmark:
    """How near a model's accuracy is to that of each person, over how near people's are to each other.

    A model that is nearer to people than they are to each other scores above 1.

    Args:
        identifier: ``"Scialom2024_<images>BehavioralAccuracyDistance"``.

    Raises:
        KeyError: no such benchmark.

    Source:
        Lonnqvist et al. (2025), ICML.

    Example:
        >>> benchmark = accuracy_distance("Scialom2024_segments-12BehavioralAccuracyDistance")
        >>> benchmark.visual_degrees, benchmark.parent
        (None, 'Scialom2024')
    """
    return _behavioral(identifier, "accuracy_distance")


def error_consistency(identifier: str) -> BehavioralBenchmark:
    """Whether a model errs on the images that people err on.

    Cohen's kappa with each person, per kind of images, averaged; over that of people with each other.

    Args:
        identifier: ``"Scialom2024_phosphenes-allBehavioralErrorConsistency"``, or ``segments-all``.

    Raises:
        KeyError: no such benchmark.

    Source:
        Lonnqvist et al. (2025), ICML.

    Example:
        >>> error_consistency("Scialom2024_segments-allBehavioralErrorConsistency").visual_degrees
        8
    """
    return _behavioral(identifier, "error_consistency", as_people_saw)


def engineering(identifier: str) -> EngineeringAccuracy:
    """How often a model names the object; the ceiling is 1.

    Args:
        identifier: ``"Scialom2024_<images>EngineeringAccuracy"``.

    Raises:
        KeyError: no such benchmark.

    Source:
        Lonnqvist et al. (2025), ICML.

    Example:
        >>> engineering("Scialom2024_rgbEngineeringAccuracy").number_of_trials
        10
    """
    row = behavior_rows()[identifier]
    return EngineeringAccuracy(
        identifier,
        lambda: load_stimulus_set(row["dataset"]),
        images=f"the images of {row['dataset']}",
        **fields_of(row),
    )


def as_people_saw(answers: BehavioralAssembly, people: BehavioralAssembly) -> BehavioralAssembly:
    """A model's answers with the ``condition`` and the ``truth`` of people's trials on the same stimuli.

    The published tables of the stimuli call all images of a composite set by its name; people's trials tell its kinds.

    Raises:
        ValueError: a stimulus has several conditions or truths, or people have not seen it.

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


def _behavioral(
    identifier: str, metric_identifier: str, prepared: Callable[[Any, Any], Any] | None = None
) -> BehavioralBenchmark:
    row = behavior_rows()[identifier]
    trials = LazyLoad(lambda: load_dataset(row["dataset"]))
    metric = load_metric(metric_identifier)
    return BehavioralBenchmark(
        identifier,
        trials,
        "label",
        metric,
        answers=None if prepared is None else lambda answers: prepared(answers, content_of(trials)),
        ceiling_func=Ceiling(metric.ceiling, trials),
        **fields_of(row),
        about=f"which of twelve objects people chose in {row['dataset']}",
    )
