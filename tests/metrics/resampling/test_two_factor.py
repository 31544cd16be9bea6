import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rsatoolbox.rdm import RDMs, compare
from rsatoolbox.util.inference_util import _dual_bootstrap

from bsjax.metrics import compiled
from bsjax.metrics.resampling.draws import bootstrap_counts
from bsjax.metrics.resampling.two_factor import two_factor_bootstraps, two_factor_variance
from bsjax.metrics.similarity.rdms.rdm import rdm_pairs

N, MODELS, SUBJECTS, DRAWS = 12, 2, 4, 6


def squares(vectors):
    matrices = np.zeros((len(vectors), N, N))
    i, j = np.triu_indices(N, 1)
    matrices[:, i, j] = matrices[:, j, i] = vectors
    return matrices


@pytest.fixture(scope="module")
def rdms():
    rng = np.random.default_rng(0)
    vectors = rng.random((MODELS + SUBJECTS, N * (N - 1) // 2)) + rng.random(N * (N - 1) // 2)
    vectors[0] = vectors[0].round(1)  # ties
    return vectors[:MODELS], vectors[MODELS:]


@pytest.fixture(scope="module")
def draws():
    return bootstrap_counts(N, DRAWS, 0), bootstrap_counts(SUBJECTS, DRAWS, 1)


def pairs(vectors):
    return rdm_pairs(jnp.asarray(squares(vectors)))


def test_the_variance_of_schuett_et_al():
    variances = np.random.default_rng(0).random((3, 200))
    for sizes in ((None, None), (10, 50), (2, 3)):
        expected = _dual_bootstrap(variances, *sizes)
        got = two_factor_variance(*jnp.asarray(variances), n_first=sizes[0], n_second=sizes[1])
        np.testing.assert_allclose(got, expected, atol=1e-14)
    with pytest.raises(ValueError, match="at least two elements, they have 1 and 5"):
        two_factor_variance(*jnp.asarray(variances), n_first=1, n_second=5)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["spearman", "corr"])
def test_evaluations_are_those_of_rsatoolbox(method, rdms, draws):
    models, subjects = (RDMs(side) for side in rdms)
    expected = np.empty((3, DRAWS, MODELS))
    for draw, (stimuli, people) in enumerate(zip(*draws, strict=True)):
        stimuli, people = (list(np.repeat(np.arange(len(count)), count)) for count in (stimuli, people))
        drawn = models.subsample_pattern("index", stimuli)
        of_people = subjects.subsample("index", people)
        for factor, (ours, theirs) in enumerate(
            (
                (drawn, of_people.subsample_pattern("index", stimuli)),
                (models, of_people),
                (drawn, subjects.subsample_pattern("index", stimuli)),
            )
        ):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected[factor, draw] = compare(ours, theirs, method=method).mean(axis=1)
    kernel = compiled(two_factor_bootstraps, method=method)
    sides = [pairs(side) for side in rdms]
    np.testing.assert_allclose(kernel(*sides, *draws), expected, atol=1e-12)
    coarse = kernel(*(side.astype(jnp.float32) for side in sides), *draws)
    assert coarse.dtype == jnp.float32
    np.testing.assert_allclose(coarse, expected, atol=1e-5)


@pytest.mark.slow
def test_an_rdm_with_nan_is_undefined_in_the_draws_that_hold_it(rdms, draws):
    models, subjects = (pairs(side) for side in rdms)
    broken = squares(rdms[1])
    broken[0, 0, 1:] = broken[0, 1:, 0] = np.nan
    found = compiled(two_factor_bootstraps)(models, rdm_pairs(jnp.asarray(broken)), *draws)
    held, seen = draws[0][:, 0] > 0, draws[1][:, 0] > 0
    for got, expected in zip(found, (held & seen, seen, held), strict=True):
        np.testing.assert_array_equal(np.isnan(got), np.broadcast_to(expected[:, None], got.shape))

    def total(models):
        return jnp.nansum(two_factor_bootstraps(models, subjects, *map(jnp.asarray, draws), method="corr"))

    gradient = jax.jit(jax.grad(total))(jnp.concatenate([models, jnp.zeros_like(models[:1])]))
    assert jnp.isfinite(gradient).all() and (gradient[:MODELS] != 0).any()
