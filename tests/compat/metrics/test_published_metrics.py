"""The tests that published plugins of metrics bring, unchanged, through the stand-in modules."""

import os
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from tests.support.paths import REPOSITORY

METRICS = "accuracy cka error_consistency i1i2 internal_consistency rdm regression_correlation threshold".split()

# Tests that fail on purpose, or for want of what they fetch.
NAMED = {
    # The metric takes responses. Given a matrix of dissimilarities, the reference takes one of that matrix.
    "test_2d_equal20": "must have the dimensions presentation and neuroid",
    "test_2d_equal100": "must have the dimensions presentation and neuroid",
}
FETCHED = "ConnectionError"


@pytest.mark.slow
def test_they_pass_or_are_named(published_plugins, tmp_path):
    (tmp_path / "conftest.py").write_text("import bsjax.compat\n\nbsjax.compat.install()\n")
    for metric in METRICS:
        (tmp_path / f"test_{metric}.py").write_text(f"from brainscore_vision.metrics.{metric}.test import *\n")
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "BSJAX_HOME": str(tmp_path / "home")}
    report = tmp_path / "report.xml"
    quiet = ["-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(tmp_path), f"--junitxml={report}"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *quiet, str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert report.exists(), done.stdout + done.stderr
    cases = list(ElementTree.parse(report).iter("testcase"))
    failed = {case.get("name"): problem for case in cases for problem in (*case.iter("failure"), *case.iter("error"))}
    fetched = {name for name, problem in failed.items() if FETCHED in (problem.get("message") or "")}
    assert {name: problem.get("message") for name, problem in failed.items() if name not in {*NAMED, *fetched}} == {}
    assert all(NAMED[name] in (failed[name].get("message") or "") for name in NAMED)
    assert len(cases) >= 43 and len(fetched) <= 4
