import numpy as np
import pytest

from bsjax import NeuroidAssembly, Score, load_metric
from bsjax.labelled.normalise import explained_variance
from tests.support.memory_held import most_held
from tests.support.responses import assembly as labelled

BINS = 3


def assembly(values, prefix="unit", start=0):
    times = start + 10 * np.arange(BINS)
    labels = {"time_bin_start": ("time_bin", times), "time_bin_end": ("time_bin", times + 10)}
    labels["object_name"] = "presentation", np.arange(len(values)) % 2
    coords = dict(labelled(values[:, :, 0], units=prefix).coords) | labels
    return NeuroidAssembly(values, coords, ["presentation", "neuroid", "time_bin"])


@pytest.fixture
def pair():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 8, BINS))
    y = np.einsum("npt,pq->nqt", x, rng.normal(size=(8, 4))) + rng.normal(size=(40, 4, BINS))
    return assembly(x), assembly(y, "site")


def test_a_score_of_each_time_bin_by_labels_in_any_order(pair):
    score = load_metric("spantime_ridge")(*pair)
    assert score.raw.dims == ("split", "time_bin", "neuroid") and score.raw.shape == (10, BINS, 4)
    assert score.value.dims == score.error.dims == ("time_bin",)
    np.testing.assert_allclose(score.value, np.median(score.raw, axis=2).mean(axis=0))
    assert list(score.value["time_bin_start"].values) == [0, 10, 20]
    assert (score.n_units, score.n_undefined) == (4, 0)
    shuffled = pair[0].isel(presentation=np.random.default_rng(1).permutation(40), time_bin=[2, 0, 1])
    np.testing.assert_allclose(load_metric("spantime_ridge")(shuffled, pair[1]).value, score.value)


@pytest.mark.slow
def test_what_is_in_order_is_not_copied():
    rng = np.random.default_rng(0)
    source, target = assembly(rng.normal(size=(400, 100, BINS))), assembly(rng.normal(size=(400, 4, BINS)), "site")
    metric = load_metric("spantime_ridge")
    for _ in range(2):  # the second looks at the list of the process's memory maps, which may be long
        metric(source, target)
    assert most_held(lambda: metric(source, target)) < source.nbytes / 2


def test_other_time_bins_are_refused(pair):
    source, target = pair
    with pytest.raises(ValueError, match=r"the same time bins.*\(5, 15\)"):
        load_metric("spantime_ridge")(assembly(source.values, start=5), target)


def test_too_many_components_are_counted_with_all_bins(pair):
    with pytest.raises(ValueError, match="n_components=8"):
        load_metric("spantime_pls")(*pair)


def test_normalised_in_each_time_bin_or_by_one_ceiling(pair):
    score = load_metric("spantime_ridge")(*pair)
    ceiling = Score(score.value.copy(data=[0.5, 0.8, 1.0]), error=score.value.copy(data=[0.1, 0.1, 0.1]))
    got = explained_variance(score, ceiling)
    np.testing.assert_allclose(got.value, score.value.values**2 / [0.5, 0.8, 1.0])
    value, error = score.value.values[1], score.error.values[1]
    assert got.error.values[1] == pytest.approx(np.hypot(2 * value / 0.8 * error, value**2 / 0.64 * 0.1))
    np.testing.assert_allclose(explained_variance(score, Score(0.8)).value, score.value.values**2 / 0.8)
    later = ceiling.value.assign_coords(time_bin_start=("time_bin", [1, 11, 21]))
    with pytest.raises(ValueError, match="differ in 'time_bin_start'"):
        explained_variance(score, Score(later))
    with pytest.raises(ValueError, match="a single value"):
        explained_variance(Score(0.5), ceiling)
