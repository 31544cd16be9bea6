"""Execution of cells in this process: each is built, scored and passed to a sink, and failures stay local."""

import itertools
import time
import warnings
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from bsjax.benchmarks import benchmark_row
from bsjax.core.discovery import not_exiting, one_line
from bsjax.core.files import warn_once
from bsjax.core.identity.opened import Followed, Notes, following
from bsjax.core.memory import forget_peak, peak_held
from bsjax.core.watching import Stop, watcher
from bsjax.labelled.plain_values import to_plain
from bsjax.models import model_registry
from bsjax.scoring.cells import cell_of, content_of_model, remember_content
from bsjax.scoring.isolation import isolated_score
from bsjax.scoring.isolation.requirements import parsed, requirements_of
from bsjax.scoring.job import KEPT_BENCHMARKS, Beside, Job, Outcome, built_benchmark, built_model, score_of
from bsjax.scoring.planning import Cell
from bsjax.scoring.sinks import Made, Sink

# Interval at which cells that another command is computing are checked, in seconds.
_POLL = 0.5


class Kept:
    """A cache of the most recently used objects, or of the errors raised in building them.

    Args:
        most: capacity; the least recently used object is evicted before another is built.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._built: OrderedDict[Hashable, tuple[Any, Exception | None]] = OrderedDict()

    def get(self, key: Hashable, build: Callable[[], Any]) -> Any:
        """The object with this key, built if it is not cached."""
        if key not in self._built:
            while len(self._built) >= self._most:
                self._built.popitem(last=False)
            try:
                self._built[key] = build(), None
            except Exception as error:
                self._built[key] = None, error
        self._built.move_to_end(key)
        built, failed = self._built[key]
        if failed is not None:
            raise failed
        return built


class Runner:
    """Runs cells, and keeps models and benchmarks built for later cells.

    Args:
        sink: where scores are passed.
    """

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self._models, self._benchmarks = Kept(1), Kept(KEPT_BENCHMARKS)
        self._contents: dict[Hashable, str | None] = {}
        self._of_models: dict[Hashable, Followed] = {}
        self._of_benchmarks: dict[Hashable, Notes] = {}
        self._have_scored: set[Hashable] = set()

    def __call__(self, cells: Sequence[Cell], stop: Stop | None = None) -> Iterator[Outcome]:
        """Run cells and yield each outcome as soon as it is ready; an error becomes the outcome of its cell.

        Cells that another command on the same store is computing come last, after that command has finished them.

        Args:
            cells: in the order in which they are to be run.
            stop: once it is requested, no further cell starts.

        Raises:
            ValueError, OSError: the store cannot be written.
        """
        stop = stop or Stop()
        left, refused = deque(self._groups(cells)), 0
        while left and not stop.asked and not self.sink.is_over():
            group = left.popleft()
            mine = self.sink.claimed(group)
            theirs = [cell for cell in group if cell not in mine]
            if theirs:
                left.append(theirs)
            if mine:
                refused = 0
                try:
                    for cell in mine:
                        watcher().begun(cell.job)
                    self._take_fitted_alike(mine, left)
                    yield from self._run(mine, stop)
                finally:
                    self.sink.let_go(mine)
            else:
                refused += 1
                if refused >= len(left):
                    warn_once(f"another command is computing {_named(left)}: waiting for its scores")
                    time.sleep(_POLL)
                    refused = 0

    def _groups(self, cells: Sequence[Cell]) -> list[list[Cell]]:
        """Group the cells that are run together, in the order of the first of each group.

        Most groups have one cell. On an accelerator, the responses of several built models to one benchmark, such as
        layers of one network, can be compared in one call.
        """
        import jax  # imported here, because a runner of isolated jobs needs none of it

        if jax.default_backend() == "cpu":
            return [[cell] for cell in cells]
        groups: dict[Hashable, list[Cell]] = {}
        for number, cell in enumerate(cells):
            job = cell.job
            alone = number if isinstance(job.model, str) else None  # isolated jobs have identifiers too
            groups.setdefault((job.benchmark_identifier, job.options, alone), []).append(cell)
        return list(groups.values())

    def _take_fitted_alike(self, mine: list[Cell], left: deque[list[Cell]]) -> None:
        """Claim the next cells of the same model whose benchmarks are fitted to the same responses, and take them.

        Each benchmark is built when its cell is claimed, so that a cell that ends the process is known by its lease.
        """
        job = mine[0].job
        if (fit := self._fit_of(job)) is None:
            return
        others = itertools.takewhile(lambda group: group[0].job.model_key == job.model_key, left)
        for group in list(itertools.islice(others, KEPT_BENCHMARKS - 1)):
            if _told(group[0].job) == _told(job) and self.sink.claimed(group):
                mine += group
                if self._fit_of(group[0].job) == fit:
                    left.remove(group)
                    watcher().begun(group[0].job)
                else:
                    self.sink.let_go([mine.pop()])

    def _fit_of(self, job: Job) -> Hashable:
        """A key that is equal for benchmarks that are fitted to the same responses; None for one that is scored alone.

        On an accelerator, the responses of several models are compared in one call instead.
        """
        import jax

        if not (job.options.isolated or job.options.beside) and jax.default_backend() == "cpu":
            with suppress(Exception):  # it is raised again when the cell is scored
                return getattr(self._benchmark(job), "fitted_beside", None)
        return None

    def _run(self, cells: Sequence[Cell], stop: Stop) -> Iterator[Outcome]:
        """Score the cells of a group."""
        started, start = datetime.now(UTC).isoformat(timespec="seconds"), time.perf_counter()
        is_told = forget_peak()
        with warnings.catch_warnings(record=True, action="always") as said:
            made = self._scored(cells)
        # The peak of an isolated job's process is not known here.
        memory = peak_held() if is_told and not cells[0].job.options.isolated else None
        spent = (time.perf_counter() - start) / len(cells)
        for each in said:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
        log = "\n".join(one_line(Warning(each.message)) for each in said)
        if stop.insisted:  # JAX turns an interrupt in a callback into an error
            raise KeyboardInterrupt
        for cell, one in zip(cells, made, strict=True):
            if isinstance(one, Outcome):
                yield replace(one, seconds=spent)
            else:
                yield self.sink.keep(cell, replace(one, log=log, memory=memory, started=started, seconds=spent))

    def _scored(self, cells: Sequence[Cell]) -> list[Made | Outcome]:
        """Scores or errors of cells that share a benchmark, or a model."""
        made: dict[int, Any] = {}
        models: dict[int, Any] = {}
        for number, cell in enumerate(cells):
            try:
                if cell.job.options.isolated:
                    made[number] = self.sink.found(cell, cell.key) or self._isolated(cell)
                    continue
                with not_exiting():
                    with following(self._of_model(cell.job)):
                        model = self._model(cell)
                    key = self._key(cell.job, model)
                made[number] = self.sink.found(cell, key)
                if made[number] is None:
                    made[number], models[number] = Made(None, key, _facts(model) | _requires(cell.job)), model
            except Exception as error:  # one failing cell must not stop the others
                made[number] = Made(error, cell.key)
        jobs = {number: cells[number].job for number in models}
        if len(set(map(_place, jobs.values()))) > 1:
            scores = self._fitted_at_once(jobs, models)
        else:
            scores = self._scores(next(iter(jobs.values())), models) if jobs else {}
        for number, (came, opened) in scores.items():
            read = None if isinstance(came, Exception) else self._of_model(cells[number].job).notes() | opened
            made[number] = replace(made[number], came=came, opened=read)
        return [made[number] for number in range(len(cells))]

    def _isolated(self, cell: Cell) -> Made:
        """The score of a cell in a separate process, which also reports the model's content and the files read."""
        there = isolated_score(cell.job)
        remember_content(cell.job, there.content, there.of_model)
        return Made(there.score, cell_of(cell.job, there.content), _requires(cell.job), there.opened)

    def _scores(self, job: Job, models: Mapping[int, Any]) -> dict[int, tuple[Any, Notes]]:
        """Scores or errors of models on a job's benchmark, each with the files that were read for it."""
        made: dict[int, tuple[Any, Notes]] = {}
        place = _place(job)
        try:
            benchmark = self._benchmark(job)
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

    def _fitted_at_once(self, jobs: Mapping[int, Job], models: Mapping[int, Any]) -> dict[int, tuple[Any, Notes]]:
        """Scores or errors of a model on benchmarks that are fitted to its responses, each with the files read."""
        # Imported here, because isolated jobs need none of it.
        from bsjax.benchmarks.subjects import scored_at_once
        from bsjax.labelled.resampling.draws import in_draws
        from bsjax.labelled.resampling.permutations import Permutations

        made: dict[int, tuple[Any, Notes]] = {}
        built: dict[int, Any] = {}
        for number, job in jobs.items():
            try:
                built[number] = self._benchmark(job)
            except Exception as error:
                made[number] = error, {}
        if not built:
            return made
        numbers, followed = list(built), [Followed() for _ in built]

        @contextmanager
        def within(places: Sequence[int]) -> Iterator[None]:
            with ExitStack() as stack:
                stack.enter_context(not_exiting())
                for place in places:
                    stack.enter_context(following(followed[place]))
                yield

        with in_draws(None), Permutations.within(None):
            scores = scored_at_once(list(built.values()), models[numbers[0]], within)
        for number, came, files in zip(numbers, scores, followed, strict=True):
            notes = self._noted(_place(jobs[number]), files, not isinstance(came, Exception))
            made[number] = came, notes
        return made

    def _benchmark(self, job: Job) -> Any:
        """The benchmark of a job; files that are read to build it are noted."""
        with not_exiting(), following() as followed:
            of_benchmark = replace(job.options, extraction=(), beside=Beside())
            benchmark = self._benchmarks.get((job.benchmark, of_benchmark), lambda: built_benchmark(job))
        self._of_benchmarks[_place(job)] = self._of_benchmarks.get(_place(job), {}) | followed.notes()
        return benchmark

    def _noted(self, benchmark: Hashable, followed: Followed, scored: bool) -> Notes:
        """Files read for a score, including those that the benchmark read when it was built and first scored.

        A benchmark loads its data by its first score; files read later belong to one score alone.
        """
        if benchmark not in self._have_scored:
            self._of_benchmarks[benchmark] |= followed.notes()
            self._have_scored.update([benchmark] if scored else [])
        return self._of_benchmarks[benchmark] | followed.notes()

    def _key(self, job: Job, model: Any) -> str | None:
        if not self.sink.stores or not isinstance(job.benchmark, str):
            return None
        of = job.model_key
        if of not in self._contents:
            self._contents[of] = content_of_model(model)
            if self._contents[of] is None:
                warn_once(
                    f"scores of model {job.model_identifier!r} are computed each time, as a change of it could not be "
                    "noticed: vouch for it by version='1', and raise that with every change"
                )
            elif isinstance(job.model, str):
                remember_content(job, self._contents[of], self._of_model(job).notes())
        return cell_of(job, self._contents[of])

    def _model(self, cell: Cell) -> Any:
        """The model of a cell, which also records the layers and regions that other cells need."""
        job = cell.job
        of_model = replace(job.options, benchmark=(), beside=Beside())
        model = self._models.get((job.model, of_model), lambda: built_model(job))
        if not cell.ahead:
            return model
        of_regions = getattr(model, "region_layer_map", {})
        layers = dict.fromkeys(layer for name in cell.ahead for layer in of_regions.get(name, [name]))
        with suppress(ValueError, AttributeError):  # the model extracts no activations
            return model.with_options(ahead=tuple(layers))
        return model

    def _of_model(self, job: Job) -> Followed:
        """Files that were read to build the model of a job."""
        return self._of_models.setdefault(job.model_key, Followed())


def _place(job: Job) -> Hashable:
    """A key that distinguishes benchmarks with their arguments within this process."""
    return job.benchmark_key, repr(job.options.benchmark)


def _told(job: Job) -> Any:
    """What jobs that are fitted at once have in common, as far as known before the benchmark is built."""
    row = benchmark_row(job.benchmark) if isinstance(job.benchmark, str) else None
    of_row = None if row is None else (row.metric, row.region, row.stimuli, row.time_bins)
    return of_row, replace(job.options, benchmark=())


def _named(groups: Sequence[Sequence[Cell]]) -> str:
    """The first of the cells, and the number of the others."""
    n = sum(map(len, groups))
    return " on ".join(groups[0][0].names) + (f" and {n - 1} more" if n > 1 else "")


def _facts(model: Any) -> dict[str, Any]:
    """Properties of a model in addition to its name and digest."""
    facts: dict[str, Any] = {}
    with suppress(Exception):  # a model of a plugin may lack any of these
        facts["visual_degrees"] = float(model.visual_degrees())
    with suppress(Exception):
        facts["parameters"] = model.activations_model.n_parameters
    for name in ("region_layer_map", "behavioral_readout_layer"):
        with suppress(ValueError):
            facts[name] = to_plain(getattr(model, name, None), name)
    return {name: value for name, value in facts.items() if value is not None}


def _requires(job: Job) -> dict[str, Any]:
    """The packages that a model's plugin requires, without paths and addresses of this machine."""
    if not isinstance(job.model, str):
        return {}
    with suppress(KeyError, OSError, ValueError):  # isolated jobs have reported these errors
        plugin = model_registry.plugin_of(job.model)
        required = [parsed(line) for line in requirements_of(plugin)] if plugin else []
        named = [each.name if each.url else str(each) for each in required if each is not None]
        return {"requires": named} if named else {}
    return {}
