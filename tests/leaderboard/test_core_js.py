"""The script of the pages against the package: averages, ranks and numbers, digit for digit."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from scipy import special

from bsjax.leaderboard.encoding import shown
from bsjax.leaderboard.ranking import rank_bounds, ranks_over_benchmarks
from bsjax.leaderboard.records import STATES
from bsjax.results.aggregation import aggregate
from bsjax.results.tree import Tree
from tests.support.core_js import NODE, core_js

pytestmark = pytest.mark.skipif(NODE is None, reason="Node.js is not installed")

HALF = float(special.ndtri(0.975))
NUMBERS = st.floats(-1e3, 1e3) | st.floats(0, 1) | st.sampled_from([0.0, -0.0, 1.0, 5e-324, 1e-7, 1 / 3])
ERRORS = st.none() | st.floats(0, 1) | st.sampled_from([0.0, 1e-9])
# Shrinking what fails takes minutes, each call going to another process; the first example tells as much.
as_found = settings(phases=[Phase.explicit, Phase.reuse, Phase.generate])
WEIGHTS = st.sampled_from([0, 1, 2, 0.1, 1 / 3, 1e300, 5e-324]) | st.floats(0, 100)


@pytest.fixture(scope="module")
def script():
    with core_js() as running:
        yield running


@st.composite
def trees(draw) -> Tree:
    """Trees of several roots, one of which may be of engineering, up to 12 children and four deep."""
    parent = {"root": "", "engineering_root": ""}
    for number in range(draw(st.integers(0, 5))):
        parent[f"inner{number}"] = draw(st.sampled_from(sorted(parent)))
    for number in range(draw(st.integers(1, 24))):
        parent[f"leaf{number}"] = draw(st.sampled_from(["", *(name for name in parent if "leaf" not in name)]))
    tree = Tree(parent)
    return tree.only([name for name in tree.leaves() if "leaf" in name])


@st.composite
def tables(draw, tree: Tree) -> pd.DataFrame:
    """Scores of some models: beside one alone NumPy adds up in another order where there are more than 7 children."""
    rows = []
    for model in range(draw(st.integers(1, 4))):
        for number, leaf in enumerate(tree.leaves()):
            state = draw(st.sampled_from(["scored"] * 4 + ["failed", "undefined", "missing"]))
            # Each model is there, so that all of them are rows of the table.
            if state == "missing" and number:
                continue
            state = "failed" if state == "missing" else state
            scored = state == "scored"
            score, error = (draw(NUMBERS), draw(ERRORS)) if scored else (None, None)
            half = draw(ERRORS) if scored else None
            low, high = (None, None) if half is None else (score - half, score + half)
            rows.append((f"m{model}", leaf, score, error, state, low, high, draw(st.none() | NUMBERS)))
    names = ["model", "benchmark", "score", "error", "state", "low", "high", "raw"]
    return pd.DataFrame(rows, columns=names).astype(
        {name: float for name in names if name not in names[:2] + ["state"]}
    )


def plain(values) -> list:
    return [None if math.isnan(value) else float(value) for value in values]


def given_to_script(table: pd.DataFrame, tree: Tree) -> dict:
    """What the pages have: nodes with their numbers, and cells of (leaves x models)."""
    leaves, numbers = tree.leaves(), {name: number for number, name in enumerate(tree.order)}
    nodes = [
        {
            "leaf": leaves.index(name) if name in leaves else -1,
            "children": [numbers[child] for child in tree.children(name)],
            "engineering": "engineering" in tree.root(name),
        }
        for name in tree.order
    ]
    models = sorted(set(table["model"]))
    pairs = pd.MultiIndex.from_product([leaves, models])
    whole = table.set_index(["benchmark", "model"]).reindex(pairs)
    cells = {name: plain(whole[name]) for name in ("score", "error", "low", "high")}
    cells["state"] = [STATES.index(state) for state in whole["state"].fillna("missing")]
    raw = whole["raw"].to_numpy().reshape(len(leaves), len(models))
    cells["raw"] = {
        node["leaf"]: plain(raw[node["leaf"]]) for node in nodes if node["leaf"] >= 0 and node["engineering"]
    }
    return {"nodes": nodes, "cells": cells, "n": len(models), "half": HALF}


@as_found
@given(st.data(), st.sampled_from(["available", "website"]))
def test_averages_are_those_of_the_package_digit_for_digit(script, data, how):
    tree = data.draw(trees())
    table = data.draw(tables(tree))
    weights = data.draw(st.dictionaries(st.sampled_from(tree.order), WEIGHTS, max_size=8))
    kept = (
        data.draw(st.lists(st.sampled_from(tree.leaves()), unique=True, min_size=1))
        if data.draw(st.booleans())
        else None
    )
    cut = tree if kept is None else tree.only(kept)
    models = sorted(set(table["model"]))
    # Models that have nothing among the benchmarks that are left are rows of the page all the same.
    expected = aggregate(
        table[table["benchmark"].isin(cut.leaves())],
        cut,
        how,
        {name: weights[name] for name in weights if name in cut.parent},
    ).set_index(["benchmark", "model"])
    numbers = {name: number for number, name in enumerate(tree.order)}
    found = script(
        "aggregate",
        **given_to_script(table, tree),
        how=how,
        weights=[[numbers[name], weight] for name, weight in weights.items()],
        included=None if kept is None else [numbers[name] for name in kept],
    )
    assert [name for name in tree.order if found["kept"][numbers[name]]] == list(cut.order)
    for name in cut.order:
        for at, model in enumerate(models):
            place = numbers[name] * len(models) + at
            got = {column: found[column][place] for column in ("score", "error", "nThere", "nFailed")}
            if (name, model) not in expected.index:
                assert got == {"score": None, "error": None, "nThere": 0, "nFailed": 0}
                continue
            row = expected.loc[(name, model)]
            assert got["score"] == (None if np.isnan(row["score"]) else row["score"])
            assert got["error"] == (None if np.isnan(row["error"]) else row["error"])
            assert STATES[found["state"][place]] == row["state"]
            assert (got["nThere"], got["nFailed"]) == (row["n_there"], row["n_failed"])
            assert found["nLeaves"][numbers[name]] == row["n_leaves"]


@as_found
@given(st.lists(st.tuples(st.sampled_from([0.1, 0.2, 0.3]) | NUMBERS, ERRORS, st.sampled_from(STATES[:4])), min_size=1))
def test_ranks_and_their_bounds_are_those_of_the_package(script, models):
    scores = np.array([score if state == "scored" else math.nan for score, _, state in models])
    errors = np.array([math.nan if error is None or state != "scored" else error for _, error, state in models])
    states = [state for *_, state in models]
    numbers = [STATES.index(state) for state in states]
    found = script("rankBounds", scores=plain(scores), errors=plain(errors), states=numbers, factor=HALF)
    expected = rank_bounds(scores, errors, states)
    assert np.stack([found["rank"], found["best"], found["worst"]], 1).tolist() == expected.tolist()


@as_found
@given(st.data(), st.integers(1, 12), st.integers(1, 8))
def test_intervals_of_ranks_are_those_of_the_package(script, data, n, models):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    scores = rng.choice([0.1, 1 / 3, 0.9, -2.0, 1e3, *rng.uniform(size=20)], size=(n, models))
    there = rng.uniform(size=(n, models)) < data.draw(st.sampled_from([0.3, 0.8, 1.0]))
    total = there.sum(axis=0)
    weights = np.where(there, 1 / np.maximum(total, 1), 0.0)
    averages = np.where(total > 0, (weights * scores).sum(axis=0), np.nan)
    given = {"weights": weights.ravel().tolist(), "scores": scores.ravel().tolist(), "averages": plain(averages)}
    found = script("ranksOverBenchmarks", n=n, models=models, draws=300, **given)
    expected = ranks_over_benchmarks(scores, weights, averages, draws=300)
    assert np.stack([found["best"], found["worst"], found["tied"]], 1).tolist() == expected.tolist()


@as_found
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False) | NUMBERS, min_size=1, max_size=50), st.integers(0, 8))
def test_numbers_look_the_same_wherever_they_are_written(script, values, decimals):
    found = script("shown", values=values, decimals=decimals)
    for value, text in zip(values, found, strict=True):
        # Of numbers above a million all digits are shown; the two languages write their exponents in two ways.
        assert text == shown(value, decimals) if abs(value) < 1e6 else float(text) == float(shown(value, decimals))
