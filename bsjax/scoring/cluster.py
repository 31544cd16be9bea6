"""Cells that are run by the workers of a Dask cluster, on this machine or on many.

Each worker puts its scores into the store itself, so that nothing depends on the connection: whatever is lost on the
way, workers, scheduler or this process, the store says which cells are left. Cells of one network that follow each
other are one task of the cluster, so that what they share is built once.
"""

from __future__ import annotations

import itertools
import logging
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

from bsjax.core.discovery import one_line
from bsjax.core.extras import import_extra
from bsjax.core.memory import SHARE, available_memory
from bsjax.scoring.built import Kept
from bsjax.scoring.cell_run import CellRunner, Done
from bsjax.scoring.job import Job
from bsjax.scoring.jobs import KEPT_BENCHMARKS
from bsjax.scoring.planning import Cell, network_of

_EXTRA = "distributed"
# Tasks for each worker, so that none waits long for the last one.
_TASKS_PER_WORKER = 4
# How long a scheduler that has gone may take to come back, in seconds.
_PATIENCE = 600.0
_POLL = 0.2
# How long a scheduler may take to answer, at first and when it was there before, in seconds.
_FIRST, _LATER = 30, 5
_CARDS = Path("/proc/driver/nvidia/gpus")


def run_on_cluster(
    runner: CellRunner,
    cells: Sequence[Cell],
    workers: int | None,
    scheduler: str | None,
    stop: threading.Event,
    before: Callable[[Job], None] | None = None,
) -> Iterator[Done]:
    """What comes of cells, as it comes.

    Args:
        runner: runs one.
        cells: in the order in which they are to be run.
        workers: how many processes to start here, if no scheduler is named.
        scheduler: address of one.
        stop: once it is set, no further cell is begun.
        before: called with each job when a worker begins it, as far as the worker can be heard.

    Raises:
        ImportError: Dask distributed is not installed.
        ValueError: there are fewer cards than workers, or a model or benchmark is an object that cannot be sent.
        ConnectionError: the scheduler cannot be reached.
    """
    for n_workers, wave in [(None, cells)] if scheduler is not None else _waves(cells, workers):
        with _own_cluster(n_workers) if n_workers is not None else nullcontext(scheduler) as address:
            yield from _run_at(str(address), scheduler is None, runner, wave, stop, before)


def _waves(cells: Sequence[Cell], workers: int | None) -> list[tuple[int, list[Cell]]]:
    """Cells by how many processes of this machine may run them at a time, for all that the plan foresees of memory."""
    if workers is None or workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers}")
    available = available_memory()
    waves: dict[int, list[Cell]] = {}
    for cell in cells:
        fitting = available // cell.memory if available is not None and cell.memory else workers
        waves.setdefault(min(max(fitting, 1), workers), []).append(cell)
    return sorted(waves.items(), reverse=True)


@contextmanager
def _own_cluster(workers: int) -> Iterator[str]:
    """The address of a scheduler with so many workers of this machine, which are there as long as the block."""
    distributed: Any = import_extra("distributed", _EXTRA)
    cards = _cards()
    if cards and len(cards) < workers:
        raise ValueError(
            f"{workers} workers and {len(cards)} of this machine's GPUs: a card is one worker's; give workers="
            f"{len(cards)}, or set JAX_PLATFORMS=cpu to use none"
        )
    here, available = {"host": "127.0.0.1"}, available_memory()
    # Dask ends workers by what it sees of their memory; bsjax bounds what it takes itself, by the share that it has.
    options = {**here, "nthreads": 1, "memory_limit": None, "silence_logs": logging.ERROR, "preload": __name__}
    env = {"OMP_NUM_THREADS": str(max((os.cpu_count() or 1) // workers, 1))}
    env |= {} if available is None else {SHARE: str(available // workers)}
    specs = {
        number: {
            "cls": distributed.Nanny,
            "options": options | {"env": env | ({"CUDA_VISIBLE_DEVICES": cards[number]} if cards else {})},
        }
        for number in range(workers)
    }
    scheduler = {"cls": distributed.Scheduler, "options": {**here, "dashboard": False, "port": 0}}
    with distributed.SpecCluster(specs, scheduler, silence_logs=logging.ERROR) as cluster:
        yield cluster.scheduler_address


def dask_setup(worker: Any) -> None:
    """What Dask calls in each worker when it starts: Ctrl-C, which all processes of a terminal get, is not for it."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _cards() -> list[str]:
    """The numbers of this machine's GPUs that JAX may use, each as CUDA takes it."""
    if os.environ.get("JAX_PLATFORMS", "") == "cpu":
        return []
    there = len(list(_CARDS.iterdir())) if _CARDS.is_dir() else 0
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if not there or visible is None:
        return [str(number) for number in range(there)]
    return [name.strip() for name in visible.split(",") if name.strip() not in ("", "-1")]


def _run_at(
    address: str,
    is_own: bool,
    runner: CellRunner,
    cells: Sequence[Cell],
    stop: threading.Event,
    before: Callable[[Job], None] | None,
) -> Iterator[Done]:
    """Run cells by the workers of a scheduler; one that is not our own may go, and come back."""
    import_extra("distributed", _EXTRA)
    left = {runner.task_of(cell): cell for cell in cells}
    gone_at: float | None = None
    is_known = False
    while left and not stop.is_set():
        try:
            with _connected(address, patience=_LATER if is_known else _FIRST) as client:
                is_known, gone_at = True, None
                # What was done by workers that this process has lost sight of.
                yield from _known_done(runner, left, list(left))
                yield from _run(client, runner, left, stop, before)
        except (OSError, TimeoutError) as error:
            gone_at = gone_at or time.monotonic()
            if is_own or not is_known or time.monotonic() - gone_at > _PATIENCE:
                raise ConnectionError(
                    f"the Dask scheduler at {address} cannot be reached ({one_line(error)}); what was scored is "
                    "kept, and the same call goes on from there"
                ) from error
            time.sleep(_POLL)


@contextmanager
def _connected(address: str, patience: float) -> Iterator[Any]:
    distributed: Any = import_extra("distributed", _EXTRA)
    client = distributed.Client(address, timeout=patience, set_as_default=False)
    try:
        yield client
    finally:
        with suppress(Exception):  # it may have lost its scheduler
            client.close(timeout=2)


def _run(
    client: Any,
    runner: CellRunner,
    left: dict[str, Cell],
    stop: threading.Event,
    before: Callable[[Job], None] | None,
) -> Iterator[Done]:
    """Have the workers of a client run the cells that are left, which are fewer with each that is done.

    Raises:
        OSError: the scheduler has gone.
        ValueError: what workers raise, who keep failures of cells in the store: it cannot be written, for example.
    """
    distributed: Any = import_extra("distributed", _EXTRA)
    told: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
    client.subscribe_topic(runner.run, lambda event: told.put(event[1]))
    there = list(client.scheduler_info(n_workers=-1)["workers"].values())

    def submitted(groups: list[list[Cell]]) -> dict[Any, list[Cell]]:
        sent = replace(runner, images=None)
        futures = {_submitted(client, sent, group, there): group for group in groups}
        for future in futures:
            future.add_done_callback(lambda done: told.put(("task", done)))
        return futures

    pending = submitted(_groups(list(left.values()), max(len(there), 1)))
    while pending:
        if stop.is_set():
            runner.store.end_run(runner.run)  # workers begin nothing more then
        try:
            kind, what = told.get(timeout=_POLL)
        except queue.Empty:
            if client.status != "running":
                raise ConnectionError("the connection is lost") from None
            if stop.is_set() and not client.scheduler_info(n_workers=-1)["workers"]:
                return  # nobody will finish what is left
            continue
        if kind == "begun":
            if before is not None and what in left:
                before(left[what].job)
            continue
        if kind == "done":
            done = Done(*what)
            if left.pop(runner.task_of_pair(done.model, done.benchmark), None) is not None:
                yield done
            continue
        group = pending.pop(what, [])
        if what.status == "error":
            error = what.exception()
            if not isinstance(error, distributed.scheduler.KilledWorker):
                raise error
            # Its workers were killed one after the other, and each time at the same cell.
            yield from _known_done(runner, left, [runner.task_of(cell) for cell in group])
            yield from _killed(runner, left, group)
        again = [cell for cell in group if runner.task_of(cell) in left]
        if again and what.status == "cancelled":
            raise ConnectionError("the scheduler has lost its tasks")
        if again and what.status == "finished":
            for done in what.result():
                if left.pop(runner.task_of_pair(done.model, done.benchmark), None) is not None:
                    yield done
        elif again:  # also where a worker was lost after its task, with what came of it
            pending |= submitted([again])


def _submitted(client: Any, runner: CellRunner, group: list[Cell], workers: Sequence[dict[str, Any]]) -> Any:
    try:
        return client.submit(_run_cells, runner, group, resources=_resources(workers, group), pure=False)
    except TypeError as error:  # how Dask says that something cannot be pickled
        names = dict.fromkeys(
            name
            for cell in group
            for name, what in (
                (cell.job.model_identifier, cell.job.model),
                (cell.job.benchmark_identifier, cell.job.benchmark),
            )
            if not isinstance(what, str)
        )
        raise ValueError(
            f"{', '.join(names)} cannot be sent to a worker ({one_line(error)}): make it a plugin, and give its "
            "identifier"
        ) from error


def _run_cells(runner: CellRunner, cells: Sequence[Cell]) -> list[Done]:
    """In a worker: run cells one after the other, save those that were run before another worker was lost."""
    kept = _runners.get(runner.run, lambda: runner)
    left = {kept.task_of(cell): cell for cell in cells}
    made = list(_known_done(kept, left, list(left)))
    for group in kept.groups(list(left.values())):
        if kept.store.has_ended(kept.run):
            break
        for cell in group:
            _tell(kept.run, "begun", kept.task_of(cell))
        for done in kept(group):
            made.append(done)
            _tell(kept.run, "done", list(astuple(done)))
    return made


def _tell(run: str, kind: str, what: Any) -> None:
    """In a worker: tell who waits what goes on; what cannot be told on the way is known at the end."""
    distributed: Any = import_extra("distributed", _EXTRA)
    with suppress(Exception):
        distributed.get_worker().log_event(run, [kind, what])


# Of this worker: that of the last run.
_runners = Kept(1)


def _groups(cells: Sequence[Cell], n_workers: int) -> list[list[Cell]]:
    """Cells as tasks of the cluster: of one network each, and small enough that all workers have some."""
    most = min(max(len(cells) // (n_workers * _TASKS_PER_WORKER), 1), KEPT_BENCHMARKS)
    groups = []
    for _, of_network in itertools.groupby(cells, key=lambda cell: network_of(cell.job)):
        together = list(of_network)
        groups += [together[start : start + most] for start in range(0, len(together), most)]
    return groups


def _resources(workers: Sequence[dict[str, Any]], cells: Sequence[Cell]) -> dict[str, float]:
    """What a task takes of what workers say that they have: a card, and memory, at most all that a worker has."""
    memory = max((cell.memory for cell in cells if cell.memory is not None), default=0)
    wanted = {"GPU": 1.0, "memory": float(memory)}
    most = {name: max((worker.get("resources", {}).get(name, 0) for worker in workers), default=0) for name in wanted}
    return {name: min(amount, most[name]) for name, amount in wanted.items() if amount and most[name]}


def _known_done(runner: CellRunner, left: dict[str, Cell], tasks: Sequence[str]) -> Iterator[Done]:
    """What the store has of tasks that are left, which are fewer then."""
    for task, came in runner.store.tasks_done(runner.run, tasks).items():
        if task in left:
            yield _came(left.pop(task), came)


def _came(cell: Cell, came: Any) -> Done:
    state = "failed" if came.error else "scored"
    return Done(
        cell.job.model_identifier, cell.job.benchmark_identifier, state, came.key, came.error, came.seconds or 0.0
    )


def _killed(runner: CellRunner, left: dict[str, Cell], group: Sequence[Cell]) -> Iterator[Done]:
    """Cells of a group that were running when its last worker was killed: they count as failed."""
    flying = runner.store.tasks_in_flight(runner.run)
    for cell in group:
        task = runner.task_of(cell)
        if task in left and task in flying:
            names = cell.job.model_identifier, cell.job.benchmark_identifier
            error = f"its process ({flying[task]}) was killed again and again, as the system does where memory runs out"
            key = runner.store.add_failure(*names, error, run=runner.run, task=task, cell=cell.key)
            del left[task]
            yield Done(*names, "failed", key, error, 0.0)
