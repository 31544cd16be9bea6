"""average_repetition against a plain pandas groupby, by example and by hypothesis."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import bsjax.data.types.array_blocks
from bsjax.data import NeuroidAssembly, StimulusSet, average_repetition, write_netcdf
from tests.support.processes import printed_by


def build(values, ids, **coords) -> NeuroidAssembly:
    on_rows = {name: ("presentation", column) for name, column in {"stimulus_id": ids, **coords}.items()}
    neuroids = {"neuroid_id": ("neuroid", list(range(np.shape(values)[1])))}
    dims = ["presentation", "neuroid", "time_bin"][: np.ndim(values)]
    return NeuroidAssembly(values, coords={**on_rows, **neuroids}, dims=dims)


def grouped_by_pandas(assembly: NeuroidAssembly) -> pd.DataFrame:
    """Mean of each (stimulus, object) over its rows, sorted by both: what average_repetition must equal."""
    table = pd.DataFrame(assembly.values)
    keys = [assembly["stimulus_id"].values.astype(object), assembly["object_name"].values.astype(object)]
    return table.groupby(keys, sort=True).mean()


@st.composite
def recordings(draw) -> NeuroidAssembly:
    n = draw(st.integers(1, 25))
    ids = draw(st.lists(st.sampled_from(["b", "a", "ü", "10", "9"]), min_size=n, max_size=n))
    objects = draw(st.lists(st.integers(-2, 2), min_size=n, max_size=n))
    cell = st.one_of(st.just(np.nan), st.floats(-1e6, 1e6))
    values = draw(st.lists(st.lists(cell, min_size=2, max_size=2), min_size=n, max_size=n))
    return build(np.array(values), ids, object_name=objects, repetition=list(range(n)))


@given(recordings())
def test_equals_a_groupby(assembly):
    mean, expected = average_repetition(assembly), grouped_by_pandas(assembly)
    np.testing.assert_allclose(mean.values, expected.to_numpy(), rtol=1e-9, atol=1e-9)
    assert list(zip(mean["stimulus_id"].values, mean["object_name"].values, strict=True)) == list(expected.index)


def test_keeps_everything_but_the_repetition():
    stimuli = StimulusSet({"stimulus_id": ["a", "b"]})
    values = np.arange(12.0).reshape(4, 3)
    assembly = build(values, ["b", "a", "b", "a"], repetition=[0, 0, 1, 1]).assign_coords(scalar=3)
    assembly.attrs.update(stimulus_set=stimuli, identifier="recording")
    assembly.name = "counts"
    before = assembly.copy()
    mean = average_repetition(assembly)
    assert type(mean) is NeuroidAssembly and mean.name == "counts"
    assert mean.attrs["stimulus_set"] is stimuli and mean.attrs["identifier"] == "recording"
    assert set(mean.coords) == {"stimulus_id", "neuroid_id", "scalar"}
    assert mean.values.tolist() == [[6, 7, 8], [3, 4, 5]]
    assert assembly.identical(before)


def test_any_order_of_dimensions_and_a_time_bin():
    values = np.arange(24.0).reshape(4, 3, 2)
    assembly = build(values, ["b", "a", "b", "a"], repetition=[0, 0, 1, 1])
    mean = average_repetition(assembly)
    assert mean.dims == ("presentation", "neuroid", "time_bin")
    np.testing.assert_array_equal(mean.values, [values[[1, 3]].mean(axis=0), values[[0, 2]].mean(axis=0)])
    turned = average_repetition(assembly.transpose("time_bin", "neuroid", "presentation"))
    assert turned.dims == ("time_bin", "neuroid", "presentation")
    np.testing.assert_array_equal(turned.transpose(*mean.dims).values, mean.values)


def test_mixed_types_sort_as_strings_and_missing_ones_form_a_group_at_the_end():
    mixed = np.array([2, "10", 2, None, "a", None], dtype=object)
    values = np.arange(6.0)[:, np.newaxis]
    mean = average_repetition(build(values, mixed))
    assert mean["stimulus_id"].values.tolist() == ["10", 2, "a", None]
    assert mean.values.ravel().tolist() == [1, 1, 4, 4]
    numbers = average_repetition(build(values, [np.nan, 1.0, np.nan, 0.0, 1.0, 0.0]))
    np.testing.assert_array_equal(numbers["stimulus_id"].values, [0.0, 1.0, np.nan])
    assert numbers.values.ravel().tolist() == [4, 2.5, 1]


@pytest.mark.parametrize(("dtype", "expected"), [("float32", "float32"), ("int16", "float64"), (bool, "float64")])
def test_dtypes(dtype, expected):
    mean = average_repetition(build(np.array([[1], [0]], dtype=dtype), ["a", "a"], repetition=[0, 1]))
    assert mean.dtype == expected and mean.item() == 0.5


def test_sums_of_float32_do_not_lose_small_terms():
    values = np.full((20_000, 1), 0.1, dtype=np.float32)
    values[0] = 1e4
    mean = average_repetition(build(values, ["a"] * 20_000))
    np.testing.assert_allclose(mean.item(), values.mean(dtype=np.float64), rtol=1e-7)


TWO = build(np.zeros((2, 1)), ["a", "a"], repetition=[0, 1])


@pytest.mark.parametrize(
    ("assembly", "message"),
    [
        (TWO.rename(presentation="trial"), "a dimension 'presentation'"),
        (TWO.drop_vars("stimulus_id"), "such as 'stimulus_id'"),
        (TWO.assign_coords(snr=(("presentation", "neuroid"), [[1], [2]])), "snr vary over presentation"),
        (TWO.astype(str), "needs numbers, got values of"),
    ],
)
def test_what_cannot_be_averaged(assembly, message):
    with pytest.raises(ValueError, match=message):
        average_repetition(assembly)


@pytest.mark.slow
@given(recordings(), st.integers(1, 7), st.integers(1, 3))
def test_block_by_block_is_the_same(assembly, rows, columns):
    """Also where blocks are so small that sums have to be cut as well."""
    expected = average_repetition(assembly)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bsjax.data.types.array_blocks, "_HANDLED", 1)
        patch.setattr(bsjax.data.types.array_blocks, "_READ", 8 * rows)
        for turned in (assembly, assembly.transpose("neuroid", "presentation")):
            chunked = turned.chunk({"presentation": rows, "neuroid": columns})
            for given_ in (turned, chunked):
                mean = average_repetition(given_).transpose(*expected.dims)
                np.testing.assert_allclose(mean.values, expected.values, rtol=1e-9, atol=1e-9)
                assert mean.copy(data=expected.values).identical(expected)


MEMORY = """
import resource, sys
from bsjax.data import NeuroidAssembly, average_repetition, read_assembly
import dask.array, h5netcdf

before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assembly = read_assembly(sys.argv[1], NeuroidAssembly, chunks=eval(sys.argv[2]))
mean = average_repetition(assembly)
used = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
print(used / assembly.nbytes, mean.shape[0], float(mean.values[7, 3]))
"""


@pytest.mark.slow
def test_memory_of_opening_and_averaging(tmp_path):
    """In sizes of the array, of 320 MB."""
    path, n_stimuli, n_neuroids = tmp_path / "assy.nc", 3200, 2500
    dask = pytest.importorskip("dask.array")
    ids = np.random.default_rng(0).permutation(np.tile(np.arange(n_stimuli), 10))
    rows = dask.from_array(ids.astype(np.float32)[:, np.newaxis], chunks=(512, 1))
    coords = {"stimulus_id": ("presentation", ids), "repetition": ("presentation", np.arange(len(ids)))}
    values = dask.repeat(rows, n_neuroids, axis=1)
    write_netcdf(NeuroidAssembly(values, coords=coords, dims=["presentation", "neuroid"]), path, compress=False)
    for chunks, limit in (("{}", 1.0), ("None", 1.5)):
        ratio, rows, value = printed_by("-c", MEMORY, path, chunks).split()
        assert int(rows) == n_stimuli and float(value) == 7 and float(ratio) < limit


CUBE = xr.DataArray(
    np.arange(240.0).reshape(12, 4, 5),
    {"stimulus_id": [f"s{i}" for i in range(12)], "repetition": range(4), "neuroid_id": ("neuroid", list("abcde"))},
    ["stimulus_id", "repetition", "neuroid"],
)


def stacked(cube):
    return cube.stack(presentation=("stimulus_id", "repetition")).transpose("presentation", "neuroid")


@pytest.mark.parametrize(
    "trials", [NeuroidAssembly(stacked(CUBE)), stacked(NeuroidAssembly(CUBE)), stacked(CUBE)], ids=["of", "by", "plain"]
)
def test_stacked_trials_are_averaged(trials):
    mean = average_repetition(trials)
    assert type(mean) is type(trials) and mean["stimulus_id"].dims == ("presentation",)
    assert mean["stimulus_id"].values.tolist() == CUBE["stimulus_id"].values.tolist()
    np.testing.assert_allclose(mean.values, CUBE.mean("repetition").values)
    shown = trials.assign_coords(size=("presentation", np.repeat(np.arange(12) % 2, 4)))
    assert average_repetition(shown).shape == (12, 5)
