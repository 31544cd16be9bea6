"""Scores beyond the training distribution: lower after a simulated shift, equal without one, on the same stimuli."""

import numpy as np
import pytest
import xarray as xr

import bsjax

pytestmark = pytest.mark.slow


RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 8))
HUE = RNG.uniform(0, 360, 240)
CENTRES = 4.0 * RNG.normal(size=(4, 8))
KIND = np.array(list("abcd"))[RNG.integers(0, 4, 240)]


def responses(x, noise=0.5):
    return x @ RNG.normal(size=(x.shape[1], 5)) + noise * RNG.normal(size=(240, 5))


def shifted(x, turned):
    """Features of which half vary in some of the stimuli only, so that no others tell what they do."""
    return np.where(turned[:, None] | (np.arange(8) < 4), x, 0.0)


@pytest.mark.parametrize(("by", "turned"), [(HUE, HUE > 288), (KIND, KIND == "b")])
def test_the_score_is_lower_beyond_a_shift(by, turned):
    x = shifted(X, turned)
    found = bsjax.generalisation(x, responses(x), by)
    assert float(found.loss) > 0.02 and found.within > found.beyond
    alike = bsjax.generalisation(X, responses(X), by)
    assert abs(float(alike.loss)) < 0.01 and "within" in repr(alike)


def test_clusters_are_farther_away_where_they_are_held_out():
    which = RNG.integers(0, 4, 240)
    x = CENTRES[which] + np.where(np.arange(8) // 2 == which[:, None], X, 0.1 * X)  # each varies in its own features
    found = bsjax.generalisation(x, responses(x, 0.1), x, groups=4)
    assert found.within > found.beyond
    table = found.splits.set_index(["group", "held_out"]).sort_index()
    for group in range(4):
        assert table.loc[(group, True), "distance"].min() > table.loc[(group, False), "distance"].max()
    sizes = found.splits.groupby("held_out")[["train", "test"]].sum()
    assert (sizes.loc[True] == sizes.loc[False]).all() and found.splits.groupby("group")["train"].nunique().eq(1).all()


def test_each_split_is_scored_as_if_alone():
    from sklearn.linear_model import Ridge

    y = responses(X)
    found = bsjax.generalisation(X, y, KIND)
    held_out = found.splits[found.splits["held_out"] & (found.splits["group"] == "c")]
    fitted = Ridge(1.0).fit(X[KIND != "c"], y[KIND != "c"])
    rows = np.random.default_rng(1)
    order = {}
    for kind in "abcd":  # the halves in the order in which they are drawn
        own, _ = rows.permutation(np.flatnonzero(kind == KIND)), rows.permutation(np.flatnonzero(kind != KIND))
        order[kind] = own
    for half, score in enumerate(held_out["score"]):
        test = order["c"][half::2]
        predicted = fitted.predict(X[test])
        expected = np.median([np.corrcoef(predicted[:, i], y[test, i])[0, 1] for i in range(5)])
        assert score == pytest.approx(expected, abs=1e-9)


def test_groups_of_stimuli_are_splits_of_any_cross_validated_metric():
    groups = bsjax.stimulus_groups(HUE, 6)
    assert np.unique(groups).tolist() == list(range(6)) and np.bincount(groups).tolist() == [40] * 6
    assert (np.diff(groups[np.argsort(HUE)]) >= 0).all()
    clustered = bsjax.stimulus_groups(
        CENTRES[np.arange(40) % 4].reshape(40, 2, 4) + 0.1 * RNG.normal(size=(40, 2, 4)), 4
    )
    assert len({(a, b) for a, b in zip(clustered, np.arange(40) % 4, strict=True)}) == 4
    dims = ["presentation", "neuroid"]
    coords = {"stimulus_id": ("presentation", np.arange(240)), "hue": ("presentation", groups)}
    sides = [xr.DataArray(side, coords, dims) for side in (X, responses(X))]
    seen = []

    def look(train, test, assembly):
        seen.append(set(groups[train]) & set(groups[test]))
        return train, test

    kwargs = {"group_coord": "hue", "kfold": True, "splits": 6, "preprocess_indices": look}
    assert float(bsjax.load_metric("ridge", crossvalidation_kwargs=kwargs)(*sides)) > 0
    assert seen == [set()] * 6
    by_name = bsjax.generalisation(*sides, "hue")
    assert float(by_name.beyond) == float(bsjax.generalisation(*sides, groups).beyond)


def test_what_cannot_be_grouped():
    y = responses(X)
    with pytest.raises(ValueError, match="one group"):
        bsjax.generalisation(X, y, np.zeros(240, int))
    with pytest.raises(ValueError, match=r"too few stimuli.*z"):
        bsjax.generalisation(X, y, np.where(np.arange(240) < 3, "z", "a"))
    with pytest.raises(ValueError, match="does not train"):
        bsjax.generalisation(X, y, HUE, metric="cka")
    with pytest.raises(ValueError, match="without a value"):
        bsjax.stimulus_groups([1.0, np.nan])
