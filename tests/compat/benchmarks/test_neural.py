"""Comparisons of recordings with the arguments that plugins know."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from scipy.stats import pearsonr, spearmanr
from sklearn.linear_model import Ridge

from bsjax.benchmarks.lazy_loading import LazyLoad
from bsjax.compat.assemblies import NeuroidAssembly
from bsjax.compat.benchmarks.neural import (
    NeuralBenchmark,
    RSABenchmark,
    TrainTestNeuralBenchmark,
    average_repetition,
    flatten_timebins_into_neuroids,
    neuroid_wise_explained_var,
    timebins_from_assembly,
)
from bsjax.compat.metrics.rdm import RDM
from bsjax.compat.metrics.regression import XarrayCorrelation, XarrayRegression
from bsjax.compat.models.precomputed import PrecomputedFeatures
from bsjax.compat.score import Score
from bsjax.data import StimulusSet
from tests.compat.conftest import recording

ROWS = 16


def responses(seed, neuroids, prefix="a", **coords):
    """Responses to the stimuli of a prefix, with these stimuli."""
    ids = [f"{prefix}{i:02d}" for i in range(ROWS)]
    known = {"stimulus_id": ("presentation", ids), "time_bin_start": 70, "time_bin_end": 170}
    stimuli = StimulusSet({"stimulus_id": ids}, identifier=prefix)
    return recording(seed, ROWS, neuroids, **known, **coords).assign_attrs(stimulus_set=stimuli)


class Candidate(PrecomputedFeatures):
    """Keeps what it was asked to record."""

    def start_recording(self, region, time_bins=None):
        self.recorded = region, time_bins


def correlated(source, target):
    score = XarrayCorrelation(pearsonr)(source, target)
    median = score.median()
    median.attrs["raw"] = score
    return median


@pytest.mark.parametrize(("lazy", "binned"), [(False, True), (True, False)])
def test_a_neural_benchmark(lazy, binned):
    target, features = responses(0, 3), responses(1, 3)
    arguments = {"similarity_metric": correlated, "visual_degrees": 8, "number_of_trials": 1, "version": 1}
    benchmark = NeuralBenchmark(
        "Mine.IT",
        LazyLoad(lambda: target) if lazy else target,
        ceiling_func=lambda: Score(0.8),
        parent="IT",
        **arguments,
    )
    if binned:
        bins = {"time_bin_start": ("time_bin", [70]), "time_bin_end": ("time_bin", [170])}
        features = features.drop_vars(list(bins)).expand_dims("time_bin", axis=2).assign_coords(bins)
    candidate = Candidate(features.isel(presentation=slice(None, None, -1)), 8)
    score = benchmark(candidate)
    rs = [pearsonr(responses(1, 3).values[:, n], target.values[:, n])[0] for n in range(3)]
    assert float(score) == pytest.approx(np.sign(np.median(rs)) * np.median(rs) ** 2 / 0.8)
    assert float(score.raw) == pytest.approx(np.median(rs)) and score.attrs["ceiling"] == 0.8
    np.testing.assert_allclose(score.raw.raw.values, rs)
    assert candidate.recorded == ("IT", [(70, 170)]) and (benchmark.identifier, benchmark.parent) == ("Mine.IT", "IT")


def fitted(source_train, target_train, source_test, target_test):
    regression = XarrayRegression(Ridge(1.0))
    regression.fit(source_train, target_train)
    return correlated(regression.predict(source_test), target_test)


def expected_rs(features, train, test, neuroids):
    predicted = Ridge(1.0).fit(features["train"].values, train.values[:, neuroids]).predict(features["test"].values)
    return np.array([pearsonr(predicted[:, i], test.values[:, n])[0] for i, n in enumerate(neuroids)])


@pytest.fixture
def experiment():
    subject = {"subject": ("neuroid", ["x", "x", "y", "y", "y"])}
    train, test = responses(0, 5, "train", **subject), responses(1, 5, "test", **subject)
    features = {"train": responses(2, 4, "train"), "test": responses(3, 4, "test")}
    # What the neuroids share with the model, for correlations above zero.
    for target, source in ((train, features["train"]), (test, features["test"])):
        target += source.values @ np.random.default_rng(4).normal(size=(4, 5))
    ceilings = Score(
        np.random.default_rng(5).uniform(0.6, 0.9, size=(3, 5)),
        coords={"split": [0, 1, 2], "neuroid_id": ("neuroid", range(5)), **subject},
        dims=["split", "neuroid"],
    )
    ceiling = Score(np.median(ceilings.values, axis=1).mean())
    ceiling.attrs["raw"] = ceilings
    return train, test, features, ceiling


def benchmark_of(experiment, **settings):
    train, test, features, ceiling = experiment
    for source, target in ((features["train"], train), (features["test"], test)):
        target.attrs["stimulus_set"] = source.attrs["stimulus_set"]
    benchmark = TrainTestNeuralBenchmark(
        "Mine.IT",
        lambda: ceiling,
        2,
        train,
        test,
        fitted,
        visual_degrees=8,
        number_of_trials=1,
        parent="IT",
        **settings,
    )
    return benchmark(Candidate(features, 8))


@pytest.mark.parametrize("per_voxel", [False, True])
def test_a_mapping_for_each_subject(experiment, per_voxel):
    score = benchmark_of(experiment, alpha_coord="subject", per_voxel_ceilings=per_voxel)
    train, test, features, ceiling = experiment
    expected = {}
    for subject, neuroids in (("x", [0, 1]), ("y", [2, 3, 4])):
        rs, ceilings = expected_rs(features, train, test, neuroids), ceiling.raw.values[:, neuroids]
        by_neuroid = (rs**2 / ceilings.mean(axis=0)).mean()
        expected[subject] = by_neuroid if per_voxel else np.median(rs) ** 2 / np.median(ceilings, axis=1).mean()
    assert float(score) == pytest.approx(np.mean([*expected.values()]))
    assert {name: score.attrs[name].item() for name in expected} == pytest.approx(expected)
    assert score.attrs["x"].dims == ("subject",) and score.attrs["ceiling"] is ceiling
    assert score.raw.raw["subject"].values.tolist() == ["x", "y"]


class TestRSA:
    subjects = {"subject": ("neuroid", ["x", "x", "x", "y", "y", "y"])}

    def benchmark(self, target, **settings):
        return RSABenchmark("Mine-rdm", 1, target, "IT", 8, 1, "@a{b}", **settings)

    @pytest.mark.parametrize(("pieces", "levels"), [({}, "two"), ({"rdm": RDM()}, "all")])
    @pytest.mark.filterwarnings("ignore:Duplicate dimension names")
    def test_the_mean_over_subjects(self, pieces, levels):
        target, features = responses(0, 6, **self.subjects), responses(1, 4)
        if levels == "two":  # the index of two levels that one is selected of
            target = target.drop_vars("region")
        asked = []
        benchmark = self.benchmark(target, ceiler=lambda assembly: asked.append(assembly) or Score(0.5), **pieces)
        score = benchmark(Candidate(features, 8))
        of_model = pdist(features.values, "correlation")
        rhos = [spearmanr(of_model, pdist(target.values[:, part], "correlation"))[0] for part in ([0, 1, 2], [3, 4, 5])]
        assert float(score.raw) == pytest.approx(np.mean(rhos), abs=1e-6)
        assert float(score) == pytest.approx(np.mean(rhos) / 0.5, abs=1e-6)
        assert score.raw.attrs["subject_scores"] == pytest.approx(rhos, abs=1e-6)
        assert asked == [target] and benchmark.timebins == [(70, 170)] and benchmark.parent == "IT"

    def test_the_ceiling_is_how_alike_subjects_are(self):
        target = responses(0, 6, **self.subjects)
        rdms = [pdist(target.values[:, part], "correlation") for part in ([0, 1, 2], [3, 4, 5])]
        ceiling = self.benchmark(target, parent="V4").ceiling
        assert float(ceiling.attrs["lower_bound_loo"]) == pytest.approx(spearmanr(*rdms)[0], abs=1e-5)
        assert float(ceiling.attrs["lower_bound_loo"]) < float(ceiling) <= 1


def test_helpers_are_those_of_bsjax_in_the_classes_of_plugins():
    """Of an assembly or what loads it: two repetitions, in two time bins, the second doubled."""
    one = responses(0, 3)
    of_trials = {"stimulus_id": np.tile(one["stimulus_id"].values, 2), "repetition": np.repeat([0, 1], ROWS)}
    coords = {name: ("presentation", values) for name, values in of_trials.items()}
    trials = recording(0, 2 * ROWS, 3, [70, 80], **coords)
    trials.values[:] = np.tile(one.values, (2, 1))[..., None] * [1, 2]
    lazy = LazyLoad(lambda: trials)
    assert timebins_from_assembly(lazy) == [(70, 90), (80, 100)]
    mean = average_repetition(lazy)
    assert type(mean) is NeuroidAssembly and "repetition" not in mean.coords
    np.testing.assert_allclose(mean.values[..., 0], one.values)
    flat = flatten_timebins_into_neuroids(mean)
    assert type(flat) is NeuroidAssembly and flat.sizes == {"presentation": ROWS, "neuroid": 6, "time_bin": 1}
    assert flat["recording_site"].values.tolist() == [0, 0, 1, 1, 2, 2]
    assert flat["recording_time"].values.tolist() == [70, 80] * 3
    np.testing.assert_array_equal(flat.values.reshape(ROWS, 3, 2), mean.values)


def of_neuroids(values, ids):
    dims = ["split", "neuroid"][-np.ndim(values) :]
    raw = Score(values, coords={"neuroid_id": ("neuroid", ids)}, dims=dims)
    score = Score(float(raw.mean()))
    score.attrs["raw"] = raw
    return score


def test_explained_variance_of_neuroids():
    score = of_neuroids([[0.5, 0.9], [0.7, 0.7]], ["a", "b"])
    score.attrs["note"], score.raw.attrs["alpha"] = "kept", 3.0
    ceiling = of_neuroids([[0.8, 0.6], [0.6, 1.0]], ["a", "b"])
    expected = [0.6**2 / 0.7, 0.8**2 / 0.8]
    explained = neuroid_wise_explained_var(score, ceiling)
    assert float(explained) == pytest.approx(np.mean(expected)) and explained.attrs["ceiling"] is ceiling
    np.testing.assert_allclose(explained.attrs["ceiled_scores"].values, expected)
    assert explained.raw is score.raw and (explained.attrs["note"], explained.attrs["alpha"]) == ("kept", 3)
    # A correlation below zero keeps its sign, and a ceiling below zero explains nothing.
    signed = neuroid_wise_explained_var(of_neuroids([-0.6, 0.9], ["a", "b"]), of_neuroids([0.9, -0.1], ["a", "b"]))
    assert float(signed) == pytest.approx(-(0.6**2) / 0.9)


def test_neuroids_must_be_the_same():
    score = of_neuroids([0.5, 0.9], ["a", "b"])
    with pytest.raises(ValueError, match="the same neuroids, in the same order: 'neuroid_id' differ"):
        neuroid_wise_explained_var(score, of_neuroids([0.8, 0.8], ["b", "a"]))
    with pytest.raises(ValueError, match="score and ceiling must have raw values of neuroids"):
        neuroid_wise_explained_var(score, Score(0.8))
