"""``score``: a model on a benchmark, or several of either, in this process."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bsjax.core.discovery import not_exiting
from bsjax.scoring.beside import Beside
from bsjax.scoring.isolation import isolated_score
from bsjax.scoring.job import built_benchmark, built_model, score_of
from bsjax.scoring.jobs import jobs_of
from bsjax.scoring.resolution import BenchmarkLike, ModelLike, is_many
from bsjax.scoring.serial import run

if TYPE_CHECKING:
    from bsjax.labelled import Score
    from bsjax.labelled.resampling.draws import Factor, Resampling
    from bsjax.labelled.resampling.permutations import Permutations


def score(
    model: ModelLike | Iterable[ModelLike] | None = None,
    benchmark: BenchmarkLike | Iterable[BenchmarkLike] | None = None,
    extraction: Mapping[str, Any] | None = None,
    *,
    isolated: bool = False,
    resampling: Resampling | Factor | Sequence[Factor] | None = None,
    null: Permutations | int | None = None,
    baselines: bool | str | Iterable[str] = False,
    model_identifier: str | None = None,
    benchmark_identifier: str | None = None,
    **benchmark_arguments: object,
) -> Score | dict[tuple[str, str], Score]:
    """Score a model on a benchmark.

    Args:
        model: an identifier (see :func:`bsjax.list_models`), a glob such as ``"*"``, a
            :class:`~bsjax.BrainModel`, or a list of these.
        benchmark: an identifier (see :func:`bsjax.list_benchmarks`), a glob, a benchmark, or a list of these.
        extraction: options for the extraction of the model's activations, those of
            :class:`~bsjax.activations.ExtractedActivations`: ``{"memory": "2GB", "batch_size": 32}``.
        isolated: score each pair in a process of its own, whose environment has what the ``requirements.txt`` of the
            plugins of its model and benchmark name; it is made by uv or pip, and kept. Models and benchmarks go by
            identifier.
        resampling: compute the score, and its ceiling with it, in draws of the stimuli, neuroids or subjects as well,
            for its interval and for comparisons of models: ``"stimuli"``, a pair such as ``("stimuli", "subjects")``,
            or a :class:`bsjax.Resampling`.
        null: compute the score as well after so many permutations of the stimuli, for what it is by chance: a number,
            or a :class:`bsjax.Permutations`. ``score.provenance`` then has the ``p_value``, the threshold ``tau``, and
            the ``calibrated`` similarity, see :func:`bsjax.inference.calibrated`.
        baselines: score models beside it that nobody takes for a brain, on the same benchmark: True for pixels,
            low-level statistics of the images, Gabor filters, a random network and the order of the stimuli; or
            identifiers. Their scores are in ``score.provenance["baselines"]``, and one that is as good as the model is
            warned of.
        model_identifier, benchmark_identifier: the names that ``model`` and ``benchmark`` have in Brain-Score.
        **benchmark_arguments: for the registered benchmarks that take them, e.g. ``data=DIR``.

    Returns:
        The :class:`~bsjax.Score`. If either argument is a glob or a list: a dict from (model identifier,
        benchmark identifier) to scores. There, a pair that fails is left out with a warning that says why.

    Raises:
        KeyError: an unknown identifier; the message names the nearest ones.
        TypeError: no model or no benchmark is given, or one by both of its names.
        ValueError: something that is neither a model nor a benchmark, an argument that no benchmark takes, or
            data that cannot be compared. For globs and lists, only if no pair at all has a score.
        FileNotFoundError: the benchmark needs data that were not given or are not there.
        RuntimeError: code of the model or the benchmark called ``sys.exit``. If isolated: any error of the pair.

    Example:
        >>> import bsjax
        >>> score = bsjax.score("gabor-v1", "Simulated.V1-ridge")
        >>> 0 < float(score) < 1
        True
        >>> drawn = bsjax.score("gabor-v1", "Simulated.V1-cka", resampling=bsjax.Resampling("stimuli", draws=200))
        >>> drawn.interval().kind, drawn.interval().low < float(drawn) < drawn.interval().high
        ('t', True)
        >>> bsjax.score("gabor-v1", "Simulated.V1-cka", null=199).provenance["p_value"]
        0.005
        >>> beside = bsjax.score("gabor-v1", "Simulated.V1-cka", baselines=["pixels"]).provenance["baselines"]
        >>> beside["pixels"] < float(drawn)
        True
        >>> sorted(bsjax.score("pixels", ["Simulated.V1-cka", "Simulated.V1-rdm"]))
        [('pixels', 'Simulated.V1-cka'), ('pixels', 'Simulated.V1-rdm')]
    """
    models = _either("model", model, model_identifier)
    benchmarks = _either("benchmark", benchmark, benchmark_identifier)
    beside = Beside.of(resampling, null, baselines)
    jobs = jobs_of(models, benchmarks, extraction, isolated=isolated, beside=beside, **benchmark_arguments)
    if not (is_many(models) or is_many(benchmarks)):
        [job] = jobs
        if isolated:
            return isolated_score(job)
        with not_exiting():
            return score_of(job, built_benchmark(job), built_model(job))
    outcomes = list(run(jobs, isolated=isolated))
    failed = [outcome for outcome in outcomes if outcome.error is not None]
    lines = [f"{outcome.model} on {outcome.benchmark}: {outcome.error_line}" for outcome in failed]
    if failed and len(failed) == len(outcomes):
        raise ValueError("no pair has a score:\n" + "\n".join(lines)) from failed[0].error
    for line in lines:
        warnings.warn(f"no score for {line}", stacklevel=2)
    return {(o.model, o.benchmark): o.score for o in outcomes if o.score is not None}


def _either(what: str, given: Any, by_other_name: str | None) -> Any:
    if (given is None) == (by_other_name is None):
        raise TypeError(f"score takes {what}=, or {what}_identifier= as in Brain-Score: give one of the two")
    return by_other_name if given is None else given
