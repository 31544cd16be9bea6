"""The catalogue of published data: its rows against the register they were made from, and what each resolves to."""

import hashlib
import json

import pytest

from bsjax.data.catalogue.post_processing import STEPS
from bsjax.data.catalogue.published import ACCESS, KINDS, published
from bsjax.data.types.assemblies import resolve_assembly_class

ENTRIES = [entry for kind in KINDS for entry in published(kind).values()]


@pytest.fixture(scope="module")
def register(shared_data) -> list[dict]:
    """The register that the catalogue was made from, beside the recordings."""
    path = shared_data.parent / "spec" / "data_registry.json"
    if not path.is_file():
        pytest.skip(f"no register of published data at {path}")
    return json.loads(path.read_bytes())["entries"]


def test_no_entry_has_changed_unnoticed():
    """A digest of all that decides what a user gets. Whoever changes an entry on purpose changes it too."""
    rows = [
        [entry.kind, entry.name, entry.class_name, entry.stimulus_set, entry.merge, entry.post_processing]
        + [[file.url, file.version_id, file.sha1] for file in entry.files]
        for entry in ENTRIES
    ]
    digest = hashlib.sha256(json.dumps(rows).encode()).hexdigest()
    assert digest == "4f6b481d9272a8fe353569c1576ca734c506e22f90ade11a1200f0b561354204"


def test_rows_are_those_of_the_register(register):
    assert len(register) == len(ENTRIES) == 299
    for row in register:
        entry = published(row["kind"])[row["registry_identifier"]]
        if "custom_key" in row:
            assert [(file.bucket, file.key) for file in entry.files] == [(row["bucket"], row["custom_key"])]
            assert (entry.folder_variable, entry.default_folder) == (row["env"], row["default_dir"])
            continue
        assert [file.url for file in entry.files] == list(row["urls"].values())
        for kind, file in zip(row["s3_keys"], entry.files, strict=True):
            prefix = "" if kind == "nc" else f"{kind}_"
            assert (file.bucket, file.key) == (row["bucket_name"], row["s3_keys"][kind])
            assert (file.sha1, file.version_id) == (row[f"{prefix}sha1"], row[f"{prefix}version_id"])
            assert row["cache_paths"][kind] == f"$BRAINIO_HOME/{file.sha1}/{file.name}"
        assert (entry.identifier, entry.class_name) == (row["identifier"], row["class"])
        assert entry.stimulus_set == (row.get("stimulus_set") or "")
        assert entry.merge == row.get("merge_stimulus_set_meta", True)
        assert len(entry.post_processing) == len(row["post_processing"])
        assert bool(entry.note) >= (not row["active"])
        assert (entry.access == "public") >= row["access"].startswith("public")


def test_each_entry_can_be_resolved():
    for entry in ENTRIES:
        assert all(file.sha1 or entry.archive for file in entry.files)
        assert entry.access in ACCESS
        assert {name for name, *_ in entry.post_processing} <= set(STEPS)
        if entry.kind == "assembly":
            assert resolve_assembly_class(entry.class_name).__name__ == entry.class_name
            assert not entry.stimulus_set or entry.stimulus_set in published("stimulus_set")
