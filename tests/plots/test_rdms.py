"""Pictures of dissimilarity matrices: entries, groups, similarity, and points at distances that are dissimilarities."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from scipy.stats import spearmanr

from bsjax.plots import plot_mds, plot_rdm, plot_rdm_pair

pytest.importorskip("matplotlib")

PLANE = np.random.default_rng(0).normal(size=(12, 2))
RDM = squareform(pdist(PLANE))
OTHER = squareform(pdist(np.random.default_rng(1).normal(size=(12, 3))))


def holes():
    values = RDM.copy()
    values[3] = values[:, 3] = np.nan
    return values


def test_entries_are_drawn_group_by_group():
    groups = ["dog", "cat"] * 6
    axes = plot_rdm(RDM, groups=groups)
    order = [*range(0, 12, 2), *range(1, 12, 2)]
    assert np.array_equal(axes.images[0].get_array(), RDM[np.ix_(order, order)])
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["dog", "cat"]
    assert axes.get_yticks().tolist() == [2.5, 8.5]
    assert axes.images[0].get_clim() == (pdist(PLANE).min(), pdist(PLANE).max())


def test_pairs_without_a_dissimilarity_are_hatched():
    axes = plot_rdm(holes())
    assert [patch.get_hatch() for patch in axes.patches] == ["////"] and axes.images[0].get_array().mask.sum() == 23
    assert not plot_rdm(RDM).patches
    assert plot_rdm(np.full((3, 3), np.nan)).images[0].get_array().mask.all()


def test_a_pair_has_the_ranks_of_one_below_and_of_the_other_above():
    axes = plot_rdm_pair(RDM, OTHER, names=("mine", "IT"))
    drawn = axes.images[0].get_array()
    below, above = np.tril_indices(12, -1), np.triu_indices(12, 1)
    for where, whole in ((below, RDM), (above, OTHER)):
        assert np.argsort(drawn[where]).tolist() == np.argsort(whole[where]).tolist()
        assert (drawn[where].min(), drawn[where].max()) == (0.0, 1.0)
    assert drawn.mask.diagonal().all()
    rho = spearmanr(RDM[above], OTHER[above]).statistic
    assert axes.get_title("left") == f"mine and IT: Spearman's ρ = {rho:.2f}"


def points(axes):
    return np.concatenate([np.asarray(each.get_offsets()) for each in axes.collections])


def test_a_plane_is_found_again_up_to_turns():
    axes = plot_mds(RDM)
    assert pdist(points(axes)) == pytest.approx(pdist(PLANE), abs=0.05)
    assert axes.get_xlabel() == "stress 0.00"
    assert np.var(points(axes), axis=0).argmax() == 0


def test_groups_have_a_legend_and_the_same_seed_gives_the_same_points():
    axes = plot_mds(OTHER, groups=["dog", "cat"] * 6, names=[f"s{n}" for n in range(12)])
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["dog", "cat"]
    assert [text.get_text() for text in axes.texts] == [f"s{n}" for n in range(12)]
    again = plot_mds(OTHER, groups=["dog", "cat"] * 6)
    assert np.array_equal(points(axes), points(again))
