"""Stimulus sets, assemblies and weights from an S3 server, as packaged by bsjax, through the names of Brain-Score."""

import hashlib

import pytest

from bsjax.data.publishing.packaging import package_data_assembly, package_stimulus_set
from bsjax.data.remote.bucket_files import load_file, load_file_from_s3, load_folder_from_s3, load_weight_file
from bsjax.data.remote.s3 import load_assembly_from_s3, load_stimulus_set_from_s3
from bsjax.data.types.stimuli import StimulusSet
from tests.support import lab


def sha1_of(content: bytes) -> str:
    return hashlib.sha1(content).hexdigest()


@pytest.fixture
def uploaded(s3, relay, bucket, tmp_path) -> tuple[dict, dict]:
    """What loads a stimulus set and an assembly from a folder of the bucket."""
    stimuli = package_stimulus_set(None, lab.stimuli(tmp_path / "lab"), "lab.Doe2024", f"{bucket}/lab/data")
    recordings = lab.recordings().assign_coords(size=("presentation", range(18)))
    assembly = package_data_assembly(None, recordings, "lab.Doe2024", "lab.Doe2024", bucket_name=f"{bucket}/lab/data")
    del assembly["stimulus_set_identifier"]
    relay.asked.clear()
    return stimuli, assembly


@pytest.mark.slow
@pytest.mark.parametrize("merge", [True, False])
def test_an_assembly_with_its_stimulus_set(merge, uploaded, relay, brainio_home):
    stimuli = load_stimulus_set_from_s3(**uploaded[0])
    assert type(stimuli) is StimulusSet and stimuli.identifier == "lab.Doe2024"
    folder = brainio_home / uploaded[0]["zip_sha1"] / "stimulus_lab_Doe2024"
    assert stimuli.stimulus_paths == {name: folder / f"{name}.png" for name in lab.IDS}
    stimuli.validate()
    relay.asked.clear()
    loaders = {
        "stimulus_set_loader": lambda: load_stimulus_set_from_s3(**uploaded[0]),
        "merge_stimulus_set_meta": merge,
    }
    assembly = load_assembly_from_s3(**uploaded[1], **loaders)
    assert len(relay.asked) == 1  # the assembly's
    assert assembly.attrs["identifier"] == assembly.attrs["stimulus_set_identifier"] == "lab.Doe2024"
    assert assembly.attrs["stimulus_set"].equals(stimuli)
    assert assembly["size"].values.tolist() == list(range(18))  # the recording's own win
    assert ("filename" in assembly.coords) == merge


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


@pytest.mark.slow
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


@pytest.mark.parametrize("name", ["../w.pt", "/w.pt", "..\\w.pt"])
def test_weights_stay_in_their_folder(name, relay):
    with pytest.raises(ValueError, match="leads out of the folder|has no file name"):
        load_file("b", name, None)
    assert relay.asked == []
