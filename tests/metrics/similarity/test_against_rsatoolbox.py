"""RDMs, their comparisons and noise ceilings against rsatoolbox, an implementation by others."""

import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.metrics import compiled
from bsjax.metrics.ceilings.noise_ceiling import rdm_noise_ceiling
from bsjax.metrics.similarity.rdms.rdm_comparison import COMPARISONS, compare_all_rdm_vectors

pytest.importorskip("rsatoolbox", reason="rsatoolbox is not installed: it has no wheel for this Python")
rsatoolbox_rdm = pytest.importorskip("rsatoolbox.rdm")
from rsatoolbox.inference import boot_noise_ceiling  # noqa: E402

SINGLE = [name for name, comparison in COMPARISONS.items() if comparison.of_single_pairs]
N, M = 9, 36
each_method = pytest.mark.parametrize("method", SINGLE)
each_kind = pytest.mark.parametrize("ties", [False, True], ids=["continuous", "tied"])
# It warns that the pool of ranks need not be the best one for tau, which is so here too.
pytestmark = pytest.mark.filterwarnings("ignore:Noise ceiling for tau")


def dissimilarities(rows, ties, seed=0):
    rng = np.random.default_rng(seed)
    values = np.random.default_rng(9).random(M) + rng.random((rows, M))
    return np.round(3 * values) if ties else values


@each_method
@each_kind
def test_comparisons(method, ties):
    a, b = dissimilarities(3, ties), dissimilarities(4, ties, seed=1)
    theirs = rsatoolbox_rdm.compare(rsatoolbox_rdm.RDMs(a), rsatoolbox_rdm.RDMs(b), method)
    ours = compiled(compare_all_rdm_vectors, method=method)(jnp.asarray(a), jnp.asarray(b))
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


@each_method
@each_kind
def test_noise_ceilings(method, ties):
    rdms = dissimilarities(5, ties)
    theirs = boot_noise_ceiling(rsatoolbox_rdm.RDMs(rdms), method=method)
    ours = compiled(rdm_noise_ceiling, method=method, pooling="matched")(jnp.asarray(rdms))
    np.testing.assert_allclose(ours.mean(axis=1), theirs, atol=1e-12)
