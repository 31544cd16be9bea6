"""Measures one row of the table: all contestants on the same arrays, in one run."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from .. import data, report
from ..harness import Contestant, Measurement, interleaved, largest_difference
from ..workers.client import CONTESTANTS, Worker, turns
from .table import OURS, Row


def measured_in_full(
    row: Row,
    name: str,
    *,
    fast: bool = False,
    rounds: int = 12,
    peer_rounds: int = 6,
    with_peer: bool = True,
    progress: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """The row at its sizes and, under ``"smallest"``, at its smallest.

    Args:
        row, name: of `rows.table.TABLE`.
        fast: only the smallest sizes, a few times.
        rounds, peer_rounds, progress: as in `measured`.
        with_peer: whether to measure others than bsjax.
    """
    how: dict[str, Any] = {"contestants": (*OURS, *(row.peers if with_peer else ())), "progress": progress}
    if fast:
        few = {"rounds": min(rounds, 3), "peer_rounds": min(peer_rounds, 2)}
        return {"row": name, **measured(row, row.smallest_sizes, **few, **how), "fast": True}
    sizes = (row.sizes, row.smallest_sizes)
    found, smallest = (measured(row, each, rounds=rounds, peer_rounds=peer_rounds, **how) for each in sizes)
    kept = ("title", "sizes", "contestants", "times_faster")
    return {"row": name, **found, "fast": False, "smallest": {key: smallest[key] for key in kept}}


def measured(
    row: Row,
    sizes: Mapping[str, int],
    contestants: Sequence[str],
    rounds: int = 12,
    peer_rounds: int = 6,
    warm: bool = True,
    progress: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Measures one row and returns everything that is kept of it.

    Arrays are read and labelled and metrics loaded before any clock starts, on all sides: what is timed is
    ``metric(source, target)``, from labelled arrays to a score.

    Args:
        row: of `rows.table.TABLE`.
        sizes: of the inputs.
        contestants: keys of `workers.client.CONTESTANTS`.
        rounds, peer_rounds: measured calls at most; fewer where a call takes seconds.
        warm: whether to measure bsjax's first call with compiled programs at hand, too.
        progress: is told what happens, a line at a time.
    """
    running_at_once = turns(contestants, report.devices()[0])
    contestants = tuple(name for together in running_at_once for name in together)
    kinds = {name: CONTESTANTS[name].kind for name in contestants}
    environment = report.environment()
    inputs = row.draw(**sizes)
    measurements: dict[str, Measurement] = {}
    answers, first_when_warm = {}, {}
    environment["peer_versions"] = {}
    with tempfile.TemporaryDirectory(prefix="bsjax-perf-") as folder:
        path = Path(folder) / "inputs.npz"
        data.write(path, inputs)

        def built(worker: Worker) -> Worker:
            worker.build(path, row.task + (" one by one" if kinds[worker.name] == "single calls" else ""), row.options)
            return worker

        for together in running_at_once:
            with ExitStack() as running:
                workers = {name: built(running.enter_context(Worker(name, None, progress))) for name in together}
                calls = {name: _contestant(workers[name], rounds, peer_rounds) for name in together}
                measurements |= interleaved(calls, progress)
                for name, worker in workers.items():
                    answers[name] = worker.answer()
                    if kinds[name] == "peer":
                        environment["peer_versions"][name] = worker.versions()
                    else:
                        environment["machine"]["jax_devices"] = worker.devices()
        for name in (name for name in contestants if warm and kinds[name] == "bsjax"):
            cache = Path(folder) / name.replace(" ", "-")
            for _ in range(2):  # one process fills the cache, the other finds it filled
                with Worker(name, cache, progress) as worker:
                    first_when_warm[name] = {"warm_first_s": built(worker).call().seconds}
            progress(f"{name}: first call of another process {first_when_warm[name]['warm_first_s']:.3f} s")
    progress("computing the exact answer")
    answer = row.exact(inputs, **row.options)
    lines = {
        name: {
            "kind": kinds[name],
            "dtype": CONTESTANTS[name].dtype,
            **measurements[name].summary(),
            **first_when_warm.get(name, {}),
            "score": float(np.mean(answers[name]["score"])),
            **_errors(answers[name], answer),
        }
        for name in contestants
    }
    ours = {name: line["median_s"] for name, line in lines.items() if kinds[name] == "bsjax"}
    others = {name: line["median_s"] for name, line in lines.items() if name not in ours}
    largest = max((array.values for array in inputs.values()), key=lambda values: values.nbytes)
    return {
        "title": row.what.format(**sizes, **row.options),
        "sizes": dict(sizes),
        "options": dict(row.options),
        "input_dtype": str(largest.dtype),
        "input_bytes": sum(array.values.nbytes for array in inputs.values()),
        "stimuli_matrix_bytes": sizes.get("stimuli", sizes.get("train", 0)) ** 2 * largest.itemsize,
        "contestants": lines,
        # For each that is not bsjax in one call, how many times its median is that of each that is.
        "times_faster": {name: {mine: at / ours[mine] for mine in ours} for name, at in others.items()},
        "environment": environment,
    }


def _contestant(worker: Worker, rounds: int, peer_rounds: int) -> Contestant:
    kind = CONTESTANTS[worker.name].kind
    most, least = (rounds, 3) if kind == "bsjax" else (peer_rounds, 2)
    return Contestant(worker.call, most, least, compiles=kind != "peer")


def _errors(found: Mapping[str, np.ndarray], exact: Mapping[str, Any]) -> dict[str, float | None]:
    """Difference to the exact answer: the largest of the score or scores, and of the raw values."""
    errors: dict[str, float | None] = {"score_error": None, "raw_error": None}
    for part in ("score", "raw"):
        if part in found and part in exact:
            compared = found[part][exact["of"][part]] if part in exact.get("of", {}) else found[part]
            errors[f"{part}_error"] = largest_difference(compared, exact[part])
    return errors
