"""Cells run by the workers of a Dask cluster, on this machine or on many.

Each worker writes its scores into the store itself, so no score depends on the connection. If workers, the scheduler
or this process are lost, the store tells which cells remain. Consecutive cells of one network form one task of the
cluster, so that what they share is built once.
"""

from __future__ import annotations

import itertools
import logging
import math
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from bsjax.core.discovery import one_line
from bsjax.core.extras import import_extra
from bsjax.core.memory import SHARE, available_memory
from bsjax.core.watching import Stop, Watcher, watched, watcher
from bsjax.labelled.regression.target_blocks import Fitted, spread_by
from bsjax.results.leases import is_gone, workers_at
from bsjax.scoring.job import KEPT_BENCHMARKS, Job, Outcome
from bsjax.scoring.planning import Cell, network_of
from bsjax.scoring.runner import Kept, Runner
from bsjax.scoring.sinks import IntoStore, Made

_EXTRA = "distributed"
# Tasks per worker; several small ones balance the load at the end.
_TASKS_PER_WORKER = 4
# Work that does not depend on targets is repeated for each block, and grows faster with stimuli than that of a target.
# A block therefore has at least so many targets per stimulus, and so many in all.
_TARGETS_PER_STIMULUS, _FEWEST_TARGETS = 0.5, 64
# How long to wait for a lost scheduler to return, in seconds.
_PATIENCE = 600.0
_POLL = 0.2
# How long to wait for a scheduler's answer on the first and on later connections, in seconds.
_FIRST, _LATER = 30, 5
_CARDS = Path("/proc/driver/nvidia/gpus")


def run_on_cluster(
    sink: IntoStore, cells: Sequence[Cell], workers: int | str, stop: Stop, timeout: float | None = None
) -> Iterator[Outcome]:
    """Run cells on a cluster, and yield each outcome as it arrives.

    Args:
        sink: the store, into which each worker writes.
        cells: in the order in which they are to be run.
        workers: number of processes to start on this machine; or the address of a scheduler.
        stop: once it is requested, no further cell starts.
        timeout: seconds after which a running cell fails and its process is killed; for processes of this machine.

    Raises:
        ImportError: Dask distributed is not installed.
        ValueError: there are fewer GPUs than workers; a model or benchmark is an object that cannot be pickled; or a
            timeout is given with the address of a scheduler.
        ConnectionError: the scheduler cannot be reached.
    """
    if isinstance(workers, str):
        if timeout is not None:
            raise ValueError(
                f"timeout only works for workers on this machine, not for the cluster {workers}: leave it out"
            )
        yield from _OnWorkers(sink, cells, stop).run_at(workers, is_own=False)
        return
    for n_workers, wave in _waves(cells, workers):
        with _own_cluster(n_workers) as address:
            yield from _OnWorkers(sink, wave, stop, timeout).run_at(address, is_own=True)


def _waves(cells: Sequence[Cell], workers: int) -> list[tuple[int, list[Cell]]]:
    """Group cells by how many of them fit into this machine's memory at a time, according to the plan."""
    if workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers}")
    available = available_memory()
    waves: dict[int, list[Cell]] = {}
    for cell in cells:
        fitting = available // cell.memory if cell.memory else workers
        waves.setdefault(min(max(fitting, 1), workers), []).append(cell)
    return sorted(waves.items(), reverse=True)


@contextmanager
def _own_cluster(workers: int) -> Iterator[str]:
    """Start a scheduler and workers on this machine for the duration of the block; yields the address."""
    distributed: Any = import_extra("distributed", _EXTRA)
    cards = _cards()
    if cards and len(cards) < workers:
        raise ValueError(
            f"each worker needs a GPU of its own; got {workers} workers and {len(cards)} GPUs: give workers="
            f"{len(cards)}, or set JAX_PLATFORMS=cpu to use none"
        )
    here, available = {"host": "127.0.0.1"}, available_memory()
    # Dask would kill workers by their memory use; bsjax limits its own use to the worker's share instead.
    options = {**here, "nthreads": 1, "memory_limit": None, "silence_logs": logging.CRITICAL, "preload": __name__}
    env = {"OMP_NUM_THREADS": str(max((os.cpu_count() or 1) // workers, 1)), SHARE: str(available // workers)}
    specs = {
        number: {
            "cls": distributed.Nanny,
            "options": options | {"env": env | ({"CUDA_VISIBLE_DEVICES": cards[number]} if cards else {})},
        }
        for number in range(workers)
    }
    scheduler = {
        "cls": distributed.Scheduler,
        "options": {**here, "dashboard": False, "dashboard_address": "127.0.0.1:0", "port": 0},
    }
    with distributed.SpecCluster(specs, scheduler, silence_logs=logging.CRITICAL) as cluster:
        yield cluster.scheduler_address


def dask_setup(worker: Any) -> None:
    """Ignore Ctrl-C in the workers, which a terminal sends to all processes; Dask calls this when a worker starts."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _cards() -> list[str]:
    """The numbers of this machine's GPUs that JAX may use, as CUDA takes them."""
    if os.environ.get("JAX_PLATFORMS", "") == "cpu":
        return []
    there = len(list(_CARDS.iterdir())) if _CARDS.is_dir() else 0
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if not there or visible is None:
        return [str(number) for number in range(there)]
    return [name.strip() for name in visible.split(",") if name.strip() not in ("", "-1")]


class _OnWorkers:
    """Runs cells on the workers of a scheduler.

    Args:
        sink: the store, into which each worker writes.
        cells: in the order in which they are to be run.
        stop: once it is requested, no further cell starts.
        timeout: seconds after which a running cell fails and its process is killed.
    """

    def __init__(self, sink: IntoStore, cells: Sequence[Cell], stop: Stop, timeout: float | None = None) -> None:
        self._sink, self._stop, self._timeout = sink, stop, math.inf if timeout is None else timeout
        self._left = {cell.task: cell for cell in cells}

    def run_at(self, address: str, is_own: bool) -> Iterator[Outcome]:
        """Run the cells, and yield their outcomes; reconnect to an external scheduler that was lost."""
        gone_at: float | None = None
        is_known = False
        while self._left and not self._stop.asked:
            try:
                with _connected(address, patience=_LATER if is_known else _FIRST) as client:
                    is_known, gone_at = True, None
                    # Workers may have finished cells while the connection was lost.
                    yield from self._stored(self._left)
                    yield from self._run(client)
            except (OSError, TimeoutError) as error:
                gone_at = gone_at or time.monotonic()
                if is_own or not is_known or time.monotonic() - gone_at > _PATIENCE:
                    raise ConnectionError(
                        f"the Dask scheduler at {address} cannot be reached ({one_line(error)}); what was scored is "
                        "kept, and the same call goes on from there"
                    ) from error
                time.sleep(_POLL)

    def _run(self, client: Any) -> Iterator[Outcome]:
        """Run the remaining cells on a client's workers."""
        told: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        client.subscribe_topic(self._sink.run, lambda event: told.put(event[1]))
        there = list(client.scheduler_info(n_workers=-1)["workers"].values())
        cells = list(self._left.values())
        # Cells of one task may be fitted at once, which would take longer than the timeout of one.
        first = _groups(cells, max(len(there), 1)) if self._timeout == math.inf else [[cell] for cell in cells]
        share = len(there) // len(first)

        def submitted(groups: list[list[Cell]]) -> dict[Any, list[Cell]]:
            futures = {self._submitted(client, group, there, share): group for group in groups}
            for future in futures:
                future.add_done_callback(lambda done: told.put(("task", done)))
            return futures

        pending = submitted(first)
        begun: dict[str, float] = {}
        while pending:
            for task in [each for each, at in begun.items() if time.monotonic() - at > self._timeout]:
                del begun[task]
                if task in self._left and self._is_ended(task):
                    yield self._failed(task, TimeoutError(f"it took longer than {self._timeout:g} s, and was ended"))
            if self._stop.asked:
                self._sink.store.end_run(self._sink.run)  # workers then start no further cell
            try:
                kind, what = told.get(timeout=_POLL)
            except queue.Empty:
                if client.status != "running":
                    raise ConnectionError("the connection is lost") from None
                if self._stop.asked and not client.scheduler_info(n_workers=-1)["workers"]:
                    return  # no worker is left to finish the cells
                continue
            if kind == "begun" and what in self._left:
                begun[what] = time.monotonic()
                watcher().begun(self._left[what].job)
            elif kind == "came":
                yield from self._came(*what)
            elif kind == "task":
                group = pending.pop(what, [])
                yield from self._stored([cell.task for cell in group])
                if what.status == "finished":  # with what a lost message said
                    for came in what.result():
                        yield from self._came(*came)
                    continue
                if what.status == "error":
                    yield from self._killed(group, what.exception())
                again = [cell for cell in group if cell.task in self._left]
                if again and what.status == "cancelled":
                    raise ConnectionError("the scheduler has lost its tasks")
                if again:
                    pending |= submitted([again])

    def _submitted(self, client: Any, group: list[Cell], workers: Sequence[dict[str, Any]], share: int) -> Any:
        try:
            return client.submit(_run_cells, self._sink, group, share, resources=_resources(workers, group), pure=False)
        except TypeError as error:  # Dask raises it for what cannot be pickled
            given = [
                pair for cell in group for pair in zip(cell.names, (cell.job.model, cell.job.benchmark), strict=True)
            ]
            names = dict.fromkeys(name for name, what in given if not isinstance(what, str))
            raise ValueError(
                f"{', '.join(names)} cannot be sent to a worker ({one_line(error)}): make it a plugin, and give its "
                "identifier"
            ) from error

    def _stored(self, tasks: Iterable[str]) -> Iterator[Outcome]:
        """Outcomes of the given tasks that the run has in the store."""
        for task, row in self._sink.store.tasks_done(self._sink.run, list(tasks)).items():
            yield from self._came(task, "failed" if row.error else "scored", row.key, row.error, row.seconds)

    def _came(self, task: str, state: str, key: str, error: str, seconds: float | None) -> Iterator[Outcome]:
        """The outcome of a task, unless it was already reported."""
        if task in self._left:
            failed = RuntimeError(error) if error else None
            yield Outcome(*self._left.pop(task).names, None, failed, seconds or 0.0, state, key)

    def _failed(self, task: str, error: Exception) -> Outcome:
        """Store the failure of a task whose process cannot do it any more."""
        cell = self._left.pop(task)
        return self._sink.keep(cell, Made(error, cell.key))

    def _is_ended(self, task: str) -> bool:
        """Kill the local process that runs a task; False if it is already gone and another will start the task."""
        worker = workers_at(self._sink.store, self._sink.run).get(task)
        if worker is None or is_gone(worker):
            return False
        os.kill(int(worker.rpartition(" ")[2]), signal.SIGKILL)
        return True

    def _killed(self, group: Sequence[Cell], error: Exception) -> Iterator[Outcome]:
        """Mark the cells of a group as failed that several workers in a row were killed at."""
        if not isinstance(error, import_extra("distributed.scheduler", _EXTRA).KilledWorker):
            raise error
        flying = workers_at(self._sink.store, self._sink.run)
        for task in [cell.task for cell in group if cell.task in self._left and cell.task in flying]:
            why = (
                f"its process ({flying[task]}) ended without a word, again and again: by a crash, by an exit, or by "
                "the system, where memory runs out"
            )
            yield self._failed(task, RuntimeError(why))


@contextmanager
def _connected(address: str, patience: float) -> Iterator[Any]:
    distributed: Any = import_extra("distributed", _EXTRA)
    client = distributed.Client(address, timeout=patience, set_as_default=False)
    try:
        yield client
    finally:
        with suppress(Exception):  # the scheduler may be gone
            client.close(timeout=2)


def _run_cells(sink: IntoStore, cells: Sequence[Cell], workers: int) -> list[list[Any]]:
    """In a worker: run cells one after the other on as many workers, except those that a lost worker had finished."""
    runner: Any = _runners.get(sink.run, lambda: Runner(sink))
    done = runner.sink.store.tasks_done(sink.run, [cell.task for cell in cells])
    tasks, made = {cell.names: cell.task for cell in cells}, []
    with watched(_Messenger(sink.run, tasks)), spread_by(OnAllWorkers(workers) if workers > 1 else None):
        for outcome in runner([cell for cell in cells if cell.task not in done]):
            task = tasks[outcome.model, outcome.benchmark]
            made.append([task, outcome.state, outcome.key, outcome.error_line, outcome.seconds])
            _tell(sink.run, "came", made[-1])
    return made


class _Messenger(Watcher):
    """In a worker: tells the waiting process which cell starts."""

    def __init__(self, run: str, tasks: Mapping[tuple[str, str], str]) -> None:
        self._run, self._tasks = run, tasks

    def begun(self, job: Job) -> None:
        """A cell starts."""
        _tell(self._run, "begun", self._tasks[job.names])


def _tell(run: str, kind: str, what: Any) -> None:
    """In a worker: send a message to the waiting process; a lost message is made up for when the task ends."""
    distributed: Any = import_extra("distributed", _EXTRA)
    with suppress(Exception):
        distributed.get_worker().log_event(run, [kind, what])


class OnAllWorkers:
    """In a worker: fits blocks of targets on several workers, including this one.

    This worker keeps the features and the blocks, from which Dask repeats what a lost worker was at. Prepared features
    are a task that is named by their content, and so shared by all cells that need them at the same time.

    Args:
        workers: their number.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._ready: Any = None

    def least_blocks(self, stimuli: int, targets: int) -> int:
        """One block per worker, unless there are too few targets."""
        return max(min(self._workers, targets // max(int(_TARGETS_PER_STIMULUS * stimuli), _FEWEST_TARGETS)), 1)

    def __call__(
        self, fit: Callable[..., list[Fitted]], source: Any, prepare: Callable[[Any], Any], blocks: Sequence[Any]
    ) -> list[Fitted]:
        """``fit([prepare(source)], block)[0]`` of each block."""
        distributed: Any = import_extra("distributed", _EXTRA)
        tokenize: Any = import_extra("dask.base", _EXTRA).tokenize
        source = np.asarray(source)
        with distributed.worker_client() as client:
            name = f"prepared-{tokenize(prepare, source)}"
            # Kept for the next cell, which often has the same features.
            self._ready = client.submit(prepare, client.scatter(source), key=name)
            # Dask would rather fit all blocks here, where the data are.
            at = client.processing()
            idle_first = itertools.cycle(sorted(at, key=lambda worker: len(at[worker]))[: self._workers])
            return client.gather(
                [
                    client.submit(
                        _fit_block, fit, block, self._ready, pure=False, workers=[to], allow_other_workers=True
                    )
                    for block, to in zip(client.scatter(list(map(np.asarray, blocks))), idle_first, strict=False)
                ]
            )


def _fit_block(fit: Callable[..., list[Fitted]], block: Any, source: Any) -> Fitted:
    return fit([source], block)[0]


# The runner of the last run, in a worker.
_runners = Kept(1)


def _groups(cells: Sequence[Cell], n_workers: int) -> list[list[Cell]]:
    """Group cells into tasks: one network each, and small enough that every worker gets some."""
    most = min(max(len(cells) // (n_workers * _TASKS_PER_WORKER), 1), KEPT_BENCHMARKS)
    groups = []
    for _, of_network in itertools.groupby(cells, key=lambda cell: network_of(cell.job)):
        together = list(of_network)
        groups += [together[start : start + most] for start in range(0, len(together), most)]
    return groups


def _resources(workers: Sequence[dict[str, Any]], cells: Sequence[Cell]) -> dict[str, float]:
    """The GPU and memory that a task requests, at most what a worker offers."""
    memory = max((cell.memory for cell in cells if cell.memory is not None), default=0)
    wanted = {"GPU": 1.0, "memory": float(memory)}
    most = {name: max((worker.get("resources", {}).get(name, 0) for worker in workers), default=0) for name in wanted}
    return {name: min(amount, most[name]) for name, amount in wanted.items() if amount and most[name]}
