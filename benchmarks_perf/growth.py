"""How time grows with the number of stimuli, features, targets and folds: bsjax beside its peers.

``python -m benchmarks_perf.growth [--fast] [--metrics pls cka]`` keeps one JSON a metric in ``results/``.
"""

import argparse
import math
import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import data, floors, rates, report
from .harness import schedule
from .rows import TABLE
from .workers.client import CONTESTANTS, Worker

OURS = "bsjax float64"

# Calls after the first: as many as fit into so many seconds, within these bounds.
_SECONDS, _MOST = 0.6, 7
# From here on a peer is not called again.
_SLOW = 1.0


@dataclass(frozen=True)
class Axis:
    """What varies while all else stays at its base: the key of a size or option, and its values."""

    key: str
    values: tuple[int, ...]
    fast_values: tuple[int, ...]


_STIMULI = Axis("stimuli", (50, 200, 800, 2560), (50, 100))
_FEATURES = Axis("features", (100, 400, 1600, 4000), (30, 60))
_NEUROIDS = Axis("neuroids", (20, 50, 250, 1000), (5, 10))
_SPLITS = Axis("splits", (2, 5, 10, 20), (2, 5))
_BASE = {"stimuli": 800, "features": 400, "neuroids": 50}
_FAST_BASE = {"stimuli": 60, "features": 30, "neuroids": 10}
_TRAIN = Axis("train", (50, 200, 800, 2000), (50, 100))
_REGRESSION = (_STIMULI, _FEATURES, _NEUROIDS, _SPLITS)

AXES: Mapping[str, tuple[Axis, ...]] = {
    **dict.fromkeys(("pls", "ridge", "linear_predictivity", "neuron_to_neuron"), _REGRESSION),
    "ridgecv_split": (_TRAIN, _FEATURES, _NEUROIDS),
    "cka": (_STIMULI, _FEATURES, _NEUROIDS),
    "rdm": (_STIMULI, _FEATURES, _NEUROIDS),
    "internal_consistency": (_STIMULI, _NEUROIDS, Axis("repetitions", (2, 5, 10, 40), (2, 4))),
}
"""Row -> what is varied."""


def measure(
    name: str, *, fast: bool = False, peers: bool = True, progress: Callable[[str], None] = lambda line: None
) -> dict[str, Any]:
    """Times along every axis of a row.

    All contestants keep their process over all points. At each they are called once, which compiles, and then again in
    turns; of a peer that takes more than a second the first call counts.

    Args:
        name: a key of `AXES`.
        fast: two small sizes an axis, to see that all works.
        peers: whether to measure peers at all.
        progress: is told what happens, a line at a time.

    Returns:
        ``{"row", "title", "base", "axes", "slower", "rates", "environment", "fast"}``: ``axes`` has, by key, the
        ``values``, the ``seconds`` and ``first_s`` of each contestant, the floors, the exponent of each step of bsjax
        and of the floor; ``slower`` the points at which bsjax takes longer than a peer.
    """
    row = TABLE[name]
    base = _base(name, fast)
    contestants = (OURS, *(row.peers if peers else ()))
    environment = report.environment()
    result: dict[str, Any] = {
        "row": name,
        "title": row.what,
        "base": base,
        "axes": {},
        "slower": [],
        "rates": rates.apart(),
        "environment": environment,
        "fast": fast,
    }
    with tempfile.TemporaryDirectory(prefix="bsjax-growth-") as folder, ExitStack() as running:
        workers = {who: running.enter_context(Worker(who, Path(folder) / "cache", progress)) for who in contestants}
        environment["peer_versions"] = {who: workers[who].versions() for who in contestants if who != OURS}
        measured: dict[tuple, dict[str, Any]] = {}  # the base lies on every axis, and is measured once
        for axis in AXES[name]:
            points = []
            for value in axis.fast_values if fast else axis.values:
                settings = {**base, axis.key: value}
                point = tuple(settings.values())
                if point not in measured:
                    measured[point] = _point(name, settings, workers, Path(folder) / "inputs.npz")
                    progress(f"{axis.key} {value}: {_shown(measured[point]['seconds'])}")
                points.append(measured[point])
            values = [*(axis.fast_values if fast else axis.values)]
            result["axes"][axis.key] = _along(name, base, axis.key, values, points, result["rates"])
    result["slower"] = slower(result["axes"])
    return result


def slower(axes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The points at which bsjax takes longer than a peer.

    Examples:
        >>> slower({"stimuli": {"values": [50, 200], "seconds": {"bsjax float64": [2.0, 3.0], "peer": [1.0, 9.0]}}})
        [{'axis': 'stimuli', 'value': 50, 'peer': 'peer', 'times_faster': 0.5}]
    """
    return [
        {"axis": key, "value": value, "peer": peer, "times_faster": theirs / ours}
        for key, axis in axes.items()
        for peer, all_theirs in axis["seconds"].items()
        if peer != OURS
        for value, ours, theirs in zip(axis["values"], axis["seconds"][OURS], all_theirs, strict=True)
        if theirs < ours
    ]


def exponents(values: Sequence[float], seconds: Sequence[float]) -> list[float]:
    """The power with which ``seconds`` grow from each value to the next.

    Examples:
        >>> exponents([10, 100, 1000], [1.0, 1.0, 100.0])
        [0.0, 2.0]
    """
    grown = zip(values[:-1], values[1:], seconds[:-1], seconds[1:], strict=True)
    return [math.log(t / s) / math.log(b / a) for a, b, s, t in grown]


def _base(name: str, fast: bool) -> dict[str, int]:
    """Sizes and varied options while another is varied."""
    base = _FAST_BASE if fast else _BASE
    if name == "ridgecv_split":
        return {"train": base["stimuli"], "test": base["stimuli"] // 2, **_without(base, "stimuli")}
    if name == "internal_consistency":
        return {**_without(base, "features"), "repetitions": 4 if fast else 10}
    return {**base, "splits": 10} if "splits" in TABLE[name].options else dict(base)


def _point(name: str, settings: Mapping[str, int], workers: Mapping[str, Worker], path: Path) -> dict[str, Any]:
    """First and median later call of every contestant."""
    row = TABLE[name]
    sizes = _without(settings, "splits")
    options = {**row.options, **{key: value for key, value in settings.items() if key == "splits"}}
    data.write(path, row.draw(**sizes))
    first, counts = {}, {}
    for who, worker in workers.items():
        worker.build(path, row.task, options)
        first[who] = worker.call().seconds
        settled = first[who] if who != OURS else worker.call().seconds
        slow = who != OURS and settled > _SLOW
        counts[who] = 0 if slow else min(max(int(_SECONDS / settled), 2), _MOST)
    later: dict[str, list[float]] = {who: [] for who in workers}
    for who in schedule(counts):
        later[who].append(workers[who].call().seconds)
    return {
        "first_s": first,
        "seconds": {who: statistics.median(found) if found else first[who] for who, found in later.items()},
        "calls": {who: len(found) for who, found in later.items()},
    }


def _along(
    name: str,
    base: Mapping[str, int],
    key: str,
    values: Sequence[int],
    points: Sequence[Mapping[str, Any]],
    measured_rates: Mapping[str, Any],
) -> dict[str, Any]:
    """One axis as it is kept."""
    counted = [floors.COUNTS[name](**{**TABLE[name].options, **base, key: value}) for value in values]
    dtype = CONTESTANTS[OURS].dtype
    floor = [floors.seconds(steps, measured_rates, dtype) for steps in counted]
    columns = {part: {who: [point[part][who] for point in points] for who in points[0][part]} for part in points[0]}
    return {
        "values": [*values],
        **columns,
        "floor_s": floor,
        "exponents": exponents(values, columns["seconds"][OURS]),
        "floor_exponents": exponents(values, floor),
    }


def _without(settings: Mapping[str, int], key: str) -> dict[str, int]:
    return {name: value for name, value in settings.items() if name != key}


def _shown(seconds: Mapping[str, float]) -> str:
    return ", ".join(f"{who} {value:.4f} s" for who, value in seconds.items())


def main(
    metrics: Sequence[str] = tuple(AXES),
    fast: bool = False,
    peers: bool = True,
    progress: Callable[[str], None] = print,
    folder: Path = report.RESULTS,
) -> None:
    """Measures, and keeps one JSON a metric; a fast run keeps none."""
    for name in metrics:
        result = measure(name, fast=fast, peers=peers, progress=lambda line, name=name: progress(f"{name}: {line}"))
        for point in result["slower"]:
            progress(
                f"{name}: SLOWER than {point['peer']} at {point['axis']} {point['value']}: {point['times_faster']:.2f}x"
            )
        if not fast and peers:
            path = report.write(f"growth-{name}", result, folder)
            progress(f"{name}: kept in {path.name}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks_perf.growth", description=__doc__)
    parser.add_argument("--metrics", nargs="+", choices=list(AXES), default=list(AXES), help="all by default")
    parser.add_argument("--fast", action="store_true", help="small sizes, to see that all works; keeps no result")
    parser.add_argument("--without-peer", action="store_true", help="measure bsjax alone; keeps no result")
    chosen = parser.parse_args()
    main(chosen.metrics, chosen.fast, not chosen.without_peer)
