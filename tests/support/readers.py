"""Readers of files that parse by themselves, on small files: what ``damage`` damages, and reads."""

import json
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.io
import xarray as xr
from PIL import Image

from bsjax.activations.inputs.video import load_video, video_duration
from bsjax.adapters.stored.model import from_stored
from bsjax.benchmarks.families.algonauts2019.reader import load_rdms as rdms_of_algonauts2019
from bsjax.benchmarks.families.cowley2026.reader import load_session
from bsjax.benchmarks.families.geirhos2021.reader import load_model, load_people
from bsjax.benchmarks.families.imagenet.image_folders import objectnet_images, validation_images
from bsjax.benchmarks.families.kriegeskorte2008.reader import load_rdms as rdms_of_kriegeskorte2008
from bsjax.data import MetadataAssembly, NeuroidAssembly, SpikeTimesAssembly, StimulusSet, read_assembly, write_netcdf
from bsjax.data.files.archives import extract_images, unzip
from bsjax.data.files.choice_tables import read_choices
from bsjax.data.files.images import image_size, load_image
from bsjax.data.files.media_types import media_problem
from bsjax.data.files.stimulus_files import read_stimulus_set
from bsjax.data.files.tables import read_table
from bsjax.data.publishing.drafts import package_drafts
from bsjax.data.publishing.packaging import package_stimulus_set_locally
from bsjax.models.region_layers import layers_by_region
from bsjax.models.tasks.imagenet import synsets
from tests.support.lab import film

SEED = 3


@dataclass(frozen=True)
class Reader:
    """A reader.

    Attributes:
        make: fills a folder with files.
        read: what it reads from the folder, anything that ``fingerprint`` knows; None where it is told that the files
            are of no use.
        ours: whether bsjax wrote the files, and must notice that they are others now.
        files: which of them are damaged.
        named: what else an error may name: the model, say, that is made of the files.
    """

    make: Callable[[Path], None]
    read: Callable[[Path], Any]
    ours: bool = False
    files: str = "*"
    named: tuple[str, ...] = ()


def recording() -> NeuroidAssembly:
    return NeuroidAssembly(
        np.random.default_rng(SEED).normal(size=(12, 8)),
        coords={
            "stimulus_id": ("presentation", [f"s{number:03d}" for number in range(12)]),
            "repetition": ("presentation", np.arange(12) % 3),
            "neuroid_id": ("neuroid", np.arange(8)),
            "region": ("neuroid", ["V4", "IT"] * 4),
        },
        dims=["presentation", "neuroid"],
        attrs={"identifier": "A", "public": True, "bins": [70, 170], "note": None},
    )


def spikes() -> SpikeTimesAssembly:
    shown = MetadataAssembly([1.0, 2.0], {"stimulus_id": ("event", ["a", "b"])}, ["event"])
    return SpikeTimesAssembly([67.7, 68.1], {"neuroid_id": ("event", ["n1", "n2"])}, ["event"], attrs={"shown": shown})


def by_others(folder: Path, **encoding: Any) -> None:
    array = xr.DataArray(recording().values, recording().coords, recording().dims, name="data", attrs={"note": "kept"})
    array = array.isel(presentation=slice(6)).assign_coords(stimulus_id=("presentation", list("abcdef")))
    array.to_netcdf(folder / "assy.nc", engine="h5netcdf", encoding={"data": encoding})


def image_files(folder: Path, *suffixes: str) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(SEED).integers(0, 256, (20, 24, 3)).astype(np.uint8)
    paths = []
    for number, suffix in enumerate(suffixes):
        paths.append(folder / f"image{number}.{suffix}")
        Image.fromarray(pixels ^ number).save(paths[-1])
    return paths


def stimulus_set(folder: Path) -> None:
    images = image_files(folder.parent / "images", "png", "png", "png")
    table = {"stimulus_id": ["001", "b", "7"], "size": [1.5, 2.0, 3.0], "object": ["dog", "car", "a, b"]}
    stimuli = StimulusSet(table, stimulus_paths=dict(zip(table["stimulus_id"], images, strict=True)))
    package_stimulus_set_locally(stimuli, "Doe2024", folder)


def read_stimuli(folder: Path) -> Any:
    return read_stimulus_set(folder / "stimulus_Doe2024.csv", unzip(folder / "stimulus_Doe2024.zip"))


def table(folder: Path) -> None:
    lines = ["stimulus_id,size,n,flag,text", '001,1.5,7,True,"a, ""b"""', "002,2.5e-3,8,False,é", "003,,9,True,na"]
    (folder / "table.csv").write_text("\n".join(lines) + "\n")


def zipped(folder: Path) -> None:
    with zipfile.ZipFile(folder / "images.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in image_files(folder.parent / "images", "png", "jpg", "png"):
            archive.write(path, f"inside/{path.name}")


def unzipped(folder: Path) -> Any:
    images = extract_images(folder / "images.zip", folder / "into")
    return [images, sorted(path for path in unzip(folder / "images.zip").rglob("*") if path.is_file())]


TRIALS = "subj,session,trial,rt,object_response,category,condition,imagename"


def trials(folder: Path) -> None:
    where = folder / "raw-data" / "rotation"
    where.mkdir(parents=True)
    for who in ("subject-01", "resnet50"):
        rows = [
            f"{who},1,{number},0.5,{answer},oven,{condition},0001_cl_s01_cr_oven_40_n04111531_{number}.png"
            for number, (answer, condition) in enumerate(zip(["oven", "na", "bear"] * 2, ["0", "90"] * 3, strict=True))
        ]
        (where / f"rotation_{who}_session_1.csv").write_text("\n".join([TRIALS, *rows]) + "\n")
    (folder / "mine.csv").write_text("stimulus_id,choice\na,dog\nb,car\n")


def read_trials(folder: Path) -> Any:
    people = load_people(folder, "rotation")
    return [people, load_model(folder, "rotation"), read_choices(folder / "mine.csv"), read_choices(folder)]


def rdms(folder: Path) -> None:
    values = np.random.default_rng(SEED).random((4, 5, 5))
    values = values + values.swapaxes(-1, -2)
    np.savez(folder / "92images_fmri_EVC_RDMs.npz", Net_RDM=values)
    entries = np.empty((1, 4), [("RDM", "O"), ("name", "O")])
    for number in range(4):
        entries[0, number] = (values[number], f"simJudge | subject{number}")
    for name, compressed in (("92_behavRDMs.mat", False), ("other.mat", True)):
        scipy.io.savemat(folder / name, {"rdms_behav_92": entries}, do_compression=compressed)


def session(folder: Path) -> None:
    np.save(folder / "responses_raw_210325.npy", np.random.default_rng(SEED).integers(0, 9, (3, 2, 4)).astype(float))
    with zipfile.ZipFile(folder / "images_210325.zip", "w") as archive:
        for path in image_files(folder.parent / "images", "jpg", "jpg"):
            archive.write(path, path.name)


def activations() -> dict[str, np.ndarray]:
    values = np.random.default_rng(SEED).normal(size=(6, 4)).astype(np.float32)
    return {"conv": values, "fc": np.asfortranarray(values[:, :2]), "stimulus_ids": np.array(list("abcdef"))}


def npy_folder(folder: Path) -> None:
    (folder / "net").mkdir()
    for name, values in activations().items():
        np.save(folder / "net" / f"{name}.npy", values)


def zarr_group(folder: Path) -> None:
    import zarr

    group = zarr.open_group(folder / "net.zarr", mode="w")
    group.attrs["stimulus_ids"] = list("abcdef")
    group.create_array("conv", data=activations()["conv"], chunks=(2, 4))


def stored(name: str) -> Callable[[Path], Any]:
    def read(folder: Path) -> Any:
        model = from_stored(folder / name)
        return [model.layers(), *(model(StimulusSet({"stimulus_id": ["a", "f"]}), layer) for layer in model.layers())]

    return read


def read_images(folder: Path) -> Any:
    paths = sorted(folder.iterdir())
    return [[image_size(path), load_image(path), media_problem(path) == ""] for path in paths]


def video(folder: Path) -> None:
    for name in ("film.mp4", "film.avi"):
        film(folder / name, range(10, 90, 10))


def read_videos(folder: Path) -> Any:
    return [
        [media_problem(path) == "", video_duration(path), load_video(path, 10, (0, 8))]
        for path in sorted(folder.iterdir())
    ]


def layer_map(folder: Path) -> None:
    (folder / "layers.json").write_text(json.dumps({"V1": "conv1", "IT": ["fc", "logits"], "_note": [1, None]}))


def read_layer_map(folder: Path) -> Any:
    return {str(region): names for region, names in layers_by_region(folder / "layers.json").items()}


def package(folder: Path) -> None:
    waived = ["coordinates", "region", "repetition", "class", "time"]
    package_drafts(None, recording(), "Doe2024", None, folder, allow=waived)


def imagenet(folder: Path) -> None:
    for kind in ("csv", "txt"):
        image_files(folder / kind, "png", "jpg", "png")
    lines = [
        f"{path.name},{synset}" for path, synset in zip(sorted((folder / "csv").iterdir()), synsets(), strict=False)
    ]
    (folder / "csv" / "table.csv").write_text("\n".join(["filename,synset", *lines]) + "\n")
    (folder / "txt" / "table.txt").write_text("\n".join(line.replace(",", " ") for line in lines) + "\n")


def read_imagenet(folder: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # "these are not all"
        return [pd.DataFrame(validation_images(folder / kind)) for kind in ("csv", "txt")]


def objectnet(folder: Path) -> None:
    for name in ("chair", "mug"):
        image_files(folder / "own" / name, "png")
        image_files(folder / "theirs" / "images" / name, "png")
    (folder / "own" / "mapping.json").write_text(json.dumps({"chair": synsets()[3], "mug": [synsets()[4]]}))
    mappings = folder / "theirs" / "mappings"
    mappings.mkdir()
    contents = {
        "folder_to_objectnet_label": {"chair": "Chair", "mug": "Mug"},
        "objectnet_to_imagenet_1k": {"Chair": "a chair", "Mug": "a mug"},
        "pytorch_to_imagenet_2012_id": {"3": 0, "4": 1},
    }
    for name, content in contents.items():
        (mappings / f"{name}.json").write_text(json.dumps(content))
    (mappings / "imagenet_to_label_2012_v2").write_text("a chair\na mug\n")


def read_objectnet(folder: Path) -> Any:
    return [pd.DataFrame(objectnet_images(folder / name)) for name in ("own", "theirs")]


def read_netcdf(cls: type = NeuroidAssembly) -> Callable[[Path], Any]:
    return lambda folder: read_assembly(folder / "assy.nc", cls)


def make_npz(save: Callable[..., None]) -> Callable[[Path], None]:
    return lambda folder: save(folder / "net.npz", **activations())


READERS: dict[str, Reader] = {
    "netcdf": Reader(lambda folder: write_netcdf(recording(), folder / "assy.nc"), read_netcdf(), True),
    "netcdf-groups": Reader(
        lambda folder: write_netcdf(spikes(), folder / "assy.nc"), read_netcdf(SpikeTimesAssembly), True
    ),
    "netcdf-of-others": Reader(lambda folder: by_others(folder, zlib=True), read_netcdf()),
    "stimulus-set": Reader(stimulus_set, read_stimuli, True, "stimulus_Doe2024.*"),
    "table": Reader(table, lambda folder: read_table(folder / "table.csv")),
    "zip": Reader(zipped, unzipped),
    "trials": Reader(trials, read_trials, files="*.csv"),
    "rdms-npz": Reader(rdms, lambda folder: rdms_of_algonauts2019(folder, "EVC"), files="*.npz"),
    "rdms-mat": Reader(rdms, lambda folder: rdms_of_kriegeskorte2008(folder, "behaviour"), files="92*.mat"),
    "session": Reader(session, load_session),
    "stored-npz": Reader(make_npz(np.savez), stored("net.npz"), named=("'net'",)),
    "stored-npy": Reader(npy_folder, stored("net"), named=("'net'",)),
    "stored-zarr": Reader(zarr_group, stored("net.zarr"), named=("'net'",)),
    "images": Reader(
        lambda folder: image_files(folder, "png", "jpg", "gif", "bmp", "webp", "tiff", "ppm") is None, read_images
    ),
    "videos": Reader(video, read_videos),
    "layer-map": Reader(layer_map, read_layer_map),
    "imagenet": Reader(imagenet, read_imagenet, files="table.*"),
    "objectnet": Reader(objectnet, read_objectnet, files="*[!g]"),
}
