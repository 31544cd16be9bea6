"""``BSJAX_HOME`` where nothing can be written: what is optional is one warning, and what is not names the variable."""

import re

import numpy as np
import pytest
from PIL import Image

import bsjax
from bsjax.activations.passes.results import OnDisk
from bsjax.benchmarks.families.marques2020.stimuli import gratings
from bsjax.benchmarks.families.simulated.procedural import procedural_stimuli
from bsjax.data.importers.importing import import_data
from bsjax.models.screen import place_on_screen
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
        (lambda shown: gratings("Marques2020_orientation"), "write stimuli"),
        (lambda shown: import_data("Geirhos2021"), "keep Geirhos2021"),
        (lambda shown: OnDisk(10, (3,)), "write .* of activations that do not fit in memory"),
    ],
    ids=["screen", "procedural", "gratings", "import", "activations"],
)
def test_what_has_to_be_written_says_where_and_what_to_do(home, shown, write, doing):
    with pytest.raises(
        OSError, match=rf"^cannot {doing} in {re.escape(str(home))}.* \(Not a directory\): .*BSJAX_HOME"
    ):
        write(shown)


@pytest.mark.parametrize("command", [["show", "Simulated.V1-rdm"], ["list", "metrics"]])
def test_a_command_that_writes_nothing_runs(home, command):
    done = run_command(*command)
    assert done.returncode == 0 and done.stdout
    assert all("compiled programs" in line for line in done.stderr.splitlines()) and done.stderr.count("\n") <= 1
