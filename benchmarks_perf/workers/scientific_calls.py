"""Libraries that compute a part of a metric, in one environment: ``python scientific_calls.py scikit-learn``.

They know no labels and no scores: the splits are drawn off the clock, and the correlations over test stimuli, which
every score needs, are one pass over the predictions.
"""

import sys
from collections.abc import Callable, Iterable
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


Parts = Callable[[], Iterable[tuple[np.ndarray, ...]]]
"""Source arrays that train and that test, then those of the target, cut on the clock."""


def scored(fit_with: Callable[..., Fit], parts_of: Callable[..., Parts]) -> protocol.Build:
    """``fit_with(**options)`` on each of ``parts_of(inputs, splits)``."""

    def build(inputs: protocol.Inputs, splits: int = 1, **options: Any) -> Callable[[], Any]:
        parts, fit = parts_of(inputs, splits), fit_with(**options)

        def call() -> dict[str, Any]:
            raw = np.array([pearson(fit(x, y)(x_test), y_test) for x, x_test, y, y_test in parts()])
            return {"score": np.median(raw, axis=1).mean(), "raw": raw if splits > 1 else raw[0]}

        return call

    return build


def on_split(inputs: protocol.Inputs, splits: int) -> Parts:
    """The given training and test stimuli."""
    names = ("source_train", "source_test", "target_train", "target_test")
    return lambda: [tuple(inputs[name]["values"] for name in names)]


def in_rows(inputs: protocol.Inputs, rows: list[Any]) -> Parts:
    """The same of rows that train and rows that test."""
    x, y = inputs["source"]["values"], inputs["target"]["values"]
    return lambda: ((x[train], x[test], y[train], y[test]) for train, test in rows)


def stratified(inputs: protocol.Inputs, splits: int) -> Parts:
    """Brain-Score's splits: 90 % of the stimuli train, balanced over ``object_name``."""
    from sklearn.model_selection import StratifiedShuffleSplit

    labels = inputs["target"]["coords"]["object_name"][1]
    return in_rows(inputs, list(StratifiedShuffleSplit(splits, train_size=0.9, random_state=1).split(labels, labels)))


def first_folds(inputs: protocol.Inputs, splits: int) -> Parts:
    """The first of the folds that the coordinate ``fold`` numbers."""
    fold = inputs["target"]["coords"]["fold"][1]
    return in_rows(inputs, [(fold != number, fold == number) for number in range(splits)])


def scikit_learn() -> dict[str, protocol.Build]:
    from sklearn.cross_decomposition import PLSRegression
    from sklearn.linear_model import LinearRegression, Ridge, RidgeCV

    def fitting(estimator: Callable[..., Any]) -> Callable[..., Fit]:
        return lambda **options: lambda x, y: estimator(**options).fit(x, y).predict

    return {
        "pls": scored(fitting(lambda n_components: PLSRegression(n_components, scale=False)), stratified),
        "ridge": scored(fitting(lambda: Ridge(alpha=1.0)), stratified),
        "linear_predictivity": scored(fitting(LinearRegression), stratified),
        "ridgecv_split": scored(fitting(RidgeCV), on_split),
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

    return {"pls": scored(fitting, stratified)}


def himalaya() -> dict[str, protocol.Build]:
    from himalaya.backend import set_backend
    from himalaya.kernel_ridge import ColumnKernelizer, Kernelizer, KernelRidgeCV, MultipleKernelRidgeCV

    set_backend("numpy")

    def fitting(alphas: list[float], cv: int) -> Fit:
        return lambda x, y: KernelRidgeCV(alphas, fit_intercept=True, cv=cv).fit(x, y).predict

    def banded(spaces: int, shares: list[list[float]], alphas: list[float], cv: int) -> Fit:
        searched = {"n_iter": np.array(shares), "alphas": np.array(alphas), "progress_bar": False}

        def fit(x: np.ndarray, y: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
            # It advises kernels where features outnumber stimuli.
            width = x.shape[1] // spaces
            each = [(str(at), Kernelizer(), slice(at * width, (at + 1) * width)) for at in range(spaces)]
            kernels = ColumnKernelizer(each).fit(x)
            model = MultipleKernelRidgeCV("precomputed", solver_params=searched, fit_intercept=True, cv=cv)
            model.fit(kernels.transform(x), y)
            return lambda x: model.predict(kernels.transform(x))

        return fit

    given = {"alpha_per_target": scored(fitting, on_split), "banded_ridge": scored(banded, on_split)}
    return {**given, "alpha_in_folds": scored(fitting, first_folds)}


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
        from rsatoolbox.util import searchlight as theirs

        source, target = (inputs[side]["values"] for side in ("source", "target"))
        chosen = inputs["target"]["coords"]["centre"][1]
        side = round(len(chosen) ** (1 / 3))

        def call() -> dict[str, Any]:
            # Progress goes to stdout, by which the process answers.
            with redirect_stdout(sys.stderr):
                # Neighbours beyond the mask count.
                centres, near = theirs.get_volume_searchlight(chosen.reshape(side, side, side), radius, threshold=0.0)
                rdms = theirs.get_searchlight_RDMs(target, centres, near, np.arange(len(target)), verbose=False)
                model = ModelFixed("model", calc_rdm(Dataset(source), method="correlation"))
                found = theirs.evaluate_models_searchlight(rdms, model, eval_fixed, method="spearman")
            raw = np.array([one.evaluations.item() for one in found])
            return {"score": raw.mean(), "raw": raw}

        return call

    return {"rdm": build, "rdm_of_trials": of_trials, "searchlight": searchlight}


def scipy() -> dict[str, protocol.Build]:
    from scipy.linalg import orthogonal_procrustes, qr, svdvals

    def of_sides(similarity: Callable[..., float]) -> protocol.Build:
        def build(inputs: protocol.Inputs) -> Callable[[], Any]:
            sides = [side["values"] for side in inputs.values()]
            return lambda: {"score": similarity(*(side - side.mean(0) for side in sides))}

        return build

    def procrustes(x: np.ndarray, y: np.ndarray) -> float:
        width = max(x.shape[1], y.shape[1])  # it takes sides of one width
        x, y = (np.pad(side, ((0, 0), (0, width - side.shape[1]))) for side in (x, y))
        return orthogonal_procrustes(x, y)[1] / (np.linalg.norm(x) * np.linalg.norm(y))

    def cca(x: np.ndarray, y: np.ndarray) -> float:
        x, y = (qr(side, mode="economic")[0] for side in (x, y))
        return svdvals(x.T @ y).mean()

    def similarity_matrix(inputs: protocol.Inputs) -> Callable[[], Any]:
        sides = [side["values"] for side in inputs.values()]

        def centred(x: np.ndarray) -> np.ndarray:
            gram, n = (x - x.mean(0)) @ (x - x.mean(0)).T, len(x)
            np.fill_diagonal(gram, 0.0)
            means = gram.sum(0) / (n - 2)
            gram += gram.sum() / ((n - 1) * (n - 2)) - means[:, None] - means
            np.fill_diagonal(gram, 0.0)
            return gram / np.linalg.norm(gram)

        def call() -> dict[str, Any]:
            grams = [centred(side) for side in sides]  # once for each, not for each pair
            raw = np.ones((len(grams), len(grams)))
            for i, j in zip(*np.triu_indices(len(grams), 1), strict=True):
                raw[i, j] = raw[j, i] = np.vdot(grams[i], grams[j])
            return {"score": raw.mean(), "raw": raw}

        return call

    return {"procrustes": of_sides(procrustes), "cca": of_sides(cca), "similarity_matrix": similarity_matrix}


if __name__ == "__main__":
    library = sys.argv[1]
    tasks = {
        "scikit-learn": scikit_learn,
        "ikpls": ikpls,
        "himalaya": himalaya,
        "rsatoolbox": rsatoolbox,
        "scipy": scipy,
    }
    protocol.serve(tasks[library](), lambda value: value, (*{library, "numpy", "scipy", "scikit-learn"},))
