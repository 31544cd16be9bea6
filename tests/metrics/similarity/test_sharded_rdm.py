"""RDMs of stimuli in shares, against those of all stimuli at once."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.metrics import rdm_similarity
from bsjax.metrics.similarity.sharded_rdm import rdm_similarity_in_shares

N = 24


def sides():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(N, 9)), rng.normal(size=(N, 5))
    x[3] = x[5]  # equal patterns make equal dissimilarities, whose ranks are shared
    y[7] = y[9] = y[11]
    return jnp.asarray(x), jnp.asarray(y)


@pytest.mark.parametrize("shares", [1, 2, 3, 8])
@pytest.mark.parametrize("left_out", [0, 3])
def test_any_number_of_shares_gives_the_same(shares, left_out):
    with jax.enable_x64(True):
        x, y = sides()
        where = jnp.arange(N) < N - left_out
        found = rdm_similarity_in_shares(x, y, where, shares=shares)
        assert float(found) == pytest.approx(float(rdm_similarity(x, y, where=where)), abs=1e-13)


def test_what_is_undefined():
    with jax.enable_x64(True):
        x, y = sides()
        everywhere = jnp.ones(N, bool)
        flat = x.at[4].set(0.1)
        assert jnp.isnan(rdm_similarity_in_shares(flat, y, everywhere, shares=4))
        assert not jnp.isnan(rdm_similarity_in_shares(flat, y, everywhere.at[4].set(False), shares=4))
        assert jnp.isnan(rdm_similarity_in_shares(jnp.tile(x[:2], (12, 1)), x, jnp.arange(N) < 2, shares=4))
