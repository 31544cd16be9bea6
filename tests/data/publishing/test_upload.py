"""Uploads to a real S3 server: versions, nothing overwritten by accident, and a registration that loads."""

import os
from pathlib import Path

import numpy as np
import pytest

import bsjax
from bsjax.core.digests.files import digests_of, sha1_hash
from bsjax.data.publishing.packaging import (
    package_data_assembly,
    package_data_assembly_locally,
    package_stimulus_set,
    package_stimulus_set_locally,
)
from bsjax.data.publishing.registration import registration_snippet
from bsjax.data.publishing.upload import upload_assembly, upload_files, upload_stimulus_set
from bsjax.data.remote.storage import RemoteFile
from tests.support import lab

pytestmark = pytest.mark.usefixtures("machine")


def upload(path, bucket, key, **options):
    """Upload one file; S3's properties of it."""
    return upload_files({path: RemoteFile(bucket, key, **digests_of(path, ["sha1", "sha256"]))}, **options)[path]


@pytest.fixture
def versioned(s3, bucket):
    """A bucket that keeps versions."""
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    return bucket


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "assy_Doe2024.nc"
    path.write_bytes(b"content")
    return path


@pytest.fixture
def registries():
    """The registries, which are afterwards as before."""
    before = [(registry, set(registry)) for registry in (bsjax.data_registry, bsjax.stimulus_set_registry)]
    yield
    for registry, identifiers in before:
        for identifier in set(registry) - identifiers:
            del registry[identifier]


def run(snippet):
    exec(compile(snippet, "snippet", "exec"), {})  # as somebody who pastes it


@pytest.mark.slow
@pytest.mark.parametrize(("folder", "keeps_versions"), [("", False), ("/lab/data", True)])
def test_published_data_load_by_the_registration_that_is_printed(
    s3, bucket, tmp_path, registries, brainio_home, folder, keeps_versions
):
    if keeps_versions:
        s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    stimuli, assembly = lab.stimuli(tmp_path / "lab"), lab.recordings()
    published = package_stimulus_set(None, stimuli, "doelab.Doe2024", bucket_name=bucket + folder)
    recorded = package_data_assembly(
        None, assembly, "doelab.Doe2024.public", "doelab.Doe2024", bucket_name=bucket + folder
    )
    for version in (published["csv_version_id"], published["zip_version_id"], recorded["version_id"]):
        assert (version is not None) == keeps_versions
    keys = {found["Key"] for found in s3.list_objects_v2(Bucket=bucket)["Contents"]}
    assert f"{folder[1:]}/assy_doelab_Doe2024_public.nc".lstrip("/") in keys and len(keys) == 3

    run(registration_snippet(published, recorded))
    loaded = bsjax.load_dataset("doelab.Doe2024.public")
    assert isinstance(loaded, bsjax.NeuroidAssembly)
    np.testing.assert_array_equal(loaded.values, assembly.values)
    assert loaded["category"].values.tolist() == ["face", "object"] * 9
    shown = bsjax.load_stimulus_set("doelab.Doe2024")
    assert shown.get_stimulus("im_2").read_bytes() == stimuli.get_stimulus("im_2").read_bytes()
    assert shown.get_stimulus("im_2").is_relative_to(brainio_home)


def test_the_registration_for_brainscore_names_what_is_there():
    uploaded = {"identifier": 'a "b"', "bucket": "b", "sha1": "0", "sha256": "1", "version_id": None}
    snippet = registration_snippet(
        assembly={**uploaded, "cls": "BehavioralAssembly", "stimulus_set_identifier": "Doe2024"},
        library="brainscore_vision",
    )
    assert "from brainscore_vision import data_registry, load_stimulus_set\n" in snippet
    assert 'data_registry["a \\"b\\""] = lambda: load_assembly_from_s3(' in snippet
    assert 'stimulus_set_loader=lambda: load_stimulus_set("Doe2024"),' in snippet
    assert "sha256" not in snippet and "bsjax" not in snippet
    compile(snippet, "snippet", "exec")


def test_another_object_is_overwritten_only_on_request(s3, versioned, file):
    first = upload(file, f"{versioned}/lab", "a.nc")
    assert upload(file, f"{versioned}/lab", "a.nc")["VersionId"] == first["VersionId"]  # it is not sent again
    assert first["Metadata"]["sha1"] == sha1_hash(file)
    file.write_bytes(b"changed")
    with pytest.raises(FileExistsError, match=f"s3://{versioned}/lab/a.nc is there already, and is another file"):
        upload(file, f"{versioned}/lab", "a.nc")
    assert s3.get_object(Bucket=versioned, Key="lab/a.nc")["Body"].read() == b"content"
    assert upload(file, f"{versioned}/lab", "a.nc", overwrite=True)["VersionId"] != first["VersionId"]
    old = s3.get_object(Bucket=versioned, Key="lab/a.nc", VersionId=first["VersionId"])
    assert old["Body"].read() == b"content"


@pytest.mark.parametrize(("content", "same"), [(b"content", True), (b"cOntent", False)])
def test_objects_that_something_else_uploaded_are_compared_by_content(s3, bucket, file, content, same):
    s3.put_object(Bucket=bucket, Key="a.nc", Body=content)
    if same:
        assert upload(file, bucket, "a.nc")["ContentLength"] == 7
    else:
        with pytest.raises(FileExistsError, match="another file"):
            upload(file, bucket, "a.nc")


def test_if_one_file_may_not_be_uploaded_none_is(s3, bucket, tmp_path):
    packaged = package_stimulus_set_locally(lab.stimuli(tmp_path / "lab"), "Doe2024", tmp_path)
    s3.put_object(Bucket=bucket, Key="stimulus_Doe2024.zip", Body=b"another")
    with pytest.raises(FileExistsError, match=r"stimulus_Doe2024.zip is there already"):
        upload_stimulus_set(packaged, bucket)
    assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 1


def test_packages_that_have_changed_are_refused(bucket, tmp_path):
    packaged = package_data_assembly_locally(lab.recordings(), "Doe2024", "Doe2024", downloads_path=tmp_path)
    Path(packaged["path"]).write_bytes(b"something else")
    with pytest.raises(ValueError, match="'Doe2024' has changed since it was packaged, package it again: .*sha256"):
        upload_assembly(packaged, bucket)
    Path(packaged["path"]).unlink()
    with pytest.raises(FileNotFoundError, match="package 'Doe2024' again"):
        upload_assembly(packaged, bucket)


@pytest.mark.slow
def test_progress_is_reported(s3, bucket, tmp_path):
    large = tmp_path / "large.nc"
    large.write_bytes(os.urandom(10 << 20))  # sent in parts
    told = []
    upload(large, bucket, "large.nc", progress=lambda *what: told.append(what))
    assert {name for name, _, _ in told} == {"large.nc"}
    assert max(here for _, here, _ in told) == 10 << 20 and all(size == 10 << 20 for _, _, size in told)
    assert s3.head_object(Bucket=bucket, Key="large.nc")["ContentLength"] == 10 << 20
    told.clear()
    upload(large, bucket, "large.nc", progress=lambda *what: told.append(what))
    assert told == [("large.nc", 10 << 20, 10 << 20)]


def test_what_cannot_be_uploaded(bucket, file, machine, tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no bucket 'no-such-bucket'"):
        upload(file, "no-such-bucket/lab", "a.nc")
    machine.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9")
    with pytest.raises(ConnectionError, match="no connection for s3://"):
        upload(file, bucket, "a.nc")
    machine.delenv("AWS_ACCESS_KEY_ID")
    machine.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(PermissionError, match="no credentials to upload .*set AWS_ACCESS_KEY_ID"):
        upload(file, bucket, "a.nc")
    machine.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(ValueError, match="AWS settings of this machine cannot be used.*nobody"):
        upload(file, bucket, "a.nc")


def test_a_refusal_says_what_it_takes(relay, file):
    relay.trouble.fail_with = 403
    with pytest.raises(PermissionError, match="s3:PutObject, .* on arn:aws:s3:::lab/x/a"):
        upload(file, "lab/x", "a")
    relay.trouble.fail_with = 503
    with pytest.raises(ConnectionError, match="S3 failed for s3://lab/x/a"):
        upload(file, "lab/x", "a")


def test_requested_experiments_have_rules_of_their_own(tmp_path):
    with pytest.raises(ValueError, match="requested: file names are not like 'image_12.png': picture 0.png"):
        package_stimulus_set(None, lab.stimuli(tmp_path), "Doe2024", bucket_name="brainio.requested")
