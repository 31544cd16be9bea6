"""Real images: the whole experiment with filters whose preferences are known."""

import jax.numpy as jnp
import numpy as np
import pytest

from bsjax import ModelCommitment, load_benchmark
from bsjax.adapters import from_jax, unit_preprocessing
from bsjax.models.builtin.gabor_v1 import gabor_filters, gabor_responses
from tests.support.observers import observed


@pytest.mark.slow
def test_filters_have_their_own_orientation():
    # In a field of 2 degrees, centres at -0.5 and 0.5.
    filters = gabor_filters(32, 2.0, {2.0: 2}, n_orientations=4)
    activations = from_jax(
        gabor_responses, "gabors", preprocess=unit_preprocessing(32), parameters=jnp.asarray(filters)
    )
    model = ModelCommitment("gabors", activations, region_layer_map={"V1": "complex"}, visual_degrees=2)
    orientation = load_benchmark("Marques2020_DeValois1982-pref_or")
    found = observed(orientation, model)
    assert (found.attrs["units_of_model"], found.attrs["units_in_field"]) == (16, 4)
    np.testing.assert_allclose(found.values[:, 0], [0, 45, 90, 135], atol=1)
    score = orientation(model)
    assert score.provenance["distribution"]["model"] == [1, 1, 1, 1] and 0.8 < float(score) < 1.05
    frequency = observed(load_benchmark("Marques2020_DeValois1982-peak_sf"), model)
    np.testing.assert_allclose(frequency.values[:, 0], 2.0, rtol=0.25)
