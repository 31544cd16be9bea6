"""Factories of the mappings of registered regressions, with checks of their settings."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from bsjax.labelled.align import STIMULUS
from bsjax.labelled.settings import finite_number, proportion, refuse_others, whole_number
from bsjax.metrics import (
    ALPHAS,
    PLS,
    BandedRidge,
    ElasticNet,
    Kernelised,
    MultipleKernelRidge,
    NeuronToNeuron,
    PrincipalComponents,
    ReducedRank,
    Ridge,
    RidgeCV,
    Rotation,
    Stacked,
)
from bsjax.metrics.regression.mappings.kernelised import KernelName
from bsjax.metrics.regression.mappings.penalty_search import PENALTIES, Search

_XARRAY_DEFAULTS = {
    "expected_dims": ("presentation", "neuroid"),
    "neuroid_dim": "neuroid",
    "neuroid_coord": "neuroid_id",
    "stimulus_coord": STIMULUS,
}


def pls(n_components: int = 25, solver: Literal["converged", "nipals"] = "converged") -> PLS:
    """Partial least squares; ``solver="nipals"`` stops early, as Brain-Score does."""
    if solver not in ("converged", "nipals"):
        raise ValueError(f"solver must be 'converged' or 'nipals', got {solver!r}")
    return PLS(whole_number(n_components, "n_components", 1), solver)


def ridge(alpha: float = 1.0) -> Ridge:
    """Ridge regression, one ``alpha`` for all targets."""
    return Ridge(finite_number(alpha, "alpha"))


def ridgecv(
    alphas: Sequence[float] = ALPHAS,
    alpha_per_target: bool = False,
    regression_kwargs: Mapping[str, Any] | None = None,
    xarray_kwargs: Mapping[str, Any] | None = None,
    cv: int | None = None,
) -> RidgeCV:
    """Ridge regression with the penalty that has the smallest error on left-out training stimuli.

    Args:
        alphas: the penalties to choose from.
        alpha_per_target: choose a penalty for each neuroid; Brain-Score chooses one for all.
        regression_kwargs: Brain-Score's way to pass ``alpha_per_target``; other settings are refused.
        xarray_kwargs: Brain-Score's names of dimensions and coordinates; only its defaults are accepted.
        cv: leave out one stimulus at a time, as Brain-Score does (None), or one of this number of runs of consecutive
            training stimuli, as himalaya does; see ``bsjax.metrics.RidgeCV``.

    ``score.raw["alpha"]`` holds the chosen penalties, per split, and per neuroid with ``alpha_per_target``.
    """
    refuse_others(xarray_kwargs, _XARRAY_DEFAULTS, "xarray_kwargs")
    more = {**(regression_kwargs or {})}
    per_target = more.pop("alpha_per_target", alpha_per_target)
    refuse_others(more, {"fit_intercept": True, "scoring": None, "cv": None}, "regression_kwargs")
    return RidgeCV(_penalties(alphas), bool(per_target), None if cv is None else whole_number(cv, "cv", 2))


def linear_predictivity(rcond: float | None = None) -> Ridge | PrincipalComponents:
    """Ordinary least squares; the minimum-norm solution if the data are rank-deficient.

    Args:
        rcond: singular values of the training features of at most this share of the largest count as zero, as in
            ``numpy.linalg.lstsq``; None for rounding errors alone.
    """
    return Ridge(0.0) if rcond is None else PrincipalComponents(None, proportion(rcond, "rcond"))


def neuron_to_neuron() -> NeuronToNeuron:
    """The one-to-one mapping from the best single feature to each neuroid."""
    return NeuronToNeuron()


def pcr(n_components: int = 100, rcond: float | None = None) -> PrincipalComponents:
    """Least squares on the leading principal components of the training stimuli; ``rcond`` as for least squares."""
    least = None if rcond is None else proportion(rcond, "rcond")
    return PrincipalComponents(whole_number(n_components, "n_components", 1), least)


def reduced_rank(rank: int = 10, alpha: float = 1.0) -> ReducedRank:
    """Ridge regression whose weights have a limited ``rank``."""
    return ReducedRank(whole_number(rank, "rank", 1), finite_number(alpha, "alpha"))


def rotation() -> Rotation:
    """The rotation of the features that comes nearest to the neuroids."""
    return Rotation()


def elastic_net(alpha: float = 1.0, l1_ratio: float = 0.5, positive: bool = False) -> ElasticNet:
    """Linear regression with penalties on absolute and on squared weights, in scikit-learn's convention."""
    return ElasticNet(finite_number(alpha, "alpha"), proportion(l1_ratio, "l1_ratio"), bool(positive))


def lasso(alpha: float = 1.0, positive: bool = False) -> ElasticNet:
    """Linear regression with a penalty on absolute weights, in scikit-learn's convention."""
    return ElasticNet(finite_number(alpha, "alpha"), 1.0, bool(positive))


def nnls() -> ElasticNet:
    """Least squares with weights that are not negative."""
    return ElasticNet(0.0, 0.0, positive=True)


def kernel_ridge(
    alpha: float = 1.0,
    kernel: KernelName = "rbf",
    gamma: float | None = None,
    degree: int = 3,
    constant: float = 1.0,
) -> Kernelised:
    """Ridge regression with a kernel; see ``bsjax.metrics.Kernelised``. ``gamma`` is 1 / features by default."""
    return Kernelised(Ridge(finite_number(alpha, "alpha")), kernel, *_of_kernels([kernel], gamma, degree, constant))


def banded_ridge(
    bands: Sequence[int],
    alphas: Sequence[float] = PENALTIES,
    candidates: int | Sequence[Sequence[float]] = 60,
    cv: int = 5,
    seed: int = 0,
    search: Search = "random",
    steps: int = 30,
) -> BandedRidge:
    """Ridge regression on several feature spaces, each with its own penalty for each neuroid.

    Args:
        bands: number of features of each space, in the order of the features.
        alphas, candidates, cv, seed, search, steps: see ``bsjax.metrics.BandedRidge``.

    ``score.raw["alpha"]`` holds the chosen penalty, and ``score.raw["shares_0"]``, ``score.raw["shares_1"]``, ... the
    share of each space in the scale of the features.
    """
    sizes = _bands(bands)
    return BandedRidge(sizes, _penalties(alphas), *_search(len(sizes), candidates, cv, seed, search, steps))


def multiple_kernel_ridge(
    kernels: Sequence[KernelName] = ("linear", "rbf", "polynomial"),
    bands: Sequence[int] | None = None,
    alphas: Sequence[float] = PENALTIES,
    candidates: int | Sequence[Sequence[float]] = 60,
    cv: int = 5,
    seed: int = 0,
    search: Search = "random",
    steps: int = 30,
    gamma: float | None = None,
    degree: int = 3,
    constant: float = 1.0,
) -> MultipleKernelRidge:
    """Kernel ridge regression with a sum of kernels, each with its own penalty for each neuroid.

    Args:
        kernels: names of kernels, see ``kernel_ridge``.
        bands: number of features of each kernel, in the order of the features; None if each takes all features.
        alphas, candidates, cv, seed, search, steps: see ``bsjax.metrics.BandedRidge``.
        gamma, degree, constant: see ``kernel_ridge``.

    ``score.raw`` holds penalties and shares as for ``banded_ridge``.
    """
    names = tuple(kernels)
    sizes = None if bands is None else _bands(bands)
    found = _search(len(names), candidates, cv, seed, search, steps)
    how = _of_kernels(names, gamma, degree, constant)
    return MultipleKernelRidge(names, sizes, _penalties(alphas), *found, *how)


def stacked_regression(bands: Sequence[int], alphas: Sequence[float] = PENALTIES, cv: int = 5) -> Stacked:
    """A convex combination of the predictions of several feature spaces, each by ridge regression.

    Args:
        bands: number of features of each space, in the order of the features.
        alphas: the penalties to choose from, for each space and neuroid.
        cv: number of validation folds, from whose predictions the combination is made.

    ``score.raw["shares_0"]``, ``score.raw["shares_1"]``, ... hold the share of each space in the prediction.
    """
    folds = whole_number(cv, "cv", 2)
    return Stacked(RidgeCV(_penalties(alphas), alpha_per_target=True, cv=folds), _bands(bands), folds)


def _bands(bands: Sequence[int]) -> tuple[int, ...]:
    if np.ndim(bands) != 1:
        raise ValueError(
            "bands must be the number of features of each space, in the order of the columns, e.g. (12, 40), "
            f"got {bands!r}"
        )
    return tuple(whole_number(size, "bands", 1) for size in bands)


def _search(
    spaces: int, candidates: int | Sequence[Sequence[float]], cv: int, seed: int, search: Search, steps: int
) -> tuple[int | tuple[tuple[float, ...], ...], int, int, Search, int]:
    if search not in ("random", "gradient"):
        raise ValueError(f"search must be 'random' or 'gradient', got {search!r}")
    found: int | tuple[tuple[float, ...], ...]
    if np.ndim(candidates) == 0:
        found = whole_number(candidates, "candidates", 1)
    else:
        shares = np.asarray(candidates, float)
        if shares.ndim != 2 or shares.shape[1] != spaces or not (shares >= 0).all() or not shares.any(axis=1).all():
            raise ValueError(f"candidates must be a number, or rows of {spaces} shares that are not negative")
        found = tuple(map(tuple, (shares / shares.sum(axis=1, keepdims=True)).tolist()))
    numbers = whole_number(cv, "cv", 2), whole_number(seed, "seed", 0)
    return found, *numbers, search, whole_number(steps, "steps", 1)


def _penalties(alphas: Sequence[float]) -> tuple[float, ...]:
    """Penalties to choose from, as a tuple; refuses ones that are not positive."""
    chosen_from = tuple(float(alpha) for alpha in np.atleast_1d(alphas))
    wrong = [alpha for alpha in chosen_from if not 0 < alpha < float("inf")]
    if wrong or not chosen_from:
        raise ValueError(f"alphas must be finite numbers above 0, got {wrong or 'none'}")
    return chosen_from


def _of_kernels(
    kernels: Sequence[str], gamma: float | None, degree: int, constant: float
) -> tuple[float | None, int, float]:
    """The settings of kernels, checked together with their names."""
    for name in kernels:
        if name not in ("linear", "rbf", "polynomial"):
            raise ValueError(f"kernel must be 'linear', 'rbf' or 'polynomial', got {name!r}")
    width = None if gamma is None else finite_number(gamma, "gamma")
    return width, whole_number(degree, "degree", 1), finite_number(constant, "constant")
