"""The error consistencies of Geirhos et al. (2021): 17 experiments, from nothing to the last score."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from .. import report

PUBLISHED = 0.20834
"""Mean over experiments that Brain-Score's tests state for these trials of ResNet-50."""

_FAST = ("edge", "silhouette")


def measure(
    name: str,
    *,
    fast: bool = False,
    rounds: int = 12,
    peer_rounds: int = 6,
    with_peer: bool = True,
    progress: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Measures processes from their start to their last score: imports, reading,
    compilation, ceilings.

    The first has an empty home folder; those after it find compiled programs and ceilings there. The trials are those
    of ``$BSJAX_SHARED_DATA/geirhos2021``, or what ``bsjax data import Geirhos2021`` has fetched.

    Args:
        name: ``"geirhos2021"``.
        fast: two experiments.
        rounds: measured processes after the first.
        peer_rounds, with_peer: not used: there is no peer.
        progress: is told what happens, a line at a time.

    Raises:
        FileNotFoundError: there are no trials.
    """
    environment = report.environment()
    data = _trials()
    seconds, score = [], float("nan")
    with tempfile.TemporaryDirectory() as home:
        for turn in range(2 if fast else 1 + rounds):
            changes = {
                "BSJAX_HOME": home,
                "JAX_COMPILATION_CACHE_DIR": f"{home}/jax",
                "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            }
            command = [sys.executable, "-m", __name__, str(data), "fast" if fast else "all"]
            start = time.perf_counter()
            done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **changes})
            seconds.append(time.perf_counter() - start)
            score = float(done.stdout)
            progress(f"{'warm' if turn else 'cold'}: {seconds[-1]:.1f} s")
    low, high = np.quantile(seconds[1:], [0.25, 0.75])
    line = {
        "kind": "bsjax",
        "first_s": seconds[0],
        "median_s": median(seconds[1:]),
        "min_s": min(seconds[1:]),
        "iqr_s": float(high - low),
        "calls": len(seconds) - 1,
        "score": score,
        "score_error": None if fast else abs(score - PUBLISHED),
    }
    experiments = len(_FAST) if fast else 17
    return {
        "row": name,
        "title": f"Geirhos2021: error consistency of stored choices, {experiments} experiments, whole processes",
        "sizes": {"experiments": experiments},
        "fast": fast,
        "contestants": {"bsjax": line},
        "environment": environment,
    }


def _trials() -> Path:
    from bsjax.data.importers.importing import imported_folder

    shared = Path(os.environ.get("BSJAX_SHARED_DATA", Path(__file__).parents[3] / "shared" / "data")) / "geirhos2021"
    return shared if shared.is_dir() else imported_folder("Geirhos2021")


def _score(data: str, fast: bool) -> float:
    from bsjax.benchmarks import benchmark_rows, load_benchmark
    from bsjax.models.stored_behaviour import load_stored_behaviour

    [model] = [model for model in load_stored_behaviour(data) if model.identifier == "resnet50"]
    chosen = [
        row.identifier
        for row in benchmark_rows()
        if row.identifier.startswith("Geirhos2021")
        and row.metric == "error_consistency"
        and (not fast or row.settings["experiment"] in _FAST)
    ]
    return float(np.mean([float(load_benchmark(identifier, data=data)(model).attrs["raw"]) for identifier in chosen]))


if __name__ == "__main__":
    print(_score(sys.argv[1], sys.argv[2] == "fast"))
