"""``score``: one or several models on one or several benchmarks, in this process."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bsjax.core.discovery import one_line
from bsjax.core.files import warn_once
from bsjax.core.watching import watcher
from bsjax.scoring.display.bars import shown
from bsjax.scoring.display.report import failed_alike
from bsjax.scoring.display.scores import Scores
from bsjax.scoring.grid import run_in
from bsjax.scoring.job import Beside, Job, Outcome, jobs_of
from bsjax.scoring.planning import cells_of, with_layers_ahead
from bsjax.scoring.resolution import BenchmarkLike, ModelLike, is_many

if TYPE_CHECKING:
    from bsjax.labelled import Score
    from bsjax.labelled.resampling.draws import Factor, Resampling
    from bsjax.labelled.resampling.permutations import Permutations
    from bsjax.results import ResultStore


def score(
    model: ModelLike | Iterable[ModelLike],
    benchmark: BenchmarkLike | Iterable[BenchmarkLike],
    extraction: Mapping[str, Any] | None = None,
    *,
    store: ResultStore | str | Path | Literal[True] | None = True,
    isolated: bool = False,
    resampling: Resampling | Factor | Sequence[Factor] | None = None,
    null: Permutations | int | None = None,
    baselines: bool | str | Iterable[str] = False,
    progress: bool | None = None,
    **benchmark_arguments: object,
) -> Score | dict[tuple[str, str], Score]:
    """Score a model on a benchmark, or return the score that the store of results already has.

    A score is stored as soon as it is computed. It is reused as long as everything that determines it is unchanged:
    the model with its layers and weights, the benchmark and its data, the options, the files that were read, and bsjax
    itself. Benchmarks given as objects are scored every time, and their scores are not stored.

    Args:
        model: an identifier (see :func:`bsjax.list_models`), a glob such as ``"*"``, a :class:`~bsjax.BrainModel`, or
            a list of these.
        benchmark: an identifier (see :func:`bsjax.list_benchmarks`), a glob, a benchmark, or a list of these.
        extraction: options for the extraction of the model's activations, those of
            :class:`~bsjax.activations.ExtractedActivations`: ``{"memory": "2GB", "batch_size": 32}``.
        store: where scores are stored: a store or its location; by default ``$BSJAX_RESULTS``, else ``results.db`` in
            ``$BSJAX_HOME``. With None, scores are computed and not stored.
        isolated: score each pair in a separate process, in an environment with the packages that the
            ``requirements.txt`` of the model's and benchmark's plugins list. The environment is made by uv or pip, and
            kept. Models and benchmarks must be identifiers.
        resampling: also compute the score and its ceiling in bootstrap draws of stimuli, neuroids or subjects, for an
            interval and for comparisons of models: ``"stimuli"``, a pair such as ``("stimuli", "subjects")``, or a
            :class:`bsjax.Resampling`.
        null: also compute the score after this many permutations of the stimuli, for its chance level: a number, or a
            :class:`bsjax.Permutations`. ``score.provenance`` then has the ``p_value``, the threshold ``tau``, and the
            ``calibrated`` similarity, see :func:`bsjax.inference.calibration.calibrated`.
        baselines: also score nuisance baselines on the same benchmark: True for pixels, low-level image statistics,
            Gabor filters, a random network and the stimulus order; or identifiers. Their scores are in
            ``score.provenance["baselines"]``. Warns if a baseline is as good as the model.
        progress: True shows progress, False hides it. By default it is shown on a terminal and in notebooks.
        **benchmark_arguments: for the registered benchmarks that take them, e.g. ``data=DIR``.

    Returns:
        The :class:`~bsjax.Score`. If either argument is a glob or a list: :class:`bsjax.scoring.Scores`, a dict from
        (model identifier, benchmark identifier) to scores that prints as a table. Pairs that fail are then left out,
        with a warning that gives the reason.

    Raises:
        KeyError: an identifier is unknown; the message names the nearest ones.
        ValueError: an object is neither a model nor a benchmark, no benchmark takes an argument, or data cannot be
            compared. For globs and lists, only if no pair has a score.
        FileNotFoundError: the benchmark needs data that were not given or do not exist.
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
    asked = Beside.of(resampling, null, baselines)
    jobs = jobs_of(model, benchmark, extraction, isolated=isolated, beside=asked, **benchmark_arguments)
    with shown(len(jobs), progress):
        outcomes = _outcomes(jobs, store)
    if not (is_many(model) or is_many(benchmark)):
        [outcome] = outcomes
        if outcome.error is not None:
            raise outcome.error
        return outcome.score  # type: ignore[return-value]
    failed = [outcome for outcome in outcomes if outcome.error is not None]
    lines = [f"{model} on {', '.join(on)}: {error}" for (model, error), on in failed_alike(outcomes).items()]
    if failed and len(failed) == len(outcomes):
        raise ValueError("no pair has a score:\n" + "\n".join(lines)) from failed[0].error
    for line in lines:
        warnings.warn(f"no score for {line}", stacklevel=2)
    return Scores({(o.model, o.benchmark): o.score for o in outcomes if o.score is not None})


def run(jobs: Iterable[Job]) -> Iterator[Outcome]:
    """Score jobs one after the other without storing anything, and yield each outcome when it is ready.

    Args:
        jobs: from :func:`~bsjax.scoring.job.jobs_of`.

    Example:
        >>> [outcome.error for outcome in run(jobs_of("pixels", "Simulated.V1-ridge"))]
        [None]
    """
    from bsjax.scoring.runner import Runner
    from bsjax.scoring.sinks import Sink

    return Runner(Sink())(with_layers_ahead(cells_of(list(jobs), None)))


def _outcomes(jobs: list[Job], store: Any) -> list[Outcome]:
    """The outcomes of jobs in their order, with full scores."""
    kept = None if store is None or store is False else _opened(jobs, store)
    cells = with_layers_ahead(cells_of(jobs, kept))
    missing = [cell for cell in cells if cell.score is None]
    there = {cell.names: cell.score for cell in cells if cell.score is not None}
    came = {}
    if kept is not None:
        from bsjax.results.reading import read_scores

        kept.confirm(there.values())
        scores = dict(read_scores(kept, there.values()))
        came = {names: Outcome(*names, scores[key], state="found", key=key) for names, key in there.items()}
    if not missing:
        return [came[job.names] for job in jobs]
    from bsjax.scoring.runner import Runner
    from bsjax.scoring.sinks import IntoStore, Sink

    with nullcontext("") if kept is None else run_in(kept, len(missing)) as run:
        runner = Runner(Sink() if kept is None else IntoStore(kept.place, run, whole=True))
        for outcome in runner(missing):
            watcher().came(outcome)
            came[outcome.model, outcome.benchmark] = outcome
    return [came[job.names] for job in jobs]


def _opened(jobs: list[Job], store: Any) -> ResultStore | None:
    """The store; None if no job could be found in it, or if the default store cannot be opened."""
    is_place = store is True or isinstance(store, str | Path)
    if is_place and not any(isinstance(job.benchmark, str) for job in jobs):
        return None
    from bsjax.results.database import VARIABLE
    from bsjax.results.store import store_at

    try:
        return store_at(store)
    except OSError as error:
        if store is not True or os.environ.get(VARIABLE):
            raise
        warn_once(f"scores are computed each time, as there is no store of results: {one_line(error)}")
        return None
