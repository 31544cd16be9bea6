"""Classes of Brain-Score's metrics that plugins import."""

import numpy as np
import pytest

from bsjax import NeuroidAssembly, load_metric
from bsjax.compat import assemblies
from bsjax.compat.by_name import metrics
from bsjax.compat.score import Score
from tests.compat.conftest import recording

NAMES = {"RDMMetric": "rdm", "CKAMetric": "cka", "RDMCrossValidated": "rdm_cv", "CKACrossValidated": "cka_cv"}
NO_STRATA = {"crossvalidation_kwargs": {"stratification_coord": None}}


def trials(seed, repetitions=1, cls=assemblies.NeuroidAssembly):
    """The same signal in each repetition, and other noise."""
    of_rows = {"stimulus_id": np.tile(np.arange(30), repetitions), "repetition": np.repeat(np.arange(repetitions), 30)}
    coords = {name: ("presentation", values) for name, values in of_rows.items()}
    made = recording(seed, 30 * repetitions, 5, cls=cls, **coords)
    return made.copy(data=made.values + np.tile(recording(0, 30, 5).values, (repetitions, 1)))


@pytest.mark.parametrize("name", NAMES)
def test_scores_are_those_of_bsjax(name):
    settings = NO_STRATA if name.endswith("CrossValidated") else {}
    made = getattr(metrics, name)(**settings)
    score = made(trials(1), trials(2))
    expected = load_metric(NAMES[name], **settings)(trials(1, cls=NeuroidAssembly), trials(2, cls=NeuroidAssembly))
    assert type(score) is Score and score == float(expected) and 0.1 < score < 1
    assert score.attrs.get("error") == expected.error
    if expected.raw is not None:
        np.testing.assert_array_equal(score.raw.values, expected.raw.values)


def test_the_consistency_of_trials():
    ceiling = metrics.InternalConsistency()(trials(1, 6))
    expected = load_metric("internal_consistency")(trials(1, 6, NeuroidAssembly))
    assert type(ceiling) is Score and ceiling == float(expected) and 0.5 < ceiling < 1
    assert ceiling.raw.dims == expected.raw.dims and ceiling.raw.sizes["neuroid"] == 5


def test_a_ceiling_takes_the_metric_that_a_plugin_has_loaded():
    from bsjax.compat.by_name.registries import metric_registry

    ceiling = metric_registry["internal_consistency"](consistency_metric=metric_registry["cka"]())
    expected = load_metric("internal_consistency", consistency_metric=load_metric("cka"))
    assert float(ceiling(trials(1, 6))) == float(expected(trials(1, 6, NeuroidAssembly)))
