"""What draws and permutations cost, beside rsatoolbox in the same run.

``python -m benchmarks_perf.calibration.cost`` prints the best of the later calls of each row, in turns with the peer,
keeps them in ``results/``, and renders the page anew. rsatoolbox takes minutes for 1,000 two-factor bootstraps, noise
ceilings included: it is timed for a few and scaled.
"""

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

from benchmarks_perf import page, report
from bsjax.engine.precision import precision
from bsjax.metrics import (
    Ridge,
    bootstrap_counts,
    cka_bootstraps,
    compiled,
    cross_validation_bootstraps,
    drawn_folds,
    make_folds,
    permutations,
    rdm_pairs,
    rdm_permutations,
    two_factor_bootstraps,
)

_ROUNDS, _OF_PEER = 4, 4


def _best(*calls: Callable[[], Any]) -> list[float]:
    """Seconds of each, the best of some rounds in which they take turns, after a first call."""
    times: list[list[float]] = [[] for _ in calls]
    for turn in range(_ROUNDS + 1):
        for call, found in zip(calls, times, strict=True):
            start = time.perf_counter()
            jax.block_until_ready(call())
            if turn:
                found.append(time.perf_counter() - start)
    return [min(found) for found in times]


def _rsatoolbox(model: np.ndarray, subjects: np.ndarray) -> Callable[[], Any]:
    from rsatoolbox.inference import eval_dual_bootstrap
    from rsatoolbox.model import ModelFixed
    from rsatoolbox.rdm import RDMs

    data, fixed = RDMs(subjects), ModelFixed("model", RDMs(model[None]))
    return lambda: eval_dual_bootstrap([fixed], data, method="spearman", N=_OF_PEER, k_pattern=1, k_rdm=1)


def rows() -> Iterator[dict[str, Any]]:
    """What each takes: its title, seconds, and those of the peer where there is one."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(92, 100)), rng.normal(size=(92, 60))
    orders = permutations(92, 10_000, 0)
    [seconds] = _best(lambda: compiled(rdm_permutations)(x, y, orders))
    yield {"title": "10,000 permutations of an RSA, 92 images", "seconds": seconds}

    patterns = rng.normal(size=(16, 92, 40)) + rng.normal(size=(92, 40))
    rdms = np.asarray(rdm_pairs(np.stack([1 - np.corrcoef(one) for one in patterns])))
    counts = bootstrap_counts(92, 1000, 0), bootstrap_counts(15, 1000, 1)
    kernel = compiled(two_factor_bootstraps)
    ours, theirs = _best(lambda: kernel(rdms[:1], rdms[1:], *counts), _rsatoolbox(rdms[0], rdms[1:]))
    title = "1,000 two-factor bootstraps of RSA, 92 images x 15 subjects"
    yield {"title": title, "seconds": ours, "peer": "rsatoolbox", "peer_seconds": theirs * 1000 / _OF_PEER}

    x, y = rng.normal(size=(500, 1000)), rng.normal(size=(500, 1000))
    counts_of_stimuli = bootstrap_counts(500, 1000, 0)
    [seconds] = _best(lambda: compiled(cka_bootstraps)(x, y, counts_of_stimuli))
    yield {"title": "1,000 bootstraps of CKA, 500 stimuli x 1,000 units", "seconds": seconds}

    x, y = rng.normal(size=(640, 1000)), rng.normal(size=(640, 50))
    orders = [np.random.default_rng(seed).permutation(640) for seed in range(10)]
    splits = [(order[64:], order[:64]) for order in orders]
    drawn = drawn_folds(bootstrap_counts(640, 200, 0), make_folds(640, splits))
    kernel = compiled(cross_validation_bootstraps, mapping=Ridge(1.0))
    [seconds] = _best(lambda: kernel(x, y, drawn))
    yield {"title": "200 refitted bootstraps of ridge, 640 x 1,000 -> 50, ten splits", "seconds": seconds}


def main() -> None:
    """Measure, print and keep."""
    warnings.simplefilter("ignore")
    found = []
    with precision("float64"):
        for row in rows():
            found.append(row)
            beside = f", {row['peer']} {row['peer_seconds']:.3g} s" if "peer" in row else ""
            print(f"{row['title']}: {row['seconds']:.3f} s{beside}", flush=True)
    environment = {**report.environment(), "peer_versions": {"rsatoolbox": report.versions("rsatoolbox")}}
    report.write("draws", {"row": "draws", "draws": found, "environment": environment})
    page.render()


if __name__ == "__main__":
    main()
