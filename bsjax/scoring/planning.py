"""The plan of a grid: its cells, their states, and the time and memory that the remaining ones need."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bsjax.benchmarks import BenchmarkRow, benchmark_registry, benchmark_row
from bsjax.core.discovery import one_line
from bsjax.core.extras import installation_of
from bsjax.core.memory import held
from bsjax.core.messages import in_words
from bsjax.data.catalogue.registry import DataRow, data_rows
from bsjax.models import model_registry
from bsjax.scoring.cells import cell_of, content_of_model, known_content, sets_of, standing, task_of
from bsjax.scoring.job import Beside, Job, built_benchmark, built_model, jobs_of, same_data, seen_and_recorded

if TYPE_CHECKING:
    import pandas as pd

    from bsjax.results import ResultStore
    from bsjax.scoring.resolution import BenchmarkLike, ModelLike

_STATES = ("compute", "scored", "blocked")
_MOST_SHOWN = 20


@dataclass(frozen=True)
class Cell:
    """One planned pair of a model and a benchmark.

    Attributes:
        job: the job to run.
        task: its name in a run and on leases.
        key: digest of everything that determines the score; None if that is known only when it runs.
        state: "compute", "scored" (the store has its score) or "blocked" (it cannot be scored here).
        reason: why it is blocked.
        score: the key of its score in the store.
        seconds: expected wall time, from comparable scores in the store, else predicted from sizes, for the comparison
            and the compilation of its programs, and for the first cell of a benchmark also from the time that reading
            its data took here; None if unknown.
        memory: expected peak memory of the process in bytes, from the same scores, else predicted: what this process
            held with the data, the responses and their comparison; None if unknown.
        unknown: what it would take to predict them, if they are unknown.
        ahead: layers, or regions whose layers, that other cells record from the same network for the same stimuli.
        ended: the process that was running it when it died unexpectedly; "" if none did.

    Example:
        >>> import tempfile
        >>> import bsjax
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     [cell] = bsjax.plan("pixels", "Simulated.V1-cka", store=f"{folder}/results.db").cells
        >>> cell.job.benchmark, cell.state
        ('Simulated.V1-cka', 'compute')
    """

    job: Job
    task: str
    key: str | None = None
    state: str = "compute"
    reason: str = ""
    score: str | None = None
    seconds: float | None = None
    memory: int | None = None
    unknown: str = ""
    ahead: tuple[str, ...] = ()
    ended: str = ""

    @property
    def names(self) -> tuple[str, str]:
        """Identifiers of the model and the benchmark."""
        return self.job.names


@dataclass(frozen=True)
class Plan(Sequence[Cell]):
    """The cells of a grid. Printed, it shows how many are in each state, what each takes, and why some are blocked.

    Attributes:
        cells: in the order in which they are run.

    Example:
        >>> import tempfile
        >>> import bsjax
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     planned = bsjax.plan(["pixels", "gabor-v1"], "Simulated.V1-cka", store=f"{folder}/results.db")
        >>> len(planned.cells)
        2
    """

    cells: tuple[Cell, ...]

    def __len__(self) -> int:
        return len(self.cells)

    def __getitem__(self, place: Any) -> Any:
        return self.cells[place]

    def of(self, state: str) -> list[Cell]:
        """The cells in a state.

        Raises:
            ValueError: there is no such state.
        """
        if state not in _STATES:
            raise ValueError(f"state must be one of {', '.join(_STATES)}, got {state!r}")
        return [cell for cell in self.cells if cell.state == state]

    @property
    def seconds(self) -> float | None:
        """Expected total time of the cells to compute, run one after the other; None if it is unknown for all.

        Cells of unknown time count as the mean of the others.
        """
        cells = self.of("compute")
        known = [cell.seconds for cell in cells if cell.seconds is not None]
        return None if not known else sum(known) / len(known) * len(cells)

    @property
    def memory(self) -> int | None:
        """The largest expected memory of the cells to compute, in bytes; None if it is unknown for all."""
        return max((cell.memory for cell in self.of("compute") if cell.memory is not None), default=None)

    def __str__(self) -> str:
        numbers = Counter(cell.state for cell in self.cells)
        head = f"{len(self)} cells: {numbers['compute']} to compute, {numbers['scored']} in the store, "
        lines = [f"{head}{numbers['blocked']} cannot be scored here"]
        if numbers["compute"]:
            lines.append(f"time    {_time(self.seconds)}")
            most = "not known yet" if self.memory is None else f"about {in_words(self.memory)} for the largest cell"
            lines.append(f"memory  {most}")
        lines += self._each()
        lines += self._told("unknown", "unknown")
        for cell in self.of("compute"):
            if cell.ended:
                lines.append(f"last    {' on '.join(cell.names)}: {cell.ended} ended while computing it")
        return "\n".join(lines + self._told("cannot", "reason"))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def _each(self) -> list[str]:
        """A line for each of several cells to compute, or for those that take longest."""
        cells = self.of("compute")
        if len(cells) == 1:  # of which the lines above say all
            return []
        if len(cells) > _MOST_SHOWN:
            cells = sorted(cells, key=lambda cell: cell.seconds or 0.0, reverse=True)[:_MOST_SHOWN]
        lines = [
            f"        {' on '.join(cell.names)}: {_time(cell.seconds).removesuffix(' in sequence')}"
            + ("" if cell.memory is None else f", {in_words(cell.memory)}")
            for cell in cells
        ]
        n_more = len(self.of("compute")) - len(cells)
        return [*lines, f"        and {n_more} more"] if n_more else lines

    def _told(self, head: str, name: Literal["reason", "unknown"]) -> list[str]:
        """Lines of what is said of cells, and of which."""
        found: dict[str, list[str]] = {}
        for cell in self.cells:
            if said := {"reason": cell.reason, "unknown": cell.unknown}[name]:
                found.setdefault(said, []).append(" on ".join(cell.names))
        lines = [f"{head:8}{_shortened(names)}: {said}" for said, names in list(found.items())[:_MOST_SHOWN]]
        return lines + ([f"        and {len(found) - _MOST_SHOWN} more reasons"] if len(found) > _MOST_SHOWN else [])


def plan(
    models: ModelLike | Iterable[ModelLike],
    benchmarks: BenchmarkLike | Iterable[BenchmarkLike],
    extraction: Mapping[str, Any] | None = None,
    *,
    store: ResultStore | str | Path | Literal[True] = True,
    again: bool = False,
    isolated: bool = False,
    beside: Beside | None = None,
    predict: bool = True,
    **benchmark_arguments: object,
) -> Plan:
    """Plan the scoring of models on benchmarks without running anything.

    Time and memory of a cell are those of comparable scores in the store. Without any, those of the comparison are
    predicted, see :func:`bsjax.estimate`, if the sizes are known without a download: the model is an object or comes
    with bsjax, and the data are on this machine; they are then loaded. A comparison that does not fit in memory is
    blocked, and the reason says what would fit.

    The content of a model object is known. The content of a model given by identifier is known if it was built before.
    Scores that are found in the store only at run time are not recomputed either.

    Args:
        models: identifiers, globs, models.
        benchmarks: identifiers, globs, benchmarks.
        extraction: options for the extraction of activations, those of
            :class:`~bsjax.activations.ExtractedActivations`, e.g. ``{"memory": "2GB"}``.
        store: the store of results, or its location; by default the store named by ``$BSJAX_RESULTS``, else that in
            ``$BSJAX_HOME``.
        again: whether to recompute scores that the store has.
        isolated: whether each job runs in a separate process. Plugins are then not imported here, and an extra that is
            missing here does not block a cell.
        beside: analyses in addition to each score, such as ``Beside.of("stimuli", null=99)``. Scores with different
            analyses are stored as different scores.
        predict: whether to predict time and memory from sizes. Otherwise no model is built and no data are loaded.
        **benchmark_arguments: for the registered benchmarks that take them.

    Raises:
        KeyError: an identifier is unknown.
        ValueError: an object is neither a model nor a benchmark, no benchmark takes an argument, or the store cannot
            be read.

    Example:
        >>> import tempfile
        >>> from bsjax.results import ResultStore
        >>> with tempfile.TemporaryDirectory() as folder, ResultStore(f"{folder}/results.db") as store:
        ...     print(plan("pixels", ["Simulated.V1-pls", "Cowley2026.V4-pls"], store=store, predict=False))
        2 cells: 1 to compute, 0 in the store, 1 cannot be scored here
        time    not known yet
        memory  not known yet
        cannot  pixels on Cowley2026.V4-pls: it needs data=..., the folder of its recordings
    """
    from bsjax.results.store import store_at

    kept = store_at(store)
    jobs = jobs_of(models, benchmarks, extraction, isolated=isolated, beside=beside, **benchmark_arguments)
    cells = cells_of(jobs, kept, again)
    if all(cell.state == "scored" for cell in cells):  # expected times and sizes, which take pandas, are of no use
        return Plan(tuple(cells))
    known = kept.frame(latest=True, failures=False, columns=["model", "benchmark", "seconds", "memory"])
    seconds, memory = _Amounts(known, "seconds"), _Amounts(known, "memory")
    data = {row.identifier: row for row in data_rows()}
    predictions, made = _Predictions(data), []
    for cell in cells:
        if cell.state == "scored":
            made.append(cell)
        elif reason := _obstacle(cell.job, data):
            made.append(replace(cell, state="blocked", reason=reason))
        else:
            most = memory.of(*cell.names)
            cell = replace(cell, seconds=seconds.of(*cell.names), memory=None if most is None else int(most))
            made.append(predictions.of(cell) if predict and cell.seconds is None else cell)
    return Plan(tuple(with_layers_ahead(made)))


def cells_of(jobs: Sequence[Job], store: ResultStore | None, again: bool = False) -> list[Cell]:
    """The cells of jobs, with the scores that a store has for them.

    Cells that were running when a process died unexpectedly come last, since they may have caused it.
    """
    from bsjax.results.leases import left_behind

    if store is None:
        return [Cell(job, task_of(job)) for job in jobs]
    contents, looked_at = _contents(jobs), {}
    cells = [Cell(job, task_of(job), cell_of(job, contents[job.model_key], benchmarks=looked_at)) for job in jobs]
    there = {} if again else store.scored([cell.key for cell in cells if cell.key is not None])
    ended = left_behind(store, [cell.task for cell in cells])
    made = []
    for cell in cells:
        score = standing(cell.job, there.get(str(cell.key), ()))
        made.append(replace(cell, score=score, state="compute" if score is None else "scored"))
    return sorted((replace(cell, ended=ended.get(cell.task, "")) for cell in made), key=lambda cell: bool(cell.ended))


def with_layers_ahead(cells: Sequence[Cell]) -> list[Cell]:
    """The cells, each with the layers that cells to compute record from the same network for the same stimuli."""
    wanted: dict[Hashable, dict[str, None]] = {}
    for cell in cells:
        if cell.state == "compute":
            wanted.setdefault(_shown_to(cell.job), {}).update(dict.fromkeys(_recorded(cell.job)))
    return [replace(cell, ahead=tuple(wanted.get(_shown_to(cell.job), ()))) for cell in cells]


def network_of(job: Job) -> Hashable:
    """A key that is equal for jobs that use the same network, if with different layers."""
    if not isinstance(job.model, str):
        return id(getattr(job.model, "activations_model", job.model))
    # After the last @, a source's name lists layers.
    return job.model.rpartition("@")[0] if ":" in job.model and "@" in job.model else job.model


def _shown_to(job: Job) -> Hashable:
    """A key that is equal for jobs that show the same stimuli to the same network."""
    return network_of(job), same_data(job.benchmark)


def _recorded(job: Job) -> list[str]:
    """Layers that a job records, or else the region that they are mapped to; empty if unknown."""
    benchmark = job.benchmark
    known = isinstance(benchmark, str)
    region = benchmark_row(benchmark).region if known else seen_and_recorded(benchmark)[1]
    if not region:
        return []
    if isinstance(job.model, str):
        named = _layers_named(job.model)
        return named.get(region, named.get("", [region]))
    return list(getattr(job.model, "region_layer_map", {}).get(region, []))


def _layers_named(identifier: str) -> Mapping[str, list[str]]:
    """The layers in the name of a source's model, by region; none in other names."""
    if ":" not in identifier or "@" not in identifier:
        return {}
    from bsjax.models.sources.by_name import Name

    return Name.of(identifier).layers


def _contents(jobs: Sequence[Job]) -> dict[Hashable, str | None]:
    """The digest of each model of the jobs by its key; None if unknown."""
    each = {job.model_key: job for job in jobs}
    return {
        key: known_content(job) if isinstance(job.model, str) else content_of_model(job.model)
        for key, job in each.items()
    }


def _obstacle(job: Job, data: Mapping[str, DataRow]) -> str:
    """Why the job cannot be run here, as far as known in advance; "" if nothing prevents it."""
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
    # Benchmarks that come with their data need no files of the data sets that they name.
    sets = [] if row.with_data else [data[name] for name in sets_of(row) if name in data]
    private = [each.identifier for each in sets if each.cached != "yes" and each.access in ("private", "licensed")]
    if private and not options:
        return f"{', '.join(private)} needs credentials to download, and is not cached"
    return _without_layer(job, row)


class _Predictions:
    """Time and memory of comparisons from their sizes; each benchmark's data are loaded once, and not kept.

    Args:
        data: the rows of all data sets.
    """

    def __init__(self, data: Mapping[str, DataRow]) -> None:
        self._data = data
        self._benchmarks: dict[Hashable, tuple[Any, Sequence[Any], int]] = {}
        self._reading: dict[Hashable, float] = {}
        self._found: dict[Hashable, tuple[float, int]] = {}
        self._compiler: dict[Hashable, int] = {}

    def of(self, cell: Cell) -> Cell:
        """The cell with its time and memory, or with what is not known of them; blocked if it does not fit."""
        # Imported here, because a plan without predictions needs none of it.
        from bsjax.engine.memory_limit import DoesNotFit
        from bsjax.engine.rates import machine_rates
        from bsjax.models import ModelCommitment
        from bsjax.scoring.representations.estimates import estimate_of

        if unknown := _unknown(cell.job, self._data):
            return replace(cell, unknown=unknown)
        try:
            metric, measured, loaded = self._compared(cell.job)
            if not measured:
                return replace(cell, unknown="it is not a single comparison of responses")
            region, model = str(measured[0]["region"].values.flat[0]), built_model(cell.job)
            width = model.width_of(region) if isinstance(model, ModelCommitment) else None
            if width is None:
                return replace(cell, unknown=f"which layers it has for {region}, or their width, is known when it runs")
            key = cell.job.benchmark_key, width
            reading = self._reading.pop(cell.job.benchmark_key, 0.0)  # by the first of its cells
            if key in self._found:
                seconds, memory = self._found[key]
                return replace(cell, seconds=seconds + reading, memory=memory)
            machine_rates()  # measured once for this machine, which is no part of the compilation
            start, before = time.perf_counter(), held()
            found = estimate_of(metric, measured, width)
            compiling = time.perf_counter() - start
            # What the compiler leaves in memory, once: later programs take its place.
            compiler = self._compiler.setdefault(cell.job.benchmark_key, max(held() - before, 0))
            of_data = sum(each.nbytes for each in measured)
            self._found[key] = found.seconds, loaded + compiler + found.total - of_data
            return replace(cell, seconds=found.seconds + compiling + reading, memory=self._found[key][1])
        except DoesNotFit as error:
            return replace(cell, state="blocked", reason=str(error))
        except Exception as error:  # one cell's error must not stop the plan of the others
            return replace(cell, unknown=one_line(error))

    def _compared(self, job: Job) -> tuple[Any, Sequence[Any], int]:
        """The metric of a benchmark, its measurements without values, and what the process holds with its data."""
        from bsjax.benchmarks import BenchmarkBase, Ceiling
        from bsjax.scoring.representations.estimates import without_values

        if job.benchmark_key not in self._benchmarks:
            start, benchmark = time.perf_counter(), built_benchmark(job)
            measured = benchmark.compared_with() if isinstance(benchmark, BenchmarkBase) else ()
            metric = benchmark.metric if measured else None
            # A ceiling reads the trials again.
            times = 2 if measured and isinstance(benchmark.ceiling_func, Ceiling) else 1
            self._reading[job.benchmark_key] = times * (time.perf_counter() - start)
            self._benchmarks[job.benchmark_key] = metric, without_values(measured), held()
        return self._benchmarks[job.benchmark_key]


def _unknown(job: Job, data: Mapping[str, DataRow]) -> str:
    """What must be built or downloaded before the sizes of a comparison are known; "" if nothing."""
    if job.options.isolated or job.options.beside:
        return "runs in its own process" if job.options.isolated else "has analyses beside the score"
    name = job.model if isinstance(job.model, str) else ""
    if name and (model_registry.is_of_source(name) or not model_registry.is_bsjaxs(name)):
        return "the model is built when it runs"
    row = _row(job)
    named = [] if row is None or row.with_data else [data[name] for name in sets_of(row) if name in data]
    lacking = [each.identifier for each in named if each.cached != "yes"]
    return f"{', '.join(lacking)} is not downloaded yet" if lacking else ""


def _shortened(names: Sequence[str]) -> str:
    more = f" and {len(names) - 2} more" if len(names) > 3 else ""
    return f"{', '.join(names[:2] if more else names)}{more}"


def _in_words_of(names: Sequence[str]) -> str:
    return {"data": "recordings", "images": "images"}.get(names[0], names[0])


def _without_layer(job: Job, row: BenchmarkRow) -> str:
    """Why a model object has no layer to record in the benchmark's region; "" if it has one."""
    if isinstance(job.model, str) or not row.region:
        return ""
    layers, candidates = getattr(job.model, "region_layer_map", None), getattr(job.model, "layers", None)
    if layers is None or candidates or row.region in layers:
        return ""
    return f"model {job.model.identifier!r} has no layer for {row.region}, only for {', '.join(layers) or 'none'}"


def _row(job: Job) -> BenchmarkRow | None:
    return benchmark_row(job.benchmark) if isinstance(job.benchmark, str) else None


class _Amounts:
    """Times or sizes of the scores in a store, as predictions for others.

    Args:
        known: a row for each score, with ``model``, ``benchmark`` and the amount.
        name: of the column with the amount.
    """

    def __init__(self, known: pd.DataFrame, name: str) -> None:
        known = known.assign(amount=known[name].astype(float)).query("amount > 0")
        known["recordings"] = known["benchmark"].map(_without_metric)
        self._of_pair = known.set_index(["model", "benchmark"])["amount"].to_dict()
        self._of_benchmark = known.groupby("benchmark")["amount"].median().to_dict()
        self._of_recordings = known.groupby("recordings")["amount"].median().to_dict()
        # The factor by which a model exceeds others on the benchmarks on which it was scored.
        more = known["amount"] / known.groupby("benchmark")["amount"].transform("median")
        self._more = more.groupby(known["model"]).median().to_dict()

    def of(self, model: str, benchmark: str) -> float | None:
        """The amount of the pair; else the benchmark's median, scaled by the model's factor.

        For a benchmark without scores, those that compare the same recordings by another metric are used.
        """
        usual = self._of_benchmark.get(benchmark, self._of_recordings.get(_without_metric(benchmark)))
        known = None if usual is None else usual * self._more.get(model, 1.0)
        return self._of_pair.get((model, benchmark), known)


def _without_metric(benchmark: str) -> str:
    return benchmark.rpartition("-")[0] or benchmark


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "not known yet"
    minutes, hours = seconds / 60, seconds / 3600
    if hours >= 1:
        return f"about {hours:.1f} h in sequence"
    return f"about {minutes:.0f} min in sequence" if minutes >= 2 else f"about {seconds:.0f} s"
