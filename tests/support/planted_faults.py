"""Faults planted in a copy of the package, one at a time: how many of them the tests notice.

    python -m tests.support.planted_faults                 the tests that each fault names; some ten minutes
    python -m tests.support.planted_faults --only ridge    the faults whose names hold that
    python -m tests.support.planted_faults --all           every test, for each fault: some days on two cores

The faults stand in ``planted_faults.toml``: the line to change, as it is and as it becomes. The exit status is 1 where
a fault is not noticed, or where its line is not in the file once, as after a change of that code: write it anew then.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from tests.support.paths import REPOSITORY

_TABLE = Path(__file__).with_suffix(".toml")
_COPIED = (
    "bsjax",
    "tests",
    "benchmarks_perf",
    "examples",
    "docs",
    "pyproject.toml",
    "README.md",
    "Makefile",
    "CHANGELOG.md",
)
_PASSED, _FAILED = 0, 1  # what pytest ends with


def place_of(fault: dict[str, Any], root: Path) -> tuple[Path, str]:
    """The file of a fault, and its text without it; a ``ValueError`` where the line to change is not there once."""
    path = root / "bsjax" / fault["file"]
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    if (count := text.count(fault["old"])) != 1:
        raise ValueError(f"{fault['name']}: bsjax/{fault['file']} holds {fault['old']!r} {count} times")
    return path, text


def run_tests(root: Path, tests: list[str]) -> tuple[int, str]:
    """What pytest ends with in the copy, and the first line that names a failure."""
    # Of the tests that a fault names, the slow ones may be those that notice it.
    fast = [] if tests else ["-m", "not slow"]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *fast, *tests]
    where = os.environ | {"PYTHONPATH": str(root), "HYPOTHESIS_PROFILE": "ci"}
    done = subprocess.run(command, cwd=root, env=where, capture_output=True, text=True, check=False)
    told = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return done.returncode, (told or done.stdout.splitlines() or done.stderr.splitlines() or [""])[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="run every test for each fault")
    parser.add_argument("--only", default="", metavar="WORDS", help="the faults whose names hold these")
    given = parser.parse_args()
    faults = [fault for fault in tomllib.loads(_TABLE.read_text())["fault"] if given.only in fault["name"]]
    with tempfile.TemporaryDirectory(prefix="bsjax-faults-") as folder:
        root = Path(folder, "copy")
        for name in _COPIED:
            copy = shutil.copytree if (REPOSITORY / name).is_dir() else shutil.copyfile
            root.mkdir(exist_ok=True)
            copy(REPOSITORY / name, root / name)
        for fault in faults:
            place_of(fault, root)
        chosen = [] if given.all else sorted({test for fault in faults for test in fault["tests"]})
        status, told = run_tests(root, chosen)
        if status != _PASSED:
            print(f"the tests fail without a fault: {told}")
            return 1
        caught = 0
        for fault in faults:
            path, text = place_of(fault, root)
            path.write_text(text.replace(fault["old"], fault["new"]), encoding="utf-8")
            status, told = run_tests(root, [] if given.all else fault["tests"])
            path.write_text(text, encoding="utf-8")
            caught += status == _FAILED
            word = {_PASSED: "MISSED", _FAILED: "caught"}.get(status, f"broken ({status})")
            print(f"{word:8} {fault['name']:60} {told if status != _PASSED else ''}", flush=True)
    print(f"{caught} of {len(faults)} faults are caught")
    return caught < len(faults)


if __name__ == "__main__":
    sys.exit(main())
