"""Behavioural benchmarks: comparisons of a model's choices with people's choices on the same stimuli."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bsjax.benchmarks import descriptions as wording
from bsjax.benchmarks.base import BenchmarkBase
from bsjax.benchmarks.data_digest import data_digest
from bsjax.benchmarks.descriptions import Paradigm
from bsjax.benchmarks.experiment import complete, placed, stimuli_of
from bsjax.benchmarks.lazy_loading import LazyLoad, loader
from bsjax.data import BehavioralAssembly, StimulusSet
from bsjax.labelled import Score
from bsjax.labelled.metric import as_metric, scored
from bsjax.labelled.normalise import Normalisation
from bsjax.models import BrainModel

if TYPE_CHECKING:
    from bsjax.data import DataAssembly

Task = BrainModel.Task


class BehavioralBenchmark(BenchmarkBase):
    """Similarity of a model's behaviour to people's in a task on the same stimuli.

    The model is asked to do the task and sees the stimuli at their size in degrees. The metric compares its answers
    with people's trials, and the result is put on the scale of the ceiling.

    Args:
        identifier: unique name of the benchmark.
        assembly: people's trials, with ``stimulus_id`` and the coordinates that the metric needs: an assembly, a
            function without arguments that loads it, or a ``LazyLoad``; loaded when a score first needs it.
        task: a :class:`~bsjax.BrainModel.Task` or its string.
        similarity_metric: ``metric(answers of the model, assembly) -> Score``.
        fitting_stimuli: what the task needs. For ``"label"``, the choices: a list or ``"imagenet"``; by default the
            sorted values of the assembly's ``truth``. For ``"probabilities"``, training stimuli with ``image_label``
            (loaded like ``assembly``). The other tasks need nothing.
        stimuli: the stimuli that the model sees, loaded like ``assembly``; by default the assembly's stimulus set.
        answers: ``answers(behaviour) -> behaviour``, applied to the model's answers before the comparison, e.g. to
            take the most probable choice.
        visual_degrees: width of the stimuli; ``None`` as for :class:`~bsjax.benchmarks.NeuralBenchmark`.
        fitting_degrees: width of the fitting stimuli, if it differs; by default that in their column ``degrees``, or
            else ``visual_degrees``.
        number_of_trials: number of presentations of each stimulus.
        require_variance: whether trials must differ, by microsaccades.
        ceiling_func, version, parent, bibtex, normalisation, about: as for :class:`~bsjax.benchmarks.NeuralBenchmark`;
            the default normalisation is that of the metric, or else score over ceiling.

    Raises:
        ValueError: the task is unknown, or ``ceiling_func`` is missing.
        KeyError: the normalisation is unknown.

    Example:
        >>> from bsjax import load_metric
        >>> from bsjax.benchmarks import Ceiling
        >>> from bsjax.models import PrecomputedFeatures
        >>> trials = {"stimulus_id": ("presentation", ["a", "b", "a", "b"]), "truth": ("presentation", ["cat"] * 4),
        ...     "condition": ("presentation", ["clear"] * 4), "subject": ("presentation", ["p", "p", "q", "q"])}
        >>> people = BehavioralAssembly(["cat", "dog", "cat", "dog"], coords=trials, dims=["presentation"],
        ...     attrs={"stimulus_set": StimulusSet({"stimulus_id": ["a", "b"]})})
        >>> metric = load_metric("error_consistency")
        >>> benchmark = BehavioralBenchmark("Mine2026-error_consistency", people, "label", metric,
        ...     ceiling_func=Ceiling(metric.ceiling, people), parent="behavior")
        >>> model = PrecomputedFeatures(people[:2].drop_vars("subject"), visual_degrees=8)
        >>> float(benchmark(model))
        1.0
    """

    def __init__(
        self,
        identifier: str,
        assembly: BehavioralAssembly | Callable[[], Any] | LazyLoad,
        task: str,
        similarity_metric: Callable[..., Score],
        *,
        fitting_stimuli: Sequence[str] | str | StimulusSet | Callable[[], StimulusSet] | LazyLoad | None = None,
        stimuli: StimulusSet | Callable[[], StimulusSet] | LazyLoad | None = None,
        answers: Callable[[Any], Any] | None = None,
        visual_degrees: float | None = None,
        fitting_degrees: float | None = None,
        number_of_trials: int = 1,
        require_variance: bool = False,
        ceiling_func: Callable[[], Score] | None = None,
        version: int = 1,
        parent: str = "",
        bibtex: str = "",
        normalisation: str | Normalisation | None = None,
        about: str = "",
    ) -> None:
        if normalisation is None:
            normalisation = as_metric(similarity_metric).normalisation or "ceil_score"
        super().__init__(identifier, ceiling_func, version, parent, bibtex, normalisation=normalisation)
        self.task = Task(task)
        self.metric = similarity_metric
        self.visual_degrees = visual_degrees
        self.fitting_degrees = visual_degrees if fitting_degrees is None else fitting_degrees
        self._states_fitting_degrees = fitting_degrees is not None
        self.number_of_trials = number_of_trials
        self.require_variance = require_variance
        self.about = about
        self._answers = answers
        self._load_assembly = loader(assembly)
        self._load_fitting = loader(fitting_stimuli)
        self._names_truths = fitting_stimuli is None and self.task is Task.label
        self._load_stimuli = None if stimuli is None else loader(stimuli)

    @cached_property
    def assembly(self) -> DataAssembly:
        """People's trials.

        Raises:
            ValueError: required coordinates or the stimuli are missing; the message names all of them.
        """
        assembly = self._load_assembly()
        metric, of_assembly = as_metric(self.metric), self._load_stimuli is None
        needs = [name for name in metric.needs if metric.other_names.get(name) not in assembly.coords]
        needs += ["truth"] if self._names_truths else []
        if needs or of_assembly:
            stimuli = assembly.attrs.get("stimulus_set")
            columns = [name for name in metric.needs_of_source if stimuli is None or name not in stimuli]
            lost = f". Its stimuli lack the columns {', '.join(columns)}, which the model's answers need"
            complete(assembly, self.identifier, {"presentation": needs}, of_assembly, lost if columns else "")
        return assembly

    @cached_property
    def stimuli(self) -> StimulusSet:
        """The stimuli that the model sees."""
        return stimuli_of(self.assembly, self.identifier) if self._load_stimuli is None else self._load_stimuli()

    @cached_property
    def fitting_stimuli(self) -> Any:
        """The choices, or the training stimuli, that the task needs."""
        given = self._load_fitting()
        if self._names_truths:
            return sorted(np.unique(self.assembly["truth"].values.astype(str)).tolist())
        return given

    @cached_property
    def made_from(self) -> dict[str, Any]:
        """The task, the digest of people's trials and the number of stimuli, for the provenance."""
        return {"task": self.task.value, "data": data_digest(self.assembly), "n_stimuli": len(self.stimuli)}

    def ask(self, candidate: BrainModel) -> None:
        """Start the task; the model may learn from the fitting stimuli.

        Raises:
            ValueError: the model cannot do the task.
        """
        fitting = self.fitting_stimuli
        if isinstance(fitting, StimulusSet):
            of_table = "degrees" in fitting.columns and not self._states_fitting_degrees
            fitting = placed(fitting, candidate, None if of_table else self.fitting_degrees)
        candidate.start_task(self.task, fitting)

    def observe(self, candidate: BrainModel, stimuli: StimulusSet) -> Any:
        """The model's answers to stimuli on its screen (see ``stimuli_for``), in the form that the metric compares."""
        # Older models do not know the argument.
        variance = {"require_variance": True} if self.require_variance else {}
        behaviour = candidate.look_at(stimuli, number_of_trials=self.number_of_trials, **variance)
        return behaviour if self._answers is None else self._answers(behaviour)

    def compare(self, observed: Any) -> Score:
        """The similarity of the model's answers to people's, before normalisation."""
        return scored(self.metric, observed, self.assembly)

    def paradigm(self) -> Paradigm:
        """The stimuli, task, comparison and normalisation in words; loads no data."""
        return Paradigm(
            wording.shown("the stimuli of the experiment", self.visual_degrees, self.number_of_trials),
            wording.asked(self.task.value),
            f"with {self.about or 'human behaviour'}, by {wording.metric_words(self.metric)}",
            wording.normalised(self.ceiling_func, self.normalisation),
        )
