"""Every mapping and similarity at any scale of the features, of any rank, in both dtypes, against exact answers.

The exact answers are those of ``exact.py``, in float64 on data of the order of 1.
"""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

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
MOST_CONDITION = 1e3
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
    "cka_biased": exact.cka(unbiased=False),
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
    "tall": lambda rng: rng.normal(size=(STIMULI, 30)),
    "square": lambda rng: rng.normal(size=(STIMULI, STIMULI)),
    "rank-deficient, wide": lambda rng: low_rank(rng, 150),
    "rank-deficient, tall": lambda rng: low_rank(rng, 30),
    "duplicated rows": lambda rng: np.repeat(rng.normal(size=(STIMULI // 2, 150)), 2, axis=0),
    "duplicated columns": lambda rng: np.tile(rng.normal(size=(STIMULI, 15)), 2),
    "constant columns, wide": lambda rng: with_constants(rng, 150),
    "constant columns, tall": lambda rng: with_constants(rng, 30),
    "power law, wide": lambda rng: rng.normal(size=(STIMULI, 150)) * np.arange(1, 151) ** -1.5,
    "power law, tall": lambda rng: rng.normal(size=(STIMULI, 30)) * np.arange(1, 31) ** -1.5,
}


def data(make, seed=0):
    """Features and targets that both dtypes hold exactly."""
    rng = np.random.default_rng(seed)
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
    return exact_score_of(name, x * power_of_two(exponent), y)


def exact_score_of(name, x, y):
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


@pytest.mark.parametrize("exponent", [-10, 0, 10])
def test_the_exact_answer_is_that_of_fractions(exponent):
    rng = np.random.default_rng(0)
    x, new = (rng.normal(size=(n, 4)) * power_of_two(exponent) for n in (9, 6))
    y = rng.normal(size=(9, 1))
    columns = [[Fraction(value) for value in column] for column in x.T]
    means = [sum(column) / 9 for column in columns]
    centred = [[value - mean for value in column] for column, mean in zip(columns, means, strict=True)]
    targets = [Fraction(value) for value in y[:, 0]]
    rows = [
        [inner(a, b) + (Fraction(0.01) if i == j else 0) for j, b in enumerate(centred)] + [inner(a, targets)]
        for i, a in enumerate(centred)
    ]
    weights = solved(rows)
    # In units of the largest, and less what is constant: that much a float holds.
    predicted = [inner([Fraction(value) for value in row], weights) for row in new]
    varying = [value - sum(predicted) / 6 for value in predicted]
    varying = np.array([float(value / max(map(abs, varying))) for value in varying])
    with_fractions = np.corrcoef(varying, np.arange(6))[0, 1]
    assert exact.correlations(exact.ridge(0.01)(x, y, new), np.arange(6.0)[:, None])[0] == pytest.approx(
        with_fractions, abs=1e-12
    )


def inner(a, b):
    return sum(p * q for p, q in zip(a, b, strict=True))


def solved(rows):
    """The solution of a linear system, right sides last, by elimination."""
    for i, pivot in enumerate(rows):
        rows[i] = pivot = [value / pivot[i] for value in pivot]
        for j, other in enumerate(rows):
            if j != i:
                rows[j] = [value - other[i] * own for value, own in zip(other, pivot, strict=True)]
    return [row[-1] for row in rows]


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("kind", ["wide", "rank-deficient, wide"])
@pytest.mark.parametrize("name", ["ridge", "linear_predictivity", "ridgecv", "pls", "cka", "rdm"])
def test_scores_are_exact_at_the_ends_of_the_scale(name, kind, dtype):
    check(name, kind, (-10, 0, 10), dtype)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [*MAPPINGS, *SIMILARITIES])
def test_scores_are_exact_at_every_scale(name, kind, dtype):
    check(name, kind, (-6, 6), dtype)


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("width", [10, 100])
@pytest.mark.parametrize("name", ["ridge", "linear_predictivity", "ridgecv", "pls", "neuron_to_neuron"])
def test_of_stimuli_with_the_same_features_nothing_is_ranked(name, width, dtype):
    rng = np.random.default_rng(0)
    group = np.arange(STIMULI) // (STIMULI // 2)
    x = rng.normal(size=(2, width))[group]
    y = rng.normal(size=(STIMULI, TARGETS)) + 2 * group[:, None] + 7
    threes = {"splits": 20, "test_size": 3, "stratification_coord": None}
    arguments = {"n_components": 2} if name == "pls" else {}
    score = bsjax.score_arrays(x, y, metric=name, dtype=dtype, crossvalidation_kwargs=threes, **arguments)
    equal = [len(set(group[test])) == 1 for _, test in splits_of(splits=20, test_size=3)]
    assert 0 < sum(equal) < 20
    assert (np.isnan(score.raw.values).all(axis=1) == equal).all()
    assert np.isfinite(score.raw.values[~np.array(equal)]).all()


@st.composite
def spectra(draw):
    """Features of some spectrum, offset and scale, in shapes that are compiled once."""
    width, seed = draw(st.sampled_from([30, STIMULI, 150])), draw(st.integers(0, 2**32 - 1))
    power, offset = draw(st.floats(0, 1.2)), draw(st.sampled_from([0.0, 0.1, 3.0]))
    rank, constant = draw(st.integers(12, STIMULI)), draw(st.integers(0, 5))

    def make(rng):
        x = rng.normal(size=(STIMULI, width)) * np.arange(1, width + 1) ** -power
        x[:, rank:] = x[:, np.arange(rank, width) % rank]  # copies: of no more rank, in any dtype
        x[:, 12 : 12 + constant] = 0.1
        return x + offset

    x, y = data(make, seed)
    return x * power_of_two(draw(st.floats(-10, 10))), y * power_of_two(draw(st.floats(-10, 10)))


def search(name, dtype, sides):
    x, y = sides
    tolerance = TOLERANCES[dtype]
    if name.startswith(("linear_predictivity", "ridge")):
        # Inner products square the condition number, which no penalty, or next to none at a large scale, bounds here.
        assume(max(condition_number(x[train]) for train, _ in splits_of()) < MOST_CONDITION)
    score, expected = scored(name, x, y, dtype), exact_score_of(name, x, y)
    if name.startswith("ridgecv") and not abs(float(score) - expected) < tolerance:
        expected = exact_score_at_chosen(name, score, x, y, tolerance)  # of penalties as good, another one
    assert abs(float(score) - expected) < tolerance


def condition_number(x):
    """Of centred features, within their range."""
    lengths = np.linalg.svd(x - x.mean(axis=0), compute_uv=False)
    return lengths[0] / lengths[lengths > 1e-12 * lengths[0]].min()


def exact_score_at_chosen(name, score, x, y, tolerance):
    """The exact score at the penalties that were chosen, which must be as good as the best."""
    rows = []
    for (train, test), chosen in zip(splits_of(), score.raw["alpha"].values, strict=True):
        train, chosen = np.sort(train), np.broadcast_to(chosen, TARGETS)
        runs = 5 if name.endswith("runs") else None
        errors = np.array([exact.validation_errors(x[train], y[train], alpha, runs) for alpha in ALPHAS])
        of_chosen = errors[[np.argmin(np.abs(np.log(np.array(ALPHAS) / alpha))) for alpha in chosen], range(TARGETS)]
        if not name.endswith("per target"):
            errors, of_chosen = errors.sum(axis=1), of_chosen.sum()
        assert (of_chosen <= errors.min(axis=0) * (1 + 10 * tolerance)).all()
        each = [exact.ridge(alpha)(x[train], y[train][:, [t]], x[test])[:, 0] for t, alpha in enumerate(chosen)]
        rows.append(exact.correlations(np.array(each).T, y[test]))
    return np.nanmedian(rows, axis=1).mean()


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("name", ["ridge", "ridgecv", "pls"])
@given(sides=spectra())
@settings(max_examples=10, deadline=None, derandomize=True)
def test_no_spectrum_is_found_whose_score_is_wrong(name, dtype, sides):
    search(name, dtype, sides)
