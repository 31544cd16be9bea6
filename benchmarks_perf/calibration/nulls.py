"""How often scores are above chance, and calibrated scores above 0, where there is no relation.

``python -m benchmarks_perf.calibration.nulls`` simulates 2,000 data sets for each row and prints the table of the
documentation: twelve layers, whose responses to the stimuli have a part in common, and recordings that have nothing to
do with them.
"""

import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bsjax.engine.batches import batched_map
from bsjax.metrics import Ridge, make_folds
from bsjax.metrics.resampling.permutation import (
    calibrated,
    cka_permutations,
    cross_validation_permutations,
    permutation_p_value,
    rdm_permutations,
)

LEVEL, LAYERS, DRAWS = 0.05, 12, 99
STIMULI, FEATURES, NEUROIDS = 20, 30, 5
FOLDS = make_folds(
    STIMULI, [(np.setdiff1d(np.arange(STIMULI), part), part) for part in np.split(np.arange(STIMULI), 4)]
)


class Rates(NamedTuple):
    """How often there is something where there is nothing, of many data sets.

    Attributes:
        alone: share with p <= 0.05, of one layer.
        calibrated: share with a calibrated score above 0, of one layer.
        chosen: share with p <= 0.05 of the best of twelve layers, by its own permutations.
        best: share with a calibrated score above 0, of the best of twelve layers by the best of each permutation.
        score: of one layer, the mean.
    """

    alone: float
    calibrated: float
    chosen: float
    best: float
    score: float


def _ridge(y: Any, x: Any, orders: Any) -> Any:
    """The mean over folds of the median over neuroids, after every permutation."""
    raw = cross_validation_permutations(x, y, FOLDS, orders, mapping=Ridge(1.0))
    return jnp.mean(jnp.median(raw, axis=-1), axis=-1)


METRICS: dict[str, Callable[..., Any]] = {
    "cka": cka_permutations,
    "cka_biased": lambda *sides: cka_permutations(*sides, unbiased=False),
    "rdm": rdm_permutations,
    "ridge": _ridge,
}


def rates(name: str, data_sets: int = 2000, seed: int = 0) -> Rates:
    """The rates of a metric, each data set with permutations of its own."""
    permuted = METRICS[name]
    rng = np.random.default_rng(seed)

    def of_data_set(data: tuple[Any, Any, Any]) -> tuple[Any, ...]:
        layers, y, orders = data
        # The first order is that of the stimuli as they are.
        values, null = jnp.split(jax.lax.map(lambda x: permuted(y, x, orders), layers).T, [1])
        values = values[0]
        p = permutation_p_value(values, null)
        best = calibrated(values, null, level=LEVEL, over=0)
        return (
            p[0] <= LEVEL,
            calibrated(values, null, level=LEVEL)[0] > 0,
            p[jnp.argmax(values)] <= LEVEL,
            best > 0,
            values[0],
        )

    many = jax.jit(lambda data: batched_map(of_data_set, data))
    found = []
    for some in np.array_split(np.arange(data_sets), max(1, data_sets // 250)):
        common = rng.standard_normal((len(some), 1, STIMULI, FEATURES))
        layers = common + rng.standard_normal((len(some), LAYERS, STIMULI, FEATURES))
        y = rng.standard_normal((len(some), STIMULI, NEUROIDS))
        as_it_is = np.broadcast_to(np.arange(STIMULI, dtype=np.int32), (len(some), 1 + DRAWS, STIMULI))
        orders = np.concatenate([as_it_is[:, :1], rng.permuted(as_it_is[:, 1:], axis=2)], axis=1)
        found.append(np.array(many((layers.astype(np.float32), y.astype(np.float32), orders)), float))
    return Rates(*np.concatenate(found, axis=1).mean(axis=1).tolist())


def main() -> None:
    print(
        "| metric | mean score | p <= 0.05 | calibrated > 0 | best of 12, own p <= 0.05 | best of 12, calibrated > 0 |"
    )
    print("|---|---|---|---|---|---|")
    for name in METRICS:
        start = time.perf_counter()
        of = rates(name)
        numbers = (of.score, of.alone, of.calibrated, of.chosen, of.best)
        print(f"| {name} | {' | '.join(f'{number:.3f}' for number in numbers)} |")
        print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
