"""Libraries that compute a part of a metric, in one environment: ``python scientific_calls.py scikit-learn``.

They know no labels and no scores: the splits are drawn off the clock, and the correlations over test stimuli, which
every score needs, are one pass over the predictions.
"""

import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

import numpy as np
import protocol

Fit = Callable[[np.ndarray, np.ndarray], Callable[[np.ndarray], np.ndarray]]
"""``fit(x, y)`` returns ``predict(x)``."""


def pearson(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Correlation of every column."""
    a, b = a - a.mean(0), b - b.mean(0)
    return (a * b).sum(0) / np.sqrt((a * a).sum(0) * (b * b).sum(0))


def crossvalidated(fit_with: Callable[..., Fit]) -> protocol.Build:
    """``fit_with(**options)`` in Brain-Score's splits: 90 % of the stimuli train, balanced over ``object_name``."""

    def build(inputs: protocol.Inputs, splits: int, **options: Any) -> Callable[[], Any]:
        from sklearn.model_selection import StratifiedShuffleSplit

        x, y = inputs["source"]["values"], inputs["target"]["values"]
        labels = inputs["target"]["coords"]["object_name"][1]
        rows = list(StratifiedShuffleSplit(splits, train_size=0.9, random_state=1).split(x, labels))
        fit = fit_with(**options)

        def call() -> dict[str, Any]:
            raw = np.array([pearson(fit(x[train], y[train])(x[test]), y[test]) for train, test in rows])
            return {"score": np.median(raw, axis=1).mean(), "raw": raw}

        return call

    return build


def on_split(fit_with: Callable[..., Fit]) -> protocol.Build:
    """``fit_with(**options)`` on given training and test stimuli."""

    def build(inputs: protocol.Inputs, **options: Any) -> Callable[[], Any]:
        names = ("source_train", "source_test", "target_train", "target_test")
        x, x_test, y, y_test = (inputs[name]["values"] for name in names)
        fit = fit_with(**options)

        def call() -> dict[str, Any]:
            raw = pearson(fit(x, y)(x_test), y_test)
            return {"score": np.median(raw), "raw": raw}

        return call

    return build


def scikit_learn() -> dict[str, protocol.Build]:
    from sklearn.cross_decomposition import PLSRegression
    from sklearn.linear_model import LinearRegression, Ridge, RidgeCV

    def fitting(estimator: Callable[..., Any]) -> Callable[..., Fit]:
        return lambda **options: lambda x, y: estimator(**options).fit(x, y).predict

    return {
        "pls": crossvalidated(fitting(lambda n_components: PLSRegression(n_components, scale=False))),
        "ridge": crossvalidated(fitting(lambda: Ridge(alpha=1.0))),
        "linear_predictivity": crossvalidated(fitting(LinearRegression)),
        "ridgecv_split": on_split(fitting(RidgeCV)),
    }


def ikpls() -> dict[str, protocol.Build]:
    from ikpls.numpy import PLS

    def fitting(n_components: int) -> Fit:
        def fit(x: np.ndarray, y: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
            # It advises the second algorithm where stimuli outnumber features.
            model = PLS(2 if x.shape[0] > x.shape[1] else 1, scale_X=False, scale_Y=False)
            model.fit(x, y, n_components)
            return lambda x: model.predict(x, n_components)

        return fit

    return {"pls": crossvalidated(fitting)}


def himalaya() -> dict[str, protocol.Build]:
    from himalaya.backend import set_backend
    from himalaya.kernel_ridge import KernelRidgeCV

    set_backend("numpy")

    def fitting(alphas: list[float], cv: int) -> Fit:
        return lambda x, y: KernelRidgeCV(alphas, fit_intercept=True, cv=cv).fit(x, y).predict

    return {"alpha_per_target": on_split(fitting)}


def rsatoolbox() -> dict[str, protocol.Build]:
    from rsatoolbox.data import Dataset
    from rsatoolbox.data.noise import prec_from_unbalanced
    from rsatoolbox.rdm import calc_rdm, compare

    def build(inputs: protocol.Inputs) -> Callable[[], Any]:
        sides = [Dataset(inputs[side]["values"]) for side in ("source", "target")]

        def call() -> dict[str, Any]:
            rdms = [calc_rdm(side, method="correlation") for side in sides]
            return {"score": compare(*rdms, method="spearman").item()}

        return call

    def of_trials(inputs: protocol.Inputs) -> Callable[[], Any]:
        source, target = (inputs[side] for side in ("source", "target"))
        shown, run = (target["coords"][name][1] for name in ("stimulus_id", "repetition"))
        known = {"stimulus": list(shown), "run": list(run)}
        model, trials = Dataset(source["values"]), Dataset(target["values"], obs_descriptors=known)

        def call() -> dict[str, Any]:
            noise = prec_from_unbalanced(trials, "stimulus")
            theirs = calc_rdm(trials, method="crossnobis", descriptor="stimulus", noise=noise, cv_descriptor="run")
            return {"score": compare(calc_rdm(model), theirs, method="cosine_cov").item()}

        return call

    def searchlight(inputs: protocol.Inputs, radius: float) -> Callable[[], Any]:
        from rsatoolbox.inference import eval_fixed
        from rsatoolbox.model import ModelFixed
        from rsatoolbox.util.searchlight import (
            evaluate_models_searchlight,
            get_searchlight_RDMs,
            get_volume_searchlight,
        )

        source, target = (inputs[side]["values"] for side in ("source", "target"))
        chosen = inputs["target"]["coords"]["centre"][1]
        side = round(len(chosen) ** (1 / 3))

        def call() -> dict[str, Any]:
            # Progress goes to stdout, by which the process answers.
            with redirect_stdout(sys.stderr):
                # Neighbours beyond the mask count.
                centres, near = get_volume_searchlight(chosen.reshape(side, side, side), radius, threshold=0.0)
                rdms = get_searchlight_RDMs(target, centres, near, np.arange(len(target)), verbose=False)
                model = ModelFixed("model", calc_rdm(Dataset(source), method="correlation"))
                found = evaluate_models_searchlight(rdms, model, eval_fixed, method="spearman")
            raw = np.array([one.evaluations.item() for one in found])
            return {"score": raw.mean(), "raw": raw}

        return call

    return {"rdm": build, "rdm_of_trials": of_trials, "searchlight": searchlight}


LIBRARIES = {"scikit-learn": scikit_learn, "ikpls": ikpls, "himalaya": himalaya, "rsatoolbox": rsatoolbox}

if __name__ == "__main__":
    library = sys.argv[1]
    protocol.serve(LIBRARIES[library](), lambda value: value, (*{library, "numpy", "scipy", "scikit-learn"},))
