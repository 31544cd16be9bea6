"""RDMs of stimuli in shares, against those of all stimuli at once."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.engine.programs.compilation import compiled
from bsjax.metrics import rdm_similarity
from bsjax.metrics.similarity.rdms.sharded_rdm import rdm_similarity_in_shares

N = 24


def sides():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(N, 9)), rng.normal(size=(N, 5))
    x[3] = x[5]  # equal patterns make equal dissimilarities, whose ranks are shared
    y[7] = y[9] = y[11]
    return jnp.asarray(x), jnp.asarray(y)


@pytest.mark.slow
@pytest.mark.parametrize("shares", [1, 8])
def test_any_number_of_shares_gives_the_same(shares):
    x, y = sides()
    at_once = jax.jit(lambda x, y, where: rdm_similarity(x, y, where=where))
    for left_out in (0, 3):
        where = jnp.arange(N) < N - left_out
        found = compiled(rdm_similarity_in_shares, shares=shares)(x, y, where)
        assert float(found) == pytest.approx(float(at_once(x, y, where)), abs=1e-13)


def test_what_is_undefined():
    (x, y), similarity = sides(), compiled(rdm_similarity_in_shares, shares=8)
    everywhere, flat = jnp.ones(N, bool), x.at[4].set(0.1)
    assert jnp.isnan(similarity(flat, y, everywhere))
    assert not jnp.isnan(similarity(flat, y, everywhere.at[4].set(False)))
    assert jnp.isnan(similarity(jnp.tile(x[:2], (12, 1)), y, jnp.arange(N) < 2))
