"""The best layer beside the best layer by chance."""

import numpy as np
import pytest

from bsjax import NeuroidAssembly, Permutations, Score, choose_layers, load_metric
from bsjax.adapters import from_stored
from bsjax.benchmarks import NeuralBenchmark
from bsjax.benchmarks.families.simulated.procedural import procedural_stimuli
from bsjax.cli.layers import _choice_lines
from bsjax.labelled.resampling.calibration import null_of
from tests.scoring.conftest import recorded

STIMULI = procedural_stimuli("thirty", 5, 8, visual_degrees=8, seed=5)
IDS = STIMULI["stimulus_id"].tolist()
PLAN = Permutations(19, seed=1)
RNG = np.random.default_rng(0)
DATA = RNG.normal(size=(30, 5))
LAYERS = {name: DATA + noise * RNG.normal(size=DATA.shape) for name, noise in {"a": 9, "b": 1, "c": 4}.items()}


def choice(**how):
    data = recorded(DATA, STIMULI)
    benchmark = NeuralBenchmark("Small.V1-cka", data, load_metric("cka"), ceiling_func=lambda: Score(0.9))
    model = from_stored(LAYERS, "net", stimulus_ids=IDS)
    return choose_layers(model, benchmarks={"V1": benchmark}, nested=False, n_bootstrap=0, **how)


@pytest.mark.slow
def test_all_layers_are_exchanged_alike():
    found = choice(null=PLAN)
    region = found.regions["V1"]
    nulls = [null_of(one).values.values for one in region.scores.values()]
    np.testing.assert_array_equal(region.by_chance.null, np.max(nulls, axis=0))
    expected = [float(load_metric("cka")(*both)) for both in _exchanged(LAYERS["b"])]
    np.testing.assert_allclose(nulls[1], expected, atol=1e-7)
    assert found.p_value == {"V1": 0.05} and region.by_chance.best == region.layer == "b"
    assert "p by chance" in _choice_lines(found)[0] and _choice_lines(found)[1].endswith("0.05")


def _exchanged(layer):
    ids = {"stimulus_id": ("presentation", IDS)}
    for rows in PLAN.rows(IDS):
        yield [NeuroidAssembly(values, ids, ["presentation", "neuroid"]) for values in (layer[rows], DATA)]
