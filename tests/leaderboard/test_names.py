"""Names of files."""

import re

from hypothesis import given
from hypothesis import strategies as st

from bsjax.leaderboard.records import slug

ANY = st.text(st.characters(codec=None), max_size=60)


@given(ANY)
def test_a_name_is_no_path_and_short(identifier):
    assert re.fullmatch(r"[a-z0-9][a-z0-9._-]*-[0-9a-f]{16}", slug(identifier)) and len(slug(identifier)) <= 57
    assert ".." not in slug(identifier)


@given(ANY, ANY)
def test_two_identifiers_are_two_files_also_where_case_does_not_count(one, other):
    assert (slug(one).lower() == slug(other).lower()) == (one == other)
