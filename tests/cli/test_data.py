"""``bsjax data``, as processes of its own: an experiment from a folder to a bucket and back, and what goes wrong."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image

from bsjax.cli import main
from bsjax.data import write_netcdf
from tests.support import lab
from tests.support.forked import run_command
from tests.support.paths import REPOSITORY
from tests.support.s3_server import s3_client, s3_server


@pytest.fixture(scope="module")
def address():
    with s3_server() as address:
        yield address


@pytest.fixture
def home(tmp_path, address):
    """A machine with credentials for that server and nothing else."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return {
        **kept,
        "PYTHONPATH": str(REPOSITORY),  # commands run in other folders
        "HOME": str(tmp_path / "home"),
        "BRAINIO_HOME": str(tmp_path / "brainio"),
        "BSJAX_HOME": str(tmp_path / "bsjax"),
        "AWS_ENDPOINT_URL_S3": address,
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_MAX_ATTEMPTS": "1",
    }


@pytest.fixture
def data(home, tmp_path):
    """Run the command in a folder that is empty at first."""

    def run(*arguments):
        return run_command("data", *arguments, env=home, cwd=tmp_path, errors=True)

    return run


@pytest.fixture
def experiment(tmp_path):
    """A lab's folder: a table, the images in a folder inside, and recordings."""
    stimuli = lab.stimuli(tmp_path / "lab" / "images")
    names = [f"images/{path.name}" for path in stimuli.stimulus_paths.values()]
    pd.DataFrame(stimuli).assign(filename=names).to_csv(tmp_path / "lab" / "stimuli.csv", index=False)
    write_netcdf(lab.recordings(), tmp_path / "lab" / "responses.nc")
    return tmp_path / "lab"


@pytest.mark.slow
def test_an_experiment_from_a_folder_to_a_bucket_and_back(data, experiment, address, home, tmp_path):
    done = data("validate", experiment, "--identifier", "Doe2024")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("  ok  ") == 16 and done.stderr == ""

    done = data("package", experiment, "--identifier", "Doe2024", "--to", "packages")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].endswith("bsjax data upload packages --bucket BUCKET")
    files = "Doe2024.package.json __init__.py assy_Doe2024.nc stimulus_Doe2024.csv stimulus_Doe2024.zip test.py"
    assert sorted(path.name for path in (tmp_path / "packages").glob("[!.]*")) == files.split()

    s3 = s3_client(address)
    s3.create_bucket(Bucket="doe-lab")
    s3.put_bucket_versioning(Bucket="doe-lab", VersioningConfiguration={"Status": "Enabled"})
    done = data("upload", "packages", "--bucket", "doe-lab/public")
    assert done.returncode == 0, done.stderr
    uploaded = [f"uploaded {name}" for name in ("stimulus_Doe2024.csv", "stimulus_Doe2024.zip", "assy_Doe2024.nc")]
    assert [line.split(":")[0] for line in done.stderr.splitlines()] == uploaded
    snippet = done.stdout
    again = data("upload", "packages", "--bucket", "doe-lab/public")
    assert again.stdout == snippet
    for_brainscore = data("upload", "packages", "--bucket", "doe-lab/public", "--for", "brainscore_vision")
    assert for_brainscore.stdout.startswith("from brainscore_vision import data_registry, load_stimulus_set, ")

    # somebody else pastes what was printed, and looks at the data
    code = snippet + "\nimport sys; from bsjax.cli import main; sys.argv[0] = 'bsjax'; main()\n"
    (tmp_path / "paste.py").write_text(code)
    command = [sys.executable, "paste.py", "data"]
    run = {"capture_output": True, "text": True, "env": home, "cwd": tmp_path}
    done = subprocess.run([*command, "fetch", "Doe2024"], **run)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "Doe2024: NeuroidAssembly Doe2024: 18 presentation × 5 neuroid, float64\n"
    assert done.stderr.count("fetched ") == 3
    done = subprocess.run([*command, "show", "Doe2024", "--thumbnails", "sheet.png"], **run)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""  # all is here
    assert "presentations per stimulus: 3 for each of 6 stimuli" in done.stdout
    ceilings = re.findall(r"^  (\w+): (0\.\d{3})(?:, 95 .*)? \(median of (\d) neuroids\)$", done.stdout, re.MULTILINE)
    assert [(name, n) for name, _, n in ceilings] == [("all", "5"), ("V4", "2"), ("IT", "3")]
    assert all(0.8 < float(value) <= 1 for _, value, _ in ceilings)
    with Image.open(tmp_path / "sheet.png") as sheet:
        assert sheet.format == "PNG" and sheet.width == 10 + 6 * 122


@pytest.mark.slow
def test_show_of_files(data, experiment, shared_data, tmp_path):
    done = data("show", experiment / "stimuli.csv", "--thumbnails", "a/sheet.png")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "StimulusSet: 6 stimuli"
    with Image.open(tmp_path / "a" / "sheet.png") as sheet:
        assert sheet.width > 700
    real = shared_data / "brainscore_files"
    done = data("show", real / "resnet-50-pytorch-3deg-Geirhos2021_cue-conflict.nc")
    assert done.returncode == 0, done.stderr
    assert "1,280" in done.stdout and "ceiling" not in done.stdout
    done = data("show", real / "assy_test_TestMe.nc")
    assert "not estimated: assembly holds the same repetition more than once" in done.stdout
    assert "there are no stimuli" in data("show", real / "assy_test_TestMe.nc", "--thumbnails", "b.png").stderr


@pytest.mark.slow
def test_import_from_a_folder(data, shared_data, tmp_path):
    done = data("import", "Cowley2026", "--from", shared_data / "macaque_v4")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("imported Cowley2026 into ")
    assert Path(done.stdout.split(" into ")[1].strip()).is_relative_to(tmp_path / "bsjax")
    shown = data("show", "Cowley2026.V4", "--no-ceiling")
    assert "4,840 presentation" in shown.stdout, shown.stderr


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Run the command in this process, which is faster; returns its exit code."""

    def run(*arguments):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["bsjax", "data", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code

    return run


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["validate", "nowhere"], "bsjax: there is no nowhere"),
        (["show", "nowhere.nc"], "bsjax: there is no file"),
        (["fetch", "MajajHong"], "bsjax: unknown data set 'MajajHong'; nearest: "),
        (["import", "Geirhos2021", "--from", "nowhere"], "bsjax: nowhere lacks "),
    ],
)
def test_an_error_is_one_line_and_exit_code_1(here, capfd, arguments, message):
    assert here(*arguments) == 1
    said = capfd.readouterr()
    [line] = said.err.splitlines()
    assert line.startswith(message) and said.out == ""


def test_more_than_one_of_a_kind_is_not_packaged(data, experiment):
    shutil.copy(experiment / "responses.nc", experiment / "more.nc")
    done = data("package", experiment, "--identifier", "Doe2024")
    assert done.returncode == 1 and done.stderr.startswith("bsjax: package takes one assembly, got 2: ")


def test_what_cannot_be_fetched_does_not_keep_others_from_it(data):
    done = data("fetch", "nothing", "MajajHong2015.public")
    assert done.returncode == 1
    first, second = done.stderr.splitlines()
    assert "unknown data set 'nothing'" in first
    assert "MajajHong2015.public" in second and "no bucket" in second
