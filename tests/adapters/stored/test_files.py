"""Stored activations in files."""

import pickle

import numpy as np
import pytest

from bsjax import NeuroidAssembly, StimulusSet
from bsjax.adapters import from_stored
from bsjax.adapters.stored import files
from bsjax.data import write_netcdf
from tests.support.memory_held import most_held

N = 400
IDS = [f"image{n}" for n in range(N)]


def arrays():
    rng = np.random.default_rng(0)
    return {"conv": rng.normal(size=(N, 4, 500)).astype(np.float32), "fc": np.asfortranarray(rng.normal(size=(N, 7)))}


def zarr_group(path, **layers):
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(path, mode="w")
    for name, array in layers.items():
        group.create_array(name, data=np.ascontiguousarray(array), chunks=(16, *array.shape[1:]))
    return group


def save(kind, path, **layers):
    """Activations with their ids, in one of the formats; the path."""
    ids = np.array(IDS)
    if kind in ("npz", "compressed npz"):
        path = path / "net.npz"
        (np.savez if kind == "npz" else np.savez_compressed)(path, **layers, stimulus_ids=ids)
    elif kind == "folder":
        path = path / "net"
        path.mkdir()
        for name, array in {**layers, "stimulus_ids": ids}.items():
            np.save(path / f"{name}.npy", array)
    elif kind == "zarr":
        path = path / "net.zarr"
        zarr_group(path, **layers).attrs["stimulus_ids"] = IDS
    else:
        path = path / "net.nc"
        values = np.concatenate([array.reshape(N, -1) for array in layers.values()], axis=1)
        layer = np.repeat(list(layers), [array[0].size for array in layers.values()])
        coords = {"stimulus_id": ("presentation", IDS), "layer": ("neuroid", layer)}
        write_netcdf(NeuroidAssembly(values, coords=coords, dims=["presentation", "neuroid"]), path)
    return path


def showing(numbers):
    return StimulusSet({"stimulus_id": [IDS[n] for n in numbers]}, identifier="shown")


@pytest.mark.parametrize("kind", ["npz", "compressed npz", "folder", "zarr", "nc"])
def test_rows_of_a_file_are_found_by_id_and_read_in_parts(kind, tmp_path, monkeypatch):
    layers = arrays()
    monkeypatch.setattr(files, "_READ", 20 * layers["conv"][0].nbytes)
    model = from_stored(save(kind, tmp_path, **layers))
    assert model.identifier == "net"
    assert model.layers() == ({"conv": (2000,), "fc": (7,)} if kind == "nc" else {"conv": (4, 500), "fc": (7,)})
    rows = [399, 3, 17, 3]
    activations = model(showing(rows), ["fc", "conv"])
    wanted = np.concatenate([layers["fc"], layers["conv"].reshape(N, -1)], axis=1)[rows].astype(np.float32)
    np.testing.assert_array_equal(activations.values, wanted)
    assert activations["neuroid_num"].values[[0, 6, 7, 2006]].tolist()[:2] == [0, 6]


@pytest.mark.parametrize("kind", ["npz", "compressed npz", "folder", "zarr"])
def test_a_few_rows_do_not_load_the_whole(kind, tmp_path):
    large = np.zeros((N, 100, 500), np.float32)  # 80 MB
    path = save(kind, tmp_path, large=large)
    assert most_held(lambda: from_stored(path)(showing([5, 390]), "large")) < large.nbytes / 5


def test_ids_may_be_given_and_layers_may_lie_deeper(tmp_path):
    path = tmp_path / "net.zarr"
    zarr_group(path, **{"blocks/0": np.eye(3)})
    with pytest.raises(ValueError, match=r"net.zarr need stimulus_ids=, .* array of the name 'stimulus_ids'"):
        from_stored(path)
    model = from_stored(str(path), "deep", stimulus_ids=IDS[:3])
    np.testing.assert_array_equal(model(showing([2]), "blocks/0").values, [[0, 0, 1]])
    np.savez(tmp_path / "net.npz", eye=np.eye(3), stimulus_ids=np.arange(3))
    assert from_stored(tmp_path / "net.npz", stimulus_ids=IDS[:3])(showing([1]), "eye").values.argmax() == 1


class Trap:
    def __reduce__(self):
        return pytest.fail, ("unpickled",)


@pytest.mark.parametrize("save_as", ["npz", "compressed npz", "folder"])
def test_pickles_are_refused(save_as, tmp_path):
    path = save(save_as, tmp_path, odd=np.array([Trap()] * N, dtype=object))
    with pytest.raises(ValueError, match="objects, which could run any"):
        from_stored(path)
    (tmp_path / "net.pkl").write_bytes(pickle.dumps([1]))
    with pytest.raises(ValueError, match=r"are .npz, .nc, a zarr group, or a folder of .npy files, got .*net.pkl"):
        from_stored(tmp_path / "net.pkl")
