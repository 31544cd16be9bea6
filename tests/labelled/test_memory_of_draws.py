"""Draws under a memory limit: read in blocks, or refused, as the scores that they are draws of."""

import numpy as np
import pytest
import xarray as xr

from bsjax import Resampling, load_ceiling, load_metric
from bsjax.engine.memory_limit import memory_limit
from bsjax.labelled.metric import scored
from bsjax.labelled.resampling.draws import in_draws
from tests.support.responses import assembly

UNSTRATIFIED = {"crossvalidation_kwargs": {"stratification_coord": None, "splits": 2}}


def responses(n, width, seed, **coords):
    values = np.random.default_rng(seed).normal(size=(n, width)).astype(np.float32)
    return assembly(values, **coords)


@pytest.mark.slow
@pytest.mark.parametrize(("metric", "settings"), [("cka", {}), ("ridge", UNSTRATIFIED)])
def test_draws_of_wide_features_are_read_in_blocks(metric, settings):
    source, target = responses(60, 40_000, 0), responses(60, 4, 1)
    found = {}
    for limit in ("1GB", "15MB"):
        with memory_limit(limit), in_draws(Resampling("stimuli", draws=4)):
            found[limit] = scored(load_metric(metric, **settings), source, target)
    np.testing.assert_allclose(*(score.uncertainty.draws for score in found.values()), atol=1e-6)
    np.testing.assert_allclose(*(score.error for score in found.values()), rtol=1e-4)


@pytest.mark.slow
def test_draws_that_cannot_be_read_in_blocks_are_refused():
    source, target = responses(40, 200_000, 0), responses(40, 200_000, 1)
    with memory_limit("70MB"), pytest.raises(ValueError, match="memory_limit allows 70 MB"):
        with in_draws(Resampling("neuroids", draws=4)):
            scored(load_metric("cka"), source, target)
    trials = xr.concat(
        [responses(300, 8_000, seed, repetition=("presentation", [seed] * 300)) for seed in range(4)], "presentation"
    )
    ceiling = load_ceiling("internal_consistency")
    with memory_limit("450MB"):
        ceiling(trials)
        with in_draws(Resampling("stimuli", draws=200)), pytest.raises(ValueError, match="200 draws of 4 repetitions"):
            scored(ceiling, trials)
