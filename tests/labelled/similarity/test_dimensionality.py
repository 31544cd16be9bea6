import numpy as np
import pytest

from bsjax import NeuroidAssembly
from bsjax.labelled.similarity.dimensionality import Dimensionality

FACTORS = np.array(["shape", "texture", "shape"])


def sides(n=60, units=40, seed=0):
    rng = np.random.default_rng(seed)
    factor = FACTORS[np.arange(n) % 3]
    common = rng.normal(size=(n, units))
    a = common + 0.5 * rng.normal(size=(n, units))
    b = common * (factor == "shape")[:, None] + 0.5 * rng.normal(size=(n, units))
    coords = {
        "factor": ("presentation", factor),
        "sample": ("presentation", np.arange(n) // 3 + 100 * (np.arange(n) % 3)),
        "neuroid_id": ("neuroid", [f"u{i}" for i in range(units)]),
    }
    return tuple(NeuroidAssembly(v, coords=coords, dims=["presentation", "neuroid"]) for v in (a, b))


@pytest.mark.parametrize(("factor", "position"), [("shape", 0), ("texture", 1), ("residual", 2)])
def test_factors_are_told_by_their_names_and_pairs_and_neuroids_are_in_any_order(factor, position):
    a, b = sides()
    score = Dimensionality(factor, whole_neuroids=False)(a, b)
    assert score.raw["factor"].values.tolist() == ["shape", "texture", "residual"]
    assert float(score) == score.raw.values[position]
    rng = np.random.default_rng(1)
    moved = b.isel(presentation=rng.permutation(60), neuroid=rng.permutation(40)).transpose()
    np.testing.assert_allclose(Dimensionality(factor)(a, moved).raw, score.raw, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda b: b.isel(presentation=slice(1, None)), r"1 \(factor, sample\) \(\('shape', 0\)\) only in source"),
        (lambda b: b.drop_vars("neuroid_id"), "target has no coordinate 'neuroid_id'"),
    ],
)
def test_pairs_that_are_not_whole(change, message):
    a, b = sides()
    with pytest.raises(ValueError, match=message):
        Dimensionality("shape")(a, change(b))
