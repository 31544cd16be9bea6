"""What operating systems leave in folders and archives is read by none of the readers of these."""

import json
import zipfile

import pytest

from bsjax import Score
from bsjax.benchmarks.families.geirhos2021.reader import load_people
from bsjax.benchmarks.families.geirhos2021.trials import trial_stimuli
from bsjax.benchmarks.families.imagenet.image_folders import _images_by_class
from bsjax.data.publishing.drafts import find_files, read_manifest
from bsjax.results import ResultStore
from bsjax.results.exchange.imported import import_scores
from bsjax.scoring.cells import _place
from bsjax.submission.checks.check_data import check_registrations
from tests.support.damage import fingerprint
from tests.support.readers import READERS, image_files, package

NOISE = b"\0\5\26\7 of an operating system"
OF_FOLDERS = ("stimulus-set zip trials rdms-npz session stored-npz stored-npy stored-zarr imagenet objectnet").split()
KINDS = {
    "._": lambda path: path.with_name(f"._{path.name}"),
    "__MACOSX": lambda path: path.parent / "__MACOSX" / f"._{path.name}",
    "__MACOSX with a copy": lambda path: path.parent / "__MACOSX" / path.with_suffix(".old" + path.suffix).name,
    ".DS_Store": lambda path: path.with_name(".DS_Store"),
    "Thumbs.db": lambda path: path.with_name("Thumbs.db"),
    "desktop.ini": lambda path: path.with_name("Desktop.ini"),
}


def leave(folder):
    """Leave such files beside, or for, each file of a folder, and each member of an archive."""
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        members = []
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                members = [zipfile.Path(archive, name) for name in archive.namelist()]
        for place in KINDS.values():
            left = place(path)
            left.parent.mkdir(exist_ok=True)
            left.write_bytes(NOISE)
            names = dict.fromkeys(str(place(folder / member.at).relative_to(folder)) for member in members)
            if names:
                with zipfile.ZipFile(path, "a") as archive:
                    for name in names:
                        archive.writestr(name, NOISE)


@pytest.mark.parametrize("name", OF_FOLDERS)
def test_readers_read_what_was_there(tmp_path, name):
    found = []
    for place in ("clean", "left"):
        folder = tmp_path / place / "data"
        folder.mkdir(parents=True)
        READERS[name].make(folder)
        if place == "left":
            leave(folder)
        found.append(fingerprint(READERS[name].read(folder)))
    assert found[0] == found[1]


def test_folders_of_classes(tmp_path):
    image_files(tmp_path / "n01440764", "png")
    leave(tmp_path)
    image_files(tmp_path / "__MACOSX", "png")
    assert list(_images_by_class(tmp_path)) == ["n01440764/image0.png"]


def test_images_of_trials(tmp_path):
    header = "subj,session,trial,rt,object_response,category,condition,imagename\n"
    (tmp_path / "edge").mkdir()
    (tmp_path / "edge" / "edge_subject-01_session_1.csv").write_text(header + "subject-01,1,1,0,cat,cat,0,image0.png\n")
    image_files(tmp_path / "datasets" / "edge", "png")
    leave(tmp_path)
    people = load_people(tmp_path, "edge")
    paths = trial_stimuli(people, "edge", tmp_path).stimulus_paths
    assert list(paths.values()) == [tmp_path / "datasets/edge/image0.png"]


def test_what_is_to_be_packaged_and_a_package(tmp_path):
    (tmp_path / "set.csv").write_text("stimulus_id,filename\n")
    (tmp_path / "package").mkdir()
    package(tmp_path / "package")
    leave(tmp_path)
    assert find_files([tmp_path]) == ([tmp_path / "set.csv"], [])
    assert read_manifest(tmp_path / "package").keys() == {"assembly"}


def test_scores_in_a_folder(tmp_path):
    score = Score(0.5, provenance={"model": "pixels", "benchmark": "Doe2026-pls"})
    (tmp_path / "score.json").write_text(json.dumps(score.to_dict()))
    leave(tmp_path)
    with ResultStore(f"sqlite:///{tmp_path}/results.db") as store:
        assert "1 new score" in str(import_scores(store, tmp_path))


def test_a_plugin(tmp_path):
    (tmp_path / "__init__.py").write_text("")
    (tmp_path / "data.py").write_text("load_assembly_from_s3('a')\n")
    (tmp_path / "test_it.py").write_text("def test_it():\n    pass\n")
    leave(tmp_path)
    assert list(_place(tmp_path)) == ["__init__.py", "data.py", "test_it.py"]
    assert len(check_registrations(tmp_path)) == 1
