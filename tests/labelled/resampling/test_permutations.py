"""Which stimuli exchange their responses: by identifiers alone, all presentations together, within strata."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from bsjax import Permutations, Resampling, in_draws
from bsjax.labelled.align import aligned, order_of
from bsjax.labelled.resampling.plans import any_plan
from bsjax.labelled.similarity.rdms.subject_rdms import square
from tests.support.responses import assembly

times = st.lists(st.integers(1, 3), min_size=4, max_size=9).filter(lambda shown: len(set(shown)) < len(shown))


@settings(max_examples=30, deadline=None)
@given(times, st.integers(0, 5), st.randoms())
def test_all_presentations_of_a_stimulus_move_together_to_one_shown_as_often(shown, seed, random):
    ids = [f"s{n}" for n, times in enumerate(shown) for _ in range(times)]
    random.shuffle(ids)
    ids = np.array(ids)
    turn = np.array([list(np.flatnonzero(ids == one)).index(row) for row, one in enumerate(ids)])
    for taken in Permutations(draws=3, seed=seed).rows(ids):
        assert sorted(taken) == list(range(len(ids)))
        assert len(set(zip(ids, ids[taken], strict=True))) == len(set(ids))
        assert (turn[taken] == turn).all()


def test_what_trades_places_depends_on_the_identifiers_and_not_on_their_order():
    ids, plan = np.array(list("abcdefgh")), Permutations(draws=50)
    order = np.random.default_rng(0).permutation(len(ids))
    one, other = plan.rows(ids), plan.rows(ids[order])
    assert (ids[one][:, order] == ids[order][other]).all()
    assert plan.key(ids) == plan.key(ids[order]) != plan.key(ids[:-1])
    assert not (one == Permutations(draws=50, seed=1).rows(ids)).all()


@pytest.mark.parametrize(
    ("ids", "labels"),
    [(["a"], {}), (["a", "b", "b"], {}), (list("ab"), {"strata": list("xy")}), (list("ab"), {"groups": list("gg")})],
)
def test_two_stimuli_must_be_able_to_trade_places(ids, labels):
    with pytest.raises(ValueError, match="cannot permute . stimuli: no two of them"):
        Permutations(draws=1).rows(ids, **labels)


def responses(ids, **coords):
    return assembly(np.arange(2.0 * len(ids)).reshape(-1, 2), ids, **coords)


def test_values_trade_places_and_labels_stay():
    whole = responses(list("abcde"), object_name=("presentation", list("vwxyz")))
    permutation = Permutations(draws=4).rows_of(whole)
    for draw in range(4):
        moved = permutation.of(whole, draw)
        assert (moved.values == whole.values[permutation.rows[draw]]).all()
        xr.testing.assert_equal(moved.coords.to_dataset(), whole.coords.to_dataset())


def test_rows_and_columns_of_a_matrix_trade_places_together():
    matrix = square(np.arange(16.0).reshape(4, 4), np.array(list("abcd")))
    permutation = Permutations(draws=3).rows_of(matrix)
    rows = permutation.rows[2]
    assert (permutation.of(matrix, 2).values == matrix.values[rows][:, rows]).all()


def test_exchanges_of_stimuli_in_another_order():
    source, target = responses(list("abcdef")), responses(list("fbdace"))
    permutation = Permutations(draws=5).rows_of(source)
    for draw, rows in enumerate(permutation.in_order(order_of(source, target))):
        expected = aligned(permutation.of(source, draw), target)
        assert (aligned(source, target).values[rows] == expected.values).all()


def test_labels_of_the_measurements_do():
    source = responses(list("abcd"))
    target = responses(list("dcba"), condition=("presentation", list("yxyx")))
    taken = Permutations(draws=60, strata="condition").rows_of(source, [target]).rows
    assert {tuple(row) for row in taken} == {(0, 1, 2, 3), (2, 1, 0, 3), (0, 3, 2, 1), (2, 3, 0, 1)}
    with pytest.raises(ValueError, match="no|neither .* coordinate 'animal' of the stimuli"):
        Permutations(draws=1, groups="animal").rows_of(source, [target])


def test_a_block_has_a_plan_of_each_kind():
    assert Permutations.active() is None and not any_plan()
    with Permutations.within(7), in_draws("stimuli"):
        assert Permutations.active() == Permutations(7) == Permutations.of(7)
        with Permutations.within(None):
            assert Permutations.active() is None and Resampling.active() == Resampling("stimuli") and any_plan()
    assert Permutations.active() is Permutations.of(None) is Resampling.active() is None
