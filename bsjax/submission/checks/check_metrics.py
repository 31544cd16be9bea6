"""The checklist for metrics."""

from typing import Any

import numpy as np

from bsjax.data import BehavioralAssembly, NeuroidAssembly
from bsjax.data.publishing.checklist import Check
from bsjax.labelled import Score, metric_registry
from bsjax.labelled.metric import as_metric
from bsjax.submission.checks.attempt import attempt, check

_STIMULI, _NEUROIDS, _REPETITIONS = 40, 6, 4


def check_metric(identifier: str) -> list[Check]:
    """Load a metric, and compare small simulated data with themselves.

    A metric of four arguments gets the same data for training and testing. A metric of one argument (a ceiling) gets
    single trials. A metric that fails on recordings is tried on choices.

    Example:
        >>> [item.passed for item in check_metric("rdm")]
        [True, True]
    """
    metric, problem = attempt(lambda: metric_registry[identifier]())
    checks = [check("loads", "the metric loads without settings", problem)]
    if problem:
        return checks
    return [*checks, check("compares", "data compared with themselves give a finite score", _of_itself(metric))]


def _of_itself(metric: Any) -> str:
    arguments = as_metric(metric).sides
    tried = {"recordings": _trials() if arguments == 1 else _recording(), "choices": _choices()}
    problems = []
    for what, data in tried.items():
        score, problem = attempt(lambda data=data: metric(*[data] * arguments))
        if problem:
            problems.append(f"on {what}: {problem}")
            continue
        if not isinstance(score, Score):
            return f"it gives a {type(score).__name__}: return a bsjax.Score"
        return "" if np.isfinite(score.values).all() else f"it gives {score.values} on {what}"
    return "; ".join(problems)


def _recording() -> NeuroidAssembly:
    return _trials().isel(presentation=slice(0, _STIMULI)).drop_vars("repetition")


def _trials() -> NeuroidAssembly:
    rng = np.random.default_rng(0)
    responses = rng.normal(size=(_STIMULI, _NEUROIDS))
    values = responses + rng.normal(size=(_REPETITIONS, _STIMULI, _NEUROIDS))
    return NeuroidAssembly(
        values.reshape(-1, _NEUROIDS),
        dims=["presentation", "neuroid"],
        coords={
            **_of_stimuli(_REPETITIONS),
            "repetition": ("presentation", np.repeat(np.arange(_REPETITIONS), _STIMULI)),
            "neuroid_id": ("neuroid", [f"neuroid-{number}" for number in range(_NEUROIDS)]),
            "region": ("neuroid", ["IT"] * _NEUROIDS),
        },
    )


def _choices() -> BehavioralAssembly:
    coords = _of_stimuli(_REPETITIONS)
    rng = np.random.default_rng(0)
    truth = coords["truth"][1]
    answers = np.where(rng.random(len(truth)) < 0.8, truth, rng.permutation(truth))
    subjects = np.repeat([f"subject-{number}" for number in range(_REPETITIONS)], _STIMULI)
    return BehavioralAssembly(
        answers,
        dims=["presentation"],
        coords={**coords, "choice": ("presentation", answers), "subject": ("presentation", subjects)},
    )


def _of_stimuli(repetitions: int) -> dict[str, tuple[str, np.ndarray]]:
    ids = np.array([f"stimulus-{number:02d}" for number in range(_STIMULI)])
    objects = np.array(["dog", "car", "face", "tree"])[np.arange(_STIMULI) % 4]
    named = {"stimulus_id": ids, **dict.fromkeys(("object_name", "image_label", "truth", "condition"), objects)}
    return {name: ("presentation", np.tile(values, repetitions)) for name, values in named.items()}
