"""RDMs of trials, the covariance of their noise, and comparisons of RDMs as geometries, against rsatoolbox."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.engine.primitives.row_pairs import matrix_of_pairs
from bsjax.metrics import compiled, rdm, rdm_noise_ceiling, rdm_pairs, rdm_permutations, rdm_similarity
from bsjax.metrics.similarity.rdms.noise_covariance import NOISES, noise_covariance
from bsjax.metrics.similarity.rdms.rdm_comparison import compare_all_rdm_vectors, compare_rdm_vectors, whitened_by
from bsjax.metrics.similarity.rdms.trial_rdms import TRIAL_DISSIMILARITIES, rdm_of_trials
from tests.support.slopes import check_slope

pytest.importorskip("rsatoolbox", reason="rsatoolbox is not installed: it has no wheel for this Python")
theirs_rdm, theirs_noise = pytest.importorskip("rsatoolbox.rdm"), pytest.importorskip("rsatoolbox.data.noise")
from rsatoolbox.data import Dataset  # noqa: E402
from rsatoolbox.inference import boot_noise_ceiling  # noqa: E402
from rsatoolbox.rdm.compare import _bures_similarity_second_way, _get_v  # noqa: E402

R, N, U = 4, 6, 5
rdm_of_trials = jax.jit(rdm_of_trials, static_argnames=("dissimilarity", "noise"))
compare_rdm_vectors = jax.jit(compare_rdm_vectors, static_argnames="method")
GEOMETRIES = {
    "whitened_corr": "corr_cov",
    "whitened_cosine": "cosine_cov",
    "bures": "bures",
    "neg_riemannian": "neg_riem_dist",
}
each_dissimilarity = pytest.mark.parametrize("dissimilarity", TRIAL_DISSIMILARITIES)
each_noise = pytest.mark.parametrize("noise", NOISES)
CASES = [(name, noise) for name in ("mahalanobis", "crossnobis") for noise in NOISES] + [
    ("crossnobis", None), ("poisson", None), ("poisson_cv", None),
]  # fmt: skip
# By rsatoolbox, of its own arrays.
pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered in cast")


def recorded(missing=False, folds=R, units=U):
    """Trials with correlated noise, their mask and folds, and the same as a data set of rsatoolbox."""
    rng = np.random.default_rng(0)
    mixing = np.eye(units) + 0.3 * rng.normal(size=(units, units))
    trials = 9 + rng.normal(size=(N, units)) + 0.5 * rng.normal(size=(R, N, units)) @ mixing
    present = np.ones((R, N), bool)
    if missing:
        present[0, 1] = present[1, 2] = present[2, 2] = False
    fold = np.broadcast_to(np.arange(R, dtype=np.int32)[:, None] % folds, (R, N))
    held = {"stimulus": np.argwhere(present)[:, 1], "fold": fold[present]}
    dataset = Dataset(trials[present], obs_descriptors={name: list(each) for name, each in held.items()})
    return (jnp.asarray(np.where(present[..., None], trials, np.nan)), jnp.asarray(present), jnp.asarray(fold)), dataset


def matrix(found):
    order = np.argsort(found.pattern_descriptors["stimulus"])  # by first occurrence where not sorted
    return found.get_matrices()[0][np.ix_(order, order)]


@each_noise
def test_covariance_of_residuals(noise):
    residuals = np.random.default_rng(1).normal(size=(9, 12)) + 3
    theirs = theirs_noise.cov_from_residuals(residuals, method=noise, dof=6)
    ours = compiled(noise_covariance, method=noise, dof=6)(jnp.asarray(residuals))
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dissimilarity", "noise", "folds"),
    [*((*case, R) for case in CASES), ("crossnobis", NOISES[0], 2), ("poisson_cv", None, 2)],
)
def test_rdms_of_trials(dissimilarity, noise, folds):
    (trials, present, fold), dataset = recorded(True, folds)
    precision = None if noise is None else theirs_noise.prec_from_unbalanced(dataset, "stimulus", method=noise)
    if dissimilarity in ("mahalanobis", "poisson"):  # of mean responses, which calc_rdm computes of any number
        theirs = theirs_rdm.calc_rdm(dataset, dissimilarity, "stimulus", precision)
    else:
        theirs = theirs_rdm.calc_rdm_unbalanced(dataset, dissimilarity, "stimulus", precision, "fold")
    fold = None if folds == R else fold
    ours = rdm_of_trials(trials, present, dissimilarity=dissimilarity, noise=noise, folds=fold)
    np.testing.assert_allclose(ours, matrix(theirs), atol=1e-10)


def test_balanced_crossvalidation_is_leave_one_fold_out():
    (trials, _, _), dataset = recorded()
    precision = theirs_noise.prec_from_unbalanced(dataset, "stimulus")
    theirs = matrix(theirs_rdm.calc_rdm(dataset, "crossnobis", "stimulus", precision, "fold"))
    np.testing.assert_allclose(rdm_of_trials(trials), theirs, atol=1e-10)
    covariance = jnp.asarray(theirs_noise.cov_from_unbalanced(dataset, "stimulus"))
    np.testing.assert_allclose(rdm_of_trials(trials, covariance=covariance), theirs, atol=1e-10)


@each_dissimilarity
def test_undefined_stimuli(dissimilarity):
    (trials, present, _), _ = recorded()
    present = present.at[1:, 2].set(False)
    found = rdm_of_trials(trials, present, dissimilarity=dissimilarity)
    lost = jnp.isnan(found)
    crossed = TRIAL_DISSIMILARITIES[dissimilarity].factors is not None
    np.testing.assert_array_equal(lost, (np.arange(N) == 2)[:, None] | (np.arange(N) == 2) if crossed else False)
    np.testing.assert_array_equal(jnp.diagonal(found)[~jnp.diagonal(lost)], 0.0)


@pytest.mark.slow
def test_a_covariance_without_inverse_leaves_all_undefined():
    (trials, _, _), _ = recorded(units=40)
    assert jnp.isnan(rdm_of_trials(trials, noise="full")).all()
    assert not jnp.isnan(rdm_of_trials(trials, noise="shrinkage_eye")).any()
    assert jnp.isnan(rdm_of_trials(trials.at[..., 0].set(1.0), noise="shrinkage_diag")).all()


@pytest.mark.slow
@pytest.mark.parametrize(("dissimilarity", "noise"), [CASES[2], ("poisson_cv", None)])
def test_gradients_of_trials(dissimilarity, noise):
    (trials, present, _), _ = recorded(missing=True)
    weights = np.random.default_rng(4).normal(size=(N, N))
    trials = jnp.where(present[..., None], trials, 0.0)
    check_slope(lambda x: (weights * rdm_of_trials(x, present, dissimilarity=dissimilarity, noise=noise)).sum(), trials)


def two_rdms(n=8, units=12, seed=5):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, units))
    return [
        rdm_pairs(rdm(jnp.asarray(each), dissimilarity="sqeuclidean")) for each in (x, x + rng.normal(size=x.shape))
    ]


def of_rsatoolbox(a, b, method):
    """The comparison by rsatoolbox, whose pairs are in another order."""
    n = (1 + int(np.sqrt(1 + 8 * len(a)))) // 2
    left, right = np.triu_indices(n, 1)
    sides = [theirs_rdm.RDMs(np.asarray(matrix_of_pairs(side))[left, right][None]) for side in (a, b)]
    return theirs_rdm.compare(*sides, method=method).item()


@pytest.mark.slow
@pytest.mark.parametrize(("ours", "theirs"), GEOMETRIES.items())
def test_geometries(ours, theirs):
    a, b = two_rdms()
    expected = of_rsatoolbox(a, b, theirs)
    np.testing.assert_allclose(compare_rdm_vectors(a, b, method=ours), expected, atol=1e-6)
    assert abs(compare_rdm_vectors(*(x.astype(jnp.float32) for x in (a, b)), method=ours) - expected) < 1e-3


def of_some_stimuli(*rdms):
    """A mask of stimuli, that of their pairs, and the RDMs of these stimuli alone."""
    seen = np.array([1, 1, 0, 1, 1, 0, 1, 1], bool)
    some = [rdm_pairs(matrix_of_pairs(x)[np.ix_(seen, seen)]) for x in rdms]
    return seen, rdm_pairs(jnp.asarray(seen[:, None] & seen[None])), some


@pytest.mark.slow
@pytest.mark.parametrize("method", GEOMETRIES)
def test_geometries_of_some_stimuli(method):
    a, b = two_rdms(8)
    _, where, some = of_some_stimuli(a, b)
    found = compare_rdm_vectors(a, b, method=method, where=where)
    np.testing.assert_allclose(found, compare_rdm_vectors(*some, method=method), atol=1e-7)
    assert jnp.isnan(compare_rdm_vectors(a, b, method=method, where=where.at[jnp.argmax(where)].set(False)))


@pytest.mark.slow
@pytest.mark.parametrize("method", GEOMETRIES)
def test_gradients_of_geometries(method):
    a, b = two_rdms(6)
    check_slope(lambda sides: compare_rdm_vectors(*sides, method=method), jnp.stack([a, b]))


@pytest.mark.slow
def test_bures_of_an_rdm_with_negative_eigenvalues():
    a, b = two_rdms(7)
    a = a - 0.9 * a.min()
    centring = np.eye(7) - 1 / 7
    moments = [-0.5 * centring @ np.asarray(matrix_of_pairs(x)) @ centring for x in (a, b)]
    assert np.linalg.eigvalsh(moments[0])[0] < -0.1
    np.testing.assert_allclose(
        compare_rdm_vectors(a, b, method="bures"), _bures_similarity_second_way(*moments), atol=1e-7
    )


@pytest.mark.slow
def test_riemannian_distance_takes_the_best_scale_and_needs_full_rank():
    a, b = two_rdms(6)
    found = compare_rdm_vectors(a, b, method="neg_riemannian")
    np.testing.assert_allclose(compare_rdm_vectors(7.0 * a + 0.5, 3.0 * b, method="neg_riemannian"), found, atol=1e-6)
    np.testing.assert_allclose(compare_rdm_vectors(a, 2.0 * a, method="neg_riemannian"), 0.0, atol=1e-5)
    flat = two_rdms(6, units=3)[0]
    assert jnp.isnan(compare_rdm_vectors(a, flat, method="neg_riemannian"))
    assert jnp.isfinite(compare_rdm_vectors(flat, a, method="neg_riemannian"))


@pytest.mark.parametrize("method", GEOMETRIES)
def test_permutations_are_those_one_by_one(method):
    rng = np.random.default_rng(6)
    x, y = (jnp.asarray(rng.normal(size=(6, 9))) for _ in range(2))
    orders = jnp.asarray([rng.permutation(6) for _ in range(3)])
    found, alone = (
        compiled(kernel, method=method, dissimilarity="sqeuclidean") for kernel in (rdm_permutations, rdm_similarity)
    )
    np.testing.assert_allclose(found(x, y, orders), [alone(x, y[order]) for order in orders], atol=1e-6)


@pytest.mark.slow
def test_ceilings_of_whitened_rdms():
    rdms = jnp.stack([two_rdms(5, seed=seed)[1] for seed in range(4)])
    as_theirs = np.stack([np.asarray(matrix_of_pairs(each))[np.triu_indices(5, 1)] for each in rdms])
    expected = boot_noise_ceiling(theirs_rdm.RDMs(as_theirs), method="corr_cov")
    matched, bound = (
        compiled(rdm_noise_ceiling, method="whitened_corr", pooling=pooling)(rdms) for pooling in ("matched", "bound")
    )
    np.testing.assert_allclose(matched.mean(axis=1), expected, atol=1e-6)
    every = compiled(compare_all_rdm_vectors, method="whitened_corr")(rdms, rdms)
    assert bound[1].mean() >= every.mean(axis=0).max()


def covariances(n):
    rng = np.random.default_rng(6)
    factor = rng.normal(size=(n, 2 * n))
    return factor @ factor.T / n, np.diag(rng.uniform(0.2, 3, n)), np.eye(n)


@pytest.mark.slow
@pytest.mark.parametrize(("ours", "theirs"), [("whitened_cosine", "cosine_cov"), ("whitened_corr", "corr_cov")])
def test_whitening_by_a_covariance_of_stimuli_is_that_of_rsatoolbox(ours, theirs):
    n = 3 if ours == "whitened_corr" else 9
    a, b = two_rdms(n)
    left, right = np.triu_indices(n, 1)
    sides = [np.asarray(matrix_of_pairs(side))[left, right] for side in (a, b)]
    for sigma in covariances(n):
        found = float(compiled(compare_rdm_vectors, method=whitened_by(ours, sigma))(a, b))
        # It solves by conjugate gradients to 1e-5; its covariance of dissimilarities has an exact solution.
        approximate = theirs_rdm.compare(*(theirs_rdm.RDMs(x[None]) for x in sides), method=theirs, sigma_k=sigma)
        np.testing.assert_allclose(found, approximate.item(), atol=2e-5)
        x, y = (side - side.mean() if ours == "whitened_corr" else side for side in sides)
        inverse = np.linalg.inv(_get_v(n, sigma).toarray())
        exact = x @ inverse @ y / np.sqrt((x @ inverse @ x) * (y @ inverse @ y))
        np.testing.assert_allclose(found, exact, atol=1e-10)
    np.testing.assert_allclose(found, compare_rdm_vectors(a, b, method=ours), atol=1e-12)


@pytest.mark.slow
def test_whitening_by_a_covariance_is_invariant_to_its_scale_and_takes_masks():
    (a, b), whole = two_rdms(8), covariances(8)[0]
    by = whitened_by("whitened_corr", whole)
    assert whitened_by("whitened_corr", whole.copy()) is by
    found = compare_rdm_vectors(a, b, method=by)
    np.testing.assert_allclose(compare_rdm_vectors(a, b, method=whitened_by("whitened_corr", 7 * whole)), found)
    np.testing.assert_allclose(compare_all_rdm_vectors(a[None], jnp.stack([b, a]), method=by), [[found, 1.0]])
    seen, where, some = of_some_stimuli(a, b)
    by_some = whitened_by("whitened_corr", whole[np.ix_(seen, seen)])
    np.testing.assert_allclose(
        compare_rdm_vectors(a, b, method=by, where=where), compare_rdm_vectors(*some, method=by_some), atol=1e-12
    )
    check_slope(lambda x: compare_rdm_vectors(x, b, method=by), a)
    singular = whitened_by("whitened_cosine", np.ones((8, 8)))
    assert jnp.isnan(compare_rdm_vectors(a, b, method=singular))
    with pytest.raises(ValueError, match="takes all of its stimuli at once"):
        compare_rdm_vectors(*some, method=by)
