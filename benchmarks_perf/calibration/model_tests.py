"""How often tests of models reject at 0.05 where there is no difference.

``python -m benchmarks_perf.calibration.model_tests`` simulates 2,000 data sets for each row and prints the table of
the documentation. The tests are those of ``bsjax.compare_models``, on differences of two models that are equally good.
"""

from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.model_selection import ShuffleSplit

from bsjax.engine.programs.compilation import compiled
from bsjax.inference.evidence import Evidence, PairedDraws, PairedUnits, Test
from bsjax.labelled.aggregate import of_splits
from bsjax.metrics import PLS, Mapping, Ridge, cross_validate, make_folds
from bsjax.metrics.inference.paired_tests import bootstrap_test

LEVEL = 0.05
_DRAWS = 1000
_SETS_AT_A_TIME = 50


Rate = tuple[str, str, float]
"""A test in words, what it was done to, and the share of data sets with p < 0.05."""


def rates(data_sets: int = 2000, seed: int = 0) -> Iterator[Rate]:
    """The rate of each test on each kind of data, one after the other."""
    rng = np.random.default_rng(seed)
    for n in (8, 30, 100):
        for kind, draw in _UNITS.items():
            data = f"{kind}, {n} units"
            values = draw(rng, (n, data_sets))
            units = PairedUnits(values)
            for test in units.tests:
                yield test, data, _rate(units, test, data_sets)
            yield from _of_draws(
                PairedDraws(values.mean(axis=0), (_counts(rng, n) @ values / n)[None], None, n - 1), data
            )
    for n in (15, 30, 100):
        yield from _of_draws(_correlations(rng, n, data_sets), f"two correlations, {n} stimuli")
    for subjects, stimuli in ((8, 30), (15, 92)):
        for interaction in (0.5, 2.0):
            data = f"{subjects} subjects x {stimuli} stimuli, noise of each answer {interaction:g}"
            known = _two_factors(rng, subjects, stimuli, interaction, data_sets)
            yield "t, two factors", data, _rate(known, "t", data_sets)
    for name, mapping in (("ridge", Ridge(1.0)), ("pls", PLS(25))):
        for n in (40, 200):
            data = f"{name} of two models, {n} stimuli, 10 splits"
            corrected, shared_ignored = _splits(rng, mapping, n, data_sets // 2)
            yield "t of splits", data, _rate(corrected, "t", data_sets // 2)
            yield "t of splits, uncorrected", data, _rate(shared_ignored, "t", data_sets // 2)


def _of_draws(known: PairedDraws, data: str) -> Iterator[Rate]:
    for test in ("t", "bootstrap"):
        yield f"{test} of draws", data, _rate(known, test, len(known.values))
    draws = jnp.asarray(known.draws[0], jnp.float32)  # type: ignore[index]
    yield "bootstrap, uncorrected", data, float(np.mean(compiled(bootstrap_test)(draws) < LEVEL))


def _rate(evidence: Evidence, test: Test, count: int) -> float:
    p = evidence.p(test, np.arange(count), np.full(count, -1), 0.0, "two-sided")
    return float(np.mean(p < LEVEL))


def _counts(rng: np.random.Generator, n: int) -> np.ndarray:
    """How often each draw holds each unit."""
    return rng.multinomial(n, np.full(n, 1 / n), _DRAWS).astype(float)


# Differences between two models in each unit, of mean zero; the last kind is as skewed as an exponential one, which no
# test here is made for.
_UNITS: dict[str, Callable[[np.random.Generator, tuple[int, int]], np.ndarray]] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "heavy tails (t of 3)": lambda rng, shape: rng.standard_t(3, shape),
    "skewed differences": lambda rng, shape: rng.exponential(size=shape) - 1,
}


def _correlations(rng: np.random.Generator, n: int, data_sets: int) -> PairedDraws:
    """Of two models with the same responses, by draws of the stimuli; each has noise of its own."""
    y = rng.standard_normal((n, data_sets))
    models = [y + rng.standard_normal(y.shape) for _ in range(2)]
    weights = np.concatenate([np.ones((1, n)), _counts(rng, n)]) / n

    def r(x: np.ndarray) -> np.ndarray:
        means = weights @ x, weights @ y
        products = weights @ (x * y) - means[0] * means[1]
        return products / np.sqrt((weights @ x**2 - means[0] ** 2) * (weights @ y**2 - means[1] ** 2))

    differences = r(models[0]) - r(models[1])
    return PairedDraws(differences[0], differences[None, 1:], None, n - 1)


def _splits(rng: np.random.Generator, mapping: Mapping, n: int, data_sets: int) -> tuple[PairedDraws, PairedDraws]:
    """Of two models with the same 100 features of 20 latent ones, each with noise of its own, on 15 noisy neuroids.

    Cross-validated by the default splits: with their variance corrected for what they share, and as if they were
    independent. Models and neuroids weight the latent features anew every few data sets.
    """
    splits = list(ShuffleSplit(10, test_size=0.1, random_state=1).split(np.arange(n)))
    folds, shared = make_folds(n, splits), of_splits(splits, np.arange(n))

    @jax.jit
    def scores(x: jax.Array, y: jax.Array) -> jax.Array:
        of_one = jax.vmap(lambda x, y: cross_validate(x, y, folds, mapping=mapping))
        return jnp.nanmedian(of_one(x, y), axis=-1)

    found = []
    for start in range(0, data_sets, _SETS_AT_A_TIME):
        to_features, to_neuroids = (rng.standard_normal((20, width)) / np.sqrt(20) for width in (100, 15))
        latent = rng.standard_normal((min(_SETS_AT_A_TIME, data_sets - start), n, 20))
        y = latent @ to_neuroids + rng.standard_normal((*latent.shape[:2], 15))
        models = [latent @ to_features + rng.standard_normal((*latent.shape[:2], 100)) for _ in range(2)]
        first, second = (scores(jnp.asarray(x, jnp.float32), jnp.asarray(y, jnp.float32)) for x in models)
        found.append(np.asarray(first - second, float))
    differences = np.concatenate(found).T
    means = differences.mean(axis=0)

    def by(times: float) -> PairedDraws:
        return PairedDraws(means, None, np.sqrt(times / 9) * (differences - means), 9)

    return by(shared.times), by(1 / 10)


def _two_factors(
    rng: np.random.Generator, subjects: int, stimuli: int, interaction: float, data_sets: int
) -> PairedDraws:
    """The mean over subjects and stimuli, of which both have effects of their own, drawn together and each alone."""
    of_subjects, of_stimuli = _counts(rng, subjects) / subjects, _counts(rng, stimuli) / stimuli
    values = np.empty(data_sets)
    draws = np.empty((3, _DRAWS, data_sets))
    for one in range(data_sets):
        data = rng.standard_normal((subjects, 1)) + np.sqrt(stimuli / subjects) * rng.standard_normal(stimuli)
        data = data + interaction * np.sqrt(stimuli) * rng.standard_normal((subjects, stimuli))
        values[one] = data.mean()
        draws[0, :, one] = np.sum((of_subjects @ data) * of_stimuli, axis=1)
        draws[1, :, one] = of_subjects @ data.mean(axis=1)
        draws[2, :, one] = of_stimuli @ data.mean(axis=0)
    return PairedDraws(values, draws, None, min(subjects, stimuli) - 1, (subjects, stimuli))


def main() -> None:
    found: dict[str, dict[str, float]] = {}
    for test, data, rate in rates():
        found.setdefault(data, {})[test] = rate
    tests = list(dict.fromkeys(test for by_test in found.values() for test in by_test))
    print(f"| data | {' | '.join(tests)} |\n|---|{'---|' * len(tests)}")
    for data, row in found.items():
        print(f"| {data} | {' | '.join(f'{row[test]:.3f}' if test in row else '' for test in tests)} |")


if __name__ == "__main__":
    main()
