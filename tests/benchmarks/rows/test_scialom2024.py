"""Objects in fragments: accuracies, errors and engineering accuracy, on data of the shape of the published ones."""

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from bsjax import load_benchmark
from tests.benchmarks.conftest import parts
from tests.support import served_data as served
from tests.support.people import naming, trials_of

OBJECTS = ["Banana", "Cup", "Sewing machine", "Truck"]


def drawings(kinds=("12",), n=8, condition=None):
    """Eight images of each kind; the table calls the condition of all by one name where one is given."""
    truth = OBJECTS * (n // 4) * len(kinds)
    seen = np.repeat(kinds, n)
    called = seen if condition is None else [condition] * len(truth)
    return served.stimuli_of(len(truth), truth=truth, kind=seen, condition=called, percentage_elements=seen)


def mistaken(stimuli, rows):
    """The truth, but the next object in these rows."""
    truth = stimuli["truth"].to_numpy(object)
    others = {one: other for one, other in zip(OBJECTS, OBJECTS[1:] + OBJECTS[:1], strict=True)}
    return [others[one] if row in rows else one for row, one in enumerate(truth)]


@pytest.mark.slow
def test_error_consistency_within_the_kinds_of_images_that_people_saw(serve):
    stimuli = drawings(["RGB", "contours", "segments"], condition="segments")
    people = {"p": mistaken(stimuli, {0, 1, 9, 17, 18}), "q": mistaken(stimuli, {0, 2, 9, 10, 20, 21, 22})}
    serve("Scialom2024_segments-all", trials_of(people, stimuli, truth="truth", condition="kind"), stimuli)
    benchmark = load_benchmark("Scialom2024_segments-allBehavioralErrorConsistency")
    model = mistaken(stimuli, {0, 3, 9, 11, 17, 20, 21})
    score = benchmark(naming(stimuli["stimulus_id"], model))

    truth, kinds = stimuli["truth"].to_numpy(), stimuli["kind"].to_numpy()

    def kappa(one, two):
        one, two = (np.asarray(side) == truth for side in (one, two))
        return np.mean([cohen_kappa_score(one[kinds == kind], two[kinds == kind]) for kind in np.unique(kinds)])

    raw, ceiling = np.mean([kappa(model, answers) for answers in people.values()]), kappa(*people.values())
    assert parts(score) == pytest.approx((raw, ceiling, raw / ceiling))
    assert sorted(score.unceiled.raw["condition"].values) == ["RGB", "contours", "segments"]


def test_a_stimulus_of_two_conditions_is_refused(serve):
    stimuli = drawings(["RGB", "contours"])
    people = trials_of({"p": mistaken(stimuli, {0}), "q": mistaken(stimuli, {1})}, stimuli, truth="truth")
    conditions = np.repeat(["RGB", "contours"], len(stimuli))
    people = people.assign_coords(condition=("presentation", conditions))
    serve("Scialom2024_phosphenes-all", people, stimuli)
    benchmark = load_benchmark("Scialom2024_phosphenes-allBehavioralErrorConsistency")
    with pytest.raises(ValueError, match="several conditions or truths"):
        benchmark(naming(stimuli["stimulus_id"], stimuli["truth"]))
