"""Searchlights against rsatoolbox, and on surfaces."""

import json

import jax
import numpy as np
import pytest
import xarray as xr
from scipy import sparse

import bsjax
from bsjax import load_metric, score_arrays, searchlight
from bsjax.engine.memory_limit import taken_by
from bsjax.engine.precision import precision
from bsjax.metrics import cka, compiled
from bsjax.scoring.representations import neighbourhoods

N, SIDE = 9, 4
RNG = np.random.default_rng(0)
VOXELS = np.stack(np.meshgrid(*[np.arange(SIDE)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
MODEL, BRAIN = RNG.normal(size=(N, 6)), RNG.normal(size=(N, SIDE**3))
MASK = RNG.uniform(size=SIDE**3) < 0.9


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:Noise ceiling for tau")
@pytest.mark.parametrize("comparison", ["corr", "tau-a"])
def test_equals_rsatoolbox(comparison):
    peer = pytest.importorskip("rsatoolbox.util.searchlight")
    from rsatoolbox.inference import eval_fixed
    from rsatoolbox.model import ModelFixed
    from rsatoolbox.rdm import RDMs

    volume = MASK.reshape(SIDE, SIDE, SIDE)
    centres, near = peer.get_volume_searchlight(volume, radius=2, threshold=0.6, truncate_at_boundary=True)
    rdms = peer.get_searchlight_RDMs(BRAIN, centres, near, np.arange(N), method="correlation", verbose=False)
    left, right = np.triu_indices(N, 1)
    model = ModelFixed("m", RDMs((1 - np.corrcoef(MODEL))[left, right][None]))
    expected = [one.evaluations.item() for one in peer.evaluate_models_searchlight(rdms, model, eval_fixed, comparison)]
    found = searchlight(MODEL, BRAIN, radius=2, positions=VOXELS, mask=volume, comparison=comparison)
    assert found["neuroid"].values.tolist() == centres.tolist()
    assert found["neighbours"].values.tolist() == list(map(len, near))
    np.testing.assert_allclose(found, expected, atol=1e-6)
    # Without truncation, only centres with a whole neighbourhood are taken.
    whole, _ = peer.get_volume_searchlight(volume, radius=2, threshold=1.0)
    found = searchlight(MODEL, BRAIN, radius=2, positions=VOXELS, mask=volume, inside=1.0)
    assert found["neuroid"].values.tolist() == whole.tolist()


def test_of_labelled_responses_and_many_models_with_nan_where_undefined():
    ids = ("presentation", [f"s{i}" for i in range(N)])
    brain = BRAIN.copy()
    brain[0, :8] = brain[0, 0]  # one stimulus with a constant pattern in a corner
    coords = {"stimulus_id": ids, **{name: ("neuroid", VOXELS[:, i]) for i, name in enumerate("xyz")}}
    target = xr.DataArray(brain, coords, ["presentation", "neuroid"])
    source = xr.DataArray(MODEL, {"stimulus_id": ids}, ["presentation", "neuroid"])
    models = {"a": source[::-1], "b": source**3}
    found = searchlight(models, target, radius=1.5, dissimilarity="correlation")
    assert found.dims == ("model", "neuroid") and found["x"].values.tolist() == VOXELS[:, 0].tolist()
    near = np.linalg.norm(VOXELS - VOXELS[40], axis=1) < 1.5
    for name, one in models.items():
        alone = score_arrays(one, target[:, near], metric="rdm", error=None)
        np.testing.assert_allclose(found.sel(model=name)[40], float(alone), atol=1e-12)
    lists = [np.arange(8), np.arange(8, 20)]
    values = searchlight(source, target, neighbours=lists, centres=[0, 10])
    assert np.isnan(values[0]) and np.isfinite(values[1])


def test_rings_of_a_surface():
    edges = sparse.diags_array([1.0, 1.0], offsets=[-1, 1], shape=(SIDE**3, SIDE**3))  # vertices along a line
    lists = [np.arange(max(0, i - 2), min(SIDE**3, i + 3)) for i in range(SIDE**3)]
    found = searchlight(MODEL, BRAIN, neighbours=edges, rings=2)
    np.testing.assert_allclose(found, searchlight(MODEL, BRAIN, neighbours=lists), atol=1e-12)
    some = searchlight(MODEL, BRAIN, neighbours=edges, rings=2, centres=[5, 30], dtype="float32")
    np.testing.assert_allclose(some, found[[5, 30]], atol=1e-3)


SPLIT = {"crossvalidation_kwargs": {"splits": 3, "test_size": 0.4}}
METRICS = [
    ("cka", {"error": None}),
    ("procrustes", {}),
    ("ridgecv", SPLIT | {"alphas": (1.0, 100.0), "alpha_per_target": True}),
    ("pls", SPLIT | {"n_components": 2}),
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*penalty.*was chosen")
@pytest.mark.parametrize(("metric", "settings"), METRICS)
def test_each_centre_is_the_score_of_its_neighbourhood_by_any_metric(metric, settings, monkeypatch):
    monkeypatch.setattr(neighbourhoods, "_FITTED", 12 * 20)
    monkeypatch.setattr(neighbourhoods, "_GATHERED", 3 * 40)
    brain = np.random.default_rng(1).normal(size=(12, SIDE**3))
    models = {"narrow": brain[:, :5] ** 2, "wide": np.random.default_rng(2).normal(size=(12, 30))}
    brain[:, 7] = 0.1
    lists = [np.arange(9), [7], *(np.arange(start, 64, 5) for start in range(5))]
    found = searchlight(models, brain, neighbours=lists, centres=range(7), metric=metric, **settings)
    expected = [[float(score_arrays(x, brain[:, of], metric, **settings)) for of in lists] for x in models.values()]
    np.testing.assert_allclose(found, expected, atol=1e-10)
    assert found.name == metric and np.isnan(found.values[:, 1]).all() and np.isfinite(found.values).sum() >= 12
    if "crossvalidation_kwargs" not in settings:
        known = load_metric(metric, **json.loads(found.attrs["settings"]))
        again = searchlight(models, brain, neighbours=lists, centres=range(7), metric=known)
        np.testing.assert_array_equal(again, found)


def test_memory_grows_by_the_places_of_neighbourhoods_and_not_by_their_responses():
    program, width = compiled(neighbourhoods._of_each, of=cka), 20

    def bytes_of(centres):
        sides = [jax.ShapeDtypeStruct((200, columns), np.float64) for columns in (30, 1000)]
        of = [jax.ShapeDtypeStruct((centres, width), kind) for kind in (np.int32, bool)]
        with precision("float64"):
            return taken_by(program, (*sides, *of), None)

    assert bytes_of(10_000) - bytes_of(10) < 10_000 * width * 25  # responses alone would be 1,600 each


WRONG = [
    ({"radius": 2, "positions": VOXELS, "comparison": "pearson"}, "unknown comparison"),
    ({}, "target has no coordinate x, y, z"),
    ({"radius": 2, "neighbours": [[0]]}, "radius= for a volume, or neighbours="),
    ({"neighbours": [[0]]}, "one list for each of 64 centres"),
    ({"neighbours": [[70]], "centres": [1]}, "numbers of neuroids from 0 to 63"),
    ({"radius": 2, "positions": VOXELS, "mask": np.ones(3)}, "mask must say of each of the 64 neuroids"),
    ({"radius": 9, "positions": VOXELS, "mask": MASK, "inside": 1.0}, "there is no centre"),
]


@pytest.mark.parametrize(("given", "message"), WRONG)
def test_what_is_wrong_is_said(given, message):
    with pytest.raises(ValueError, match=message):
        bsjax.searchlight(MODEL, BRAIN, **given)
