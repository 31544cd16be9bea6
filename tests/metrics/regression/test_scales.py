"""Every mapping and similarity at any scale of the features, of any rank, in both dtypes, against exact answers.

The exact answers are those of ``exact.py``, in float64 on data of the order of 1.
"""

from functools import cache

import numpy as np
import pytest

import bsjax
from bsjax.data import NeuroidAssembly
from bsjax.labelled.splits import CrossValidation
from tests.support import exact_regressions as exact

# At the ends of the scale no penalty is in the middle of those to choose from.
pytestmark = [
    pytest.mark.filterwarnings("ignore:the (small|larg)est penalty"),
    # Some of these interpolate on purpose, which is warned of.
    pytest.mark.filterwarnings("ignore:.*reproduces whatever was measured:UserWarning"),
]

STIMULI, TARGETS = 60, 8
SPLITS = {"splits": 3, "stratification_coord": None}
ALPHAS = (1e-2, 0.1, 1.0, 10.0, 100.0, 1e3, 1e4)
TOLERANCES = {"float64": 1e-6, "float32": 1e-3}
MAPPINGS = {
    "ridge": ({}, exact.ridge(1.0)),
    "ridge, small penalty": ({"alpha": 0.01}, exact.ridge(0.01)),
    "linear_predictivity": ({}, exact.ridge(0.0)),
    "ridgecv": ({"alphas": ALPHAS}, exact.ridgecv(ALPHAS)),
    "ridgecv, per target": ({"alphas": ALPHAS, "alpha_per_target": True}, exact.ridgecv(ALPHAS, per_target=True)),
    "ridgecv, runs": ({"alphas": ALPHAS, "cv": 5}, exact.ridgecv(ALPHAS, runs=5)),
    "pls": ({"n_components": 5}, exact.pls(5)),
    "pls, all components": ({"n_components": 25}, exact.pls(25)),
    "neuron_to_neuron": ({}, exact.neuron_to_neuron),
}
SIMILARITIES = {
    "cka": exact.cka(unbiased=True),
    "rdm": exact.rdm,
    "cka_cv": exact.on_subsets(exact.cka(unbiased=True)),
    "rdm_cv": exact.on_subsets(exact.rdm),
}


def low_rank(rng, width):
    """Products of small whole numbers, which both dtypes hold exactly."""
    return (rng.integers(-8, 9, (STIMULI, 10)) @ rng.integers(-8, 9, (10, width))) / 16


def with_constants(rng, width):
    features = rng.normal(size=(STIMULI, width))
    features[:, [3, 5, 8]], features[:, [4, 9]] = 0.1, 10.0
    return features


KINDS = {
    "wide": lambda rng: rng.normal(size=(STIMULI, 150)),
    "rank-deficient, wide": lambda rng: low_rank(rng, 150),
    "duplicated rows": lambda rng: np.repeat(rng.normal(size=(STIMULI // 2, 150)), 2, axis=0),
    "duplicated columns": lambda rng: np.tile(rng.normal(size=(STIMULI, 15)), 2),
    "constant columns, tall": lambda rng: with_constants(rng, 30),
    "power law, wide": lambda rng: rng.normal(size=(STIMULI, 150)) * np.arange(1, 151) ** -1.5,
}


def data(make):
    """Features and targets that both dtypes hold exactly."""
    rng = np.random.default_rng(0)
    x = make(rng).astype("float32").astype(float)
    signal = x[:, :12] @ rng.normal(size=(12, TARGETS))
    y = 2 * signal / signal.std() + 3 * rng.normal(size=(STIMULI, TARGETS)) + 1
    return x, y.astype("float32").astype(float)


def splits_of(**arguments):
    rows = NeuroidAssembly(
        np.zeros((STIMULI, 1)), {"stimulus_id": ("presentation", np.arange(STIMULI))}, ["presentation", "neuroid"]
    )
    return list(CrossValidation.from_kwargs(SPLITS | arguments).of(rows))


@cache
def exact_score(name, kind, exponent):
    x, y = data(KINDS[kind])
    x = x * power_of_two(exponent)
    if name in SIMILARITIES:
        subsets = [test for _, test in splits_of(test_size=0.9)]
        return SIMILARITIES[name](x, y, subsets) if name.endswith("_cv") else SIMILARITIES[name](x, y)
    return np.nanmedian(exact.scores_of(MAPPINGS[name][1], x, y, splits_of()), axis=1).mean()


def power_of_two(exponent):
    """The power of two nearest to a power of ten: it changes no digit, and so no rank."""
    return 2.0 ** round(exponent * np.log2(10))


def scored(name, x, y, dtype):
    arguments = dict(MAPPINGS[name][0]) if name in MAPPINGS else {}
    if name in MAPPINGS or name.endswith("_cv"):
        arguments["crossvalidation_kwargs"] = SPLITS
    return bsjax.score_arrays(x.astype(dtype), y.astype(dtype), metric=name.split(",")[0], dtype=dtype, **arguments)


def check(name, kind, exponents, dtype):
    x, y = data(KINDS[kind])
    for exponent in exponents:
        score = scored(name, x * power_of_two(exponent), y, dtype)
        assert abs(float(score) - exact_score(name, kind, exponent)) < TOLERANCES[dtype], f"at 1e{exponent}"


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("kind", ["wide", "rank-deficient, wide"])
@pytest.mark.parametrize("name", ["ridge", "linear_predictivity", "ridgecv", "pls", "cka", "rdm"])
def test_scores_are_exact_at_the_ends_of_the_scale(name, kind, dtype):
    check(name, kind, (-10, 0, 10), dtype)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "wide"])
@pytest.mark.parametrize("name", [*MAPPINGS, "cka_cv", "rdm_cv"])
def test_scores_are_exact_at_every_scale(name, kind):
    """In float32, which is the harder one."""
    check(name, kind, (-6, 6), "float32")


@pytest.mark.parametrize(
    ("name", "width"),
    [("ridge", 100), ("linear_predictivity", 10), ("linear_predictivity", 100), ("ridgecv", 100), ("pls", 10)]
    + [("neuron_to_neuron", 10)],
)
def test_of_stimuli_with_the_same_features_nothing_is_ranked(name, width):
    rng = np.random.default_rng(0)
    group = np.arange(STIMULI) // (STIMULI // 2)
    x = rng.normal(size=(2, width))[group]
    y = rng.normal(size=(STIMULI, TARGETS)) + 2 * group[:, None] + 7
    threes = {"splits": 20, "test_size": 3, "stratification_coord": None}
    arguments = {"n_components": 2} if name == "pls" else {}
    score = bsjax.score_arrays(x, y, metric=name, dtype="float32", crossvalidation_kwargs=threes, **arguments)
    equal = [len(set(group[test])) == 1 for _, test in splits_of(splits=20, test_size=3)]
    assert 0 < sum(equal) < 20
    assert (np.isnan(score.raw.values).all(axis=1) == equal).all()
    assert np.isfinite(score.raw.values[~np.array(equal)]).all()
