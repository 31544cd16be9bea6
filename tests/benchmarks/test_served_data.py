"""The stand-ins for published data: loaded over HTTP, whole, and gone afterwards."""

import numpy as np

from bsjax import load_dataset, load_stimulus_set
from bsjax.data import data_registry
from tests.support import served_data as served


def test_an_assembly_with_its_stimuli(serve, relay):
    values = np.random.default_rng(0).normal(size=(2, 3, 4))
    stimuli = served.stimuli_of(3, object_name=["dog", "car", "cup"])
    serve("MajajHong2015.public", served.assembly_of(values, stimuli, region=["V4", "V4", "IT", "IT"]), stimuli)
    loaded = load_dataset("MajajHong2015.public")
    np.testing.assert_array_equal(loaded.values[:, :, 0], values.reshape(6, 4))
    assert loaded["object_name"].values.tolist() == ["dog", "car", "cup"] * 2
    assert loaded.stimulus_set.identifier == "hvm-public"
    assert {asked.path.partition("?")[0] for asked in relay.asked} == {
        "/brainscore-storage/brainio-brainscore/assy_dicarlo_MajajHong2015_public.nc",
        "/brainscore-storage/brainio-brainscore/stimulus_hvm-public.csv",
        "/brainscore-storage/brainio-brainscore/stimulus_hvm-public.zip",
    }


def test_stimuli_behind_an_agreement_and_a_file_that_is_processed(serve):
    stimuli = served.stimuli_of(3)
    assembly = served.assembly_of(np.ones((1, 3, 2)), stimuli, region=["V1", "V1"])
    serve("Zerbe2026_fmri_persubject_full_sub-03", assembly, stimuli)
    loaded = load_dataset("Zerbe2026_fmri_persubject_full_sub-03")
    assert set(loaded["subject_id_pres"].values) == {"sub-03"}
    assert len(loaded.stimulus_set) == len(load_stimulus_set("Zerbe2026_fmri_stim_full")) == 3


def test_the_catalogue_is_as_it_was():
    assert data_registry.summary("MajajHong2015.public")
