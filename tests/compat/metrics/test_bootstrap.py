"""Errors of scores by drawing with replacement."""

import numpy as np
import pytest

from bsjax.compat.assemblies import DataAssembly
from bsjax.compat.metrics.bootstrap import attach_error, bootstrap_error, declare_no_error
from bsjax.compat.score import Score


@pytest.fixture
def values():
    return DataAssembly(np.random.default_rng(1).normal(size=(40, 30)), dims=["subject", "stimulus"])


def test_dimensions_are_drawn_along_by_themselves(values):
    rng = np.random.default_rng(5)
    draws = []
    for _ in range(30):
        rows, columns = rng.integers(0, 40, 40), rng.integers(0, 30, 30)
        draws.append(np.median(values.values[np.ix_(rows, columns)]))
    error = bootstrap_error(values, ["subject", "stimulus"], lambda drawn: float(np.median(drawn)), 30, seed=5)
    assert error == pytest.approx(np.std(draws, ddof=1), rel=1e-12)
    assert bootstrap_error(values, ["subject"], n_bootstrap=30, seed=1) != bootstrap_error(
        values, ["subject"], n_bootstrap=30, seed=2
    )


def test_what_a_score_says_of_its_error(values):
    score = attach_error(Score(0.5), values, ("subject",), n_bootstrap=20)
    raw = score.attrs.pop("raw")
    assert raw is values
    error = bootstrap_error(values, ["subject"], n_bootstrap=20)
    assert score.attrs == {"error": error, "error_over": ["subject"], "n_bootstrap": 20}
    known = Score(0.5)
    known.attrs["raw"] = Score(0.6)
    assert attach_error(known, values, ["subject"], n_bootstrap=5).raw == 0.6
    none = declare_no_error(Score(0.5), "a single subject")
    assert np.isnan(none.attrs["error"]) and none.attrs["error_nan_reason"] == "a single subject"
