"""Differences on the page beside those of ``bsjax.inference``, which compares the scores themselves."""

import numpy as np
import pytest

from bsjax.inference.comparison import compare
from bsjax.leaderboard.pairing import groups
from bsjax.leaderboard.records import records
from tests.support.paired_store import ALONE, BY_NEUROID, CROSSED, DRAWN, MODELS


@pytest.fixture(scope="module")
def found(paired):
    read = records(paired)
    return {read.leaves[group.leaf].identifier: group for group in groups(read)}


@pytest.mark.parametrize("benchmark", [DRAWN, CROSSED, BY_NEUROID])
def test_intervals_are_those_of_the_comparison_of_the_scores(paired, found, benchmark):
    group = found[benchmark]
    rows = paired.frame(benchmarks=benchmark).set_index("model")
    scores = {model: paired.score(rows.loc[model, "key"]) for model in MODELS}
    compared = compare(scores).table.set_index(["model", "other"])
    names = [records(paired).models[number].identifier for number in group.models]
    for pair, (one, two) in enumerate(zip(*np.triu_indices(len(names), 1), strict=True)):
        key = (names[one], names[two])
        low, high = group.low[pair], group.high[pair]
        difference = group.values[one] - group.values[two]
        if key not in compared.index:  # there the higher score comes first
            key, difference, low, high = (names[two], names[one]), -difference, -high, -low
        row = compared.loc[key]
        np.testing.assert_allclose([difference, low, high], [row["difference"], row["low"], row["high"]], rtol=1e-12)


def test_what_is_compared_is_said(found):
    assert set(found) == {DRAWN, CROSSED, BY_NEUROID} and ALONE not in found
    assert (found[DRAWN].over, found[CROSSED].over) == ("stimuli", "subjects and stimuli")
    assert found[DRAWN].of_scores and found[CROSSED].of_scores
    assert found[BY_NEUROID].over == "neuroids" and "12 neuroids" in found[BY_NEUROID].words
    # The score of this store is not the mean of its raw values.
    assert not found[BY_NEUROID].of_scores
