"""Checks for the tests of plugins' benchmarks."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from bsjax.compat.assemblies import DataAssembly, NeuroidAssembly, PropertyAssembly
from bsjax.compat.benchmarks.base import BenchmarkForPlugins
from bsjax.compat.by_name.registries import data_registry, load_benchmark, load_dataset, load_stimulus_set
from bsjax.compat.data import download_file_if_not_exists
from bsjax.compat.models.precomputed import PrecomputedFeatures

_BUCKET, _FOLDER = "brainscore-unittests", "tests/test_benchmarks"
_GRAY = 128
_GRATINGS = ("Marques2020_blank", "Marques2020_receptive_field", "Marques2020_orientation")


class StandardizedTests:
    """Tests of ceilings, and of scores of the recordings themselves."""

    def ceilings_test(self, benchmark: str, expected: Any) -> None:
        """Check a benchmark's ceiling.

        Raises:
            AssertionError: it differs from the expected one.
        """
        _check(load_benchmark(benchmark).ceiling, expected, f"the ceiling of {benchmark!r}")

    def self_regression_test(self, benchmark: str, visual_degrees: float, expected: Any) -> None:
        """Check the raw score of the recordings themselves, and that it has ten cross-validation splits.

        Raises:
            AssertionError: it differs from the expected one, or the splits are missing.
        """
        sizes = self._splits_of_itself(benchmark, visual_degrees, expected)
        if "neuroid" not in sizes:
            raise AssertionError(f"raw values of {benchmark!r} have {dict(sizes)}, expected neuroids in 10 splits")

    def self_rdm_test(self, benchmark: str, visual_degrees: float, expected: Any) -> None:
        """Check the raw score of the recordings themselves, for a metric with ten splits.

        Raises:
            AssertionError: it differs from the expected one, or the splits are missing.
        """
        self._splits_of_itself(benchmark, visual_degrees, expected)

    def _splits_of_itself(self, identifier: str, visual_degrees: float, expected: Any) -> Mapping[Any, int]:
        """Check the raw score of the recordings; the sizes of its values in each split."""
        benchmark = load_benchmark(identifier)
        score = benchmark(PrecomputedFeatures(_recordings(benchmark), visual_degrees=visual_degrees)).raw
        _check(score, expected, f"the recordings' score on {identifier!r}")
        sizes = score.attrs["raw"].sizes
        if sizes.get("split") != 10:
            raise AssertionError(f"raw values of {identifier!r} have {dict(sizes)}, expected 10 splits")
        return sizes


class PrecomputedTests:
    """Tests of scores of stored features."""

    def run_test(self, benchmark: Any, precomputed_features_filepath: str | Path, expected: Any = None) -> Any:
        """The raw score of features, compared with the expected one if given.

        Args:
            benchmark: a benchmark or its identifier.
            precomputed_features_filepath: a file of features, downloaded from Brain-Score's storage for tests if
                missing; or their identifier in the data registry.
            expected: the expected score.

        Raises:
            AssertionError: the score differs from the expected one, or the features are of other stimuli.
        """
        loaded = load_benchmark(benchmark) if isinstance(benchmark, str) else benchmark
        where, path = str(precomputed_features_filepath), Path(precomputed_features_filepath)
        if where not in data_registry:
            download_file_if_not_exists(path, _BUCKET, f"{_FOLDER}/{path.name}")
        found = load_dataset(where) if where in data_registry else NeuroidAssembly.from_files(path)
        if "stimulus_path" in found.coords:  # the format of Brain-Score
            found = _of_stimuli(found, loaded._assembly.stimulus_set)
        made = loaded(PrecomputedFeatures(found, visual_degrees=10))
        score = made.attrs.get("raw", made)
        if expected is not None:
            _check(score, expected, f"the score of {where} on {loaded.identifier!r}")
        return score

    def run_test_properties(self, benchmark: str, files: Mapping[str, str], expected: Any) -> None:
        """Check the raw score of features of gratings, which are downloaded if missing.

        Raises:
            AssertionError: it differs from the expected one, or features are of other stimuli.
        """
        loaded = load_benchmark(benchmark)
        features = {}
        for name in dict.fromkeys([*_GRATINGS, loaded._assembly.stimulus_set.identifier]):
            path = Path(files[name])
            download_file_if_not_exists(path, _BUCKET, f"{_FOLDER}/{files[name]}")
            features[name] = _of_stimuli(PropertyAssembly.from_files(path), load_stimulus_set(name))
        score = loaded(PrecomputedFeatures(features, visual_degrees=8)).raw
        _check(score, expected, f"the score on {benchmark!r}")


class VisualDegreesTests:
    """Tests of the size of images on a model's screen."""

    def amount_gray_test(self, benchmark: str, candidate_degrees: float, image_id: str, expected: Any) -> None:
        """Check the number of gray pixels in an image, divided by its number of pixels times channels.

        Raises:
            AssertionError: it differs from the expected one, or no stimuli are shown.
        """
        pixels = np.array(Image.open(_shown(benchmark, candidate_degrees)[0].get_stimulus(image_id)))
        channels = pixels if pixels.ndim > 2 else pixels[..., None]  # grey images have no channel axis
        gray = int((channels == _GRAY).all(axis=-1).sum())
        _check(gray / pixels.size, expected, f"the share of gray in {image_id!r}")


class NumberOfTrialsTests:
    """Tests of the repetitions of stimuli."""

    def repetitions_test(self, benchmark_identifier: str) -> None:
        """Check that a benchmark shows its stimuli more than once.

        Raises:
            AssertionError: it does not.
        """
        if _shown(benchmark_identifier, 8)[1] <= 1:
            raise AssertionError(f"{benchmark_identifier!r} shows its stimuli once")


class _Shown(Exception):
    """Raised to end an experiment once stimuli are shown."""


class _Looking:
    """A model that only captures the stimuli it is shown."""

    identifier = "looking"

    def __init__(self, visual_degrees: float) -> None:
        self._visual_degrees = visual_degrees

    def visual_degrees(self) -> float:
        return self._visual_degrees

    def start_task(self, *args: Any, **kwargs: Any) -> None: ...

    def start_recording(self, *args: Any, **kwargs: Any) -> None: ...

    def look_at(self, stimuli: Any, number_of_trials: int = 1, **kwargs: Any) -> Any:
        raise _Shown(stimuli, number_of_trials)


def _shown(benchmark: str, visual_degrees: float) -> tuple[Any, int]:
    """The stimuli that a benchmark shows first, and the number of trials."""
    try:
        load_benchmark(benchmark)(_Looking(visual_degrees))
    except _Shown as shown:
        stimuli, trials = shown.args
        return stimuli, trials
    raise AssertionError(f"{benchmark!r} shows no stimuli")


def _recordings(benchmark: Any) -> Any:
    """The responses averaged over repetitions; a plugin's benchmark holds these, a bsjax benchmark holds trials."""
    own = isinstance(benchmark, BenchmarkForPlugins) and hasattr(benchmark, "target")
    return benchmark.target if own else benchmark._assembly


def _of_stimuli(features: Any, stimuli: Any) -> Any:
    """Features with file names in ``stimulus_path``, with the columns of the corresponding stimuli."""
    rows = {Path(stimuli.get_stimulus(name)).name: row for row, name in enumerate(stimuli["stimulus_id"])}
    names = [Path(str(path)).name for path in features["stimulus_path"].values]
    if set(names) != set(rows):
        raise AssertionError(f"features are of {len(set(names))} files, which are not those of the {len(rows)} stimuli")
    order = [rows[name] for name in names]
    return features.assign_coords(
        {column: ("presentation", stimuli[column].to_numpy()[order]) for column in stimuli.columns}
    )


def _check(found: Any, expected: Any, what: str) -> None:
    if not found == expected:
        number = found.item() if isinstance(found, DataAssembly) and not found.dims else found
        raise AssertionError(f"{what} is {number}, expected {expected}")
