"""Packages on this disk are found by their identifiers, as data in S3 are."""

import numpy as np
import pytest

import bsjax
from bsjax.core.discovery import use_plugins
from bsjax.data.publishing.drafts import package_drafts
from bsjax.data.publishing.local import load_packaged, register_packages
from bsjax.submission import check_plugins
from tests.support import lab


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """A folder with two packages, one of an assembly and its stimuli."""
    monkeypatch.setenv("BSJAX_PLUGINS", "")
    folder, stimuli = tmp_path / "packages", lab.stimuli(tmp_path / "images")
    package_drafts(stimuli, lab.recordings(), "Doe2024", folder=folder)
    package_drafts(stimuli, None, "Doe2025", folder=folder)
    return folder


def test_packages_are_found_by_their_identifiers(packages):
    init, by_hand = register_packages(packages)
    assert by_hand == "" and register_packages(packages) == (init, "")  # its own file is written anew
    use_plugins(packages)
    assembly = bsjax.load_dataset("Doe2024")
    assert type(assembly) is bsjax.NeuroidAssembly and assembly.attrs["identifier"] == "Doe2024"
    assert np.array_equal(assembly.values, lab.recordings().values)
    assert assembly.attrs["stimulus_set"].identifier == "Doe2024"
    assert all(path.is_file() for path in bsjax.load_stimulus_set("Doe2025").stimulus_paths.values())


@pytest.mark.slow
def test_a_package_passes_the_checks_of_a_plugin(packages):
    register_packages(packages)
    checks = [item for _, items in check_plugins(packages, timeout=120) for item in items]
    assert {item.name: item.problems for item in checks if not item.passed} == {}
    assert {"tests", "passing"} <= {item.name for item in checks}
    (packages / "test.py").write_text("def test_mine(): pass")
    register_packages(packages)
    assert "mine" in (packages / "test.py").read_text()


def test_a_plugin_of_ones_own_is_left_as_it_is(packages):
    (packages / "__init__.py").write_text("mine = 1")
    init, by_hand = register_packages(packages)
    assert init.read_text() == "mine = 1"
    init.write_text(f"{by_hand}mine = 1")
    use_plugins(packages)
    assert {"Doe2024", "Doe2025"} <= set(bsjax.stimulus_set_registry) and "Doe2024" in bsjax.data_registry


def test_what_cannot_be_loaded(packages):
    with pytest.raises(ValueError, match=r"Doe2025.package.json holds no assembly, only: stimulus_set"):
        load_packaged(packages / "Doe2025.package.json")
    table = packages / "stimulus_Doe2025.csv"
    table.write_text(table.read_text().replace("1", "2"))
    with pytest.raises(ValueError, match=r"'Doe2025' has changed since it was packaged, .*stimulus_Doe2025.csv"):
        load_packaged(packages / "Doe2025.package.json", "stimulus_set")
