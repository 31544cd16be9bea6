"""``BSJAX_HOME`` where nothing can be written: what is optional is one warning, and what is not names the variable."""

import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import bsjax
from bsjax.activations.passes.results import OnDisk
from bsjax.benchmarks.families.simulated.procedural import procedural_stimuli
from bsjax.cli.results import store_of_scores
from bsjax.data.importers.importing import import_data
from bsjax.models.screen import place_on_screen
from tests.support.disks import let_only_read, mounted_disk
from tests.support.forked import run_command


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home below a file, where no folder can be made, not even by root."""
    (tmp_path / "file").touch()
    home = tmp_path / "file" / "home"
    monkeypatch.setenv("BSJAX_HOME", str(home))
    return home


@pytest.fixture
def shown(tmp_path):
    Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(tmp_path / "a.png")
    return bsjax.StimulusSet(
        {"stimulus_id": ["a"], "degrees": [4.0]}, identifier="shown", stimulus_paths={"a": tmp_path / "a.png"}
    )


@pytest.mark.parametrize(
    ("write", "doing"),
    [
        (lambda shown: place_on_screen(shown, 8.0), "write images as they are shown"),
        (lambda shown: procedural_stimuli("p", 1, 8, 4.0, seed=0), "write stimuli"),
        (lambda shown: import_data("Geirhos2021"), "keep Geirhos2021"),
        (lambda shown: OnDisk(10, (3,)), "write .* of activations that do not fit in memory"),
    ],
    ids=["screen", "procedural", "import", "activations"],
)
def test_what_has_to_be_written_says_where_and_what_to_do(home, shown, write, doing):
    with pytest.raises(
        OSError, match=rf"^cannot {doing} in {re.escape(str(home))}.* \(Not a directory\): .*BSJAX_HOME"
    ):
        write(shown)


def test_a_command_that_writes_nothing_runs(home):
    done = run_command("show", "Simulated.V1-rdm")
    assert done.returncode == 0 and done.stdout
    assert all("compiled programs" in line for line in done.stderr.splitlines()) and done.stderr.count("\n") <= 1


def test_scores_are_kept_elsewhere_where_no_store_can_be_made(home, monkeypatch, capsys):
    monkeypatch.delenv("BSJAX_RESULTS", raising=False)
    with store_of_scores(None) as store:
        assert capsys.readouterr().err.endswith(f"; scores of this run are kept in {store.place}\n")
        shutil.rmtree(Path(store.place).parent)
    with pytest.raises(OSError, match="cannot be made or opened"):
        store_of_scores(str(home / "results.db"))


def numbers(done):
    """The row of the table without its last column, which is the time it took."""
    [row] = [line for line in done.stdout.splitlines() if line.startswith("pixels ")]
    return row.split()[:-1]


@pytest.mark.slow
def test_scores_are_the_same_where_nothing_can_be_kept(tmp_path):
    """The images of the benchmark are there; activations and programs cannot be added to them."""
    with mounted_disk(tmp_path / "disk", "60m") as disk:
        score_twice(disk)


def score_twice(disk):
    environment = {n: value for n, value in os.environ.items() if not n.startswith("JAX_") and n != "BSJAX_RESULTS"}
    environment |= {"BSJAX_HOME": str(disk), "RESULTCACHING_DISABLE": "1"}
    command = ["score", "-m", "pixels", "-b", "Simulated.V1-rdm"]
    first = run_command(*command, env=environment)
    let_only_read(disk)
    environment["RESULTCACHING_DISABLE"] = ""
    second = run_command(*command, env=environment)
    assert second.returncode == 0 and numbers(second) == numbers(first), first.stderr + second.stderr
    said = [line for line in second.stderr.splitlines() if "cannot" in line]
    assert [re.sub(" in .*", "", line.partition("cannot ")[2]) for line in said] == [
        "keep compiled programs, which are now compiled anew each time,",
        "be opened: its folder must be there and be writable, or set BSJAX_RESULTS to another place; "
        "scores of this run are kept",
        "keep what models are made of",
        "cache activations",
    ]
    [instead] = [line.partition(" are kept in ")[2] for line in said if " are kept in " in line]
    with bsjax.results.open(instead, read_only=True) as store:
        assert len(store.frame()) == 1
    shutil.rmtree(Path(instead).parent)
