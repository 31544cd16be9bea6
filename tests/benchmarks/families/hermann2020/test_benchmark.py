"""Shape and texture in conflict."""

import numpy as np
import pandas as pd
import pytest

from bsjax import load_benchmark
from bsjax.data import BehavioralAssembly, read_assembly
from bsjax.models.stored_behaviour import StoredBehaviour, load_stored_behaviour
from tests.support import served_data as served
from tests.support.people import naming

BIAS, MATCH = "Hermann2020cueconflict-shape_bias", "Hermann2020cueconflict-shape_match"


def test_by_hand(serve):
    shapes, textures = ["bear", "car", "cat", "dog", "bear"], ["car", "bear", "bear", "cat", "bear"]
    columns = {"original_image_category": shapes, "conflict_image_category": textures, "truth": shapes}
    stimuli = served.stimuli_of(5, condition=[0] * 5, **columns)
    serve("Geirhos2021_cue-conflict", stimuli=stimuli)
    model = naming(stimuli["stimulus_id"], ["bear", "bear", "bear", "car", "bear"])
    # shape, texture, texture, neither; the last image has no conflict
    bias, match = load_benchmark(BIAS)(model), load_benchmark(MATCH)(model)
    assert bias.value == pytest.approx(1 / 3) and match.value == 0.25
    assert bias.error == pytest.approx(np.sqrt(1 / 3 * 2 / 3 / 3))
    assert (bias.n_units, bias.n_undefined, bias.ceiling, match.ceiling) == (4, 1, 1, 1)


@pytest.mark.slow
def test_the_published_numbers(shared_data):
    """From the choices that Brain-Score's tests store: 169 times the shape and 621 times the texture of 1200."""
    file = shared_data / "brainscore_files" / "resnet-50-pytorch-3deg-Geirhos2021_cue-conflict.nc"
    stored = read_assembly(file, BehavioralAssembly)
    table = pd.DataFrame({"stimulus_id": stored["stimulus_id"].values, "choice": stored.values[0]})
    model = StoredBehaviour({"": table}, "resnet-50")
    data = shared_data / "geirhos2021"
    bias, match = (float(load_benchmark(identifier, data=data)(model)) for identifier in (BIAS, MATCH))
    assert bias == pytest.approx(169 / 790) == pytest.approx(0.21392405, abs=1e-8)
    assert match == pytest.approx(169 / 1200) == pytest.approx(0.14083333, abs=1e-8)
    # In the trials of the public repository one choice is another: no texture in one image.
    [trials] = load_stored_behaviour(data / "cue-conflict")
    assert float(load_benchmark(BIAS, data=data)(trials)) == pytest.approx(169 / 789)
