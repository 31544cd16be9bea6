"""Factories of the mappings of registered regressions, with checks of their settings."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from bsjax.labelled.align import STIMULUS
from bsjax.labelled.settings import finite_number, refuse_others, whole_number
from bsjax.metrics import ALPHAS, PLS, NeuronToNeuron, Ridge, RidgeCV

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
    chosen_from = tuple(float(alpha) for alpha in np.atleast_1d(alphas))
    wrong = [alpha for alpha in chosen_from if not 0 < alpha < float("inf")]
    if wrong or not chosen_from:
        raise ValueError(f"alphas must be finite numbers above 0, got {wrong or 'none'}")
    return RidgeCV(chosen_from, bool(per_target), None if cv is None else whole_number(cv, "cv", 2))


def linear_predictivity() -> Ridge:
    """Ordinary least squares; the minimum-norm solution if the data are rank-deficient."""
    return Ridge(0.0)


def neuron_to_neuron() -> NeuronToNeuron:
    """The one-to-one mapping from the best single feature to each neuroid."""
    return NeuronToNeuron()
