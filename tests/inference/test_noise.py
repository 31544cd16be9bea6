"""Intervals over draws of noise hold the mean of the metric, in a few seeds of the table that calibration measures."""

import numpy as np
import pytest

from benchmarks_perf.calibration.noise import FURTHER, ROWS, holds, identifier, metric_of, noise_score
from bsjax import Resampling, list_metrics
from bsjax.labelled.metric import scored
from bsjax.labelled.resampling.draws import FACTORS, in_draws

pytestmark = pytest.mark.slow


DRAWS = 20
# Rows whose intervals are known to be too narrow, see docs/uncertainty.md.
NARROW = {
    ("ost", "stimuli"),
    ("cka_of_sampled_units", "neuroids"),
    ("confusion_similarity, ceiling", "stimuli"),
    ("confusion_similarity, ceiling", "subjects"),
}
# The forms of these regressions share all but their mapping with those of PCR.
FORMS = [way + "{}" + form for way in ("", "reverse_") for form in ("", "_cv", "_split")]
SHARING = (*FURTHER, "linear_predictivity", "neuron_to_neuron")
AS_PCR = {form.format(name) for name in SHARING for form in FORMS} - {form.format("pcr") for form in FORMS}
IN_SPLITS = {name for name, row in ROWS.items() if "crossvalidation_kwargs" in row.settings}
# A regression has two names, with and without _cv; of a similarity they are two metrics.
SECOND_NAMES = {f"{name}_cv" for name in IN_SPLITS} & IN_SPLITS
ONCE = {name: row for name, row in ROWS.items() if name not in SECOND_NAMES}
EACH = [
    (name, factor)
    for name, row in ONCE.items()
    for factor in row.over
    if (name, factor) not in NARROW and name not in AS_PCR
]
SPLIT = [name for name in ONCE if name in IN_SPLITS and name not in AS_PCR]


def test_every_metric_has_a_row():
    assert set(list_metrics()) == {identifier(name) for name in ROWS}


@pytest.mark.parametrize(("name", "factor"), EACH)
def test_the_interval_of_noise_holds_the_mean(name, factor):
    """95 of 100 should; of five, fewer than three do in 1 of 900 rows then, but in every other where 50 of 100 do."""
    held, of = holds(name, factor, range(5), DRAWS)
    assert held >= 3 and of >= 4


@pytest.mark.parametrize("name", ONCE)
def test_what_a_row_does_not_draw_is_refused(name):
    # A regression between subjects can be had of neuroids that are drawn, where their mean is not simulated.
    known = {"neuroids"} if name == "cross_subject_consistency, ridge" else set()
    for factor in set(FACTORS) - set(ROWS[name].over) - known:
        with pytest.raises(ValueError, match=f"{factor}|draws"):
            noise_score(name, factor, 0, 2)


@pytest.mark.parametrize("name", SPLIT)
def test_no_row_that_tests_is_one_that_trains(name):
    def apart(train, test, assembly):
        rows = [row.tobytes() for row in assembly.transpose("presentation", ...).values]
        assert not {rows[i] for i in train} & {rows[i] for i in test}
        seen.append(len(rows))
        return train, test

    seen, kwargs = [], ROWS[name].settings["crossvalidation_kwargs"] | {"preprocess_indices": apart}
    with in_draws(Resampling("stimuli", draws=5)):
        score = scored(metric_of(name, crossvalidation_kwargs=kwargs), *ROWS[name].data(np.random.default_rng(0)))
    assert seen and np.isfinite(score.uncertainty.draws).sum() > 3
