"""Pipes among the files of a folder, or in the place of one: none is opened, as that is to wait for its other end."""

import os
import signal

import pytest

from bsjax.benchmarks.families.imagenet.image_folders import image_names, validation_images
from bsjax.benchmarks.kinds.subject_matrices import images_in
from bsjax.cli.extraction import extraction_options
from bsjax.submission.checks.check_data import check_registrations
from bsjax.submission.checks.run_tests import check_tests
from tests.support.readers import READERS, image_files


@pytest.fixture(autouse=True)
def no_end(monkeypatch):
    """Whoever waits for a pipe is stopped."""

    def stop(*_):
        raise TimeoutError("it waits for a pipe")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(120)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def pipe(tmp_path):
    def make(name):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(tmp_path / name)

    return make


def test_folders_of_images(tmp_path, pipe):
    image_files(tmp_path, "png", "png")
    pipe("a.png")
    (tmp_path / "._image1.png").write_bytes(b"of an operating system")
    assert image_names(tmp_path) == ["image0.png", "image1.png"]
    assert list(images_in(tmp_path, 2, "Doe2026.IT-rdm", "a book")["filename"]) == ["image0.png", "image1.png"]
    reducer = extraction_options(None, None, "pca:1", tmp_path, True)["reducer"]
    assert list(reducer.stimuli["stimulus_id"]) == ["image0.png", "image1.png"]


def test_a_folder_of_classes_with_a_table(tmp_path, pipe):
    image_files(tmp_path, "png")
    pipe("0.csv")
    (tmp_path / "classes.csv").write_text("filename,synset\nimage0.png,n01440764\n")
    with pytest.warns(UserWarning, match="1 images of 1 classes"):
        assert len(validation_images(tmp_path)) == 1


def test_the_checklist(tmp_path, pipe):
    pipe("data.py")
    pipe("test_it.py")
    assert check_registrations(tmp_path) == []
    [item] = check_tests(tmp_path, timeout=60)
    assert item.name == "tests" and not item.passed


NAMED_BY_USERS = (
    "netcdf stimulus-set table zip trials rdms-npz rdms-mat session stored-npz images videos layer-map imagenet "
    "objectnet"
).split()


@pytest.mark.parametrize("name", NAMED_BY_USERS)
def test_a_pipe_in_the_place_of_a_file(tmp_path, name):
    reader, folder = READERS[name], tmp_path / "data"
    folder.mkdir()
    reader.make(folder)
    file = sorted(path for path in folder.rglob(reader.files) if path.is_file() and path.name[0] != ".")[0]
    file.unlink()
    os.mkfifo(file)
    with pytest.raises((ValueError, FileNotFoundError)) as raised:
        reader.read(folder)
    assert any(part in str(raised.value) for part in (str(folder), file.name, *reader.named))
