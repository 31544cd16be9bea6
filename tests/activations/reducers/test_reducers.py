"""Reducers: against scikit-learn and torch's definitions, and as batches arrive."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.decomposition import PCA as SklearnPCA
from sklearn.random_projection import SparseRandomProjection as SklearnProjection

from bsjax import StimulusSet
from bsjax.activations import PCA, SparseRandomProjection, SpatialPooling, Subsampling, make_reducer
from bsjax.activations.reducers import pca as pca_module
from bsjax.adapters import from_jax, unit_preprocessing

SIX = unit_preprocessing(6)


def network(images):
    return {"map": images[:, ::2, 1:], "flat": images.mean((1, 2))}


def two_layers(**options):
    return from_jax(network, "net", SIX, batch_size=4, cache=None, **options)


def images_of(n):
    return StimulusSet({"stimulus_id": [str(i) for i in range(n)]})


@pytest.mark.parametrize("in_memory", [True, False])
def test_pca_is_scikit_learns_but_for_the_signs(monkeypatch, in_memory):
    monkeypatch.setattr(pca_module, "_IN_MEMORY", 1 << 30 if in_memory else 0)
    monkeypatch.setattr(pca_module, "_BLOCK", 8 * 20 * 7)  # seven features at a time
    rng = np.random.default_rng(0)
    fitting, new = rng.normal(2, 3, (20, 100)).astype(np.float32), rng.normal(2, 3, (9, 100)).astype(np.float32)
    ours = PCA(5, images_of(20)).reduction((100,), True, fitting)
    assert PCA(5, images_of(20)).reduced_shape((100,), True) == (5,)
    theirs = SklearnPCA(5, svd_solver="full").fit(fitting.astype(np.float64))
    np.testing.assert_allclose(np.abs(ours(new)), np.abs(theirs.transform(new)), rtol=1e-4, atol=1e-4)
    scores = ours(fitting)
    furthest = np.take_along_axis(scores, np.abs(scores).argmax(axis=0)[None], axis=0)
    assert (furthest > 0).all()


def test_pca_of_images_that_hardly_vary_has_empty_components():
    x = np.zeros((4, 30), np.float32)
    x[:, 0] = [0, 1, 0, 1]
    scores = PCA(3, images_of(4)).reduction((30,), True, x)(x)
    np.testing.assert_allclose(scores, [[-0.5, 0, 0], [0.5, 0, 0]] * 2, atol=1e-6)


def test_a_layer_that_is_no_wider_than_the_components_is_left_alone():
    x = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    for reducer in (PCA(3, images_of(9)), SparseRandomProjection(3), Subsampling(3)):
        assert reducer.reduced_shape((3,), True) == (3,)
        np.testing.assert_array_equal(reducer.reduction((3,), True, x)(x), x)


def test_pca_is_fitted_on_the_images_it_is_given(stimuli):
    shown, fitting = stimuli([3, 1, 4, 5, 1]), stimuli([0, 2, 6, 7, 8, 2])
    reduced = two_layers(reducer=PCA(3, fitting))(shown, ["map", "flat"])
    whole = two_layers()
    theirs = SklearnPCA(3, svd_solver="full").fit(whole(fitting, "map").values)
    expected = np.abs(theirs.transform(whole(shown, "map").values))
    np.testing.assert_allclose(np.abs(reduced.sel(layer="map").values), expected, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(reduced.sel(layer="flat").values, whole(shown, "flat").values)
    assert reduced["neuroid_num"].values.tolist() == [0, 1, 2, 0, 1, 2]


def test_random_projection_is_scikit_learns():
    x = np.random.default_rng(0).normal(size=(6, 40)).astype(np.float32)
    ours = SparseRandomProjection(8, seed=3).reduction((4, 10), True, None)
    theirs = SklearnProjection(8, random_state=3).fit_transform(x)
    np.testing.assert_allclose(ours(x.reshape(6, 4, 10)), theirs, rtol=1e-5, atol=1e-6)


@given(
    size=st.integers(1, 4),
    rows=st.integers(1, 7),
    columns=st.integers(1, 7),
    kind=st.sampled_from(["mean", "max"]),
    channels_last=st.booleans(),
)
def test_pooling_is_torchs_adaptive_pooling(size, rows, columns, kind, channels_last):
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(rows * 10 + columns).normal(size=(2, 3, rows, columns)).astype(np.float32)
    goal = min(size, rows), min(size, columns)
    pool = {"mean": torch.nn.functional.adaptive_avg_pool2d, "max": torch.nn.functional.adaptive_max_pool2d}[kind]
    expected = pool(torch.tensor(x), goal).numpy()
    given = x.transpose(0, 2, 3, 1) if channels_last else x
    pooling = SpatialPooling(size, kind)
    pooled = pooling.reduction(given.shape[1:], channels_last, None)(given)
    assert pooled.shape == (2, *pooling.reduced_shape(given.shape[1:], channels_last))
    np.testing.assert_allclose(
        pooled.transpose(0, 3, 1, 2) if channels_last else pooled, expected, rtol=1e-5, atol=1e-6
    )


def test_tokens_are_pooled_into_one_and_on_no_grid():
    tokens = np.random.default_rng(0).normal(size=(2, 5, 3)).astype(np.float32)
    pooled = SpatialPooling(1).reduction((5, 3), True, None)(tokens)
    np.testing.assert_allclose(pooled, tokens.mean(1, keepdims=True), rtol=1e-6)
    with pytest.raises(ValueError, match=r"shape \(5, 3\), tokens by features, cannot be pooled on a grid of side 2"):
        SpatialPooling(2).reduction((5, 3), True, None)


def test_what_is_left_has_the_coordinates_it_should_have(stimuli):
    shown = stimuli([0, 1])
    whole = two_layers()(shown, "map")
    chosen = two_layers(reducer=Subsampling(7, seed=1))(shown, ["map", "flat"])
    kept = chosen.sel(layer="map")
    assert kept.shape == (2, 7) and chosen.sel(layer="flat").shape == (2, 3)
    for number in range(7):
        same = whole.isel(neuroid=int(kept["neuroid_num"].values[number]))
        np.testing.assert_array_equal(kept.values[:, number], same.values)
        for name in ("neuroid_id", "channel", "channel_x", "channel_y"):
            assert kept[name].values[number] == same[name].values
    pooled = two_layers(reducer=SpatialPooling(2))(shown, "map")
    assert pooled["channel"].values.tolist() == [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1]
    np.testing.assert_allclose(
        pooled.values[:, 0], whole.values.reshape(2, 3, 5, 3)[:, :2, :3, 0].mean((1, 2)), rtol=1e-5
    )


def test_reducers_by_name(stimuli):
    fitting = stimuli([0, 1, 2])
    assert make_reducer("pca:2", stimuli=fitting).n_components == 2
    assert make_reducer("spatial_pooling", kind="max") == SpatialPooling(1, "max")
    assert make_reducer("subsampling:9") == Subsampling(9)
    assert make_reducer("none") is None
    with pytest.raises(KeyError, match="unknown reducer 'pcs'; nearest: pca; there are pca, sparse_random_projection"):
        make_reducer("pcs")
    with pytest.raises(ValueError, match="reducer 'pca'"):
        make_reducer("pca:3")
    with pytest.raises(ValueError, match="whole number after the colon in reducer 'pca:many'"):
        make_reducer("pca:many")
