"""Small programs from public reports of trouble, which print PASS or FAIL: those in this table stay passed."""

import contextlib
import io
import runpy
import warnings
from pathlib import Path

import pytest

CASES = Path(__file__).parents[1].parent / "shared" / "cases"
# Which case must pass, by the beginning of its name, and why one does not yet.
PASSED = {
    "k04": "",
    "k13": "",
    "k18": "two points are correlated",
}


@pytest.mark.skipif(not CASES.is_dir(), reason="the cases lie beside the project, in ../shared/cases")
@pytest.mark.parametrize(("case", "open_fault"), PASSED.items(), ids=PASSED)
def test_a_case_of_a_public_report_passes(case, open_fault, request):
    if open_fault:
        request.applymarker(pytest.mark.xfail(reason=open_fault, strict=False))
    [path] = CASES.glob(f"{case}_*.py")
    said = io.StringIO()
    with contextlib.redirect_stdout(said), warnings.catch_warnings():
        warnings.simplefilter("default")
        runpy.run_path(str(path), run_name="__main__")
    assert "PASS" in said.getvalue() and "FAIL" not in said.getvalue(), said.getvalue()
