"""Object confusions: trials and probabilities in the shape of the published ones, i2n by numpy and scipy."""

import numpy as np
import pytest
import xarray as xr
from scipy.stats import norm, pearsonr

from bsjax import BehavioralAssembly, Score, load_benchmark
from bsjax.labelled.normalise import each_split_over_sqrt_ceiling
from bsjax.models import PrecomputedFeatures
from tests.support import served_data as served

OBJECTS, EACH, TRIALS = ["bear", "car", "elephant", "plane"], 8, 6000
TRUTH = np.repeat(np.arange(4), EACH)


@pytest.fixture
def stimuli():
    return served.stimuli_of(len(TRUTH), image_label=np.array(OBJECTS)[TRUTH])


@pytest.fixture
def probabilities(stimuli):
    """A model that is right more or less often, and makes confusions of its own."""
    logits = np.random.default_rng(0).normal(size=(len(TRUTH), 4)) + 1.2 * np.eye(4)[TRUTH]
    values = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    coords = {"stimulus_id": ("presentation", stimuli["stimulus_id"].to_numpy()), "choice": OBJECTS}
    return BehavioralAssembly(values, coords=coords, dims=["presentation", "choice"])


@pytest.fixture
def trials(stimuli, probabilities):
    """Choices of people who confuse what the model confuses, but for noise in every image."""
    rng = np.random.default_rng(1)
    image = rng.integers(0, len(TRUTH), TRIALS)
    distractor = (TRUTH[image] + rng.integers(1, 4, TRIALS)) % 4
    of = probabilities.values * np.exp(0.5 * rng.normal(size=(len(TRUTH), 4)))
    right = rng.random(TRIALS) < of[image, TRUTH[image]] / (of[image, TRUTH[image]] + of[image, distractor])
    named = np.array(OBJECTS)
    sample, other = named[TRUTH[image]], named[distractor]
    coords = {"stimulus_id": stimuli["stimulus_id"].to_numpy()[image], "truth": sample, "sample_obj": sample}
    return BehavioralAssembly(
        np.where(right, sample, other),
        coords={name: ("presentation", labels) for name, labels in {**coords, "dist_obj": other}.items()},
        dims=["presentation"],
    )


def d_primes(hits):
    """d' (image, distractor) of the shares (image, distractor) of choices of the distractor, relative to the object."""
    false_alarms = np.array([[np.nanmean(hits[TRUTH == other, t]) for other in range(4)] for t in TRUTH])
    d = np.clip(norm.ppf(1 - hits) - norm.ppf(false_alarms), -5, 5)
    d[np.arange(len(TRUTH)), TRUTH] = np.nan
    for t in range(4):
        d[TRUTH == t] -= np.nanmean(d[TRUTH == t], axis=0)
    return d


def by_scipy(probabilities, trials):
    """i2n and its ceiling in each of the two splits."""
    p = probabilities.values
    own = p[np.arange(len(TRUTH)), TRUTH][:, None]
    model = d_primes(np.where(np.arange(4) == TRUTH[:, None], np.nan, p / (p + own)))
    code = {name: number for number, name in enumerate(OBJECTS)}
    image = np.array([int(stimulus_id[-3:]) for stimulus_id in trials["stimulus_id"].values])
    other = np.array([code[name] for name in trials["dist_obj"].values])
    wrong = trials.values == trials["dist_obj"].values
    rng, found = np.random.RandomState(0), []
    for _ in range(2):
        order = np.arange(TRIALS)
        rng.shuffle(order)
        halves = []
        for half in (order[: TRIALS // 2], order[TRIALS // 2 :]):
            chosen, offered = np.zeros((len(TRUTH), 4)), np.zeros((len(TRUTH), 4))
            np.add.at(chosen, (image[half], other[half]), wrong[half])
            np.add.at(offered, (image[half], other[half]), 1)
            halves.append(d_primes(np.where(offered > 0, chosen / np.maximum(offered, 1), np.nan)))
        pairs = [(model, halves[0]), (halves[0], halves[1])]
        there = [np.isfinite(one) & np.isfinite(two) for one, two in pairs]
        found.append([pearsonr(one[t], two[t])[0] for (one, two), t in zip(pairs, there, strict=True)])
    return np.array(found).T


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Mean of empty slice")  # numpy's, of what is undefined by design
def test_score_and_ceiling_as_by_hand(serve, stimuli, probabilities, trials):
    serve("Rajalingham2018.private", trials, stimuli)
    serve("objectome.public", stimuli=served.stimuli_of(8, "learned", image_label=OBJECTS * 2))
    benchmark = load_benchmark("Rajalingham2018-i2n")
    score = benchmark(PrecomputedFeatures(probabilities, visual_degrees=8))
    raw, ceiling = by_scipy(probabilities, trials)
    np.testing.assert_allclose(score.unceiled.raw, raw, atol=1e-6)
    np.testing.assert_allclose(benchmark.ceiling.raw, ceiling, atol=1e-6)
    ratios = raw / np.sqrt(ceiling)
    assert float(score) == pytest.approx(ratios.mean()) and score.error == pytest.approx(ratios.std())
    assert 0.3 < float(score) < 1.1 and score.provenance["n_stimuli"] == len(TRUTH)
    assert (benchmark.version, benchmark.parent, benchmark.number_of_trials) == (2, "behavior", 2)


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
