"""Stimulus sets, assemblies and weights from an S3 server, as packaged by bsjax, through the names of Brain-Score."""

import hashlib
import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bsjax.data.files.netcdf import write_netcdf
from bsjax.data.remote.bucket_files import load_file, load_file_from_s3, load_folder_from_s3, load_weight_file
from bsjax.data.remote.s3 import get_path, load_assembly_from_s3, load_stimulus_set_from_s3
from bsjax.data.remote.storage import store_name
from bsjax.data.types.assemblies import NeuroidAssembly
from bsjax.data.types.stimuli import StimulusSet

IDS = ["im0", "im1", "im2"]


def sha1_of(content: bytes) -> str:
    return hashlib.sha1(content).hexdigest()


def csv_file() -> bytes:
    rows = [f"{name}.png,{name},{size}" for size, name in enumerate(IDS)]
    return "\n".join(["filename,stimulus_id,size", *rows, ""]).encode()


def zip_file(ids: list[str] = IDS) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for index, name in enumerate(ids):
            image = io.BytesIO()
            Image.new("RGB", (8, 8), (index, 0, 0)).save(image, "png")
            file.writestr(f"{name}.png", image.getvalue())
    return packed.getvalue()


class Store:
    """A bucket of which the folder "lab/data" holds a stimulus set and an assembly, and how to load them."""

    def __init__(self, s3, bucket: str, tmp_path: Path) -> None:
        self.bucket = f"{bucket}/lab/data"
        self.csv, self.zip = csv_file(), zip_file()
        assembly = NeuroidAssembly(
            np.arange(12.0).reshape(6, 2),
            dims=["presentation", "neuroid"],
            coords={
                "stimulus_id": ("presentation", [*IDS, *IDS]),
                "size": ("presentation", [10, 11, 12, 10, 11, 12]),
                "neuroid_id": ("neuroid", ["n0", "n1"]),
                "region": ("neuroid", ["V4", "IT"]),
            },
            attrs={"source": "a lab", "stimulus_set_identifier": "as written"},
        )
        write_netcdf(assembly, tmp_path / "a.nc")
        self.nc = (tmp_path / "a.nc").read_bytes()

        def put(name: str, content: bytes) -> str | None:
            return s3.put_object(Bucket=bucket, Key=f"lab/data/{name}", Body=content).get("VersionId")

        self.csv_version = put("stimulus_lab_Set.csv", self.csv)
        self.zip_version = put("stimulus_lab_Set.zip", self.zip)
        self.nc_version = put("assy_lab_Recording.nc", self.nc)

    def stimuli(self, **changes) -> StimulusSet:
        arguments = {
            "identifier": "lab.Set",
            "bucket": self.bucket,
            "csv_sha1": sha1_of(self.csv),
            "zip_sha1": sha1_of(self.zip),
            "csv_version_id": self.csv_version or "null",
            "zip_version_id": self.zip_version or "null",
        }
        return load_stimulus_set_from_s3(**arguments | changes)

    def assembly(self, **changes):
        arguments = {
            "identifier": "lab.Recording",
            "version_id": self.nc_version or "null",
            "sha1": sha1_of(self.nc),
            "bucket": self.bucket,
            "cls": NeuroidAssembly,
        }
        return load_assembly_from_s3(**arguments | changes)


@pytest.fixture(params=["unversioned", "versioned"])
def store(request, s3, relay, bucket, tmp_path) -> Store:
    if request.param == "versioned":
        s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    return Store(s3, bucket, tmp_path)


def test_names_in_the_store():
    assert store_name("a.B2020.c-d e", "csv") == "stimulus_a_B2020_c-d e.csv"
    assert store_name("a.b", "zip", filename_prefix="image_") == "image_a_b.zip"
    assert store_name("a.b", "nc", filename_prefix="") == "a_b.nc"
    with pytest.raises(ValueError, match="unknown file type 'png': expected one of csv, zip, nc"):
        store_name("a", "png")


def test_a_stimulus_set(store, relay, brainio_home):
    stimuli = store.stimuli()
    assert type(stimuli) is StimulusSet and stimuli.identifier == "lab.Set"
    assert stimuli["stimulus_id"].tolist() == IDS and stimuli["size"].tolist() == [0, 1, 2]
    folder = brainio_home / sha1_of(store.zip) / "stimulus_lab_Set"
    assert stimuli.stimulus_paths == {name: folder / f"{name}.png" for name in IDS}
    with Image.open(stimuli.get_stimulus("im2")) as image:
        assert image.getpixel((0, 0)) == (2, 0, 0)
    stimuli.validate()
    relay.asked.clear()
    assert store.stimuli().equals(stimuli) and relay.asked == []


@pytest.mark.parametrize("merge", [True, False])
def test_an_assembly_with_its_stimulus_set(merge, store):
    assembly = store.assembly(stimulus_set_loader=store.stimuli, merge_stimulus_set_meta=merge)
    assert assembly.attrs["identifier"] == "lab.Recording" and assembly.attrs["stimulus_set_identifier"] == "lab.Set"
    assert assembly.attrs["stimulus_set"].equals(store.stimuli())
    assert assembly["size"].values.tolist() == [10, 11, 12, 10, 11, 12]  # the recording's own win
    assert ("filename" in assembly.coords) == merge
    if merge:
        assert assembly["filename"].values.tolist() == [f"{name}.png" for name in [*IDS, *IDS]]


def test_a_table_that_does_not_fit_its_archive_is_an_error(s3, store, bucket):
    incomplete = zip_file(["im0", "im1"])
    version = s3.put_object(Bucket=bucket, Key="lab/data/stimulus_lab_Set.zip", Body=incomplete).get("VersionId")
    with pytest.raises((ValueError, FileNotFoundError), match="im2"):
        store.stimuli(zip_sha1=sha1_of(incomplete), zip_version_id=version)


def test_another_digest_is_checked_as_well(store):
    sha256 = hashlib.sha256(store.nc).hexdigest()
    assert store.assembly(sha256=sha256).shape == (6, 2)
    with pytest.warns(UserWarning, match="removed"), pytest.raises(ValueError, match="expected sha256 0000"):
        store.assembly(sha256="0" * 64)
    assert len(store.stimuli(csv_sha256=hashlib.sha256(store.csv).hexdigest())) == 3
    with pytest.warns(UserWarning, match="removed"), pytest.raises(ValueError, match="expected sha256 0000"):
        store.stimuli(zip_sha256="0" * 64)


def test_the_path_of_one_file(store, bucket, brainio_home):
    sha1 = sha1_of(store.csv)
    path = get_path("lab.Set", "csv", bucket, store.csv_version, sha1, folder_name="lab/data")
    assert path == brainio_home / sha1 / "stimulus_lab_Set.csv" and path.read_bytes() == store.csv
    sha1 = sha1_of(store.nc)
    path = get_path("lab.Recording", "nc", store.bucket, store.nc_version, sha1, filename_prefix="assy_")
    assert path.read_bytes() == store.nc


def test_a_file_at_a_place_of_its_own(s3, relay, bucket, tmp_path):
    s3.put_object(Bucket=bucket, Key="a/b.txt", Body=b"content")
    place = tmp_path / "new" / "c.txt"
    assert load_file_from_s3(bucket, "a/b.txt", place) == place and place.read_bytes() == b"content"
    assert sorted(path.name for path in place.parent.iterdir()) == [".c.txt.lock", "c.txt"]
    place.write_bytes(b"mine")
    load_file_from_s3(bucket, "a/b.txt", str(place))
    assert place.read_bytes() == b"mine" and len(relay.asked) == 1  # nothing says that it should be another
    with pytest.warns(UserWarning, match="removed"):
        load_file_from_s3(bucket, "a/b.txt", place, sha1_of(b"content"))
    assert place.read_bytes() == b"content"
    place.unlink()
    with pytest.raises(ValueError, match="is not the file it should be"):
        load_file_from_s3(bucket, "a/b.txt", place, sha1="0" * 40)
    assert not place.exists()


def test_a_folder(s3, relay, bucket, tmp_path):
    files = {f"{index}.bin": bytes([index]) * 100 for index in range(5)} | {"sub/f.bin": b"f"}
    for name, content in files.items():
        s3.put_object(Bucket=bucket, Key=f"models/net/{name}", Body=content)
    wanted = [(name, "null", sha1_of(content)) for name, content in files.items()]
    paths = load_folder_from_s3(bucket, "models/net", wanted, tmp_path / "net")
    assert paths == [tmp_path / "net" / name for name in files]
    assert [path.read_bytes() for path in paths] == list(files.values())
    with pytest.raises(ValueError, match=r"'../f.bin' leads out of the folder"):
        load_folder_from_s3(bucket, "models/net", [("../f.bin", None, None)], tmp_path / "net")


def test_weights_lie_where_brain_score_puts_them(s3, relay, bucket, tmp_path, monkeypatch):
    monkeypatch.setenv("BRAINSCORE_HOME", str(tmp_path / "home"))
    for key in ("models/net/w.pt", "weights/net/w.pt", "other/net/w.pt"):
        s3.put_object(Bucket=bucket, Key=key, Body=key.encode())
    home = tmp_path / "home"
    path = load_weight_file(bucket, "net/w.pt", "null", sha1_of(b"models/net/w.pt"))
    assert path == home / "models/net/w.pt" and path.read_bytes() == b"models/net/w.pt"
    assert load_file(bucket, "net/w.pt", None, folder_name="other").read_bytes() == b"other/net/w.pt"
    monkeypatch.setenv("BRAINSCORE_S3_WEIGHT_FOLDER", "weights")
    assert load_file(bucket, "net/w.pt", None) == home / "weights/net/w.pt"
    with pytest.warns(UserWarning, match="removed"), pytest.raises(ValueError, match="is not the file it should be"):
        load_weight_file(bucket, "net/w.pt", None, "0" * 40)
    assert not (home / "weights/net/w.pt").exists()


@pytest.mark.parametrize(
    "name",
    [
        "../w.pt",
        "/w.pt",
        "..\\w.pt",
    ],
)
def test_weights_stay_in_their_folder(name, relay):
    with pytest.raises(ValueError, match="leads out of the folder|has no file name"):
        load_file("b", name, None)
    assert relay.asked == []
