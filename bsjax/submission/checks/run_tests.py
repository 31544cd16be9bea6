"""The tests of a plugin, run in a separate process."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from bsjax.core.discovery import VARIABLE, search_path
from bsjax.core.left_behind import files_in
from bsjax.data.publishing.checklist import Check
from bsjax.submission.checks.attempt import check

_SETTINGS = ("pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml")
_LAST_LINES = 15
_OF_PROPERTIES = ("check_metric", "bsjax_contract", "bsjax.testing")


def check_tests(folder: Path, timeout: float) -> list[Check]:
    """Run the tests of a plugin: ``test.py``, ``test_*.py`` and those in ``tests``.

    Args:
        folder: folder of the plugin.
        timeout: time limit in seconds.
    """
    files = _files(folder)
    lacking = "" if files else f"write {folder / 'test.py'} with functions test_...: `bsjax new` shows an example"
    checks = [check("tests", "it has tests", lacking)]
    if files and find_spec("pytest") is None:
        checks.append(
            Check("passing", "its tests pass", skipped="not run, because pytest is not installed: pip install pytest")
        )
    elif files:
        checks.append(check("passing", "its tests pass", _run(folder.resolve(), files, timeout)))
    return checks


def check_properties(folder: Path) -> Check:
    """See whether the tests of a plugin of metrics check their properties; only the author knows what these are."""
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in _files(folder)]
    checked = any(name in text for text in texts for name in _OF_PROPERTIES)
    advice = "not run, because no test calls bsjax.testing.check_metric: see docs/howto/own-metric.md"
    return Check("properties", "its tests check the properties of its metrics", skipped="" if checked else advice)


def _files(folder: Path) -> list[Path]:
    """The files of the tests of a plugin."""
    patterns = ("test.py", "test_*.py", "tests/**/test*.py")
    return sorted({path for pattern in patterns for path in files_in(folder, pattern)})


def _run(folder: Path, files: list[Path], timeout: float) -> str:
    # settings of a project that encloses the folder are not the plugin's
    own = [folder / name for name in _SETTINGS if (folder / name).is_file()]
    places = list(filter(None, search_path().split(os.pathsep)))
    environment = {**os.environ, VARIABLE: os.pathsep.join(dict.fromkeys([str(folder), *places]))}
    # options of a pytest that runs this process are not for the plugin's tests
    environment = {name: value for name, value in environment.items() if not name.startswith("PYTEST_")}
    options = ["-q", "--tb=short", "-p", "no:cacheprovider", "--import-mode=importlib", "--rootdir", str(folder)]
    options += ["-p", "bsjax.compat.for_pytest"]  # has no effect on tests of plugins for bsjax
    command = [sys.executable, "-m", "pytest", *options, "-c", str(own[0] if own else os.devnull)]
    try:
        done = subprocess.run(
            [*command, *(str(file.resolve()) for file in files)],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            env=environment,
            cwd=folder,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"they take longer than {timeout:g} s: make them faster, or give --timeout"
    if done.returncode == 0:
        return ""
    lines = (done.stdout + done.stderr).strip().splitlines()[-_LAST_LINES:]
    return "\n".join([f"pytest ended with {done.returncode}:", *lines])
