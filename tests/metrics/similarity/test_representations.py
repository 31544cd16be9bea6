"""Numbers of other libraries, identities and invariances of similarities of whole representations."""

import itertools
import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import ot
import pytest
from scipy.linalg import subspace_angles
from scipy.optimize import linear_sum_assignment
from sklearn.cross_decomposition import CCA
from sklearn.neighbors import NearestNeighbors

from bsjax import metrics
from bsjax.metrics.similarity.matching import _of_programme, assignment, transport
from tests.support.slopes import check_slope


def centred(x):
    return x - x.mean(axis=0)


def similarity(kernel, sides, **settings):
    return float(metrics.compiled(kernel, **settings)(*map(jnp.asarray, sides)))


@pytest.fixture(scope="module")
def published():
    """The responses of similarity-repository, whose values by many libraries are published."""
    rng = np.random.RandomState(0)
    return rng.uniform(size=(30, 25)), rng.uniform(size=(30, 25))


@pytest.fixture(scope="module")
def sides():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 6))
    return x, x[:, :4] @ rng.normal(size=(4, 5)) + rng.normal(size=(40, 5))


@pytest.mark.parametrize(
    ("kernel", "settings", "value"),
    [
        (metrics.shape_distance, {}, 0.7629815799),
        (metrics.cca, {}, 0.8901049738),
        (metrics.one_to_one, {}, 0.3363914593),
        (metrics.mutual_nearest_neighbours, {"cosine": False}, 0.43),
    ],
)
def test_published_values(published, kernel, settings, value):
    assert similarity(kernel, published, **settings) == pytest.approx(value, abs=1e-9)


@pytest.mark.slow
def test_canonical_correlations_of_scipy_and_scikit_learn(sides):
    x, y = map(centred, sides)
    correlations = np.cos(subspace_angles(x, y))
    assert similarity(metrics.cca, sides) == pytest.approx(correlations.mean(), abs=1e-12)
    scores = CCA(5, scale=False, max_iter=10_000, tol=1e-14).fit_transform(x, y)
    by_peer = [np.corrcoef(a, b)[0, 1] for a, b in zip(scores[0].T, scores[1].T, strict=True)]
    np.testing.assert_allclose(np.sort(correlations), np.sort(by_peer), atol=1e-6)
    weights = np.abs((scores[0] / np.linalg.norm(scores[0], axis=0)).T @ x).sum(axis=1)
    expected = (weights * by_peer).sum() / weights.sum()
    assert similarity(metrics.pwcca, sides) == pytest.approx(expected, abs=1e-5)


def test_components_of_svcca(sides):
    x, y = map(centred, sides)
    kept = []
    for side in (x, y):
        left, lengths, _ = np.linalg.svd(side, full_matrices=False)
        kept.append(left[:, : np.searchsorted(np.cumsum(lengths**2) / (lengths**2).sum(), 0.8) + 1])
    expected = np.cos(subspace_angles(*kept)).mean()
    assert similarity(metrics.cca, sides, variance=0.8) == pytest.approx(expected, abs=1e-12)


def test_between_procrustes_and_canonical_correlations(sides):
    sides = [jnp.asarray(side) for side in sides]
    whitened = similarity(metrics.shape_similarity, sides, alpha=0.0)
    assert whitened == pytest.approx(similarity(metrics.cca, sides) * 5 / np.sqrt(6 * 5), abs=1e-12)
    assert similarity(metrics.shape_similarity, sides, alpha=1e-9) == pytest.approx(whitened, abs=1e-7)
    nearly = similarity(metrics.shape_similarity, sides, alpha=1.0 - 1e-9)
    assert nearly == pytest.approx(similarity(metrics.shape_similarity, sides), abs=1e-7)


@pytest.mark.slow
def test_the_angle_is_a_metric():
    several = jnp.asarray(np.random.default_rng(1).normal(size=(6, 12, 4)))
    of_two = jax.vmap(lambda a: jax.vmap(lambda b: metrics.angle(metrics.shape_similarity(a, b, alpha=0.4)))(several))
    pairs = np.asarray(jax.jit(of_two)(several))
    np.testing.assert_allclose(pairs, pairs.T, atol=1e-7)
    np.testing.assert_allclose(np.diag(pairs), 0.0, atol=1e-7)
    assert all(pairs[a, c] <= pairs[a, b] + pairs[b, c] + 1e-7 for a, b, c in itertools.permutations(range(6), 3))


@pytest.mark.slow
def test_neighbours_of_scikit_learn(sides):
    found = [
        NearestNeighbors(n_neighbors=7, metric="cosine").fit(side).kneighbors(return_distance=False) for side in sides
    ]
    shared = np.mean([len(set(a) & set(b)) / 7 for a, b in zip(*found, strict=True)])
    assert similarity(metrics.mutual_nearest_neighbours, sides, k=7) == pytest.approx(shared)


@pytest.mark.slow
def test_all_neighbours_are_cka_of_unit_patterns(sides):
    patterns = [jnp.asarray(side / np.linalg.norm(side, axis=1, keepdims=True)) for side in sides]
    assert similarity(metrics.cknna, sides, k=39) == pytest.approx(similarity(metrics.cka, patterns), abs=1e-9)


@pytest.mark.parametrize("unbiased", [True, False])
def test_a_wide_kernel_is_linear(sides, unbiased):
    sides = [jnp.asarray(side) for side in sides]
    wide = similarity(metrics.kernel_cka, sides, bandwidth=1e3, unbiased=unbiased)
    assert wide == pytest.approx(similarity(metrics.cka, sides, unbiased=unbiased), abs=1e-5)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_kernel_cka_by_its_definition(sides, kernel):
    centring = np.eye(40) - 1 / 40
    grams = []
    for side in sides:
        distances = np.linalg.norm(side[:, None] - side[None], axis=2)
        scaled = distances / np.sqrt((distances**2).sum() / (40 * 39)) / 0.7
        grams.append(centring @ np.exp(-0.5 * scaled**2 if kernel == "rbf" else -scaled) @ centring)
    expected = (grams[0] * grams[1]).sum() / np.linalg.norm(grams[0]) / np.linalg.norm(grams[1])
    found = metrics.kernel_cka(*map(jnp.asarray, sides), kernel=kernel, bandwidth=0.7, unbiased=False)
    assert float(found) == pytest.approx(expected, abs=1e-12)


def test_settings_that_cannot_be(sides):
    sides = [jnp.asarray(side) for side in sides]
    with pytest.raises(ValueError, match="bandwidth"):
        metrics.kernel_cka(*sides, bandwidth=0.0)
    with pytest.raises(ValueError, match="alpha"):
        metrics.shape_similarity(*sides, alpha=1.5)
    with pytest.raises(ValueError, match="k must"):
        metrics.cknna(*sides, k=0)


@pytest.mark.slow
def test_samples_of_one_population_agree_however_few():
    rng = np.random.default_rng(2)
    latent = rng.normal(size=(300, 8)) * np.linspace(0.5, 2.0, 8)
    population = latent @ rng.normal(size=(8, 4000)) + 1.5 * rng.normal(size=(300, 4000))

    def median(kernel, units):
        draws = [rng.permutation(4000)[: 2 * units].reshape(2, units) for _ in range(40)]
        return np.median([float(kernel(*(jnp.asarray(population[:, one]) for one in both))) for both in draws])

    corrected = [median(jax.jit(metrics.cka_of_sampled_units), units) for units in (20, 40, 160)]
    np.testing.assert_allclose(corrected, 1.0, atol=0.1)
    assert median(jax.jit(metrics.cka), 20) < 0.8


def test_matches_are_those_of_scipy(sides):
    correlations = np.corrcoef(*sides, rowvar=False)[:6, 6:]
    rows, columns = linear_sum_assignment(correlations, maximize=True)
    sides = [jnp.asarray(side) for side in sides]
    assert similarity(metrics.one_to_one, sides) == pytest.approx(correlations[rows, columns].mean(), abs=1e-12)
    assert float(metrics.one_to_one(*reversed(sides))) == pytest.approx(correlations[rows, columns].mean(), abs=1e-12)
    assert similarity(metrics.semi_matching, sides) == pytest.approx(correlations.max(axis=0).mean(), abs=1e-12)


@pytest.mark.slow
def test_devices_without_a_host_find_the_same_assignment():
    gains = jnp.asarray(np.random.default_rng(3).normal(size=(3, 9, 14)))
    np.testing.assert_array_equal(jax.vmap(assignment)(gains), jax.vmap(assignment.plain)(gains))


def test_permutations_of_scipy(sides):
    x, y = (side / np.linalg.norm(side) for side in map(centred, sides))
    rows, columns = linear_sum_assignment(x.T @ y, maximize=True)
    both = [jnp.asarray(side) for side in sides]
    assert similarity(metrics.permutation_shape_similarity, both) == pytest.approx(
        (x.T @ y)[rows, columns].sum(), abs=1e-12
    )
    assert similarity(metrics.permutation_shape_similarity, both) < similarity(metrics.shape_similarity, both)
    shuffled = 3.0 * both[0][:, np.random.default_rng(4).permutation(6)] - 1.0
    assert float(metrics.permutation_shape_similarity(both[0], shuffled)) == pytest.approx(1.0, abs=1e-12)


DIFFERENTIABLE = {
    "procrustes": metrics.shape_similarity,
    "shape": partial(metrics.shape_similarity, alpha=0.4),
    "cca": metrics.cca,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_where_singular_values_are_equal(sides, name):
    x = np.linalg.qr(centred(np.random.default_rng(6).normal(size=(40, 6))))[0] * np.sqrt(40)
    check_slope(lambda x: DIFFERENTIABLE[name](x, jnp.asarray(sides[1])), x, step=1e-6, rtol=1e-6, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("units", [(6, 4), (5, 5), (90, 40)])
def test_soft_matching_is_optimal_transport(units):
    rng = np.random.default_rng(4)
    x, y = (rng.normal(size=(30, each)) for each in units)
    gains = np.corrcoef(x, y, rowvar=False)[: units[0], units[0] :]
    masses = [np.full(each, 1.0 / each) for each in units]
    expected = np.sum(ot.emd(*masses, -gains) * gains)
    found = metrics.soft_matching(jnp.asarray(x), jnp.asarray(y))
    assert float(found) == pytest.approx(expected, abs=1e-12)
    assert float(metrics.soft_matching(jnp.asarray(y), jnp.asarray(x))) == pytest.approx(expected, abs=1e-12)
    if units[0] == units[1]:
        assert float(found) == pytest.approx(float(metrics.one_to_one(jnp.asarray(x), jnp.asarray(y))), abs=1e-12)
    common = math.gcd(*units)
    programme = _of_programme(gains, units[1] // common, units[0] // common) / (units[0] * units[1] // common)
    assert np.sum(programme * gains) == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
def test_devices_without_a_host_find_a_plan_that_is_as_good():
    gains = np.random.default_rng(3).normal(size=(3, 9, 14))
    plans = np.asarray(jax.vmap(transport.plain)(jnp.asarray(gains)))
    np.testing.assert_allclose(plans.sum(axis=2), 1 / 9, atol=1e-12)
    np.testing.assert_allclose(plans.sum(axis=1), 1 / 14, atol=1e-12)
    best = np.sum(np.asarray(jax.vmap(transport)(jnp.asarray(gains))) * gains, axis=(1, 2))
    np.testing.assert_allclose(np.sum(plans * gains, axis=(1, 2)), best, atol=1e-12)
