"""One cell of a grid, run where it is: built, scored, and put into the store at once."""

from __future__ import annotations

import os
import platform
import time
import traceback
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import jax

from bsjax.core.discovery import not_exiting, one_line
from bsjax.core.disk_errors import warn_once
from bsjax.core.identity.opened import Followed, Notes, following
from bsjax.core.memory import forget_peak, peak_held
from bsjax.labelled import Score
from bsjax.labelled.plain_values import to_plain
from bsjax.results import ResultStore
from bsjax.scoring.built import Kept, benchmark_of, model_of
from bsjax.scoring.cells import (
    cell_of,
    content_of_model,
    digest_of_parts,
    remember_content,
    remember_score,
    still_stands,
)
from bsjax.scoring.isolation import isolated_score
from bsjax.scoring.job import Job, score_of
from bsjax.scoring.jobs import KEPT_BENCHMARKS
from bsjax.scoring.planning import Cell


@dataclass(frozen=True)
class Done:
    """What came of a cell.

    Attributes:
        model: identifier.
        benchmark: identifier.
        state: "scored", "found" (the store had it, which showed only now) or "failed".
        key: of the score, or of the failure, in the store.
        error: what went wrong, in one line; "" if nothing did.
        seconds: wall time.
    """

    model: str
    benchmark: str
    state: str
    key: str
    error: str
    seconds: float


@dataclass(frozen=True)
class _Scored:
    """What came of a cell before it is kept.

    Attributes:
        key: digest of all that decides the score.
        came: the score, or the error instead.
        there: key of a score that the store has already.
        facts: what is known of the model.
        opened: what was read for it.
    """

    key: str | None
    came: Any = None
    there: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    opened: Notes = field(default_factory=dict)


@dataclass
class CellRunner:
    """Runs cells of one run; models and benchmarks stay built for those that follow.

    Attributes:
        place: URL of the store.
        run: name of the run in the store.
        again: whether to compute what the store has.
        isolated: whether each runs in a process of its own.
        raw_values: whether to keep what scores are aggregates of.
        images: called with the progress of each extraction.
    """

    place: str
    run: str
    again: bool = False
    isolated: bool = False
    raw_values: bool = True
    images: Callable[..., None] | None = None
    _models: Kept = field(default_factory=lambda: Kept(1), repr=False, init=False)
    _benchmarks: Kept = field(default_factory=lambda: Kept(KEPT_BENCHMARKS), repr=False, init=False)
    _contents: dict[Hashable, str | None] = field(default_factory=dict, repr=False, init=False)
    _of_models: dict[Hashable, Followed] = field(default_factory=dict, repr=False, init=False)
    _of_benchmarks: dict[Hashable, Notes] = field(default_factory=dict, repr=False, init=False)
    _have_scored: set[Hashable] = field(default_factory=set, repr=False, init=False)
    _store: ResultStore | None = field(default=None, repr=False, init=False)

    @property
    def store(self) -> ResultStore:
        """The store, opened when it is first needed."""
        if self._store is None:
            self._store = ResultStore(self.place)
        return self._store

    def task_of(self, cell: Cell) -> str:
        """The name of a cell in the run."""
        return self.task_of_pair(cell.job.model_identifier, cell.job.benchmark_identifier)

    @staticmethod
    def task_of_pair(model: str, benchmark: str) -> str:
        """The name of the cell of a pair in the run: short, as each score has one."""
        return digest_of_parts([model, benchmark])[:16]

    def groups(self, cells: Sequence[Cell]) -> list[list[Cell]]:
        """The cells in lists that are run together, in the order of their first.

        Most are alone. On an accelerator the answers to one benchmark of models that are built already, such as several
        layers of one network, can be compared in one call.
        """
        if self.isolated or jax.default_backend() == "cpu":
            return [[cell] for cell in cells]
        groups: dict[Hashable, list[Cell]] = {}
        for number, cell in enumerate(cells):
            job = cell.job
            alone = number if isinstance(job.model, str) else None
            groups.setdefault((job.benchmark_identifier, job.options, alone), []).append(cell)
        return list(groups.values())

    def __call__(self, cells: Sequence[Cell]) -> list[Done]:
        """Score the cells of a group; whatever goes wrong is kept as a failure.

        Raises:
            ValueError, OSError: the store cannot be written.
        """
        started, start = datetime.now(UTC).isoformat(timespec="seconds"), time.perf_counter()
        for cell in cells:
            self.store.begin_task(self.run, self.task_of(cell), f"{platform.node()} {os.getpid()}")
        is_told = forget_peak()
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            scored = self._scored(cells)
        # What is held by others, as by an isolated pair's process, is not told.
        memory = peak_held() if is_told and not self.isolated else None
        spent = (time.perf_counter() - start) / len(cells)
        for each in said:
            warnings.warn(str(each.message), each.category, stacklevel=2)
        log = "\n".join(one_line(Warning(each.message)) for each in said)
        return [self._kept(cell, one, log, memory, started, spent) for cell, one in zip(cells, scored, strict=True)]

    def _kept(self, cell: Cell, scored: _Scored, log: str, memory: int | None, started: str, seconds: float) -> Done:
        """Keep what came of a cell."""
        names, task, error = (cell.job.model_identifier, cell.job.benchmark_identifier), self.task_of(cell), None
        if scored.there is not None:
            self.store.end_task(self.run, task)
            return Done(*names, "found", scored.there, "", seconds)
        try:
            if isinstance(scored.came, Exception):
                raise scored.came
            if not isinstance(scored.came, Score):
                raise TypeError(
                    f"benchmark {names[1]!r} gave a {type(scored.came).__name__}, where a Score was expected"
                )
            key = self.store.add(
                scored.came,
                model=names[0],
                benchmark=names[1],
                run=self.run,
                task=task,
                cell=scored.key,
                facts=scored.facts,
                memory=memory,
                raw_values=self.raw_values,
            )
            if scored.key is not None and not self.isolated:
                remember_score(scored.key, key, self._of_model(cell.job).notes() | scored.opened)
            return Done(*names, "scored", key, "", seconds)
        except Exception as raised:  # also a score that cannot be written; a store that cannot is said below
            error = raised
        log = "".join(traceback.format_exception(error)) + log
        about = {"run": self.run, "task": task, "cell": cell.key, "started": started, "seconds": seconds}
        key = self.store.add_failure(*names, error, log=log, **about)
        return Done(*names, "failed", key, one_line(error), seconds)

    def _scored(self, cells: Sequence[Cell]) -> list[_Scored]:
        """What comes of cells that have one benchmark."""
        made: dict[int, _Scored] = {}
        models: dict[int, Any] = {}
        for number, cell in enumerate(cells):
            try:
                if self.isolated:
                    made[number] = _Scored(cell.key, isolated_score(cell.job))
                    continue
                with not_exiting():
                    with following(self._of_model(cell.job)):
                        model = model_of(cell.job, self._models, self.images, cell.ahead)
                        key = self._key(cell.job, model)
                there = None if self.again or key is None else self.store.scored([key]).get(key)
                if there is not None and not still_stands(cell.job, str(key), there):
                    there = None
                made[number] = _Scored(key, there=there, facts=_facts(model))
                if there is None:
                    models[number] = model
            except Exception as error:  # whatever one cell does, the others are still wanted
                made[number] = _Scored(cell.key, error)
        for number, (came, opened) in self._scores(cells[0].job, models).items():
            made[number] = replace(made[number], came=came, opened=opened)
        return [made[number] for number in range(len(cells))]

    def _scores(self, job: Job, models: Mapping[int, Any]) -> dict[int, tuple[Any, Notes]]:
        """The scores of models on the benchmark of a job, or errors instead of them, with what was read for each."""
        if not models:
            return {}
        made: dict[int, tuple[Any, Notes]] = {}
        place = job.benchmark if isinstance(job.benchmark, str) else id(job.benchmark), job.options.benchmark
        try:
            with not_exiting(), following() as followed:
                benchmark = benchmark_of(job, self._benchmarks)
            self._of_benchmarks[place] = self._of_benchmarks.get(place, {}) | followed.notes()
            if len(models) > 1 and hasattr(benchmark, "of_many") and not job.options.beside:
                with not_exiting(), following() as followed:
                    scores = benchmark.of_many(list(models.values()))
                notes = self._noted(place, followed, True)
                return {number: (came, notes) for number, came in zip(models, scores, strict=True)}
        except Exception as error:
            return dict.fromkeys(models, (error, {}))
        for number, model in models.items():
            came: Any = None
            with following() as followed:
                try:
                    with not_exiting():
                        came = score_of(job, benchmark, model)
                except Exception as error:
                    came = error
            made[number] = came, self._noted(place, followed, not isinstance(came, Exception))
        return made

    def _noted(self, benchmark: Hashable, followed: Followed, scored: bool) -> Notes:
        """What was read for a score, and what the benchmark, which stays built, has read for earlier ones.

        That is until its first score: then its data are loaded, and what is read is for one score alone.
        """
        if benchmark not in self._have_scored:
            self._of_benchmarks[benchmark] |= followed.notes()
            self._have_scored.update([benchmark] if scored else [])
        return self._of_benchmarks[benchmark] | followed.notes()

    def _key(self, job: Job, model: Any) -> str | None:
        of = job.model if isinstance(job.model, str) else id(job.model)
        if of not in self._contents:
            self._contents[of] = content_of_model(model)
            if self._contents[of] is None:
                warn_once(
                    f"scores of model {job.model_identifier!r} are computed each time, as a change of it could not be "
                    "noticed: vouch for it by version='1', and raise that with every change"
                )
            elif isinstance(job.model, str):
                remember_content(job.model, self._contents[of], self._of_model(job).notes())
        return cell_of(job, self._contents[of])

    def _of_model(self, job: Job) -> Followed:
        """What was read to build the model of a job."""
        of = job.model if isinstance(job.model, str) else id(job.model)
        return self._of_models.setdefault(of, Followed())


def _facts(model: Any) -> dict[str, Any]:
    """What is known of a model beside its name and digest."""
    facts: dict[str, Any] = {}
    with suppress(Exception):  # a model of a plugin may lack any of these
        facts["visual_degrees"] = float(model.visual_degrees())
    with suppress(Exception):
        facts["parameters"] = model.activations_model.n_parameters
    for name in ("region_layer_map", "behavioral_readout_layer"):
        with suppress(ValueError):
            facts[name] = to_plain(getattr(model, name, None), name)
    return {name: value for name, value in facts.items() if value is not None}
