"""What benchmarks on recordings should come out as, from bare arrays with NumPy, SciPy and scikit-learn."""

import warnings
from itertools import combinations

import numpy as np
from scipy.stats import pearsonr, spearmanr
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit


def pls():
    return PLSRegression(25, scale=False, tol=1e-14, max_iter=100_000)


def ridge():
    return Ridge(1.0)


def ridgecv(alphas):
    return lambda: RidgeCV(alphas)


def correlations(predicted, measured):
    """Pearson's r of each column."""
    return np.array([pearsonr(*columns)[0] for columns in zip(predicted.T, measured.T, strict=True)])


def train_test(regression, x_train, x_test, y_train, y_test):
    """r of each column of y."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of residuals that are used up
        fitted = regression().fit(x_train.astype(float), y_train)
    return correlations(fitted.predict(x_test.astype(float)).reshape(y_test.shape), y_test)


def splits_of(n, strata=None):
    if strata is None:
        return list(ShuffleSplit(10, train_size=0.9, random_state=1).split(np.arange(n)))
    return list(StratifiedShuffleSplit(10, train_size=0.9, random_state=1).split(np.arange(n), strata))


def cross_validated(regression, x, y, splits):
    """Mean over splits of the median over the columns of y."""
    medians = [np.median(train_test(regression, x[train], x[test], y[train], y[test])) for train, test in splits]
    return np.mean(medians)


def spearman_brown(r):
    return 2 * r / (1 + r)


def halves(trials):
    """Corrected r of two halves of the repetitions, (splits, neuroids), of trials (repetitions, stimuli, neuroids)."""
    raw = []
    for one, other in ShuffleSplit(10, train_size=0.5, random_state=1).split(np.arange(len(trials))):
        columns = zip(trials[one].mean(0).T, trials[other].mean(0).T, strict=True)
        pairs = [(a[np.isfinite(a + b)], b[np.isfinite(a + b)]) for a, b in columns]
        raw.append([spearman_brown(pearsonr(*pair)[0]) for pair in pairs])
    return np.array(raw)


def internal_consistency(trials):
    return np.median(halves(trials), axis=1).mean()


def halves_of_each_image(trials):
    """As ``halves``, but each image's repetitions are halved by themselves."""
    rng = np.random.default_rng(0)
    n_repetitions, n_stimuli, _ = trials.shape
    values = []
    for _ in range(10):
        orders = [rng.permutation(n_repetitions) for _ in range(n_stimuli)]
        first = np.array([trials[order[: n_repetitions // 2], i].mean(0) for i, order in enumerate(orders)])
        second = np.array([trials[order[n_repetitions // 2 :], i].mean(0) for i, order in enumerate(orders)])
        values.append(np.median(spearman_brown(correlations(first, second))))
    return np.mean(values)


def explained(r, c):
    return np.sign(r) * r**2 / c


def pairs_of(responses):
    """Correlation distances of all pairs of rows."""
    return (1 - np.corrcoef(responses.astype(float)))[np.triu_indices(len(responses), 1)]


def rdm_score(features, subjects):
    """Mean rank correlation with the RDM of each subject, and of each of those with their mean."""
    rdms = [pairs_of(responses) for responses in subjects]
    raw = np.mean([spearmanr(pairs_of(features), rdm)[0] for rdm in rdms])
    return raw, np.mean([spearmanr(rdm, np.mean(rdms, axis=0))[0] for rdm in rdms])


def unbiased_cka(x, y):
    """Song et al. 2012, from Gram matrices without their diagonal."""

    def hsic(k, m):
        n = len(k)
        k, m = k - np.diag(np.diag(k)), m - np.diag(np.diag(m))
        cross = k.sum() * m.sum() / (n - 1) / (n - 2) - 2 * (k @ m).sum() / (n - 2)
        return (np.trace(k @ m) + cross) / (n * (n - 3))

    k, m = (each.astype(float) @ each.astype(float).T for each in (x, y))
    return hsic(k, m) / np.sqrt(hsic(k, k) * hsic(m, m))


def between(subjects):
    return np.mean([unbiased_cka(one, other) for one, other in combinations(subjects, 2)])
