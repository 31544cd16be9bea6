"""Targets that are fitted alone, in blocks that fit in memory."""

import numpy as np
import pytest

from bsjax import load_metric, memory_limit
from bsjax.engine.programs.compilation import traces
from tests.support.responses import assembly

PER_TARGET = {"alphas": (0.1, 10.0, 1e3), "alpha_per_target": True, "cv": 3}


def sides(stimuli, features, targets):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(stimuli, features))
    return assembly(x), assembly(x[:, :9] @ rng.normal(size=(9, targets)) + 3 * rng.normal(size=(stimuli, targets)))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "settings"), [("neuron_to_neuron", {}), ("ridgecv", PER_TARGET)])
@pytest.mark.filterwarnings("ignore:the (small|larg)est penalty")
def test_blocks_score_as_all_targets_together(name, settings):
    source, target = sides(60, 90, 20_001)
    metric = load_metric(name, crossvalidation_kwargs={"stratification_coord": None, "splits": 3}, **settings)
    whole = metric(source, target)
    with memory_limit("66MB"), traces() as counted:
        in_blocks = metric(source, target)
    assert counted["cross_validate_and_report"] >= 1  # for blocks, that is: of the whole there is a program
    np.testing.assert_allclose(in_blocks.raw, whole.raw, atol=1e-10)
    assert float(in_blocks) == pytest.approx(float(whole), abs=1e-10)
    assert in_blocks.provenance == whole.provenance and list(in_blocks.raw.coords) == list(whole.raw.coords)
    if name == "ridgecv":
        assert (in_blocks.raw["alpha"] == whole.raw["alpha"]).all()


@pytest.mark.slow
def test_a_single_target_that_does_not_fit_is_refused():
    source = assembly(np.broadcast_to(0.0, (100, 50_000)))
    metric = load_metric("neuron_to_neuron", crossvalidation_kwargs={"stratification_coord": None, "splits": 2})
    with memory_limit("70MB"), pytest.raises(ValueError, match="neuroids one at a time"):
        metric(source, assembly(np.zeros((100, 40_000))))
