"""Damaged files of every kind: each is refused by a clear error or read as what it was, and none hangs its reader."""

import pytest

from tests.support.processes import printed_by
from tests.support.readers import READERS

GROUPS = [list(READERS)[start::2] for start in range(2)]


@pytest.mark.slow
@pytest.mark.parametrize("names", GROUPS, ids=lambda names: names[0])
def test_a_damaged_file_is_refused_or_read_as_it_was(names, tmp_path):
    assert printed_by("-m", "tests.support.damage", "--some", tmp_path, *names) == ""
