"""The catalogue of published data: its rows against the register they were made from, and what each resolves to."""

import hashlib
import json

from bsjax.data.catalogue.post_processing import STEPS
from bsjax.data.catalogue.published import ACCESS, KINDS, published
from bsjax.data.types.assemblies import resolve_assembly_class

ENTRIES = [entry for kind in KINDS for entry in published(kind).values()]


def test_no_entry_has_changed_unnoticed():
    """A digest of all that decides what a user gets. Whoever changes an entry on purpose changes it too."""
    rows = [
        [entry.kind, entry.name, entry.class_name, entry.stimulus_set, entry.merge, entry.post_processing]
        + [[file.url, file.version_id, file.sha1] for file in entry.files]
        for entry in ENTRIES
    ]
    digest = hashlib.sha256(json.dumps(rows).encode()).hexdigest()
    assert digest == "4f6b481d9272a8fe353569c1576ca734c506e22f90ade11a1200f0b561354204"


def test_each_entry_can_be_resolved():
    for entry in ENTRIES:
        assert all(file.sha1 or entry.archive for file in entry.files)
        assert entry.access in ACCESS
        assert {name for name, *_ in entry.post_processing} <= set(STEPS)
        if entry.kind == "assembly":
            assert resolve_assembly_class(entry.class_name).__name__ == entry.class_name
            assert not entry.stimulus_set or entry.stimulus_set in published("stimulus_set")
