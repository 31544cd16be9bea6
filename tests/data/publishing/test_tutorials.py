"""What the tutorials of Brain-Score do with stimulus sets and assemblies runs with the imports changed."""

from pathlib import Path

import numpy as np
import pytest

from bsjax.data import (
    BehavioralAssembly,
    NeuroidAssembly,
    PropertiesAssembly,
    StimulusSet,
    average_repetition,
    read_stimulus_set,
    write_netcdf,
    write_stimulus_csv,
    write_stimulus_zip,
)
from bsjax.data.files.archives import unzip


@pytest.fixture
def images(tmp_path) -> Path:
    for name in ("dog_1", "dog_2", "cat_1", "cat_2"):
        (tmp_path / f"{name}.png").write_bytes(name.encode())
    return tmp_path


def test_a_stimulus_set_from_files(images):
    stimuli = []
    image_paths = {}
    for filepath in sorted(images.glob("*.png")):
        image_id = filepath.stem
        object_name = filepath.stem.split("_")[0]
        image_paths[image_id] = filepath
        stimuli.append({"stimulus_id": image_id, "object_name": object_name})
    stimuli = StimulusSet(stimuli)
    stimuli.image_paths = image_paths
    stimuli.name = "AuthorYear"
    assert len(stimuli) == 4
    assert set(stimuli["object_name"]) == {"dog", "cat"}
    stimuli.validate()
    assert stimuli.identifier == "AuthorYear" and stimuli.get_stimulus("cat_1") == images / "cat_1.png"


def test_a_stimulus_set_from_rows_and_the_checklist_of_submissions(images):
    stimuli_data = [
        {"stimulus_id": "img_001", "category": "face", "condition": "A"},
        {"stimulus_id": "img_002", "category": "object", "condition": "B"},
    ]
    stimulus_set = StimulusSet(stimuli_data)
    stimulus_set.stimulus_paths = {"img_001": str(images / "dog_1.png"), "img_002": str(images / "cat_1.png")}
    stimulus_set.name = "MyExperiment2024"
    assembly = BehavioralAssembly(
        np.array([0.25, 0.75, 1.0]),
        coords={
            "stimulus_id": ("presentation", ["img_001", "img_002", "img_001"]),
            "subject_id": ("presentation", ["s1", "s1", "s2"]),
            "condition": ("presentation", ["A", "B", "A"]),
        },
        dims=["presentation"],
    )
    assert stimulus_set["stimulus_id"].nunique() == len(stimulus_set)
    assert all(Path(path).is_file() for path in stimulus_set.stimulus_paths.values())
    assert not np.isnan(assembly.values).any()
    assert set(assembly["stimulus_id"].values) == set(stimulus_set["stimulus_id"])
    stimulus_set.validate()
    assembly.validate()
    assert stimulus_set.get_stimulus("img_001").read_bytes() == b"dog_1"


def test_behavioural_choices():
    assembly = BehavioralAssembly(
        ["dog", "dog", "cat", "dog"],
        coords={
            "image_id": ("presentation", ["image1", "image2", "image3", "image4"]),
            "sample_object": ("presentation", ["dog", "cat", "cat", "dog"]),
            "distractor_object": ("presentation", ["cat", "dog", "dog", "cat"]),
            "choice": ("presentation", ["dog", "dog", "cat", "dog"]),
        },
        dims=["presentation"],
    )
    assembly.name = "authoryear"
    assert len(assembly["presentation"]) == len(assembly) == 4
    assert len(set(assembly["image_id"].values)) == 4
    assert len(set(assembly["choice"].values)) == len(set(assembly["sample_object"].values)) == 2
    np.testing.assert_array_equal(assembly.dims, ["presentation"])


def recording() -> NeuroidAssembly:
    return NeuroidAssembly(
        np.arange(24.0).reshape(4, 3, 2),
        coords={
            "stimulus_id": ("presentation", ["a", "b", "a", "b"]),
            "repetition": ("presentation", [0, 0, 1, 1]),
            "neuroid_id": ("neuroid", ["n1", "n2", "n3"]),
            "region": ("neuroid", ["V4", "IT", "IT"]),
            "time_bin_start": ("time_bin", [70, 170]),
            "time_bin_end": ("time_bin", [170, 270]),
        },
        dims=["presentation", "neuroid", "time_bin"],
    )


def test_regions_and_repetitions_of_a_recording():
    def load_assembly(region: str, average_repetitions: bool):
        assembly = recording()
        assembly = assembly.sel(neuroid=assembly["region"] == region)
        if average_repetitions:
            assembly = assembly.mean(dim="repetition")
        return assembly

    assembly = load_assembly(average_repetitions=True, region="IT")
    assembly_repetition = load_assembly(average_repetitions=False, region="IT")
    assert assembly.shape == (2, 2, 2) and assembly_repetition.shape == (4, 2, 2)
    assert assembly.identical(average_repetition(recording().sel(region="IT")))
    assert np.unique(assembly["region"])[0] == "IT"
    assert "time_bin" in assembly.dims and len(assembly["neuroid"]) == 2


def test_properties_from_the_coordinates_of_stimuli():
    responses = NeuroidAssembly(
        np.arange(8.0).reshape(4, 2),
        coords={
            "stimulus_id": ("presentation", ["a", "b", "c", "d"]),
            "type": ("presentation", ["texture", "noise", "texture", "noise"]),
            "family": ("presentation", [2, 2, 1, 1]),
            "neuroid_id": ("neuroid", [1, 2]),
        },
        dims=["presentation", "neuroid"],
    )
    responses = responses.sortby(["type", "family"])
    assert np.array(sorted(set(responses.type.values))).tolist() == ["noise", "texture"]
    assert responses["stimulus_id"].values.tolist() == ["d", "b", "c", "a"]
    noise, texture = (responses.sel(type=kind).mean("presentation").values for kind in ("noise", "texture"))
    modulation = PropertiesAssembly(
        ((texture - noise) / (texture + noise))[:, np.newaxis],
        coords={"neuroid_id": ("neuroid", [1, 2]), "neuroid_property": ("neuroid_property", ["texture_modulation"])},
        dims=["neuroid", "neuroid_property"],
    )
    modulation.validate()
    assert modulation.sel(neuroid_property="texture_modulation").shape == (2,)


def test_what_was_packaged_is_loaded_with_its_stimuli(images):
    stimuli = StimulusSet({"stimulus_id": ["a", "b"], "object_name": ["dog", "cat"]}, identifier="AuthorYear")
    stimuli.stimulus_paths = {"a": images / "dog_1.png", "b": images / "cat_1.png"}
    write_stimulus_csv(stimuli, images / "stimulus_AuthorYear.csv")
    write_stimulus_zip(stimuli, images / "stimulus_AuthorYear.zip")
    write_netcdf(recording(), images / "assy_AuthorYear.nc")

    stimulus_set = read_stimulus_set(images / "stimulus_AuthorYear.csv", unzip(images / "stimulus_AuthorYear.zip"))
    assembly = NeuroidAssembly.from_files(images / "assy_AuthorYear.nc", stimulus_set=stimulus_set)
    assert assembly.stimulus_set is not None
    assert len(assembly.stimulus_set) == len(set(assembly["stimulus_id"].values)) == 2
    assert set(assembly["object_name"].values) == {"dog", "cat"}
    dogs = assembly[{"presentation": assembly["object_name"] == "dog"}]
    assert dogs["stimulus_id"].values.tolist() == ["a", "a"] and type(dogs) is NeuroidAssembly
    assert assembly.sel(object_name="cat", region="V4").shape == (2, 1, 2)
