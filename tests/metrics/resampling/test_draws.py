import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bsjax.metrics.resampling.draws import bootstrap_counts, leave_out_counts, permutations

LABELS = st.lists(st.integers(0, 4), min_size=2, max_size=12)


def test_bootstraps_have_the_moments_of_drawing_with_replacement():
    counts = bootstrap_counts(12, 20_000, 0)
    assert counts.dtype == np.int32 and (counts.sum(axis=1) == 12).all()
    covariance = np.cov(counts, rowvar=False)
    np.testing.assert_allclose(covariance, np.eye(12) - 1 / 12, atol=0.04)


@given(LABELS, st.integers(0, 5))
@settings(max_examples=25, deadline=None)
def test_strata_keep_their_sizes_and_groups_are_drawn_together(labels, seed):
    labels, n = np.array(labels), len(labels)
    within = bootstrap_counts(n, 5, seed, strata=labels)
    for label in set(labels):
        assert (within[:, labels == label].sum(axis=1) == (labels == label).sum()).all()
    together = bootstrap_counts(n, 5, seed, groups=labels)
    _, first = np.unique(labels, return_index=True)
    assert (together == together[:, first][:, np.unique(labels, return_inverse=True)[1]]).all()
    assert (together[:, first].sum(axis=1) == len(first)).all()
    both = bootstrap_counts(n, 5, seed, groups=labels, strata=labels % 2)
    assert (both[:, first][:, labels[first] % 2 == 0].sum(axis=1) == len(set(labels[labels % 2 == 0]))).all()


def test_the_seed_decides_the_draws_and_names_of_labels_do_not_matter():
    for draw in (bootstrap_counts, permutations):
        np.testing.assert_array_equal(draw(9, 4, 3), draw(9, 4, 3))
        assert (draw(9, 4, 3) != draw(9, 4, [3, 1])).any()
        numbers, names = np.repeat([0, 1, 2], 3), np.repeat(["a", "b", "c"], 3)
        np.testing.assert_array_equal(draw(9, 4, 3, groups=numbers), draw(9, 4, 3, groups=names))
        np.testing.assert_array_equal(draw(9, 4, 3, groups=np.arange(9)), draw(9, 4, 3))
        np.testing.assert_array_equal(draw(9, 4, 3, strata=np.zeros(9)), draw(9, 4, 3))


def test_a_jackknife_leaves_each_element_out_once():
    left = leave_out_counts(4)
    np.testing.assert_array_equal(left == 0, np.eye(4, dtype=bool))
    assert left.sum() == 12 and left.dtype == np.int32
    with pytest.raises(ValueError, match="at least two elements"):
        leave_out_counts(1)


@given(LABELS, st.integers(0, 5))
@settings(max_examples=25, deadline=None)
def test_permutations_stay_within_strata(labels, seed):
    labels, n = np.array(labels), len(labels)
    orders = permutations(n, 6, seed, strata=labels)
    np.testing.assert_array_equal(np.sort(orders, axis=1), np.broadcast_to(np.arange(n), (6, n)))
    assert (labels[orders] == labels).all()


def test_all_permutations_are_drawn_as_often():
    orders, counts = np.unique(permutations(4, 24_000, 0), axis=0, return_counts=True)
    assert len(orders) == 24 and abs(counts - 1000).max() < 5 * 1000**0.5


def test_groups_change_places_as_a_whole():
    labels = np.array(["b", "a", "b", "c", "a", "c"])  # not beside each other
    orders = permutations(6, 50, 0, groups=labels)
    moved = labels[orders]
    for label in "abc":
        places = np.flatnonzero(labels == label)
        assert (moved[:, places[0]] == moved[:, places[1]]).all()
        assert (orders[:, places[0]] < orders[:, places[1]]).all()
    assert len(np.unique(orders, axis=0)) == 6
    within = permutations(6, 50, 0, groups=labels, strata=labels == "c")
    np.testing.assert_array_equal(within[:, labels == "c"], np.broadcast_to([3, 5], (50, 2)))
