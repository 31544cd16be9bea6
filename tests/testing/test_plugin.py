"""The plugin of pytest: a test for each property, and no cost where it is not used."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow


ONE_LINE = """
import pytest
from bsjax import Metric, Score


class Ratio(Metric):
    identifier = "ratio"

    def __call__(self, source, target):
        return Score(float(source.values[0, 0]))


@pytest.mark.bsjax_contract(Ratio(), bounds=(-9, 9))
def test_ratio(check):
    check()
"""


def run_pytest(folder, text, *options):
    (folder / "test_mine.py").write_text(text)
    (folder / "conftest.py").write_text('pytest_plugins = ["bsjax.testing.plugin"]')
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]
    return subprocess.run([*command, "test_mine.py"], cwd=folder, capture_output=True, text=True, check=False).stdout


def test_every_property_is_a_test_of_its_own(tmp_path):
    told = run_pytest(tmp_path, ONE_LINE, "-q", "--strict-markers")
    assert "test_ratio[permutation]" in told and "ContractError" in told
    assert "test_ratio[settings]" not in told.partition("short test summary")[2]


def test_a_test_that_takes_no_check_is_refused(tmp_path):
    told = run_pytest(tmp_path, "import pytest\n\n@pytest.mark.bsjax_contract(1)\ndef test_it(): pass\n", "-q")
    assert "a test with the argument check" in told


def test_it_imports_no_jax_where_it_is_not_used(tmp_path):
    told = run_pytest(tmp_path, "import sys\n\ndef test_it():\n    assert 'jax' not in sys.modules\n", "-q")
    assert "1 passed" in told


def test_without_hypothesis_one_line_names_the_extra(tmp_path):
    code = "import sys; sys.modules['hypothesis'] = None; import bsjax.testing as t; t.checks('cka'); t.responses"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'bsjax[testing]'" in done.stderr.splitlines()[-1]
