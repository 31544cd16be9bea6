"""Writes and describes files with the released brainscore-core: runs in its environment, without bsjax.

    python reference_files.py write FOLDER   writes FOLDER/reference_*.nc, .csv and .zip
    python reference_files.py read FOLDER    prints, as JSON, what it reads in FOLDER/bsjax_*.nc and .csv

Descriptions are made here for both sides, so that they are compared in the same words. ``assemblies`` makes the same
arrays with the classes of either.
"""

import json
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd

TIMES = np.array(["2020-01-02", "2021-03-04T05:06:07"], dtype="datetime64[ns]")


def assemblies(module):
    """Name -> assembly: each class, each dtype, coordinates of each kind."""
    rows = {
        "stimulus_id": ("presentation", ["001", "b é", "001"]),
        "repetition": ("presentation", [0, 0, 1]),
        "correct": ("presentation", [True, False, True]),
        "size": ("presentation", [1.5, np.nan, 2.0]),
    }
    columns = {"neuroid_id": ("neuroid", [7, 8]), "region": ("neuroid", ["V4", "IT"])}
    recording = np.arange(6).reshape(3, 2)
    wide = {"snr": (("presentation", "neuroid"), recording / 4.0), "animal": "Chabo"}
    spikes = module.SpikeTimesAssembly(
        np.array([67.75, 68.5]),
        coords={"neuroid_id": ("event", ["A-019", "D-009"]), "datetime": ("event", TIMES)},
        dims=["event"],
    )
    return {
        "neuroid": module.NeuroidAssembly(
            recording.astype("float32"),
            coords={**rows, **columns, **wide},
            dims=["presentation", "neuroid"],
            attrs={"stimulus_set_identifier": "lab.Set2024", "visual_degrees": 8, "thresholds": [0.5, 0.75]},
        ),
        "neuroid_time": module.NeuronRecordingAssembly(
            recording.astype("float64")[:, :, np.newaxis],
            coords={**rows, **columns, "time_bin_start": ("time_bin", [70]), "time_bin_end": ("time_bin", [170])},
            dims=["presentation", "neuroid", "time_bin"],
        ),
        "features": module.ModelFeaturesAssembly(
            recording.astype("int16"), coords={**rows, **columns}, dims=["presentation", "neuroid"]
        ),
        "choices": module.BehavioralAssembly(
            ["dog", "", "car"], coords={**rows, "truth": ("presentation", ["dog", "cat", "car"])}, dims=["presentation"]
        ),
        "truths": module.BehavioralAssembly([True, False, True], coords=rows, dims=["presentation"]),
        "properties": module.PropertyAssembly(
            np.array([[0.5], [np.nan]]),
            coords={**columns, "neuroid_property": ("neuroid_property", ["osi"])},
            dims=["neuroid", "neuroid_property"],
        ),
        "alone": module.DataAssembly(
            recording.astype("uint8"),
            coords={"stimulus_id": rows["stimulus_id"], **columns},
            dims=["presentation", "neuroid"],
        ),
        "spikes": spikes,
    }


def metadata(module):
    """What a file of spike times holds beside them."""
    shown = {"stimulus_id": ("event", ["n0", "n1"]), "stim_on_time_ms": ("event", [100, 200])}
    return module.MetadataAssembly(np.array([18.5, 36.25]), coords=shown, dims=["event"])


def stimuli(cls, folder):
    """A stimulus set, with a file for each stimulus in ``folder``."""
    rows = [
        {"stimulus_id": "im_b", "object_name": 'a "dog", brown', "size": 1.5, "n": 1},
        {"stimulus_id": "im_a", "object_name": "ear é", "size": np.nan, "n": 2},
    ]
    paths = {}
    for number, row in enumerate(rows):
        paths[row["stimulus_id"]] = Path(folder) / f"file{number}.png"
        paths[row["stimulus_id"]].write_bytes(b"image %d" % number)
    stimulus_set = cls(rows)
    stimulus_set.stimulus_paths = paths
    stimulus_set.identifier = "lab.Set2024"
    return stimulus_set


def described(assembly):
    """Class, values, coordinates and attributes of an assembly, in JSON's terms; a MultiIndex by its levels."""
    coords = {}
    for name, coord in assembly.coords.items():
        index = assembly.indexes.get(name)
        if isinstance(index, pd.MultiIndex):
            for level in index.names:
                coords[level] = [list(coord.dims), plain(index.get_level_values(level).values)]
        elif not (coord.dims and isinstance(assembly.indexes.get(coord.dims[0]), pd.MultiIndex) and coord.ndim == 1):
            coords[name] = [list(coord.dims), plain(coord.values)]
    values = assembly.values
    attrs = {name: plain(value) for name, value in assembly.attrs.items() if not hasattr(value, "coords")}
    groups = {name: described(value) for name, value in assembly.attrs.items() if hasattr(value, "coords")}
    return {
        "class": type(assembly).__name__,
        "dims": list(assembly.dims),
        "dtype": "text" if values.dtype.kind in "OUT" else str(values.dtype),
        "values": plain(values),
        "coords": coords,
        # The reference notes None where a file names no stimulus set.
        "attrs": {name: value for name, value in attrs.items() if value is not None},
        "groups": groups,
    }


def described_set(stimulus_set):
    """Columns, by name, and the content of each file."""
    columns = {name: plain(stimulus_set[name].values) for name in sorted(stimulus_set.columns)}
    files = {str(key): Path(path).read_bytes().decode() for key, path in stimulus_set.stimulus_paths.items()}
    return {"columns": columns, "files": files}


def plain(value):
    """Lists, numbers and text; NaN as "NaN", and times as text."""
    if isinstance(value, np.ndarray) or hasattr(value, "to_numpy"):
        value = np.asarray(value)
        if value.dtype.kind == "M":
            value = value.astype("datetime64[ns]").astype(str)
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, np.generic):
        value = value.item()
    return "NaN" if isinstance(value, float) and np.isnan(value) else value


def main(task, folder):
    import brainscore_core.supported_data_standards.brainio.assemblies as module
    from brainscore_core.supported_data_standards.brainio import packaging
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

    folder = Path(folder)
    if task == "write":
        for name, assembly in assemblies(module).items():
            packaging.write_netcdf(assembly, folder / f"reference_{name}.nc", compress=name != "choices")
        packaging.write_netcdf(metadata(module), folder / "reference_spikes.nc", append=True, group="shown")
        packaging.write_netcdf(assemblies(module)["features"], folder / "reference_uncompressed.nc", compress=False)
        stimulus_set = stimuli(StimulusSet, folder)
        _, names = packaging.create_stimulus_zip(stimulus_set, str(folder / "reference_set.zip"))
        stimulus_set["filename"] = names
        packaging.create_stimulus_csv(stimulus_set, str(folder / "reference_set.csv"))
        packaging.create_stimulus_csv(
            StimulusSet({"stimulus_id": [3, 4], "filename": ["im_b.png", "im_a.png"]}),
            str(folder / "reference_integers.csv"),
        )
        return
    read = {}
    for path in sorted(folder.glob("bsjax_*.nc")):
        name = path.stem.replace("bsjax_", "")
        cls = type(assemblies(module)[name])
        read[name] = described(cls.from_files(path))
    with zipfile.ZipFile(folder / "bsjax_set.zip") as archive:
        archive.extractall(folder / "set")
    read["set"] = described_set(StimulusSet.from_files(str(folder / "bsjax_set.csv"), folder / "set"))
    print("\n" + json.dumps(read))


if __name__ == "__main__":
    main(*sys.argv[1:])
