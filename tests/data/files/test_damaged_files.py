"""Damaged files of every kind: each is refused by a clear error or read as what it was, and none hangs its reader."""

import subprocess
import sys

import pytest

from tests.support.paths import REPOSITORY
from tests.support.readers import READERS

GROUPS = [list(READERS)[start::2] for start in range(2)]


@pytest.mark.slow
@pytest.mark.parametrize("names", GROUPS, ids=lambda names: names[0])
def test_a_damaged_file_is_refused_or_read_as_it_was(names, tmp_path):
    command = [sys.executable, "-m", "tests.support.damage", "--some", str(tmp_path), *names]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert not done.stdout, done.stdout
