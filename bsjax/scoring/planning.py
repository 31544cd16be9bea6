"""The plan of a grid: its cells, which of them have scores already, which cannot have one, and what the others take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bsjax.benchmarks import BenchmarkRow, benchmark_registry, benchmark_row
from bsjax.core.extras import installation_of
from bsjax.core.messages import in_words
from bsjax.data.catalogue.registry import data_rows
from bsjax.models import model_registry
from bsjax.models.sources.by_name import Name
from bsjax.scoring.beside import Beside
from bsjax.scoring.cells import cell_of, content_of_model, known_content, standing, task_of
from bsjax.scoring.job import Job
from bsjax.scoring.jobs import jobs_of, same_data

if TYPE_CHECKING:
    from bsjax.results import ResultStore
    from bsjax.scoring.resolution import BenchmarkLike, ModelLike

_STATES = ("compute", "scored", "blocked")
_MOST_SHOWN = 20


@dataclass(frozen=True)
class Cell:
    """One model on one benchmark, as it is planned.

    Attributes:
        job: what is to be run.
        task: its name in a run, and on leases.
        key: digest of all that decides the score; None where that is known only when it runs.
        state: "compute", "scored" (the store has its score) or "blocked" (it cannot have one here).
        reason: why it is blocked.
        score: the key of its score in the store.
        seconds: what it will take, by what the store has seen; None where it has seen nothing like it.
        memory: bytes that a process will hold at most, likewise.
        ahead: layers, or regions whose layers, other cells record of the same network for the same stimuli.
        ended: the process that was at it when it ended without a word; "" if none was.
    """

    job: Job
    task: str
    key: str | None = None
    state: str = "compute"
    reason: str = ""
    score: str | None = None
    seconds: float | None = None
    memory: int | None = None
    ahead: tuple[str, ...] = ()
    ended: str = ""

    @property
    def names(self) -> tuple[str, str]:
        """Identifiers of the model and the benchmark."""
        return self.job.model_identifier, self.job.benchmark_identifier


@dataclass(frozen=True)
class Plan(Sequence[Cell]):
    """The cells of a grid. Printed, it says how many are of which state, and why some cannot be scored.

    Attributes:
        cells: in the order in which they are run.
    """

    cells: tuple[Cell, ...]

    def __len__(self) -> int:
        return len(self.cells)

    def __getitem__(self, place: Any) -> Any:
        return self.cells[place]

    def of(self, state: str) -> list[Cell]:
        """The cells of a state.

        Raises:
            ValueError: there is no such state.
        """
        if state not in _STATES:
            raise ValueError(f"state must be one of {', '.join(_STATES)}, got {state!r}")
        return [cell for cell in self.cells if cell.state == state]

    @property
    def seconds(self) -> float | None:
        """What the cells to compute take together, one after the other; None where nothing of them is known.

        Those of which nothing is known count as the mean of the others.
        """
        cells = self.of("compute")
        known = [cell.seconds for cell in cells if cell.seconds is not None]
        return None if not known else sum(known) / len(known) * len(cells)

    @property
    def memory(self) -> int | None:
        """The most bytes that one of the cells to compute takes; None where nothing of them is known."""
        return max((cell.memory for cell in self.of("compute") if cell.memory is not None), default=None)

    def __str__(self) -> str:
        numbers = Counter(cell.state for cell in self.cells)
        head = f"{len(self)} cells: {numbers['compute']} to compute, {numbers['scored']} in the store, "
        lines = [f"{head}{numbers['blocked']} cannot be scored here"]
        if numbers["compute"]:
            lines.append(f"time    {_time(self.seconds)}")
            lines.append(
                f"memory  {'not known yet' if self.memory is None else f'at most {in_words(self.memory)} a cell'}"
            )
        for cell in self.of("compute"):
            if cell.ended:
                lines.append(f"last    {' on '.join(cell.names)}: {cell.ended} ended while computing it")
        blocked = self._blocked()
        for reason, names in list(blocked.items())[:_MOST_SHOWN]:
            more = f" and {len(names) - 2} more" if len(names) > 3 else ""
            lines.append(f"cannot  {', '.join(names[:2] if more else names)}{more}: {reason}")
        if len(blocked) > _MOST_SHOWN:
            lines.append(f"        and {len(blocked) - _MOST_SHOWN} more reasons")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def _blocked(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for cell in self.of("blocked"):
            found.setdefault(cell.reason, []).append(" on ".join(cell.names))
        return found


def plan(
    models: ModelLike | Iterable[ModelLike],
    benchmarks: BenchmarkLike | Iterable[BenchmarkLike],
    extraction: Mapping[str, Any] | None = None,
    *,
    store: ResultStore | str | Path | Literal[True] = True,
    again: bool = False,
    isolated: bool = False,
    beside: Beside | None = None,
    **benchmark_arguments: object,
) -> Plan:
    """What scoring models on benchmarks would do, before anything runs: no model is built, and no data are loaded.

    Models that are given as objects are built already, so that their content is known; of one that is given by its
    identifier it is known if the store has seen it before. What is found to be in the store only when it runs is not
    computed then either.

    Args:
        models: identifiers, globs, models.
        benchmarks: identifiers, globs, benchmarks.
        extraction: options for the extraction of activations, those of
            :class:`~bsjax.activations.ExtractedActivations`, e.g. ``{"memory": "2GB"}``.
        store: the store of results, or its place; that of ``$BSJAX_RESULTS`` or ``$BSJAX_HOME`` if not given.
        again: whether to compute what is in the store, too.
        isolated: whether each runs in a process of its own; then no plugin is imported here, and an extra that is
            missing here is no obstacle.
        beside: what is computed beside each score, such as ``Beside.of("stimuli", null=99)``; scores without that, or
            with something else, are other scores.
        **benchmark_arguments: for the registered benchmarks that take them.

    Raises:
        KeyError: an unknown identifier.
        ValueError: an object that is neither, or an argument that no benchmark takes; or the store cannot be read.

    Example:
        >>> import tempfile
        >>> from bsjax.results import ResultStore
        >>> with tempfile.TemporaryDirectory() as folder, ResultStore(f"{folder}/results.db") as store:
        ...     print(plan("pixels", ["Simulated.V1-pls", "Cowley2026.V4-pls"], store=store))
        2 cells: 1 to compute, 0 in the store, 1 that cannot be scored here
        time    not known yet
        memory  not known yet
        cannot  pixels on Cowley2026.V4-pls: it needs data=..., the folder of its recordings
    """
    from bsjax.results.store import store_at

    kept = store_at(store)
    jobs = jobs_of(models, benchmarks, extraction, isolated=isolated, beside=beside, **benchmark_arguments)
    obstacles, seen = _Obstacles(), _Seen(kept)
    made = []
    for cell in cells_of(jobs, kept, again):
        if cell.state == "scored":
            made.append(cell)
        elif reason := obstacles.of(cell.job):
            made.append(replace(cell, state="blocked", reason=reason))
        else:
            made.append(replace(cell, seconds=seen.seconds(cell.job), memory=seen.memory(cell.job)))
    return Plan(tuple(with_layers_ahead(made)))


def cells_of(jobs: Sequence[Job], store: ResultStore | None, again: bool = False) -> list[Cell]:
    """The cells of jobs, with what a store has of them.

    Those that a process was at when it ended without a word come last: it may be their doing.
    """
    from bsjax.results.leases import left_behind

    if store is None:
        return [Cell(job, task_of(job)) for job in jobs]
    contents, looked_at = _contents(jobs), {}
    cells = [Cell(job, task_of(job), cell_of(job, contents[id(job)], benchmarks=looked_at)) for job in jobs]
    there = {} if again else store.scored([cell.key for cell in cells if cell.key is not None])
    ended = left_behind(store, [cell.task for cell in cells])
    made = []
    for cell in cells:
        score = standing(cell.job, there.get(str(cell.key), ()))
        made.append(replace(cell, score=score, state="compute" if score is None else "scored"))
    return sorted((replace(cell, ended=ended.get(cell.task, "")) for cell in made), key=lambda cell: bool(cell.ended))


def with_layers_ahead(cells: Sequence[Cell]) -> list[Cell]:
    """The cells, with what those to compute record of the same network for the same stimuli."""
    wanted: dict[Hashable, dict[str, None]] = {}
    for cell in cells:
        if cell.state == "compute":
            wanted.setdefault(_shown_to(cell.job), {}).update(dict.fromkeys(_recorded(cell.job)))
    return [replace(cell, ahead=tuple(wanted.get(_shown_to(cell.job), ()))) for cell in cells]


def network_of(job: Job) -> Hashable:
    """What two jobs have in common that show something to the same network, if from other layers."""
    if not isinstance(job.model, str):
        return id(getattr(job.model, "activations_model", job.model))
    # Names of a source differ in the layers alone, after the last @.
    return job.model.rpartition("@")[0] if ":" in job.model and "@" in job.model else job.model


def _shown_to(job: Job) -> Hashable:
    """What two jobs have in common that show the same stimuli to the same network."""
    return network_of(job), same_data(job.benchmark)


def _recorded(job: Job) -> list[str]:
    """Layers that a job records, or else the region whose layers these are; none where it is not known."""
    row = _row(job)
    region = str(getattr(job.benchmark, "region", "")) if row is None else row.region
    if not region:
        return []
    if isinstance(job.model, str):
        named = Name.of(job.model).layers if ":" in job.model and "@" in job.model else {}
        return named.get(region, named.get("", [region]))
    return list(getattr(job.model, "region_layer_map", {}).get(region, []))


def _contents(jobs: Sequence[Job]) -> dict[int, str | None]:
    """Of each job the content of its model, as far as that is known."""
    known: dict[Any, str | None] = {}
    found = {}
    for job in jobs:
        model = job.model_key
        if model not in known:
            if isinstance(job.model, str):
                known[model] = known_content(job)
            else:
                known[model] = content_of_model(job.model)
        found[id(job)] = known[model]
    return found


class _Obstacles:
    """Why jobs cannot be run here, as far as that can be told beforehand."""

    def __init__(self) -> None:
        self._data = {row.identifier: row for row in data_rows()}
        self._of: dict[str, str] = {}

    def of(self, job: Job) -> str:
        """Why it cannot; "" if nothing is in the way."""
        for name, registry in ((job.model, model_registry), (job.benchmark, benchmark_registry)):
            if isinstance(name, str) and not job.options.isolated:
                install = installation_of(registry.requires(name))
                if install:
                    return f"it needs {install}"
        row = _row(job)
        if row is None:
            return ""
        options = dict(job.options.benchmark)
        lacking = [name for name in row.needs if name not in options]
        if lacking:
            return f"it needs {', '.join(f'{name}=...' for name in lacking)}, the folder of its {_in_words_of(lacking)}"
        # What comes with bsjax needs no files of the data sets that it names.
        private = [] if row.with_data else [name for name in _sets(row) if self._is_out_of_reach(name)]
        if private and not options:
            return f"{', '.join(private)} needs credentials to download, and is not cached"
        return _without_layer(job, row)

    def _is_out_of_reach(self, name: str) -> bool:
        row = self._data.get(name)
        return row is not None and row.cached != "yes" and row.access in ("private", "licensed")


def _in_words_of(names: Sequence[str]) -> str:
    return {"data": "recordings", "images": "images"}.get(names[0], names[0])


def _without_layer(job: Job, row: BenchmarkRow) -> str:
    """Why a model that is built already has nothing to record from in the benchmark's region; else ""."""
    if isinstance(job.model, str) or not row.region:
        return ""
    layers, candidates = getattr(job.model, "region_layer_map", None), getattr(job.model, "layers", None)
    if layers is None or candidates or row.region in layers:
        return ""
    return f"model {job.model.identifier!r} has no layer for {row.region}, only for {', '.join(layers) or 'none'}"


def _row(job: Job) -> BenchmarkRow | None:
    return benchmark_row(job.benchmark) if isinstance(job.benchmark, str) else None


def _sets(row: BenchmarkRow) -> list[str]:
    return [name for name in dict.fromkeys([*row.data, row.stimuli, row.fitting_stimuli]) if name]


class _Seen:
    """What scores of the store took, and what that says of others."""

    def __init__(self, store: ResultStore) -> None:
        columns = ["model", "benchmark", "seconds", "memory"]
        frame = store.frame(latest=True, failures=False, columns=columns)
        self._seconds, self._memory = (
            _Amounts(frame["model"].to_numpy(), frame["benchmark"].to_numpy(), frame[name].to_numpy(float))
            for name in ("seconds", "memory")
        )

    def seconds(self, job: Job) -> float | None:
        """Wall time of a job; None where nothing like it was seen."""
        return self._seconds.of(job.model_identifier, job.benchmark_identifier)

    def memory(self, job: Job) -> int | None:
        """Bytes that a process holds at most while it runs a job; None likewise."""
        most = self._memory.of(job.model_identifier, job.benchmark_identifier)
        return None if most is None else int(most)


class _Amounts:
    """Amounts by model and benchmark, some of which are not known."""

    def __init__(self, models: np.ndarray, benchmarks: np.ndarray, amounts: np.ndarray) -> None:
        rows = [
            (str(model), str(benchmark), float(amount))
            for model, benchmark, amount in zip(models, benchmarks, amounts, strict=True)
            if amount > 0
        ]
        self._of_pair = {(model, benchmark): amount for model, benchmark, amount in rows}
        self._of_benchmark = _medians((benchmark, amount) for _, benchmark, amount in rows)
        self._of_recordings = _medians((_without_metric(benchmark), amount) for _, benchmark, amount in rows)
        # How much more than others a model takes, on the benchmarks that it was scored on.
        self._more = _medians((model, amount / self._of_benchmark[benchmark]) for model, benchmark, amount in rows)

    def of(self, model: str, benchmark: str) -> float | None:
        """Of the same pair, or else of the benchmark with other models, and as much more as this model takes.

        A benchmark that nothing was scored on counts as one that compares the same recordings by another metric.
        """
        usual = self._of_benchmark.get(benchmark, self._of_recordings.get(_without_metric(benchmark)))
        known = None if usual is None else usual * self._more.get(model, 1.0)
        return self._of_pair.get((model, benchmark), known)


def _without_metric(benchmark: str) -> str:
    return benchmark.rpartition("-")[0] or benchmark


def _medians(amounts: Iterable[tuple[str, float]]) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for name, amount in amounts:
        found.setdefault(name, []).append(amount)
    return {name: median(values) for name, values in found.items()}


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "not known yet"
    minutes, hours = seconds / 60, seconds / 3600
    if hours >= 1:
        return f"about {hours:.1f} h in sequence"
    return f"about {minutes:.0f} min in sequence" if minutes >= 2 else f"about {seconds:.0f} s"
