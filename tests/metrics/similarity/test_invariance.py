"""Every similarity is the same whatever the order of stimuli and units, the scale, and the precision."""

import itertools
from fractions import Fraction
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from bsjax.engine.primitives.ranks import ranks
from bsjax.engine.primitives.row_pairs import numbers_of_pairs
from bsjax.metrics import cka, cka_biased, cka_bootstraps, compiled, rdm, rdm_bootstraps, rdm_similarity
from bsjax.metrics.ceilings.noise_ceiling import rsa_noise_ceiling
from bsjax.metrics.resampling.permutation import rdm_permutations
from bsjax.metrics.resampling.subsets import similarity_on_subsets
from bsjax.metrics.similarity.alignment_spectrum import alignment_spectrum, effective_dimensionality, predicted_errors
from bsjax.metrics.similarity.rdms.dissimilarities import DISSIMILARITIES
from bsjax.metrics.similarity.rdms.rdm import rdm_to_compare, similarity_to_subjects
from bsjax.metrics.similarity.rdms.rdm_comparison import COMPARISONS
from bsjax.metrics.similarity.rdms.sharded_rdm import rdm_similarity_in_shares

pytestmark = pytest.mark.slow


N = 16
SINGLE = [name for name, comparison in COMPARISONS.items() if comparison.of_single_pairs]
OF_ANY = [name for name in DISSIMILARITIES if name != "poisson"]  # which takes rates
EVERY = [*((d, "spearman") for d in OF_ANY), *(("correlation", c) for c in SINGLE if c != "spearman")]


def dimensions(x, y):
    sizes = jnp.asarray([4.0, 9.0], x.dtype)
    spectrum = alignment_spectrum(x / jnp.max(jnp.abs(x)), y)
    errors = predicted_errors(spectrum, sizes, jnp.asarray(0.0, x.dtype)).error
    return jnp.concatenate([effective_dimensionality(x)[None], jnp.sum(spectrum.shares, axis=0), errors.ravel()])


SIMILARITIES = {
    "cka": cka,
    "cka_biased": cka_biased,
    "cka_bootstraps": lambda x, y: cka_bootstraps(x, y, jnp.ones((1, N), jnp.int32)),
    "dimensions": dimensions,
    "subjects": lambda x, y: similarity_to_subjects(x, jnp.stack([y, 2.0 * y])),
    "in shares": lambda x, y: rdm_similarity_in_shares(x, y, jnp.ones(N, bool), shares=2),
    **{f"rdm {d} {c}": partial(rdm_similarity, dissimilarity=d, method=c) for d, c in EVERY},
}


def correlated(rng):
    shared = rng.normal(size=(N, 4))
    return [shared @ rng.normal(size=(4, p)) + 0.5 * rng.normal(size=(N, p)) for p in (9, 7)]


def small_integers(rng):
    return [rng.integers(0, 4, (N, p)).astype(float) + np.eye(1, p) for p in (9, 7)]


@pytest.mark.parametrize("name", SIMILARITIES)
def test_order_scale_and_precision_change_nothing(name):
    of = jax.jit(SIMILARITIES[name])
    for (seed, drawn), longest in itertools.product(enumerate((correlated, small_integers)), (1.0, 1e4)):
        rng = np.random.default_rng(seed)
        x, y = drawn(rng)
        x[3] *= longest
        found = np.asarray(of(jnp.asarray(x), jnp.asarray(y)))
        stimuli, units = rng.permutation(N), rng.permutation(x.shape[1])
        again = of(jnp.asarray(x[stimuli][:, units]), jnp.asarray(y[stimuli]))
        # Singular vectors lose the digits that a mode is weaker by than the strongest.
        atol = 1e-12 * (longest if name == "dimensions" else 1.0)
        np.testing.assert_allclose(again, found, rtol=0, atol=atol)
        for scale in (1e-6, 0.1, 1e6):
            np.testing.assert_allclose(of(jnp.asarray(scale * x), jnp.asarray(y)), found, rtol=0, atol=atol)
        short = np.asarray(of(jnp.asarray(x, "float32"), jnp.asarray(y, "float32")))
        # Predicted errors divide by weak modes, of which float32 keeps fewer digits beside one that is so much longer.
        near = 2e-2 if name == "dimensions" and longest > 1e3 else 1e-3
        np.testing.assert_allclose(short, found, rtol=near, atol=near)


def exact_order(x, dissimilarity):
    """Each dissimilarity of integers by a number in the same order, as a fraction."""
    n, p = x.shape
    x = x.astype(object)
    if dissimilarity.endswith("euclidean"):
        return [[int(((a - b) ** 2).sum()) for b in x] for a in x]
    x = x * p - x.sum(axis=1, keepdims=True) if dissimilarity == "correlation" else x
    inner = x @ x.T
    return [[Fraction(-inner[i, j] * abs(inner[i, j]), inner[i, i] * inner[j, j]) for j in range(n)] for i in range(n)]


@pytest.mark.parametrize("dissimilarity", OF_ANY)
def test_ranks_of_integers_are_those_of_exact_arithmetic(dissimilarity):
    left, right = (np.asarray(side) for side in numbers_of_pairs(N))

    @jax.jit
    def ranked(x):
        (vector, errors), _ = rdm_to_compare(x, dissimilarity, "spearman")
        return ranks(vector, None, errors)

    for seed in range(12):
        rng = np.random.default_rng(seed)
        attributes = np.concatenate([np.eye(4)[rng.integers(0, 4, N)], np.eye(3)[rng.integers(0, 3, N)]], axis=1)
        x = (attributes if seed % 2 else rng.integers(0, 5, (N, 7)) + np.eye(1, 7)).astype(int)
        x[0] *= 1000 if seed % 3 == 0 else 1
        exact = exact_order(x, dissimilarity)
        levels = {value: place for place, value in enumerate(sorted({v for row in exact for v in row}))}
        expected = scipy.stats.rankdata([levels[exact[i][j]] for i, j in zip(left, right, strict=True)])
        for scale in (0.1, 1e-6):
            np.testing.assert_array_equal(ranked(jnp.asarray(scale * x)), expected)
            # Equal entries of the matrix are one number, for whatever compares it.
            matrix = np.asarray(compiled(rdm, dissimilarity=dissimilarity)(jnp.asarray(scale * x)))
            np.testing.assert_array_equal(scipy.stats.rankdata(matrix[left, right]), expected)
            np.testing.assert_array_equal(matrix, matrix.T)


@pytest.mark.parametrize("dissimilarity", ["correlation", "sqeuclidean"])
def test_draws_of_integers_do_not_depend_on_the_order_of_units(dissimilarity):
    rng = np.random.default_rng(0)
    x, y = small_integers(rng)
    counts = jnp.asarray(rng.multinomial(N, np.full(N, 1 / N), 3))
    orders = jnp.asarray([rng.permutation(N) for _ in range(3)])
    rows = jnp.asarray([rng.choice(N, 10, replace=False) for _ in range(3)])
    there = jnp.ones(rows.shape, bool)
    of = partial(rdm_similarity, dissimilarity=dissimilarity, method="tau-a")
    kernels = [
        lambda x, y: similarity_on_subsets(
            x, y, rows, there, similarity=of, rotation_invariant=dissimilarity == "sqeuclidean"
        ),
        lambda x, y: rdm_bootstraps(x, y, counts, dissimilarity=dissimilarity),
        lambda x, y: rdm_permutations(x, y, orders, dissimilarity=dissimilarity, method="tau-a"),
    ]
    for kernel in map(jax.jit, kernels):
        found = kernel(jnp.asarray(x), jnp.asarray(y))
        again = kernel(jnp.asarray(0.1 * x[:, ::-1]), jnp.asarray(y[:, ::-1]))
        np.testing.assert_allclose(again, found, rtol=0, atol=1e-12)


@pytest.mark.parametrize("pooling", ["raw", "matched"])
def test_ceilings_of_integers_do_not_depend_on_the_order_of_anything(pooling):
    ceiling = compiled(rsa_noise_ceiling, method="tau-a", pooling=pooling)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        responses = rng.integers(0, 3, (3, 12, 5)) + np.eye(1, 5)[None]
        found = np.asarray(ceiling(jnp.asarray(responses))).mean(axis=1)
        moved = responses[rng.permutation(3)][:, rng.permutation(12)][:, :, rng.permutation(5)]
        again = np.asarray(ceiling(jnp.asarray(moved))).mean(axis=1)
        np.testing.assert_allclose(again, found, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["cka", *(f"rdm {d} spearman" for d in OF_ANY)])
def test_what_does_not_count_may_be_anything(name):
    x, y = correlated(np.random.default_rng(0))
    where, units = np.arange(N) % 4 > 0, np.arange(x.shape[1]) > 1
    kernel = jax.jit(SIMILARITIES[name])
    for left_out in (np.nan, 1e150):
        masked = kernel(jnp.asarray(np.where(where[:, None], x, left_out)), jnp.asarray(y), where=jnp.asarray(where))
        np.testing.assert_allclose(masked, kernel(jnp.asarray(x[where]), jnp.asarray(y[where])), rtol=0, atol=1e-12)
        if name.startswith("rdm"):
            of = jax.jit(partial(rdm, dissimilarity=name.split()[1]))
            found = of(jnp.asarray(np.where(units[None], x, left_out)), where=jnp.asarray(units))
            np.testing.assert_allclose(found, of(jnp.asarray(x[:, units])), rtol=0, atol=1e-12)
