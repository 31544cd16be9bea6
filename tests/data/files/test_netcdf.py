"""netCDF files: what is written is read, every variant that others have written, the same bytes everywhere."""

import tempfile
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from bsjax.core.digests.files import note_of
from bsjax.data import (
    BehavioralAssembly,
    DataAssembly,
    MetadataAssembly,
    NeuroidAssembly,
    SpikeTimesAssembly,
    StimulusSet,
    average_repetition,
    read_assembly,
    write_netcdf,
)
from tests.support.processes import printed_by


def recording(**attrs) -> NeuroidAssembly:
    return NeuroidAssembly(
        np.arange(12.0).reshape(4, 3),
        coords={
            "stimulus_id": ("presentation", ["001", "b", "001", "b"]),
            "repetition": ("presentation", [0, 0, 1, 1]),
            "neuroid_id": ("neuroid", [10, 11, 12]),
        },
        dims=["presentation", "neuroid"],
        attrs=attrs,
    )


def round_trip(assembly, tmp_path, **options):
    write_netcdf(assembly, tmp_path / "assy.nc", **options)
    return read_assembly(tmp_path / "assy.nc", type(assembly))


def assert_same(read, written):
    """Equal values, coordinates and attributes, and the class; the name is that in the file."""
    assert type(read) is type(written)
    read = read.rename(written.name)
    xr.testing.assert_identical(xr.DataArray(read), xr.DataArray(written))


texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=6)
names = st.from_regex(r"[a-zé][a-z0-9_é]{0,6}[a-z0-9]", fullmatch=True)
# Text and numbers that a naive reader would take for something else are among them: "001", "", "NaN", "nan".
texts = st.one_of(texts, st.sampled_from(["001", "", "NaN", "nan", "None", "true", "1.0"]))
numbers = st.sampled_from(
    ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "bool"]
)
moments = st.datetimes(min_value=pd.Timestamp("1700-01-01"), max_value=pd.Timestamp("2250-01-01"))


@st.composite
def arrays(draw, shape):
    kind = draw(st.sampled_from(["number", "text", "fixed", "missing text", "time", "object"]))
    size = int(np.prod(shape))
    if kind == "number":
        return draw(npst.arrays(draw(numbers), shape))
    if kind == "time":
        cells = st.one_of(moments.map(lambda moment: np.datetime64(moment, "ns")), st.just(np.datetime64("NaT", "ns")))
        return np.array(draw(st.lists(cells, min_size=size, max_size=size)), "datetime64[ns]").reshape(shape)
    cells = {
        "text": texts,
        "fixed": texts.filter(lambda text: text == text.rstrip("\0")),
        "missing text": st.one_of(texts.filter(lambda text: text != "NaN"), st.just(np.nan)),
        "object": draw(st.sampled_from([st.integers(-(2**63), 2**63 - 1), st.booleans(), st.floats(width=64)])),
    }[kind]
    values = np.empty(size, object)
    values[:] = draw(st.lists(cells, min_size=size, max_size=size))
    return (values.astype(str) if kind == "fixed" and size else values).reshape(shape)


attributes = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=2)),
    max_leaves=5,
)
dicts = st.dictionaries(names.filter(lambda name: name not in ("units", "calendar", "dtype")), attributes, max_size=3)


@st.composite
def assemblies(draw):
    dims = draw(st.lists(st.sampled_from(["presentation", "neuroid", "time_bin", "event"]), unique=True, max_size=3))
    shape = tuple(draw(st.integers(1, 3)) for _ in dims)
    coords = {}
    for name in draw(st.lists(names.filter(lambda name: name not in dims), unique=True, max_size=4)):
        on = [position for position in range(len(dims)) if draw(st.booleans())]
        coords[name] = xr.Variable(
            [dims[position] for position in on], draw(arrays(tuple(shape[position] for position in on))), draw(dicts)
        )
    if dims and draw(st.booleans()):
        coords[dims[0]] = xr.Variable([dims[0]], np.arange(shape[0]))
    return draw(st.sampled_from([NeuroidAssembly, SpikeTimesAssembly]))(
        draw(arrays(shape)), coords=coords, dims=dims, attrs=draw(dicts)
    )


@pytest.mark.slow
@given(assemblies(), st.booleans())
def test_every_type_and_dtype_survives(assembly, compress):
    with tempfile.TemporaryDirectory() as folder:
        assert_same(round_trip(assembly, Path(folder), compress=compress), assembly)


def test_missing_texts_and_times_of_other_units(tmp_path):
    for texts in ([None, "a"], [np.nan, "", "NaN"], [None, None]):
        assembly = DataAssembly(np.zeros(len(texts)), {"c": ("x", np.array(texts, object))}, ["x"])
        read = round_trip(assembly, tmp_path)["c"].values.tolist()
        assert [None if pd.isna(text) else text for text in read] == [None if pd.isna(text) else text for text in texts]
    times = np.array(["2020-01-01", "NaT"], "datetime64[s]")
    read = round_trip(DataAssembly([1, 2], {"t": ("x", times)}, ["x"]), tmp_path)["t"]
    assert read.dtype == "datetime64[ns]"
    np.testing.assert_array_equal(read.values, times)


def test_attributes_that_netcdf_has_no_type_for(tmp_path):
    attrs = {"public": True, "nested": {"a": [1, [2.5, None]]}, "empty": [], "number": 3, "huge": 2**70, "null": "a\0b"}
    arrays = {"numbers": [1, 2], "square": np.eye(2), "mask": np.array([True, False]), "scalar": np.float32(0.5)}
    read = round_trip(recording(**attrs, **arrays), tmp_path).attrs
    for name, value in arrays.items():
        np.testing.assert_array_equal(read.pop(name), value)
    assert read == attrs and type(read["number"]) is int and type(read["public"]) is bool
    assert round_trip(recording(animal=np.array(["Fritz"])[0]), tmp_path).attrs == {"animal": "Fritz"}


def test_of_the_stimulus_set_the_identifier_is_kept(tmp_path):
    stimuli = StimulusSet({"stimulus_id": ["001", "b"]}, identifier="lab.Set2024")
    for named in ({}, {"stimulus_set_identifier": "another"}):
        read = round_trip(recording(stimulus_set=stimuli, **named), tmp_path)
        assert read.attrs == {"stimulus_set_identifier": "lab.Set2024", **named}


def test_metadata_of_spike_times_are_groups(tmp_path):
    shown = MetadataAssembly([1.0, 2.0], {"stimulus_id": ("event", ["a", "b"])}, ["event"], attrs={"unit": "ms"})
    coords, attrs = {"neuroid_id": ("event", ["n1", "n2", "n1"])}, {"shown": shown, "note": "kept"}
    spikes = SpikeTimesAssembly([67.7, 68.1, 68.9], coords, ["event"], attrs=attrs)
    read = round_trip(spikes, tmp_path)
    assert type(read.attrs["shown"]) is MetadataAssembly and read.attrs["note"] == "kept"
    read.attrs["shown"].name = read.name = None
    assert read.identical(spikes) and not read.identical(spikes.assign_attrs(shown=shown + 1))
    path = tmp_path / "assy.nc"
    assert read_assembly(path, DataAssembly).attrs == {"note": "kept"}
    assert read_assembly(path, MetadataAssembly, group="shown").attrs == {"unit": "ms"}
    write_netcdf(shown + 1, path, append=True, group="more")
    again = read_assembly(path, SpikeTimesAssembly)
    assert set(again.attrs) == {"note", "shown", "more"} and again.attrs["more"].values.tolist() == [2, 3]


def written_by_xarray(tmp_path, **options) -> Path:
    array = xr.DataArray([[1.5, np.nan]], dims=["presentation", "neuroid"], **options)
    array.to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    return tmp_path / "other.nc"


def test_names_that_older_writers_gave_to_coordinates(tmp_path):
    coords = {
        "presentation_": ("presentation", ["a"]),
        "neuroid_level_0": ("neuroid", [7, 8]),
        "x": ("neuroid", [1, 2]),
    }
    read = read_assembly(written_by_xarray(tmp_path, coords=coords), NeuroidAssembly)
    assert set(read.coords) == {"presentation", "neuroid", "x"}
    assert read["presentation"].values.tolist() == ["a"] and read["neuroid"].values.tolist() == [7, 8]
    assert read.values[0, 0] == 1.5 and np.isnan(read.values[0, 1])
    both = {"neuroid_": ("neuroid", [1, 2]), "neuroid": ("neuroid", [7, 8])}
    assert set(read_assembly(written_by_xarray(tmp_path, coords=both)).coords) == {"neuroid_", "neuroid"}


def test_image_ids_become_stimulus_ids(tmp_path):
    ids = {"image_id": ("presentation", ["a"])}
    read = read_assembly(written_by_xarray(tmp_path, coords=ids))
    assert read["stimulus_id"].values.tolist() == read["image_id"].values.tolist() == ["a"]
    both = read_assembly(written_by_xarray(tmp_path, coords={**ids, "stimulus_id": ("presentation", ["b"])}))
    assert both["stimulus_id"].values.tolist() == ["b"]
    elsewhere = read_assembly(written_by_xarray(tmp_path, coords={"image_id": ("neuroid", ["a", "b"])}))
    assert "stimulus_id" not in elsewhere.coords


def test_numbers_with_a_unit_of_time_stay_numbers(tmp_path):
    read = read_assembly(written_by_xarray(tmp_path, attrs={"units": "ms"}))
    assert read.dtype == np.float64 and read.attrs == {"units": "ms"}
    assert_same(round_trip(recording(units="ms"), tmp_path), recording(units="ms"))


def test_lazy_reading_is_the_same_in_blocks(tmp_path):
    assembly = recording(note="kept")
    write_netcdf(assembly, tmp_path / "assy.nc")
    for chunks in ("auto", {}, {"presentation": 3}, -1):
        lazy = read_assembly(tmp_path / "assy.nc", NeuroidAssembly, chunks=chunks)
        assert lazy.chunks is not None and type(lazy) is NeuroidAssembly
        assert all(coord.chunks is None for coord in lazy.coords.values())
        assert_same(lazy.compute(), assembly)
        assert average_repetition(lazy).identical(average_repetition(assembly).rename("data"))
        write_netcdf(lazy, tmp_path / "assy.nc")  # over the file that is being read
        lazy.close()
    choices = BehavioralAssembly(["dog", "car"], {"stimulus_id": ("presentation", [1, 2])}, ["presentation"])
    write_netcdf(choices, tmp_path / "choices.nc")
    with read_assembly(tmp_path / "choices.nc", BehavioralAssembly, chunks="auto") as lazy:
        assert lazy.values.tolist() == ["dog", "car"]


def test_lazy_reading_takes_whole_blocks_of_the_file(tmp_path):
    values = np.zeros((6000, 300))
    write_netcdf(DataAssembly(values, dims=["presentation", "neuroid"]), tmp_path / "assy.nc")
    with read_assembly(tmp_path / "assy.nc", chunks={}) as lazy:
        (rows, *_), columns = lazy.chunks
        assert columns == (300,) and rows * 300 * 8 <= 4 << 20 < (rows + 1) * 300 * 8
    with read_assembly(tmp_path / "assy.nc", chunks="auto") as lazy:
        assert all(length % rows == 0 for length in lazy.chunks[0][:-1])


def test_other_software_reads_the_files_and_their_checksums(tmp_path):
    write_netcdf(recording(visual_degrees=8), tmp_path / "assy.nc")
    with h5py.File(tmp_path / "assy.nc") as file:
        assert file["data"].fletcher32  # blocks carry checksums
    # In a process of its own: it brings another HDF5 along.
    script = (
        "import sys, netCDF4, json; file = netCDF4.Dataset(sys.argv[1]); data, ids = file['data'], file['stimulus_id'];"
        "print(json.dumps([data[:].tolist(), ids[:].tolist(), data.coordinates, int(data.visual_degrees)]))"
    )
    assert printed_by("-c", script, tmp_path / "assy.nc").strip() == (
        '[[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0, 8.0], [9.0, 10.0, 11.0]], ["001", "b", "001", "b"], '
        '"stimulus_id repetition neuroid_id", 8]'
    )


def test_everything_that_a_file_cannot_hold_is_in_one_message(tmp_path):
    bad = DataAssembly(
        np.zeros((2, 2), complex),
        coords={
            "object name": ("x", [1, 2]),
            "x_": ("x", [1, 2]),
            "mixed": ("x", np.array([1, "a"], object)),
            "bytes": ("x", np.array([b"a", b"b"])),
            "null": ("x", ["a\0b", "c"]),
            "fine": ("x", ["a", "b"]),
        },
        dims=["x", "y z"],
        attrs={"by_number": [{1: "a"}], "coordinates": 1, "function": len, "units": "days since 1900-01-01"},
    )
    with pytest.raises(ValueError) as error:
        write_netcdf(bad, tmp_path / "assy.nc")
    message = str(error.value)
    assert all(f"'{name}'" in message for name in {*bad.coords, *bad.attrs, "y z"} - {"fine"})
    assert "complex128" in message and "fine" not in message
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.array(["1600-01-01"], "datetime64[s]"), "times outside of the years 1678 to 2261"),
        (np.array([2**53 + 1, np.nan], object), "numbers too large"),
        (np.array([True, None], object), "values of type bool, 1 of them missing"),
        (np.array(["\ud800"], object), "which is not Unicode text"),
    ],
)
def test_values_that_a_file_cannot_hold(values, message, tmp_path):
    with pd.option_context("mode.string_storage", "python"):  # that of pyarrow holds no such text
        assembly = DataAssembly(values, dims=["x"])
    with pytest.raises(ValueError, match=message):
        write_netcdf(assembly, tmp_path / "assy.nc")


def test_what_cannot_be_written_or_read_where(tmp_path):
    path = tmp_path / "assy.nc"
    with pytest.raises(FileNotFoundError, match=r"append=True adds a group to a file, and there is none at .*assy.nc"):
        write_netcdf(recording(), path, append=True, group="more")
    write_netcdf(recording(), path)
    with pytest.raises(ValueError, match="say which, with group="):
        write_netcdf(recording(), path, append=True)
    for group, message in (("data", "has a group or variable 'data' already"), ("a/b", "group 'a/b': a name")):
        with pytest.raises(ValueError, match=message):
            write_netcdf(recording(), path, append=True, group=group)
    with pytest.raises(ValueError, match="dimension neuroid is empty"):
        write_netcdf(recording().isel(neuroid=[]), path)
    for options, message in (({"group": "more"}, "no group 'more'"), ({"chunks": {"time": 3}}, "no dimension 'time'")):
        with pytest.raises(ValueError, match=message):
            read_assembly(path, **options)
    assert_same(read_assembly(path, NeuroidAssembly), recording())  # nothing of it has touched the file
    assert sorted(file.name for file in tmp_path.iterdir()) == [".assy.nc.verified", "assy.nc"]


def changed_by_h5py(path: Path, change) -> None:
    with h5py.File(path, "r+") as file:
        change(file)


def without_names(file) -> None:
    for name in list(file):
        del file[name]
    file["data"] = [1, 2]


BROKEN = {
    "no assembly at .*assy.nc: no such file": lambda path: path.unlink(),
    "assy.nc is a folder": lambda path: (path.unlink(), path.mkdir()),
    "assy.nc is not a netCDF-4 file: it begins with b'<Error>A'": lambda path: path.write_bytes(b"<Error>AccessDenied"),
    "assy.nc is a netCDF file of version 3": lambda path: path.write_bytes(b"CDF\x01\0\0\0\0"),
    "assy.nc has to hold one data variable, but holds 2: a, b": lambda path: xr.Dataset(
        {"a": ("x", [1]), "b": ("x", [2])}
    ).to_netcdf(path, engine="h5netcdf"),
    "assy.nc is a file of HDF5, but not of netCDF-4": lambda path: changed_by_h5py(path, without_names),
    "assy.nc.*attribute 'x' is not the JSON": lambda path: changed_by_h5py(
        path, lambda file: file["data"].attrs.update({"bsjax_json": "x", "x": "{"})
    ),
}


@pytest.mark.parametrize("message", BROKEN)
def test_files_that_are_no_assembly(message, tmp_path):
    path = tmp_path / "assy.nc"
    write_netcdf(recording(), path)
    note_of(path).unlink()  # as of a file of others
    BROKEN[message](path)
    for cls, chunks in ((SpikeTimesAssembly, None), (NeuroidAssembly, {})):
        with pytest.raises((ValueError, FileNotFoundError), match=message):
            read_assembly(path, cls, chunks=chunks)


def test_what_bsjax_wrote_and_was_changed_is_refused(tmp_path):
    path = tmp_path / "assy.nc"
    write_netcdf(recording(note="text"), path)
    content = path.read_bytes()
    path.write_bytes(content.replace(b"text", b"tent"))
    for arguments in ({"chunks": {}}, {"group": "more"}, {"cls": SpikeTimesAssembly}):
        with pytest.raises(ValueError, match=r"assy.nc was changed after .*remove .*\.assy.nc.verified"):
            read_assembly(path, **arguments)
    with pytest.raises(ValueError, match="assy.nc was changed after"):
        write_netcdf(recording(), path, append=True, group="more")
    assert path.read_bytes() == content.replace(b"text", b"tent")


def test_characters_are_text_and_attributes_of_the_file_stay(tmp_path):
    ids = np.array([b"im01", b"im2 ", "é3".encode(), "é4".encode("latin-1")], "S4")
    given = xr.Dataset(
        {"rates": (("presentation", "neuroid"), np.ones((4, 2)), {"unit": "Hz"})},
        {"stimulus_id": ("presentation", ids)},
        {"identifier": "lab.Me2026", "unit": "of the file"},
    )
    given.to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    read = read_assembly(tmp_path / "a.nc", NeuroidAssembly)
    assert read["stimulus_id"].values.tolist() == ["im01", "im2", "é3", "é4"]
    assert read.attrs == {"identifier": "lab.Me2026", "unit": "Hz"}
    answers = xr.Dataset({"choice": ("presentation", np.array([b"dog", b"cat"]))})
    answers.to_netcdf(tmp_path / "b.nc", engine="h5netcdf")
    assert read_assembly(tmp_path / "b.nc").values.tolist() == ["dog", "cat"]
