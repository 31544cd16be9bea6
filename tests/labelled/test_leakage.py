import warnings

import numpy as np
import pytest

from bsjax import load_metric
from bsjax.data import StimulusSet
from bsjax.labelled.leakage import check_leakage

HALVES = [(np.arange(30), np.arange(30, 60)), (np.arange(30, 60), np.arange(30))]


@pytest.fixture
def sides(make):
    rng = np.random.default_rng(0)
    return make(rng.normal(size=(60, 40)), prefix="unit"), make(rng.normal(size=(60, 7)))


def test_nothing_is_found_where_nothing_is(sides):
    found = check_leakage(*sides, load_metric("ridge", {"kfold": True}))
    assert not found and found.messages == () and found.leaked == 0
    assert found.repeated == found.near_identical == ()
    assert abs(found.autocorrelation) < 0.2 and found.p_value > 0.01
    y = sides[1].values - sides[1].values.mean(axis=0)
    expected = np.mean((y[1:] * y[:-1]).sum(axis=0) / (y**2).sum(axis=0))
    assert found.autocorrelation == pytest.approx(expected, abs=1e-12)


def test_near_identical_stimuli_are_named_with_their_share(sides):
    source, target = sides
    source.values[[31, 2]] = source.values[[0, 1]]
    source.values[0] += 1e-3
    with pytest.warns(UserWarning, match=r"1 pair.* \(stim000 = stim031\) are all but the same.* 3.3% .*group_coord"):
        found = check_leakage(source, target, splits=HALVES)
    assert found and found.near_identical == (("stim000", "stim031"),) and found.leaked == pytest.approx(1 / 30)


def test_the_same_file_and_the_same_content_are_repeated_stimuli(sides, tmp_path):
    source, target = sides
    ids = target["stimulus_id"].values
    paths = {name: tmp_path / f"{name}.png" for name in ids}
    for number, path in enumerate(paths.values()):
        path.write_bytes(b"the same" if number in (3, 33, 34) else str(number).encode())
    target.attrs["stimulus_set"] = StimulusSet({"stimulus_id": ids}, stimulus_paths=paths)
    source = source.assign_coords(filename=("presentation", ["a.png", *ids[:58], "a.png"]))
    with pytest.warns(UserWarning, match="are the same picture .* give them one stimulus_id"):
        found = check_leakage(source, target, splits=HALVES)
    assert found.repeated == (("stim000", "stim059"), ("stim003", "stim033"))
    assert found.leaked == pytest.approx((3 / 30 + 2 / 30) / 2)


def test_one_stimulus_on_both_sides_is_found(make):
    ids = [f"s{i % 30}" for i in range(60)]
    rng = np.random.default_rng(0)
    target = make(rng.normal(size=(60, 3)), ids=ids)
    source = make(rng.normal(size=(30, 40)), ids=ids[:30])
    with pytest.warns(UserWarning, match="100.0% of the test stimuli"):
        assert len(check_leakage(source, target, splits=HALVES).repeated) == 30
    together = load_metric("ridge", crossvalidation_kwargs={"unique_split_values": True})
    assert not check_leakage(source, target, together)


@pytest.mark.parametrize("features", [1, 40])
def test_few_dimensions_make_no_pair_the_same_by_chance(make, features):
    rng = np.random.default_rng(features)
    target = make(rng.normal(size=(200, 3)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        draws = [check_leakage(make(rng.normal(size=(200, features))), target) for _ in range(10)]
    assert sum(bool(found.near_identical) for found in draws) <= 1


def test_drift_is_found_in_the_order_that_it_has(make):
    rng = np.random.default_rng(0)
    time = rng.permutation(60)
    drift = np.cumsum(rng.normal(size=(60, 4)), axis=0)[time]
    target = make(drift + rng.normal(size=(60, 4)), time=("presentation", time))
    source = make(rng.normal(size=(60, 40)))
    assert not check_leakage(source, target)
    with pytest.warns(UserWarning, match=r"in the order of 'time' correlate, r = 0\.\d+, p = 0.001,.*'contiguous'"):
        found = check_leakage(source, target, order="time")
    assert found.autocorrelation > 0.5 and found.p_value == pytest.approx(0.001)
    with pytest.warns(UserWarning, match="the target's rows"):
        assert check_leakage(source, target.isel(presentation=np.argsort(time))).p_value == found.p_value


def test_constant_sides_have_nothing_to_leak(make):
    found = check_leakage(make(np.full((40, 3), 0.1)), make(np.full((40, 2), 0.1)))
    assert not found and np.isnan(found.p_value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"metric": "cka"}, "'cka' draws no splits to look for leakage in: name a cross-validated metric"),
        ({"similarity": 0.0}, "similarity must be above 0 and at most 1, got 0.0"),
        ({"order": "time"}, "target has no coordinate 'time'"),
    ],
)
def test_what_cannot_be_checked_says_why(sides, settings, message):
    with pytest.raises(ValueError, match=message):
        check_leakage(*sides, **settings)
