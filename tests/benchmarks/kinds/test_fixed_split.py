"""Benchmarks with a split of their own, on a small data set."""

import numpy as np
import pytest

from bsjax import Score, load_ceiling, load_metric
from bsjax.benchmarks import TrainTestNeuralBenchmark


@pytest.fixture
def split(trials):
    """Single trials of training and of test stimuli, the neuroids of two subjects."""
    trials = trials.assign_coords(subject=("neuroid", ["x", "y", "x", "y", "x", "y"]))
    first = trials["stimulus_id"].values < "s25"
    return trials.isel(presentation=first), trials.isel(presentation=~first)


def benchmark(split, **changes):
    train, test = split
    arguments = {
        "identifier": "Small.IT-ridge_split",
        "train_assembly": train,
        "test_assembly": test,
        "similarity_metric": load_metric("ridge_split"),
        "ceiling_func": lambda: load_ceiling("internal_consistency")(test),
        "parent": "IT",
    }
    return TrainTestNeuralBenchmark(**{**arguments, **changes})


@pytest.fixture
def noisy(model, signal):
    return model(signal + np.random.default_rng(7).normal(size=signal.shape))


def by_hand(split, features, neuroids):
    """Ridge regression with penalty 1 by the normal equations, and Pearson's correlation of each neuroid."""
    train, test = (part.isel(time_bin=0, neuroid=neuroids) for part in split)
    y, t = (part.values.reshape(4, -1, len(neuroids)).mean(axis=0) for part in (train, test))
    x, z = features[:25] - features[:25].mean(axis=0), features[25:] - features[:25].mean(axis=0)
    weights = np.linalg.solve(x.T @ x + np.eye(x.shape[1]), x.T @ (y - y.mean(axis=0)))
    return np.array([np.corrcoef(z @ weights[:, n], t[:, n])[0, 1] for n in range(len(neuroids))])


def features_of(noisy, split):
    noisy.start_recording("IT", [(70, 170)])
    return noisy.look_at(split[0].stimulus_set).values


@pytest.mark.slow
def test_the_score_is_that_of_the_test_stimuli(split, noisy):
    score = benchmark(split)(noisy)
    r = by_hand(split, features_of(noisy, split), list(range(6)))
    np.testing.assert_allclose(score.unceiled.raw, r, rtol=1e-6)
    assert float(score) == pytest.approx(np.median(r) ** 2 / float(score.ceiling), rel=1e-6)
    told = score.provenance
    assert (told["n_stimuli"], told["n_train_stimuli"], told["region"]) == (15, 25, "IT")
    assert told["data"].count("sha256:") == 2


def test_each_subject_is_fitted_and_ceiled_by_itself(split, noisy):
    score = benchmark(split, alpha_coord="subject")(noisy)
    x, y = (score.provenance["scores"][subject] for subject in "xy")
    of_x = by_hand(split, features_of(noisy, split), [0, 2, 4])
    ceiling = load_ceiling("internal_consistency")(split[1]).raw.isel(neuroid=[0, 2, 4]).median("neuroid").mean()
    assert x == pytest.approx(np.median(of_x) ** 2 / float(ceiling), rel=1e-6)
    assert float(score) == pytest.approx((x + y) / 2, rel=1e-6)
    assert score.error == pytest.approx(abs(x - y) / 2, rel=1e-6)
    assert score.error_kind == "standard error over 2 values of subject, ddof 1"
    assert score.raw["subject"].values.tolist() == ["x"] * 3 + ["y"] * 3
    assert score.n_units == 6
    assert Score.from_dict(score.to_dict()) == score


def test_each_neuroid_has_its_own_ceiling(split, noisy):
    score = benchmark(split, per_voxel_ceilings=True)(noisy)
    r = by_hand(split, features_of(noisy, split), list(range(6)))
    ceiling = load_ceiling("internal_consistency")(split[1]).raw.mean("split")
    assert float(score) == pytest.approx(float(np.mean(np.abs(r) * r / ceiling)), rel=1e-6)


def test_subjects_must_be_there_and_the_same(split, noisy):
    train, test = split
    with pytest.raises(ValueError, match="train data of 'Small.IT-ridge_split' have no coordinate 'animal'"):
        benchmark(split, alpha_coord="animal")(noisy)
    other = test.assign_coords(subject=("neuroid", ["x", "y", "x", "y", "x", "z"]))
    with pytest.raises(ValueError, match="differ in 'subject': z"):
        benchmark((train, other), alpha_coord="subject")(noisy)
    with pytest.raises(ValueError, match="has no raw value per neuroid"):
        benchmark(split, alpha_coord="subject", ceiling_func=lambda: Score(0.9))(noisy)


def test_a_declared_region_or_time_bin_is_checked(split, noisy):
    with pytest.raises(ValueError, match="is about V4, its data are of IT"):
        benchmark(split, region="V4")(noisy)
    with pytest.raises(ValueError, match=r"the data have the time bins \[\(70.0, 170.0\)\], declared are"):
        benchmark(split, time_bins=[(0, 100)])(noisy)
    assert float(benchmark(split, region="IT", time_bins=[(70, 170)])(noisy)) > 0
