"""The checks that tests of plugins' benchmarks call: each passes where it should, and fails where it should not."""

import numpy as np
import pytest
from PIL import Image

from bsjax import NeuroidAssembly, data_registry, load_benchmark
from bsjax.compat.by_name.registries import load_benchmark as as_plugin
from bsjax.compat.by_name.test_helper import (
    NumberOfTrialsTests,
    PrecomputedTests,
    StandardizedTests,
    VisualDegreesTests,
)
from bsjax.data import read_assembly, write_netcdf
from bsjax.models import PrecomputedFeatures
from bsjax.submission.checks.record import record_features
from tests.support import served_data as served
from tests.support.experiment import experiment_of

pytestmark = pytest.mark.slow


NAME = "MajajHong2015public.IT-pls"
BENCHMARK = """
from pathlib import Path
from brainscore_vision import benchmark_registry
from brainscore_vision.benchmarks import BenchmarkBase
from brainscore_vision.metrics import Score
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet


class Shows(BenchmarkBase):
    def __init__(self, trials):
        super().__init__(identifier='Shows', version=1, ceiling_func=lambda: Score(0.8), parent='V1')
        self.trials = trials

    def __call__(self, candidate):
        assert candidate.visual_degrees() == 8
        candidate.start_recording('V1', time_bins=[(70, 170)])
        stimuli = StimulusSet({'stimulus_id': ['colour']}, identifier='one')
        stimuli.stimulus_paths = {'colour': Path(__file__).parent / 'colour.png'}
        candidate.look_at(stimuli, number_of_trials=self.trials)
        return Score(0.5)


benchmark_registry['Shows.Tiny-often'] = lambda: Shows(30)
benchmark_registry['Shows.Tiny-once'] = lambda: Shows(1)
"""


UNSPLIT = """
from brainscore_vision import benchmark_registry, load_dataset
from brainscore_vision.benchmarks import BenchmarkBase
from brainscore_vision.metrics import Score


class Unsplit(BenchmarkBase):
    def __init__(self):
        super().__init__(identifier='Unsplit.IT', version=1, ceiling_func=lambda: Score(0.8), parent='IT')
        self._assembly = load_dataset('MajajHong2015.public').squeeze('time_bin', drop=True)

    def __call__(self, candidate):
        seen = candidate.look_at(self._assembly.stimulus_set)
        score = Score(0.5)
        score.attrs['raw'] = Score(float(seen.mean()))
        score.raw.attrs['raw'] = Score(seen.mean('presentation'))
        return score


benchmark_registry['Unsplit.IT'] = Unsplit
"""


@pytest.fixture
def shows(write):
    folder = write("benchmarks", "shows", BENCHMARK)
    pixels = np.full((4, 5, 3), 10, np.uint8)
    pixels[0] = 128
    pixels[1, :, 0] = 128  # which is no grey
    Image.fromarray(pixels).save(folder / "colour.png")


@pytest.fixture
def here(serve):
    objects = ["dog", "car", "cup", "hat"] * 10
    made = experiment_of(30, object_name=objects)
    neuroids = {"region": ["IT"] * 30, "animal": ["Chabo"] * 30}
    serve("MajajHong2015.public", served.assembly_of(made.trials, made.stimuli, **neuroids), made.stimuli)
    return made


def test_ceilings(shows, here):
    expected = float(load_benchmark(NAME).ceiling)
    StandardizedTests().ceilings_test(NAME, expected)
    StandardizedTests().ceilings_test("Shows.Tiny-once", pytest.approx(0.8))
    with pytest.raises(AssertionError, match=f"the ceiling of '{NAME}' is .*, expected 0.1"):
        StandardizedTests().ceilings_test(NAME, 0.1)


def test_what_is_shown(shows):
    gray, trials = VisualDegreesTests().amount_gray_test, NumberOfTrialsTests().repetitions_test
    gray("Shows.Tiny-often", 8, "colour", pytest.approx(5 / 60))
    with pytest.raises(AssertionError, match="the share of gray in 'colour' is 0.08.*, expected 1"):
        gray("Shows.Tiny-often", 8, "colour", 1)
    trials("Shows.Tiny-often")
    with pytest.raises(AssertionError, match="shows its stimuli once"):
        trials("Shows.Tiny-once")


def test_the_recordings_themselves(here, write):
    write("benchmarks", "unsplit", UNSPLIT)
    # Of the responses averaged over trials, as Brain-Score's benchmarks hold them.
    coords = {"stimulus_id": ("presentation", here.stimuli["stimulus_id"].to_numpy())}
    coords["neuroid_id"] = ("neuroid", np.arange(30))
    features = NeuroidAssembly(here.means, coords=coords, dims=["presentation", "neuroid"])
    expected = float(load_benchmark(NAME)(PrecomputedFeatures(features, visual_degrees=8)).unceiled)
    StandardizedTests().self_regression_test(NAME, visual_degrees=8, expected=pytest.approx(expected, abs=1e-6))
    StandardizedTests().self_rdm_test(NAME, 8, pytest.approx(expected, abs=1e-6))
    # Its raw values are of neuroids, in no splits.
    with pytest.raises(AssertionError, match="raw values of 'Unsplit.IT' have .*'neuroid': 30.*, expected 10 splits"):
        StandardizedTests().self_rdm_test("Unsplit.IT", 8, pytest.approx(here.trials[0].mean()))


def test_features_in_a_file(here, tmp_path):
    order = np.random.default_rng(0).permutation(len(here.stimuli))
    paths = [str(here.stimuli.get_stimulus(each)) for each in here.stimuli["stimulus_id"]]
    path = tmp_path / "features.nc"
    features = NeuroidAssembly(
        here.features[order],
        coords={
            "stimulus_path": ("presentation", np.array(paths)[order]),
            "neuroid_id": ("neuroid", np.arange(here.features.shape[1])),
        },
        dims=["presentation", "neuroid"],
    )
    write_netcdf(features, path)
    expected = float(load_benchmark(NAME)(here.model("IT")).unceiled)
    PrecomputedTests().run_test(NAME, path, expected=pytest.approx(expected, abs=1e-6))
    with pytest.raises(AssertionError, match=f"the score of .*features.nc on '{NAME}' is .*, expected 2"):
        PrecomputedTests().run_test(NAME, path, expected=2)


def test_features_that_bsjax_wrote(here, tmp_path, monkeypatch):
    """By the ids of the stimuli, of a benchmark itself, from where they are registered, and fetched."""
    model = here.model("IT")
    expected = pytest.approx(float(load_benchmark(NAME)(model).unceiled))
    path, score = record_features(model, NAME, tmp_path)
    assert score == expected and path == tmp_path / f"{model.identifier}-{NAME}.nc"
    run_test = PrecomputedTests().run_test
    assert run_test(benchmark=as_plugin(NAME), precomputed_features_filepath=path) == expected
    data_registry["features-of-it"] = lambda: read_assembly(path, "NeuroidAssembly")
    assert run_test(NAME, "features-of-it") == expected
    del data_registry["features-of-it"]
    asked = []

    def fetch(local, bucket, remote):
        asked.append((bucket, remote))
        path.rename(local)

    monkeypatch.setattr("bsjax.compat.by_name.test_helper.download_file_if_not_exists", fetch)
    run_test(NAME, tmp_path / "alexnet.nc", expected=expected)
    assert asked == [("brainscore-unittests", "tests/test_benchmarks/alexnet.nc")]
