"""Small programs from public reports of trouble, which print PASS or FAIL: those in this table stay passed."""

import contextlib
import io
import runpy
import warnings
from pathlib import Path

import pytest

CASES = Path(__file__).parents[1].parent / "shared" / "cases"
PASSED = tuple(f"k{number:02}" for number in (1, 4, 5, 7, 8, 10, 11, 12, 13, 15, 16, 17, 18, 19, 20))


@pytest.mark.skipif(not CASES.is_dir(), reason="the cases lie beside the project, in ../shared/cases")
@pytest.mark.parametrize("case", PASSED)
def test_a_case_of_a_public_report_passes(case):
    [path] = CASES.glob(f"{case}_*.py")
    said = io.StringIO()
    with contextlib.redirect_stdout(said), warnings.catch_warnings():
        warnings.simplefilter("default")
        runpy.run_path(str(path), run_name="__main__")
    assert "PASS" in said.getvalue() and "FAIL" not in said.getvalue(), said.getvalue()
