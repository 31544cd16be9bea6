import numpy as np
import pytest

from bsjax.labelled.regression.factorised_readout import MaskRegression
from tests.support.responses import assembly

N, C, H, W, Q = 60, 2, 3, 4, 3
FEW = {"splits": 2, "stratification_coord": None}


def pair(seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(N, C, H, W))
    where, what = rng.uniform(size=(Q, H, W)), rng.normal(size=(Q, C))
    y = np.einsum("ncij,qij,qc->nq", x, where, what)
    channel, i, j = (axis.ravel() for axis in np.meshgrid(*map(np.arange, (C, H, W)), indexing="ij"))
    places = {"channel": channel + 5, "channel_x": 10 * i, "channel_y": j - 2}
    source = assembly(x.reshape(N, -1), units="unit", **{name: ("neuroid", at) for name, at in places.items()})
    return source, assembly(y, units="site")


@pytest.fixture(scope="module")
def metric():
    return MaskRegression(FEW, max_epochs=3)


@pytest.mark.slow
def test_the_order_of_neuroids_and_stimuli_does_not_matter(metric):
    source, target = pair()
    rng = np.random.default_rng(0)
    shuffled = source.isel(neuroid=rng.permutation(C * H * W), presentation=rng.permutation(N))
    np.testing.assert_allclose(metric(shuffled, target).raw, metric(source, target).raw, atol=1e-12)


def test_an_incomplete_grid_names_what_is_missing(metric):
    source, target = pair()
    with pytest.raises(ValueError, match="1 are missing"):
        metric(source.isel(neuroid=np.delete(np.arange(C * H * W), 5)), target)
    with pytest.raises(ValueError, match="1 are there more than once"):
        metric(source.isel(neuroid=[0, *range(C * H * W)]), target)
