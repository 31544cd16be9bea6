import numpy as np
import pytest

from bsjax import DataAssembly, NeuroidAssembly
from bsjax.labelled.behaviour.object_solution_time import OSTCorrelation
from bsjax.metrics.behaviour.softmax_decoder import SoftmaxDecoder

N, P, BINS, OBJECTS = 120, 24, 6, 4
DECODER = SoftmaxDecoder(learning_rate=0.02, epochs=10)
FEW = {"splits": 2, "test_size": 0.4}


@pytest.fixture(scope="module")
def pair():
    """A population that comes to tell the object of each image at a time of its own, and those times."""
    rng = np.random.default_rng(0)
    labels = np.arange(N) % OBJECTS
    times = 70 + 10 * np.arange(BINS)
    onset = rng.uniform(70, 70 + 10 * (BINS - 2), N)
    strength = np.clip((times[:, None] - onset) / 20, 0, 1)
    signal = np.eye(OBJECTS)[labels] @ rng.normal(size=(OBJECTS, P)) * 2
    values = strength.T[:, None, :] * signal[:, :, None] + 0.2 * rng.normal(size=(N, P, BINS))
    ids = [f"im{i:03d}" for i in range(N)]
    source = NeuroidAssembly(
        values,
        coords={
            "stimulus_id": ("presentation", ids),
            "image_label": ("presentation", [f"object{i}" for i in labels]),
            "neuroid_id": ("neuroid", np.arange(P)),
            "time_bin_start": ("time_bin", times),
            "time_bin_end": ("time_bin", times + 10),
        },
        dims=["presentation", "neuroid", "time_bin"],
    )
    of_images = {"stimulus_id": ("presentation", ids), "i1": ("presentation", np.full(N, 1.5))}
    return source, DataAssembly(onset, coords=of_images, dims=["presentation"])


@pytest.fixture(scope="module")
def metric():
    return OSTCorrelation(FEW, DECODER)


@pytest.fixture(scope="module")
def score(metric, pair):
    return metric(*pair)


@pytest.mark.slow
def test_recovers_the_order_in_which_a_population_solves_images(score):
    assert float(score) > 0.9
    assert score.raw.dims == ("split",) and score.raw.shape == (2,)
    assert float(score) == pytest.approx(score.raw.values.mean())
    assert score.error == pytest.approx(score.raw.values.std() / np.sqrt(2))


@pytest.mark.slow
def test_rows_and_time_bins_of_the_model_come_in_any_order(metric, pair, score):
    rng = np.random.default_rng(0)
    source = pair[0].isel(presentation=rng.permutation(N), time_bin=rng.permutation(BINS)).transpose()
    np.testing.assert_allclose(metric(source, pair[1]).raw, score.raw, atol=1e-9)
    assert OSTCorrelation(FEW, DECODER, seed=1)(*pair) != score


def test_images_that_were_never_solved_are_left_out(metric, pair):
    source, target = pair
    unsolved = np.arange(N) % 5 == 0
    nan_time = target.copy(data=np.where(unsolved, np.nan, target.values))
    nan_level = target.assign_coords(i1=("presentation", np.where(unsolved, np.nan, 1.5)))
    out_of_reach = target.assign_coords(i1=("presentation", np.where(unsolved, 9.0, 1.5)))
    results = [metric(source, t) for t in (nan_time, nan_level, out_of_reach)]
    assert float(results[0]) > 0.9
    assert float(results[0]) == pytest.approx(float(results[1])) == pytest.approx(float(results[2]))


def test_a_static_model_is_undefined(metric, pair):
    source = pair[0].copy(data=np.repeat(pair[0].values[:, :, -1:], BINS, axis=2))
    score = metric(source, pair[1])
    assert np.isnan(float(score)) and np.isnan(score.raw).all()


def test_malformed_inputs(metric, pair):
    source, target = pair
    with pytest.raises(ValueError, match="the same time_bin_start more than once"):
        metric(source.isel(time_bin=[0, 0, 1]), target)
    truth = ("presentation", np.where(np.arange(N) == 0, "object1", source["image_label"].values))
    with pytest.raises(ValueError, match="differ for 1 stimulus_id"):
        metric(source.assign_coords(truth=truth), target)


def test_an_object_without_training_images(metric, pair):
    source, target = pair
    test = metric.crossvalidation.of(target)[0][1]
    labels = source["image_label"].values.astype(object)
    labels[test[0]] = "unicorn"
    rare = source.assign_coords(image_label=("presentation", labels))
    with pytest.raises(ValueError, match=r"no training images of 1 image_label \(unicorn\)"):
        metric(rare, target)
