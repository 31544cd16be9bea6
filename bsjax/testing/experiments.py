"""Checks of models and benchmarks."""

import warnings
from typing import Any

import numpy as np

from bsjax.benchmarks import benchmark_registry
from bsjax.benchmarks.families.simulated.procedural import procedural_stimuli
from bsjax.data import StimulusSet
from bsjax.labelled import Score
from bsjax.models import BrainModel, RecordingTarget, load_model, model_registry
from bsjax.submission.checks.check_benchmarks import ceiling_problem, version_problem
from bsjax.submission.checks.check_models import answer_problems
from bsjax.testing.contract import Check, Property, Violated, run_all, same, shown

_TIME_BIN = (70, 170)
_CLOSE = 1e-4  # relative to the largest response: rounding in float32 varies with the size of the batch


def check_model(model: Any, *, region: str | None = None) -> None:
    """Checks that a model responds to each stimulus independently, with the coordinates that benchmarks need.

    Args:
        model: an identifier of :func:`bsjax.list_models`, or a model.
        region: region to record; by default the first one that the model can record.

    Raises:
        ContractError: a property does not hold.

    Example:
        >>> check_model("pixels")
    """
    run_all(model_checks(model, region=region))


def model_checks(model: Any, *, region: str | None = None) -> list[Check]:
    """The checks of a model; see :func:`check_model`."""
    made = model_registry[model]() if isinstance(model, str) else model
    name = str(getattr(made, "identifier", type(made).__name__))
    stimuli = procedural_stimuli("contract", n_per_kind=1, n_pixels=64, visual_degrees=8, seed=0).iloc[:4]
    asked = _Model(made, region, stimuli)
    words = {
        "protocol": (asked.protocol, "the model has the members of a bsjax.BrainModel, and a visual field"),
        "answer": (
            asked.labels,
            "responses are a finite NeuroidAssembly of the shown stimuli, with unique unit identifiers",
        ),
        "repeatable": (asked.repeatable, "showing the stimuli again gives the same responses"),
        "order": (asked.order, "the order of the stimuli does not affect the responses"),
        "batch": (asked.batch, "the response to a stimulus does not depend on the other stimuli"),
        "stimuli": (asked.stimuli_stay, "the stimulus set is not modified"),
        "values": (asked.values, "responses differ between stimuli"),
    }
    return [Property(each, said, lambda rng, size, run=run: run()).of(name) for each, (run, said) in words.items()]


class _Model:
    """A model and the stimuli it is shown."""

    def __init__(self, model: Any, region: str | None, stimuli: StimulusSet) -> None:
        self.model, self.region, self.stimuli = model, region, stimuli

    def look(self, stimuli: StimulusSet) -> Any:
        self.model.start_recording(self.region or self._first_region(), [_TIME_BIN])
        return self.model.look_at(stimuli, number_of_trials=1)

    def responses(self, stimuli: StimulusSet) -> np.ndarray:
        """Responses to the stimuli, sorted by ``stimulus_id``."""
        answer = self.look(stimuli)
        order = [answer["stimulus_id"].values.tolist().index(each) for each in sorted(stimuli["stimulus_id"])]
        return np.asarray(answer.transpose("presentation", ...).values)[order]

    def protocol(self) -> None:
        if not isinstance(self.model, BrainModel):
            members = [name for name in dir(BrainModel) if not name.startswith("_") and name[0].islower()]
            raise Violated(f"it lacks {', '.join(name for name in members if not hasattr(self.model, name))}")
        if not float(self.model.visual_degrees()) > 0:
            raise Violated(f"visual_degrees() is {self.model.visual_degrees()!r}, expected the width of its field")

    def labels(self) -> None:
        _refuse(*answer_problems(self.look(self.stimuli), self.stimuli))

    def values(self) -> None:
        if not np.ptp(self.responses(self.stimuli), axis=0).any():
            raise Violated("the responses to all stimuli are the same")

    def repeatable(self) -> None:
        same(self.responses(self.stimuli), self.responses(self.stimuli), 0.0, "first and second time")

    def order(self) -> None:
        found = self.responses(self.stimuli)
        same(self.responses(self.stimuli.iloc[::-1]), found, _slack(found), "in the original and in reversed order")

    def batch(self) -> None:
        found = self.responses(self.stimuli)
        [alone] = self.responses(self.stimuli.iloc[:1])
        place = sorted(self.stimuli["stimulus_id"]).index(self.stimuli["stimulus_id"].iloc[0])
        same(alone, found[place], _slack(found), "with other stimuli and alone")

    def stimuli_stay(self) -> None:
        before = self.stimuli.copy(deep=True)
        self.look(self.stimuli)
        if not before.equals(self.stimuli):
            raise Violated("the stimulus set was modified: work on a copy")

    def _first_region(self) -> str:
        for region in (*getattr(self.model, "region_layer_map", ()), *RecordingTarget):
            try:
                self.model.start_recording(region, [_TIME_BIN])
            except (ValueError, KeyError, NotImplementedError):
                continue
            return region
        raise Violated("it cannot record V1, V2, V4 or IT: give the argument region")


def check_benchmark(benchmark: Any, *, model: Any = "pixels", chance: float = 0.35) -> None:
    """Checks that a benchmark scores a model repeatably, and a model with shuffled responses at chance.

    Args:
        benchmark: an identifier of :func:`bsjax.list_benchmarks`, or a benchmark.
        model: a model, or its identifier. It must be able to take part in the benchmark, and should score above chance.
        chance: highest allowed score of a model whose responses are assigned to the wrong stimuli.

    Raises:
        ContractError: a property does not hold.

    Example:
        >>> check_benchmark("Simulated.V1-cka", model="gabor-v1")  # doctest: +SKIP
        >>> [check.name for check in benchmark_checks("Simulated.V1-cka")][:2]
        ['description', 'ceiling']
    """
    run_all(benchmark_checks(benchmark, model=model, chance=chance))


def benchmark_checks(benchmark: Any, *, model: Any = "pixels", chance: float = 0.35) -> list[Check]:
    """The checks of a benchmark; see :func:`check_benchmark`."""
    made = benchmark_registry[benchmark]() if isinstance(benchmark, str) else benchmark
    candidate = load_model(model) if isinstance(model, str) else model
    asked = _Benchmark(made, candidate, chance)
    name = str(getattr(made, "identifier", type(made).__name__))
    words = {
        "description": (asked.description, "it has an identifier, a version of at least 1, a parent and a bibtex"),
        "ceiling": (asked.ceiling, "the ceiling is above 0 and at most 1, and the same at each call"),
        "score": (asked.score, "the score is a finite bsjax.Score that names the benchmark and the model"),
        "repeatable": (asked.repeatable, "scoring the model again gives the same score"),
        "permutations": (asked.shuffled, "a model whose responses are assigned to the wrong stimuli scores at chance"),
    }
    return [Property(each, said, lambda rng, size, run=run: run()).of(name) for each, (run, said) in words.items()]


class _Benchmark:
    """A benchmark and a model to score."""

    def __init__(self, benchmark: Any, model: Any, chance: float) -> None:
        self.benchmark, self.model, self.chance = benchmark, model, chance

    def of(self, model: Any) -> Score:
        with warnings.catch_warnings(action="ignore"):
            return self.benchmark(model)

    def description(self) -> None:
        lacking = [name for name in ("identifier", "version", "parent", "bibtex") if not hasattr(self.benchmark, name)]
        if lacking:
            raise Violated(f"it has no {', '.join(lacking)}")
        _refuse(version_problem(self.benchmark.version))

    def ceiling(self) -> None:
        _refuse(ceiling_problem(self.benchmark))
        first, second = (np.asarray(self.benchmark.ceiling, float) for _ in range(2))
        same(second, first, 0.0, "first and second call")

    def score(self) -> None:
        score = self.of(self.model)
        if not isinstance(score, Score):
            raise Violated(f"it returns a {type(score).__name__}")
        if not np.isfinite(np.asarray(score, float)).all():
            raise Violated(f"the score is {shown(score)}: {score.provenance.reason or 'no reason given'}")
        for what, expected in (("benchmark", self.benchmark.identifier), ("model", self.model.identifier)):
            if getattr(score.provenance, what) != expected:
                raise Violated(f"its provenance names the {what} {getattr(score.provenance, what)!r}, not {expected!r}")

    def repeatable(self) -> None:
        same(np.asarray(self.of(self.model)), np.asarray(self.of(self.model)), 1e-9, "first and second call")

    def shuffled(self) -> None:
        found = float(np.mean(np.asarray(self.of(_Shuffled(self.model)), float)))
        if found > self.chance:
            raise Violated(f"it scores {found:.3f}, expected at most {self.chance:g}")


class _Shuffled:
    """A model whose responses are assigned to the wrong stimuli."""

    looks_at_images = True

    def __init__(self, model: Any) -> None:
        self._model, self.identifier = model, f"{model.identifier}-shuffled"
        self.visual_degrees, self.start_task = model.visual_degrees, model.start_task
        self.start_recording = model.start_recording

    def look_at(self, stimuli: Any, number_of_trials: int = 1, require_variance: bool = False) -> Any:
        answer = self._model.look_at(stimuli, number_of_trials)
        order = np.random.default_rng(0).permutation(answer.sizes["presentation"])
        place = answer.dims.index("presentation")
        return answer.copy(data=np.take(answer.values, order, axis=place))


def _refuse(*problems: str) -> None:
    """Raise ``Violated`` with the problems that are not empty, if there are any."""
    if any(problems):
        raise Violated("; ".join(filter(None, problems)))


def _slack(values: np.ndarray) -> float:
    return _CLOSE * float(np.abs(values).max(initial=0.0))
