"""Groups by several coordinates: against pandas, and against the rules of Brain-Score."""

import numpy as np
import pandas as pd
import pytest

from bsjax.data import BehavioralAssembly, DataAssembly, NeuroidAssembly
from tests.support import single_trials


@pytest.fixture
def trials():
    made = single_trials.trials(n=6, r=4, u=3)
    return made.assign_coords(object_name=("presentation", np.repeat(["o0", "o1"] * 3, 4)))


def test_the_mean_of_groups_is_that_of_pandas(trials):
    mean = trials.multi_groupby(["object_name", "stimulus_id"]).mean(dim="presentation")
    table = pd.DataFrame(trials.values)
    table[["object_name", "stimulus_id"]] = np.stack([trials[n].values for n in ("object_name", "stimulus_id")], axis=1)
    expected = table.groupby(["object_name", "stimulus_id"]).mean()
    assert type(mean) is NeuroidAssembly and mean.dims == ("presentation", "neuroid")
    np.testing.assert_allclose(mean.values, expected.to_numpy())
    assert list(zip(mean["object_name"].values, mean["stimulus_id"].values, strict=True)) == list(expected.index)
    assert mean["neuroid_id"].values.tolist() == ["n0", "n1", "n2"] and "repetition" not in mean.coords


def test_values_that_are_missing_are_left_out_and_coordinates_that_are_missing_are_a_group(trials):
    trials[0, 0] = np.nan
    by_id = trials.multi_groupby(["object_name", "stimulus_id"]).mean(dim="presentation")
    expected = np.nanmean(trials.values[trials["stimulus_id"].values == "s000", 0])
    np.testing.assert_allclose(by_id.sel(stimulus_id="s000").values[0, 0], expected)
    sizes = np.where(np.arange(24) < 12, 1.0, np.nan)
    with_nan = trials.assign_coords(size=("presentation", sizes)).multi_groupby(["object_name", "size"])
    assert len(with_nan) == 4


def test_what_cannot_be_grouped(trials):
    with pytest.raises(ValueError, match="must lie on the same single dimension"):
        trials.multi_groupby(["stimulus_id", "neuroid_id"])
    with pytest.raises(ValueError, match="no coordinate 'size'; there are: stimulus_id, "):
        trials.multi_groupby(["stimulus_id", "size"])


@pytest.fixture
def shares():
    return BehavioralAssembly(
        [[0.7, 0.2, 0.1], [0.3, 0.3, 0.4], [0.5, 0.25, 0.25]],
        dims=["presentation", "choice"],
        coords={
            "stimulus_id": ("presentation", ["s1", "s2", "s3"]),
            "truth": ("presentation", ["dog", "car", "dog"]),
            "choice": ["dog", "car", "cat"],
        },
    )


def test_a_function_of_single_cells_gets_numbers(shares):
    def d(p, stimulus_id, truth, choice):
        assert isinstance(p, float) and isinstance(stimulus_id, str)
        return np.nan if truth == choice else p / (p + shares.sel(stimulus_id=stimulus_id, choice=truth).values.item())

    result = shares.multi_dim_apply(["stimulus_id", "choice"], d)
    assert type(result) is BehavioralAssembly and result.dims == shares.dims
    np.testing.assert_allclose(
        result.values, [[np.nan, 0.2 / 0.9, 0.1 / 0.8], [0.5, np.nan, 0.4 / 0.7], [np.nan, 1 / 3, 1 / 3]]
    )
    assert result["truth"].values.tolist() == ["dog", "car", "dog"]


def test_a_function_of_larger_cells_gets_arrays(shares):
    centred = shares.multi_dim_apply(["truth", "choice"], lambda group, **_: group - np.nanmean(group))
    np.testing.assert_allclose(centred.values[:, 0], [0.1, 0, -0.1])
    np.testing.assert_allclose(centred.values[1], 0)
    seen = []
    shares.multi_dim_apply(["choice", "truth"], lambda group, **coords: seen.append((np.shape(group), coords)) or group)
    assert ((2, 1), {"stimulus_id": ["s1", "s3"], "truth": "dog", "choice": "dog"}) in [
        (shape, {name: value if isinstance(value, str) else value.tolist() for name, value in coords.items()})
        for shape, coords in seen
    ]


@pytest.mark.parametrize("missing", [None, float("nan")])
@pytest.mark.parametrize("names", [["kind"], ["kind", "size"]])
def test_what_has_no_name_is_a_group_of_its_own(missing, names):
    coords = {"kind": np.array(["b", missing, "a", missing], object), "size": [1, 1, 1, 1]}
    trials = DataAssembly(
        [1.0, 2.0, 3.0, 4.0], {name: ("presentation", values) for name, values in coords.items()}, ["presentation"]
    )
    groups = trials.multi_groupby(names)
    mean = groups.mean()
    assert mean.values.tolist() == [3.0, 1.0, 3.0]
    assert mean["kind"].values[:2].tolist() == ["a", "b"] and pd.isna(mean["kind"].values[2])
    assert mean["kind"].dims == (("kind",) if names == ["kind"] else ("presentation",))
    keys = [key if names == ["kind"] else key[0] for key, _ in groups]
    assert keys[:2] == ["a", "b"] and pd.isna(keys[2]) and len(groups.groups) == 3
    assert [part.values.tolist() for _, part in groups] == [[3.0], [1.0], [2.0, 4.0]]
