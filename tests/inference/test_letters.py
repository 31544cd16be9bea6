from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bsjax.inference.letters import compact_letters


@given(st.integers(0, 9), st.integers(0, 2**31), st.floats(0.0, 1.0))
def test_models_share_a_letter_where_they_do_not_differ(n, seed, share):
    differ = np.triu(np.random.default_rng(seed).random((n, n)) < share, 1)
    letters = compact_letters(differ | differ.T)
    assert len(letters) == n and all(letters)
    for i, j in combinations(range(n), 2):
        assert bool(set(letters[i]) & set(letters[j])) != differ[i, j]


def test_groups_that_overlap():
    differ = np.zeros((8, 8), bool)
    for pair in ((0, 6), (0, 7), (1, 6), (1, 7), (2, 7), (3, 7), (4, 7)):
        differ[pair] = differ[pair[::-1]] = True
    assert compact_letters(differ) == ["a", "a", "ab", "ab", "ab", "abc", "bc", "c"]
