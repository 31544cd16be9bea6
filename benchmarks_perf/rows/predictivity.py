"""Cross-validated predictivity through the labelled seam: features -> neuroids, ten splits."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import bsjax

from .. import exact, report
from ..data import Recordings, recordings
from ..harness import Contestant, interleaved, largest_difference, timed
from ..peers import BrainScore
from ..peers.brainscore import NAME as PEER


@dataclass(frozen=True)
class Row:
    """One measurement: ``metric`` is its identifier in bsjax and in the peer, ``fit`` its exact mapping."""

    metric: str
    what: str
    fit: exact.Fit
    size: tuple[int, int, int] = (2560, 1000, 168)
    fast_size: tuple[int, int, int] = (320, 100, 20)


ROWS = {
    "pls": Row("pls", "cross-validated PLS, 25 components", exact.pls),
    "ridge": Row("ridge", "cross-validated ridge, alpha 1", exact.ridge),
}

DTYPES = ("float64", "float32")


def assemblies(data: Recordings) -> tuple[Any, Any]:
    """The two NeuroidAssemblies of bsjax."""

    def build(values: np.ndarray, names: np.ndarray) -> Any:
        coords = {
            "stimulus_id": ("presentation", data.stimulus_id),
            "object_name": ("presentation", data.object_name),
            "neuroid_id": ("neuroid", names),
            "neuroid_num": ("neuroid", np.arange(len(names))),
        }
        return bsjax.NeuroidAssembly(values, coords=coords, dims=["presentation", "neuroid"])

    return build(data.source, data.source_id), build(data.target, data.target_id)


def measure(
    name: str,
    *,
    fast: bool = False,
    rounds: int = 12,
    peer_rounds: int = 2,
    with_peer: bool = True,
    progress: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Measures one row and returns everything that is kept of it.

    Assemblies are built and metrics loaded before any clock starts, on both sides: what is timed is
    ``metric(source, target)``, from labelled arrays to a score.

    Args:
        name: a key of `ROWS`.
        fast: a small size that shows that all works; its times say nothing.
        rounds: measured calls of bsjax, per dtype.
        peer_rounds: measured calls of the peer.
        with_peer: whether to measure the peer at all.
        progress: is told what happens, a line at a time.
    """
    row = ROWS[name]
    size = row.fast_size if fast else row.size
    data = recordings(*size)
    environment = report.environment()
    source, target = assemblies(data)
    contestants = {
        f"bsjax {dtype}": Contestant(
            functools.partial(timed, functools.partial(bsjax.load_metric(row.metric, dtype=dtype), source, target)),
            rounds,
        )
        for dtype in DTYPES
    }
    if with_peer:
        with BrainScore(progress) as peer:
            environment["peer_versions"] = peer.versions()
            peer.load(data)
            contestants[PEER] = Contestant(peer.metric(row.metric), peer_rounds)
            measurements = interleaved(contestants, progress)
    else:
        measurements = interleaved(contestants, progress)
    progress("computing the exact answer")
    return {
        "row": name,
        "title": f"{row.what}: {size[0]} stimuli x {size[1]} features -> {size[2]} neuroids",
        "sizes": dict(zip(("stimuli", "features", "neuroids"), size, strict=True)),
        "input_dtype": str(data.source.dtype),
        "fast": fast,
        "contestants": _compare(measurements, exact.crossvalidated(data, row.fit)),
        "environment": environment,
    }


def _compare(measurements: dict[str, Any], exact_raw: np.ndarray) -> dict[str, dict[str, Any]]:
    """Each contestant's times with its errors against the exact answer and its difference to the peer."""
    answers = {name: _answer(measurement.value) for name, measurement in measurements.items()}
    summaries = {name: measurement.summary() for name, measurement in measurements.items()}
    compared = {}
    for name, (score, raw) in answers.items():
        against_peer = PEER in answers and name != PEER
        peer_score, peer_raw = answers[PEER] if against_peer else (None, None)
        compared[name] = {
            **summaries[name],
            "seconds": measurements[name].seconds,
            "times_faster": summaries[PEER]["median_s"] / summaries[name]["median_s"] if against_peer else None,
            "score": score,
            "score_error": abs(score - exact.score(exact_raw)),
            "raw_error": largest_difference(raw, exact_raw),
            "score_difference_to_peer": abs(score - peer_score) if against_peer else None,
            "raw_difference_to_peer": largest_difference(raw, peer_raw) if against_peer else None,
        }
    return compared


def _answer(value: Any) -> tuple[float, np.ndarray]:
    """Score and ``raw`` (splits, neuroids) of either side's answer."""
    if isinstance(value, dict):
        return float(value["score"]), value["raw"]
    return float(value), value.raw.transpose("split", "neuroid").values
