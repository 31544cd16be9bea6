"""Two-alternative choices among objects: trials in the shape of the published ones."""

import numpy as np
import pytest
import xarray as xr
from scipy.special import softmax

from bsjax import Score, load_benchmark, load_metric
from bsjax.labelled.normalise import each_split_over_sqrt_ceiling
from tests.support import served_data as served
from tests.support.people import answering, behaviour

OBJECTS, EACH, TRIALS = np.array(["bear", "car", "elephant", "plane"]), 8, 6000
TRUTH = np.repeat(np.arange(4), EACH)


@pytest.mark.slow
def test_the_score_is_that_of_the_metric_in_each_half_over_the_root_of_its_ceiling(serve, same_as_published):
    rng = np.random.default_rng(0)
    stimuli = served.stimuli_of(len(TRUTH), image_label=OBJECTS[TRUTH])
    of_model = softmax(rng.normal(size=(len(TRUTH), 4)) + 1.2 * np.eye(4)[TRUTH], axis=1)
    image = rng.integers(0, len(TRUTH), TRIALS)
    sample, other = TRUTH[image], (TRUTH[image] + rng.integers(1, 4, TRIALS)) % 4
    of_people = of_model * np.exp(0.5 * rng.normal(size=of_model.shape))
    right = rng.random(TRIALS) < of_people[image, sample] / (of_people[image, sample] + of_people[image, other])
    ids, names = stimuli["stimulus_id"].to_numpy()[image], {"truth": OBJECTS[sample], "sample_obj": OBJECTS[sample]}
    chosen = OBJECTS[np.where(right, sample, other)]
    trials = behaviour(chosen, stimulus_id=ids, **names, dist_obj=OBJECTS[other], choice=chosen)
    serve("Rajalingham2018.private", trials, stimuli)
    serve("objectome.public", stimuli=served.stimuli_of(8, "learned", image_label=[*OBJECTS] * 2))
    benchmark, model = load_benchmark("Rajalingham2018-i2n"), answering(stimuli, OBJECTS, of_model)
    score, metric = benchmark(model), load_metric("i2n")
    same_as_published(score, model)
    raw, ceiling = metric(model.look_at(stimuli), trials).raw.values, metric.ceiling(trials).raw.values
    np.testing.assert_allclose(score.unceiled.raw, raw)
    np.testing.assert_allclose(benchmark.ceiling.raw, ceiling)
    ratios = raw / np.sqrt(ceiling)
    assert float(score) == pytest.approx(ratios.mean()) and score.error == pytest.approx(ratios.std())
    assert 0.3 < float(score) < 1.1 and score.provenance["n_stimuli"] == len(TRUTH)


def test_a_ceiling_of_zero_or_of_other_splits():
    def splits(values, labels=(0, 1)):
        raw = xr.DataArray(np.array(values), dims=["split"], coords={"split": list(labels)})
        return Score(float(np.mean(values)), raw=raw)

    three = each_split_over_sqrt_ceiling(splits([0.2, 0.3, 0.6], (0, 1, 2)), splits([0.25] * 3, (0, 1, 2)))
    assert three.error_kind == "standard deviation over 3 splits of the trials, ddof 0"
    assert three.error == pytest.approx(np.std([0.4, 0.6, 1.2])) and three.interval() is None
    # That of the other split alone would be too high.
    of_means = each_split_over_sqrt_ceiling(splits([0.2, 0.3]), splits([-0.1, 0.25]))
    assert float(of_means) == pytest.approx(0.25 / 0.075**0.5) and of_means.formula == "r/√c"
    assert np.isnan(each_split_over_sqrt_ceiling(splits([0.2, 0.3]), splits([0.0, -1.0])).value)
    with pytest.raises(ValueError, match="other splits"):
        each_split_over_sqrt_ceiling(splits([0.2, 0.3]), splits([0.2, 0.3], labels=(1, 2)))
    with pytest.raises(ValueError, match="the ceiling needs one raw value a split"):
        each_split_over_sqrt_ceiling(splits([0.2, 0.3]), Score(0.5))
