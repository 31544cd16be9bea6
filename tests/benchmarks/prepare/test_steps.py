"""The steps from published data to what is compared, one by one, and the errors that name what is wrong."""

import numpy as np
import pytest

from bsjax import NeuroidAssembly
from bsjax.benchmarks import filter_reliable_neuroids, flatten_timebins_into_neuroids
from bsjax.benchmarks.kinds.published_recordings import concatenated, side_by_side
from bsjax.benchmarks.prepare.published_splits import in_split
from bsjax.benchmarks.prepare.steps import prepare
from tests.support import served_data as served


@pytest.fixture
def stimuli():
    return served.stimuli_of(4, style=["sketch", "sketch", "photo", "photo"])


@pytest.fixture
def assembly(stimuli):
    """Three neuroids in four bins of 10 ms, two trials of each of four images."""
    values = np.arange(2 * 4 * 3 * 4, dtype=float).reshape(2, 4, 3, 4)
    made = served.assembly_of(
        values, stimuli, [(t, t + 10) for t in range(0, 40, 10)], region=["V4", "IT", "IT"], reliability=[0.2, 0.3, 0.4]
    )
    made = made.assign_coords(style=("presentation", list(stimuli["style"]) * 2))
    return made.assign_attrs(stimulus_set=stimuli)


def test_steps_follow_one_another(assembly):
    prepared = prepare(assembly, [("select_region", "IT"), ("average_time", 0, 20)])
    np.testing.assert_array_equal(prepared.values, assembly.values[:, 1:, :2].mean(-1))
    assert (prepared["time_bin_start"].item(), prepared["time_bin_end"].item()) == (0, 20)


def test_counts_of_spikes_have_a_mean(assembly):
    counts = assembly.astype(int)
    np.testing.assert_allclose(prepare(counts, [("average_time", 0, 20)]).values, assembly.values[..., :2].mean(-1))


def test_neuroids_at_the_threshold_are_not_above_it(assembly):
    assert filter_reliable_neuroids(assembly, 0.3, "reliability")["reliability"].values.tolist() == [0.4]


def test_presentations_go_with_their_stimuli(assembly):
    kept = prepare(assembly, [("keep_presentations", "style", "photo")])
    assert kept["stimulus_id"].values.tolist() == ["image002", "image003"] * 2
    assert kept.stimulus_set["stimulus_id"].tolist() == ["image002", "image003"]
    assert len(assembly.stimulus_set) == 4  # what was given is as it was


@pytest.mark.parametrize(("how", "left"), [("any", 6), ("all", 7)])
def test_missing_values(assembly, how, left):
    assembly[0] = np.nan
    assembly[5, 0, 0] = np.nan
    assert prepare(assembly, [("drop_missing", how)]).sizes["presentation"] == left


def test_neuroids_in_time_are_neuroids(assembly):
    flat = flatten_timebins_into_neuroids(assembly)
    assert flat.dims == ("presentation", "neuroid", "time_bin") and flat.shape == (8, 12, 1)
    np.testing.assert_array_equal(flat.values[:, 4:8, 0], assembly.values[:, 1])
    assert flat["recording_site"].values.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert flat["reliability"].values[3:5].tolist() == [0.2, 0.3]
    assert len(set(flat["neuroid_id"].values)) == 12
    assert flat["time_bin_start"].values.tolist() == [0] and flat["time_bin_end"].values.tolist() == [40]


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (("select_regoin", "IT"), "unknown step 'select_regoin' of a preparation; there are: select_region, "),
        (("select_region", "V1"), "no neuroids in V1: the data are of IT, V4"),
        (("select_time_bin", 70, 170), "no time bin 70 to 170; there are 4 time bins \\(0 to 10, 10 to 20"),
        (("average_time", 30, 80), "30 to 80 ms is not covered"),
        (("keep_presentations", "style", "cartoon"), "none of 8 presentations is with style among cartoon"),
    ],
)
def test_what_cannot_be_done_is_said(assembly, step, message):
    with pytest.raises(ValueError, match=message):
        prepare(assembly, [step])


def test_a_split_of_other_words(assembly):
    coded = assembly.assign_coords(split_tau=("presentation", [0, 1] * 4))
    with pytest.raises(ValueError, match="split_tau must hold 'train' and 'test', it holds 2 value"):
        in_split(coded, "tau", "train", "shared")


def test_training_and_test_stimuli_in_one(assembly, stimuli):
    first, second = (assembly.isel(presentation=assembly["style"].values == style) for style in ("sketch", "photo"))
    first.attrs["stimulus_set"], second.attrs["stimulus_set"] = stimuli[:2], stimuli[2:]
    joined = concatenated(first.drop_vars("style"), second)
    assert joined["stimulus_id"].values.tolist() == stimuli["stimulus_id"].tolist() and "style" not in joined.coords
    assert joined.stimulus_set["stimulus_id"].tolist() == stimuli["stimulus_id"].tolist()
    np.testing.assert_array_equal(joined.values, (assembly.values[:4] + assembly.values[4:]) / 2)
    with pytest.raises(ValueError, match=r"the neuroids differ: 3 neuroid_id \(0, 1, 2\) and 2 neuroid_id \(0, 1\)"):
        concatenated(first, second.isel(neuroid=[0, 1]))


def test_subjects_side_by_side(assembly):
    here = assembly.isel(time_bin=0)
    both = side_by_side({"s1": here, "s2": here.isel(presentation=slice(None, None, -1))})
    assert both["subject"].values.tolist() == ["s1"] * 3 + ["s2"] * 3
    np.testing.assert_array_equal(both.values[:, :3], both.values[:, 3:])
    with pytest.raises(ValueError, match=r"s1 and s2 saw different stimuli: 1 stimulus_id \(image003\)"):
        side_by_side({"s1": here, "s2": here.isel(presentation=here["stimulus_id"].values != "image003")})


def test_steps_keep_the_class(assembly):
    prepared = prepare(assembly, [("first_time_bin",), ("select_region", "IT"), ("assign_region", "V4")])
    assert isinstance(prepared, NeuroidAssembly) and set(prepared["region"].values) == {"V4"}
