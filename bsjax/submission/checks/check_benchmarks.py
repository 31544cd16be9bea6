"""The checklist for benchmarks."""

import re
from typing import Any

import numpy as np

from bsjax.benchmarks import PropertiesBenchmark, benchmark_registry
from bsjax.data import PropertyAssembly
from bsjax.data.publishing.checklist import Check, id_problems, name_problems, nan_problems
from bsjax.labelled import Score
from bsjax.models import Task, load_model
from bsjax.submission.checks.attempt import attempt, check
from bsjax.submission.checks.bibtex import bibtex_problems, placeholder_note

_PARENTS = ("V1", "V2", "V4", "IT", "behavior", "engineering")
_METRIC = re.compile(r"(.+)-([A-Za-z0-9][A-Za-z0-9_]*)")


def check_benchmark(identifier: str) -> list[Check]:
    """Load a benchmark, check its metadata, compute its ceiling, and score a built-in model on it.

    Example:
        >>> for item in check_benchmark("Simulated.V1-ridge"):
        ...     print(item.name, item.passed)
        loads True
        identifier False
        version True
        parent True
        bibtex False
        ceiling True
        data True
        size True
        scores True
    """
    benchmark, problem = attempt(lambda: benchmark_registry[identifier]())
    checks = [check("loads", "the benchmark loads", problem)]
    if problem:
        return checks
    parent = getattr(benchmark, "parent", "")
    return [
        *checks,
        check("identifier", "its name has the form [lab.]AuthorYear[.region]-metric", *_name(identifier, benchmark)),
        check("version", "version is a whole number from 1", version_problem(getattr(benchmark, "version", None))),
        check("parent", _parent(parent), "" if parent else f"give parent=, one of {', '.join(_PARENTS)}, or a group"),
        _bibtex(getattr(benchmark, "bibtex", "") or ""),
        check("ceiling", "the ceiling is above 0 and at most 1", ceiling_problem(benchmark)),
        *_data(benchmark),
        *_scores(benchmark),
    ]


def _name(identifier: str, benchmark: Any) -> list[str]:
    own, identifier = getattr(benchmark, "identifier", None), identifier.removeprefix("brainscore:")
    problems = [] if own == identifier else [f"it is registered as {identifier!r} and calls itself {own!r}: use one"]
    parts = _METRIC.fullmatch(identifier)
    if parts is None:
        problems.append(f"{identifier!r} does not end in the metric, as in 'MajajHong2015.IT-pls'")
    return problems + name_problems(parts[1] if parts else identifier)


def version_problem(version: Any) -> str:
    """Say what is wrong with the version of a benchmark; "" if nothing is."""
    right = isinstance(version, int) and not isinstance(version, bool) and version >= 1
    return "" if right else f"version is {version!r}: begin with 1 and raise it whenever the scores change"


def _parent(parent: str) -> str:
    if not parent:
        return "parent names the average that it belongs to"
    known = parent in _PARENTS or any(
        name.startswith(parent) and name[len(parent) :][:1] in ("", ".", "-", "_") for name in benchmark_registry
    )
    return f"it is averaged under {parent}" + ("" if known else ", a group without other benchmarks")


def _bibtex(bibtex: str) -> Check:
    """Check the publication; skipped if it is still that of the template."""
    problems = tuple(bibtex_problems(bibtex))
    return Check("bibtex", "bibtex names the publication", problems, "" if problems else placeholder_note(bibtex))


def ceiling_problem(benchmark: Any) -> str:
    """Say what is wrong with the ceiling of a benchmark; "" if nothing is."""
    ceiling, problem = attempt(lambda: benchmark.ceiling)
    if problem:
        return problem
    if not isinstance(ceiling, Score):
        return f"it is a {type(ceiling).__name__}: have ceiling_func give a bsjax.Score"
    values = np.asarray(ceiling.values, float)
    if not np.isfinite(values).all():
        return f"it is {_range(values)}: are stimuli repeated, and responses not constant?"
    if values.min() <= 0:
        return f"it is {_range(values)}: the data do not repeat; are repetitions and stimuli matched?"
    if values.max() > 1:
        return f"it is {_range(values)}: estimate it from single trials, not from averages"
    return ""


def _range(values: np.ndarray) -> str:
    low, high = f"{values.min():.3g}", f"{values.max():.3g}"
    return low if low == high else f"{low} to {high}"


def _data(benchmark: Any) -> list[Check]:
    """Check the data of benchmarks that have a ``target``."""
    if getattr(type(benchmark), "target", None) is None:
        return []
    target, problem = attempt(lambda: benchmark.target)
    if problem:
        return [check("data", "its data load", problem)]
    # Not every neuron has every property.
    problems = _outside(target) if isinstance(target, PropertyAssembly) else nan_problems(target)
    stimuli = target.attrs.get("stimulus_set")
    if stimuli is None:
        stimuli, _ = attempt(lambda: benchmark.stimuli)
    if stimuli is None:
        problems.append("the assembly has no attrs['stimulus_set'], the images to show")
    elif "stimulus_id" in stimuli:
        problems += id_problems(stimuli.set_index("stimulus_id").index)
    checks = [check("data", "its data have no missing values, and each stimulus has an id", *problems)]
    if stimuli is None or isinstance(target, PropertyAssembly):
        return checks
    known = getattr(benchmark, "visual_degrees", None) is not None or "degrees" in stimuli
    unsized = "" if known else "each image fills the model's field of view: pass visual_degrees=, or a column degrees"
    return [*checks, Check("size", "it says how wide the stimuli are, in degrees", skipped=unsized)]


def _outside(properties: PropertyAssembly) -> list[str]:
    """Properties with values outside the bins of their histograms, which would count in the outermost bins."""
    problems = []
    for name in properties["neuroid_property"].values.tolist():
        edges = properties.attrs.get(f"{name}_bins")
        if edges is None:
            continue
        values, low, high = properties.sel(neuroid_property=name).values, float(np.min(edges)), float(np.max(edges))
        if number := int(np.sum((values < low) | (values > high))):
            problems.append(
                f"{number} values of {name} lie outside its bins, {low:g} to {high:g}, and count in the outermost: "
                "fold them if they are circular, or add bins"
            )
    return problems


def _scores(benchmark: Any) -> list[Check]:
    """Score a built-in model; skipped if the benchmark asks to name objects, which no built-in model does."""
    # The model "pixels" is fast, but has no tuning.
    model: Any = _Asked(load_model("gabor-v1" if isinstance(benchmark, PropertiesBenchmark) else "pixels"))
    asks = f"{model.identifier}, a built-in model, has a score"
    score, problem = attempt(lambda: benchmark(model))
    if problem and model.names_objects:
        return [Check("scores", asks, skipped=f"{model.identifier} names no objects: score a model that does")]
    if score is not None and np.isnan(score.values).any():
        problem = f"its score is NaN: {score.provenance.reason or 'are its responses constant?'}"
    return [check("scores", asks, problem)]


class _Asked:
    """A model that records whether it was asked to name objects."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.names_objects = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def start_task(self, task: Task | str, *arguments: Any, **settings: Any) -> None:
        self.names_objects |= Task(task) is Task.label
        self._model.start_task(task, *arguments, **settings)
